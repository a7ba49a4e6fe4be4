"""Topics in which given words stand out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sparsetopics.corpora.word_search import WordSearch
from sparsetopics.options.option import check_strings, refuse, shown
from sparsetopics.runs.run import AnyRun

TINY = np.finfo(np.float64).tiny  # the weight of a topic without data, which has a logarithm
MASS, MOST = 0.9, 10  # topics are listed until their shares add up to this; how many at most


def found_topics(run: AnyRun, texts: Sequence[str]) -> dict[int, float]:
    """Return the topics in which the words of ``texts`` stand out, with their shares, best first.

    The share of topic k is p(k | words) ∝ w_k Π_v φ_kv, where w_k is the weight of the topic, and v
    are the different words. Topics are listed until their shares sum to 0.9, at least one and at
    most ten; ties go to the lower number. Raises RunError for a mixture of vectors, and OptionError
    for a word that is not in the vocabulary.
    """
    words, weights = word_ids(run, texts), np.maximum(run.model.weights, TINY)
    logs = np.log(weights) + np.log(run.model.topic_word_mean[:, words]).sum(axis=1)
    shares = np.exp(logs - logs.max())
    shares /= shares.sum()
    best = np.argsort(-shares, kind="stable")
    n_listed = 1 + int(np.searchsorted(np.cumsum(shares[best]), MASS))
    return {topic: float(shares[topic]) for topic in best[: min(n_listed, MOST)].tolist()}


def word_ids(run: AnyRun, texts: Sequence[str]) -> list[int]:
    """Return the ids of the words of ``texts`` in the vocabulary of a run, each once.

    ``WordSearch`` says how. Raises what ``found_topics`` raises.
    """
    check_strings("find", texts)
    search, found = WordSearch(run.words), list[int]()
    for text in texts:
        ids, unknown = search.ids(text)
        for word in unknown:
            near = search.near(word)
            hint = f"Similar words: {', '.join(near)}." if near else ""
            refuse("find", f"{shown(word)} is not in the vocabulary of the run", hint)
        found += ids
    return list(dict.fromkeys(found))
