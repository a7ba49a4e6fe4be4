"""The words that set topics apart from their siblings, and groups of documents from each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from sparsetopics.base.batches import FloatArray, IntArray
from sparsetopics.measures.prevalence import GroupTotal
from sparsetopics.measures.top_words import top_words

N_CANDIDATES = 100  # most probable words of a topic, of which some are chosen
PRIOR_TOKENS = 100.0  # of each topic in each group, spread as in the topic
LEAST_SCORE = 2.0  # standard errors


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
    return log_odds / np.sqrt(1.0 / counts + 1.0 / others)


def telling_group_words(
    totals: Sequence[GroupTotal],
    means: FloatArray,  # (n_groups, n_topics)
    topic_word: FloatArray,
    n_words: int,
) -> Iterator[list[IntArray]]:
    """Yield for each group the ids of up to ``n_words`` words of each topic, best first.

    Of the tokens of word v in a group, the share μ_k φ_kv / Σ_j μ_j φ_jv is expected to be of topic
    k. These counts are compared with those of all other groups together (``log_odds_scores``).
    Words with a score below 2 are left out. Memory does not grow with groups × topics × words,
    because each group is computed twice.
    """
    candidates = top_words(topic_word, N_CANDIDATES)
    prior = PRIOR_TOKENS * np.take_along_axis(topic_word, candidates, axis=1)
    n_groups = len(means)
    sizes = means * np.array([each.n_tokens for each in totals])[:, None] + PRIOR_TOKENS
    all_counts = np.zeros(candidates.shape)
    for group in range(n_groups):
        all_counts += prior + _counts(totals[group], means[group], topic_word, candidates)
    for group in range(n_groups):
        if n_groups == 1:
            yield [words[:0] for words in candidates]
            return
        counts = prior + _counts(totals[group], means[group], topic_word, candidates)
        size, all_sizes = sizes[group][:, None], sizes.sum(axis=0)[:, None]
        scores = log_odds_scores(counts, size, all_counts - counts, all_sizes - size)
        order = np.argsort(-scores, axis=1, kind="stable")[:, :n_words]
        best = np.take_along_axis(scores, order, axis=1) >= LEAST_SCORE
        yield [words[row[good]] for words, row, good in zip(candidates, order, best, strict=True)]


def _counts(
    total: GroupTotal,
    mean: FloatArray,  # (n_topics,)
    topic_word: FloatArray,
    candidates: IntArray,  # (n_topics, n_candidates)
) -> FloatArray:
    """The expected tokens of each candidate in a group, (n_topics, n_candidates).

    Shares of words in documents, added up, have the weight of the group's mean document.
    """
    tokens = total.word_shares * (total.n_tokens / total.n_documents)
    ratio = tokens / np.einsum("k,kv->v", mean, topic_word)
    counts: FloatArray = (
        mean[:, None] * np.take_along_axis(topic_word, candidates, axis=1) * ratio[candidates]
    )
    return counts
