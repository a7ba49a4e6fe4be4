"""Full-data variational learning: all batches under the same parameters, then one update."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Generic, NamedTuple

from sparsetopics.base.batches import Batch, Source
from sparsetopics.base.soundness import require
from sparsetopics.inference.learners.learner import Learner, LearnerInputs, Visit
from sparsetopics.inference.local_step import D, Globals, elbo
from sparsetopics.model.statistics import C, P, Statistics, T


class FullState(NamedTuple, Generic[C, T]):
    """All that survives between two steps."""

    total: Statistics[C, T]
    is_start: bool  # before the first step: the components stand for data, without terms


@dataclass(frozen=True, slots=True)
class FullLearner(Learner[FullState[C, T], D, C, P, T], Generic[D, C, P, T]):
    """Takes in all batches in one step.

    With ``keep_better``, a step that would lower the ELBO is refused.
    """

    keep_better: bool

    def init(self, start: Statistics[C, T]) -> FullState[C, T]:
        return FullState(start, True)

    def step_in_place(
        self, state: FullState[C, T], visits: Iterable[Visit[D, P, T]], current: Globals[C, P, T]
    ) -> tuple[FullState[C, T], bool]:
        """See ``Learner``; each summary is added as it comes, and none is kept."""
        total = Statistics.sum((visit.summary for visit in visits), state.total.zeros_like())
        may_keep = self.keep_better and not state.is_start
        if may_keep and elbo(state.total, current) > elbo(total, current):
            return state, True
        return FullState(total, False), False

    def check(
        self, state: FullState[C, T], nothing: Statistics[C, T], source: Source[Batch]
    ) -> None:
        require(not state.is_start, "a lap that is not done")
        state.total.check(nothing, source.n_docs)

    def components(self, state: FullState[C, T]) -> C:
        return state.total.components

    def terms(self, state: FullState[C, T]) -> T | None:
        return None if state.is_start else state.total.terms

    def statistics(self, state: FullState[C, T]) -> Statistics[C, T]:
        return state.total


STATES = (FullState,)


def make(inputs: LearnerInputs[D, C, P]) -> FullLearner[D, C, P, T]:
    return FullLearner(inputs.options.keeps_better)
