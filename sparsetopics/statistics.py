"""Additive summaries: what documents say about the global parameters.

Everything here adds over disjoint sets of documents, so that a learner may put batches in and take
them out again. Word counts of a batch are sparse, those of a collection dense.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from sparsetopics import _word_kernels
from sparsetopics._word_kernels import Float32Array, Rows, TopicIds
from sparsetopics.batches import DocumentBatch, FloatArray, IntArray


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

    @property
    def word_of_entry(self) -> Rows:
        return np.repeat(self.words, np.diff(self.starts))


class DocumentTerms(NamedTuple):
    """Sums over documents that the allocation's part of the ELBO needs (``allocations.documents``).

    θ_dk = N_dk + α_k holds with the α of the time the document was visited; the slack term keeps
    what that α contributed, so that the sums stay exact when α moves on. The sums of a topic run
    over the documents in which it is active.
    """

    n_docs: float
    n_tokens: float
    assignment_entropy: FloatArray  # (n_topics,)  −Σ_d Σ_u x r log r
    active_documents: FloatArray  # (n_topics,)  how many there are
    summed_digamma: FloatArray  # (n_topics,)  Σ_d ψ(θ_dk)
    summed_log_gamma: FloatArray  # (n_topics,)  Σ_d lnΓ(θ_dk)
    frozen_slack: FloatArray  # (n_topics,)  Σ_d (N_dk − θ_dk) ψ(θ_dk)
    totals: FloatArray  # (3,)  the last three of θ_d = Σ_k θ_dk, over all documents

    @classmethod
    def zeros(cls, n_topics: int) -> DocumentTerms:
        a, b, c, d, e = (np.zeros(n_topics) for _ in range(5))
        return cls(0.0, 0.0, a, b, c, d, e, np.zeros(3))

    @property
    def summed_expected_log_doc_topic(self) -> FloatArray:
        """Σ_d E[log π_dk], (n_topics,), for topics that count as active in every document."""
        summed: FloatArray = self.summed_digamma - self.totals[0]
        return summed

    def with_tail(self) -> DocumentTerms:
        """One topic more, which no document uses."""
        return self.renumbered(np.arange(self.n_topics), self.n_topics + 1)

    @property
    def n_topics(self) -> int:
        return len(self.active_documents)

    @property
    def by_topic(self) -> FloatArray:
        """The sums that belong to a topic, (5, n_topics)."""
        return np.stack([getattr(self, name) for name in TERMS_BY_TOPIC])

    def with_topics(self, by_topic: FloatArray) -> DocumentTerms:
        """The same documents with other sums by topic, (5, n_topics)."""
        return self._replace(**dict(zip(TERMS_BY_TOPIC, by_topic, strict=True)))

    def renumbered(self, new_topics: IntArray, n_topics: int) -> DocumentTerms:
        """Topic k becomes ``new_topics[k]``, -1 leaves it out; numbers must not meet."""
        by_topic = np.zeros((len(TERMS_BY_TOPIC), n_topics))
        kept = new_topics >= 0
        by_topic[:, new_topics[kept]] = self.by_topic[:, kept]
        return self.with_topics(by_topic)


TERMS_BY_TOPIC = (
    "assignment_entropy",
    "active_documents",
    "summed_digamma",
    "summed_log_gamma",
    "frozen_slack",
)


class DocumentLengths(NamedTuple):
    """How many documents have how many tokens."""

    tokens: FloatArray  # (n_lengths,)  rising
    n_docs: FloatArray  # (n_lengths,)

    @classmethod
    def of(cls, batches: Iterable[DocumentBatch]) -> DocumentLengths:
        lengths = [
            np.bincount(
                np.repeat(np.arange(batch.n_docs), np.diff(batch.indptr)),
                batch.word_counts,
                minlength=batch.n_docs,
            )
            for batch in batches
        ]
        tokens, n_docs = np.unique(np.concatenate([np.zeros(0), *lengths]), return_counts=True)
        return cls(tokens, n_docs.astype(np.float64))

    def plus(self, other: DocumentLengths) -> DocumentLengths:
        """Those of two disjoint sets of documents."""
        both = np.concatenate((self.tokens, other.tokens))
        tokens, place = np.unique(both, return_inverse=True)
        n_docs = np.bincount(place, np.concatenate((self.n_docs, other.n_docs)))
        return DocumentLengths(tokens, n_docs.astype(np.float64))

    def log_gamma_sum(self, concentration: float) -> float:
        """Σ_d lnΓ(N_d + α)."""
        return float(np.dot(self.n_docs, gammaln(self.tokens + concentration)))


class Summary(NamedTuple):
    """What a learner keeps of a batch."""

    word_counts: SparseCounts
    terms: DocumentTerms


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


def scaled(terms: DocumentTerms, factor: float) -> DocumentTerms:
    return DocumentTerms._make(factor * value for value in terms)
