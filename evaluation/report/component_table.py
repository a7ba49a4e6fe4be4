"""Components of a mixture of vectors as people read them: size, pictures, columns, items."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sparsetopics.base.batches import FloatArray
from sparsetopics.evaluation.report.component_pictures import Picture, component_pictures
from sparsetopics.evaluation.report.examples import Example
from sparsetopics.model.likelihoods.normals import Normals
from sparsetopics.options.registry import LIKELIHOODS
from sparsetopics.runs.mixture_runs import MixtureRun

N_COLUMNS = 5  # told of each component
MOST_COMPONENTS = 200  # with pictures and examples; lighter ones are counted


class Column(NamedTuple):
    """In which way a component differs from the rest."""

    name: str
    mean: float
    deviation: float  # standard, within the component
    away: float  # of the mean from that of all items, in standard deviations of all items


class ComponentRow(NamedTuple):
    """One component of a mixture of vectors."""

    number: int
    weight: float
    weight_share: float  # of the heaviest component's weight
    n_items: float  # of the training, expected
    pictures: Sequence[Picture]
    columns: Sequence[Column]
    examples: Sequence[Example]


def component_table(
    run: MixtureRun,
    examples: Sequence[Sequence[Example]] | None = None,  # of each component
    names: Sequence[str] | None = None,  # of columns
) -> list[ComponentRow]:
    """One row for each of the 200 heaviest components, in the model's order, by falling weight."""
    model = run.model
    n_rows = min(model.n_topics, MOST_COMPONENTS)
    own_examples = [()] * n_rows if examples is None else examples[:n_rows]
    pictures = component_pictures(run, own_examples)
    has_means = LIKELIHOODS[model.likelihood_name].has_means
    columns = _distinctive(model.normals, model.weights, names) if has_means else [[]] * n_rows
    return [
        ComponentRow(
            k,
            float(model.weights[k]),
            float(model.weights[k] / model.weights[0]),
            float(model.mixture.counts[k]),
            pictures[k],
            columns[k],
            own_examples[k],
        )
        for k in range(n_rows)
    ]


def _distinctive(
    normals: Normals, weights: FloatArray, names: Sequence[str] | None
) -> list[list[Column]]:
    """The columns in which each component's mean is farthest from that of all items."""
    means, spread = normals.means, variances(normals)
    centre = weights @ means
    total = np.sqrt(weights @ (spread + (means - centre) ** 2))
    away = (means - centre) / np.maximum(total, np.finfo(float).tiny)
    order = np.argsort(-np.abs(away), axis=1, kind="stable")[:, :N_COLUMNS]
    labels = [f"column {n}" for n in range(means.shape[1])] if names is None else names
    return [
        [
            Column(labels[c], float(means[k, c]), float(np.sqrt(spread[k, c])), float(away[k, c]))
            for c in best
        ]
        for k, best in enumerate(order.tolist())
    ]


def variances(normals: Normals) -> FloatArray:
    """Of each column in each component, (n_topics, n_columns)."""
    if normals.covariances.ndim == 2:
        return normals.covariances
    diagonal: FloatArray = np.diagonal(normals.covariances, axis1=1, axis2=2)
    return diagonal
