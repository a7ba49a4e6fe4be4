"""The words that set topics apart from their siblings."""

from __future__ import annotations

import numpy as np

from sparsetopics.base.batches import FloatArray, IntArray


def telling_words(
    posterior: FloatArray,  # (n_topics, n_words)  λ: tokens and the prior
    parents: IntArray,  # (n_topics,)  topics with the same number are siblings
    candidates: IntArray,  # (n_topics, n_candidates)  word ids
    n_words: int,
) -> list[IntArray]:
    """Return the ids of up to ``n_words`` words of each topic that its siblings use less.

    A topic is compared with all its siblings together (``log_odds_scores``). Words with a negative
    score are left out. A topic without siblings has no words.
    """
    sums = np.zeros((int(parents.max()) + 1, posterior.shape[1]))
    for parent, row in zip(parents, posterior, strict=True):
        sums[parent] += row
    n_siblings = np.bincount(parents)[parents]
    found = []
    for topic, words in enumerate(candidates):
        if n_siblings[topic] < 2:
            found.append(words[:0])
            continue
        own, family = posterior[topic], sums[parents[topic]]
        total, others_total = own.sum(), family.sum() - own.sum()
        score = log_odds_scores(own[words], total, family[words] - own[words], others_total)
        best = np.argsort(-score, kind="stable")[:n_words]
        found.append(words[best[score[best] > 0.0]])
    return found


def log_odds_scores(
    counts: FloatArray,  # λ_v > 0
    total: float | FloatArray,  # Λ, of these and all other words
    other_counts: FloatArray,  # λ'_v
    other_total: float | FloatArray,  # Λ'
) -> FloatArray:
    """Return how much more often words are used here than elsewhere, in standard errors.

        z_v = δ_v / √(1/λ_v + 1/λ'_v),    δ_v = log λ_v/(Λ − λ_v) − log λ'_v/(Λ' − λ'_v)

    is the log-odds ratio with a Dirichlet prior, which is part of the counts (Monroe, Colaresi &
    Quinn 2008, eq. 16-22).
    """
    others = np.maximum(other_counts, 1e-9)
    log_odds = np.log(counts / (total - counts)) - np.log(others / (other_total - others))
    scores: FloatArray = log_odds / np.sqrt(1.0 / counts + 1.0 / others)
    return scores
