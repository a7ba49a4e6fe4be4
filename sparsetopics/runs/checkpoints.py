"""Checkpoints of training: one file from which a later process continues, and when it is written.

The file is a zip archive without compression, whose checksums tell damage. It holds a tree of JSON
and arrays as ``.npy`` members (``checkpoint_format``).
"""

from __future__ import annotations

import json
import struct
import time
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import msgspec
import numpy as np

from sparsetopics.base.array_files import read_archived, stored_member
from sparsetopics.base.batches import Batch, Source
from sparsetopics.base.errors import RunError
from sparsetopics.base.safe_reading import parse_json
from sparsetopics.base.soundness import check_finite
from sparsetopics.base.wording import reason_of
from sparsetopics.inference.learners.memoized import MemoizedState
from sparsetopics.inference.mover import MoverRecord
from sparsetopics.inference.training_state import TrainingState
from sparsetopics.model.memo import Memo
from sparsetopics.runs.callbacks import LapEntry
from sparsetopics.runs.checkpoint_format import FORMAT_VERSION, Decoder, Encoder, Kept, Rung
from sparsetopics.runs.training_folder import TrainingFolder

TREE = "progress.json"
HELDOUT_SCORE = "heldout_log_likelihood_per_token"  # of a lap, beside what training reports
COST = 0.1  # share of the time between two checkpoints that the second may take by default
V = TypeVar("V")

# Errors of decoding and checking a file that is well formed but has the wrong content.
UNSOUND = (
    *(ValueError, TypeError, LookupError, AttributeError, StopIteration, AssertionError),
    *(ArithmeticError, RuntimeError, MemoryError, msgspec.ValidationError),
)


def write_checkpoint(path: Path, value: V, tie: str) -> None:
    """Write ``value`` and all that it holds, except arrays that the memo has in files.

    ``tie`` is that of the run's plan.
    """
    encoder = Encoder()
    tree = {"format_version": FORMAT_VERSION, "tie": tie, "value": encoder.tree(value)}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as file:
        file.writestr(TREE, json.dumps(tree))
        for name, array in encoder.arrays.items():
            with file.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)


def read_checkpoint(path: Path, memo: Memo, tie: str, kind: type[V]) -> V:
    """Read a checkpoint that holds a ``kind``.

    Raises RunError if it is damaged, of another version or of another run.
    """
    try:
        with zipfile.ZipFile(path) as file:
            tree = parse_json(file.read(stored_member(file, TREE)))
            if not isinstance(tree, dict):
                raise TypeError("no JSON object")
            if tree.get("format_version") != FORMAT_VERSION:
                found = repr(tree.get("format_version"))
                problem = f"expected checkpoint format version {FORMAT_VERSION}, but found {found}"
                hint = "Resume with the sparsetopics version that wrote it."
                raise RunError(str(path), problem, hint)
            if tree.get("tie") != tie:
                problem = "the checkpoint is of another run or other options than plan.json"
                hint = "Restore the state folder as a whole, or train again with --overwrite."
                raise RunError(str(path), problem, hint)
            return Decoder(read_archived(file), memo).value(tree["value"], kind)
    except (OSError, EOFError, zipfile.BadZipFile, zlib.error, struct.error, *UNSOUND) as error:
        raise _damaged(path, error) from error


def _damaged(path: Path, error: Exception) -> RunError:
    problem = f"the checkpoint is damaged ({reason_of(error)})"
    return RunError(str(path), problem, "Train again with --overwrite.")


class RunKeeper:
    """Writes checkpoints of a run after its laps, and reads the last one when training resumes.

    ``trace`` holds the laps so far, and ``rungs`` the rungs of a topic path; training appends to
    both before the keeper sees a lap. ``every``
    is the number of laps between checkpoints, 0 for none. With None a lap is kept if writing the
    last checkpoint took less than ``COST`` of the time since.
    """

    def __init__(self, folder: TrainingFolder, every: int | None, tie: str) -> None:
        self.trace: list[LapEntry] = []
        self.rungs: list[Rung] = []  # of a topic path
        self.seconds_before = 0.0  # spent by earlier processes
        # Whether to keep the last lap, once that has come: its state may soon be removed, and that
        # of a large mixture can take longer than a lap to write.
        self.keeps_last: bool | None = None
        self._folder = folder
        self._every = every
        self._tie = tie  # between a checkpoint and its plan
        self._due = 0.0  # by the clock

    def resume(
        self, source: Source[Batch], memo: Memo, check: Callable[[TrainingState], None]
    ) -> TrainingState | None:
        """The progress that the folder keeps; RunError if it is damaged or ``check`` refuses it."""
        path = self._folder.checkpoint
        if not path.exists():
            memo.drop_strangers()
            return None
        kept = read_checkpoint(path, memo, self._tie, Kept)
        try:
            with np.errstate(all="ignore"):  # values that are not finite are refused
                check_finite(kept.progress, "progress")
                read = source.read if source.is_resident else lambda batch_id: None
                progress = with_documents(kept.progress, read)
                check(progress)
            laps = zip(progress.laps, kept.scores, strict=True)
            self.trace[:] = [info.entry() | {HELDOUT_SCORE: score} for info, score in laps]
            self.rungs[:] = kept.rungs
        except UNSOUND as error:
            raise _damaged(path, error) from error
        memo.drop_strangers()
        self._folder.lap = len(self.trace)
        self.seconds_before = progress.laps[-1].seconds
        return progress

    def keep(self, progress: TrainingState, memo: Memo) -> None:
        """Write a checkpoint if one is due; a kill meanwhile leaves the last one whole."""
        lap = len(progress.laps)
        if not self._is_due(lap):
            return
        began = time.monotonic()
        scores = tuple(entry[HELDOUT_SCORE] for entry in self.trace)
        kept = Kept(with_documents(progress, lambda batch_id: None), scores, tuple(self.rungs))
        memo.sync()  # before the checkpoint names its files
        self._folder.keep(lap, lambda path: write_checkpoint(path, kept, self._tie))
        memo.sweep()
        now = time.monotonic()
        self._due = now + (now - began) / COST

    def _is_due(self, lap: int) -> bool:
        if self._every is None:
            is_due = time.monotonic() >= self._due
            return is_due if self.keeps_last is None else self.keeps_last
        return self._every > 0 and (lap % self._every == 0 or self.keeps_last is True)


def with_documents(progress: TrainingState, read: Callable[[int], Batch | None]) -> TrainingState:
    """``progress`` with the documents of batches as ``read`` gives them.

    Checkpoints leave them out, since the source has them anyway.
    """

    mover = progress.mover
    if isinstance(mover, MoverRecord) and mover.rival is not None:
        rival = mover.rival._replace(state=mover.rival.state.with_documents(read))
        mover = mover._replace(rival=rival)
    learner = progress.learner
    if isinstance(learner, MemoizedState):
        learner = learner.with_documents(read)
    return progress._replace(learner=learner, mover=mover)
