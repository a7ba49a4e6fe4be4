"""Children of components of a mixture: a small mixture of their own items, fitted hard."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sparsetopics.inference.item_starts import components_of
from sparsetopics.inference.moves.families import Families
from sparsetopics.model.assignments import Assignments
from sparsetopics.model.likelihoods.likelihood import ItemLikelihood

FEWEST_ITEMS = 2  # of the sample for each child
SEED_CANDIDATES = 200  # items of a sample that may be seeds (samples are in random batches)
ROUNDS = 5  # of the small mixture


def divide_items(
    components: Any,
    likelihood: ItemLikelihood[Any, Any, Any],
    samples: Mapping[int, Assignments],
    n_children: int,
    rng: np.random.Generator,
) -> Families:
    """Children of each component that has a sample of enough items."""
    parts, parents = [], []
    for topic in range(components.n_topics):
        mine = components.take(np.array([topic]))
        if topic in samples and samples[topic].documents.n_docs >= FEWEST_ITEMS * n_children:
            values = samples[topic].documents.values
            seeds = likelihood.distant_seeds(values[:SEED_CANDIDATES], n_children, rng)
            children = components_of(values, seeds, likelihood, ROUNDS)
            mine = children.scaled(mine.counts[0] / children.counts.sum())
        parts.append(mine)
        parents.append(np.full(mine.n_topics, topic))
    return Families(components.joined(parts), np.concatenate(parents))
