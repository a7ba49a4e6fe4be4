"""Stochastic variational inference: one batch stands for all, with falling step sizes.

Hoffman, Blei, Wang & Paisley (2013). λ moves in natural parameters, which for Dirichlet factors
means that expected counts are interpolated. What documents say about topic weights is interpolated
alike, and the weights follow from it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sparsetopics.batches import FloatArray, IntArray
from sparsetopics.learners.learner import StepInfo, Visit
from sparsetopics.local_step import TopicGlobals
from sparsetopics.options import StepSizes
from sparsetopics.statistics import DocumentTerms, Statistics, added, scaled


class StochasticState(NamedTuple):
    """All that survives between two steps."""

    word_topic_counts: FloatArray  # (n_words, n_topics)  λ − η
    terms: DocumentTerms | None  # as if of all documents; None before the first step
    n_steps: int
    lap: Statistics  # of the responsibilities since the lap began; the trace's ELBO needs them


@dataclass(frozen=True, slots=True)
class StochasticLearner:
    """One batch a step, as if all ``n_docs`` documents were like its own."""

    n_docs: int
    sizes: StepSizes

    def init(self, start: FloatArray) -> StochasticState:
        return StochasticState(start, None, 0, Statistics.zeros(*start.shape))

    def rounds(
        self, state: StochasticState, n_batches: int, rng: np.random.Generator
    ) -> list[IntArray]:
        return [np.array([batch_id]) for batch_id in rng.permutation(n_batches)]

    def step(
        self,
        state: StochasticState,
        visits: Iterable[Visit],
        current: TopicGlobals,
    ) -> tuple[StochasticState, StepInfo]:
        size = 1.0
        for visit in visits:
            size = (self.sizes.delay + state.n_steps + 1) ** -self.sizes.forgetting_rate
            scale = self.n_docs / visit.summary.terms.n_docs
            counts = (1.0 - size) * state.word_topic_counts
            visit.summary.word_counts.add_to(counts, size * scale)
            terms = scaled(visit.summary.terms, scale)
            if state.terms is not None:
                terms = added(scaled(state.terms, 1.0 - size), scaled(terms, size))
            lap = state.lap.exchanged(visit.summary, None)
            state = StochasticState(counts, terms, state.n_steps + 1, lap)
        return state, StepInfo(step_size=size)

    def start_lap(self, state: StochasticState) -> StochasticState:
        return state._replace(lap=Statistics.zeros(*state.word_topic_counts.shape))

    def end_lap(self, state: StochasticState) -> StochasticState:
        return state

    def word_topic_counts(self, state: StochasticState) -> FloatArray:
        return state.word_topic_counts

    def document_terms(self, state: StochasticState) -> DocumentTerms | None:
        return state.terms

    def statistics(self, state: StochasticState) -> Statistics:
        return state.lap
