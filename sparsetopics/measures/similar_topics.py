"""Which topics of two models are the same: by the probability they share, or Jensen–Shannon."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sparsetopics.base.batches import FloatArray, IntArray

Measure = Callable[[FloatArray, FloatArray], float]  # of two topics, each (n_words,)
ROUNDING = 1e-6  # more than the sums of a product of matrices may be off, on any processor


def similarities(old: FloatArray, new: FloatArray, measure: Measure, least: float) -> FloatArray:
    """Return how similar rows are, (n_old, n_new); what is below ``least`` may be zero.

    Rows are probabilities of the same words, and ``measure`` is one of the two below. For a word,
    min(p, q) ≤ its part of the Jensen–Shannon similarity ≤ √(pq), so Σ √(pq) of a pair bounds what
    it shares and how similar it is. One product of matrices has it for all pairs.
    """
    bounds = np.sqrt(old) @ np.sqrt(new).T
    found = np.zeros(bounds.shape)
    for k, j in np.argwhere(bounds >= least - ROUNDING).tolist():
        found[k, j] = measure(old[k], new[j])
    return found


def most_similar(topics: FloatArray, others: FloatArray) -> tuple[IntArray, FloatArray]:
    """Return the row of ``others`` that is most similar to each of ``topics``, and how similar.

    Both are probabilities of the same words, and similarity is Jensen–Shannon's.
    """
    bounds = np.sqrt(topics) @ np.sqrt(others).T + ROUNDING  # as in ``similarities``
    places, found = np.zeros(len(topics), np.int64), np.full(len(topics), -1.0)
    for topic, order in enumerate(np.argsort(-bounds, axis=1, kind="stable").tolist()):
        for other in order:
            if bounds[topic, other] <= found[topic]:
                break
            similarity = jensen_shannon_similarity(topics[topic], others[other])
            if similarity > found[topic]:
                places[topic], found[topic] = other, similarity
    return places, found


def shared_probability(p: FloatArray, q: FloatArray) -> float:
    """Return Σ_v min(p_v, q_v) of two topics, (n_words,): 1 if they are the same, at least 0."""
    return float(np.minimum(p, q).sum())


def jensen_shannon_similarity(p: FloatArray, q: FloatArray) -> float:
    """Return one minus the Jensen–Shannon divergence of two topics in bits, from 0 to 1.

    Both are (n_words,). A topic of another vocabulary may sum to less than one: the words that are
    missing count as words that the other topic does not have.
    """
    total, bits = p + q, 0.0
    for own in (p, q):
        known = own > 0.0
        bits += 0.5 * float((own[known] * (1.0 + np.log2(own[known] / total[known]))).sum())
        bits += 0.5 * (1.0 - float(own.sum()))  # log₂ of two for each word that only one has
    return 1.0 - bits
