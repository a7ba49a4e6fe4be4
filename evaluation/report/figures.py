"""Figures of the report as inline SVG that follows the page's colours."""

from __future__ import annotations

import html
import io
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from sparsetopics.base.batches import FloatArray
from sparsetopics.evaluation.report.map_labels import spaced_labels

N_COLOURS = 6  # --series-0 … --series-5 of the page; later series are dashed
INK, FAINT = "#010101", "#010102"
# Placeholders: matplotlib wants numbers, the page decides, by light and dark, what they mean.
PAGE_COLOURS = {INK: "var(--ink)", FAINT: "var(--line)"} | {
    f"#02000{number}": f"var(--series-{number})" for number in range(N_COLOURS)
}
SMALLEST_DISC, LARGEST_DISC = 14.0, 900.0  # points squared
MOST_DISC_LABELS = 60
LABEL_SIZE = 8.0  # points
MAP_INCHES = (6.4, 4.8)
MAP_MARGIN = 0.1  # of what the topics take, on every side
LONGEST_NAME = 28  # characters beside an axis
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
    "axes.axisbelow": True,
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
    unigram: float | None  # the zero line of topic models


def trace_figure(series: Sequence[Series], label: str, colours: Sequence[int] | None = None) -> str:
    """Lines over laps, one per run, as SVG text; ``colours`` are 0, 1, … unless given."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(5.2, 3.0), layout="constrained")
        axes = figure.add_subplot()
        for number, line in zip(colours or range(len(series)), series, strict=True):
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


def score_figure(
    lines: Sequence[ScoreLine], datum: str = "token", colours: Sequence[int] | None = None
) -> str:
    """Held-out scores with two standard errors either side, and the unigram line."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(6.2, 0.9 + 0.42 * len(lines)), layout="constrained")
        axes = figure.add_subplot()
        for place, line in enumerate(lines):
            colour = _colour(place if colours is None else colours[place])
            error = 2 * line.standard_error
            axes.errorbar(line.score, place, xerr=error, color=colour, marker="o", capsize=4)
        dotted = ""
        if lines[0].unigram is not None:
            axes.axvline(lines[0].unigram, color=INK, linestyle=":", linewidth=1.2)
            dotted = " (dotted: unigram)"
        axes.set_yticks(range(len(lines)), [_shortened(line.name) for line in lines])
        axes.set_ylim(len(lines) - 0.5, -0.5)
        axes.set_xlabel(f"log-likelihood per held-out {datum}{dotted}")
        axes.grid(axis="y", visible=False)
        axes.ticklabel_format(axis="x", useOffset=False)
        return _svg(figure)


def moves_figure(laps: Sequence[float], accepted: Mapping[str, Sequence[int]]) -> str:
    """Moves accepted in each lap, a stacked bar with a colour for each kind, as SVG text."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(5.2, 3.0), layout="constrained")
        axes = figure.add_subplot()
        below = np.zeros(len(laps))
        for number, (kind, counts) in enumerate(accepted.items()):
            axes.bar(laps, counts, bottom=below, width=0.8, color=_colour(number), label=kind)
            below += counts
        axes.set_xlabel("lap")
        axes.set_ylabel("moves accepted")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.yaxis.set_major_locator(MaxNLocator(integer=True))
        axes.grid(axis="x", visible=False)
        axes.use_sticky_edges = False  # the upper edge of a bar without height is none to stick to
        axes.set_ylim(bottom=0)
        axes.legend(frameon=False, fontsize=9)
        return _svg(figure)


def map_figure(
    places: FloatArray,  # (n_topics, 2)
    weights: Sequence[float],
    words: Sequence[str],  # the best of each
    addresses: Sequence[str],  # where a click on a topic leads
    colour: int,
) -> str:
    """Topics as discs whose area is their weight, as SVG text.

    The heaviest have their numbers, and their best words where there is room.
    """
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=MAP_INCHES, layout="constrained")
        axes = figure.add_subplot()
        shares = np.maximum(weights, 0.0) / max(*weights, np.finfo(float).tiny)
        areas = SMALLEST_DISC + LARGEST_DISC * shares
        discs = axes.scatter(
            places[:, 0], places[:, 1], s=areas, color=_colour(colour), alpha=0.35, linewidths=0.8
        )
        discs.set_urls(list(addresses))
        _frame(axes, places)
        axes.set_xticklabels([])
        axes.set_yticklabels([])
        axes.tick_params(length=0)
        figure.draw_without_rendering()  # from here on places are known
        points = axes.transData.transform(places) * 72 / figure.dpi
        heaviest = np.argsort(-areas, kind="stable")[:MOST_DISC_LABELS].tolist()
        texts = spaced_labels(points, words, heaviest, LABEL_SIZE)
        for topic in texts:
            place = places[topic]
            axes.annotate(_stand_in(topic), place, ha="center", va="center", fontsize=LABEL_SIZE)
        svg = _svg(figure)
    for topic, text in texts.items():
        svg = svg.replace(_stand_in(topic), html.escape(text))
    return svg


def _frame(axes: Axes, places: FloatArray) -> None:
    """Room for all places, with lengths alike on both axes."""
    width, height = MAP_INCHES
    spans = np.ptp(places, axis=0)
    wanted = max(spans[0], spans[1] * width / height) or 1.0
    half = (0.5 + MAP_MARGIN) * wanted * np.array([1.0, height / width])
    middle = (places.min(axis=0) + places.max(axis=0)) / 2
    axes.set_xlim(middle[0] - half[0], middle[0] + half[0])
    axes.set_ylim(middle[1] - half[1], middle[1] + half[1])
    axes.set_aspect("equal")


def _stand_in(topic: int) -> str:
    """For a label that matplotlib is not to see: its font may lack letters, and $ means TeX."""
    return f"topic-{topic}-label"


def _shortened(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else f"…{name[-LONGEST_NAME + 1 :]}"


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
    text = text.replace(' target="_blank"', "")  # links lead to places on the page
    for placeholder, colour in PAGE_COLOURS.items():
        text = text.replace(placeholder, colour)
    return text
