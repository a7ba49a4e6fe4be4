"""Stochastic variational inference: one batch stands for all, with falling step sizes.

Hoffman, Blei, Wang & Paisley (2013). λ moves in natural parameters, which for Dirichlet factors
means that expected counts are interpolated.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sparsetopics.batches import FloatArray, IntArray
from sparsetopics.learners.learner import StepInfo
from sparsetopics.local_step import TopicGlobals
from sparsetopics.options import StepSizes
from sparsetopics.statistics import Statistics, Summary


class StochasticState(NamedTuple):
    """All that survives between two steps."""

    word_topic_counts: FloatArray  # (n_words, n_topics)  λ − η
    n_steps: int
    lap: Statistics  # of the responsibilities since the lap began; the trace's ELBO needs them


@dataclass(frozen=True, slots=True)
class StochasticLearner:
    """One batch a step, as if all ``n_docs`` documents were like its own."""

    n_docs: int
    sizes: StepSizes

    def init(self, start: FloatArray) -> StochasticState:
        return StochasticState(start, 0, Statistics.zeros(*start.shape))

    def rounds(
        self, state: StochasticState, n_batches: int, rng: np.random.Generator
    ) -> list[IntArray]:
        return [np.array([batch_id]) for batch_id in rng.permutation(n_batches)]

    def step(
        self,
        state: StochasticState,
        visits: Iterable[tuple[int, Summary]],
        current: TopicGlobals,
    ) -> tuple[StochasticState, StepInfo]:
        size = 1.0
        for _, summary in visits:
            size = (self.sizes.delay + state.n_steps + 1) ** -self.sizes.forgetting_rate
            counts = (1.0 - size) * state.word_topic_counts
            summary.word_counts.add_to(counts, size * self.n_docs / summary.terms.n_docs)
            lap = state.lap.exchanged(summary, None)
            state = StochasticState(counts, state.n_steps + 1, lap)
        return state, StepInfo(step_size=size)

    def start_lap(self, state: StochasticState) -> StochasticState:
        return state._replace(lap=Statistics.zeros(*state.word_topic_counts.shape))

    def end_lap(self, state: StochasticState) -> StochasticState:
        return state

    def word_topic_counts(self, state: StochasticState) -> FloatArray:
        return state.word_topic_counts

    def statistics(self, state: StochasticState) -> Statistics:
        return state.lap
