"""A run folder while its run is being trained: what a later process needs to go on.

    run/state/plan.json        what was asked for, and whether it is done
    run/state/checkpoint.npz   training after its last kept lap (``checkpoints``)
    run/state/memo/            arrays of batches that the checkpoint names; never written twice
    run/state/globals/         parameters that workers of a cluster read, a folder for each round
    run/state/result/          the finished run, before its files go to their places
    run/state/trace.jsonl      the laps so far, for whoever looks on; nothing reads it back
    run/state/lock             held by the process that trains

Every file is written aside, synced and renamed, so whatever moment a process is killed at, the last
checkpoint is whole, and so are the files that it names. Without ``model.json`` a folder is no run
yet; that file is the last to go to its place, and the first to leave when a run is replaced.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sparsetopics.errors import OutputError
from sparsetopics.run_files import (
    PLAN_FILE,
    RUN_FILES,
    SETTINGS_FILE,
    STATE_FOLDER,
    TRACE_FILE,
    parse_object,
    read_text,
)
from sparsetopics.staging import alone_at, check_output, put_in_place, sync, sync_tree

CHECKPOINT_FILE = "checkpoint.npz"
LOCK_FILE = "lock"


class TrainingFolder:
    """The state of a run that this process trains."""

    def __init__(self, run: Path, lap: int) -> None:
        self.run = run
        self.lap = lap  # the last that is kept
        self.is_published = False
        self._state = run / STATE_FOLDER
        self._has_told = False

    @property
    def memo(self) -> Path:
        return self._state / "memo"

    @property
    def globals(self) -> Path:
        return self._state / "globals"

    @property
    def checkpoint(self) -> Path:
        return self._state / CHECKPOINT_FILE

    def write_plan(self, plan: Mapping[str, Any]) -> None:
        """``plan`` is JSON."""
        text = json.dumps(plan, indent=2) + "\n"
        self._replace(PLAN_FILE, lambda path: path.write_text(text, encoding="utf-8"))

    def keep(self, lap: int, write: Callable[[Path], None]) -> None:
        """Have ``write`` make the checkpoint of ``lap``; the former one goes."""
        self._replace(CHECKPOINT_FILE, write)
        self.lap = lap

    def tell(self, trace: Sequence[Mapping[str, Any]]) -> None:
        """Show the last lap of ``trace``; the first time all, as former laps may be made again."""
        new = trace[-1:] if self._has_told else trace
        with (self._state / TRACE_FILE).open("a" if self._has_told else "w", encoding="utf-8") as f:
            f.writelines(json.dumps(dict(entry)) + "\n" for entry in new)
        self._has_told = True

    def _replace(self, name: str, write: Callable[[Path], object]) -> None:
        scratch = self._state / f"{name}.part"
        write(scratch)
        put_in_place(scratch, self._state / name)

    def publish(self, write: Callable[[Path], None]) -> None:
        """Have ``write`` make the files of the finished run, then put them in their places."""
        result = self._state / "result"
        shutil.rmtree(result, ignore_errors=True)
        result.mkdir()
        write(result)
        sync_tree(result)
        for name in RUN_FILES:  # what is replaced is no run any more
            (self.run / name).unlink(missing_ok=True)
            sync(self.run)
        for file in sorted(result.iterdir(), key=lambda file: file.name == SETTINGS_FILE):
            os.replace(file, self.run / file.name)
        sync(self.run)
        self.is_published = True
        (self._state / TRACE_FILE).unlink(missing_ok=True)

    def remove_state(self) -> None:
        """Forget the training; the plan goes first: without it there is nothing to go on with."""
        (self._state / PLAN_FILE).unlink(missing_ok=True)
        shutil.rmtree(self._state, ignore_errors=True)

    def clear(self) -> None:
        """Forget a training that was here before."""
        (self._state / PLAN_FILE).unlink(missing_ok=True)
        for former in self._state.iterdir():
            if former.name != LOCK_FILE:
                shutil.rmtree(former) if former.is_dir() else former.unlink()


@contextmanager
def new_training(
    run: Path, plan: Mapping[str, Any], *, overwrite: bool
) -> Iterator[TrainingFolder]:
    """The folder of a training that begins; it vanishes if the block ends before a lap is kept.

    Raises OutputError if ``run`` exists and ``overwrite`` is false, if another process trains
    there, or if the disk refuses.
    """
    check_new_run(run, overwrite=overwrite)
    folder = TrainingFolder(run, lap=0)
    is_new = not run.exists()
    with _told(folder):
        (run / STATE_FOLDER).mkdir(parents=True, exist_ok=True)
        with _locked(run):
            if is_new:  # unless another process was there in the meantime
                _check_empty(run)
            try:
                folder.clear()
                folder.memo.mkdir()
                folder.write_plan(plan)
                sync(run)
                sync(run.parent)
                yield folder
            finally:
                if folder.lap == 0 and not folder.is_published:
                    shutil.rmtree(run if is_new else run / STATE_FOLDER, ignore_errors=True)


@contextmanager
def old_training(run: Path) -> Iterator[tuple[TrainingFolder, dict[str, Any]]]:
    """The folder of a training that stopped, and its plan.

    Raises RunError if there is none, and OutputError if another process trains there, or if the
    disk refuses.
    """
    folder = TrainingFolder(run, lap=0)
    with _told(folder), _locked(run):
        shutil.rmtree(folder.globals, ignore_errors=True)
        yield folder, read_plan(run)


def read_plan(run: Path) -> dict[str, Any]:
    """What was asked for, as JSON."""
    path = run / STATE_FOLDER / PLAN_FILE
    return parse_object(read_text(path), str(path))


def is_training(run: Path) -> bool:
    """Whether there is something to go on with."""
    return (run / STATE_FOLDER / PLAN_FILE).exists()


def check_new_run(run: Path, *, overwrite: bool) -> None:
    """Refuse a folder that is taken, before any work is done."""
    has_run = (run / SETTINGS_FILE).exists()
    if is_training(run) and not has_run and not overwrite:
        raise OutputError(
            str(run),
            found="a training that was interrupted",
            wanted="a new path",
            hint=f"Go on with `sparsetopics resume {run}`, or use --overwrite.",
        )
    check_output(run, overwrite=overwrite)
    if not has_run and not is_training(run):
        _check_empty(run)


def _check_empty(run: Path) -> None:
    """Nothing but runs is replaced."""
    others = {file.name for file in run.iterdir()} - {STATE_FOLDER} if run.is_dir() else set()
    if run.is_file() or others or is_training(run):
        raise OutputError(str(run), found="something that is no run", wanted="a new path")


@contextmanager
def _told(folder: TrainingFolder) -> Iterator[None]:
    """What the disk refuses and what stops the process, with how to go on."""
    try:
        yield
    except OSError as error:
        raise OutputError(
            str(folder.run),
            found=error.strerror or str(error),
            wanted="room and permission to write",
            hint=_way_on(folder) or "Nothing was written.",
        ) from error
    except KeyboardInterrupt as stop:
        stop.args = (f"interrupted. {_way_on(folder) or 'Nothing was written.'}",)
        raise


def _way_on(folder: TrainingFolder) -> str:
    if folder.lap == 0:
        return ""
    return f"Lap {folder.lap} is kept; go on with `sparsetopics resume {folder.run}`."


@contextmanager
def _locked(run: Path) -> Iterator[None]:
    """Keep others from training there; a process that is killed lets go."""
    with alone_at(run, run / STATE_FOLDER / LOCK_FILE, "trains there"):
        yield
