"""Where work is done, which never changes the result."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sparsetopics.options import table
from sparsetopics.options.option import check_values, refuse
from sparsetopics.options.table import OPTION, ExecutorName


@dataclass(frozen=True, slots=True)
class Workplace:
    """Where work is done. It never changes the result."""

    executor: ExecutorName = table.DEFAULT_EXECUTOR
    workers: int = 1  # threads; with dask and no scheduler the number of processes too
    scheduler: str | None = None  # address of a Dask cluster; None: one is started here

    @property
    def threads(self) -> int:
        """The number of threads that work on one batch."""
        return 1 if self.executor == "dask" else self.workers

    def seen_from_there(self, path: Path) -> Path:
        """``path`` as processes with a working directory of their own can use it."""
        return path.absolute() if self.executor == "dask" else path

    def __post_init__(self) -> None:
        check_values(OPTION, "run", self)
        if self.executor == "serial" and self.workers > 1:
            refuse("workers", f"must be 1 with --executor serial, but is {self.workers}")
        if self.scheduler is not None and self.executor != "dask":
            refuse("scheduler", f"needs --executor dask, but found --executor {self.executor}")
