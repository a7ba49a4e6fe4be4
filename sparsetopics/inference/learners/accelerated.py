"""Accelerated variational learning: one batch, the outer nodes of a kd-tree, and a nested family.

VDP06: every lap updates all outer nodes and all components. Between laps, ``growth`` adds
components and refines the tree. If the nodes are single items, this is plain VDP.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from sparsetopics.base.batches import Batch, Source, VectorBatch
from sparsetopics.base.soundness import require
from sparsetopics.inference.learners.learner import Learner, LearnerInputs, Visit
from sparsetopics.inference.local_step import Globals
from sparsetopics.model.allocations.mixture import ItemTerms
from sparsetopics.model.kd_tree import NodeBatch
from sparsetopics.model.likelihoods.moments import Moments
from sparsetopics.model.responsibilities import Responsibilities
from sparsetopics.model.statistics import Statistics

Nodes = VectorBatch | NodeBatch
MomentStatistics = Statistics[Moments, ItemTerms]
MomentGlobals = Globals[Moments, Moments, ItemTerms]


class GrownState(NamedTuple):
    """All that survives between two steps; the last component is the tail."""

    total: MomentStatistics
    found: Responsibilities | None  # of the present outer nodes, if a step has seen them
    is_start: bool  # before the first step: the components stand for data, without terms


@dataclass(frozen=True, slots=True)
class AcceleratedLearner(Learner[GrownState, Nodes, Moments, Moments, ItemTerms]):
    """A full update each lap that remembers the responsibilities of its only batch."""

    def init(self, start: MomentStatistics) -> GrownState:
        return GrownState(start, None, True)

    def step_in_place(
        self,
        state: GrownState,
        visits: Iterable[Visit[Nodes, Moments, ItemTerms]],
        current: MomentGlobals,
    ) -> tuple[GrownState, bool]:
        (visit,) = visits
        return GrownState(Statistics(*visit.summary), visit.responsibilities, False), False

    def check(self, state: GrownState, nothing: MomentStatistics, source: Source[Batch]) -> None:
        """See ``Learner``; ``training_state`` checks responsibilities, since it knows the nodes."""
        require(not state.is_start, "a lap that is not done")
        state.total.check(nothing, source.n_docs)

    def components(self, state: GrownState) -> Moments:
        return state.total.components.with_empty_tail()

    def terms(self, state: GrownState) -> ItemTerms | None:
        return None if state.is_start else state.total.terms

    def statistics(self, state: GrownState) -> MomentStatistics:
        return state.total


STATES = (GrownState,)


def make(inputs: LearnerInputs[Nodes, Moments, Moments]) -> AcceleratedLearner:
    return AcceleratedLearner()
