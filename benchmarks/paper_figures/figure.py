"""What a figure of a paper is here: a claim, and a function that measures it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

Row = dict[str, str | int | float | None]


class Setting(NamedTuple):
    """How a figure is measured."""

    is_quick: bool  # fewer items, seeds and numbers, so that all figures take ten minutes
    shared: Path  # with ``data`` and ``peers``
    folder: Path  # for what is prepared once and used by several figures


class Figure(NamedTuple):
    """A figure or a table of a paper."""

    claim: str  # what the paper shows with it, in a sentence
    rows: Callable[[Setting], Iterator[Row]]  # as they are measured
