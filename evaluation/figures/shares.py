"""Shares of themes by group of documents and over time, with 95 % intervals."""

from __future__ import annotations

import numpy as np

from sparsetopics.evaluation.figures import paper
from sparsetopics.evaluation.figures.paper import LINE, POINTS, PaperFigure
from sparsetopics.evaluation.report.report_content import Report

TALL = 80  # points, of a panel of lines
KEY = 140  # points, for a sample of a line and its name
MOST_LINES = 6  # groups over time
DASHES = ("-", (0, (4, 1)), (0, (1, 1)), (0, (6, 1, 1, 1)), (0, (3, 1, 1, 1, 1, 1)), (0, (8, 2)))


def draw_groups(report: Report, width: float) -> PaperFigure:
    """Draw the share of each theme in each group of documents: a panel for each theme.

    A line marks the share in all documents.
    """
    rows, colours, joined = paper.coloured_themes(report)
    found = report.division
    assert found is not None, "documents were divided"
    note = f"{joined} {found.left_out}".strip()
    names = [
        f"{paper.LEFT}{paper.fitted(name, 0.22 * width * POINTS)}"
        + f"{paper.LEFT} ({size:,})" * bool(size)
        for name, size in zip(found.groups, found.n_documents[1:, 0], strict=True)
    ]
    room = width * POINTS - max(map(paper.width_of, names))
    titles, height = [row.name for row in rows], LINE * (len(names) + 1.5)
    figure, made = paper.panels(titles, width, height, int(room / 75), note, sharey=True)
    places, shares = range(len(names)), np.stack([found.mean, found.low, found.high], axis=-1)[:, 0]
    for axes, colour, own in zip(made, colours, shares.swapaxes(0, 1), strict=True):
        mean, low, high = own.T
        axes.axvline(mean[0], color=paper.FAINT)
        axes.hlines(places, low[1:], high[1:], colour)
        axes.plot(mean[1:], places, "o", color=colour, clip_on=False)
        axes.set_xlim(left=0)
        paper.show_scale(axes.xaxis)
        paper.show_names(axes, names)
    return figure


def draw_time(report: Report, width: float) -> PaperFigure:
    """Draw the share of each theme over time, a panel for each theme.

    If documents are also divided into groups, the largest six have a line each. Panels end at twice
    the highest share, so that the bands of few documents do not flatten the lines.
    """
    rows, colours, joined = paper.coloured_themes(report)
    found = report.division
    assert found is not None, "documents were divided"
    lines = [1 + group for group in found.by_size[:MOST_LINES]] if found.groups else [0]
    largest = " largest" * bool(found.n_documents.any())
    more = f" Only the{largest} {MOST_LINES} groups are shown." * (len(found.groups) > MOST_LINES)
    titles, note = [row.name for row in rows], f"{joined} {found.left_out}{more}".strip()
    figure, made = paper.panels(titles, width, TALL, int(width * POINTS / 130), note)
    places = paper.places_of(found.middles)
    shares = np.stack([found.mean, found.low, found.high], axis=1)[lines, :, 1:]
    for axes, colour, own in zip(made, colours, np.moveaxis(shares, -1, 0), strict=True):
        for number, (mean, low, high) in enumerate(own):
            ink = f"C{number}" if found.groups else colour
            if len(places) == 1:
                axes.vlines(places, low, high, ink)
            axes.fill_between(places, low, high, color=ink, alpha=0.15, lw=0)
            axes.plot(places, mean, color=ink, ls=DASHES[number], marker="o", ms=1.5)
        axes.set_ylim(0, max(min(2 * np.nanmax(own[:, 0]), 1.05 * np.nanmax(own)), 0.001))
        paper.show_scale(axes.yaxis)
        paper.show_places(axes.xaxis, found.middles)
    if found.groups:
        names = [paper.fitted(found.groups[line - 1], KEY - 40) for line in lines]
        n_columns = max(1, int(width * POINTS / KEY))
        figure.legend(
            list(made[0].lines), names, loc="outside upper left", ncols=n_columns, frameon=False
        )
    return figure
