"""The local step of items: under any likelihood of items, to the components of a mixture.

The responsibilities are the exact optimum for the global parameters, so a step never lowers the
ELBO. Blocks of items always lie in the same places: the bits do not depend on the workers.
"""

from __future__ import annotations

from typing import cast

import numpy as np

from sparsetopics.base.batches import FloatArray, ItemBatch
from sparsetopics.execution.executors import Executor
from sparsetopics.inference.local_step import Globals, LocalInfo, LocalResult
from sparsetopics.kernels import summaries as summary_kernels
from sparsetopics.model.allocations.mixture import sum_item_terms
from sparsetopics.model.item_assignment import assign_batch
from sparsetopics.model.likelihoods.likelihood import ItemLikelihood
from sparsetopics.model.responsibilities import Responsibilities
from sparsetopics.model.statistics import Summary
from sparsetopics.options.training import LocalOptions


def fit_items(
    batch: ItemBatch,
    current: Globals,
    expected_log_weights: FloatArray,  # (n_topics,)
    options: LocalOptions,
    executor: Executor,
) -> LocalResult:
    """L-sparse responsibilities of all items of ``batch``, and what follows from them."""
    likelihood = cast("ItemLikelihood", current.likelihood)
    n_slots = options.n_slots(len(expected_log_weights))
    components = current.components
    assigned = assign_batch(batch, likelihood, components, expected_log_weights, n_slots, executor)
    found = _without_zeros(assigned.responsibilities, n_slots)
    terms = sum_item_terms(batch, found, len(expected_log_weights))
    summary = Summary(current.components.sum_batch(batch, found, executor), terms)
    return LocalResult(summary, found, LocalInfo(0, 0, batch.n_docs))


def _without_zeros(found: Responsibilities, n_slots: int) -> Responsibilities:
    """Components that round to nothing are not used."""
    shape = len(found.shares) // n_slots, n_slots
    compact = summary_kernels.compact(
        found.topics.reshape(shape), found.shares.reshape(shape).astype(np.float64)
    )
    return Responsibilities(*compact)
