"""Mixtures as the engine uses them: every item has one component."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from sparsetopics.base.batches import FloatArray, IntArray
from sparsetopics.execution.executors import Executor
from sparsetopics.model.allocations.item_terms import ItemTerms, sum_item_terms
from sparsetopics.model.allocations.mixtures import MixtureAllocation, check_counts
from sparsetopics.model.allocations.pair_gains import PairGains, item_pair_gains
from sparsetopics.model.assignments import Assignments
from sparsetopics.model.statistics import B, DocumentLengths


@dataclass(frozen=True, slots=True, eq=False)
class ItemAllocation:
    """The weights of a finite or a Dirichlet process mixture."""

    mixture: MixtureAllocation

    @property
    def n_topics(self) -> int:
        return self.mixture.n_topics

    @property
    def weights(self) -> FloatArray:
        """E[w_k], (n_topics,)."""
        return self.mixture.mean_weights

    @property
    def expected_log_weights(self) -> FloatArray:
        """E[log w_k], (n_topics,)."""
        return self.mixture.expected_log_weights

    @property
    def total_concentration(self) -> None:
        return None

    @property
    def top_concentration(self) -> float:
        return self.mixture.concentration

    @property
    def reference(self) -> FloatArray:
        """Terms of items depend on no weights."""
        return np.zeros(self.n_topics)

    def check(self) -> None:
        check_counts(self.mixture.counts, self.mixture.concentration)

    def zero_terms(self) -> ItemTerms:
        return ItemTerms.zeros(self.n_topics)

    def sum_terms(
        self, assignments: Assignments[B], reference: FloatArray, executor: Executor
    ) -> ItemTerms:
        return sum_item_terms(*assignments, len(reference))

    def elbo(self, terms: ItemTerms) -> float:
        return self.mixture.elbo(terms.counts, terms.assignment_entropy)

    def updated(self, terms: ItemTerms) -> ItemAllocation:
        return self._of(terms.counts)

    def learned(self, terms: ItemTerms, lengths: DocumentLengths) -> ItemAllocation:
        """As it is: γ is not learned."""
        return self

    def pair_gains(
        self, batches: Iterable[Assignments[B]], terms: ItemTerms, reference: FloatArray
    ) -> PairGains:
        return item_pair_gains(batches, terms.counts)

    def merged(self, kept: int, absorbed: int) -> ItemAllocation:
        """Component ``kept`` takes the items of ``absorbed``, which goes."""
        counts = self.mixture.counts.copy()
        counts[kept] += counts[absorbed]
        return self._of(np.delete(counts, absorbed))

    def restricted(self, kept: IntArray) -> ItemAllocation:
        """The items of the others are shared out among those that are ``kept``."""
        counts = self.mixture.counts
        left = counts[kept]
        total = left.sum()
        if total == 0.0:
            return self._of(np.full(len(kept), counts.sum() / len(kept)))
        return self._of(left * (counts.sum() / total))

    def branched(self, parents: IntArray) -> ItemAllocation:
        """Children share the items of their parent."""
        return self._of(self.mixture.counts[parents] / np.bincount(parents)[parents])

    def reordered(self, order: IntArray) -> ItemAllocation:
        return self._of(self.mixture.counts[order])

    def _of(self, counts: FloatArray) -> ItemAllocation:
        return ItemAllocation(self.mixture.updated(counts))
