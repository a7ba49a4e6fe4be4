"""Progress of training on stderr: a live bar on a terminal, a plain line per lap elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sparsetopics.trained_runs import RunHooks

Entry = dict[str, Any]


@contextmanager
def show_progress(n_laps: int, *, quiet: bool) -> Iterator[RunHooks]:
    """Hooks for ``train_run`` that tell a person how far it is."""
    from sparsetopics.trained_runs import RunHooks

    if quiet:
        yield RunHooks()
    elif sys.stderr.isatty():
        with _bar(n_laps) as hooks:
            yield hooks
    else:
        yield RunHooks(on_lap=lambda entry: print(lap_line(entry, n_laps), file=sys.stderr))


def lap_line(entry: Entry, n_laps: int) -> str:
    """One lap in words."""
    heldout = entry["heldout_log_likelihood_per_token"]
    parts = [
        f"lap {entry['lap']}/{n_laps}",
        f"{entry['seconds']:.1f} s",
        f"ELBO {entry['elbo_per_token']:.4f}",
        f"{entry['active_topics']} of {entry['n_topics']} topics active",
    ]
    if heldout is not None:
        parts.append(f"held-out {heldout:.4f}")
    return "  ".join(parts)


@contextmanager
def _bar(n_laps: int) -> Iterator[RunHooks]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    from sparsetopics.trained_runs import RunHooks

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("reading", total=float(n_laps), rate="")
        done = _Rate(progress.update, task)

        def on_lap(entry: Entry) -> None:
            done.laps = entry["lap"]
            progress.update(task, completed=done.laps, description=lap_line(entry, n_laps))

        yield RunHooks(on_lap=on_lap, on_documents=done)


class _Rate:
    """Moves the bar within a lap and shows documents per second."""

    def __init__(self, update: Callable[..., None], task: int) -> None:
        import time

        self.laps = 0
        self._update, self._task, self._clock = update, task, time.perf_counter
        self._began = self._clock()

    def __call__(self, n_done: float, n_docs: int) -> None:
        laps = self.laps + n_done / n_docs
        rate = laps * n_docs / max(self._clock() - self._began, 1e-9)
        self._update(self._task, completed=laps, rate=f"{rate:,.0f} documents/s")
