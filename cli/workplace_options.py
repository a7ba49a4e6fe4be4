"""Options that say where a command works: ``--workers``, ``--executor`` and ``--scheduler``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import click

from sparsetopics.cli.option_groups import option_group
from sparsetopics.options import ExecutorName, Workplace

HELP = "This process works alone, or a Dask cluster, that of --scheduler or one of --workers"


@dataclass(frozen=True)
class WorkplaceChoices:
    """What the user said of it."""

    workers: int
    executor: ExecutorName
    scheduler: str | None

    @property
    def place(self) -> Workplace:
        """The same, checked; raises OptionError."""
        return Workplace(self.executor, self.workers, self.scheduler)

    def seen_from_there(self, path: Path) -> Path:
        """What is ``path`` here, for processes with a working directory of their own."""
        return path.absolute() if self.executor == "dask" else path


workplace_options = option_group(
    "where",
    WorkplaceChoices,
    [
        click.option(
            "--workers",
            type=click.IntRange(min=1),
            default=1,
            show_default=True,
            help="Threads, or processes that dask starts; never changes the result.",
        ),
        click.option(
            "--executor",
            type=click.Choice(get_args(ExecutorName)),
            default="threads",
            show_default=True,
            help=f"{HELP} processes.",
        ),
        click.option(
            "--scheduler", metavar="ADDRESS", help="Of a Dask cluster, such as tcp://host:8786."
        ),
    ],
)
