"""What depends on the number of topics: the tree in which they become one, and scores."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from sparsetopics.evaluation.figures import paper
from sparsetopics.evaluation.figures.paper import LINE, POINTS, SOFT, PaperFigure
from sparsetopics.evaluation.report.figures import draw_curve, spaced
from sparsetopics.evaluation.report.report_content import Report
from sparsetopics.evaluation.report.topic_tree import Branch
from sparsetopics.options.option import refuse

LABEL = 26.0  # points, for a number of topics
SCALE = 50.0  # points, beside the axes
MOST_LEAVES = 60


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
    draw_curve(axes, *curve, LABEL / (room - SCALE))
    axes.set_ylabel("log-likelihood\nper token")
    return figure
