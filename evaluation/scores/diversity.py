"""How different topics are from each other, by their top words."""

from __future__ import annotations

import numpy as np

from sparsetopics.base.batches import IntArray


def topic_diversity(top_words: IntArray) -> float:
    """Share of distinct words among the top words of all topics (Dieng, Ruiz & Blei 2020).

    ``top_words`` is (n_topics, n_top) word ids; the customary n_top is 25.
    """
    return len(np.unique(top_words)) / top_words.size
