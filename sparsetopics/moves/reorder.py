"""Reorder: topics in falling order of weight, as stick-breaking expects them."""

from __future__ import annotations

import numpy as np

from sparsetopics.assignments import TopicChange
from sparsetopics.batches import IntArray
from sparsetopics.moves.standing import MoveTally, Standing, Tools, committed


def reorder_topics(standing: Standing, tools: Tools) -> tuple[Standing, MoveTally]:
    """Sort topics by weight if the ELBO is higher so."""
    order = np.argsort(-standing.allocation.weights, kind="stable")
    if np.array_equal(order, np.arange(standing.n_topics)):
        return standing, MoveTally(0, 0)
    sorted_standing = _sorted(standing, order)
    if sorted_standing.score > standing.score:
        return sorted_standing, MoveTally(1, 1)
    return standing, MoveTally(1, 0)


def _sorted(standing: Standing, order: IntArray) -> Standing:
    new_topics = np.argsort(order)
    n_topics = len(order)
    terms = {
        batch_id: kept.terms.renumbered(new_topics, n_topics)
        for batch_id, kept in standing.state.per_batch.items()
    }
    allocation = standing.allocation.reordered(order)
    allocation = allocation.updated(standing.terms.renumbered(new_topics, n_topics))
    change = TopicChange(new_topics, {}, n_topics)
    evidence = standing.evidence.take(order)
    return committed(standing, change, terms, allocation, standing.reference[order], evidence)
