"""The course of a run with moves: a phase of them after each lap, once topics have formed.

It carries the ledger and the rival from one phase to the next.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Generic, NamedTuple

from sparsetopics.inference.course import Course
from sparsetopics.inference.learners.memoized import MemoizedState
from sparsetopics.inference.local_step import Parameters
from sparsetopics.inference.moves.ledger import Ledger
from sparsetopics.inference.moves.phase import is_exhausted, make_moves
from sparsetopics.inference.moves.rival import Rival
from sparsetopics.inference.moves.standing import MoveTally, Standing, Tools
from sparsetopics.inference.training_state import TrainingState, checked_elbo
from sparsetopics.model.statistics import B, C, P, T
from sparsetopics.options.table import DEFAULT_CRITERION

FIRST_LAP = 4  # with moves: topics must have formed


class MoverRecord(NamedTuple, Generic[B, C, P, T]):
    """A mover between two laps, as checkpoints hold it."""

    ledger: Ledger
    rival: Rival[B, C, P, T] | None


class Mover(Course[MemoizedState[B, C, T], B, C, P, T], Generic[B, C, P, T]):
    """Makes moves after laps, and remembers what they need to know of each other."""

    rival: Rival[B, C, P, T] | None

    def prepare(self, parameters: Parameters[C, P, T]) -> None:
        super().prepare(parameters)
        self.ledger, self.rival = Ledger.new(parameters.allocation.n_topics), None

    def after_lap(self, lap: int) -> tuple[Mapping[str, MoveTally], float | None]:
        """Make one phase of moves, once topics have formed."""
        if lap < FIRST_LAP:
            return {}, None
        # A rival's laps do not count as progress.
        quiet = replace(self.laps, on_documents=lambda n_done, n_docs: None)
        moves = self.options.active_moves
        criterion = moves.criterion or DEFAULT_CRITERION
        tools = Tools(quiet, criterion, moves.verify, self.options.n_laps)
        ledger = self.ledger._replace(lap=lap)
        standing = Standing.of(self.state, self.parameters, ledger, tools)
        standing, self.rival, tallies = make_moves(standing, self.rival, moves.names)
        self.state, self.parameters = standing.state, standing.parameters
        self.ledger = standing.ledger
        is_scored = criterion == "collapsed" and standing.known_evidence is not None
        return tallies, standing.score if is_scored else None

    def record(self) -> MoverRecord[B, C, P, T]:
        return MoverRecord(self.ledger, self.rival)

    def resume(self, kept: TrainingState) -> None:
        super().resume(kept)
        self.ledger, self.rival = kept.mover

    def check(self, kept: TrainingState) -> None:
        record = kept.mover
        if not isinstance(record, MoverRecord):
            raise ValueError("no record of moves")
        record.ledger.check(kept.parameters.allocation.n_topics)
        rival = record.rival
        if rival is not None:
            parameters, learner = rival.parameters, self.setting.learner(kept.parameters)
            rival.ledger.check(parameters.allocation.n_topics)
            source, n_laps = self.setting.source, len(kept.laps)
            checked_elbo(rival.state, parameters, learner, source, self.options, n_laps)

    @property
    def is_exhausted(self) -> bool:
        """Whether no kind of rival is left to try."""
        return self.rival is None and is_exhausted(self.ledger, self.options.active_moves.names)
