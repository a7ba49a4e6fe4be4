"""Full-data variational learning: all batches under the same parameters, then one update."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sparsetopics.base.batches import IntArray, Source
from sparsetopics.base.soundness import require
from sparsetopics.inference.bounds import elbo
from sparsetopics.inference.learners.learner import Setting, StepInfo, Visit
from sparsetopics.inference.local_step import Globals
from sparsetopics.model.statistics import Components, Statistics


class FullState(NamedTuple):
    """All that survives between two steps."""

    total: Statistics
    is_start: bool  # no step was made: the components stand for data, without terms


@dataclass(frozen=True, slots=True)
class FullLearner:
    """All batches a step. ``keep_better`` is that of the memoized learner, for the whole."""

    keep_better: bool

    def init(self, start: Statistics) -> FullState:
        return FullState(start, True)

    def rounds(self, state: FullState, n_batches: int, rng: np.random.Generator) -> list[IntArray]:
        return [np.arange(n_batches)]

    def step(
        self, state: FullState, visits: Iterable[Visit], current: Globals
    ) -> tuple[FullState, StepInfo]:
        """``visits`` may compute each summary when it is asked for: none is kept."""
        summaries = (visit.summary for visit in visits)
        total = Statistics.sum(summaries, state.total.zeros_like())
        may_keep = self.keep_better and not state.is_start
        if may_keep and elbo(state.total, current) > elbo(total, current):
            return state, StepInfo(kept_old=True)
        return FullState(total, False), StepInfo()

    def start_lap(self, state: FullState) -> FullState:
        return state

    def end_lap(self, state: FullState) -> FullState:
        return state

    def check(self, state: FullState, nothing: Statistics, source: Source) -> None:
        require(isinstance(state, FullState), "the state of another learner")
        require(not state.is_start, "a lap that is not done")
        state.total.check(nothing, source.n_docs)

    def components(self, state: FullState) -> Components:
        components: Components = state.total.components
        return components

    def terms(self, state: FullState) -> Any | None:
        return None if state.is_start else state.total.terms

    def statistics(self, state: FullState) -> Statistics:
        return state.total


STATES = (FullState,)


def make(setting: Setting) -> FullLearner:
    return FullLearner(setting.options.keeps_better)
