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

    start: FloatArray | None  # (n_words, n_topics)  stands for the documents not seen so far
    total: Statistics
    per_batch: Mapping[int, StoredSummary]


@dataclass(frozen=True, slots=True)
class MemoizedLearner:
    """One batch a step.

    Documents start cold at each visit, so their new local optimum may be a worse one. With
    ``keep_better``, the better of the batch's new and old summaries stays, which makes the
    whole-data ELBO rise from step to step without storing anything per document.

    With ``whole_first_lap`` the first lap is one round: every batch under the start's parameters,
    then one update. Otherwise the first batches' documents, few as they are, decide what topics
    become; mean-field does not recover from that (the README has the figures).
    """

    memo: Memo
    keep_better: bool
    whole_first_lap: bool

    def init(self, start: FloatArray) -> MemoizedState:
        return MemoizedState(start, Statistics.zeros(*start.shape), {})

    def rounds(
        self, state: MemoizedState, n_batches: int, rng: np.random.Generator
    ) -> list[IntArray]:
        if self.whole_first_lap and state.start is not None:
            return [np.arange(n_batches)]
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
            if old is not None and self._is_better(old, summary, current):
                kept_old = True
                continue
            per_batch = {**state.per_batch, batch_id: self.memo.keep(summary)}
            state = MemoizedState(state.start, state.total.exchanged(summary, old), per_batch)
            if stored is not None:
                stored.discard()
        return state, StepInfo(kept_old)

    def _is_better(self, old: Summary, new: Summary, current: TopicGlobals) -> bool:
        return self.keep_better and batch_bound(old, current) > batch_bound(new, current)

    def start_lap(self, state: MemoizedState) -> MemoizedState:
        return state

    def end_lap(self, state: MemoizedState) -> MemoizedState:
        """Sum the batches anew, in their order, so that rounding does not pile up over laps."""
        ordered = (state.per_batch[batch_id].load() for batch_id in sorted(state.per_batch))
        total = Statistics.sum(ordered, *state.total.word_topic_counts.shape)
        return MemoizedState(None, total, state.per_batch)

    def word_topic_counts(self, state: MemoizedState) -> FloatArray:
        """Counts of the documents seen and, in the first lap, of the start for the rest."""
        counts = state.total.word_topic_counts
        if state.start is None:
            return counts
        unseen = max(0.0, 1.0 - state.total.terms.n_tokens / float(state.start.sum()))
        return counts + unseen * state.start

    def statistics(self, state: MemoizedState) -> Statistics:
        return state.total
