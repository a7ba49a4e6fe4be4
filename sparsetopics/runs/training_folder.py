"""A run folder during training, with everything that a later process needs to resume.

    run/state/plan.json        the options of the run, and whether it is finished
    run/state/checkpoint.npz   training after the last lap that was kept (``checkpoints``)
    run/state/memo/            arrays of batches that the checkpoint names; never written twice
    run/state/globals/         parameters that workers of a cluster read, a folder for each round
    run/state/trace.jsonl      the laps so far, for people to look at; no program reads it back
    run/state/runs/1, ...      with --runs, the run folders of these, each with a state of its own
    run/state/new/, lock, ...  a workspace (``transactions``), from which the finished run is
                               moved into place; on a topic path it has the runs of the rungs that
                               were reached so far

Every file is written aside, synced and renamed. Whenever a process is killed, the last checkpoint
is whole, and so are the files that it names. A new run folder appears with its plan, so that
training can always be resumed.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path

from sparsetopics.base.errors import ClusterError, OutputError, RunError
from sparsetopics.base.outputs import FolderKind, output_folder, refuse_inputs, written
from sparsetopics.base.own_folders import RUN, TOPIC_PATH, is_sparsetopics_json
from sparsetopics.base.staging import refused, refusing, stranger_in
from sparsetopics.base.transactions import STATE_FOLDER, Workspace
from sparsetopics.runs import run_files
from sparsetopics.runs.callbacks import LapEntry
from sparsetopics.runs.plan import Fingerprints, PlanRecord, RunPlan, read_plan, write_plan
from sparsetopics.runs.run_files import PLAN_FILE, SETTINGS_FILE
from sparsetopics.runs.topic_path_files import PATH_FILE

CHECKPOINT_FILE = "checkpoint.npz"
_MEMO, _RUNS = "memo", "runs"


class TrainingFolder:
    """The state of a run that this process trains."""

    def __init__(self, run: Path) -> None:
        self.run = run
        self.lap = 0  # the last one that was kept
        self.is_published = False
        self.workspace = Workspace.inside(run, STATE_FOLDER)  # it moves the run into place
        self._state = run / STATE_FOLDER
        self.memo = self._state / _MEMO
        self.globals = self._state / "globals"
        self.checkpoint = self._state / CHECKPOINT_FILE
        self._has_told = False

    def member(self, number: int) -> TrainingFolder:
        """The folder of one of several runs, counted from 1; what is committed there is moved."""
        found = TrainingFolder(self._state / _RUNS / str(number))
        found.workspace.finish()
        if not found.is_finished:
            found.memo.mkdir(parents=True, exist_ok=True)
        return found

    @property
    def is_finished(self) -> bool:
        """Whether the run is there."""
        return (self.run / SETTINGS_FILE).exists()

    @property
    def has_kept(self) -> bool:
        """Whether there is a lap, or one of several runs, to resume from."""
        runs = self._state / _RUNS
        kept = (f"*/{SETTINGS_FILE}", f"*/{STATE_FOLDER}/{CHECKPOINT_FILE}")
        return self.checkpoint.exists() or any(chain(*map(runs.glob, kept)))

    def write_plan(self, plan: RunPlan, *, finished: bool = False, extends: bool = False) -> None:
        """Replace the plan, which is about the data as they are now."""
        record = PlanRecord(finished, plan, Fingerprints.of(plan), extends)
        self.workspace.put(PLAN_FILE, lambda path: write_plan(path, record))

    def keep(self, lap: int, write: Callable[[Path], None]) -> None:
        """Replace the checkpoint by that of ``lap``, which ``write`` makes."""
        self.workspace.put(CHECKPOINT_FILE, write)
        self.lap = lap

    def tell(self, trace: Sequence[LapEntry]) -> None:
        """Add the last lap of ``trace`` to the file; the first time write all laps anew.

        Training that resumes may repeat laps that the file has already.
        """
        new, mode = (trace[-1:], "a") if self._has_told else (trace, "w")
        with (self._state / run_files.TRACE_FILE).open(mode, encoding="utf-8") as file:
            file.writelines(json.dumps(entry) + "\n" for entry in new)
        self._has_told = True

    def new_rung(self, n_topics: int) -> Path:
        """An empty folder for the run of a rung, which is published with the others."""
        folder = self.workspace.new / str(n_topics)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        return folder

    def publish(self, write: Callable[[Path], None], rungs: Sequence[str] = ()) -> None:
        """Have ``write`` make the files of the finished run, then move them into place.

        On a topic path, the runs of the ``rungs`` are there already and are moved too.
        """
        result = self.workspace.new
        result.mkdir(exist_ok=True)
        for path in result.iterdir():  # left by a process that was killed
            if path.name not in rungs:
                path.unlink()
        _check_rungs(self.run, rungs)
        write(result)
        # The file that vouches for the others comes last.
        last = (SETTINGS_FILE, PATH_FILE)
        names = sorted((path.name for path in result.iterdir()), key=lambda name: name in last)
        self.workspace.commit(names)
        self.is_published = True

    def close(self, plan: RunPlan) -> None:
        """Remove the state of a published run, or keep what more training needs if asked to."""
        _remove_others(self.run, plan)
        if plan.keep_state:
            self.write_plan(plan, finished=True)
            self.clear_workspace()
        else:
            self.remove_state()

    def clear_workspace(self) -> None:
        """Keep only what more training needs of the state of a published run."""
        self.workspace.clear(keep=(PLAN_FILE, CHECKPOINT_FILE, _MEMO, _RUNS))

    def remove_state(self) -> None:
        """Remove the state, the plan first, so that no process resumes from the rest."""
        (self._state / PLAN_FILE).unlink(missing_ok=True)
        self.workspace.remove()

    def begin(self, plan: RunPlan) -> None:
        """Clear earlier training, in an order that always leaves training that can be resumed."""
        self.checkpoint.unlink(missing_ok=True)
        runs, old = self._state / _RUNS, self._state / f"{_RUNS}.part"
        if runs.exists():  # the new plan must not find those of another, nor the old one half
            shutil.rmtree(old, ignore_errors=True)
            runs.rename(old)
        self.write_plan(plan)
        self.workspace.clear(keep=(PLAN_FILE,))
        self.memo.mkdir()


@contextmanager
def new_training(plan: RunPlan) -> Iterator[TrainingFolder]:
    """The folder of new training; it vanishes if the block ends before a lap is kept.

    Raises OutputError if ``plan.out`` exists and may not be overwritten, if another process trains
    there, or if the disk refuses.
    """
    run = plan.out
    check_new_run(plan)
    folder = TrainingFolder(run)
    is_new = not run.exists()
    with _advising(folder):
        if is_new:  # OutputError if another process was first
            output = output_folder(run, _kind_of(plan), overwrite=False)
            with written(output) as scratch, Workspace.inside(scratch, STATE_FOLDER).held(_TRAINS):
                TrainingFolder(scratch).write_plan(plan)
        with folder.workspace.held(_TRAINS):
            try:
                folder.begin(plan)
                yield folder
            finally:
                # Without a lap there is nothing to resume.
                if not folder.is_published and not folder.has_kept:
                    folder.remove_state()
                    if is_new:
                        with suppress(OSError):  # another program has put something there
                            run.rmdir()


def _check_rungs(folder: Path, rungs: Iterable[str]) -> None:
    """OutputError if a rung would replace something that is not a run."""
    for path in (folder / name for name in rungs):
        if os.path.lexists(path) and not RUN.matches(path):
            problem = "a file or folder that is not a run is here"
            raise OutputError(str(path), problem, f"Move it away, then repeat or resume {folder}.")


def _remove_others(run: Path, plan: RunPlan) -> None:
    """Remove the files of an earlier run, or the runs of an earlier topic path, of another kind."""
    if not plan.options.is_topic_path:
        entries = run_files.read_settings(run)["files"]
        own = {SETTINGS_FILE, run_files.CONFIG_FILE, *(entry.file for entry in entries)}
        for name in set(run_files.RUN_FILES) - own:
            (run / name).unlink(missing_ok=True)
        return
    for path in run.iterdir():
        if path.name.isdecimal() and path.name not in plan.rung_names and RUN.matches(path):
            shutil.rmtree(path)


@contextmanager
def old_training(run: Path) -> Iterator[tuple[TrainingFolder, PlanRecord]]:
    """The folder of training that stopped, and its plan.

    Raises RunError if there is none, and OutputError if another process trains there, or if the
    disk refuses.
    """
    folder = TrainingFolder(run)
    with _advising(folder):
        settle(run)
        with folder.workspace.held(_TRAINS):
            folder.is_published = folder.workspace.is_committed
            shutil.rmtree(folder.globals, ignore_errors=True)
            folder.memo.mkdir(exist_ok=True)  # missing if a kill came before it was made
            yield folder, read_plan(_plan_of(run))


def settle(run: Path) -> None:
    """Complete what a killed process committed in a run; without a plan, remove its state.

    Raises OutputError if another process trains there, and RunError if the folder holds a symbolic
    link, a pipe or a device: links in a run from a stranger may redirect writing or removal.
    """
    state = Workspace.inside(run, STATE_FOLDER)
    if not state.is_left and not is_training(run):
        return
    if stranger := stranger_in(run):
        problem = "expected only files and folders, but found a link or device"
        raise RunError(stranger, problem, "If you trust it, replace it with what it points to.")
    state.finish()
    with state.held(_TRAINS):
        if not is_training(run):
            state.remove()


def _plan_of(run: Path) -> Path:
    return run / STATE_FOLDER / PLAN_FILE


def is_training(run: Path) -> bool:
    """Whether there is training to resume."""
    return os.path.lexists(_plan_of(run))


def check_new_run(plan: RunPlan) -> None:
    """Before any work, refuse a folder that is taken, or that is, contains or lies in an input."""
    run, overwrite = plan.out, plan.overwrite
    refuse_inputs(run, plan.inputs)
    with refusing(run):
        Workspace.beside(run).settle()
        is_pending = Workspace.inside(run, STATE_FOLDER).is_pending
        if is_pending or is_sparsetopics_json(_plan_of(run)):
            settle(run)
        files = (run / SETTINGS_FILE, run / PATH_FILE)
        other, finished = files if plan.options.is_topic_path else files[::-1]
        has_run, is_unfinished = finished.exists(), is_training(run)
        if is_unfinished and not has_run and not overwrite:
            hint = f"Continue it with `sparsetopics resume {run}`, or pass --overwrite."
            raise OutputError(str(run), "training was interrupted here", hint)
        if has_run and not overwrite:
            hint = "Use --overwrite to replace it."
            raise OutputError(str(run), "the output already exists", hint)
        is_own = is_sparsetopics_json(finished if has_run else _plan_of(run))
        _check_rungs(run, plan.rung_names)
        if other.exists() or (not is_own and not _is_free(run)):
            output_folder(run, _kind_of(plan), overwrite=overwrite)


def _kind_of(plan: RunPlan) -> FolderKind:
    return TOPIC_PATH if plan.options.is_topic_path else RUN


def _is_free(run: Path) -> bool:
    """Whether the folder is empty, or was left by a process that was killed while clearing it."""
    if not run.is_dir():
        return False
    names = {path.name for path in run.iterdir()}
    return not names or (names == {STATE_FOLDER} and Workspace.inside(run, STATE_FOLDER).is_left)


_TRAINS = "trains there"


@contextmanager
def _advising(folder: TrainingFolder) -> Iterator[None]:
    """Say how to continue when the disk refuses, workers are lost or the process is stopped."""
    try:
        yield
    except (OSError, ClusterError, KeyboardInterrupt) as error:
        advice = "Nothing was written."
        if folder.has_kept:
            kept = f"Lap {folder.lap}" if folder.lap else "What was trained"
            advice = f"{kept} is kept; continue with `sparsetopics resume {folder.run}`."
        if isinstance(error, OSError):
            raise refused(folder.run, error, advice) from error
        why = error if isinstance(error, ClusterError) else "interrupted."
        error.args = (f"{why} {advice}",)
        raise
