"""The map of topics: topics with similar words lie close together in the plane."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import NamedTuple
from unicodedata import east_asian_width

import numpy as np
from matplotlib.axes import Axes
from scipy.special import xlogy

from sparsetopics.base.batches import FloatArray
from sparsetopics.evaluation.report.figures import colour, styled_axes, svg_text

MOST_WORDS = 5_000  # compared one by one; more would take minutes and move no topic visibly
SMALLEST_DISC, LARGEST_DISC = 14.0, 900.0  # points squared
MOST_DISC_LABELS = 60
LABEL_SIZE = 8.0  # points
MAP_INCHES = (6.4, 4.8)
MAP_MARGIN = 0.1  # on every side, as a share of the space the topics take
LETTER, WIDE_LETTER, LINE = 0.6, 1.0, 1.15  # sizes in ems
LONGEST_WORD = 14  # letters


class TopicMap(NamedTuple):
    """Where topics lie, and how much of their differences the plane shows."""

    places: FloatArray  # (n_topics, 2)
    shown: float  # share of the variance of squared distances; 1 if the plane shows all


def map_topics(topic_word: FloatArray) -> TopicMap:
    """Place topics by classical scaling of Jensen–Shannon distances, as LDAvis does.

    ``topic_word`` is (n_topics, n_words); rows sum to one. See Sievert & Shirley (2014); such maps
    go back to Chuang, Ramage, Manning & Heer (2012).
    """
    return classical_scaling(jensen_shannon_distances(topic_word))


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


def classical_scaling(distances: FloatArray) -> TopicMap:
    """Return the two leading coordinates of multidimensional scaling (Torgerson 1952).

    ``distances`` is (n_topics, n_topics).
    """
    n_topics = len(distances)
    centring = np.eye(n_topics) - 1.0 / n_topics
    values, vectors = np.linalg.eigh(-0.5 * centring @ distances**2 @ centring)
    values = np.maximum(values, 0.0)
    places = np.zeros((n_topics, 2))
    n_axes = min(2, n_topics)
    places[:, :n_axes] = (vectors * np.sqrt(values))[:, ::-1][:, :n_axes]
    # The sign of an eigenvector is arbitrary: let each axis point to its farthest topic.
    farthest = places[np.abs(places).argmax(axis=0), [0, 1]]
    places *= np.where(farthest < 0, -1.0, 1.0)
    total = float(values.sum())
    return TopicMap(places, float(values[-2:].sum()) / total if total > 0 else 1.0)


def map_figure(
    places: FloatArray,  # (n_topics, 2)
    weights: Sequence[float],
    words: Sequence[str],  # the best word of each topic
    addresses: Sequence[str],  # where a click on each topic leads
    number: int,  # of the colour
) -> str:
    """Draw topics as discs whose area is their weight, as SVG text.

    The heaviest topics are labelled with their numbers, and with their best words if there is room.
    """
    with styled_axes(*MAP_INCHES) as (figure, axes):
        shares = np.maximum(weights, 0.0) / max(*weights, np.finfo(float).tiny)
        areas = SMALLEST_DISC + LARGEST_DISC * shares
        discs = axes.scatter(
            places[:, 0], places[:, 1], s=areas, color=colour(number), alpha=0.35, linewidths=0.8
        )
        discs.set_urls(list(addresses))
        _frame(axes, places)
        axes.set_xticklabels([])
        axes.set_yticklabels([])
        axes.tick_params(length=0)
        figure.draw_without_rendering()  # so that positions on the page are known
        points = axes.transData.transform(places) * 72 / figure.dpi
        heaviest = np.argsort(-areas, kind="stable")[:MOST_DISC_LABELS].tolist()
        texts = spaced_labels(points, words, heaviest, LABEL_SIZE)
        for topic in texts:
            place = places[topic]
            axes.annotate(_stand_in(topic), place, ha="center", va="center", fontsize=LABEL_SIZE)
        svg = svg_text(figure)
    for topic, text in texts.items():
        svg = svg.replace(_stand_in(topic), html.escape(text))
    return svg


def _frame(axes: Axes, places: FloatArray) -> None:
    """Make room for all places, with one scale for both axes."""
    width, height = MAP_INCHES
    spans = np.ptp(places, axis=0)
    wanted = max(spans[0], spans[1] * width / height) or 1.0
    half = (0.5 + MAP_MARGIN) * wanted * np.array([1.0, height / width])
    middle = (places.min(axis=0) + places.max(axis=0)) / 2
    axes.set_xlim(middle[0] - half[0], middle[0] + half[0])
    axes.set_ylim(middle[1] - half[1], middle[1] + half[1])
    axes.set_aspect("equal")


def _stand_in(topic: int) -> str:
    """Return a text to draw in place of a label.

    matplotlib must not see the label itself: its font may lack letters, and it takes $ for TeX.
    """
    return f"topic-{topic}-label"


class _Label(NamedTuple):
    x: float
    y: float
    half_width: float


def spaced_labels(
    points: FloatArray,  # (n_topics, 2)  where topics lie, in the units of ``size``
    words: Sequence[str],  # (n_topics,)  the best word of each
    order: Iterable[int],  # topics, the most important first
    size: float,  # of the letters
) -> dict[int, str]:
    """Return labels that do not overlap: a topic's number and word, or its number alone.

    Topics are labelled in the given ``order``. A topic without room for its number gets no label.
    """
    placed: list[_Label] = []
    texts = {}
    for topic in order:
        x, y = points[topic]
        for text in (f"{topic} {_shortened(words[topic])}", str(topic)):
            label = _Label(x, y, _width(text) * size / 2)
            if all(_are_apart(label, other, LINE * size) for other in placed):
                placed.append(label)
                texts[topic] = text
                break
    return texts


def _are_apart(one: _Label, other: _Label, height: float) -> bool:
    beside = abs(one.x - other.x) >= one.half_width + other.half_width
    return beside or abs(one.y - other.y) >= height


def _width(text: str) -> float:
    """Return the approximate width in ems; the font of the reader's browser is not known."""
    return sum(WIDE_LETTER if east_asian_width(letter) in "WF" else LETTER for letter in text)


def _shortened(word: str) -> str:
    return word if len(word) <= LONGEST_WORD else f"{word[: LONGEST_WORD - 1]}…"
