"""Options that say where a command works: ``--workers``, ``--executor`` and ``--scheduler``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import click

from sparsetopics.cli.option_groups import option_group
from sparsetopics.options import ExecutorName, Workplace


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


def _with_port(ctx: click.Context, param: click.Parameter, address: str | None) -> str | None:
    """Dask waits for an address without a port, and then fails with a traceback."""
    if address is not None and ":" not in address.rpartition("//")[2]:
        raise click.BadParameter(f"{address!r} has no port; tcp://host:8786 has.", ctx, param)
    return address


threads_option = click.option(  # of commands that work in this process alone
    "--workers", type=click.IntRange(min=1), default=1, show_default=True, help="Threads."
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
    click.option(
        "--scheduler",
        metavar="ADDRESS",
        callback=_with_port,
        help="Of a Dask cluster, such as tcp://host:8786.",
    ),
]
WORKPLACE_OPTIONS = [
    click.option("--workers", type=int, default=1, show_default=True, help=WORKERS_HELP),
    *EXECUTOR_OPTIONS,
]
workplace_options = option_group("where", WorkplaceChoices, WORKPLACE_OPTIONS)
