"""A phase of moves, after a lap: merges, deletes, a rival with births or culls, the order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from sparsetopics.moves import birth, cull
from sparsetopics.moves.ledger import Ledger
from sparsetopics.moves.reorder import reorder_topics
from sparsetopics.moves.rival import Candidate, Rival, advanced, entered
from sparsetopics.moves.standing import MoveTally, Standing, Tools, refreshed
from sparsetopics.moves.trimming import make_move, trim_topics
from sparsetopics.moves.verify import verify_move

SETTLED_SHARE = 0.95  # of the topics before merges and deletes must be left to try others

Plan = Callable[[Standing, Tools], Candidate | None]
PLANS: Mapping[str, Plan] = {birth.NAME: birth.plan_birth, cull.NAME: cull.plan_cull}
OPTION_OF = {birth.NAME: "birth", cull.NAME: "delete"}  # a cull is a delete of many
MOST_REFUSALS = {birth.NAME: 1, cull.NAME: len(cull.SHARES)}


class Phase(NamedTuple):
    """Where a phase of moves has left the collection."""

    standing: Standing
    rival: Rival | None
    tallies: Mapping[str, MoveTally]


def make_moves(
    standing: Standing, rival: Rival | None, names: tuple[str, ...], tools: Tools
) -> Phase:
    """Make the moves of ``names``; ``rival`` is one that an earlier phase has entered."""
    standing = refreshed(standing, tools)
    n_before = standing.n_topics
    standing, tallies = trim_topics(standing, names, tools)
    if rival is None and standing.n_topics >= SETTLED_SHARE * n_before:
        if standing.n_topics < n_before:
            standing = standing._replace(ledger=standing.ledger.preferring(cull.NAME))
        standing, rival = _challenged(standing, names, tools)
    if rival is not None:
        kind, n_topics = rival.move, standing.n_topics
        standing, rival = _advanced(standing, rival, tools)
        if rival is None:
            change = abs(standing.n_topics - n_topics)
            tallies[kind] = MoveTally(max(change, 1), change)
    standing, tallies["reorder"] = make_move("reorder", reorder_topics, standing, tools)
    return Phase(standing, rival, tallies)


def _advanced(standing: Standing, rival: Rival, tools: Tools) -> tuple[Standing, Rival | None]:
    verdict = advanced(standing, rival, tools)
    if not verdict.replaced:
        return verdict.standing, verdict.rival
    if tools.verify:
        verify_move(rival.move, standing, verdict.standing, tools)
    ledger = verdict.standing.ledger.preferring(rival.move)
    return verdict.standing._replace(ledger=ledger), None


def is_exhausted(ledger: Ledger, names: tuple[str, ...]) -> bool:
    """Whether every kind of rival has been refused since the topics were last replaced."""
    return all(
        ledger.n_refusals(kind) >= MOST_REFUSALS[kind] for kind in PLANS if OPTION_OF[kind] in names
    )


def _challenged(
    standing: Standing, names: tuple[str, ...], tools: Tools
) -> tuple[Standing, Rival | None]:
    """Enter a rival of the kind that was last right, or of the other if that was refused."""
    ledger = standing.ledger
    for kind, plan in sorted(PLANS.items(), key=lambda item: item[0] != ledger.preferred):
        if OPTION_OF[kind] not in names or ledger.n_refusals(kind) >= MOST_REFUSALS[kind]:
            continue
        candidate = plan(standing, tools)
        if candidate is not None:
            return standing, entered(standing, kind, candidate, tools)
        return standing._replace(ledger=ledger.refused(kind, standing.n_topics)), None
    return standing, None
