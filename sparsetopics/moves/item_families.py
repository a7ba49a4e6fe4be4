"""Children of components of a mixture: a small mixture of their own items, fitted hard."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sparsetopics.assignments import Assignments
from sparsetopics.batches import FloatArray, IntArray, Vectors
from sparsetopics.executors import SerialExecutor
from sparsetopics.likelihoods.items import assign
from sparsetopics.likelihoods.moments import Moments
from sparsetopics.likelihoods.vectors import VectorLikelihood
from sparsetopics.moves.families import Families
from sparsetopics.responsibilities import Responsibilities

FEWEST_ITEMS = 2  # of the sample for each child
SEED_CANDIDATES = 200  # items of a sample that may be seeds
ROUNDS = 5  # of the small mixture


def divide_items(
    moments: Moments,
    likelihood: VectorLikelihood[Any],
    samples: Mapping[int, Assignments],
    n_children: int,
    rng: np.random.Generator,
) -> Families:
    """Children of each component that has a sample of enough items."""
    parts, parents = [], []
    for topic in range(moments.n_topics):
        mine = moments.take(np.array([topic]))
        if topic in samples and samples[topic].documents.n_docs >= FEWEST_ITEMS * n_children:
            values = samples[topic].documents.values
            children = small_mixture(values, likelihood, n_children, rng)
            mine = children.scaled(mine.counts[0] / len(values))
        parts.append(mine)
        parents.append(np.full(mine.n_topics, topic))
    counts, sums, squares = (
        np.concatenate(arrays) for arrays in zip(*(part[:3] for part in parts), strict=True)
    )
    return Families(Moments(counts, sums, squares, moments.origin), np.concatenate(parents))


def small_mixture(
    values: Vectors,  # (n_items, n_columns)
    likelihood: VectorLikelihood[Any],
    n_components: int,
    rng: np.random.Generator,
) -> Moments:
    """Moments of ``values``, divided among at most so many components by hard assignment."""
    executor = SerialExecutor()
    own = _moments_of_each(values[distant_items(values, likelihood, n_components, rng)], likelihood)
    for _ in range(ROUNDS):
        even = np.zeros(own.n_topics)
        found = assign(values, likelihood.prepare(own), even, 1, executor).responsibilities
        own = own.sum_items(values, found, executor)
        own = own.take(np.flatnonzero(own.counts > 0.0))
    return own


def distant_items(
    values: Vectors,  # (n_items, n_columns)
    likelihood: VectorLikelihood[Any],
    n_seeds: int,
    rng: np.random.Generator,
) -> IntArray:
    """Positions of seeds far from each other (n_seeds,), at most as many as there are items.

    The distance of an item from a seed is what the item's log density under a component made of the
    seed alone falls short of that under one made of the item itself: a Bregman divergence, drawn as
    in k-means++ (Banerjee et al. 2005; Arthur & Vassilvitskii 2007).
    """
    some = np.sort(rng.permutation(len(values))[:SEED_CANDIDATES])
    candidates = values[some]
    alone = likelihood.prepare(_moments_of_each(candidates, likelihood))
    log_densities = alone.log_densities(candidates).astype(np.float64)
    distances: FloatArray = np.maximum(np.diag(log_densities)[:, None] - log_densities, 0.0)
    chosen = [int(rng.integers(len(some)))]
    while len(chosen) < min(n_seeds, len(some)):
        nearest = distances[:, chosen].min(axis=1)
        nearest[chosen] = 0.0
        total = nearest.sum()
        if total == 0.0:  # all others equal one that is chosen
            break
        chosen.append(int(rng.choice(len(some), p=nearest / total)))
    return some[chosen]


def _moments_of_each(values: Vectors, likelihood: VectorLikelihood[Any]) -> Moments:
    """A component for each item."""
    n_items = len(values)
    starts, topics = np.arange(n_items + 1), np.arange(n_items, dtype=np.uint32)
    alone = Responsibilities(starts, topics, np.ones(n_items, np.float32))
    return _zeros(likelihood, n_items).sum_items(values, alone, SerialExecutor())


def _zeros(likelihood: VectorLikelihood[Any], n_components: int) -> Moments:
    moments = likelihood.zeros(n_components)
    assert isinstance(moments, Moments), "vectors have moments"
    return moments
