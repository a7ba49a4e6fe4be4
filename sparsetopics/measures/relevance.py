"""Relevance of words to topics (Sievert & Shirley 2014), and names of topics made of it.

A topic's most probable words are often those of its neighbours too. Relevance also counts how much
more probable a word is in the topic than in all documents.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from sparsetopics.base.batches import FloatArray, IntArray
from sparsetopics.base.showing import shortened
from sparsetopics.measures.top_words import top_words

NAME_WORDS = 3
NAME_BALANCE = 0.6  # λ: the optimum of Sievert & Shirley's user study
LONGEST_NAME_WORD = 30  # characters
LONGEST_NAME = 200  # characters, of names that people give too


def relevance(log_probabilities: FloatArray, log_lifts: FloatArray, balance: float) -> FloatArray:
    """Return λ log φ_kv + (1 − λ) log φ_kv / p_v; λ is ``balance``."""
    return balance * log_probabilities + (1.0 - balance) * log_lifts


def relevant_words(
    topic_word: FloatArray,  # (n_topics, n_words)   rows sum to one
    unigram: FloatArray,  # (n_words,)  p_v of all documents
    n_words: int,
    balance: float,
) -> IntArray:
    """Return the ids of the most relevant words of each topic, best first, ties by word id.

    The result is (n_topics, min(n_words, vocabulary size)). A ``balance`` of 1 gives the most
    probable words.
    """
    found = np.empty((len(topic_word), min(n_words, topic_word.shape[1])), np.int64)
    log_unigram = np.log(unigram)
    for probabilities, best in zip(topic_word, found, strict=True):  # logs of one topic at a time
        logs = np.log(probabilities)
        best[:] = top_words(relevance(logs, logs - log_unigram, balance)[None], n_words)
    return found


def topic_names(topic_word: FloatArray, unigram: FloatArray, words: Sequence[str]) -> list[str]:
    """Return a name for each topic: its three most relevant words at λ = 0.6.

    Topics that would share a name get a fourth word. If they still share it, as topics without data
    do, each gets its number too: ``police, arrested, officers, man (7)``. Shapes are those of
    ``relevant_words``, and ``words`` (n_words,) are all words.
    """
    ids = relevant_words(topic_word, unigram, NAME_WORDS + 1, NAME_BALANCE)
    best = [[shortened(words[word], LONGEST_NAME_WORD) for word in row] for row in ids.tolist()]
    names = [", ".join(own[:NAME_WORDS]) for own in best]
    shared = _repeated(names)
    names = [
        ", ".join(own) if name in shared else name for own, name in zip(best, names, strict=True)
    ]
    shared = _repeated(names)
    return [f"{name} ({topic})" if name in shared else name for topic, name in enumerate(names)]


def _repeated(names: Sequence[str]) -> set[str]:
    return {name for name, times in Counter(names).items() if times > 1}
