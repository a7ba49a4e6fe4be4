"""A phase of moves, after a lap: merges, deletes, births, and the order of topics."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sparsetopics.moves.birth import bear_topics
from sparsetopics.moves.delete import delete_topics
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
SETTLED_SHARE = 0.95  # of the topics before merges and deletes


def make_moves(
    standing: Standing, names: tuple[str, ...], tools: Tools
) -> tuple[Standing, Mapping[str, MoveTally]]:
    """Make the moves of ``names`` in the family's order; topics are put in order last.

    Births wait for a lap in which merges and deletes leave nearly all topics in place.
    """
    standing = refreshed(standing, tools)
    n_before = standing.n_topics
    tallies = {}
    for name, move in MOVES.items():
        settled = standing.n_topics >= SETTLED_SHARE * n_before
        if name == "reorder" or (name in names and (settled or name != "birth")):
            standing, tallies[name] = move(standing, tools)
    return standing, tallies
