"""Merging to a number of topics that is given: the pairs that lose least, whatever they lose."""

from __future__ import annotations

import numpy as np

from sparsetopics.base.batches import IntArray
from sparsetopics.inference.moves import merge
from sparsetopics.inference.moves.evidence import sum_anew
from sparsetopics.inference.moves.standing import Standing, Tools, refreshed
from sparsetopics.model.assignments import TopicChange
from sparsetopics.model.statistics import Statistics

LAST_ROUND = 0.1  # of the number of topics: merged at once; of more, half and then a new plan


def merge_down(standing: Standing, tools: Tools, n_topics: int) -> Standing:
    """Merge the pairs that lose least until ``n_topics`` are left."""
    while standing.n_topics > n_topics:
        too_many = standing.n_topics - n_topics
        is_last = too_many <= LAST_ROUND * n_topics + 1
        pairs = merge.plan(standing, least=-np.inf)[: too_many if is_last else -(-too_many // 2)]
        standing = _merged(standing, pairs, tools)
    return standing


def _merged(standing: Standing, pairs: IntArray, tools: Tools) -> Standing:
    """With each of ``pairs`` as one topic, whether that raises the score or not."""
    number = np.arange(standing.n_topics)
    left = np.setdiff1d(number, pairs[:, 1])
    number[left] = np.arange(len(left))
    number[pairs[:, 1]] = number[pairs[:, 0]]
    allocation = standing.allocation
    for kept, absorbed in pairs[np.argsort(-pairs[:, 1])].tolist():
        allocation = allocation.merged(kept, absorbed)
    change = TopicChange(number, {}, len(left))
    merged = standing._replace(
        state=standing.state._replace(changes=(*standing.state.changes, change)),
        allocation=allocation,
        ledger=standing.ledger.renumbered(number, len(left)),
    )
    assignments = (each for _, each in merged.assignments())
    nothing = Statistics(standing.likelihood.zeros(len(left)), allocation.zero_terms())
    components = sum_anew(nothing.components, assignments, tools.executor)
    state = merged.state._replace(total=nothing._replace(components=components))
    return refreshed(merged._replace(state=state), tools)
