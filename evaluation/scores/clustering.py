"""How well components agree with labels that they were not told."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment

from sparsetopics.base.batches import IntArray
from sparsetopics.base.errors import CorpusError, OptionError, ShapeError


class ClusteringScore(NamedTuple):
    """Agreement of one hard clustering with labels; all but the counts lie between 0 and 1."""

    nmi: float  # mutual information over the larger of the two entropies
    nmi_arithmetic: float  # over their mean, which many toolkits take: never lower
    hungarian_accuracy: float  # share of items right if each label has one component of its own
    majority_accuracy: float  # share of items that have the commonest label of their component
    n_items: int  # scored
    n_unlabelled: int  # left out
    n_labels: int  # different ones
    n_components: int  # that hold a scored item


def score_clustering(
    labels: Sequence[Any] | IntArray,  # (n_items,)  numbers or strings; None for no label
    components: ArrayLike,  # (n_items,)  integers: each item's most probable component
) -> ClusteringScore:
    """Compare hard assignments with labels, leaving out items without a label.

    NMI = I(label; component) / max(H(label), H(component)), as Lim (2020) has it, beside the one
    over (H + H) / 2. It is 1 where labels and components are both constant. The Hungarian accuracy
    matches labels and components one to one for the most items right (Kuhn 1955); with more
    components than labels it falls, while the majority vote only rises.

    Raises ShapeError if there are not as many labels as components, OptionError for labels that
    are neither whole numbers nor strings, CorpusError if no item has a label.
    """
    table = contingency(labels, components)
    n_scored = int(table.sum())
    shared, entropies = _information(table)
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


def contingency(labels: Sequence[Any] | IntArray, components: ArrayLike) -> IntArray:
    """Items by label and component, (n_labels, n_components), without empty rows and columns."""
    assigned = np.asarray(components)
    if assigned.ndim != 1 or assigned.dtype.kind not in "iu":
        raise ShapeError(
            "components",
            found=f"{assigned.dtype} of shape {assigned.shape}",
            wanted="one whole number for each item",
        )
    if len(labels) != len(assigned):
        raise ShapeError(
            "labels", found=f"{len(labels)}", wanted=f"{len(assigned)}, one for each item"
        )
    numbers = _numbered(labels)
    labelled = numbers >= 0
    if not labelled.any():
        raise CorpusError(
            "labels",
            found=f"none among {len(assigned)} items",
            wanted="at least one labelled item",
            hint="Was the corpus ingested with a column of labels?",
        )
    _, columns = np.unique(assigned[labelled], return_inverse=True)
    n_labels, n_components = int(numbers.max()) + 1, int(columns.max()) + 1
    cells = numbers[labelled] * n_components + columns
    table: IntArray = np.bincount(cells, minlength=n_labels * n_components)
    return table.reshape(n_labels, n_components)


def _numbered(labels: Sequence[Any] | IntArray) -> IntArray:
    """Labels as 0, 1, … in the order they are first met; −1 for None."""
    number_of: dict[Any, int] = {}
    values = labels.tolist() if isinstance(labels, np.ndarray) else labels
    numbers = [-1 if value is None else number_of.setdefault(value, len(number_of))
               for value in values]  # fmt: skip
    for value in number_of:
        if not isinstance(value, str | int | np.integer):
            raise OptionError(
                "labels",
                found=f"{value!r}",
                wanted="whole numbers or strings, None for an item without one",
            )
    return np.array(numbers, np.int64)


def _information(table: IntArray) -> tuple[float, tuple[float, float]]:
    """I(label; component) and the entropies of both, in nats."""
    of_labels, of_components = _entropy(table.sum(axis=1)), _entropy(table.sum(axis=0))
    # Rounding may leave independent variables a hair below zero.
    return max(0.0, of_labels + of_components - _entropy(table)), (of_labels, of_components)


def _entropy(counts: IntArray) -> float:
    held = counts[counts > 0] / counts.sum()
    return float(-np.sum(held * np.log(held)))


def _ratio(shared: float, entropy: float) -> float:
    return min(1.0, shared / entropy) if entropy else 1.0
