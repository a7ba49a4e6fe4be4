"""Figures of the report, read back from their SVG."""

import re

import numpy as np
import pytest

from sparsetopics.evaluation.report.figures import curve_figure, moves_figure, score_figure
from sparsetopics.evaluation.report.topic_map import MOST_DISC_LABELS, map_figure, spaced_labels
from sparsetopics.measures.paired import Estimate
from sparsetopics.measures.top_words import TopicRow

DISC = r'<a xlink:href="(#run-\d-topic-\d+)">\s*<path d="([^"]*)"'


def labels_of(figure):
    return re.findall(r"<text[^>]*>([^<]*)</text>", figure)


def disc_widths(figure):
    """Of each linked disc, from its outline."""
    widths = []
    for _, outline in re.findall(DISC, figure):
        points = np.array(re.findall(r"(-?[\d.]+) (-?[\d.]+) ?\n", outline), float)
        widths.append(np.ptp(points[:, 0]))
    return widths


def marks_of(words, weights=None):
    """Topics 0, 1, … of equal weights, unless others are given."""
    weights = [1.0] * len(words) if weights is None else weights
    pairs = enumerate(zip(words, weights, strict=True))
    return [TopicRow(n, None, word, weight, []) for n, (word, weight) in pairs]


def test_every_topic_of_the_map_leads_somewhere_and_area_is_weight():
    n_topics = MOST_DISC_LABELS + 10
    places = np.random.default_rng(0).normal(size=(n_topics, 2))
    weights = np.linspace(1.0, 0.01, n_topics)

    figure = map_figure(places, marks_of([""] * n_topics, weights), 0)

    assert re.findall(r'xlink:href="(#run-0-topic-\d+)"', figure) == [
        f"#run-0-topic-{n}" for n in range(n_topics)
    ]
    assert "target=" not in figure
    assert labels_of(figure)[0].split() == ["0"]
    assert {int(label) for label in labels_of(figure)} < set(range(MOST_DISC_LABELS))
    widths = np.array(disc_widths(figure))
    assert (np.diff(widths) < 0).all()
    assert (widths[0] / widths[35]) ** 2 == pytest.approx(weights[0] / weights[35], rel=0.05)


def test_topics_without_weight_are_still_there():
    figure = map_figure(np.zeros((3, 2)), marks_of(["a", "b", "c"], [0.0, -1e-9, 0.0]), 1)

    assert len(disc_widths(figure)) == 3
    assert labels_of(figure)[0] == "0 a"  # beside the discs, which hide each other


def test_words_of_the_map_are_text_and_nothing_else():
    places = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    words = ["<b>&", "$x$", "\N{CJK UNIFIED IDEOGRAPH-8A9E}"]

    figure = map_figure(places, marks_of(words), 0)

    assert labels_of(figure) == ["0 &lt;b&gt;&amp;", "1 $x$", f"2 {words[2]}"]


def labels_at(points, words, radius=4.0):
    points = np.array(points, float) + 150  # in the middle of the figure
    radii = np.full(len(points), radius)
    return points, spaced_labels(points, radii, marks_of(words), range(len(points)))


def test_a_topic_alone_has_its_label_on_its_disc():
    points, labels = labels_at([[0.0, 0.0]], ["x" * 60])

    assert labels[0].text == f"0 {'x' * 39}\N{HORIZONTAL ELLIPSIS}"
    assert (labels[0].x, labels[0].y) == tuple(points[0])


def test_a_label_makes_way_for_the_disc_of_another_topic():
    points, labels = labels_at([[0.0, 0.0], [14.0, 0.0]], ["word", "neighbour"])

    assert (labels[0].text, labels[1].text) == ("0 word", "1 neighbour")
    assert labels[0].x + labels[0].half_width <= points[0, 0] - 4.0  # on the left
    assert labels[1].x - labels[1].half_width >= points[1, 0] + 4.0  # on the right


