"""A phase of moves, after a lap: merges, deletes, a rival with births or culls, the order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from sparsetopics.inference.moves.ledger import Ledger
from sparsetopics.inference.moves.reorder import reorder_topics
from sparsetopics.inference.moves.rival import Candidate, Rival, advanced, entered
from sparsetopics.inference.moves.standing import MoveTally, Standing, Tools, refreshed
from sparsetopics.inference.moves.trimming import make_move, may_trim, trim_topics
from sparsetopics.inference.moves.verify import verify_move
from sparsetopics.options.registry import RIVALS, things_of

FEWER = "cull"  # tried next where merges or deletes were right
SETTLED_SHARE = 0.95  # of the topics before merges and deletes must be left to try others

Plan = Callable[[Standing, Tools], Candidate | None]
PLANS: Mapping[str, Plan] = things_of(RIVALS)


class Phase(NamedTuple):
    """Where a phase of moves has left the collection."""

    standing: Standing
    rival: Rival | None
    tallies: Mapping[str, MoveTally]


def make_moves(
    standing: Standing, rival: Rival | None, names: tuple[str, ...], tools: Tools
) -> Phase:
    """Make the moves of ``names``; ``rival`` is one that an earlier phase has entered.

    Nothing is computed that no move asks for: the standing may come back without its score.
    """
    if not _is_judged(standing, rival, names):
        return _advanced(standing, rival, tools)
    standing = refreshed(standing, tools)
    n_before = standing.n_topics
    standing, tallies = trim_topics(standing, names, tools)
    if rival is None and standing.n_topics >= SETTLED_SHARE * n_before:
        if standing.n_topics < n_before:
            standing = standing._replace(ledger=standing.ledger.preferring(FEWER))
        standing, rival = _challenged(standing, names, tools)
    standing, rival, verdict = _advanced(standing, rival, tools)
    standing, reordered = make_move("reorder", reorder_topics, standing, tools)
    return Phase(standing, rival, {**tallies, **verdict, "reorder": reordered})


def _is_judged(standing: Standing, rival: Rival | None, names: tuple[str, ...]) -> bool:
    if may_trim(standing, names):
        return True
    if rival is not None:
        return rival.needs_scores
    return not is_exhausted(standing.ledger, names)


def _advanced(standing: Standing, rival: Rival | None, tools: Tools) -> Phase:
    """A lap of the rival if there is one; its tally, in topics, if it is decided."""
    if rival is None:
        return Phase(standing, None, {})
    verdict = advanced(standing, rival, tools)
    if verdict.rival is not None:
        return Phase(standing, verdict.rival, {})
    if not verdict.replaced:
        return Phase(verdict.standing, None, {rival.move: MoveTally(1, 0)})
    if tools.verify:
        verify_move(rival.move, standing, verdict.standing, tools)
    ledger = verdict.standing.ledger.preferring(rival.move)
    change = max(1, abs(verdict.standing.n_topics - standing.n_topics))
    tally = MoveTally(change, change)
    return Phase(verdict.standing._replace(ledger=ledger), None, {rival.move: tally})


def is_exhausted(ledger: Ledger, names: tuple[str, ...]) -> bool:
    """Whether every kind of rival has been refused since the topics were last replaced."""
    return not any(_may_challenge(kind, ledger, names) for kind in PLANS)


def _may_challenge(kind: str, ledger: Ledger, names: tuple[str, ...]) -> bool:
    """Whether rivals of a kind are asked for and not yet refused too often."""
    rival = RIVALS[kind]
    return (rival.option or kind) in names and ledger.n_refusals(kind) < rival.most_refusals


def _challenged(
    standing: Standing, names: tuple[str, ...], tools: Tools
) -> tuple[Standing, Rival | None]:
    """Enter a rival of the kind that was last right, or of the other if that was refused."""
    ledger = standing.ledger
    for kind, plan in sorted(PLANS.items(), key=lambda item: item[0] != ledger.preferred):
        if not _may_challenge(kind, ledger, names):
            continue
        candidate = plan(standing, tools)
        if candidate is None:
            return standing._replace(ledger=ledger.refused(kind, standing.n_topics)), None
        if ledger.lap + candidate.course.judged_from - 1 > tools.last_lap:
            return standing, None  # there would be no verdict
        return standing, entered(standing, kind, candidate, tools)
    return standing, None
