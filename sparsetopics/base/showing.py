"""How objects show themselves in Python: as one short line, and as a table in a notebook."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence, Sized
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

LONGEST_LINE = 200  # characters
LONGEST_PART = 60
_STYLE = "text-align: left; vertical-align: top; border-bottom: 1px solid #bbb"


def short_repr(thing: Hashable, *names: str) -> str:
    """``Class(name=value, …)`` in one line, with arrays and long lists by their sizes."""
    parts = [f"{name}={_part(getattr(thing, name))}" for name in names]
    return shortened(f"{type(thing).__name__}({', '.join(parts)})", LONGEST_LINE)


def _part(value: Hashable | np.generic) -> str:
    import numpy as np  # not with this module, which --help of commands needs

    if isinstance(value, np.ndarray):
        return f"{value.dtype}{list(value.shape)}"
    text = repr(value.item() if isinstance(value, np.generic) else value)
    if len(text) > LONGEST_PART and isinstance(value, Sized) and not isinstance(value, str):
        return f"<{type(value).__name__} of {len(value):,}>"
    return shortened(text, LONGEST_PART)


def shortened(text: str, longest: int) -> str:
    """The beginning of a text, with an ellipsis where something was left out."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def html_table(
    caption: str, header: Sequence[str], rows: Iterable[Sequence[str | float | None]]
) -> str:
    """A table in HTML; whole numbers get separators, and text is escaped and shortened."""
    head = [_row("th", header)] if header else []
    lines = [*head, *(_row("td", row) for row in rows), "</table>"]
    return "\n".join([f"<table><caption>{escape(caption)}</caption>", *lines])


def _row(tag: str, cells: Sequence[str | float | None]) -> str:
    inner = "".join(f'<{tag} style="{_STYLE}">{escape(_cell(cell))}</{tag}>' for cell in cells)
    return f"<tr>{inner}</tr>"


def _cell(value: str | float | None) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value if value.isprintable() else ascii(value)[1:-1]
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"
