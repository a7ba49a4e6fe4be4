"""Figures of the report, read back from their SVG."""

import re

import numpy as np
import pytest

from sparsetopics.evaluation.report.figures import ScoreLine, moves_figure, score_figure
from sparsetopics.evaluation.report.topic_map import MOST_DISC_LABELS, map_figure, spaced_labels


def labels_of(figure):
    return re.findall(r"<text[^>]*>([^<]*)</text>", figure)


def disc_widths(figure):
    """Of each linked disc, from its outline."""
    widths = []
    for outline in re.findall(r'<a xlink:href="#t\d+">\s*<path d="([^"]*)"', figure):
        points = np.array(re.findall(r"(-?[\d.]+) (-?[\d.]+) ?\n", outline), float)
        widths.append(np.ptp(points[:, 0]))
    return widths


def test_every_topic_of_the_map_leads_somewhere_and_area_is_weight():
    n_topics = MOST_DISC_LABELS + 10
    places = np.random.default_rng(0).normal(size=(n_topics, 2))
    weights = np.linspace(1.0, 0.01, n_topics)

    figure = map_figure(places, weights, [""] * n_topics, [f"#t{n}" for n in range(n_topics)], 0)

    assert re.findall(r'xlink:href="(#t\d+)"', figure) == [f"#t{n}" for n in range(n_topics)]
    assert "target=" not in figure
    assert labels_of(figure)[0].split() == ["0"]
    assert {int(label) for label in labels_of(figure)} < set(range(MOST_DISC_LABELS))
    widths = np.array(disc_widths(figure))
    assert (np.diff(widths) < 0).all()
    assert (widths[0] / widths[35]) ** 2 == pytest.approx(weights[0] / weights[35], rel=0.05)


def test_topics_without_weight_are_still_there():
    names = ["#t0", "#t1", "#t2"]

    figure = map_figure(np.zeros((3, 2)), [0.0, -1e-9, 0.0], names, names, 1)

    assert len(disc_widths(figure)) == 3
    assert labels_of(figure) == ["0 #t0"]  # the others lie below it


def test_words_of_the_map_are_text_and_nothing_else():
    places = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    words = ["<b>&", "$x$", "\N{CJK UNIFIED IDEOGRAPH-8A9E}"]

    figure = map_figure(places, [1.0, 1.0, 1.0], words, ["#t0", "#t1", "#t2"], 0)

    assert labels_of(figure) == ["0 &lt;b&gt;&amp;", "1 $x$", f"2 {words[2]}"]


def test_labels_keep_apart_and_the_first_come_first():
    points = np.array([[0.0, 0.0], [30.0, 0.0], [31.0, 2.0], [0.0, 40.0]])

    texts = spaced_labels(points, ["word", "neighbour", "hidden", "x" * 30], [0, 1, 2, 3], 10.0)

    assert texts == {0: "0 word", 1: "1", 3: f"3 {'x' * 13}\N{HORIZONTAL ELLIPSIS}"}


def test_discs_lie_within_the_frame():
    for places in (np.array([[0.0, 0.0], [9.0, 1.0], [4.0, 0.0]]), np.array([[0.0, -9.0], [1, 9]])):
        names = ["#t0", "#t1", "#t2"][: len(places)]
        figure = map_figure(places, [1.0] * len(places), names, names, 0)

        width, height = map(float, re.findall(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', figure)[0])
        for outline in re.findall(r'<a xlink:href="#t\d+">\s*<path d="([^"]*)"', figure):
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


def test_scores_of_mixtures_have_no_unigram_line():
    lines = [ScoreLine("a", -2.0, 0.1, None), ScoreLine("x" * 99, -3.0, 0.1, None)]

    labels = labels_of(score_figure(lines, "item"))

    assert "log-likelihood per held-out item" in labels
    assert max(map(len, labels)) < 60
