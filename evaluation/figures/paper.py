"""What all figures have in common: their style, the colours of the page, and texts that fit.

Figures are as wide as they are asked to be, and as high as their content needs. The layout of
matplotlib makes room for names beside axes; names above them are fitted to the axes that it makes.
"""

from __future__ import annotations

import io
import math
import re
import warnings
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from functools import cache
from io import IOBase
from os import PathLike
from pathlib import Path
from textwrap import wrap
from typing import IO

import matplotlib.style
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backend_bases import RendererBase
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, fontManager, get_font
from matplotlib.rcsetup import cycler
from matplotlib.text import Text
from matplotlib.textpath import text_to_path
from matplotlib.ticker import MaxNLocator

from sparsetopics.base.errors import warn_user
from sparsetopics.base.wording import printable, quantity
from sparsetopics.corpora.grouping import Start
from sparsetopics.evaluation.report import figures
from sparsetopics.evaluation.report.overview import Overview
from sparsetopics.evaluation.report.report_content import Report
from sparsetopics.evaluation.report.web_files import packaged
from sparsetopics.measures.top_words import TopicRow

POINTS = 72  # per inch
LEFT = "\N{LEFT-TO-RIGHT MARK}"  # keeps numbers beside Arabic where they are beside other names
MONTHS = (1, 2, 3, 6, *(12 * step * ten for ten in (1, 10, 100, 1000) for step in (1, 2, 5)))
FONT = "DejaVu Sans"  # comes with matplotlib
NOT_FOR_TEXT = re.compile(r"DejaVu|Last Resort|STIX(Non|Size)|cm\w+10$")
SIZE = 7.0  # points
LINE = 10.0  # points from one line of text, or one row of a figure, to the next
WITHOUT_DATE = {"pdf": {"CreationDate": None}, "svg": {"Date": None}, "png": {"Software": None}}
# The colours of page.css for light screens, which come before those for dark ones.
PAGE = dict(re.findall(r"--([\w-]+): (#\w{6})", packaged("page.css").partition("@media")[0]))
SOFT, FAINT = PAGE["soft"], PAGE["line"]
STYLE: figures.Settings = figures.STYLE | {
    "font.family": FONT,
    "font.size": SIZE,
    "text.hinting": "no_hinting",  # so that texts are as wide as was computed
    "text.parse_math": False,  # a $ in a name is a $
    "axes.grid": False,
    "axes.prop_cycle": cycler(color=[PAGE[f"series-{n}"] for n in range(6)]),
    "axes.titlesize": SIZE,
    "axes.titlepad": 3,
    "lines.linewidth": 1.0,
    "lines.markersize": 3,
    "savefig.dpi": 300,  # unless ``savefig`` is asked for another number
    "pdf.fonttype": 42,  # fonts are embedded as TrueType, which publishers ask for
    "svg.fonttype": "path",  # letters are outlines, the same on every machine
}


@contextmanager
def styled() -> Iterator[None]:
    """The style of figures, whatever the user has set for other ones."""
    with matplotlib.style.context(["default", STYLE]), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # there is a warning of our own
        yield


class PaperFigure(Figure):
    """A figure that keeps its style wherever it is drawn, and shows itself in a notebook."""

    def draw(self, renderer: RendererBase) -> None:
        with styled():
            super().draw(renderer)

    def savefig(
        self,
        fname: str | PathLike[str] | IO[bytes],
        *,
        format: str | None = None,
        metadata: Mapping[str, str | None] | None = None,
        transparent: bool | None = None,
        **options: str | float | None,
    ) -> None:
        """Write the figure without a date, and with 300 dots per inch unless asked otherwise."""
        named = "" if isinstance(fname, IOBase) else Path(str(fname)).suffix[1:].lower()
        ending = format or named or "png"
        metadata = {**WITHOUT_DATE.get(ending, {}), **(metadata or {})}
        with styled():
            super().savefig(
                fname, transparent=transparent, format=ending, metadata=metadata, **options
            )

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        # A bare figure shows only its size unless pyplot is in use, which would keep all figures.
        buffer = io.BytesIO()
        self.savefig(buffer, format="png", dpi=192)
        return buffer.getvalue(), {"width": round(96 * self.get_figwidth())}


