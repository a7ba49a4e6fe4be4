"""Words of each topic for every place of the slider of a page."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparsetopics.base.batches import FloatArray, IntArray
from sparsetopics.measures.relevance import relevance
from sparsetopics.measures.top_words import top_words

STEPS = 20  # of the slider, which has one place more


class BrowserWords(NamedTuple):
    """Words that lead a topic at some place of the slider, the most probable first."""

    word_ids: IntArray  # (n_kept,)
    log_probabilities: FloatArray  # (n_kept,)  log φ_kv
    log_lifts: FloatArray  # (n_kept,)  log φ_kv / p_v


def browser_words(probabilities: FloatArray, unigram: FloatArray, n_words: int) -> BrowserWords:
    """Return all words that are among the ``n_words`` most relevant for some λ = 0, 0.05, …, 1.

    Words have the ``probabilities`` φ_kv in the topic and the ``unigram`` p_v in all documents.
    """
    logs = np.log(probabilities)
    lifts = logs - np.log(unigram)
    places = [relevance(logs, lifts, step / STEPS) for step in range(STEPS + 1)]
    kept = np.unique(top_words(np.array(places), n_words))
    kept = kept[np.argsort(-logs[kept], kind="stable")]
    return BrowserWords(kept, logs[kept], lifts[kept])
