"""A phase of moves after a lap: merges, deletes, a rival with births or culls, reordering."""

from __future__ import annotations

import numpy as np

from sparsetopics.inference.moves.ledger import Ledger
from sparsetopics.inference.moves.rival import Phase, Rival, RivalPlan
from sparsetopics.inference.moves.standing import Made, MoveTally, Standing
from sparsetopics.inference.moves.trimming import make_move, may_trim, trim_topics
from sparsetopics.model.assignments import TopicChange
from sparsetopics.model.statistics import B, C, P, T, renumbered
from sparsetopics.options.registry import RIVALS, imported

FEWER = "cull"  # the kind of rival to try next after a successful merge or delete
SETTLED_SHARE = 0.95  # of the topics must survive merges and deletes before a rival is entered


def make_moves(
    standing: Standing[B, C, P, T], rival: Rival[B, C, P, T] | None, names: tuple[str, ...]
) -> Phase[B, C, P, T]:
    """Make the moves of ``names``; ``rival`` is one that an earlier phase has entered.

    Scores are computed only if a move needs them, so the standing may come back without one.
    """
    is_due = not is_exhausted(standing.ledger, names) if rival is None else rival.needs_scores
    if not is_due and not may_trim(standing, names):
        return Phase(standing, None, {}) if rival is None else rival.advanced(standing)
    standing = standing.refreshed()
    n_before = standing.n_topics
    standing, tallies = trim_topics(standing, names)
    if rival is None and standing.n_topics >= SETTLED_SHARE * n_before:
        if standing.n_topics < n_before:
            standing = standing._replace(ledger=standing.ledger._replace(preferred=FEWER))
        standing, rival = _challenged(standing, names)
    if rival is not None:
        standing, rival, decided = rival.advanced(standing)
        tallies.update(decided)
    standing, tallies["reorder"] = make_move("reorder", reorder_topics, standing)
    return Phase(standing, rival, tallies)


def is_exhausted(ledger: Ledger, names: tuple[str, ...]) -> bool:
    """Whether every kind of rival was refused since the last one was accepted."""
    return not any(_may_challenge(kind, ledger, names) for kind in RIVALS)


def _may_challenge(kind: str, ledger: Ledger, names: tuple[str, ...]) -> bool:
    """Whether the options ask for a kind of rival that was not yet refused too often."""
    rival = RIVALS[kind]
    return (rival.option or kind) in names and ledger.n_refusals(kind) < rival.most_refusals


def _challenged(
    standing: Standing[B, C, P, T], names: tuple[str, ...]
) -> tuple[Standing[B, C, P, T], Rival[B, C, P, T] | None]:
    """Enter a rival of the kind that last succeeded, or of another if that was refused."""
    preferred = standing.ledger.preferred
    for kind in sorted(RIVALS, key=lambda kind: kind != preferred):
        while _may_challenge(kind, ledger := standing.ledger, names):
            planned: RivalPlan[B, C, T] | None = imported(RIVALS[kind].where)(standing)
            if planned is None:
                standing = standing._replace(ledger=ledger.refused(kind, standing.n_topics))
                continue
            if ledger.lap + planned.course.judged_from - 1 > standing.tools.last_lap:
                return standing, None  # training ends before the scores could be compared
            return standing, Rival.entered(standing, kind, planned)
    return standing, None


def reorder_topics(standing: Standing[B, C, P, T]) -> Made[B, C, P, T]:
    """Sort topics by falling weight, as stick-breaking expects, if that raises the score.

    Only the weights' part of the score changes.
    """
    order = np.argsort(-standing.allocation.weights, kind="stable")
    if np.array_equal(order, np.arange(standing.n_topics)):
        return standing, MoveTally(0, 0)
    new_topics, n_topics = np.argsort(order), len(order)
    terms = renumbered(standing.terms, new_topics, n_topics)
    allocation = standing.allocation.reordered(order).updated(terms)
    if allocation.elbo(terms) <= standing.allocation.elbo(standing.terms):
        return standing, MoveTally(1, 0)
    by_batch = standing.renumbered_terms(new_topics, n_topics)
    change = TopicChange(new_topics, {}, n_topics)
    evidence, reference = standing.evidence.take(order), standing.reference[order]
    return standing.committed(change, by_batch, allocation, reference, evidence), MoveTally(1, 1)
