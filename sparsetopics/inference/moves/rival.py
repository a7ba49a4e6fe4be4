"""Rivals: another set of topics for the whole collection, which grows beside the one in use.

A change that takes several laps to pay, such as many births at once, is made on a copy. Each lap of
training is followed by one of the rival. In its first lap the topics' counts stand for documents
not yet visited (the extra mass of MEMO13, section 3.1). Once its topics have formed, it takes the
place of the collection as soon as its score is higher after as many laps; it is given up when it
would not catch up in ``REACH`` laps at the present pace of both.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from sparsetopics.base.soundness import require
from sparsetopics.inference.laps import Prior
from sparsetopics.inference.learners.memoized import MemoizedState
from sparsetopics.inference.moves.ledger import Ledger
from sparsetopics.inference.moves.merging_down import merge_down
from sparsetopics.inference.moves.standing import Standing, Tools, refreshed
from sparsetopics.inference.moves.trimming import trim_whole
from sparsetopics.model.allocations.allocation import MovableAllocation
from sparsetopics.model.statistics import Statistics

REACH = 6  # laps


class Course(NamedTuple):
    """What becomes of a rival: numbers alone, so that checkpoints can hold it."""

    fewest: int  # topics; with fewer or more it is not what was meant
    most: int | None  # None: any number
    trimmed_from: int  # lap; before it topics form
    judged_from: int  # lap, no earlier; it is compared at the end of this one and each later
    merged_to: int | None = None  # topics after each trim, instead of all moves that pay

    def check(self) -> None:
        """ValueError if the course would never end."""
        require(self.merged_to is None or self.merged_to > 0, f"a merge to {self.merged_to} topics")

    def allows(self, n_topics: int) -> bool:
        return self.fewest <= n_topics and (self.most is None or n_topics <= self.most)


class Candidate(NamedTuple):
    """Topics that a rival begins with."""

    components: Any  # Components
    allocation: MovableAllocation
    course: Course


class Rival(NamedTuple):
    """A rival that has not been decided on."""

    move: str  # that proposed it
    course: Course
    state: MemoizedState
    prior: Prior
    ledger: Ledger
    n_laps: int
    score: float  # after its last lap in nats, once topics have formed
    opponent: float  # the collection's then

    @property
    def needs_scores(self) -> bool:
        """Whether its next lap ends with its score beside the collection's."""
        return self.n_laps + 2 >= self.course.judged_from  # the pace to the first comparison

    def as_grown(self, grown: Standing) -> Rival:
        """After one more lap."""
        return self._replace(
            state=grown.state,
            prior=Prior(grown.allocation, grown.likelihood),
            ledger=grown.ledger,
            n_laps=self.n_laps + 1,
        )


class Verdict(NamedTuple):
    """The collection to go on with, and the rival if it is not decided."""

    standing: Standing
    rival: Rival | None
    replaced: bool


def entered(standing: Standing, move: str, candidate: Candidate, tools: Tools) -> Rival:
    """A rival before its first lap."""
    scale = standing.sizes.sum() / candidate.components.sizes.sum()
    components = candidate.components.scaled(scale)
    return Rival(
        move,
        candidate.course,
        tools.laps.learner.init(Statistics(components, candidate.allocation.zero_terms())),
        Prior(candidate.allocation, standing.likelihood),
        Ledger.new(components.n_topics, standing.ledger),
        0,
        standing.score,
        standing.score,
    )


def advanced(standing: Standing, rival: Rival, tools: Tools) -> Verdict:
    """One more lap of the rival, and the comparison if it is time.

    ``standing`` is refreshed if the rival ``needs_scores``.
    """
    course, n_laps = rival.course, rival.n_laps + 1
    grown = _grown(standing, rival, tools)
    if n_laps >= course.trimmed_from and not course.allows(grown.n_topics):
        return _given_up(standing, rival, grown)
    if not rival.needs_scores:
        return Verdict(standing, rival.as_grown(grown), False)
    score, opponent = grown.score, standing.score
    if n_laps >= course.judged_from:
        if score > opponent:
            discard(standing)
            return Verdict(grown, None, True)
        closing = (score - rival.score) - (opponent - rival.opponent)
        if REACH * closing < opponent - score:
            return _given_up(standing, rival, grown)
    rival = rival.as_grown(grown)._replace(score=score, opponent=opponent)
    return Verdict(standing, rival, False)


def _grown(standing: Standing, rival: Rival, tools: Tools) -> Standing:
    """The rival's topics after one more lap, refreshed only where that is of use."""
    state, prior, _ = tools.laps.run(rival.state, rival.prior, tools.rng)
    grown = Standing.of(state, prior, rival.ledger._replace(lap=standing.ledger.lap))
    is_trimmed = rival.n_laps + 1 >= rival.course.trimmed_from
    if is_trimmed or rival.needs_scores:
        grown = refreshed(grown, tools)
    if not is_trimmed:
        return grown
    merged_to = rival.course.merged_to
    return trim_whole(grown, tools) if merged_to is None else merge_down(grown, tools, merged_to)


def _given_up(standing: Standing, rival: Rival, grown: Standing) -> Verdict:
    discard(grown)
    ledger = standing.ledger.refused(rival.move, standing.n_topics)
    return Verdict(standing._replace(ledger=ledger), None, False)


def discard(standing: Standing) -> None:
    """Give back what the memo keeps of a collection that is not needed any more."""
    for kept in standing.state.per_batch.values():
        kept.stored.discard()
