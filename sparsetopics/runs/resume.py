"""Continue training that was interrupted or kept its state; repair what a killed command left."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, replace
from pathlib import Path
from typing import NamedTuple, NoReturn

from sparsetopics.base.errors import OutputError, RunError
from sparsetopics.base.staging import refusing
from sparsetopics.base.transactions import APPEND_FOLDER, JOB, STATE_FOLDER, Workspace
from sparsetopics.base.wording import quantity
from sparsetopics.options.option import refuse
from sparsetopics.options.table import ExecutorName
from sparsetopics.options.training import TrainingOptions
from sparsetopics.options.workplace import Workplace
from sparsetopics.runs.callbacks import RunHooks
from sparsetopics.runs.run import check_folder, load_run
from sparsetopics.runs.run_files import DAMAGE, TRACE_FILE, load_trace, read_settings
from sparsetopics.runs.topic_path_files import is_topic_path, load_topic_path
from sparsetopics.runs.train import RunResult, finish_training, result_of, task_of
from sparsetopics.runs.training_folder import is_training, old_training, settle

_LOG = logging.getLogger(__name__)  # its warnings go to stderr

Watch = Callable[[TrainingOptions], AbstractContextManager[RunHooks]]


class Resumed(NamedTuple):
    """The run after resuming."""

    result: RunResult
    options: TrainingOptions | None  # None: nothing was left to do
    has_settled: bool = False  # more laps were asked for, but the finished run made none


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
    ``executor`` are unchanged unless they are given. ``scheduler`` is never taken from the run,
    because the process that answers there can run code here. Without an address, given or in
    DASK_SCHEDULER_ADDRESS, a run that Dask trained continues with processes of this machine, and a
    warning says so. ``watch`` makes the hooks.

    Raises RunError if ``run`` is no run, if its state is damaged or of another version, if more
    ``laps`` are asked for than there is state for, or if its data have changed. Raises OutputError
    if another process trains it.
    """
    if laps is not None and is_topic_path(run):
        _refuse_laps(f"{run} is a topic path, whose laps follow from its rungs")
    if not is_training(run):
        with refusing(run):
            settle(run)
        return _finished(run, laps)
    with old_training(run) as (folder, record):
        own = executor or record.plan.executor
        plan = replace(record.plan, out=run, scheduler=scheduler, executor=own)
        if workers is not None:
            plan = replace(plan, workers=workers)
        place = plan.workplace  # which checks its options, even if nothing is left to do
        is_done = record.finished or folder.is_published
        if is_done and (laps is None or laps <= _result(run).laps):
            if folder.is_published:  # the process was killed before it could close the folder
                folder.close(plan)
            return Resumed(_result(run), None)
        if laps is not None and plan.options.is_topic_path:
            _refuse_laps(f"{run} is a topic path, whose laps follow from its rungs")
        if laps is not None and plan.options.n_runs > 1:
            _refuse_laps(f"{run} is the consensus of several runs")
        if laps is not None and plan.options.is_validated:
            _refuse_laps(f"the laps of {run} follow from the numbers of topics that it tries")
        if laps is not None:
            plan = replace(plan, options=replace(plan.options, laps=laps))
        _warn_of_local_cluster(place, executor)  # before data are read
        if folder.checkpoint.exists():  # training has left the run that it started from
            plan = replace(plan, start_run=None, first_start=plan.start_run or plan.first_start)
        extends = is_done or record.extends
        plan, task = task_of(plan, load_run(run) if extends else None)
        record.check_data(plan)
        folder.write_plan(plan, extends=extends)
        if folder.is_published:  # the journal of that run must not vouch for files of the next
            folder.clear_workspace()
        before = _result(run).laps if is_done else None
        with watch(plan.options) as hooks:
            result = finish_training(plan, task, folder, hooks)
        return Resumed(result, plan.options, has_settled=result.laps == before)


def _refuse_laps(why: str) -> NoReturn:
    refuse("laps", f"cannot be changed: {why}", "Leave out --laps, or train again.")


def _warn_of_local_cluster(place: Workplace, executor: ExecutorName | None) -> None:
    """Warn if a run on a cluster continues on this machine."""
    if executor is not None or place.executor != "dask":
        return
    from sparsetopics.execution.dask_cluster import chosen_scheduler

    if chosen_scheduler(place) is None:
        hint = "Repeat --scheduler to use the cluster."
        _LOG.warning("--workers %d: using processes on this machine. %s", place.workers, hint)


def _finished(run: Path, laps: int | None) -> Resumed:
    """The result of a run without state; RunError if it should continue or if there is none."""
    result = _result(run)
    if laps is not None and result.n_runs > 1:
        _refuse_laps(f"{run} is the consensus of several runs")
    if laps is not None and laps > result.laps:
        problem = f"the run was finished after {quantity(result.laps, 'lap')}, without --keep-state"
        hint = "Train again with more --laps, or start from its topics with --start."
        raise RunError(str(run), problem, hint)
    return Resumed(result, None)


def _result(run: Path) -> RunResult:
    """What the last lap says about a run, or about the last rung of a topic path."""
    if is_topic_path(run):
        path = load_topic_path(run)
        run = path.run(path.scores.rungs[-1].n_topics)
    check_folder(run)
    settings = read_settings(run)
    trace = load_trace(run, settings)
    with DAMAGE.reading(f"{run / TRACE_FILE}, last line"):
        runs = settings.get("found_in_runs", ())
        found = result_of(settings["model"], settings["n_topics"], trace, runs)
    lists = load_run(run).lists if "guide" in settings else ()
    return found._replace(smoothing=settings.get("smoothing"), lists=tuple(map(asdict, lists)))


class Repaired(NamedTuple):
    """What was done about an output."""

    was_completed: bool  # it was committed and is now in place
    was_cleared: bool  # an unfinished output was removed
    continued_by: str  # the command that continues kept work, or ""


def repair(path: Path) -> Repaired:
    """Move committed output at ``path`` into place, and clear uncommitted output.

    Interrupted training or ingest stays, since a command can continue it.
    Raises OutputError if nothing is at ``path``, if another process works there, or if the disk
    refuses.
    """
    beside, state = Workspace.beside(path), Workspace.inside(path, STATE_FOLDER)
    append = Workspace.inside(path, APPEND_FOLDER)
    with refusing(path):
        left = [workspace for workspace in (beside, append, state) if workspace.is_left]
        if not left and not path.exists():
            raise OutputError(str(path), "no output is here, nor anything that a command left")
        was_pending = any(workspace.is_pending for workspace in left)
        beside.settle()
        append.settle()
        settle(path)
    continued_by = ""
    if (beside.folder / JOB).exists():
        continued_by = "the same `sparsetopics ingest`"
    elif is_training(path):
        continued_by = f"`sparsetopics resume {path}`"
    was_cleared = any(not workspace.folder.exists() for workspace in left)
    return Repaired(was_pending, was_cleared and not was_pending, continued_by)
