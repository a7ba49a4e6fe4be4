"""Topics as people read them: a weight and the most probable words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sparsetopics.base.batches import FloatArray, IntArray


class TopicRow(NamedTuple):
    """One topic: its place in the model, share of the training tokens and best words."""

    topic: int
    weight: float | None  # None where a plain matrix does not say
    words: list[tuple[str, float]]  # word, probability in the topic


def top_words(topic_word: FloatArray, n_words: int) -> IntArray:
    """Ids of the most probable words of each topic, best first, ties by word id.

    Returns (n_topics, min(n_words, vocabulary size)).
    """
    order: IntArray = np.argsort(-topic_word, axis=1, kind="stable")[:, :n_words]
    return order


def topic_table(
    topic_word: FloatArray,  # (n_topics, n_words)   rows sum to one
    weights: FloatArray | None,  # (n_topics,)
    words: Sequence[str],
    n_words: int,
) -> list[TopicRow]:
    """One row per topic, in the given order, with its ``n_words`` best words."""
    shares = [None] * len(topic_word) if weights is None else weights.tolist()
    best_words = top_words(topic_word, n_words)
    return [
        TopicRow(topic, share, [(words[word], float(probabilities[word])) for word in best])
        for topic, (share, probabilities, best) in enumerate(
            zip(shares, topic_word, best_words, strict=True)
        )
    ]
