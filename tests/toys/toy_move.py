"""Moves as someone would add them: the smallest topic goes; neighbours change places."""

from __future__ import annotations

import numpy as np

from sparsetopics.inference.moves.rival import Rival, RivalRules
from sparsetopics.inference.moves.standing import MoveTally, Standing
from sparsetopics.model.assignments import TopicChange
from sparsetopics.model.statistics import renumbered


def plan_drop(standing: Standing, move: str) -> Rival | None:
    """A rival: the collection without its smallest topic."""
    n_topics = standing.n_topics
    if n_topics == 1:
        return None
    kept = np.delete(np.arange(n_topics), np.argmin(standing.sizes))
    course = RivalRules(1, n_topics - 1, trimmed_from=1, judged_from=1)
    components = standing.evidence.take(kept).components
    return Rival.of(standing, move, components, standing.allocation.restricted(kept), course)


def swap_neighbours(standing: Standing) -> tuple[Standing, MoveTally]:
    """Two topics of which the second is the larger in the other order, if that raises the score."""
    n_topics, order = standing.n_topics, np.arange(standing.n_topics)
    rising = np.flatnonzero(np.diff(standing.sizes) > 0.0)
    if len(rising) == 0:
        return standing, MoveTally(0, 0)
    order[rising[0] : rising[0] + 2] = order[rising[0] : rising[0] + 2][::-1]
    terms = standing.renumbered_terms(order, n_topics)
    allocation = standing.allocation.reordered(order)
    allocation = allocation.updated(renumbered(standing.terms, order, n_topics))
    evidence, reference = standing.evidence.take(order), standing.reference[order]
    change = TopicChange(order, {}, n_topics)
    swapped = standing.committed(change, terms, allocation, reference, evidence)
    is_better = swapped.score > standing.score
    return (swapped if is_better else standing), MoveTally(1, int(is_better))
