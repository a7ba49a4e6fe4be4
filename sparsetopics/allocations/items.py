"""Mixtures as the engine uses them: every item has one component."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from sparsetopics.allocations.mixtures import DPMixture, FiniteMixture
from sparsetopics.allocations.pair_gains import PairGains, item_pair_gains
from sparsetopics.assignments import Assignments
from sparsetopics.batches import FloatArray, IntArray, ItemBatch
from sparsetopics.executors import Executor
from sparsetopics.item_step import ItemTerms, fit_items, sum_item_terms
from sparsetopics.local_step import Globals, LocalResult
from sparsetopics.options import LocalOptions
from sparsetopics.statistics import DocumentLengths


@dataclass(frozen=True, slots=True, eq=False)
class ItemAllocation:
    """The weights of a finite or a Dirichlet process mixture."""

    mixture: DPMixture | FiniteMixture

    @property
    def n_topics(self) -> int:
        return self.mixture.n_topics

    @property
    def weights(self) -> FloatArray:
        """E[w_k], (n_topics,)."""
        return self.mixture.mean_weights

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

    def fit(
        self, batch: ItemBatch, current: Globals, options: LocalOptions, executor: Executor
    ) -> LocalResult:
        return fit_items(batch, current, self.mixture.expected_log_weights, options, executor)

    def zero_terms(self) -> ItemTerms:
        return ItemTerms.zeros(self.n_topics)

    def sum_terms(
        self, assignments: Assignments, reference: FloatArray, executor: Executor
    ) -> ItemTerms:
        return sum_item_terms(*assignments, len(reference))

    def elbo(self, terms: ItemTerms) -> float:
        return self.mixture.elbo(terms.counts, terms.assignment_entropy)

    def updated(self, terms: ItemTerms) -> ItemAllocation:
        return ItemAllocation(self.mixture.updated(terms.counts))

    def learned(self, terms: ItemTerms, lengths: DocumentLengths) -> ItemAllocation:
        """As it is: γ is not learned."""
        return self

    def pair_gains(
        self, batches: Iterable[Assignments], terms: ItemTerms, reference: FloatArray
    ) -> PairGains:
        return item_pair_gains(batches, terms.counts)

    def merged(self, kept: int, absorbed: int) -> ItemAllocation:
        return ItemAllocation(self.mixture.merged(kept, absorbed))

    def restricted(self, kept: IntArray) -> ItemAllocation:
        return ItemAllocation(self.mixture.restricted(kept))

    def branched(self, parents: IntArray) -> ItemAllocation:
        return ItemAllocation(self.mixture.branched(parents))

    def reordered(self, order: IntArray) -> ItemAllocation:
        return ItemAllocation(self.mixture.reordered(order))