def panels(
    titles: Sequence[str],
    width: float,  # inches
    height: float,  # points, of each panel with its scale
    n_columns: int = 1,  # at most; 0 stands for 1
    note: str = "",
    *,
    sharey: bool = False,
) -> tuple[PaperFigure, list[Axes]]:
    """Make a figure with a panel for each of the titles, which may be empty."""
    n_columns = min(len(titles), max(1, n_columns))
    n_rows = math.ceil(len(titles) / n_columns)
    lines = fitted(note, width * POINTS - 8, 9)
    head, foot = 2.2 * LINE * any(titles), LINE * (lines.count("\n") + bool(note))
    high = (n_rows * (head + height) + foot) / POINTS
    figure = PaperFigure((width, high), layout="constrained")
    made = figure.subplots(n_rows, n_columns, squeeze=False, sharey=sharey).ravel().tolist()
    for axes, title in zip(made, titles, strict=False):
        axes.set_label(title)  # to be fitted to the axes once their width is known
    for axes in made[len(titles) :]:
        axes.remove()
    if note:
        figure.supxlabel(lines, x=4 / POINTS / width, ha="left", size=SIZE, color=SOFT)
    return figure, made[: len(titles)]


def show_names(axes: Axes, names: Sequence[str]) -> None:
    """Write a name beside each row of axes, from the top."""
    axes.set(yticks=range(len(names)), yticklabels=names, ylim=(len(names) - 0.5, -0.5))
    axes.tick_params(axis="y", length=0)


def show_scale(axis: Axis) -> None:
    """Show zero and one or two round numbers on an axis of shares."""
    axis.set_major_locator(MaxNLocator(2, steps=[1, 2, 5, 10]))
    axis.set_major_formatter(lambda share, _: f"{100 * share:.3g}%")


def places_of(middles: Sequence[Start]) -> list[float]:
    """Return where dates and numbers stand on an axis: dates at the number of their day."""
    return [each.toordinal() if isinstance(each, date) else each for each in middles]


def show_places(axis: Axis, middles: Sequence[Start]) -> None:
    """Show up to three dates or round numbers on an axis of ``places_of``."""
    first, last = middles[0], middles[-1]
    if isinstance(first, date) and isinstance(last, date):
        ticks = _round_dates(first, last)
        length = len("2024") if all(tick.month == tick.day == 1 for tick in ticks) else None
        labels = [tick.isoformat()[: length or len("2024-05")] for tick in ticks]
        axis.set_ticks([tick.toordinal() for tick in ticks], labels)
    else:
        whole = all(float(place).is_integer() for place in places_of(middles))
        axis.set_major_locator(MaxNLocator(3, integer=whole))
        axis.set_major_formatter(lambda place, _: f"{place:.6g}")


