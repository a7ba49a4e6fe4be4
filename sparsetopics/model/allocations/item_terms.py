"""What items add up to for the weights of a mixture and for the ELBO."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparsetopics.base.batches import Batch, FloatArray, IntArray
from sparsetopics.base.soundness import require
from sparsetopics.kernels import items as item_kernels
from sparsetopics.model.responsibilities import Responsibilities


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


def sum_item_terms(batch: Batch, found: Responsibilities, n_topics: int) -> ItemTerms:
    """Sums over the items of a batch."""
    weights, (counts, entropies) = batch.weights, np.zeros((2, n_topics))
    item_kernels.add_terms(weights, *found, counts, entropies)
    n_items = float(weights.sum())
    return ItemTerms(n_items, n_items, counts, entropies)
