"""Figures of the report, read back from their SVG."""

import re

import matplotlib as mpl
import pytest

from browser import told_by
from sparsetopics.evaluation.report.figures import (
    curve_figure,
    moves_figure,
    score_figure,
    trace_figure,
)
from sparsetopics.evaluation.report.topic_path import Curve
from sparsetopics.measures.paired import Estimate


def labels_of(figure):
    return re.findall(r"<text[^>]*>([^<]*)</text>", figure)


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


def test_settings_of_the_user_or_the_current_folder_change_nothing():
    line = ([1.0, 2.0], [-3.0, -2.0])
    drawn = trace_figure([line], "score")

    with mpl.rc_context({"text.usetex": True, "lines.linewidth": 9, "savefig.dpi": 5}):
        assert trace_figure([line], "score") == drawn


@pytest.mark.parametrize("n_topics", [1, 10, 15])
def test_a_curve_of_one_number_has_an_axis(n_topics):
    text = curve_figure(Curve({n_topics: Estimate(-3.9, 0.0)}, n_topics, (n_topics, n_topics)))

    assert text.startswith("<svg")


def test_scores_of_mixtures_have_no_unigram_line():
    scores = [Estimate(-2.0, 0.1), Estimate(-3.0, 0.1)]

    label = "log-likelihood per held-out item"
    labels = labels_of(score_figure(["a", "x" * 99], scores, label))

    assert "log-likelihood per held-out item" in labels
    assert max(map(len, labels)) < 60


NARROW = 358  # pixels for a figure where the window is 420 wide
SCORES = {size: Estimate(-4 + size / 1e4, 0.01) for size in (1_500, 1_200, 900, 600, 300, 30)}
LONG_NAMES = ["a name of a run that is long", "another long name of another run"]


@pytest.mark.parametrize(
    "figure",
    [
        curve_figure(Curve(SCORES, 900, (600, 1_200))),
        trace_figure([([1, 2, 3], [-8.1, -7.9, -7.8])], "collapsed criterion per training token"),
        score_figure(
            LONG_NAMES, list(SCORES.values())[:2], "log-likelihood per held-out token", -9.0
        ),
        moves_figure([1, 2, 3], {"births": [2, 0, 1], "merges": [1, 0, 0]}),
    ],
    ids=["curve", "trace", "scores", "moves"],
)
def test_text_of_figures_can_be_read_on_a_narrow_screen(figure, tmp_path):
    width, _ = map(float, re.findall(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', figure)[0])
    sizes = [float(size) for size in re.findall(r"font(?:-size)?: ([\d.]+)px", figure)]
    assert len(sizes) > 3
    assert min(sizes) * NARROW / width >= 11

    told = told_by(f"<body style='width:{NARROW}px'>{figure}</body>", BOXES, tmp_path)

    assert told["outside"] == []
    assert told["overlaps"] == []


BOXES = """
const texts = [...document.querySelectorAll("svg text")].filter((each) => each.textContent.trim());
const frame = document.querySelector("svg").getBoundingClientRect();
const boxes = texts.map((each) => [each.textContent, each.getBoundingClientRect()]);
const outside = boxes.filter(([, box]) => box.left < frame.left || box.right > frame.right
  || box.top < frame.top || box.bottom > frame.bottom);
const overlaps = boxes.flatMap(([name, one], place) => boxes.slice(place + 1).filter(([, other]) =>
  one.left < other.right && other.left < one.right && one.top + 2 < other.bottom - 2
  && other.top + 2 < one.bottom - 2).map(([other]) => [name, other]));
document.title = JSON.stringify({outside: outside.map(([name]) => name), overlaps});
"""
