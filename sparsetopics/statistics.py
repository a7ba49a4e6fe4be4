"""Additive summaries: what documents say about the global parameters.

Everything here adds over disjoint sets of documents, so that a learner may put batches in and take
them out again. Word counts of a batch are sparse, those of a collection dense.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from scipy import sparse

from sparsetopics import _word_kernels
from sparsetopics._word_kernels import Float32Array, Rows, TopicIds
from sparsetopics.batches import FloatArray, IntArray


class SparseCounts(NamedTuple):
    """Expected word-topic counts S_vk of a batch: sparse rows for the batch's words."""

    words: Rows  # (n_rows,)  rising word ids
    starts: IntArray  # (n_rows + 1,)
    topics: TopicIds  # (n_entries,)  rising within a row
    values: Float32Array  # (n_entries,)

    def add_to(self, counts: FloatArray, scale: float = 1.0) -> None:
        """counts[words] += scale · this, in place; counts is (n_words, n_topics)."""
        _word_kernels.add_sparse_rows(
            self.words, self.starts, self.topics, self.values, scale, counts
        )

    def plus(self, other: SparseCounts) -> SparseCounts:
        """The sum over two disjoint sets of documents."""
        shape = (
            int(max(part.words.max(initial=0) for part in (self, other))) + 1,
            int(max(part.topics.max(initial=0) for part in (self, other))) + 1,
        )
        left, right = (
            sparse.csr_array((part.values, (part.word_of_entry, part.topics)), shape=shape)
            for part in (self, other)
        )
        both = (left + right).tocsr()
        both.sort_indices()
        words = np.flatnonzero(np.diff(both.indptr)).astype(np.uint32)
        starts = np.append(both.indptr[words], both.indptr[-1]).astype(np.int64)
        return SparseCounts(words, starts, both.indices.astype(np.uint32), both.data)

    @property
    def word_of_entry(self) -> Rows:
        return np.repeat(self.words, np.diff(self.starts))


class DocumentTerms(NamedTuple):
    """Sums over documents that the allocation's part of the ELBO needs.

    θ_dk = N_dk + α_k holds with the α of the time the document was visited; the slack term keeps
    what that α contributed, so that the sums stay exact when α moves on.
    """

    n_docs: float
    n_tokens: float
    assignment_entropy: FloatArray  # (n_topics,)  −Σ_d Σ_u x r log r
    summed_expected_log_doc_topic: FloatArray  # (n_topics,)  Σ_d E[log π_dk]
    summed_log_gamma: FloatArray  # (n_topics,)  Σ_d lnΓ(θ_dk)
    frozen_slack: FloatArray  # (n_topics,)  Σ_d (N_dk − θ_dk) E[log π_dk]
    summed_log_gamma_total: float  # Σ_d lnΓ(Σ_k θ_dk)

    @classmethod
    def zeros(cls, n_topics: int) -> DocumentTerms:
        zeros = [np.zeros(n_topics) for _ in range(4)]
        return cls(0.0, 0.0, zeros[0], zeros[1], zeros[2], zeros[3], 0.0)


class Summary(NamedTuple):
    """What a learner keeps of a batch."""

    word_counts: SparseCounts
    terms: DocumentTerms

    def plus(self, other: Summary) -> Summary:
        return Summary(self.word_counts.plus(other.word_counts), added(self.terms, other.terms))


class Statistics(NamedTuple):
    """What a learner knows of a collection."""

    word_topic_counts: FloatArray  # (n_words, n_topics)
    terms: DocumentTerms

    @classmethod
    def zeros(cls, n_words: int, n_topics: int) -> Statistics:
        return cls(np.zeros((n_words, n_topics)), DocumentTerms.zeros(n_topics))

    @classmethod
    def sum(cls, summaries: Iterable[Summary], n_words: int, n_topics: int) -> Statistics:
        """The sum of ``summaries``, in their order."""
        counts, terms = cls.zeros(n_words, n_topics)
        for summary in summaries:
            summary.word_counts.add_to(counts)
            terms = added(terms, summary.terms)
        return cls(counts, terms)

    def exchanged(self, new: Summary, old: Summary | None) -> Statistics:
        """With ``new`` put in and ``old`` taken out; rounding never leaves a count below zero."""
        counts = self.word_topic_counts.copy()
        terms = added(self.terms, new.terms)
        if old is not None:
            old.word_counts.add_to(counts, -1.0)
            terms = subtracted(terms, old.terms)
            np.maximum(counts, 0.0, out=counts)
        new.word_counts.add_to(counts)
        return Statistics(counts, terms)


def added(left: DocumentTerms, right: DocumentTerms) -> DocumentTerms:
    return DocumentTerms(*map(operator.add, left, right))


def subtracted(left: DocumentTerms, right: DocumentTerms) -> DocumentTerms:
    return DocumentTerms(*map(operator.sub, left, right))