def test_labels_cover_neither_each_other_nor_discs_of_others():
    rng = np.random.default_rng(1)
    points, labels = labels_at(rng.normal(0.0, 40.0, (40, 2)), ["word"] * 40, radius=5.0)

    boxes = list(labels.values())
    for n, one in enumerate(boxes):
        for other in boxes[:n]:
            is_beside = abs(one.x - other.x) >= one.half_width + other.half_width
            assert is_beside or abs(one.y - other.y) >= one.half_height + other.half_height
    for topic, label in labels.items():
        for other in set(range(40)) - {topic}:
            right = max(0.0, abs(points[other, 0] - label.x) - label.half_width)
            up = max(0.0, abs(points[other, 1] - label.y) - label.half_height)
            assert np.hypot(right, up) >= 5.0
    texts = [label.text for label in boxes]
    assert 5 < sum(text.endswith("word") for text in texts) < 40


def test_a_name_is_shortened_before_it_gives_way():
    walls = [[x, y] for x in (-60.0, 60.0) for y in range(-40, 41, 8)]

    _, labels = labels_at([[0.0, 0.0], *walls], ["police, arrested, officers", *[""] * len(walls)])

    assert labels[0].text == "0 police, arreste\N{HORIZONTAL ELLIPSIS}"


def test_without_room_there_is_the_number_or_nothing():
    ring = [[np.cos(angle) * 13, np.sin(angle) * 13] for angle in np.arange(8) * np.pi / 4]

    _, labels = labels_at([[0.0, 0.0], *ring], ["word"] * 9)
    _, crowded = labels_at([[0.0, 0.0], *(0.4 * np.array(ring))], ["word"] * 9)

    assert labels[0].text == "0"
    assert 0 not in crowded


def test_labels_stay_inside_the_figure():
    edge = np.array([[2.0, 2.0]])

    labels = spaced_labels(edge, np.array([4.0]), marks_of(["word"]), [0])

    assert all(label.x >= label.half_width and label.y >= label.half_height
               for label in labels.values())  # fmt: skip


def test_discs_lie_within_the_frame():
    for places in (np.array([[0.0, 0.0], [9.0, 1.0], [4.0, 0.0]]), np.array([[0.0, -9.0], [1, 9]])):
        figure = map_figure(places, marks_of(["word"] * len(places)), 0)

        width, height = map(float, re.findall(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', figure)[0])
        for outline in re.findall(
            r'<a xlink:href="#run-\d-topic-\d+">\s*<path d="([^"]*)"', figure
        ):
            points = np.array(re.findall(r"(-?[\d.]+) (-?[\d.]+) ?\n", outline), float)
            assert (points > 0).all()
            assert (points < [width, height]).all()


def test_moves_are_stacked_by_kind():
    figure = moves_figure([1, 2, 3], {"births": [2, 0, 1], "merges": [1, 0, 0]})

    assert {"births", "merges", "lap", "moves accepted"} <= set(labels_of(figure))
    assert "var(--series-0)" in figure
    assert "var(--series-1)" in figure


def test_the_tallest_bar_ends_below_the_frame():
    figure = moves_figure([1, 2, 3], {"births": [2, 0, 9], "merges": [1, 0, 0]})

    tops = re.findall(r'L [\d.]+ ([\d.]+) \nz\n" clip-path', figure)
    frame = re.findall(r'L [\d.]+ ([\d.]+) \nL [\d.]+ [\d.]+ \nz\n" style="fill: none"', figure)
    assert min(map(float, tops)) > float(frame[-1]) + 5


@pytest.mark.parametrize("n_topics", [1, 10, 15])
def test_a_curve_of_one_number_has_an_axis(n_topics):
    text = curve_figure({n_topics: Estimate(-3.9, 0.0)}, n_topics, (n_topics, n_topics))

    assert text.startswith("<svg")


def test_scores_of_mixtures_have_no_unigram_line():
    scores = [Estimate(-2.0, 0.1), Estimate(-3.0, 0.1)]

    label = "log-likelihood per held-out item"
    labels = labels_of(score_figure(["a", "x" * 99], scores, label, [0, 1]))

    assert "log-likelihood per held-out item" in labels
    assert max(map(len, labels)) < 60
