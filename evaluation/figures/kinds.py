"""What each kind of figure shows: themes and their words, shares of documents, numbers of topics.

Shares have 95 % intervals.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from sparsetopics.evaluation.figures import paper
from sparsetopics.evaluation.figures.paper import LINE, POINTS, SOFT, PaperFigure
from sparsetopics.evaluation.report.division import Division
from sparsetopics.evaluation.report.figures import draw_curve, spaced
from sparsetopics.evaluation.report.report_content import Report
from sparsetopics.evaluation.report.topic_tree import Branch
from sparsetopics.options.option import refuse

N_WORDS = 8  # in a panel
PANEL = 95  # points, the least width of one
TALL = 80  # points, of a panel of lines
KEY = 140  # points, for a sample of a line and its name
MOST_LINES = 6  # groups over time
DASHES = ("-", (0, (4, 1)), (0, (1, 1)), (0, (6, 1, 1, 1)), (0, (3, 1, 1, 1, 1, 1)), (0, (8, 2)))
LABEL = 26.0  # points, for a number of topics
SCALE = 50.0  # points, beside the axes
MOST_LEAVES = 60


# --- themes ---------------------------------------------------------------------------------------
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


# --- groups and time ------------------------------------------------------------------------------
def _divided(report: Report) -> tuple[list[str], list[str], Division, str]:
    """Return the names of themes, their colours, the shares, and what is said below a figure."""
    rows, colours, joined = paper.coloured_themes(report)
    found = report.division
    assert found is not None, "documents were divided"
    return [row.name for row in rows], colours, found, f"{joined} {found.left_out}".strip()


def draw_groups(report: Report, width: float) -> PaperFigure:
    """Draw the share of each theme in each group of documents: a panel for each theme.

    A line marks the share in all documents.
    """
    titles, colours, found, note = _divided(report)
    names = [
        f"{paper.LEFT}{paper.fitted(name, 0.22 * width * POINTS)}"
        + f"{paper.LEFT} ({size:,})" * bool(size)
        for name, size in zip(found.groups, found.n_documents[1:, 0], strict=True)
    ]
    room = width * POINTS - max(map(paper.width_of, names))
    height, n_columns = LINE * (len(names) + 1.5), int(room / 75)
    figure, made = paper.panels(titles, width, height, n_columns, note, sharey=True)
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
    titles, colours, found, note = _divided(report)
    lines = sorted(1 + group for group in found.by_size[:MOST_LINES]) if found.groups else [0]
    largest = " largest" * bool(found.n_documents.any())
    more = f" Only the{largest} {MOST_LINES} groups are shown." * (len(found.groups) > MOST_LINES)
    n_columns = min(len(titles), max(1, int(width * POINTS / 130)))
    height = max(TALL, 0.35 * width * POINTS / n_columns)
    figure, made = paper.panels(titles, width, height, n_columns, f"{note}{more}".strip())
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


# --- numbers of topics ----------------------------------------------------------------------------
def draw_tree(report: Report, width: float) -> PaperFigure:
    """Draw the tree from the fewest topics, at the left, to all or to at most 60 of them.

    Branches of one theme have its colour.
    """
    tree = None if report.overview is None else report.overview.tree
    if report.overview is None or tree is None:
        refuse("tree", "needs an LDA, an HDP or a topic path with several topics")
    cut = next((number for number in tree.numbers if number <= MOST_LEAVES), tree.numbers[-1])
    kept = [place for place, own in enumerate(tree.branches) if own.fewest <= cut]
    leaves = [place for place in kept if tree.branches[place].most >= cut]
    colours = _colours(tree.branches, paper.theme_colours(report.overview))
    note = paper.joined(tree.numbers[0], cut)
    figure, (axes,) = paper.panels([""], width, LINE * (len(leaves) + 2.5), note=note)
    rows = {place: float(row) for row, place in enumerate(leaves)}
    parts = defaultdict[int, list[float]](list)
    for place in reversed(kept):  # a branch comes before its parts
        own, end = tree.branches[place], float(cut)
        if place in parts:  # between the numbers of topics with and without the branch
            end, of_parts = own.most + 0.5, parts[place]
            rows[place] = (of_parts[0] + of_parts[-1]) / 2
            axes.vlines(end, of_parts[0], of_parts[-1], colours[place])
        start = 0.0 if own.parent is None else tree.branches[own.parent].most + 0.5
        axes.hlines(rows[place], start, end, colours[place])
        if own.parent is not None:
            parts[own.parent].append(rows[place])
    weights = [tree.branches[place].weight for place in leaves]
    names = [tree.branches[place].name for place in leaves]
    paper.show_names(axes, paper.with_shares(weights, names, 0.45 * width * POINTS))
    axes.yaxis.tick_right()
    axes.spines.left.set_visible(False)
    fewest = tree.numbers[-1]
    axes.set(xscale="log", xlim=(0.9 * fewest, cut), xlabel="number of topics")
    round_ones = (n for n in tree.numbers if n < cut and str(n).strip("0") in {"1", "2", "5"})
    ticks = sorted(spaced([cut, fewest, *round_ones], cut, LABEL / (0.5 * width * POINTS)))
    axes.set_xticks(ticks, map(str, ticks))
    axes.minorticks_off()
    return figure


def _colours(branches: Sequence[Branch], of_topics: Sequence[str]) -> list[str]:
    """Return the colour of each branch: that of its theme, or grey if it has several."""
    within = [set[str]() if own.topic is None else {of_topics[own.topic]} for own in branches]
    for own, inner in zip(reversed(branches), reversed(within), strict=True):
        if own.parent is not None:
            within[own.parent] |= inner
    for own, inner in zip(branches, within, strict=True):
        if not inner and own.parent is not None:  # a part of one of the topics
            inner |= within[own.parent]
    return [inner.pop() if len(inner) == 1 else SOFT for inner in within]


def draw_numbers(report: Report, width: float) -> PaperFigure:
    """Draw the scores by number of topics that a page shows of a topic path or a validated HDP."""
    choice, path = report.subjects[0].number_choice, report.topic_path
    curve = path.curve if path else choice.curve if choice else None
    if curve is None:
        hint = "A topic path has them, and an HDP whose number of topics documents chose."
        refuse("numbers", "needs a run with scores of several numbers of topics", hint)
    room = width * POINTS
    figure, (axes,) = paper.panels([""], width, min(max(0.42 * room, 125.0), 220.0))
    draw_curve(axes, curve, LABEL / (room - SCALE))
    axes.set_ylabel("log-likelihood\nper token")
    return figure
