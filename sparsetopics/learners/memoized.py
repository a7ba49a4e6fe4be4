"""Memoized variational learning: a batch's old statistics out, its new ones in.

Hughes & Sudderth (2013), section 3: every step is a full coordinate-ascent update of the whole
collection, at the cost of one batch. Batches are visited in a fresh random order each lap.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sparsetopics.batches import FloatArray, IntArray
from sparsetopics.bounds import batch_bound
from sparsetopics.learners.learner import StepInfo
from sparsetopics.local_step import TopicGlobals
from sparsetopics.memo import Memo, StoredSummary
from sparsetopics.statistics import Statistics, Summary


class MemoizedState(NamedTuple):
    """All that survives between two steps. Invariant: ``total`` is the sum of ``per_batch``."""

    start: FloatArray  # (n_words, n_topics)  counts to learn from until a batch was seen
    total: Statistics
    per_batch: Mapping[int, StoredSummary]


@dataclass(frozen=True, slots=True)
class MemoizedLearner:
    """One batch a step.

    Documents start cold at each visit, so their new local optimum may be a worse one. With
    ``keep_better``, the better of the batch's new and old summaries stays, which makes the
    whole-data ELBO rise from step to step without storing anything per document.
    """

    memo: Memo
    keep_better: bool

    def init(self, start: FloatArray) -> MemoizedState:
        return MemoizedState(start, Statistics.zeros(*start.shape), {})

    def rounds(self, n_batches: int, rng: np.random.Generator) -> list[IntArray]:
        return [np.array([batch_id]) for batch_id in rng.permutation(n_batches)]

    def step(
        self,
        state: MemoizedState,
        visits: Iterable[tuple[int, Summary]],
        current: TopicGlobals,
    ) -> tuple[MemoizedState, StepInfo]:
        kept_old = False
        for batch_id, summary in visits:
            stored = state.per_batch.get(batch_id)
            old = stored.load() if stored is not None else None
            if old is not None and self.keep_better:
                kept_old = batch_bound(old, current) > batch_bound(summary, current)
            if kept_old:
                continue
            per_batch = {**state.per_batch, batch_id: self.memo.keep(summary)}
            state = MemoizedState(state.start, state.total.exchanged(summary, old), per_batch)
            if stored is not None:
                stored.discard()
        return state, StepInfo(kept_old)

    def start_lap(self, state: MemoizedState) -> MemoizedState:
        return state

    def end_lap(self, state: MemoizedState) -> MemoizedState:
        """Sum the batches anew, in their order, so that rounding does not pile up over laps."""
        ordered = (state.per_batch[batch_id].load() for batch_id in sorted(state.per_batch))
        return state._replace(total=Statistics.sum(ordered, *state.start.shape))

    def word_topic_counts(self, state: MemoizedState) -> FloatArray:
        return state.total.word_topic_counts if state.per_batch else state.start

    def statistics(self, state: MemoizedState) -> Statistics:
        return state.total
