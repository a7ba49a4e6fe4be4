"""Verification: after a move, everything is computed anew from the assignments and compared."""

from __future__ import annotations

from functools import reduce

from sparsetopics.inference.moves.evidence import sum_anew
from sparsetopics.inference.moves.standing import Standing, Tools, gather
from sparsetopics.model.statistics import added

TOLERANCE = 1e-8  # relative


def verify_move(name: str, before: Standing, after: Standing, tools: Tools) -> None:
    """Raise AssertionError unless the move ``name`` kept its promises.

    The score of the statistics is that of the assignments, it is no lower than it was, and higher
    if there are more topics.
    """
    exact = recomputed_score(after, tools)
    for found in (after.score, after._replace(known_evidence=after.evidence.fresh()).score):
        if abs(found - exact) > TOLERANCE * abs(exact):
            raise AssertionError(f"{name}: score {found!r} of the statistics, {exact!r} exactly")
    worse = after.score < before.score - TOLERANCE * abs(before.score)
    if worse or (after.n_topics > before.n_topics and after.score <= before.score):
        raise AssertionError(f"{name}: score {before.score!r} before, {after.score!r} after")


def recomputed_score(standing: Standing, tools: Tools) -> float:
    """ELBO or collapsed criterion in nats, from the assignments of all batches."""
    batches = [assignments for _, assignments in standing.assignments()]
    components = sum_anew(standing.state.total.components, batches, tools.executor)
    gathering = gather(components, standing.likelihood, tools.criterion)
    allocation, reference = standing.allocation, standing.reference
    for assignments in batches:
        gathering.add(assignments, reference)
    sums = [allocation.sum_terms(each, reference, tools.executor) for each in batches]
    terms = reduce(added, sums)
    return float(gathering.done().by_topic.sum()) + allocation.elbo(terms)
