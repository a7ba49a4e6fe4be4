"""Figures of the report, read back from their SVG."""

import re

import numpy as np
import pytest

from sparsetopics.evaluation.figures import (
    MOST_DISC_LABELS,
    ScoreLine,
    map_figure,
    moves_figure,
    score_figure,
)


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

    figure = map_figure(places, weights, [f"#t{n}" for n in range(n_topics)], 0)

    assert re.findall(r'xlink:href="(#t\d+)"', figure) == [f"#t{n}" for n in range(n_topics)]
    assert "target=" not in figure
    assert labels_of(figure) == [str(n) for n in range(MOST_DISC_LABELS)]
    widths = np.array(disc_widths(figure))
    assert (np.diff(widths) < 0).all()
    assert (widths[0] / widths[35]) ** 2 == pytest.approx(weights[0] / weights[35], rel=0.05)


def test_topics_without_weight_are_still_there():
    figure = map_figure(np.zeros((3, 2)), [0.0, -1e-9, 0.0], ["#t0", "#t1", "#t2"], 1)

    assert len(disc_widths(figure)) == 3


def test_moves_are_stacked_by_kind():
    figure = moves_figure([1, 2, 3], {"births": [2, 0, 1], "merges": [1, 0, 0]})

    assert {"births", "merges", "lap", "moves accepted"} <= set(labels_of(figure))
    assert "var(--series-0)" in figure
    assert "var(--series-1)" in figure


def test_scores_of_mixtures_have_no_unigram_line():
    lines = [ScoreLine("a", -2.0, 0.1, None), ScoreLine("x" * 99, -3.0, 0.1, None)]

    labels = labels_of(score_figure(lines, "item"))

    assert "log-likelihood per held-out item" in labels
    assert max(map(len, labels)) < 60
