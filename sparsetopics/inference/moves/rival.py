"""Rivals: other topics for the whole collection, which are trained beside those in use.

Some changes need several laps before they pay: births, which split many topics at once, and culls,
which drop the smallest. They are made on a copy, the rival. Each lap of training is followed by a
lap of the rival. In its first lap the topics' counts stand for documents not yet visited (the extra
mass of MEMO13, section 3.1). Once its topics have formed, the rival replaces the collection as soon
as its score is higher. It is abandoned if it would not catch up within ``REACH`` laps at the
present pace of both.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Generic, NamedTuple, Self

import numpy as np

from sparsetopics.base.batches import IntArray
from sparsetopics.inference.learners.memoized import MemoizedState
from sparsetopics.inference.local_step import Parameters
from sparsetopics.inference.moves.ledger import Ledger
from sparsetopics.inference.moves.standing import MoveTally, Standing, TopicUse
from sparsetopics.inference.moves.trimming import trim_topics, verify_move
from sparsetopics.model.allocations.allocation import MovableAllocation, is_of_documents
from sparsetopics.model.assignments import Assignments
from sparsetopics.model.statistics import B, C, P, Statistics, T
from sparsetopics.options.table import DEFAULT_MOVES

REACH = 6  # laps

BIRTH_CHILDREN = 4  # of a topic, itself among them
FEWEST_BIRTHS = 10  # topics to try at least: where topics are few, each has more children
MOST_BORN = 200  # in a lap
FIRST_BIRTH_TRIM = 4  # lap; before it, the new topics form

CULL_SHARES = (0.5, 0.35, 0.2)  # of the topics to drop; each refusal moves on to the next
FIRST_CULL_TRIM = 2  # lap


class RivalRules(NamedTuple):
    """The rules for a rival. Numbers alone, so that checkpoints can hold them."""

    fewest: int  # topics that merges and deletes leave
    most: int | None  # topics; a rival with more is abandoned; None: no limit
    trimmed_from: int  # lap; before it the topics form
    judged_from: int  # lap, no earlier than ``trimmed_from``; compared at its end and every later

    def allows(self, n_topics: int) -> bool:
        return self.most is None or n_topics <= self.most


class Rival(NamedTuple, Generic[B, C, P, T]):
    """A rival that is neither accepted nor abandoned yet."""

    move: str  # the kind of move that planned it
    course: RivalRules  # the name in checkpoints
    state: MemoizedState[B, C, T]
    parameters: Parameters[C, P, T]
    ledger: Ledger
    n_laps: int
    score: float  # nats, after its last lap, once topics have formed
    opponent: float  # the collection's score at that time

    @classmethod
    def of(
        cls,
        standing: Standing[B, C, P, T],
        move: str,
        components: C,
        allocation: MovableAllocation[B, T],
        course: RivalRules,
    ) -> Self:
        """A rival that begins with some topics, before its first lap."""
        # Its counts stand for the whole collection until documents have been visited.
        components = components.scaled(standing.sizes.sum() / components.sizes.sum())
        return cls(
            move,
            course,
            standing.tools.laps.learner.init(Statistics(components, allocation.zero_terms())),
            Parameters(allocation, standing.likelihood),
            Ledger.new(components.n_topics, standing.ledger),
            n_laps=0,
            score=standing.score,
            opponent=standing.score,
        )

    @property
    def needs_scores(self) -> bool:
        """Whether its next lap ends with a comparison of scores, or one lap before the first."""
        return self.n_laps + 2 >= self.course.judged_from  # the pace needs two scores

    def advanced(self, standing: Standing[B, C, P, T]) -> Phase[B, C, P, T]:
        """Train the rival for one more lap and compare the scores if it is time.

        ``standing`` must be refreshed if the rival ``needs_scores``. The rival has a tally, in
        topics, if it is decided.
        """
        course, n_laps = self.course, self.n_laps + 1
        grown = self._grown(standing)
        if n_laps >= course.trimmed_from and not course.allows(grown.n_topics):
            return self._abandoned(standing, grown)
        after = self._replace(
            state=grown.state, parameters=grown.parameters, ledger=grown.ledger, n_laps=n_laps
        )
        if not self.needs_scores:
            return Phase(standing, after, {})
        score, opponent = grown.score, standing.score
        if n_laps >= course.judged_from:
            if score > opponent:
                return self._adopted(standing, grown)
            closing = (score - self.score) - (opponent - self.opponent)
            if REACH * closing < opponent - score:
                return self._abandoned(standing, grown)
        return Phase(standing, after._replace(score=score, opponent=opponent), {})

    def _grown(self, standing: Standing[B, C, P, T]) -> Standing[B, C, P, T]:
        """The rival's topics after one more lap, refreshed only if that is needed."""
        tools, ledger = standing.tools, self.ledger._replace(lap=standing.ledger.lap)
        state, parameters, _ = tools.laps.run(self.state, self.parameters)
        grown = Standing.of(state, parameters, ledger, tools)
        is_trimmed = self.n_laps + 1 >= self.course.trimmed_from
        if is_trimmed or self.needs_scores:
            grown = grown.refreshed()
        if not is_trimmed:
            return grown
        # Young topics are alike, and in short documents all would be merged again.
        grown = grown._replace(tools=tools._replace(fewest=self.course.fewest))
        grown = trim_topics(grown, DEFAULT_MOVES)[0]  # whichever moves the options name
        return grown._replace(tools=tools)

    def _adopted(
        self, standing: Standing[B, C, P, T], grown: Standing[B, C, P, T]
    ) -> Phase[B, C, P, T]:
        if standing.tools.verify:
            verify_move(self.move, standing, grown)
        standing.state.discard()
        change = max(1, abs(grown.n_topics - standing.n_topics))
        grown = grown._replace(ledger=grown.ledger._replace(preferred=self.move))
        return Phase(grown, None, {self.move: MoveTally(change, change)})

    def _abandoned(
        self, standing: Standing[B, C, P, T], grown: Standing[B, C, P, T]
    ) -> Phase[B, C, P, T]:
        grown.state.discard()
        ledger = standing.ledger.refused(self.move, standing.n_topics)
        return Phase(standing._replace(ledger=ledger), None, {self.move: MoveTally(1, 0)})


