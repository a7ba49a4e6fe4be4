"""Items that components of vectors start from: far apart, and as components of their own."""

from __future__ import annotations

import numpy as np

from sparsetopics.base.batches import FloatArray, IntArray, Vectors
from sparsetopics.execution.executors import SerialExecutor
from sparsetopics.model.likelihoods.moments import Moments
from sparsetopics.model.likelihoods.vectors import VectorLikelihood
from sparsetopics.model.responsibilities import Responsibilities

ITEMS_AT_ONCE = 64  # made a component each


def distant_items(
    values: Vectors,  # (n_items, n_columns)
    likelihood: VectorLikelihood,
    n_seeds: int,
    rng: np.random.Generator,
) -> IntArray:
    """Positions of seeds far from each other, (n_seeds,) or as many as there are different items.

    The distance of an item from a seed is what the item's log density under a component made of the
    seed alone falls short of that under one made of the item itself: a Bregman divergence, drawn as
    in k-means++ (Banerjee et al. 2005; Arthur & Vassilvitskii 2007).
    """
    chosen = [int(rng.integers(len(values)))]
    if n_seeds == 1:
        return np.array(chosen)
    own = _own_log_densities(values, likelihood)
    nearest = np.full(len(values), np.inf)
    while True:
        seed = moments_of_each(values[chosen[-1:]], likelihood)
        log_densities = likelihood.prepare(seed).log_densities(values)[:, 0]
        nearest = np.minimum(nearest, np.maximum(own - log_densities, 0.0))
        nearest[chosen[-1]] = 0.0
        total = nearest.sum()
        if len(chosen) == n_seeds or total == 0.0:
            return np.array(chosen)
        chosen.append(int(rng.choice(len(values), p=nearest / total)))


def _own_log_densities(values: Vectors, likelihood: VectorLikelihood) -> FloatArray:
    """Of each item under a component made of it alone, (n_items,)."""
    found = np.empty(len(values))
    for low in range(0, len(values), ITEMS_AT_ONCE):
        some = values[low : low + ITEMS_AT_ONCE]
        scorer = likelihood.prepare(moments_of_each(some, likelihood))
        found[low : low + len(some)] = np.diag(scorer.log_densities(some))
    return found


def moments_of_each(values: Vectors, likelihood: VectorLikelihood) -> Moments:
    """A component for each item."""
    n_items = len(values)
    starts, topics = np.arange(n_items + 1), np.arange(n_items, dtype=np.uint32)
    alone = Responsibilities(starts, topics, np.ones(n_items, np.float32))
    return likelihood.zeros(n_items).sum_items(values, alone, SerialExecutor())
