"""The local step of items: under any likelihood of items, to the components of a mixture.

The responsibilities are the exact optimum for the global parameters, so a step never lowers the
ELBO. Blocks of items always lie in the same places: the bits do not depend on the workers.
"""

from __future__ import annotations

from typing import NamedTuple, cast

import numpy as np

from sparsetopics.base.batches import FloatArray, IntArray, ItemBatch
from sparsetopics.base.soundness import require
from sparsetopics.execution.executors import Executor
from sparsetopics.inference.local_step import Globals, LocalInfo, LocalResult
from sparsetopics.kernels import items as item_kernels
from sparsetopics.kernels import summaries as summary_kernels
from sparsetopics.model.item_assignment import assign
from sparsetopics.model.likelihoods.likelihood import ItemLikelihood
from sparsetopics.model.responsibilities import Responsibilities
from sparsetopics.model.statistics import Summary
from sparsetopics.options.training import LocalOptions


class ItemTerms(NamedTuple):
    """Sums over items that the weights of a mixture and the ELBO need."""

    n_docs: float  # items
    n_tokens: float  # as many
    counts: FloatArray  # (n_topics,)  N_k
    assignment_entropy: FloatArray  # (n_topics,)  −Σ_n r log r

    @classmethod
    def zeros(cls, n_topics: int) -> ItemTerms:
        return cls(0.0, 0.0, np.zeros(n_topics), np.zeros(n_topics))

    def check(self) -> None:
        require(self.counts.min(initial=0.0) >= 0.0, "items of components below zero")
        require(self.n_docs > 0.0, "no items")

    @property
    def n_topics(self) -> int:
        return len(self.counts)

    @property
    def by_topic(self) -> FloatArray:
        """The sums that belong to a component, (2, n_topics)."""
        return np.stack([self.counts, self.assignment_entropy])

    def with_topics(self, by_topic: FloatArray) -> ItemTerms:
        """The same items with other sums by component, (2, n_topics)."""
        return self._replace(counts=by_topic[0], assignment_entropy=by_topic[1])

    def renumbered(self, new_topics: IntArray, n_topics: int) -> ItemTerms:
        """Component k becomes ``new_topics[k]``, -1 leaves it out; numbers must not meet."""
        by_topic = np.zeros((2, n_topics))
        kept = new_topics >= 0
        by_topic[:, new_topics[kept]] = self.by_topic[:, kept]
        return self.with_topics(by_topic)


def fit_items(
    batch: ItemBatch,
    current: Globals,
    expected_log_weights: FloatArray,  # (n_topics,)
    options: LocalOptions,
    executor: Executor,
) -> LocalResult:
    """L-sparse responsibilities of all items of ``batch``, and what follows from them."""
    likelihood = cast("ItemLikelihood[object]", current.likelihood)
    scorer = batch.scorer(likelihood, current.components)
    n_slots = options.n_slots(len(expected_log_weights))
    assigned = assign(batch.values, scorer, expected_log_weights, n_slots, executor)
    found = _without_zeros(assigned.responsibilities, n_slots)
    terms = sum_item_terms(batch, found, len(expected_log_weights))
    summary = Summary(current.components.sum_batch(batch, found, executor), terms)
    return LocalResult(summary, found, LocalInfo(0, 0, batch.n_docs))


def sum_item_terms(batch: ItemBatch, found: Responsibilities, n_topics: int) -> ItemTerms:
    """Sums over the items of a batch."""
    weights, (counts, entropies) = batch.weights, np.zeros((2, n_topics))
    item_kernels.add_terms(weights, *found, counts, entropies)
    n_items = float(weights.sum())
    return ItemTerms(n_items, n_items, counts, entropies)


def _without_zeros(found: Responsibilities, n_slots: int) -> Responsibilities:
    """Components that round to nothing are not used."""
    shape = len(found.shares) // n_slots, n_slots
    compact = summary_kernels.compact(
        found.topics.reshape(shape), found.shares.reshape(shape).astype(np.float64)
    )
    return Responsibilities(*compact)
