"""Progress of training on stderr: a plain line per lap, with a live bar below on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sparsetopics.options.training import TrainingOptions
    from sparsetopics.runs.train import RunHooks

Entry = Mapping[str, Any]
MOVES = {
    "merges": "−{} merged",
    "deletes": "−{} deleted",
    "births": "+{} born",
    "regroups": "regrouped",
}


@contextmanager
def show_progress(options: TrainingOptions, *, quiet: bool) -> Iterator[RunHooks]:
    """Hooks for ``train_run`` that tell a person how far it is."""
    from sparsetopics.runs.train import RunHooks

    if quiet:
        yield RunHooks()
    elif sys.stderr.isatty():
        with _bar(options) as hooks:
            yield hooks
    else:
        yield RunHooks(on_lap=lambda entry: print(lap_line(entry, options), file=sys.stderr))


def lap_line(entry: Entry, options: TrainingOptions) -> str:
    """One lap in words."""
    parts = [
        f"lap {entry['lap']}/{options.n_laps}",
        f"{entry['seconds']:.1f} s",
        f"ELBO {entry['elbo_per_token']:.4f}",
        *_measured(entry),
        f"K {entry['n_topics']}{_accepted_moves(entry)}",
    ]
    if entry["active_topics"] < entry["n_topics"]:
        parts.append(f"{entry['active_topics']} active")
    return "  ".join(parts)


def _measured(entry: Entry) -> Iterator[str]:
    """What is there only where it was asked for."""
    labels = {
        "criterion_per_token": "criterion",
        "heldout_log_likelihood_per_token": "held-out",
    }
    for key, label in labels.items():
        if entry.get(key) is not None:
            yield f"{label} {entry[key]:.4f}"


def _accepted_moves(entry: Entry) -> str:
    """`` (−3 merged, +4 born)``, in topics; nothing where the lap made no move."""
    accepted = {text: entry[f"{move}_accepted"] for move, text in MOVES.items()}
    made = [text.format(number) for text, number in accepted.items() if number]
    return f" ({', '.join(made)})" if made else ""


@contextmanager
def _bar(options: TrainingOptions) -> Iterator[RunHooks]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    from sparsetopics.runs.train import RunHooks

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[rate]}"),
        # All but LDA may settle long before their last lap.
        TextColumn("left:" if options.model == "lda" else "left at most:"),
        TimeRemainingColumn(),
    )
    with Progress(
        *columns,
        console=Console(stderr=True),
        transient=True,
        speed_estimate_period=300,  # seconds; laps are long
    ) as progress:
        task = progress.add_task(_beginning(), total=float(options.n_laps), rate="")
        done = _Rate(progress.update, task, options)

        def on_lap(entry: Entry) -> None:
            if done.reach(entry["lap"]):
                progress.reset(task, completed=done.laps)  # they say nothing of the time left
            progress.console.print(lap_line(entry, options), soft_wrap=True, highlight=False)

        yield RunHooks(on_lap=on_lap, on_documents=done)


def _beginning() -> str:
    """What happens before the first documents are done; compiling takes up to a minute."""
    from sparsetopics.cli.warmup import kernels_are_kept

    return "reading" if kernels_are_kept() else "compiling, once"


class _Rate:
    """Moves the bar within a lap and shows documents or items per second."""

    def __init__(self, update: Callable[..., None], task: int, options: TrainingOptions) -> None:
        import time

        self._n_laps = options.n_laps
        self._unit = "documents" if options.counts_words else "items"
        self.laps = 0
        self._before = 0  # of a process that was interrupted
        self._update, self._task, self._clock = update, task, time.perf_counter
        self._began = self._clock()

    def reach(self, lap: int) -> bool:
        """A lap is done; whether laps of another process now count for the first time."""
        is_first, self.laps = self.laps == 0, lap
        if is_first:
            self._before = lap - 1
        return is_first and lap > 1

    def __call__(self, n_done: float, n_docs: int) -> None:
        laps = self.laps + n_done / n_docs
        rate = (laps - self._before) * n_docs / max(self._clock() - self._began, 1e-9)
        self._update(
            self._task,
            completed=laps,
            description=f"lap {min(self.laps + 1, self._n_laps)}/{self._n_laps}",
            rate=f"{rate:,.0f} {self._unit}/s",
        )
