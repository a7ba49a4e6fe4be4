"""Items that exemplify a component of a mixture of vectors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from sparsetopics.base.batches import FloatArray, Vectors
from sparsetopics.corpora.corpus import VectorCorpus
from sparsetopics.corpora.lookup import spread_rows
from sparsetopics.model.mixture_posterior import MixturePosterior
from sparsetopics.options.registry import LIKELIHOODS

MOST_ROWS = 20_000  # items, or documents of topics, that a page searches
N_EXAMPLES = 3


class Example(NamedTuple):
    """An item of a component."""

    name: str  # its id
    label: str | None
    closeness: float  # the quantity that orders items
    values: FloatArray


def example_items(corpus: VectorCorpus, model: MixturePosterior) -> tuple[list[list[Example]], int]:
    """Return the items nearest to each component, among the items for which it is most probable.

    For each component there is a list, best first. The number is that of the items searched.
    If components have means, the nearest items are those of highest density, log p(x|k). The
    density of zero-mean components is highest for flat patches, so there the nearest are the
    surest: items whose log w_k p(x|k) is farthest above that of the second-best component. At most
    20,000 items are searched, spread evenly over the corpus.
    """
    best: list[list[tuple[int, Example]]] = [[] for _ in range(model.n_topics)]
    n_seen = 0
    for number, rows in spread_rows(corpus.row_groups, MOST_ROWS).items():
        group = corpus.row_groups[number]
        values, names, labels = group.read().values[rows], group.read_ids(), group.read_labels()
        nearness = _nearness(values, model)
        for component in range(model.n_topics):
            for row in _leaders(nearness[:, component]):
                closeness = float(nearness[row, component])
                own = np.asarray(values[row], np.float64)
                example = Example(names[rows[row]], labels[rows[row]], closeness, own)
                best[component].append((n_seen + row, example))
            best[component].sort(key=lambda found: (-found[1].closeness, found[0]))
            del best[component][N_EXAMPLES:]
        n_seen += len(values)
    return [[example for _, example in own] for own in best], n_seen


def _nearness(values: Vectors, model: MixturePosterior) -> FloatArray:
    """How near each item is to its most probable component, (n_items, n_components); −∞ for the
    others."""
    log_weights = np.log(np.maximum(model.weights, np.finfo(float).tiny))
    densities = model.estimates.scorer().log_densities(values).astype(np.float64)
    joint = densities + log_weights
    owners = joint.argmax(axis=1)
    rows = np.arange(len(joint))
    best = joint[rows, owners]
    joint[rows, owners] = -np.inf  # so that the next maximum is the second best
    second = joint.max(axis=1) if joint.shape[1] > 1 else np.zeros(len(joint))
    by_density = LIKELIHOODS[model.likelihood_name].has_means
    nearness = np.full(joint.shape, -np.inf)
    nearness[rows, owners] = densities[rows, owners] if by_density else best - second
    return nearness


def _leaders(scores: FloatArray) -> Iterator[int]:
    """Yield the rows of the greatest finite scores, ties in their order."""
    for row in np.argsort(-scores, kind="stable")[:N_EXAMPLES].tolist():
        if np.isfinite(scores[row]):
            yield row
