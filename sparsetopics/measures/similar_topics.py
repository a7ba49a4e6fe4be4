"""Which topics of two models are the same: by the probability they share, or Jensen–Shannon."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from sparsetopics.base.batches import FloatArray, IntArray
from sparsetopics.measures.top_words import top_words

COMPARED_WORDS = 30  # best words of a topic, by which pairs are found that may be similar
CANDIDATES = 5  # topics of the other model that share most of these words


def likely_pairs(ours: FloatArray, theirs: FloatArray) -> IntArray:
    """Return pairs of rows, (n_pairs, 2), that may be similar; rows are probabilities of words.

    A row of either model is paired with the rows of the other one that share most of its best
    words, so that not all pairs need all words. Both have the same words.
    """
    tables = []
    for topics in (ours, theirs):
        best = top_words(topics, COMPARED_WORDS)
        starts = np.arange(len(best) + 1) * best.shape[1]
        ones = np.ones(best.size, np.int64)
        tables.append(csr_array((ones, best.ravel(), starts), shape=topics.shape))
    shared = (tables[0] @ tables[1].T).toarray()
    is_likely = np.zeros(shared.shape, bool)
    for likely, counts in ((is_likely, shared), (is_likely.T, shared.T)):
        best = np.argsort(-counts, axis=1, kind="stable")[:, :CANDIDATES]
        np.put_along_axis(likely, best, True, axis=1)
    return np.argwhere(is_likely & (shared > 0))


def shared_probability(p: FloatArray, q: FloatArray) -> float:
    """Return Σ_v min(p_v, q_v) of two topics, (n_words,): 1 if they are the same, at least 0."""
    return float(np.minimum(p, q).sum())


def jensen_shannon_similarity(p: FloatArray, q: FloatArray) -> float:
    """Return one minus the Jensen–Shannon divergence of two topics in bits, from 0 to 1.

    Both are (n_words,). A topic of another vocabulary may sum to less than one: the words that are
    missing count as words that the other topic does not have.
    """
    middle, bits = 0.5 * (p + q), 0.0
    for own in (p, q):
        known = own > 0.0
        bits += 0.5 * float((own[known] * np.log2(own[known] / middle[known])).sum())
        bits += 0.5 * (1.0 - float(own.sum()))  # log₂ of two for each word that only one has
    return 1.0 - bits
