"""Which words tell most about a topic: from the probable to those hardly found elsewhere."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparsetopics.base.batches import FloatArray, IntArray

STEPS = 20  # places of the slider, and one


class RelevantWords(NamedTuple):
    """Words that lead a topic at some place of the slider, the most probable first."""

    word_ids: IntArray  # (n_kept,)
    log_probabilities: FloatArray  # (n_kept,)  log φ_kv
    log_lifts: FloatArray  # (n_kept,)  log φ_kv / p_v


def relevance(log_probabilities: FloatArray, log_lifts: FloatArray, balance: float) -> FloatArray:
    """λ log φ_kv + (1 − λ) log φ_kv / p_v, λ being ``balance`` (Sievert & Shirley 2014)."""
    mixed: FloatArray = balance * log_probabilities + (1.0 - balance) * log_lifts
    return mixed


def relevant_words(
    probabilities: FloatArray,  # (n_words,)  φ_kv of one topic
    unigram: FloatArray,  # (n_words,)  p_v of all documents
    n_words: int,
) -> RelevantWords:
    """All words that are among the ``n_words`` most relevant for some λ = 0, 0.05, …, 1."""
    logs = np.log(probabilities)
    lifts = logs - np.log(unigram)
    leading = [_largest(relevance(logs, lifts, step / STEPS), n_words) for step in range(STEPS + 1)]
    kept = np.unique(np.concatenate(leading))
    kept = kept[np.argsort(-logs[kept], kind="stable")]
    return RelevantWords(kept, logs[kept], lifts[kept])


def _largest(values: FloatArray, n: int) -> IntArray:
    if len(values) <= n:
        return np.arange(len(values))
    return np.argpartition(-values, n - 1)[:n]
