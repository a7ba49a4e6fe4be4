"""Themes as bars, and the most probable words of topics."""

from __future__ import annotations

import re

from sparsetopics.evaluation.figures import paper
from sparsetopics.evaluation.figures.paper import LINE, POINTS, PaperFigure
from sparsetopics.evaluation.report.report_content import Report

N_WORDS = 8  # in a panel
PANEL = 95  # points, the least width of one


def draw_themes(report: Report, width: float) -> PaperFigure:
    """Draw the weight of each theme as a bar, between its name and further words."""
    rows, colours, note = paper.coloured_themes(report)
    weights = [row.weight or 0.0 for row in rows]
    words = [
        " ".join(word for word, _ in row.words if word not in re.findall(r"\w+", row.name))
        for row in rows
    ]
    figure, (axes,) = paper.panels([""], width, 1.4 * LINE * len(rows), note=note)
    axes.barh(range(len(rows)), weights, 0.7, color=colours)
    paper.show_names(axes, [paper.fitted(row.name, 0.34 * width * POINTS) for row in rows])
    beside = axes.twinx()
    paper.show_names(beside, paper.with_shares(weights, words, 0.4 * width * POINTS))
    axes.xaxis.set_visible(False)
    axes.spines.bottom.set_visible(False)
    beside.spines.bottom.set_visible(False)
    return figure


def draw_topics(report: Report, width: float) -> PaperFigure:
    """Draw the probabilities of the best words of each topic, or theme if there are many topics.

    Words stand on their bars, which are pale.
    """
    rows, colours, note = paper.coloured_themes(report)
    titles, height = [row.name for row in rows], LINE * (N_WORDS + 1.5)
    figure, made = paper.panels(titles, width, height, int(width * POINTS / PANEL), note)
    for axes, row, colour in zip(made, rows, colours, strict=True):
        words, chances = zip(*row.words[:N_WORDS], strict=True)
        axes.barh(range(len(words)), chances, 0.8, color=colour, alpha=0.35)
        paper.show_names(axes, [paper.fitted(word, PANEL - 20) for word in words])
        axes.tick_params(axis="y", pad=-2)
        axes.set_axisbelow(False)  # words above bars
        for label in axes.get_yticklabels():
            label.set_horizontalalignment("left")
        paper.show_scale(axes.xaxis)
    return figure
