"""Agreement of components with labels that training did not see."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment

from sparsetopics.base.batches import IntArray
from sparsetopics.base.errors import CorpusError, OptionError, ShapeError

Labels = Sequence[str | int | None] | IntArray  # None: an item without a label


class ClusteringScore(NamedTuple):
    """Agreement of a hard clustering with labels; all fields but the counts are in [0, 1]."""

    nmi: float  # mutual information divided by the larger entropy
    nmi_arithmetic: float  # divided by the mean entropy, as in many toolkits: never lower
    hungarian_accuracy: float  # share of items right if each label gets one component
    majority_accuracy: float  # share of items with the commonest label of their component
    n_items: int  # scored
    n_unlabelled: int  # not scored
    n_labels: int  # distinct
    n_components: int  # with at least one scored item


def score_clustering(
    labels: Labels,  # (n_items,)
    components: ArrayLike,  # (n_items,)  integers: each item's most probable component
) -> ClusteringScore:
    """Compare hard assignments with labels; items without a label are left out.

    NMI is I(label; component) / max(H(label), H(component)), as in Lim (2020), and a second time
    over the mean of the two entropies. It is 1 if labels and components are both constant. The
    Hungarian accuracy matches labels and components one to one so that most items are right (Kuhn
    1955). With more components than labels it falls, whereas the majority vote can only rise.

    Raises ShapeError if the numbers of labels and components differ, OptionError for labels that
    are neither whole numbers nor strings, CorpusError if no item has a label.
    """
    table = contingency(labels, components)
    n_scored = int(table.sum())
    entropies = _entropy(table.sum(axis=1)), _entropy(table.sum(axis=0))
    # Rounding may put the information of independent variables slightly below zero.
    shared = max(0.0, sum(entropies) - _entropy(table))
    matched = table[linear_sum_assignment(table, maximize=True)]
    return ClusteringScore(
        nmi=_ratio(shared, max(entropies)),
        nmi_arithmetic=_ratio(shared, sum(entropies) / 2),
        hungarian_accuracy=int(matched.sum()) / n_scored,
        majority_accuracy=int(table.max(axis=0).sum()) / n_scored,
        n_items=n_scored,
        n_unlabelled=len(labels) - n_scored,
        n_labels=table.shape[0],
        n_components=table.shape[1],
    )


def contingency(labels: Labels, components: ArrayLike) -> IntArray:
    """Count items by label and component, (n_labels, n_components); no row or column is empty."""
    assigned = np.asarray(components)
    if assigned.ndim != 1 or assigned.dtype.kind not in "iu":
        found = f"{assigned.dtype} of shape {assigned.shape}"
        raise ShapeError("components", f"expected one whole number per item, but found {found}")
    if len(labels) != len(assigned):
        problem = f"expected {len(assigned)}, one per item, but found {len(labels)}"
        raise ShapeError("labels", problem)
    numbers = _numbered(labels)
    labelled = numbers >= 0
    if not labelled.any():
        hint = "Was the corpus ingested with a column of labels?"
        raise CorpusError("labels", f"none of the {len(assigned)} items has a label", hint)
    _, columns = np.unique(assigned[labelled], return_inverse=True)
    table = np.zeros((int(numbers.max()) + 1, int(columns.max()) + 1), np.int64)
    np.add.at(table, (numbers[labelled], columns), 1)
    return table


def _numbered(labels: Labels) -> IntArray:
    """Number the labels 0, 1, … in the order of their first items; None becomes −1."""
    number_of: dict[str | int, int] = {}
    values = labels.tolist() if isinstance(labels, np.ndarray) else labels
    numbers = [-1 if value is None else number_of.setdefault(value, len(number_of))
               for value in values]  # fmt: skip
    for value in number_of:
        if not isinstance(value, str | int | np.integer):
            expected = "whole numbers, strings, or None for an item without a label"
            raise OptionError("labels", f"expected {expected}, but found {value!r}")
    return np.array(numbers, np.int64)


def _entropy(counts: IntArray) -> float:
    """The entropy in nats."""
    held = counts[counts > 0] / counts.sum()
    return float(-np.sum(held * np.log(held)))


def _ratio(shared: float, entropy: float) -> float:
    return min(1.0, shared / entropy) if entropy else 1.0
