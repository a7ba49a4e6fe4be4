"""The map of topics: topics with similar words lie close together in the plane."""

from __future__ import annotations

import numpy as np
from scipy.special import xlogy

from sparsetopics.base.batches import FloatArray

MOST_WORDS = 5_000  # compared one by one; more would take minutes and move no topic visibly
STEPS = 200  # of majorization


def map_topics(distances: FloatArray) -> FloatArray:
    """Place topics in the unit square, (n_topics, 2), so that distances are as given.

    ``distances`` is (n_topics, n_topics), of two topics or more. The sum of squared errors of
    distances is reduced by majorization (SMACOF; de Leeuw 1977), from classical scaling on. Both
    axes are then stretched to fill the square.
    """
    places = classical_scaling(distances)
    n_topics = len(distances)
    for _ in range(STEPS):
        apart = np.sqrt(((places[:, None] - places) ** 2).sum(axis=2))
        ratios = np.divide(distances, apart, out=np.zeros_like(apart), where=apart > 0.0)
        places = (ratios.sum(axis=1)[:, None] * places - ratios @ places) / n_topics
    low, extent = places.min(axis=0), np.ptp(places, axis=0)
    filled = np.full_like(places, 0.5)
    np.divide(places - low, extent, out=filled, where=extent > 1e-9)
    return filled


def jensen_shannon_distances(topic_word: FloatArray) -> FloatArray:
    """Return square roots of Jensen–Shannon divergences in bits, (n_topics, n_topics), in [0, 1].

    ``topic_word`` is (n_topics, n_words); rows sum to one. All words but the 5,000 that are most
    probable in some topic count as one word, which can only shorten distances. The square root of
    the divergence is a metric (Endres & Schindelin 2003).
    """
    # scipy's pdist gives NaN for topics that are equal but for rounding, and it is slower.
    shares = _lumped(topic_word, MOST_WORDS)
    own = xlogy(shares, shares).sum(axis=1)
    divergences = np.zeros((len(shares), len(shares)))
    for topic in range(1, len(shares)):
        middles = (shares[:topic] + shares[topic]) / 2
        divergences[topic, :topic] = (own[:topic] + own[topic]) / 2 - xlogy(middles, middles).sum(1)
    divergences += divergences.T
    distances: FloatArray = np.sqrt(np.clip(divergences / np.log(2), 0.0, 1.0))
    return distances


def _lumped(topic_word: FloatArray, n_kept: int) -> FloatArray:
    """Merge all but ``n_kept`` words into one, (n_topics, at most n_kept + 1)."""
    if topic_word.shape[1] <= n_kept:
        return topic_word
    kept = np.argpartition(-topic_word.max(axis=0), n_kept)[:n_kept]
    shares = topic_word[:, np.sort(kept)]
    rest = np.maximum(1.0 - shares.sum(axis=1, keepdims=True), 0.0)
    return np.hstack([shares, rest])


def classical_scaling(distances: FloatArray) -> FloatArray:
    """Return the two leading coordinates of multidimensional scaling (Torgerson 1952).

    ``distances`` is (n_topics, n_topics), of two topics or more.
    """
    n_topics = len(distances)
    centring = np.eye(n_topics) - 1.0 / n_topics
    values, vectors = np.linalg.eigh(-0.5 * centring @ distances**2 @ centring)
    places: FloatArray = (vectors * np.sqrt(np.maximum(values, 0.0)))[:, ::-1][:, :2].copy()
    # The sign of an eigenvector is arbitrary: let each axis point to its farthest topic.
    farthest = places[np.abs(places).argmax(axis=0), [0, 1]]
    places *= np.where(farthest < 0, -1.0, 1.0)
    return places
