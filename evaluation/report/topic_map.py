"""Topics as points in the plane: those with like words lie close together."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import xlogy

from sparsetopics.base.batches import FloatArray

MOST_WORDS = (
    5_000  # told apart; a larger vocabulary would take minutes and move no point to speak of
)


class TopicMap(NamedTuple):
    """Where topics lie, and how much of what sets them apart the plane can show."""

    places: FloatArray  # (n_topics, 2)
    shown: float  # share of the squared distances' spread, 1 where the plane shows all


def jensen_shannon_distances(topic_word: FloatArray) -> FloatArray:
    """Square roots of the Jensen–Shannon divergences in bits, (n_topics, n_topics), in [0, 1].

    ``topic_word`` is (n_topics, n_words), rows sum to one. Beyond the 5,000 words that are most
    probable somewhere, words are lumped together; distances can only shrink by that. The square
    root is a metric (Endres & Schindelin 2003).
    """
    shares = _lumped(topic_word, MOST_WORDS)
    own = xlogy(shares, shares).sum(axis=1)
    divergences = np.zeros((len(shares), len(shares)))
    for topic in range(1, len(shares)):
        middles = (shares[:topic] + shares[topic]) / 2
        divergences[topic, :topic] = (own[:topic] + own[topic]) / 2 - xlogy(middles, middles).sum(1)
    divergences += divergences.T
    distances: FloatArray = np.sqrt(np.clip(divergences / np.log(2), 0.0, 1.0))
    return distances


def classical_scaling(distances: FloatArray) -> TopicMap:
    """The two leading coordinates of classical multidimensional scaling (Torgerson 1952).

    ``distances`` is (n_topics, n_topics). Each axis points to where its farthest topic lies, so
    that the same distances give the same map.
    """
    n_topics = len(distances)
    centring = np.eye(n_topics) - 1.0 / n_topics
    values, vectors = np.linalg.eigh(-0.5 * centring @ distances**2 @ centring)
    values = np.maximum(values, 0.0)
    places = np.zeros((n_topics, 2))
    n_axes = min(2, n_topics)
    places[:, :n_axes] = (vectors * np.sqrt(values))[:, ::-1][:, :n_axes]
    farthest = places[np.abs(places).argmax(axis=0), [0, 1]]
    places *= np.where(farthest < 0, -1.0, 1.0)
    total = float(values.sum())
    return TopicMap(places, float(values[-2:].sum()) / total if total > 0 else 1.0)


def map_topics(topic_word: FloatArray) -> TopicMap:
    """Classical scaling of Jensen–Shannon distances, as in LDAvis (Sievert & Shirley 2014).

    The use of such maps goes back to Chuang, Ramage, Manning & Heer (2012).
    """
    return classical_scaling(jensen_shannon_distances(topic_word))


def _lumped(topic_word: FloatArray, n_kept: int) -> FloatArray:
    """The same with all but ``n_kept`` words as one, (n_topics, at most n_kept + 1)."""
    if topic_word.shape[1] <= n_kept:
        return topic_word
    kept = np.argpartition(-topic_word.max(axis=0), n_kept)[:n_kept]
    shares = topic_word[:, np.sort(kept)]
    rest = np.maximum(1.0 - shares.sum(axis=1, keepdims=True), 0.0)
    return np.hstack([shares, rest])
