"""Where components of a mixture start: seed items, drawn at random or far apart, and their own."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparsetopics.batches import FloatArray, IntArray, Vectors, VectorSource
from sparsetopics.executors import SerialExecutor
from sparsetopics.likelihoods.items import assign
from sparsetopics.likelihoods.moments import Moments
from sparsetopics.likelihoods.vectors import VectorLikelihood
from sparsetopics.responsibilities import Responsibilities

ITEMS_AT_ONCE = 64  # made a component each


def sample_items(source: VectorSource, n_items: int, rng: np.random.Generator) -> Vectors:
    """Some items (at most n_items, n_columns), of all of some batches."""
    found: list[Vectors] = []
    for batch_id in rng.permutation(source.n_batches):
        found.append(source.read(int(batch_id)).values)
        if sum(len(values) for values in found) >= n_items:
            break
    values = np.concatenate(found)
    chosen: Vectors = values[np.sort(rng.permutation(len(values))[:n_items])]
    return chosen


def components_of(
    values: Vectors,  # (n_items, n_columns)
    seeds: IntArray,  # (n_components,)  positions of items
    likelihood: VectorLikelihood[Any],
    n_rounds: int,
) -> Moments:
    """All items shared out to their best seed, then ``n_rounds`` − 1 times to what came of it.

    A component that none comes to keeps its seed. Assignments are hard, and sizes do not count.
    """
    executor = SerialExecutor()
    alone = moments_of_each(values[seeds], likelihood)
    own, even = alone, np.zeros(len(seeds))
    for _ in range(n_rounds):
        found = assign(values, likelihood.prepare(own), even, 1, executor).responsibilities
        own = own.sum_items(values, found, executor)
        empty = np.flatnonzero(own.counts == 0.0)
        for array, seed_array in zip(own[:3], alone[:3], strict=True):
            array[empty] = seed_array[empty]
    return own


def distant_items(
    values: Vectors,  # (n_items, n_columns)
    likelihood: VectorLikelihood[Any],
    n_seeds: int,
    rng: np.random.Generator,
) -> IntArray:
    """Positions of seeds far from each other, (n_seeds,) or as many as there are different items.

    The distance of an item from a seed is what the item's log density under a component made of the
    seed alone falls short of that under one made of the item itself: a Bregman divergence, drawn as
    in k-means++ (Banerjee et al. 2005; Arthur & Vassilvitskii 2007).
    """
    own = _own_log_densities(values, likelihood)
    chosen = [int(rng.integers(len(values)))]
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


def _own_log_densities(values: Vectors, likelihood: VectorLikelihood[Any]) -> FloatArray:
    """Of each item under a component made of it alone, (n_items,)."""
    found = np.empty(len(values))
    for low in range(0, len(values), ITEMS_AT_ONCE):
        some = values[low : low + ITEMS_AT_ONCE]
        scorer = likelihood.prepare(moments_of_each(some, likelihood))
        found[low : low + len(some)] = np.diag(scorer.log_densities(some))
    return found


def moments_of_each(values: Vectors, likelihood: VectorLikelihood[Any]) -> Moments:
    """A component for each item."""
    n_items = len(values)
    starts, topics = np.arange(n_items + 1), np.arange(n_items, dtype=np.uint32)
    alone = Responsibilities(starts, topics, np.ones(n_items, np.float32))
    zeros = likelihood.zeros(n_items)
    assert isinstance(zeros, Moments), "vectors have moments"
    return zeros.sum_items(values, alone, SerialExecutor())
