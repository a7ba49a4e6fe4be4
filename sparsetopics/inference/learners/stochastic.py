"""Stochastic variational inference: a batch stands for the whole collection, with falling steps.

Hoffman, Blei, Wang & Paisley (2013). The posterior moves in natural parameters; under a conjugate
prior this means that expected sufficient statistics are interpolated. The terms that the weights
follow from are interpolated in the same way.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from typing import Generic, NamedTuple

from sparsetopics.base.batches import Batch, Source
from sparsetopics.base.soundness import require
from sparsetopics.inference.learners.learner import Learner, LearnerInputs, Visit
from sparsetopics.inference.local_step import D, Globals
from sparsetopics.model.statistics import C, P, Statistics, T, added, check_terms, scaled
from sparsetopics.options.training import StepSizes


class StochasticState(NamedTuple, Generic[C, T]):
    """All that survives between two steps."""

    components: C  # scaled to the whole collection, like the terms
    terms: T | None  # None before the first step
    n_steps: int
    lap: Statistics[C, T]  # of the responsibilities since the lap began, for the trace's ELBO


@dataclass(frozen=True, slots=True)
class StochasticLearner(Learner[StochasticState[C, T], D, C, P, T], Generic[D, C, P, T]):
    """Takes a round of batches a step, as if all ``n_docs`` documents were like theirs."""

    n_docs: int
    sizes: StepSizes
    batches_per_round: int = 1

    def init(self, start: Statistics[C, T]) -> StochasticState[C, T]:
        return StochasticState(start.components, None, 0, start.zeros_like())

    def start_lap(self, state: StochasticState[C, T]) -> StochasticState[C, T]:
        return state._replace(lap=state.lap.zeros_like())

    def step_in_place(
        self,
        state: StochasticState[C, T],
        visits: Iterable[Visit[D, P, T]],
        current: Globals[C, P, T],
    ) -> tuple[StochasticState[C, T], bool]:
        summaries = [visit.summary for visit in visits]
        size = self.sizes.size(state.n_steps + 1)
        terms = reduce(added, (summary.terms for summary in summaries))
        scale = self.n_docs / terms.n_docs
        components, lap = state.components.scaled(1.0 - size), state.lap
        for summary in summaries:
            components.add(summary.components, size * scale)
            lap = lap.add_in_place(summary)
        terms = scaled(terms, scale)
        if state.terms is not None:
            terms = added(scaled(state.terms, 1.0 - size), scaled(terms, size))
        state = StochasticState(components, terms, state.n_steps + 1, lap)
        return state, False

    def check(
        self, state: StochasticState[C, T], nothing: Statistics[C, T], source: Source[Batch]
    ) -> None:
        require(state.n_steps > 0, "no step")
        state.components.check(nothing.components)
        check_terms(state.terms, nothing.terms)
        state.lap.check(nothing, source.n_docs)

    def components(self, state: StochasticState[C, T]) -> C:
        return state.components

    def terms(self, state: StochasticState[C, T]) -> T | None:
        return state.terms

    def statistics(self, state: StochasticState[C, T]) -> Statistics[C, T]:
        return state.lap


STATES = (StochasticState,)


def make(inputs: LearnerInputs[D, C, P]) -> StochasticLearner[D, C, P, T]:
    options = inputs.options
    return StochasticLearner(inputs.source.n_docs, options.step_sizes, options.batches_per_round)