class Phase(NamedTuple, Generic[B, C, P, T]):
    """The collection after moves, and the rival unless there is none or it is decided."""

    standing: Standing[B, C, P, T]
    rival: Rival[B, C, P, T] | None
    tallies: Mapping[str, MoveTally]


# --- the kinds of rivals: functions of the registry, which names their moves ----------------------
def plan_birth(standing: Standing[B, C, P, T], move: str) -> Rival[B, C, P, T] | None:
    """Split the largest topics into children; None if that was refused or there are no documents.

    A child that is born small beside grown topics attracts hardly any words, and a split that is
    judged on a sample of the topic's own words is hardly ever accepted. Therefore whole families
    take part in laps over all documents, where children compete as equals.

    Few short documents may have topics that many children, or other seeds, do not find. After a
    refusal, topics of documents get three children each, more often the fewer topics there are.
    """
    n_topics = standing.n_topics
    n_children = max(BIRTH_CHILDREN, -(-FEWEST_BIRTHS // n_topics))
    if n_refusals := standing.ledger.n_refusals(move):
        if n_refusals * n_topics >= FEWEST_BIRTHS or not is_of_documents(standing.allocation):
            return None
        n_children = 3
    n_split = max(1, MOST_BORN // (n_children - 1))
    samples = _sample(standing, np.argsort(-standing.sizes, kind="stable")[:n_split])
    children, parents = standing.evidence.families(samples, n_children, standing.tools.laps.rng)
    if len(parents) == n_topics:  # nothing was split
        return None
    course = RivalRules(n_topics + 1, None, FIRST_BIRTH_TRIM, judged_from=FIRST_BIRTH_TRIM)
    return Rival.of(standing, move, children, standing.allocation.branched(parents), course)


def plan_cull(standing: Standing[B, C, P, T], move: str) -> Rival[B, C, P, T] | None:
    """Drop the smallest topics together; None if there are too few topics.

    Topics that share their documents support each other: none can be deleted or merged alone, even
    if the collection scores higher with half of them, once the rest has taken over their words.
    """
    n_topics = standing.n_topics
    share = CULL_SHARES[min(standing.ledger.n_refusals(move), len(CULL_SHARES) - 1)]
    n_dropped = int(share * n_topics)
    if n_dropped == 0:
        return None
    kept = np.sort(np.argsort(-standing.sizes, kind="stable")[: n_topics - n_dropped])
    course = RivalRules(1, n_topics - 1, FIRST_CULL_TRIM, judged_from=FIRST_CULL_TRIM)
    components = standing.evidence.take(kept).components
    return Rival.of(standing, move, components, standing.allocation.restricted(kept), course)


def _sample(standing: Standing[B, C, P, T], targets: IntArray) -> dict[int, Assignments[B]]:
    """Some documents of each target topic that has any."""
    parts: dict[int, list[Assignments[B]]] = {topic: [] for topic in targets.tolist()}
    n_documents, fewest_tokens = standing.evidence.sampling
    rng = standing.tools.laps.rng
    per_batch = -(-n_documents // len(standing.state.per_batch))
    for _, assignments in standing.assignments():
        use = TopicUse.of(assignments, standing.n_topics)
        for topic, found in parts.items():
            mine = (use.topics == topic) & (use.counts >= fewest_tokens)
            chosen = np.sort(rng.permutation(use.documents[mine])[:per_batch])
            if len(chosen) > 0:
                found.append(assignments.take(chosen))
    return {topic: Assignments.joined(found) for topic, found in parts.items() if found}
