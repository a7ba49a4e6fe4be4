"""Trimming: merges and deletes, tried after a lap on the topics of a collection or of its rival.

A move that failed altogether pauses for some laps, longer each time (``Ledger``). Once topics have
settled, laps therefore take hardly longer than without moves.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from sparsetopics.inference.moves.standing import Made, MoveTally, Standing
from sparsetopics.model.statistics import B, C, P, T
from sparsetopics.options.registry import TRIMS, imported

VERIFIED_TO = 1e-8  # relative difference of scores


def trim_topics(
    standing: Standing[B, C, P, T], names: Collection[str]
) -> tuple[Standing[B, C, P, T], dict[str, MoveTally]]:
    """Make merges, then deletes, if they are among ``names`` and not paused."""
    tallies = {}
    for name, kind in TRIMS.items():
        n_topics = standing.n_topics
        if name not in names or not standing.ledger.may_try(name, n_topics):
            continue
        standing, tallies[name] = make_move(name, imported(kind.where), standing)
        ledger = standing.ledger
        failed = tallies[name].accepted == 0
        ledger = ledger.refused(name, n_topics) if failed else ledger.succeeded(name)
        standing = standing._replace(ledger=ledger)
    return standing, tallies


def may_trim(standing: Standing[B, C, P, T], names: Collection[str]) -> bool:
    """Whether any of the moves among ``names`` is not paused."""
    return any(name in names and standing.ledger.may_try(name, standing.n_topics) for name in TRIMS)


def make_move(
    name: str,
    move: Callable[[Standing[B, C, P, T]], Made[B, C, P, T]],
    standing: Standing[B, C, P, T],
) -> Made[B, C, P, T]:
    """Try a move, and verify it if the options say so."""
    after, tally = move(standing)
    if standing.tools.verify:
        verify_move(name, standing, after)
    return after, tally


def verify_move(name: str, before: Standing[B, C, P, T], after: Standing[B, C, P, T]) -> None:
    """Raise AssertionError unless the move ``name`` kept its promises.

    The score of the statistics must equal that of the assignments. It must not fall, and it must
    rise if the number of topics does.
    """
    exact = after.recomputed_score()
    evidence = after.evidence.with_components(after.evidence.components)
    for found in (after.score, after._replace(known_evidence=evidence).score):
        if abs(found - exact) > VERIFIED_TO * abs(exact):
            raise AssertionError(f"{name}: score {found!r} of the statistics, {exact!r} exactly")
    worse = after.score < before.score - VERIFIED_TO * abs(before.score)
    if worse or (after.n_topics > before.n_topics and after.score <= before.score):
        raise AssertionError(f"{name}: score {before.score!r} before, {after.score!r} after")
