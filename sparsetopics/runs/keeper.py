"""Keeps the progress of a run in its folder: after every lap, or so seldom that it costs little."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from sparsetopics.base.batches import Source
from sparsetopics.base.soundness import check_fields, check_finite, require
from sparsetopics.inference.learners.memoized import MemoizedState
from sparsetopics.inference.moves.mover import MoverRecord
from sparsetopics.inference.training import LapInfo, Progress
from sparsetopics.model.memo import Memo
from sparsetopics.runs.checkpoints import UNSOUND, damaged, read_checkpoint, write_checkpoint
from sparsetopics.runs.training_folder import TrainingFolder

SCORE = "heldout_log_likelihood_per_token"  # of a lap, added to what training reports
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
        self._tie = tie  # between a checkpoint and its plan
        self._due = 0.0  # by the clock

    def resume(
        self, source: Source, memo: Memo, check: Callable[[Progress], None]
    ) -> Progress | None:
        """The progress that the folder has kept; RunError if damaged or refused by ``check``."""
        path = self._folder.checkpoint
        if not path.exists():
            memo.drop_strangers()
            return None
        kept = read_checkpoint(path, memo, self._tie)
        try:
            with np.errstate(all="ignore"):  # values that are not finite are refused
                progress, trace = _taken_up(kept, source, check)
        except UNSOUND as error:
            raise damaged(path, error) from error
        memo.drop_strangers()
        self.trace[:] = trace
        self._folder.lap = len(self.trace)
        self.seconds_before = progress.course[-1].seconds
        return progress

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


def _taken_up(
    kept: Any, source: Source, check: Callable[[Progress], None]
) -> tuple[Progress, list[dict[str, Any]]]:
    """Progress, the documents of batches with it, and the trace; errors in ``UNSOUND``."""
    require(isinstance(kept, dict) and set(kept) == set(_Kept._fields), "no progress of training")
    check_fields(_Kept, kept)
    progress, trace = _Kept(**kept)
    check_finite(progress, "progress")
    read = source.read if source.is_resident else lambda batch_id: None
    progress = _with_documents(progress, read)
    check(progress)
    laps = [info._asdict() for info in progress.course]
    beside = [set(entry) - set(LapInfo._fields) for entry in trace]
    require(all(names == {SCORE} for names in beside), "a trace of something else")
    scores = [entry[SCORE] for entry in trace]
    require(all(isinstance(score, float | None) for score in scores), "scores that are not numbers")
    told = [lap | {SCORE: score} for lap, score in zip(laps, scores, strict=True)]
    return progress, told


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
