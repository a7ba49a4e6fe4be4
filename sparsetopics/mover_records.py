"""What changes the number of topics, as checkpoints hold it."""

from __future__ import annotations

from typing import NamedTuple

from sparsetopics.growth.grower import Grower
from sparsetopics.moves.ledger import Ledger
from sparsetopics.moves.mover import Mover
from sparsetopics.moves.rival import Rival
from sparsetopics.node_batches import NodeRecord, NodeSource


class MoverRecord(NamedTuple):
    """A mover between two laps."""

    ledger: Ledger
    rival: Rival | None


class GrowerRecord(NamedTuple):
    """A grower between two laps."""

    is_exhausted: bool
    nodes: NodeRecord | None  # of its tree, if it has one


Record = MoverRecord | GrowerRecord | None


def recorded(mover: Mover | Grower | None) -> Record:
    """``mover`` after a lap."""
    if isinstance(mover, Grower):
        source = mover.laps.source
        nodes = source.record() if isinstance(source, NodeSource) else None
        return GrowerRecord(mover.is_exhausted, nodes)
    return None if mover is None else MoverRecord(mover.ledger, mover.rival)


def restore(mover: Mover | Grower | None, record: Record) -> None:
    """Make a new ``mover`` what it was, in place."""
    if isinstance(mover, Mover) and isinstance(record, MoverRecord):
        mover.ledger, mover.rival = record.ledger, record.rival
    elif isinstance(mover, Grower) and isinstance(record, GrowerRecord):
        mover.is_exhausted = record.is_exhausted
        source = mover.laps.source
        if isinstance(source, NodeSource) and record.nodes is not None:
            source.restore(record.nodes)
    elif mover is not None or record is not None:
        raise TypeError("moves of another kind")
