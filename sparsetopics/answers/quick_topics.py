"""Topics of documents by one cold local step, as in training.

It takes a tenth of the time of the dense steps of ``proportions.shares_of``, which would take
longer than the lap of an update.
"""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
from scipy.sparse import csr_array

from sparsetopics.base.batches import DocumentBatch, FloatArray, IntArray, WordIds
from sparsetopics.execution.executors import open_executor
from sparsetopics.inference.document_step import fit_documents
from sparsetopics.inference.local_step import Globals
from sparsetopics.model.allocations.lda import LDAAllocation
from sparsetopics.model.likelihoods.words import Words
from sparsetopics.model.topic_posterior import TopicPosterior
from sparsetopics.model.word_counts import WordCounts
from sparsetopics.options.training import LocalOptions


class QuickTopics(NamedTuple):
    """The topics of a model, laid out as local steps read them."""

    counts: FloatArray  # S, (n_words, n_topics)
    doc_concentration: FloatArray  # (n_topics,)  α_k
    word_concentration: float  # η, of the local step
    smoothing: float  # σ, of probabilities
    workers: int

    @classmethod
    def of(cls, model: TopicPosterior, workers: int) -> Self:
        eta, counts = model.word_concentration, np.ascontiguousarray(model.topic_word_counts.T)
        return cls(counts, model.doc_concentration, eta, model.smoothing or eta, workers)

    @property
    def weight_sums(self) -> FloatArray:
        """Σ_v (S_kv + σ), (n_topics,)."""
        sums: FloatArray = self.counts.sum(axis=0) + len(self.counts) * self.smoothing
        return sums

    def tokens(self, batch: DocumentBatch) -> csr_array:
        """The tokens of each topic in each document-word pair, (n_pairs, n_topics)."""
        counts = WordCounts(self.counts, within=self.counts.sum(axis=0))
        words = Words(len(self.counts), self.word_concentration)
        current = Globals(counts, LDAAllocation(self.doc_concentration), words)
        with open_executor(self.workers) as executor:
            found = fit_documents(batch, current, LocalOptions(), executor).responsibilities
        tokens = found.shares * np.repeat(batch.weights, np.diff(found.starts))
        return csr_array((tokens, found.topics, found.starts), (batch.n_pairs, counts.n_topics))

    def proportions(self, batch: DocumentBatch) -> FloatArray:
        """The proportions of topics in documents, (n_docs, n_topics)."""
        tokens = summed(self.tokens(batch), batch.documents, batch.n_docs)
        weights = tokens.toarray() + self.doc_concentration
        proportions: FloatArray = weights / weights.sum(axis=1, keepdims=True)
        return proportions

    def with_topics(self, counts: FloatArray) -> Self:
        """These topics and new ones, which have ``counts`` (n_new, n_words) and as large a share of
        α as of all tokens."""
        shares = counts.sum(axis=1) / (self.counts.sum() + counts.sum())
        parts = (1.0 - shares.sum()) * self.doc_concentration, shares * self.doc_concentration.sum()
        both = np.hstack([self.counts, counts.T])
        return self._replace(counts=both, doc_concentration=np.concatenate(parts))

    def with_documents(self, batch: DocumentBatch, visits: int) -> Self:
        """Topics that have learned more documents, in some visits."""
        found = self
        for _ in range(visits):
            tokens = summed(found.tokens(batch), batch.word_ids, len(self.counts))
            found = self._replace(counts=self.counts + tokens)
        return found


def summed(tokens: csr_array, rows: IntArray | WordIds, n_rows: int) -> csr_array:
    """The sums of the ``tokens`` of the pairs of each row, (n_rows, n_topics); ``rows`` (n_pairs,)
    may be the documents of the pairs, or their words."""
    parts = np.ones(len(rows)), (rows, np.arange(len(rows)))
    return csr_array(parts, (n_rows, len(rows))) @ tokens
