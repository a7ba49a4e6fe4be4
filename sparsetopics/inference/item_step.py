"""The local step of items: under any likelihood of items, to the components of a mixture.

The responsibilities are the exact optimum for the global parameters, so a step never lowers the
ELBO. Blocks of items always begin at the same places, so the bits do not depend on the workers.
The components that a mixture starts from are made here too, by hard assignments of a sample.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, Self, TypeVar, cast

import numpy as np

from sparsetopics.base.batches import FloatArray, IntArray, ItemBatch, Source, read_enough
from sparsetopics.execution.executors import Executor
from sparsetopics.inference.local_step import NOTHING, Former, Globals, LocalInfo, LocalResult
from sparsetopics.model.allocations.mixture import ItemAllocation, ItemTerms, sum_item_terms
from sparsetopics.model.item_assignment import assign, assign_batch
from sparsetopics.model.kd_tree import NodeBatch
from sparsetopics.model.likelihoods.likelihood import ItemLikelihood
from sparsetopics.model.likelihoods.scorers import V, V_contra
from sparsetopics.model.responsibilities import Responsibilities
from sparsetopics.model.statistics import B_contra, C, Components, P, Summary
from sparsetopics.options.training import LocalOptions


class ItemComponents(Components[B_contra, P], Protocol[B_contra, V_contra, P]):
    """Components of a mixture."""

    @property
    def features(self) -> FloatArray:
        """Rows to compare components by, (n_components, n_features)."""

    def sum_items(self, values: V_contra, found: Responsibilities, executor: Executor) -> Self:
        """Sum items with a row of ``found`` each, for the same number of components."""

    def take(self, topics: IntArray) -> Self:
        """The chosen components, in that order."""

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """The components of at least one part, one part after the other."""

    def renumbered(self, new_topics: IntArray, n_topics: int) -> Self:
        """Component k becomes ``new_topics[k]``, -1 leaves it out; equal numbers add up."""


K = TypeVar("K", bound="ItemComponents[Any, Any, Any]")  # of any items


def fit_items(
    batch: ItemBatch[V] | NodeBatch,
    current: Globals[C, P, ItemTerms],
    options: LocalOptions,
    executor: Executor,
    former: Former = NOTHING,
) -> LocalResult[P, ItemTerms]:
    """L-sparse responsibilities of all items of ``batch``, and what follows from them.

    ``former`` is not used: the step is exact from any start.
    """
    components, allocation = current.components, current.allocation
    assert isinstance(allocation, ItemAllocation), "of items"
    likelihood = cast("ItemLikelihood[V, C, P]", current.likelihood)
    log_weights = allocation.expected_log_weights
    n_slots = options.n_slots(len(log_weights))
    found, _ = assign_batch(batch, likelihood, components, log_weights, n_slots, executor)
    found = _without_zeros(found, n_slots)
    terms = sum_item_terms(batch, found, len(log_weights))
    summary = Summary(components.sum_batch(batch, found, executor), terms)
    return LocalResult(summary, found, LocalInfo(iterations=batch.n_docs))


def _without_zeros(found: Responsibilities, n_slots: int) -> Responsibilities:
    """Drop the components whose share rounds to zero."""
    is_used = found.shares > 0.0
    starts = np.append(0, np.cumsum(is_used.reshape(-1, n_slots).sum(axis=1)))
    return Responsibilities(starts, found.topics[is_used], found.shares[is_used])


def sample_items(
    source: Source[ItemBatch[V]], n_items: int, rng: np.random.Generator
) -> ItemBatch[V]:
    """Draw up to ``n_items`` items from as many random batches as are needed for them."""
    joined = read_enough(source, rng.permutation(source.n_batches).tolist(), n_items)
    return joined.take(np.sort(rng.permutation(joined.n_docs)[:n_items]))


def components_of(
    values: V,  # items
    seeds: IntArray,  # (n_components,)  positions of items
    likelihood: ItemLikelihood[V, K, P],
    n_rounds: int,
) -> K:
    """Assign all items to their best seed, then ``n_rounds`` − 1 times to the resulting components.

    A component without items keeps its seed. Assignments are hard, and sizes do not count.
    """
    executor = Executor()
    alone = likelihood.alone(values, seeds)
    own, even = alone, np.zeros(len(seeds))
    for _ in range(n_rounds):
        found, _ = assign(values, likelihood.prepare(own), even, 1, executor)
        own = own.sum_items(values, found, executor)
        filled = np.arange(len(seeds))
        filled[own.sizes == 0.0] += len(seeds)
        own = own.joined([own, alone]).take(filled)
    return own
