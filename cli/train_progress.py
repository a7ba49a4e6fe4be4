"""Progress of training on stderr: a plain line for each lap, and on a terminal a bar below."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial

from sparsetopics.base.stopping import check_stopped
from sparsetopics.cli.printing import has_bars, note, say
from sparsetopics.options.registry import MOVE_COUNTS
from sparsetopics.options.training import TrainingOptions
from sparsetopics.runs.callbacks import RunHooks

Entry = Mapping[str, float | None]  # of a trace, as ``runs.callbacks.OnLap`` gets it
Tell = Callable[[str], None]
# Entries that are there only if they were asked for, and what a line calls them.
MEASURES = {"criterion_per_token": "criterion", "heldout_log_likelihood_per_token": "held-out"}

SECONDS_OF_SILENCE = 30.0  # after which a line says how far a lap is, without a terminal


def show_progress(options: TrainingOptions) -> AbstractContextManager[RunHooks]:
    """Hooks for ``train_run`` that show the progress of training."""
    return _bar(options) if has_bars() else nullcontext(_lines(options, say, say))


def _lines(options: TrainingOptions, say: Tell, say_without_bar: Tell) -> RunHooks:
    """Say a line for each lap, and one whenever there has been none for a while.

    ``say_without_bar`` gets what a bar shows by itself.
    """
    last = time.monotonic()

    def on_lap(entry: Entry) -> None:
        nonlocal last
        say(lap_line(entry, options))
        last = time.monotonic()
        check_stopped()

    def on_documents(n_done: float, n_docs: int) -> None:
        nonlocal last
        if time.monotonic() - last >= SECONDS_OF_SILENCE:
            share = f"{100 * n_done / n_docs:.0f} % of the {_unit(options)} visited"
            say_without_bar(f"{share}{_rest_of_lap(n_done, n_docs, options)}")
            last = time.monotonic()

    def on_options(changed: TrainingOptions) -> None:
        nonlocal options
        options = changed

    on_writing = partial(say_without_bar, "Writing the run.")
    return RunHooks(on_lap, on_documents, on_writing, say, on_options)


def _unit(options: TrainingOptions) -> str:
    return "documents" if options.counts_words else "items"


def _rest_of_lap(n_done: float, n_docs: int, options: TrainingOptions) -> str:
    """What still takes time in a lap once all documents or items are done."""
    has_moves = options.learner_kind.grows or options.makes_moves
    return ", trying moves" if has_moves and n_done >= n_docs else ""


def lap_line(entry: Entry, options: TrainingOptions) -> str:
    """One lap in words."""
    measured = [(label, entry.get(key)) for key, label in MEASURES.items()]
    parts = [
        *([f"run {entry['run']}/{options.n_runs}"] if "run" in entry else []),
        f"lap {entry['lap']}/{options.n_laps}",
        f"{entry['seconds']:.1f} s",
        f"ELBO {entry['elbo_per_token']:.4f}",
        *(f"{label} {value:.4f}" for label, value in measured if value is not None),
        f"K {entry['n_topics']}{_accepted_moves(entry)}",
    ]
    if entry["active_topics"] != entry["n_topics"]:
        parts.append(f"{entry['active_topics']} active")
    return "  ".join(parts)


def _accepted_moves(entry: Entry) -> str:
    """`` (−3 merged, +4 born)``, in topics; nothing where the lap made no move."""
    accepted = {text: entry[f"{move}_accepted"] for move, text in MOVE_COUNTS.items()}
    made = [text.format(number) for text, number in accepted.items() if number]
    return f" ({', '.join(made)})" if made else ""


@contextmanager
def _bar(options: TrainingOptions) -> Iterator[RunHooks]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    from sparsetopics.cli.warmup import kernels_are_kept

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[rate]}"),
        # Most models may settle long before their last lap.
        TextColumn("left:" if options.model_kind.narrows else "left at most:"),
        TimeRemainingColumn(),
    )
    with Progress(
        *columns,
        console=Console(stderr=True),
        transient=True,
        speed_estimate_period=300,  # seconds; laps are long
    ) as progress:
        # Compiling takes up to half a minute, most of it before the first documents are done.
        beginning = "reading" if kernels_are_kept() else "compiling, once"
        task = progress.add_task(beginning, total=options.n_laps * options.n_runs, rate="")
        above = partial(progress.console.print, soft_wrap=True, highlight=False, markup=False)
        lines, laps = _lines(options, partial(say, write=above), note), 0

        def on_lap(entry: Entry) -> None:
            nonlocal laps
            is_first = not laps
            # Several runs may make their laps at once.
            laps = laps + 1 if "run" in entry else int(entry["lap"] or 0)
            if is_first and laps > 1:  # earlier laps say nothing of the rest
                progress.reset(task, completed=laps)
            lines.on_lap(entry)

        def on_documents(n_done: float, n_docs: int) -> None:
            n_laps = options.n_laps * options.n_runs
            lap = f"lap {min(laps + 1, n_laps)}/{n_laps}{_rest_of_lap(n_done, n_docs, options)}"
            progress.update(task, completed=laps + n_done / n_docs, description=lap)
            if speed := progress.tasks[0].speed:  # in laps; moves, which make none, do not count
                progress.update(task, rate=f"{speed * n_docs:,.0f} {_unit(options)}/s")
            lines.on_documents(n_done, n_docs)

        def on_writing() -> None:
            progress.update(task, description="writing the run", rate="")
            lines.on_writing()

        def on_options(changed: TrainingOptions) -> None:
            nonlocal options
            options = changed
            progress.update(task, total=options.n_laps * options.n_runs)
            lines.on_options(options)

        yield RunHooks(on_lap, on_documents, on_writing, lines.say, on_options)
