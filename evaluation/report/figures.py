"""Figures of the report as inline SVG that follows the page's colours."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import matplotlib.style
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.rcsetup import cycler
from matplotlib.ticker import MaxNLocator

from sparsetopics.base.batches import FloatArray
from sparsetopics.base.wording import without_middle
from sparsetopics.evaluation.report.topic_path import Curve
from sparsetopics.measures.paired import Estimate

N_COLOURS = 6  # --series-0 … --series-5 of page.css; lines of further series are dashed
INK, FAINT = "#010101", "#010102"
# matplotlib needs colours as numbers, but page.css chooses them, for light and dark screens. The
# figures are drawn in placeholders, which become variables of the page.
PAGE_SERIES = {f"#02000{number}": f"var(--series-{number})" for number in range(N_COLOURS)}
PAGE_COLOURS = {INK: "var(--ink)", FAINT: "var(--line)"} | PAGE_SERIES
WIDTH = 4.8  # inches: where a screen is 420 px wide, text is as large as here or larger
Line = tuple[Sequence[float], Sequence[float]]  # places and values

LONGEST_NAME = 22  # characters beside an axis
LABEL_ROOM = 0.09  # share of an axis that the label of a tick takes
Settings = dict[Any, Any]  # matplotlib names each key in a Literal type of its own
STYLE: Settings = {
    "svg.fonttype": "none",  # text stays text, in the font of the page
    "svg.hashsalt": "sparsetopics",  # equal figures get equal ids of clip paths
    "font.size": 11,
    "text.color": INK,
    "axes.prop_cycle": cycler(color=list(PAGE_SERIES)),
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.formatter.useoffset": False,
    "grid.color": FAINT,
    "grid.linewidth": 0.6,
    "xtick.color": INK,
    "ytick.color": INK,
}


@contextmanager
def styled_axes(height: float) -> Iterator[tuple[Figure, Axes]]:
    """Make a figure of ``height`` inches with axes, in the style of the page.

    Settings of the user, or of a matplotlibrc in the current folder, do not count.
    """
    with matplotlib.style.context(["default", STYLE]):
        figure = Figure(figsize=(WIDTH, height), layout="constrained")
        yield figure, figure.add_subplot()


def trace_figure(series: Sequence[Line], label: str) -> str:
    """Draw a line for each run, its laps and the numbers after them, as SVG text."""
    with styled_axes(3.2) as (figure, axes):
        for number, (laps, values) in enumerate(series):
            axes.plot(
                laps,
                values,
                color=f"C{number}",
                linestyle="solid" if number < N_COLOURS else "dashed",
                marker="o" if len(laps) < 40 else "",
                markersize=3.5,
            )
        axes.set_xlabel("lap")
        axes.set_ylabel(label, loc="top")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        if all(isinstance(value, int) for _, values in series for value in values):
            axes.yaxis.set_major_locator(MaxNLocator(integer=True))
        return svg_text(figure)


def score_figure(
    names: Sequence[str],
    scores: Sequence[Estimate],  # of the models with these names
    label: str,
    unigram: float | None = None,
) -> str:
    """Draw scores with two standard errors on either side, as SVG text.

    A dotted line is the score of topic models without topics, ``unigram``.
    """
    with styled_axes(1.0 + 0.42 * len(names)) as (figure, axes):
        for place, score in enumerate(scores):
            error = 2 * score.standard_error
            axes.errorbar(score.mean, place, xerr=error, color=f"C{place}", marker="o", capsize=4)
        dotted = ""
        if unigram is not None:
            axes.axvline(unigram, color=INK, linestyle=":", linewidth=1.2)
            dotted = " (dotted: unigram)"
        axes.set_yticks(range(len(names)), [without_middle(name, LONGEST_NAME) for name in names])
        axes.set_ylim(len(names) - 0.5, -0.5)
        axes.set_xlabel(f"{label}{dotted}", loc="right")  # room for it is on the left
        axes.grid(axis="y", visible=False)
        return svg_text(figure)


def curve_figure(curve: Curve) -> str:
    """Draw scores by number of topics, as SVG text; see ``draw_curve``."""
    with styled_axes(2.5) as (figure, axes):
        draw_curve(axes, curve)
        return svg_text(figure)


def draw_curve(axes: Axes, curve: Curve, room: float = LABEL_ROOM) -> None:
    """Draw scores by number of topics, on a logarithmic axis.

    Bars span one standard error of the difference from the best score on either side, and a dotted
    line marks the best score. A ring is around the recommended number, and a band behind those that
    predict as well.
    """
    scores, recommended, as_good = curve
    sizes, means = list(scores), [score.mean for score in scores.values()]
    errors = [score.standard_error for score in scores.values()]
    # So that a band of one number has a width, and the axis a length if no other number is shown.
    margin = max(max(sizes) / min(sizes), 1.5) ** 0.02
    axes.axvspan(as_good[0] / margin, as_good[1] * margin, color="C0", alpha=0.15, lw=0)
    axes.axhline(max(means), color=INK, linestyle=":", linewidth=1.2)
    axes.errorbar(sizes, means, errors, color="C0", marker="o", markersize=4, capsize=3)
    if recommended in scores:
        best = scores[recommended].mean
        axes.plot(recommended, best, "o", color="C1", ms=12, fillstyle="none")
    axes.set_xscale("log")
    axes.minorticks_off()
    shown = spaced(sizes, recommended, room)
    axes.set_xticks(sizes, [f"{size:,}" if size in shown else "" for size in sizes])
    axes.set_xlabel("number of topics")
    axes.set_ylabel("log-likelihood per token")


def spaced(sizes: Sequence[int], first: int, room: float) -> set[int]:
    """Return ``first`` and those other sizes whose labels have room on a logarithmic axis.

    A label takes a share ``room`` of it.
    """
    room *= math.log(max(sizes) / min(sizes))
    kept = {first}
    for size in sizes:
        if all(abs(math.log(size / other)) >= room for other in kept):
            kept.add(size)
    return kept


def band_path(low: FloatArray, high: FloatArray) -> str:
    """Return the outline of a band in percent over equal parts of a width of 100, upwards from 0.

    It has a piece for each two neighbours whose ends are known. A line is a band without height.
    """
    places = (np.arange(len(low)) + 0.5) * 100 / len(low)
    pieces = []
    for left, right in pairwise(np.stack([places, -100 * low, -100 * high], axis=1)):
        if not np.isnan([left, right]).any():
            corners = (left[[0, 1]], left[[0, 2]], right[[0, 2]], right[[0, 1]])
            pieces.append("M" + "L".join(f"{x:.2f} {y:z.2f}" for x, y in corners) + "Z")
    return "".join(pieces)


def moves_figure(laps: Sequence[float], accepted: Mapping[str, Sequence[int]]) -> str:
    """Draw the moves accepted in each lap as stacked bars, a colour for each kind of move."""
    with styled_axes(3.2) as (figure, axes):
        below = np.zeros(len(laps))
        for number, (kind, counts) in enumerate(accepted.items()):
            axes.bar(laps, counts, bottom=below, width=0.8, color=f"C{number}", label=kind)
            below += counts
        axes.set_xlabel("lap")
        axes.set_ylabel("moves accepted")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.yaxis.set_major_locator(MaxNLocator(integer=True))
        axes.grid(axis="x", visible=False)
        # Bars without height have an upper edge at zero, where the view would otherwise stick.
        axes.use_sticky_edges = False
        axes.set_ylim(bottom=0)
        axes.legend(frameon=False, fontsize=11)
        return svg_text(figure)


def svg_text(figure: Figure) -> str:
    """Return ``figure`` as an ``svg`` element.

    Equal figures give equal bytes: there are no dates, no metadata, and no ids, which might repeat
    on a page.
    """
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    # Clip paths keep their ids, which figures refer to; ids of groups might repeat on the page.
    text = re.sub(r'<g id="[^"]*">', "<g>", text)
    for placeholder, variable in PAGE_COLOURS.items():
        text = text.replace(placeholder, variable)
    return text
