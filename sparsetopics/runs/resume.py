"""Going on with a training run that was interrupted, or finished with its state kept."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import msgspec

from sparsetopics.base.errors import RunError
from sparsetopics.base.sealed_files import PositiveSize, decoded
from sparsetopics.base.transactions import STATE_FOLDER
from sparsetopics.options.registry import MODELS
from sparsetopics.options.table import ExecutorName
from sparsetopics.options.training import TrainingOptions, Workplace
from sparsetopics.runs.plan import RunPlan, check_data, plan_of, plan_record
from sparsetopics.runs.run_files import (
    DAMAGE,
    PLAN_FILE,
    SETTINGS_FILE,
    TRACE_FILE,
    load_settings,
    load_trace,
)
from sparsetopics.runs.topic_runs import check_folder
from sparsetopics.runs.train import RunHooks, RunResult, go_on, task_of
from sparsetopics.runs.training_folder import clear_finished, is_training, old_training

_LOG = logging.getLogger(__name__)  # its warnings go to stderr

Watch = Callable[[TrainingOptions], AbstractContextManager[RunHooks]]


class FinishedLap(msgspec.Struct):
    """The last line of a trace."""

    lap: PositiveSize
    elbo_per_token: float
    seconds: float


class Resumed(NamedTuple):
    """How a run stands now."""

    result: RunResult
    options: TrainingOptions | None  # None: nothing was left to do


def resume_run(
    run: Path,
    *,
    laps: int | None = None,
    workers: int | None = None,
    executor: ExecutorName | None = None,
    scheduler: str | None = None,
    watch: Watch = lambda options: nullcontext(RunHooks()),
) -> Resumed:
    """Continue from the last lap that was kept, up to ``laps`` or the number in the plan.

    Apart from times, the run is what it would have been without the interruption. ``workers`` and
    ``executor`` are unchanged unless they are given. ``scheduler`` is never taken from the
    run, because the process that answers there can run code here. Without an address, given or in
    DASK_SCHEDULER_ADDRESS, a run that Dask trained continues with processes of this machine, and a
    warning says so. ``watch`` makes the hooks. Raises RunError if ``run`` is no run, if its state
    is damaged, of another version or, with more ``laps``, gone, or if its data have changed;
    OutputError if another process trains it.
    """
    if not is_training(run):
        clear_finished(run)
        return _finished(run, laps)
    with old_training(run) as (folder, record):
        plan = plan_of(record, run / STATE_FOLDER / PLAN_FILE)
        is_done = record["finished"] or folder.is_published
        if is_done and (laps is None or laps <= _result(run).laps):
            if folder.is_published:  # and then the process was killed
                folder.close(plan_record(plan, finished=True), keep=plan.keep_state)
            return Resumed(_result(run), None)
        plan = _changed(replace(plan, out=run), laps, workers)
        plan = replace(plan, executor=executor or plan.executor, scheduler=scheduler)
        _warn_of_local_cluster(plan.workplace, executor)  # before data are read
        if folder.checkpoint.exists():
            began_from = plan.start_run or plan.first_start  # that was for the beginning
            plan = replace(plan, start_run=None, first_start=began_from)
        plan, task = task_of(plan)
        check_data(plan, record["fingerprints"])
        folder.write_plan(plan_record(plan))
        with watch(plan.options) as hooks:
            return Resumed(go_on(plan, task, folder, hooks), plan.options)


def _warn_of_local_cluster(place: Workplace, executor: ExecutorName | None) -> None:
    """Say where a run continues if its cluster was not named again."""
    if executor is not None or place.executor != "dask":
        return
    from sparsetopics.execution.dask_cluster import chosen_scheduler

    if chosen_scheduler(place) is None:
        _LOG.warning(
            "--workers %d: using processes on this machine. Repeat --scheduler to use the cluster.",
            place.workers,
        )


def _changed(plan: RunPlan, laps: int | None, workers: int | None) -> RunPlan:
    if laps is not None:
        plan = replace(plan, options=replace(plan.options, laps=laps))
    return plan if workers is None else replace(plan, workers=workers)


def _finished(run: Path, laps: int | None) -> Resumed:
    """A run without state; RunError if that is missed, or if there is no run."""
    result = _result(run)
    if laps is not None and laps > result.laps:
        raise RunError(
            str(run),
            found=f"a run that was finished after {result.laps} laps, without its state",
            wanted="one trained with --keep-state",
            hint="Train anew with more --laps, or go on from its topics with --start.",
        )
    return Resumed(result, None)


def _result(run: Path) -> RunResult:
    check_folder(run)
    settings = load_settings(run / SETTINGS_FILE, tuple(MODELS))
    trace = load_trace(run, settings)
    where = f"{run / TRACE_FILE}, last line"
    last = decoded(trace[-1] if trace else None, FinishedLap, where, DAMAGE)
    model, n_topics = settings["model"], settings["n_topics"]
    return RunResult(model, n_topics, last.elbo_per_token, last.lap, last.seconds)
