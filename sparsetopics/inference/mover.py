"""The course of a run with moves: a phase of them after each lap, once topics have formed.

A phase makes merges and deletes, then a rival with births or culls, and sorts topics. The course
carries the ledger and the rival from one phase to the next.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Generic, NamedTuple

import numpy as np

from sparsetopics.inference.course import Course
from sparsetopics.inference.learners.memoized import MemoizedState
from sparsetopics.inference.local_step import Parameters
from sparsetopics.inference.moves.ledger import Ledger
from sparsetopics.inference.moves.rival import Phase, Rival
from sparsetopics.inference.moves.standing import Made, MoveTally, Standing, Tools
from sparsetopics.inference.moves.trimming import make_move, may_trim, trim_topics
from sparsetopics.inference.training_state import TrainingState
from sparsetopics.model.assignments import TopicChange
from sparsetopics.model.statistics import B, C, P, T, renumbered
from sparsetopics.options.registry import RIVALS, imported
from sparsetopics.options.table import DEFAULT_CRITERION

FIRST_LAP = 4  # with moves: topics must have formed
FEWER = "cull"  # the kind of rival to try next after a successful merge or delete
SETTLED_SHARE = 0.95  # of the topics must survive merges and deletes before a rival is entered


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
            rival.ledger.check(rival.parameters.allocation.n_topics)
            self.checked_elbo(rival.state, rival.parameters, len(kept.laps))

    @property
    def is_exhausted(self) -> bool:
        """Whether no kind of rival is left to try."""
        return self.rival is None and is_exhausted(self.ledger, self.options.active_moves.names)


# --- a phase --------------------------------------------------------------------------------------
def make_moves(
    standing: Standing[B, C, P, T], rival: Rival[B, C, P, T] | None, names: tuple[str, ...]
) -> Phase[B, C, P, T]:
    """Make the moves of ``names``; ``rival`` is one that an earlier phase has entered.

    Scores are computed only if a move needs them, so the standing may come back without one.
    """
    is_due = not is_exhausted(standing.ledger, names) if rival is None else rival.needs_scores
    if not is_due and not may_trim(standing, names):
        return Phase(standing, None, {}) if rival is None else rival.advanced(standing)
    standing = standing.refreshed()
    n_before = standing.n_topics
    standing, tallies = trim_topics(standing, names)
    if rival is None and standing.n_topics >= SETTLED_SHARE * n_before:
        if standing.n_topics < n_before:
            standing = standing._replace(ledger=standing.ledger._replace(preferred=FEWER))
        standing, rival = _challenged(standing, names)
    if rival is not None:
        standing, rival, decided = rival.advanced(standing)
        tallies.update(decided)
    standing, tallies["reorder"] = make_move("reorder", reorder_topics, standing)
    return Phase(standing, rival, tallies)


def is_exhausted(ledger: Ledger, names: tuple[str, ...]) -> bool:
    """Whether every kind of rival was refused since the last one was accepted."""
    return not any(_may_challenge(kind, ledger, names) for kind in RIVALS)


def _may_challenge(kind: str, ledger: Ledger, names: tuple[str, ...]) -> bool:
    """Whether the options ask for a kind of rival that was not yet refused too often."""
    rival = RIVALS[kind]
    return (rival.option or kind) in names and ledger.n_refusals(kind) < rival.most_refusals


def _challenged(
    standing: Standing[B, C, P, T], names: tuple[str, ...]
) -> tuple[Standing[B, C, P, T], Rival[B, C, P, T] | None]:
    """Enter a rival of the kind that last succeeded, or of another if that was refused."""
    preferred = standing.ledger.preferred
    for kind in sorted(RIVALS, key=lambda kind: kind != preferred):
        while _may_challenge(kind, ledger := standing.ledger, names):
            rival: Rival[B, C, P, T] | None = imported(RIVALS[kind].where)(standing, kind)
            if rival is None:
                standing = standing._replace(ledger=ledger.refused(kind, standing.n_topics))
                continue
            if ledger.lap + rival.course.judged_from - 1 > standing.tools.last_lap:
                return standing, None  # training ends before the scores could be compared
            return standing, rival
    return standing, None


def reorder_topics(standing: Standing[B, C, P, T]) -> Made[B, C, P, T]:
    """Sort topics by falling weight, as stick-breaking expects, if that raises the score.

    Only the weights' part of the score changes.
    """
    order = np.argsort(-standing.allocation.weights, kind="stable")
    if np.array_equal(order, np.arange(standing.n_topics)):
        return standing, MoveTally(0, 0)
    new_topics, n_topics = np.argsort(order), len(order)
    terms = renumbered(standing.terms, new_topics, n_topics)
    allocation = standing.allocation.reordered(order).updated(terms)
    if allocation.elbo(terms) <= standing.allocation.elbo(standing.terms):
        return standing, MoveTally(1, 0)
    by_batch = standing.renumbered_terms(new_topics, n_topics)
    change = TopicChange(new_topics, {}, n_topics)
    evidence, reference = standing.evidence.take(order), standing.reference[order]
    return standing.committed(change, by_batch, allocation, reference, evidence), MoveTally(1, 1)
