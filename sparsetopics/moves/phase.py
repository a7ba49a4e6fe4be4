"""A phase of moves, after a lap: merges, deletes, births, and the order of topics."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from sparsetopics.allocations.hdp import HDPAllocation
from sparsetopics.learners.memoized import MemoizedState
from sparsetopics.moves.birth import bear_topics
from sparsetopics.moves.delete import delete_topics
from sparsetopics.moves.ledger import Ledger
from sparsetopics.moves.merge import merge_topics
from sparsetopics.moves.reorder import reorder_topics
from sparsetopics.moves.standing import MoveTally, Standing, Tools, refreshed

Move = Callable[[Standing, Tools], tuple[Standing, MoveTally]]

MOVES: Mapping[str, Move] = {
    "merge": merge_topics,
    "delete": delete_topics,
    "birth": bear_topics,
    "reorder": reorder_topics,
}


class PhaseResult(NamedTuple):
    state: MemoizedState
    allocation: HDPAllocation
    ledger: Ledger
    tallies: Mapping[str, MoveTally]


def make_moves(
    state: MemoizedState,
    allocation: HDPAllocation,
    word_concentration: float,
    ledger: Ledger,
    names: tuple[str, ...],
    tools: Tools,
) -> PhaseResult:
    """Make the moves of ``names`` in the family's order; topics are put in order last."""
    reference = allocation.doc_concentration
    standing = Standing(state, allocation, word_concentration, reference, ledger)
    standing = refreshed(standing, tools)
    tallies = {}
    for name, move in MOVES.items():
        if name in names or name == "reorder":
            standing, tallies[name] = move(standing, tools)
    return PhaseResult(standing.state, standing.allocation, standing.ledger, tallies)
