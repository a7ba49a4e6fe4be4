"""The words of a topic that one group of documents uses more than the other groups do."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sparsetopics.base.batches import FloatArray, IntArray
from sparsetopics.evaluation.scores.prevalence import GroupMeans, GroupTotals
from sparsetopics.evaluation.scores.telling_words import log_odds_scores
from sparsetopics.evaluation.scores.top_words import top_words

N_CANDIDATES = 100  # most probable words of a topic, of which some are chosen
PRIOR_TOKENS = 100.0  # of each topic in each group, spread as in the topic
LEAST_SCORE = 2.0  # standard errors


def telling_group_words(
    totals: GroupTotals, means: GroupMeans, topic_word: FloatArray, n_words: int
) -> Iterator[list[IntArray]]:
    """Yield for each group the ids of up to ``n_words`` words of each topic, best first.

    Of the tokens of word v in a group, the share μ_k φ_kv / Σ_j μ_j φ_jv is expected to be of topic
    k. These counts are compared with those of all other groups together by the log-odds ratio in
    standard errors of ``telling_words``. Words with a score below 2 are left out. Memory does not
    grow with groups × topics × words, because each group is computed twice.
    """
    candidates = top_words(topic_word, N_CANDIDATES)
    prior = PRIOR_TOKENS * np.take_along_axis(topic_word, candidates, axis=1)
    n_groups = len(means.mean)
    sizes = means.mean * np.array(totals.n_tokens)[:, None] + PRIOR_TOKENS
    all_counts = np.zeros(candidates.shape)
    for group in range(n_groups):
        all_counts += prior + _counts(totals, means, topic_word, candidates, group)
    for group in range(n_groups):
        if n_groups == 1:
            yield [words[:0] for words in candidates]
            return
        counts = prior + _counts(totals, means, topic_word, candidates, group)
        size, all_sizes = sizes[group][:, None], sizes.sum(axis=0)[:, None]
        scores = log_odds_scores(counts, size, all_counts - counts, all_sizes - size)
        order = np.argsort(-scores, axis=1, kind="stable")[:, :n_words]
        best = np.take_along_axis(scores, order, axis=1) >= LEAST_SCORE
        yield [words[row[good]] for words, row, good in zip(candidates, order, best, strict=True)]


def _counts(
    totals: GroupTotals,
    means: GroupMeans,
    topic_word: FloatArray,
    candidates: IntArray,  # (n_topics, n_candidates)
    group: int,
) -> FloatArray:
    """The expected tokens of each candidate in a group, (n_topics, n_candidates).

    Shares of words in documents, added up, have the weight of the group's mean document.
    """
    tokens = totals.word_shares[group] * (totals.n_tokens[group] / totals.n_documents[group])
    mean = means.mean[group]
    ratio = tokens / np.einsum("k,kv->v", mean, topic_word)
    counts: FloatArray = (
        mean[:, None] * np.take_along_axis(topic_word, candidates, axis=1) * ratio[candidates]
    )
    return counts
