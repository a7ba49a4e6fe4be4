"""Full-data variational learning: all batches under the same parameters, then one update."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sparsetopics.batches import FloatArray, IntArray
from sparsetopics.bounds import elbo
from sparsetopics.learners.learner import StepInfo, Visit
from sparsetopics.local_step import TopicGlobals
from sparsetopics.statistics import DocumentTerms, Statistics


class FullState(NamedTuple):
    """All that survives between two steps."""

    word_topic_counts: FloatArray  # (n_words, n_topics)
    total: Statistics | None  # of the last step, with the same counts


@dataclass(frozen=True, slots=True)
class FullLearner:
    """All batches a step. ``keep_better`` is that of the memoized learner, for the whole."""

    keep_better: bool

    def init(self, start: FloatArray) -> FullState:
        return FullState(start, None)

    def rounds(self, state: FullState, n_batches: int, rng: np.random.Generator) -> list[IntArray]:
        return [np.arange(n_batches)]

    def step(
        self, state: FullState, visits: Iterable[Visit], current: TopicGlobals
    ) -> tuple[FullState, StepInfo]:
        """``visits`` may compute each summary when it is asked for: none is kept."""
        total = Statistics.sum((visit.summary for visit in visits), *state.word_topic_counts.shape)
        old = state.total if self.keep_better else None
        if old is not None and elbo(old, current) > elbo(total, current):
            return state, StepInfo(kept_old=True)
        return FullState(total.word_topic_counts, total), StepInfo()

    def start_lap(self, state: FullState) -> FullState:
        return state

    def end_lap(self, state: FullState) -> FullState:
        return state

    def word_topic_counts(self, state: FullState) -> FloatArray:
        return state.word_topic_counts

    def document_terms(self, state: FullState) -> DocumentTerms | None:
        return None if state.total is None else state.total.terms

    def statistics(self, state: FullState) -> Statistics:
        assert state.total is not None, "no lap was run"
        return state.total
