"""A learner as someone would add it: all batches, then half of the way to what they say."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from sparsetopics.base.batches import Source
from sparsetopics.inference.learners.learner import Learner, LearnerInputs, Visit
from sparsetopics.inference.local_step import Globals
from sparsetopics.model.statistics import Components, Statistics

SHARE = 0.5  # of the way


class HalfwayState(NamedTuple):
    """All that survives between two steps."""

    components: Components
    total: Statistics
    n_steps: int


@dataclass(frozen=True, slots=True)
class HalfwayLearner(Learner[HalfwayState, Any, Any, Any, Any]):
    """All batches a step."""

    def init(self, start: Statistics) -> HalfwayState:
        return HalfwayState(start.components, start.zeros_like(), 0)

    def step_in_place(
        self, state: HalfwayState, visits: Iterable[Visit], current: Globals
    ) -> tuple[HalfwayState, bool]:
        total = Statistics.sum((visit.summary for visit in visits), state.total.zeros_like())
        components = state.components.scaled(1.0 - SHARE).plus(total.components.scaled(SHARE))
        return HalfwayState(components, total, state.n_steps + 1), False

    def components(self, state: HalfwayState) -> Components:
        return state.components

    def terms(self, state: HalfwayState) -> Any | None:
        return state.total.terms if state.n_steps else None

    def statistics(self, state: HalfwayState) -> Statistics:
        return state.total

    def check(self, state: HalfwayState, nothing: Statistics, source: Source) -> None:
        state.components.check(nothing.components)
        state.total.check(nothing, source.n_docs)


STATES = (HalfwayState,)


def make(inputs: LearnerInputs) -> HalfwayLearner:
    return HalfwayLearner()
