"""Options that say where a command works: ``--workers``, ``--executor`` and ``--scheduler``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import click

from sparsetopics.cli.option_groups import option_group
from sparsetopics.options.training import ExecutorName, Workplace


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


threads_option = click.option(  # of commands that work in this process alone
    "--workers", type=click.IntRange(min=1), default=1, show_default=True, help="Threads."
)
scheduler_option = click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="Dask cluster to use, such as tcp://head:8786; never taken from a file. "
    "Default: $DASK_SCHEDULER_ADDRESS, or else a cluster started on this machine.",
)
WORKERS_HELP = "Threads, or processes that dask starts; never changes the result."
EXECUTOR_OPTIONS = [
    click.option(
        "--executor",
        type=click.Choice(get_args(ExecutorName)),
        default="threads",
        show_default=True,
        help="This process works alone, or a Dask cluster does most, that of --scheduler or one of "
        "--workers processes; never changes the result.",
    ),
    scheduler_option,
]
WORKPLACE_OPTIONS = [
    click.option("--workers", type=int, default=1, show_default=True, help=WORKERS_HELP),
    *EXECUTOR_OPTIONS,
]
workplace_options = option_group("where", WorkplaceChoices, WORKPLACE_OPTIONS)
