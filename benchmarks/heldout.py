"""The score of held-out documents, one by one, the same for every toolkit.

The documents, and which of their words are scored, are those of ``completion.py`` in the shared
folder, which has scored every peer. The scores are computed by sparsetopics itself, which is up to
twice as fast. On KOS and 20 Newsgroups both give the same: the scores of a collection differ by
less than 1e-8 nats per token, those of a document by at most 1e-5 nats. A test compares with a
plain numpy twin.

Half A holds the documents at even positions and is there to choose settings by. Half B holds the
others, and its scores go into tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sparsetopics.base.batches import AnyArray, DocumentBatch, FloatArray
from sparsetopics.inference.document_step import topic_proportions
from sparsetopics.measures.completion import predicted_log_probability
from sparsetopics.measures.paired import HeldoutScores

TOTAL_CONCENTRATION = 0.5  # α, shared equally by the topics
SMALLEST_PROBABILITY = 1e-12  # some peers give words none
N_FIRST = 250  # documents scored after every lap; the curves of peers are on the same ones

Cut = tuple[AnyArray, AnyArray, AnyArray, AnyArray]  # word ids and counts: observed, then scored


class HeldOut(NamedTuple):
    """Held-out documents cut in two; row d of both parts is one document."""

    observed: DocumentBatch
    scored: DocumentBatch

    @classmethod
    def of(cls, documents: Sequence[Cut]) -> HeldOut:
        """Documents as ``completion.Completion`` keeps them."""
        words, counts, scored_words, scored_counts = zip(*documents, strict=True)
        return cls(_batch(words, counts), _batch(scored_words, scored_counts))

    def first(self, n_documents: int) -> HeldOut:
        return HeldOut(self.observed[:n_documents], self.scored[:n_documents])

    @property
    def sizes(self) -> FloatArray:
        """Scored tokens of each document, (n_docs,)."""
        return np.add.reduceat(self.scored.weights, self.scored.indptr[:-1])

    def scores(self, topic_word: AnyArray) -> HeldoutScores:
        """Score topics, (n_topics, n_words), whose rows need not sum to one."""
        topics = np.maximum(np.asarray(topic_word, np.float64), SMALLEST_PROBABILITY)
        topics /= topics.sum(axis=1, keepdims=True)
        prior = np.full(len(topics), TOTAL_CONCENTRATION / len(topics))
        proportions = topic_proportions(self.observed, topics, prior)
        word_topic = np.ascontiguousarray(topics.T)
        log_probability = predicted_log_probability(self.scored, proportions, word_topic)
        weighted = self.scored.weights * log_probability
        return HeldoutScores(np.add.reduceat(weighted, self.scored.indptr[:-1]), self.sizes)


def halves(scores: HeldoutScores) -> tuple[HeldoutScores, HeldoutScores]:
    """Return the scores of A, to choose by, and of B, to report."""
    first, second = (HeldoutScores(*(each[place::2] for each in scores)) for place in (0, 1))
    return first, second


def mean_scores(several: Sequence[HeldoutScores]) -> HeldoutScores:
    """Average several models' scores of each document."""
    log_likelihoods: FloatArray = np.mean([each.log_likelihoods for each in several], axis=0)
    return HeldoutScores(log_likelihoods, several[0].sizes)


def _batch(words: Sequence[AnyArray], counts: Sequence[AnyArray]) -> DocumentBatch:
    indptr = np.cumsum([0, *map(len, words)], dtype=np.int64)
    word_ids = np.concatenate(words).astype(np.int32)
    return DocumentBatch(indptr, word_ids, np.concatenate(counts).astype(np.uint32))
