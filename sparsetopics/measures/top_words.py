"""The top words of topics: which they are, a table of them, and how much topics differ in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from sparsetopics.base.batches import FloatArray, IntArray
from sparsetopics.base.wording import printable, quantity

# A topic is marked if at most so many documents hold half of it, or if one value has most of it.
MARKED, MARKED_WITH_VALUE = 5, 10
PERSISTENCE = 0.9  # p of rank-biased overlap: how much less each further rank counts


class TopicRow(NamedTuple):
    """One topic: its rank in the model, its share of the training tokens and its best words."""

    topic: int
    id: str | None  # None for a plain matrix, whose topics have none
    name: str
    weight: float | None  # None for a plain matrix, which has no weights
    words: list[tuple[str, float]]  # word, probability in the topic
    documents_with_half: int | None = None  # training documents; None if there are many, or unknown
    # What has most of these documents' tokens in the topic: a ``field``, a ``value``, its ``share``
    mostly: dict[str, str | float] | None = None
    list_name: str | None = None  # of the words that it began with
    keyword_rate: float | None = None  # share of these words in its tokens
    n_runs: int | None = None  # of which the model is the consensus
    found_in_runs: int | None = None  # how many of them have a topic of at least 0.8 similarity
    similarity: float | None = None  # Jensen–Shannon, to the topics of the runs, on average

    @property
    def mark(self) -> str:
        """What people should know of a topic of several runs, of a list, or of few documents; empty
        for others."""
        rate, n_documents = self.keyword_rate, self.documents_with_half
        marks = [f"in {self.found_in_runs} of {self.n_runs} runs"] if self.n_runs else []
        if rate is not None:
            marks.append(f"{rate:.1%} of its tokens are words of the list")
        which = "; {field}: {value}".format_map(self.mostly) if self.mostly else ""
        if n_documents is not None and n_documents <= (MARKED_WITH_VALUE if which else MARKED):
            marks.append(printable(f"half in {quantity(n_documents, 'document')}{which}"))
        return "; ".join(marks)


def top_words(topic_word: FloatArray, n_words: int) -> IntArray:
    """Return the ids of the most probable words of each topic, best first, ties by word id.

    The result is (n_topics, min(n_words, vocabulary size)).
    """
    size = topic_word.shape[1]
    if n_words >= size:
        return np.argsort(-topic_word, axis=1, kind="stable")
    # To sort whole topics of a large vocabulary would take ten times as long. The n-th largest
    # number is the same on every processor, unlike the order that a partition leaves behind.
    found = np.empty((len(topic_word), n_words), np.int64)
    for row, best in zip(topic_word, found, strict=True):
        limit = _nth_largest(row, n_words)
        above, equal = np.flatnonzero(row > limit), np.flatnonzero(row == limit)
        chosen = np.sort(np.concatenate((above, equal[: n_words - len(above)])))
        best[:] = chosen[np.argsort(-row[chosen], kind="stable")]
    return found


def _nth_largest(row: FloatArray, n: int) -> float:
    """The n-th largest number of a topic.

    Most words may have the smallest one, and a partition takes long where many numbers are equal.
    """
    lowest = row.min()
    larger = row[row > lowest]
    if len(larger) >= n:
        lowest = np.partition(larger, len(larger) - n)[len(larger) - n]
    return float(lowest)


def topic_table(
    topic_word: FloatArray,  # (n_topics, n_words)   rows sum to one
    weights: FloatArray | None,  # (n_topics,)
    words: Sequence[str],
    labels: Sequence[tuple[str | None, str]],  # (n_topics,)  ids, if there are any, and names
    best_words: IntArray,  # (n_topics, n_best)   word ids, best first
) -> list[TopicRow]:
    """Return one row per topic, in the given order, with its best words."""
    shares = [None] * len(topic_word) if weights is None else weights.tolist()
    rows = enumerate(zip(labels, shares, topic_word, best_words, strict=True))
    return [
        TopicRow(topic, *label, share, [(words[word], float(probabilities[word])) for word in best])
        for topic, (label, share, probabilities, best) in rows
    ]


def topic_diversity(top_words: IntArray) -> float:
    """Return the share of distinct words among the top words of all topics.

    ``top_words`` is (n_topics, n_top) word ids; 25 top words are customary (Dieng, Ruiz & Blei
    2020).
    """
    return len(np.unique(top_words)) / top_words.size


def inverted_rbo(top_words: IntArray) -> float:
    """Return one minus the mean rank-biased overlap of all pairs of topics, between 0 and 1.

    ``top_words`` is (n_topics, n_top) word ids; 10 top words are customary. The overlap is
    extrapolated from these ranks (Webber, Moffat & Zobel 2010, eq. 32), as in OCTIS (Bianchi,
    Terragni & Hovy 2021). A single topic gives 1.
    """
    n_topics, n_top = top_words.shape
    if n_topics < 2:
        return 1.0
    words, column = np.unique(top_words, return_inverse=True)
    column = column.reshape(top_words.shape)
    overlap = np.zeros((n_topics, n_topics))
    for depth in range(1, n_top + 1):
        indptr = np.arange(n_topics + 1) * depth
        shape = (n_topics, len(words))
        listed = csr_array((np.ones(indptr[-1]), column[:, :depth].ravel(), indptr), shape=shape)
        # The product of 0/1 rows counts the words that two topics share down to this depth.
        agreement = (listed @ listed.T).toarray() / depth
        overlap += (1 - PERSISTENCE) * PERSISTENCE ** (depth - 1) * agreement
    # The agreement at the last depth stands for all deeper ranks, which are not known.
    overlap += PERSISTENCE**n_top * agreement
    return 1 - float(overlap[np.triu_indices(n_topics, k=1)].mean())
