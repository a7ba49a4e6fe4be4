"""Moments of items: the additive statistics of all Gaussian likelihoods.

Items are float32, in standard coordinates, and sums are float64. Float32 products would lose the
covariance of a cluster whose mean is large compared with its width, and with L of K topics for each
item, float64 sums take only a few percent of a step.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sparsetopics.base.batches import Arrays, FloatArray, IntArray, VectorBatch, Vectors
from sparsetopics.base.soundness import check_finite, check_like, check_own_fields, require
from sparsetopics.execution.executors import Executor
from sparsetopics.kernels import items as item_kernels
from sparsetopics.kernels import trees as tree_kernels
from sparsetopics.kernels.types import Float32Array
from sparsetopics.model.kd_tree import NodeBatch, NodeSums
from sparsetopics.model.likelihoods.scorers import unpacked
from sparsetopics.model.responsibilities import Responsibilities

BLOCK_ITEMS = 1024  # items gathered for one matrix product
ROUNDING = 1e-9  # of squared sums, relative to the largest of all components
BLOCK_TOPICS = 32  # topics that one worker takes at a time


class Moments(NamedTuple):
    """Σ_n r_nk t(x_n), topic by topic. Moments of disjoint sets of items add."""

    counts: FloatArray  # (n_topics,)  N_k = Σ r
    sums: FloatArray  # (n_topics, n_columns)  Σ r x; (n_topics, 0) where means are known
    squares: FloatArray  # (n_topics, n_columns, n_columns)  Σ r x xᵀ; or (.., n_columns)  Σ r x²

    @classmethod
    def zeros(
        cls, n_topics: int, n_columns: int, *, in_pairs: bool = False, with_sums: bool = True
    ) -> Moments:
        """No items, for variances column by column or, with ``in_pairs``, for full covariances."""
        sums = np.zeros((n_topics, n_columns if with_sums else 0))
        squares = np.zeros((n_topics, *(n_columns,) * (2 if in_pairs else 1)))
        return cls(np.zeros(n_topics), sums, squares)

    def check(self, nothing: Moments) -> None:
        check_like(self, nothing, "components")
        require(self.counts.min(initial=0.0) >= 0.0, "items of components below zero")
        squares = self.squares
        if squares.ndim == 3:
            squares = np.diagonal(squares, axis1=1, axis2=2)
        require(squares.min(initial=0.0) >= 0.0, "squares below zero")
        if self.sums.shape[1]:  # or a variance would be negative
            largest = self.counts[:, None] * squares
            rounding = ROUNDING * largest.max(initial=1.0)
            are_moments = (self.sums**2 <= largest + rounding).all()
            require(are_moments, "sums that are too large for their squares")

    @property
    def n_topics(self) -> int:
        return len(self.counts)

    @property
    def n_columns(self) -> int:
        return int(self.squares.shape[1])

    @property
    def sizes(self) -> FloatArray:
        """Items of each topic, (n_topics,)."""
        return self.counts

    @property
    def features(self) -> FloatArray:
        """Features by which topics are compared: mean second moments and means, (n_topics, ..)."""
        sizes = np.maximum(self.counts, 1e-30)[:, None]
        return np.hstack([self.squares.reshape(len(sizes), -1) / sizes, self.sums / sizes])

    @property
    def is_exact(self) -> bool:
        return False

    def accumulator(self) -> Moments:
        return Moments(*(values.copy() for values in self))

    def zeros_like(self) -> Moments:
        return Moments(*map(np.zeros_like, self))

    def plus(self, other: Moments) -> Moments:
        return Moments(*map(operator.add, self, other))

    def minus(self, other: Moments) -> Moments:
        return Moments(*map(operator.sub, self, other))

    def with_rest(self, start: Moments, share: float) -> Moments:
        return self.plus(start.scaled(share))

    def scaled(self, factor: float) -> Moments:
        """As if every item were there ``factor`` times."""
        return Moments(*(factor * values for values in self))

    def with_empty_tail(self) -> Moments:
        """What posteriors follow from if the last topic is a tail, whose posterior is the prior."""
        kept = self.accumulator()
        for values in kept:
            values[-1] = 0.0
        return kept

    def take(self, topics: IntArray) -> Moments:
        """The moments of ``topics``, in that order."""
        return Moments(*(values[topics] for values in self))

    @classmethod
    def joined(cls, parts: Sequence[Moments]) -> Moments:
        """The topics of at least one part, one part after the other."""
        return cls(*map(np.concatenate, zip(*parts, strict=True)))

    def renumbered(self, new_topics: IntArray, n_topics: int) -> Moments:
        """Topic k becomes ``new_topics[k]``; -1 leaves it out, equal numbers add up."""
        kept = np.flatnonzero(new_topics >= 0)
        moved = Moments(*(np.zeros((n_topics, *values.shape[1:])) for values in self))
        for mine, theirs in zip(self, moved, strict=True):
            np.add.at(theirs, new_topics[kept], mine[kept])
        return moved

    def scatter(self, points: FloatArray) -> FloatArray:
        """Σ_n r_nk (x_n − m_k)(x_n − m_k)ᵀ for ``points`` m (n_topics, n_columns), or its diagonal.

        Where means are known, they are the points, and sums are measured from them.
        """
        if not self.sums.shape[1]:
            return self.squares
        if self.squares.ndim == 2:
            scatter = self.squares - 2.0 * points * self.sums
            return scatter + self.counts[:, None] * points**2
        crossed = self.sums[:, :, None] * points[:, None, :]
        scatter = self.squares - crossed - crossed.transpose(0, 2, 1)
        return scatter + self.counts[:, None, None] * outer_products(points)

    def add(self, batch: Moments, scale: float = 1.0) -> None:
        """Add a batch in place, ``scale`` times."""
        for values, more in zip(self, batch, strict=True):
            values += scale * more

    def exchange(self, new: Moments, old: Moments | None, executor: Executor) -> None:
        """Add ``new`` in place, and take out ``old``; no count falls below zero.

        Counts of ``item_kernels.share_items`` are exact, so nothing is left of a batch.
        """
        if old is not None:
            self.add(old, -1.0)
            np.maximum(self.counts, 0.0, out=self.counts)
        self.add(new)

    def sum_batch(
        self, batch: VectorBatch | NodeBatch, found: Responsibilities, executor: Executor
    ) -> Moments:
        """The moments of a batch, for the same topics."""
        if not isinstance(batch, NodeBatch):
            return self.sum_items(batch.values, found, executor)
        # The sums of nodes, which include their counts, are shared out.
        shared = NodeSums(*(np.zeros((self.n_topics, *each.shape[1:])) for each in batch.sums))
        tree_kernels.share_out(found, *batch.sums, *shared)
        counts, sums, products = shared
        squares = products if self.squares.ndim == 2 else unpacked(products, self.n_columns)
        return Moments(counts, sums[:, : self.sums.shape[1]], squares)

    def sum_items(self, values: Vectors, found: Responsibilities, executor: Executor) -> Moments:
        """The moments of ``values`` (n_items, n_columns), with a row of ``found`` for each item."""
        moments = self.zeros_like()
        np.copyto(moments.counts, np.bincount(found.topics, found.shares, minlength=self.n_topics))
        values = np.asarray(values, np.float32)
        if self.squares.ndim == 2:
            item_kernels.add_diagonal_moments(values, found, moments.sums, moments.squares)
            return moments
        starts, items, roots = item_kernels.group_entries(found, self.n_topics)

        def add_some(first: int) -> None:
            buffer = np.empty((BLOCK_ITEMS, self.n_columns))
            for k in range(first, min(first + BLOCK_TOPICS, self.n_topics)):
                own = slice(starts[k], starts[k + 1])
                moments._add_topic(k, values, items[own], roots[own], buffer)

        executor.map(add_some, range(0, self.n_topics, BLOCK_TOPICS))
        return moments

    def _add_topic(
        self, k: int, values: Float32Array, items: IntArray, roots: FloatArray, buffer: FloatArray
    ) -> None:
        """Add one topic's items in place: per block, one product of √r-scaled items with itself."""
        for low in range(0, len(items), BLOCK_ITEMS):
            scales = roots[low : low + BLOCK_ITEMS]
            rows = buffer[: len(scales)]
            item_kernels.gather_scaled(values, items[low : low + BLOCK_ITEMS], scales, rows)
            self.squares[k] += rows.T @ rows
            if self.sums.shape[1]:
                self.sums[k] += scales @ rows

    def restored(self, arrays: Arrays) -> Moments:
        """A batch's moments from its arrays by name."""
        return Moments(**arrays)

    def check_batch(self, arrays: Arrays) -> None:
        batch = self.restored(arrays)
        check_own_fields(batch)
        check_finite(batch, "components")
        batch.check(self)


def outer_products(points: FloatArray) -> FloatArray:
    """m_k m_kᵀ, (n_topics, n_columns, n_columns)."""
    return points[:, :, None] * points[:, None, :]
