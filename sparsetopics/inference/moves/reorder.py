"""Reorder: topics in falling order of weight, as stick-breaking expects them."""

from __future__ import annotations

import numpy as np

from sparsetopics.inference.moves.standing import MoveTally, Standing, Tools, committed
from sparsetopics.model.assignments import TopicChange


def reorder_topics(standing: Standing, tools: Tools) -> tuple[Standing, MoveTally]:
    """Sort topics by weight if the score is higher so; only the weights' part of it changes."""
    order = np.argsort(-standing.allocation.weights, kind="stable")
    if np.array_equal(order, np.arange(standing.n_topics)):
        return standing, MoveTally(0, 0)
    new_topics, n_topics = np.argsort(order), len(order)
    terms = standing.terms.renumbered(new_topics, n_topics)
    allocation = standing.allocation.reordered(order).updated(terms)
    if allocation.elbo(terms) <= standing.allocation.elbo(standing.terms):
        return standing, MoveTally(1, 0)
    by_batch = {
        batch_id: kept.terms.renumbered(new_topics, n_topics)
        for batch_id, kept in standing.state.per_batch.items()
    }
    change = TopicChange(new_topics, {}, n_topics)
    evidence, reference = standing.evidence.take(order), standing.reference[order]
    return committed(standing, change, by_batch, allocation, reference, evidence), MoveTally(1, 1)
