"""What a figure of a paper is here: a claim, and a function that measures it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import click
from results import Cell, over_runs

Row = dict[str, str | int | float | None]


class Setting(NamedTuple):
    """How a figure is measured."""

    is_quick: bool  # fewer items, seeds and numbers, so that all figures take ten minutes
    shared_folder: Path  # which may be missing: some figures draw their own data
    folder: Path  # for what is prepared once and used by several figures

    @property
    def shared(self) -> Path:
        """The folder with ``data`` and ``peers``; click.UsageError if it is not there."""
        if not self.shared_folder.is_dir():
            raise click.UsageError(
                f"--shared: {self.shared_folder} is not there, but this figure reads data from it. "
                "docs/papers.md says what it must hold."
            )
        return self.shared_folder


class Figure(NamedTuple):
    """A figure or a table of a paper."""

    claim: str  # what the paper shows with it, in a sentence
    rows: Callable[[Setting], Iterator[Row]]  # as they are measured
    named_by: tuple[str, ...]  # the columns that name a row of the kept file
    across: tuple[str, ...] = ()  # those whose values are a part of other columns' names there

    def summed_up(self, measured: Sequence[Row]) -> dict[str, dict[str, Cell]]:
        """Rows to keep: of a single run what it measured; of several means, least and most."""
        used = {*self.named_by, *self.across, "figure", "seed"}
        runs: defaultdict[tuple[str, str], list[Row]] = defaultdict(list)
        for row in measured:
            end = "".join(f"/{row[key]}" for key in self.across)
            own = {key: value for key, value in row.items() if key not in used}
            runs[self.name_of(row), re.sub(r"[^\w/]+", "_", end)].append(own)
        kept: defaultdict[str, dict[str, Cell]] = defaultdict(dict)
        for (name, end), some in runs.items():
            cells = some[0] if len(some) == 1 else {**over_runs(some), "runs": len(some)}
            kept[name] |= {f"{key}{end}": value for key, value in cells.items()}
        return dict(kept)

    def name_of(self, row: Row) -> str:
        """A name without spaces, such as ``mean-field/K=100``."""
        values = {key: row[key] for key in self.named_by if key in row}
        names = [
            f"{key}={value}" if str(value).isdigit() else str(value)
            for key, value in values.items()
        ]
        return re.sub(r"\W*\s", "-", "/".join(names))
