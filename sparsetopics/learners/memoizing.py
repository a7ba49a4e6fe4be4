"""The memoized learner as the options of a training want it."""

from __future__ import annotations

from sparsetopics.learners.learner import Setting
from sparsetopics.learners.memoized import KeptBatch, MemoizedLearner, MemoizedState

STATES = (MemoizedState, KeptBatch)


def make(setting: Setting) -> MemoizedLearner:
    options = setting.options
    return MemoizedLearner(
        setting.memo,
        setting.executor,
        options.keeps_better,
        whole_first_lap=options.keeps_better,
        keep_assignments=bool(options.active_moves.names),
        batches_per_round=options.batches_per_round,
    )
