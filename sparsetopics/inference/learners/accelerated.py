"""Accelerated variational learning: one batch, the outer nodes of a kd-tree, and a nested family.

VDP06: every lap is an update of all outer nodes and all components. What adds components and
refines the tree between laps is ``growth``. With single items for nodes it is plain VDP.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sparsetopics.base.batches import IntArray, Source
from sparsetopics.base.soundness import require
from sparsetopics.inference.learners.learner import Setting, StepInfo, Visit
from sparsetopics.inference.local_step import Globals
from sparsetopics.model.responsibilities import Responsibilities
from sparsetopics.model.statistics import Components, Statistics


class GrownState(NamedTuple):
    """All that survives between two steps; the last component is the tail (``nested``)."""

    total: Statistics
    found: Responsibilities | None  # of the outer nodes at the last step, if they are the same
    is_start: bool  # no step was made: the components stand for data, without terms


@dataclass(frozen=True, slots=True)
class AcceleratedLearner:
    """A full update each lap that remembers the responsibilities of its only batch."""

    def init(self, start: Statistics) -> GrownState:
        return GrownState(start, None, True)

    def rounds(self, state: GrownState, n_batches: int, rng: np.random.Generator) -> list[IntArray]:
        return [np.arange(n_batches)]

    def step(
        self, state: GrownState, visits: Iterable[Visit], current: Globals
    ) -> tuple[GrownState, StepInfo]:
        (visit,) = visits
        total = Statistics(*visit.summary)
        return GrownState(total, visit.responsibilities, False), StepInfo()

    def start_lap(self, state: GrownState) -> GrownState:
        return state

    def end_lap(self, state: GrownState) -> GrownState:
        return state

    def check(self, state: GrownState, nothing: Statistics, source: Source) -> None:
        """See ``Learner.check``; ``progress`` checks responsibilities, knowing the nodes."""
        require(isinstance(state, GrownState), "the state of another learner")
        require(not state.is_start, "a lap that is not done")
        state.total.check(nothing, source.n_docs)

    def components(self, state: GrownState) -> Components:
        return tied(state.total.components)

    def terms(self, state: GrownState) -> Any | None:
        return None if state.is_start else state.total.terms

    def statistics(self, state: GrownState) -> Statistics:
        return state.total


STATES = (GrownState,)


def make(setting: Setting) -> AcceleratedLearner:
    return AcceleratedLearner()


def tied(components: Any) -> Components:
    """What posteriors are made from: those of the tail are the prior, whatever it was given."""
    kept = components.accumulator()
    for values in kept[:3]:
        values[-1] = 0.0
    own: Components = kept
    return own