def _round_dates(first: date, last: date) -> list[date]:
    """Return the first days of up to three months that are multiples of a round number of them."""
    start, end = (12 * each.year + each.month - 1 for each in (first, last))
    start += first.day > 1
    for step in MONTHS:
        months = [month for month in range(-(-start // step) * step, end + 1, step) if month >= 12]
        if len(months) <= 3:
            break
    return [date(month // 12, month % 12 + 1, 1) for month in months] or [first]


def with_shares(weights: Sequence[float], texts: Sequence[str], room: float) -> list[str]:
    """Write a share in percent before each text, in columns, with ``room`` points for both."""
    shares = [f"{weight:.1%}" if weight >= 0.0005 else "<0.1%" for weight in weights]
    # A figure space is as wide as a digit.
    return [
        LEFT + fitted(f"{share:\N{FIGURE SPACE}>5}  {text}", room)
        for share, text in zip(shares, texts, strict=True)
    ]


# --- colours --------------------------------------------------------------------------------------
# From oklab to cones, and from these to the red, green and blue of screens.
_CONES = np.array([[1, 0.39634, 0.2158], [1, -0.10556, -0.06385], [1, -0.08948, -1.29149]])
_SCREEN = np.array(
    [[4.07674, -3.30771, 0.23097], [-1.26844, 2.60976, -0.34132], [-0.0042, -0.70342, 1.70761]]
)


def coloured_themes(report: Report) -> tuple[list[TopicRow], list[str], str]:
    """Return the themes of the only model of a report, which has words, and their colours.

    The last part says how many topics were joined to them, or nothing.
    """
    assert report.overview is not None, "components of vectors were refused"
    colours, themes = theme_colours(report.overview), report.overview.themes
    note = joined(sum(len(theme.topics) for theme in themes), len(themes))
    return [theme.row for theme in themes], [colours[theme.topic] for theme in themes], note


def joined(n_topics: int, n_themes: int) -> str:
    """Say that a figure shows themes instead of all topics."""
    return f"{quantity(n_topics, 'topic')}, joined to {n_themes:,}." if n_themes < n_topics else ""


def theme_colours(overview: Overview) -> list[str]:
    """Return the colour of each topic, that of its theme on the page.

    There it is ``--tone`` of page.css, ``oklch(52% + 12% · step, .11, hue)``.
    """
    places = np.array(overview.colours)
    hues = np.radians(165 + 360 * places / len(set(overview.colours)))
    lab = [0.52 + 0.12 * (places % 3 - 1), 0.11 * np.cos(hues), 0.11 * np.sin(hues)]
    linear = np.clip(_SCREEN @ (_CONES @ lab) ** 3, 0.0, 1.0)
    screen = np.where(linear < 0.0031308, 12.92 * linear, 1.055 * linear**0.41667 - 0.055)
    return [to_hex(tuple(colour)) for colour in screen.T]


# --- texts ----------------------------------------------------------------------------------------
@cache
def _letters(path: str) -> frozenset[str]:
    return frozenset(map(chr, get_font(path).get_charmap()))


@cache
def fonts_of(letters: frozenset[str]) -> tuple[list[str], frozenset[str]]:
    """Return the fonts that have some letters, and the letters that no installed font has."""
    missing = letters - _letters(fontManager.findfont(FONT)) - {"\n"}
    found, installed = [FONT], fontManager.ttflist if missing else []
    for font in sorted(installed, key=lambda own: ("Sans" not in own.name, own.name, own.fname)):
        is_plain = (font.style, font.weight) == ("normal", 400)
        if is_plain and not NOT_FOR_TEXT.match(font.name) and missing & _letters(font.fname):
            found.append(font.name)
            missing -= _letters(font.fname)
    return found, missing


def width_of(text: str) -> float:
    """Return how wide a line of text is, in points."""
    prop = FontProperties(family=fonts_of(frozenset(text))[0], size=SIZE)
    return float(text_to_path.get_text_width_height_descent(text, prop, ismath=False)[0])


def fitted(text: str, room: float, n_lines: int = 1) -> str:
    """Return the beginning of a text in at most ``n_lines`` lines of ``room`` points."""
    text = printable(text)

    def in_lines(length: int) -> list[str]:
        lines = wrap(text, length) if n_lines > 1 else [text]
        rest = " ".join(lines[n_lines - 1 :])
        rest = rest if len(rest) <= length else f"{rest[: length - 1].rstrip(' ,')}…"
        return [*lines[: n_lines - 1], rest]

    lengths = range(1, len(text) + 1)
    n_fitting = bisect_right(lengths, room, key=lambda n: max(map(width_of, in_lines(n))))
    return "\n".join(in_lines(max(n_fitting, 1))).rstrip()


def finished(figure: PaperFigure) -> PaperFigure:
    """Fit titles to their axes, choose fonts, and warn of letters that no installed font has."""
    figure.draw_without_rendering()
    for axes in figure.axes:
        room = axes.bbox.width / figure.dpi * POINTS
        axes.set_title(fitted(str(axes.get_label()), room, 2), loc="left")
    texts = [each for each in figure.findobj(Text) if isinstance(each, Text)]
    family, missing = fonts_of(frozenset("".join(each.get_text() for each in texts)))
    for each in texts:
        each.set_fontfamily(family)
    if missing:
        letters = fitted(" ".join(sorted(missing)), 200.0)
        hint = "Install a font that has them, such as Noto Sans."
        warn_user(f"No installed font has these characters, shown as boxes: {letters}. {hint}")
    figure.draw_without_rendering()
    figure.set_layout_engine("none")  # at another resolution, places would differ in last bits
    return figure
