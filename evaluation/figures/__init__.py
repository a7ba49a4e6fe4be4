"""Figures for papers: PDF, SVG or PNG of what pages show.

To add a figure, write a function from a ``Report`` and a width in inches to a ``Figure`` in a
module of this package, and name it in ``KINDS``. Modules, and matplotlib, are imported only when a
figure is drawn.
"""

from __future__ import annotations

from collections.abc import Sequence

from sparsetopics.options.option import Interval

FIGURE_EXTENSIONS = (".pdf", ".svg", ".png")
DEFAULT_WIDTH = 6.3  # inches: the text of a page of A4 or US Letter
WIDTHS = Interval(2, 30, unit="inches")
# What draws each kind, module:function of this package, and the options for documents that it
# takes. It needs the first of them.
KINDS: dict[str, tuple[str, Sequence[str]]] = {
    "themes": ("topics:draw_themes", ()),
    "tree": ("numbers:draw_tree", ()),
    "groups": ("shares:draw_groups", ("by", "corpus", "formula")),
    "time": ("shares:draw_time", ("over", "by", "corpus", "formula")),
    "topics": ("topics:draw_topics", ()),
    "numbers": ("numbers:draw_numbers", ()),
}
