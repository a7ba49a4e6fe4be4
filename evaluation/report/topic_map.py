"""The map of topics: topics with similar words lie close together in the plane."""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple
from unicodedata import east_asian_width

import numpy as np
from matplotlib.axes import Axes
from scipy.special import xlogy

from sparsetopics.base.batches import FloatArray
from sparsetopics.base.showing import shortened
from sparsetopics.evaluation.report.figures import colour, styled_axes, svg_text
from sparsetopics.measures.top_words import TopicRow

MOST_WORDS = 5_000  # compared one by one; more would take minutes and move no topic visibly
SMALLEST_DISC, LARGEST_DISC = 14.0, 900.0  # points squared
MOST_DISC_LABELS = 60
LABEL_SIZE = 8.0  # points
LABEL_GAP = 2.0  # points between a disc and a label beside it
MAP_INCHES = (6.4, 4.8)
MAP_MARGIN = 0.1  # on every side, as a share of the space the topics take
LETTER, WIDE_LETTER, LINE = 0.6, 1.0, 1.15  # sizes in ems
LONGEST_NAME, SHORTENED_NAME = 40, 16  # letters of a name where there is room, and where not


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


def map_figure(places: FloatArray, topics: Sequence[TopicRow], number: int) -> str:
    """Draw topics as discs whose area is their weight, as SVG text; a click leads to the topic.

    ``places`` are (n_topics, 2), and ``number`` is that of the run on the page and of the colour.
    The heaviest topics are labelled with their numbers and names where there is room, or else with
    the beginnings of their names, with their numbers alone, or not at all.
    """
    with styled_axes(*MAP_INCHES) as (figure, axes):
        # Topics of a plain matrix are equally large.
        weights = np.array([1.0 if topic.weight is None else topic.weight for topic in topics])
        shares = np.maximum(weights, 0.0) / max(*weights, np.finfo(float).tiny)
        areas = SMALLEST_DISC + LARGEST_DISC * shares
        discs = axes.scatter(
            places[:, 0], places[:, 1], s=areas, color=colour(number), alpha=0.35, linewidths=0.8
        )
        discs.set_urls([f"#run-{number}-topic-{topic.topic}" for topic in topics])
        _frame(axes, places)
        axes.set_axis_off()  # only distances have a meaning
        figure.draw_without_rendering()  # so that positions on the page are known
        points = axes.transData.transform(places) * 72 / figure.dpi
        heaviest = np.argsort(-areas, kind="stable")[:MOST_DISC_LABELS].tolist()
        labels = spaced_labels(points, np.sqrt(areas) / 2, topics, heaviest)
        for topic, label in labels.items():
            place = np.array([label.x, label.y]) / (72 * np.array(MAP_INCHES))
            axes.annotate(
                _stand_in(topic), place, xycoords="figure fraction",
                ha="center", va="center", fontsize=LABEL_SIZE,
            )  # fmt: skip
        svg = svg_text(figure)
    for topic, label in labels.items():
        svg = svg.replace(_stand_in(topic), html.escape(label.text))
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


class Label(NamedTuple):
    """A text on the map: its middle and half its extent, in points."""

    text: str
    x: float
    y: float
    half_width: float
    half_height: float


def spaced_labels(
    points: FloatArray,  # (n_topics, 2)  where topics lie, in points from the lower left
    radii: FloatArray,  # (n_topics,)  of their discs, in points
    topics: Sequence[TopicRow],  # (n_topics,)
    order: Iterable[int],  # topics, the most important first
) -> dict[int, Label]:
    """Return labels that cover neither each other nor the disc of another topic.

    A label is a topic's number and name, on its disc or beside it, or else the beginning of its
    name, or its number alone. A topic without room even for that gets no label. Topics are labelled
    in the given ``order``.
    """
    labels: dict[int, Label] = {}
    for place in order:
        others = np.arange(len(points)) != place
        for label in _candidates(points[place], radii[place], topics[place]):
            is_free = all(_are_apart(label, other) for other in labels.values())
            if is_free and _has_room(label, points[others], radii[others]):
                labels[place] = label
                break
    return labels


def _candidates(place: FloatArray, radius: float, topic: TopicRow) -> Iterator[Label]:
    """Yield labels of a topic, the best first: on its disc, right, left, above and below."""
    x, y = place
    number = str(topic.topic)
    names = (f"{number} {shortened(topic.name, n)}" for n in (LONGEST_NAME, SHORTENED_NAME))
    for text in (*dict.fromkeys(names), number):
        half_width, half_height = _width(text) * LABEL_SIZE / 2, LINE * LABEL_SIZE / 2
        beside, above = radius + LABEL_GAP + half_width, radius + LABEL_GAP + half_height
        for right, up in ((0, 0), (beside, 0), (-beside, 0), (0, above), (0, -above)):
            yield Label(text, x + right, y + up, half_width, half_height)


def _are_apart(one: Label, other: Label) -> bool:
    beside = abs(one.x - other.x) >= one.half_width + other.half_width
    return beside or abs(one.y - other.y) >= one.half_height + other.half_height


def _has_room(label: Label, points: FloatArray, radii: FloatArray) -> bool:
    """Whether a label is within the figure and covers no disc at ``points``, (n_discs, 2)."""
    extent = np.array([label.half_width, label.half_height])
    middle = np.array([label.x, label.y])
    corner = 72 * np.array(MAP_INCHES)
    if (middle < extent).any() or (middle + extent > corner).any():
        return False
    # From the middle of each disc to the nearest point of the label.
    gaps = np.maximum(np.abs(points - middle) - extent, 0.0)
    return bool((np.hypot(gaps[:, 0], gaps[:, 1]) >= radii).all())


def _width(text: str) -> float:
    """Return the approximate width in ems; the font of the reader's browser is not known."""
    return sum(WIDE_LETTER if east_asian_width(letter) in "WF" else LETTER for letter in text)
