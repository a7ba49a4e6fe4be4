"""Figures of the report as inline SVG that follows the page's colours."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

N_COLOURS = 6  # --series-0 … --series-5 of the page; later series are dashed
INK, FAINT = "#010101", "#010102"
# Placeholders: matplotlib wants numbers, the page decides, by light and dark, what they mean.
PAGE_COLOURS = {INK: "var(--ink)", FAINT: "var(--line)"} | {
    f"#02000{number}": f"var(--series-{number})" for number in range(N_COLOURS)
}
STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "sparsetopics",
    "font.size": 10,
    "text.color": INK,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": FAINT,
    "grid.linewidth": 0.6,
    "xtick.color": INK,
    "ytick.color": INK,
}


class Series(NamedTuple):
    """One run's numbers over laps."""

    name: str
    laps: Sequence[float]
    values: Sequence[float]


class ScoreLine(NamedTuple):
    """One model's held-out score."""

    name: str
    score: float
    standard_error: float
    unigram: float


def trace_figure(series: Sequence[Series], label: str) -> str:
    """Lines over laps, one per run, as SVG text."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(5.2, 3.0), layout="constrained")
        axes = figure.add_subplot()
        for number, line in enumerate(series):
            axes.plot(
                line.laps,
                line.values,
                color=_colour(number),
                linestyle="solid" if number < N_COLOURS else "dashed",
                marker="o" if len(line.laps) < 40 else "",
                markersize=3.5,
            )
        axes.set_xlabel("lap")
        axes.set_ylabel(label)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.ticklabel_format(axis="y", useOffset=False)
        if all(isinstance(value, int) for line in series for value in line.values):
            axes.yaxis.set_major_locator(MaxNLocator(integer=True))
        return _svg(figure)


def score_figure(lines: Sequence[ScoreLine]) -> str:
    """Held-out scores with two standard errors either side, and the unigram line."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(6.2, 0.9 + 0.42 * len(lines)), layout="constrained")
        axes = figure.add_subplot()
        for number, line in enumerate(lines):
            error = 2 * line.standard_error
            axes.errorbar(
                line.score, number, xerr=error, color=_colour(number), marker="o", capsize=4
            )
        axes.axvline(lines[0].unigram, color=INK, linestyle=":", linewidth=1.2)
        axes.set_yticks(range(len(lines)), [line.name for line in lines])
        axes.set_ylim(len(lines) - 0.5, -0.5)
        axes.set_xlabel("log-likelihood per held-out token (dotted: unigram)")
        axes.grid(axis="y", visible=False)
        axes.ticklabel_format(axis="x", useOffset=False)
        return _svg(figure)


def _colour(number: int) -> str:
    return f"#02000{number % N_COLOURS}"


def _svg(figure: Figure) -> str:
    """The bare, byte-stable ``svg`` element: no date, no metadata, no ids that may repeat."""
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'<g id="[^"]*">', "<g>", text)
    for placeholder, colour in PAGE_COLOURS.items():
        text = text.replace(placeholder, colour)
    return text
