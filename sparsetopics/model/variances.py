"""The collapsed criterion beside the ELBO: what the spread of counts adds to it.

At the best q(φ) and q(π_d) the ELBO is the collapsed evidence with every E[lnΓ(a + n)] replaced by
lnΓ(a + E[n]), which is smaller, and the more so the more topics share a token. Collapsed
variational inference keeps the difference to second order (Teh, Newman & Welling 2006; for the HDP
Teh, Kurihara & Welling 2008). Counts are taken as sums of independent assignments: of a word in a
topic (a = η) and of a topic in a document (a = α_k); totals are not corrected. The criterion is an
approximation to the evidence and no bound.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparsetopics.base.batches import DocumentBatch, FloatArray, IntArray
from sparsetopics.kernels import variances as spread_kernels
from sparsetopics.model.assignments import Assignments


class Spread(NamedTuple):
    """How uncertain the counts of a collection are; sums over its documents."""

    variances: FloatArray  # (n_words, n_topics)  Σ x r (1 − r)
    log_absent: FloatArray  # (n_words, n_topics)  Σ x log(1 − r)
    doc_corrections: FloatArray  # (n_topics,)  of the documents' topic counts

    @classmethod
    def zeros(cls, n_words: int, n_topics: int) -> Spread:
        return cls(np.zeros((n_words, n_topics)), np.zeros((n_words, n_topics)), np.zeros(n_topics))

    def copy(self) -> Spread:
        return Spread(*(array.copy() for array in self))

    def add(
        self, assignments: Assignments[DocumentBatch], prior: FloatArray, scale: float = 1.0
    ) -> None:
        """Put documents in (``scale`` 1) or take them out (-1), in place; ``prior`` is α_k."""
        batch, found = assignments
        counts = batch.word_counts.astype(np.float64)
        spread_kernels.add_spread(batch.indptr, batch.word_ids, counts, *found, prior, scale, *self)

    def rows(self, words: IntArray) -> Spread:
        """Some words alone; a copy, with nothing of documents."""
        return Spread(
            self.variances[words], self.log_absent[words], np.zeros_like(self.doc_corrections)
        )

    def take(self, topics: IntArray) -> Spread:
        """The chosen topics alone, in that order."""
        return Spread(*(array.take(topics, axis=-1) for array in self))

    def put(self, topics: IntArray, other: Spread) -> None:
        """Make ``other`` the columns of ``topics``, in place."""
        for array, values in zip(self, other, strict=True):
            array[..., topics] = values

    def word_corrections(self, counts: FloatArray, word_concentration: float) -> FloatArray:
        """What the criterion adds to the ELBO for the words of each topic, (n_topics,), nats."""
        corrections: FloatArray = spread_kernels.word_corrections(
            counts, self.variances, self.log_absent, word_concentration
        )
        return corrections

    def word_correction_changes(
        self, counts: FloatArray, after: Spread, counts_after: FloatArray, word_concentration: float
    ) -> FloatArray:
        """``word_corrections`` of ``after`` minus these, (n_topics,), nats."""
        changes: FloatArray = spread_kernels.word_correction_changes(
            counts, self.variances, self.log_absent,
            counts_after, after.variances, after.log_absent, word_concentration,
        )  # fmt: skip
        return changes
