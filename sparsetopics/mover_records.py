"""What changes the number of topics, as checkpoints hold it: without what follows from the rest."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from sparsetopics.growth.grower import Grower
from sparsetopics.laps import Prior
from sparsetopics.learners.memoized import MemoizedState
from sparsetopics.moves import birth, cull, regroup
from sparsetopics.moves.ledger import Ledger
from sparsetopics.moves.mover import Mover
from sparsetopics.moves.rival import Candidate, Rival
from sparsetopics.moves.trimming import trim_whole
from sparsetopics.node_batches import NodeRecord, NodeSource


class RivalRecord(NamedTuple):
    """A rival, but for what its move and the number of topics it began beside say of it."""

    move: str
    n_topics: int  # of the collection when it was entered
    state: MemoizedState
    prior: Prior
    ledger: Ledger
    n_laps: int
    score: float
    opponent: float


class MoverRecord(NamedTuple):
    """A mover between two laps."""

    ledger: Ledger
    rival: RivalRecord | None


class GrowerRecord(NamedTuple):
    """A grower between two laps."""

    is_exhausted: bool
    nodes: NodeRecord | None  # of its tree, if it has one


Record = MoverRecord | GrowerRecord | None


def recorded(mover: Mover | Grower | None, n_topics: Sequence[int]) -> Record:
    """``mover`` after a lap; ``n_topics`` are those after each lap so far."""
    if mover is None:
        return None
    if isinstance(mover, Grower):
        source = mover.laps.source
        nodes = source.record() if isinstance(source, NodeSource) else None
        return GrowerRecord(mover.is_exhausted, nodes)
    rival = mover.rival
    if rival is None:
        return MoverRecord(mover.ledger, None)
    n_before = n_topics[-rival.n_laps]  # a lap of it follows each of the collection's
    own = {name: part for name, part in rival._asdict().items() if name != "candidate"}
    return MoverRecord(mover.ledger, RivalRecord(n_topics=n_before, **own))


def restore(mover: Mover | Grower | None, record: Record) -> None:
    """Make a new ``mover`` what it was, in place."""
    if isinstance(mover, Mover) and isinstance(record, MoverRecord):
        mover.ledger = record.ledger
        if record.rival is not None:
            own = record.rival._asdict()
            candidate = _candidate(record.rival.move, own.pop("n_topics"))
            mover.rival = Rival(candidate=candidate, **own)
    elif isinstance(mover, Grower) and isinstance(record, GrowerRecord):
        mover.is_exhausted = record.is_exhausted
        source = mover.laps.source
        if isinstance(source, NodeSource) and record.nodes is not None:
            source.restore(record.nodes)
    elif mover is not None or record is not None:
        raise TypeError("moves of another kind")


class _Course(NamedTuple):
    """What a plan says of a rival's laps; see the file of each move."""

    compares: Callable[[int, int], bool]  # topics left with those before
    trimmed_from: int
    judged_from: int


_COURSES: Mapping[str, _Course] = {
    birth.NAME: _Course(operator.gt, birth.FIRST_TRIM, birth.FIRST_TRIM),
    cull.NAME: _Course(operator.lt, cull.FIRST_TRIM, cull.FIRST_TRIM),
    regroup.NAME: _Course(
        operator.eq, regroup.MERGING_LAP, regroup.MERGING_LAP + regroup.SETTLING_LAPS
    ),
}


def _candidate(move: str, n_topics: int) -> Candidate:
    """As the move planned it, without the topics that it began with: the rival has its own."""
    course = _COURSES[move]
    begun: Any = None
    is_regroup = move == regroup.NAME
    return Candidate(
        begun,
        begun,
        lambda n_left: course.compares(n_left, n_topics),
        course.trimmed_from,
        course.judged_from,
        partial(regroup.merge_down, n_topics=n_topics) if is_regroup else trim_whole,
    )
