"""Merges and deletes: what is tried on the topics of a collection, or of its rival, after a lap.

A move that was wholly in vain pauses for some laps, the longer the more often (``Ledger``): once
topics have settled, laps cost hardly more than without moves.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from sparsetopics.inference.moves.standing import MoveTally, Standing, Tools
from sparsetopics.inference.moves.verify import verify_move
from sparsetopics.options.registry import TRIMS, things_of
from sparsetopics.options.table import DEFAULT_MOVES

Move = Callable[[Standing, Tools], tuple[Standing, MoveTally]]
MOVES: Mapping[str, Move] = things_of(TRIMS)


def trim_topics(
    standing: Standing, names: Collection[str], tools: Tools
) -> tuple[Standing, dict[str, MoveTally]]:
    """Merges, then deletes, if they are among ``names`` and not paused."""
    tallies = {}
    for name, move in MOVES.items():
        n_topics = standing.n_topics
        if name not in names or not standing.ledger.may_try(name, n_topics):
            continue
        standing, tallies[name] = make_move(name, move, standing, tools)
        ledger = standing.ledger
        was_in_vain = tallies[name].accepted == 0
        ledger = ledger.refused(name, n_topics) if was_in_vain else ledger.succeeded(name)
        standing = standing._replace(ledger=ledger)
    return standing, tallies


def may_trim(standing: Standing, names: Collection[str]) -> bool:
    """Whether any of the moves among ``names`` is not paused."""
    return any(name in names and standing.ledger.may_try(name, standing.n_topics) for name in MOVES)


def trim_whole(standing: Standing, tools: Tools) -> Standing:
    """What the usual moves leave, whichever were asked for."""
    return trim_topics(standing, DEFAULT_MOVES, tools)[0]


def make_move(
    name: str, move: Move, standing: Standing, tools: Tools
) -> tuple[Standing, MoveTally]:
    """Try a move, verified if that is wanted."""
    after, tally = move(standing, tools)
    if tools.verify:
        verify_move(name, standing, after, tools)
    return after, tally
