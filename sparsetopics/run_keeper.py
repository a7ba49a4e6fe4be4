"""Keeps the progress of a run in its folder: after every lap, or so seldom that it costs little."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from sparsetopics.batches import Source
from sparsetopics.checkpoints import read_checkpoint, write_checkpoint
from sparsetopics.errors import RunError
from sparsetopics.learners.memoized import MemoizedState
from sparsetopics.memo import Memo
from sparsetopics.moves.mover import MoverRecord
from sparsetopics.training import Progress
from sparsetopics.training_folder import TrainingFolder

COST = 0.1  # of the time between two checkpoints that the second may take, if nobody says how often


class _Kept(NamedTuple):
    """What a checkpoint holds."""

    progress: Progress
    trace: tuple[Mapping[str, Any], ...]  # with what was measured beside


class RunKeeper:
    """``trace`` is that of the laps so far; who trains adds to it before a lap is kept.

    With ``every`` None the time decides: a lap is kept if less than ``COST`` of the time since the
    last one was went into that. With 0 none is kept.
    """

    def __init__(self, folder: TrainingFolder, every: int | None, tie: str) -> None:
        self.trace: list[dict[str, Any]] = []
        self.seconds_before = 0.0  # of processes before this one
        self._folder = folder
        self._every = every
        self._tie = tie  # of a checkpoint to its plan
        self._due = 0.0  # by the clock

    def resume(self, source: Source, memo: Memo) -> Progress | None:
        """What the folder has kept; RunError if that is damaged."""
        path = self._folder.checkpoint
        if not path.exists():
            memo.drop_strangers()
            return None
        kept = read_checkpoint(path, memo, self._tie)
        if not isinstance(kept, dict) or set(kept) != set(_Kept._fields):
            raise RunError(str(path), found="something else", wanted="a checkpoint of training")
        memo.drop_strangers()
        self.trace[:] = kept["trace"]
        self._folder.lap = len(self.trace)
        progress: Progress = kept["progress"]
        self.seconds_before = progress.course[-1].seconds
        if not source.is_resident:
            return progress
        return _with_documents(progress, source.read)

    def keep(self, progress: Progress, memo: Memo) -> None:
        """After a lap; nothing is lost if the process is killed on the way."""
        lap = len(progress.course)
        if not self._is_due(lap):
            return
        began = time.monotonic()
        kept = _Kept(_with_documents(progress, lambda batch_id: None), tuple(self.trace))
        memo.sync()
        written, tie = kept._asdict(), self._tie
        self._folder.keep(lap, lambda path: write_checkpoint(path, written, tie))
        memo.sweep()
        now = time.monotonic()
        self._due = now + (now - began) / COST

    def _is_due(self, lap: int) -> bool:
        if self._every is None:
            return time.monotonic() >= self._due
        return self._every > 0 and lap % self._every == 0


def _with_documents(progress: Progress, read: Callable[[int], Any]) -> Progress:
    """With the documents of batches, which the source has anyway, as ``read`` gives them."""

    def changed(state: Any) -> Any:
        if not isinstance(state, MemoizedState):
            return state
        per_batch = {
            batch_id: kept._replace(documents=read(batch_id))
            for batch_id, kept in state.per_batch.items()
        }
        return state._replace(per_batch=per_batch)

    mover = progress.mover
    if isinstance(mover, MoverRecord) and mover.rival is not None:
        rival = mover.rival._replace(state=changed(mover.rival.state))
        mover = mover._replace(rival=rival)
    return progress._replace(learner=changed(progress.learner), mover=mover)
