"""The collapsed criterion: what the variances of expected counts add to the ELBO.

At the best q(φ) and q(π_d), the ELBO is the collapsed evidence with every E[lnΓ(a + n)] replaced by
lnΓ(a + E[n]). That is smaller, and the difference grows with the number of topics that share a
token. Collapsed variational inference keeps the difference to second order (Teh, Newman & Welling
2006; for the HDP Teh, Kurihara & Welling 2008). Counts are treated as sums of independent
assignments, both the counts of a word in a topic (a = η) and those of a topic in a document
(a = α_k). Totals are not corrected. Moves of an HDP add ``HDPAllocation.prior_slack``. The
criterion approximates the evidence and is not a bound.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparsetopics.base.batches import DocumentBatch, FloatArray, IntArray
from sparsetopics.kernels import variances as variance_kernels
from sparsetopics.kernels import words as word_kernels
from sparsetopics.kernels.types import Rows
from sparsetopics.model.responsibilities import Responsibilities


class CountVariances(NamedTuple):
    """How uncertain the counts of a collection are. All fields are sums over its documents."""

    by_word: FloatArray  # (n_words, n_topics, 2)  Σ x r (1 − r) and Σ x log(1 − r)
    doc_corrections: FloatArray  # (n_topics,)  for the documents' topic counts, in nats

    @classmethod
    def zeros(cls, n_words: int, n_topics: int) -> CountVariances:
        return cls(np.zeros((n_words, n_topics, 2)), np.zeros(n_topics))

    def add(
        self, batch: DocumentBatch, found: Responsibilities, prior: FloatArray, scale: float = 1.0
    ) -> None:
        """Add documents (``scale`` 1) or take them out (-1), in place; ``prior`` is α_k."""
        counts = batch.word_counts.astype(np.float64)
        variance_kernels.add_variances(
            batch.indptr, batch.word_ids, counts, found, prior, scale, *self
        )

    def copy(self) -> CountVariances:
        return CountVariances(*(values.copy() for values in self))

    def block(self, words: Rows, topics: IntArray) -> CountVariances:
        """A copy for some words and topics, with the corrections for all documents."""
        flat = self.by_word.reshape(len(self.by_word), -1)
        columns = (2 * topics[:, None] + np.arange(2)).ravel()
        block = word_kernels.take_block(flat, words, columns)
        by_word = block.reshape(len(words), len(topics), 2)
        return CountVariances(by_word, self.doc_corrections[topics])

    def put_block(self, words: Rows, topics: IntArray, other: CountVariances) -> None:
        """Replace these words and topics in place, and the corrections for documents."""
        self.by_word[np.ix_(words, topics)] = other.by_word
        self.doc_corrections[topics] = other.doc_corrections

    def take(self, topics: IntArray) -> CountVariances:
        """Only the chosen topics, in that order."""
        return CountVariances(self.by_word.take(topics, axis=1), self.doc_corrections[topics])

    def put(self, topics: IntArray, other: CountVariances) -> None:
        """Replace the columns of ``topics`` by those of ``other``, in place."""
        self.by_word[:, topics] = other.by_word
        self.doc_corrections[topics] = other.doc_corrections

    def word_corrections(self, counts: FloatArray, word_concentration: float) -> FloatArray:
        """What the criterion adds to the ELBO for the words of each topic, (n_topics,), in nats."""
        return variance_kernels.word_corrections(counts, self.by_word, word_concentration)
