"""Vectors as training reads them: in standard coordinates, as float32."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sparsetopics.base.batches import FloatArray, VectorBatch, VectorSource, read_enough
from sparsetopics.base.errors import ShapeError, warn_user
from sparsetopics.base.wording import listed, quantity
from sparsetopics.model.coordinates import (
    Coordinates,
    far_from_most,
    principal_axes,
    steps_of,
    usual_items,
)

MOST_PRODUCTS = 2e8  # of columns: a few seconds
MOST_SAMPLED = 20_000
FINE = 1e-3  # of the scale of a column: a finer step does not matter
LARGEST_VALUE = 1e140
MOST_NAMED = 5  # columns in a sentence
FEWEST_ALIKE = 3  # items with the same value far from all others that are worth a sentence,
SHARE_ALIKE = 0.2  # and their share of all such items: values of a heavy tail differ


class StandardSource:
    """The batches of ``source`` in ``coordinates``; those in memory are turned once.

    Values are at random places within their steps, the same ones whenever a batch is read.
    """

    def __init__(
        self, source: VectorSource, coordinates: Coordinates, rng: np.random.Generator
    ) -> None:
        self.coordinates, self._source = coordinates, source
        self._seed = int(rng.integers(2**63))
        self.n_batches, self.n_docs = source.n_batches, source.n_docs
        self.n_columns, self.n_tokens = coordinates.n_axes, source.n_tokens
        self.is_resident = source.is_resident
        self._kept: list[VectorBatch] = []
        if self.is_resident:
            self._kept = [self.read(n) for n in range(self.n_batches)]
            del self._source

    def read(self, batch_id: int) -> VectorBatch:
        if batch_id < len(self._kept):
            return self._kept[batch_id]
        rng = np.random.default_rng([self._seed, batch_id])
        values = self.coordinates.between_steps(self._source.read(batch_id).values, rng)
        return VectorBatch(self.coordinates(values))


def standard_source(
    source: VectorSource,
    coordinates_for: Callable[[FloatArray], Coordinates],
    names: Sequence[str],  # of the columns
    rng: np.random.Generator,
    *,
    has_steps: bool = True,  # values stand for their steps, unlike counts
) -> StandardSource:
    """``source`` in the coordinates that ``coordinates_for`` a sample finds.

    Warns of columns that say nothing, and of values that may stand for missing ones. Raises
    ShapeError if no two items differ, or if values are too large to be squared.
    """
    values = sample_vectors(source)
    largest = np.abs(values).max(axis=0)
    if largest.max() > LARGEST_VALUE:
        where = f"column {names[int(largest.argmax())]}"
        problem = f"values must be at most {LARGEST_VALUE:g}, but one is {largest.max():g}"
        raise ShapeError(where, problem, "Scale the column.")
    steps = steps_of(values) if has_steps else np.zeros(len(names))
    middle = np.median(np.abs(values - np.median(values, axis=0)), axis=0)
    steps[steps < FINE * middle] = 0.0  # or noise would hide what columns share
    raw = replace(Coordinates.shifted(np.zeros(len(names))), steps=steps)
    within_steps = raw.between_steps(values, rng)
    coordinates = coordinates_for(within_steps)
    steps[steps < FINE * coordinates.column_deviations] = 0.0
    coordinates = replace(coordinates, steps=steps)
    if not coordinates.n_axes:
        raise ShapeError("items", "no two differ, so there is nothing to learn")
    for sentence in _remarks(values, far_from_most(within_steps), names):
        warn_user(sentence)
    return StandardSource(source, coordinates, rng)


def _remarks(
    values: FloatArray,  # (n_items, n_columns)
    are_far: NDArray[np.bool_],  # which of them are far from the others of their column
    names: Sequence[str],
) -> Iterator[str]:
    n_columns = len(names)
    n_axes = principal_axes(values).n_axes
    if n_axes < n_columns:  # or one huge item hides how all others differ
        n_axes = max(n_axes, usual_items(values)[1].n_axes)
    constant = [names[d] for d in np.flatnonzero(np.ptp(values, axis=0) == 0.0)[:MOST_NAMED]]
    if constant or n_axes < min(n_columns, len(values) - 1):  # fewer items say nothing of columns
        always = f" (always the same: {listed(constant)})" if constant else ""
        directions = quantity(n_axes, "direction")
        yield f"The {quantity(n_columns, 'column')} vary in {directions} only{always}."
    for column, is_far in enumerate(are_far.T):
        found, counts = np.unique(values[is_far, column], return_counts=True)
        for value, count in zip(found, counts, strict=True):
            if count >= max(FEWEST_ALIKE, SHARE_ALIKE * is_far.sum()):
                where = f"{count:,} of {len(values):,} items, far from all other values"
                hint = "If it means that a value is missing, leave these items out or fill them in."
                yield f"Column {names[column]}: {value:g} stands in {where}. {hint}"


def enough_items(n_columns: int) -> int:
    """How many items determine coordinates well, and do not take long."""
    return min(MOST_SAMPLED, max(10 * n_columns, int(MOST_PRODUCTS / n_columns**2)))


def sample_vectors(source: VectorSource) -> FloatArray:
    """Items (n_items, n_columns) from as few batches, which are random, as coordinates need."""
    n_items = enough_items(source.n_columns)
    values = read_enough(source, range(source.n_batches), n_items).values.astype(np.float64)
    rows = np.linspace(0, len(values) - 1, min(n_items, len(values))).astype(int)
    return values.take(rows, axis=0)
