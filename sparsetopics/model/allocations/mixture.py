"""Mixtures as the training loop uses them: every item has one component."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np

from sparsetopics.base.batches import Batch, FloatArray, IntArray
from sparsetopics.base.showing import short_repr
from sparsetopics.base.soundness import require
from sparsetopics.execution.executors import Executor
from sparsetopics.kernels import items as item_kernels
from sparsetopics.model.allocations.pair_gains import item_pair_gains
from sparsetopics.model.assignments import Assignments
from sparsetopics.model.responsibilities import Responsibilities
from sparsetopics.model.statistics import B, DocumentLengths


class ItemTerms(NamedTuple):
    """Sums over items that the weights of a mixture and the ELBO need."""

    n_docs: float  # items
    n_tokens: float  # items too: each counts as one token
    counts: FloatArray  # (n_topics,)  N_k
    assignment_entropy: FloatArray  # (n_topics,)  −Σ_n r log r

    def check(self) -> None:
        require(self.counts.min(initial=0.0) >= 0.0, "items of components below zero")
        require(self.n_docs > 0.0, "no items")

    @property
    def by_topic(self) -> FloatArray:
        """The sums that belong to a component, (2, n_topics)."""
        return np.stack([self.counts, self.assignment_entropy])

    def with_topics(self, by_topic: FloatArray) -> ItemTerms:
        """The same items with other sums by component, (2, n_topics)."""
        return self._replace(counts=by_topic[0], assignment_entropy=by_topic[1])


def sum_item_terms(batch: Batch, found: Responsibilities, n_topics: int) -> ItemTerms:
    """Sums over the items of a batch."""
    weights, (counts, entropies) = batch.weights, np.zeros((2, n_topics))
    item_kernels.add_terms(weights, found, counts, entropies)
    n_items = float(weights.sum())
    return ItemTerms(n_items, n_items, counts, entropies)


@dataclass(frozen=True, slots=True, eq=False)
class ItemAllocation(ABC):
    """How items share the components of a mixture; no method changes the object."""

    counts: FloatArray  # (n_topics,)  N_k, from which the weights follow
    top_concentration: float  # γ, in total

    total_concentration = None

    def __repr__(self) -> str:
        return short_repr(self, "n_topics", "top_concentration")

    @property
    def n_topics(self) -> int:
        return len(self.counts)

    @property
    @abstractmethod
    def weights(self) -> FloatArray:
        """E[w_k], (n_topics,)."""

    @property
    @abstractmethod
    def expected_log_weights(self) -> FloatArray:
        """E[log w_k], (n_topics,)."""

    @abstractmethod
    def bound(self, counts: FloatArray, entropies: FloatArray) -> float:
        """The ELBO in nats without the data's part, for items with these N_k and H_k."""

    def with_counts(self, counts: FloatArray) -> Self:
        """Weights at their optimum for N_k, of any number of components."""
        return replace(self, counts=counts)

    @property
    def reference(self) -> FloatArray:
        """Zeros (n_topics,): the terms of items depend on no weights."""
        return np.zeros(self.n_topics)

    def check(self) -> None:
        require(self.counts.ndim == 1 and len(self.counts) > 0, "no items of components")
        require(self.counts.min() >= 0.0, "items of components below zero")
        require(self.top_concentration > 0.0, "a concentration that is not positive")

    def zero_terms(self) -> ItemTerms:
        return ItemTerms(0.0, 0.0, *np.zeros((2, len(self.counts))))  # with a tail, if there is one

    def sum_terms(
        self, assignments: Assignments[B], reference: FloatArray, executor: Executor
    ) -> ItemTerms:
        return sum_item_terms(*assignments, len(reference))

    def elbo(self, terms: ItemTerms) -> float:
        return self.bound(terms.counts, terms.assignment_entropy)

    def updated(self, terms: ItemTerms) -> Self:
        return self.with_counts(terms.counts)

    def learned(self, terms: ItemTerms, lengths: DocumentLengths) -> Self:
        """This rule itself: γ is not learned."""
        return self

    def pair_gains(
        self, batches: Iterable[Assignments[B]], terms: ItemTerms, reference: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        return item_pair_gains(batches, terms.counts)

    def joined(self, new_topics: IntArray, n_topics: int) -> Self:
        """Component k becomes part of ``new_topics[k]``, which takes its items."""
        return self.with_counts(np.bincount(new_topics, self.counts, n_topics).astype(np.float64))

    def restricted(self, kept: IntArray) -> Self:
        """Only the components that are ``kept``, which share out the items of the others."""
        counts = self.counts
        left = counts[kept]
        total = left.sum()
        if total == 0.0:
            return self.with_counts(np.full(len(kept), counts.sum() / len(kept)))
        return self.with_counts(left * (counts.sum() / total))

    def branched(self, parents: IntArray) -> Self:
        """Children share the items of their parent equally."""
        return self.with_counts(self.counts[parents] / np.bincount(parents)[parents])

    def reordered(self, order: IntArray) -> Self:
        return self.with_counts(self.counts[order])
