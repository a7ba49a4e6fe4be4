"""Stochastic variational inference: one batch stands for all, with falling step sizes.

Hoffman, Blei, Wang & Paisley (2013). The posterior moves in natural parameters, which under a
conjugate prior means that expected sufficient statistics are interpolated. What data say about
weights is interpolated alike, and the weights follow from it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from sparsetopics.base.batches import IntArray, Source
from sparsetopics.base.soundness import require
from sparsetopics.inference.learners.learner import Setting, StepInfo, Visit, cut_rounds
from sparsetopics.inference.local_step import Globals
from sparsetopics.model.statistics import (
    Components,
    Statistics,
    added,
    check_terms,
    scaled,
)
from sparsetopics.options.training import StepSizes


class StochasticState(NamedTuple):
    """All that survives between two steps."""

    components: Components  # as if of all data, like the next
    terms: Any | None  # None before the first step
    n_steps: int
    lap: Statistics  # of the responsibilities since the lap began; the trace's ELBO needs them


@dataclass(frozen=True, slots=True)
class StochasticLearner:
    """A round of batches a step, as if all ``n_docs`` documents were like theirs."""

    n_docs: int
    sizes: StepSizes
    batches_per_round: int = 1

    def init(self, start: Statistics) -> StochasticState:
        return StochasticState(start.components, None, 0, start.zeros_like())

    def rounds(
        self, state: StochasticState, n_batches: int, rng: np.random.Generator
    ) -> list[IntArray]:
        return cut_rounds(rng.permutation(n_batches), self.batches_per_round)

    def step(
        self,
        state: StochasticState,
        visits: Iterable[Visit],
        current: Globals,
    ) -> tuple[StochasticState, StepInfo]:
        summaries = [visit.summary for visit in visits]
        size = (self.sizes.delay + state.n_steps + 1) ** -self.sizes.forgetting_rate
        terms = reduce(added, (summary.terms for summary in summaries))
        scale = self.n_docs / terms.n_docs
        components, lap = state.components.scaled(1.0 - size), state.lap
        for summary in summaries:
            components.add(summary.components, size * scale)
            lap = lap.exchange_in_place(summary, None)
        terms = scaled(terms, scale)
        if state.terms is not None:
            terms = added(scaled(state.terms, 1.0 - size), scaled(terms, size))
        state = StochasticState(components, terms, state.n_steps + 1, lap)
        return state, StepInfo(step_size=size)

    def start_lap(self, state: StochasticState) -> StochasticState:
        return state._replace(lap=state.lap.zeros_like())

    def end_lap(self, state: StochasticState) -> StochasticState:
        return state

    def check(self, state: StochasticState, nothing: Statistics, source: Source) -> None:
        require(isinstance(state, StochasticState), "the state of another learner")
        require(state.n_steps > 0, "no step")
        state.components.check(nothing.components)
        check_terms(state.terms, nothing.terms)
        state.lap.check(nothing, source.n_docs)

    def components(self, state: StochasticState) -> Components:
        return state.components

    def terms(self, state: StochasticState) -> Any | None:
        return state.terms

    def statistics(self, state: StochasticState) -> Statistics:
        return state.lap


STATES = (StochasticState,)


def make(setting: Setting) -> StochasticLearner:
    options = setting.options
    return StochasticLearner(setting.source.n_docs, options.step_sizes, options.batches_per_round)
