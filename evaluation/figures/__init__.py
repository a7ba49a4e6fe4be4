"""Figures for papers: PDF, SVG or PNG of what pages show.

To add a figure, write a function from a ``Report`` and a width in inches to a ``Figure`` in
``kinds.py``, named after its kind, and add the kind to ``KINDS``. That module, and matplotlib, are
imported only when a figure is drawn.
"""

from __future__ import annotations

from collections.abc import Sequence

from sparsetopics.options.option import Interval

FIGURE_EXTENSIONS = (".pdf", ".svg", ".png")
DEFAULT_WIDTH = 6.3  # inches: the text of a page of A4 or US Letter
WIDTHS = Interval(2, 30, unit="inches")
# The options for documents that each kind takes, of which it needs the first.
KINDS: dict[str, Sequence[str]] = {
    "themes": (),
    "tree": (),
    "groups": ("by", "corpus", "formula", "topic"),
    "time": ("over", "by", "corpus", "formula", "topic"),
    "topics": (),
    "numbers": (),
}
