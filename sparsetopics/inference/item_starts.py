"""Where components of a mixture start: a sample of items, shared out to seeds among them."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparsetopics.base.batches import IntArray, Source
from sparsetopics.execution.executors import SerialExecutor
from sparsetopics.model.item_assignment import assign
from sparsetopics.model.likelihoods.likelihood import ItemLikelihood


def sample_items(source: Source, n_items: int, rng: np.random.Generator) -> Any:
    """Some items, at most ``n_items``, of all of some batches: vectors or documents, as rows."""
    found: list[Any] = []
    for batch_id in rng.permutation(source.n_batches):
        found.append(source.read(int(batch_id)))
        if sum(batch.n_docs for batch in found) >= n_items:
            break
    values = type(found[0]).joined(found).values
    return values[np.sort(rng.permutation(len(values))[:n_items])]


def components_of(
    values: Any,  # items
    seeds: IntArray,  # (n_components,)  positions of items
    likelihood: ItemLikelihood[Any, Any, Any],
    n_rounds: int,
) -> Any:
    """All items shared out to their best seed, then ``n_rounds`` − 1 times to what came of it.

    A component that none comes to keeps its seed. Assignments are hard, and sizes do not count.
    """
    executor = SerialExecutor()
    alone = likelihood.alone(values, seeds)
    own, even = alone, np.zeros(len(seeds))
    for _ in range(n_rounds):
        found = assign(values, likelihood.prepare(own), even, 1, executor).responsibilities
        own = own.sum_items(values, found, executor)
        filled = np.arange(len(seeds))
        filled[own.counts == 0.0] += len(seeds)
        own = own.joined([own, alone]).take(filled)
    return own
