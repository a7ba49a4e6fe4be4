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

    With λ_v and Λ of a topic, and λ'_v and Λ' of all its siblings together, a word scores

        z_v = δ_v / √(1/λ_v + 1/λ'_v),    δ_v = log λ_v/(Λ − λ_v) − log λ'_v/(Λ' − λ'_v),

    the log-odds ratio with a Dirichlet prior in standard errors (Monroe, Colaresi & Quinn 2008,
    eq. 16-22). Words with a negative score are left out. A topic without siblings has no words.
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
        count, others = own[words], np.maximum(family[words] - own[words], 1e-9)
        log_odds = np.log(count / (total - count)) - np.log(others / (others_total - others))
        score = log_odds / np.sqrt(1.0 / count + 1.0 / others)
        best = np.argsort(-score, kind="stable")[:n_words]
        found.append(words[best[score[best] > 0.0]])
    return found
