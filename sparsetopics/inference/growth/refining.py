"""Refinement of the tree: nodes are divided where their children would differ in responsibilities.

Under the same global parameters the ELBO of a node's items is n_A log Σ_k exp W_Ak. Divided, each
half finds its own optimum, so the ELBO never falls, and by how much it rises is known from the
means of the halves alone.
"""

from __future__ import annotations

from typing import Any, NamedTuple, cast

import numpy as np

from sparsetopics.base.batches import FloatArray, IntArray
from sparsetopics.execution.executors import Executor
from sparsetopics.inference.growth.outer_source import OuterSource
from sparsetopics.inference.local_step import Globals
from sparsetopics.model.allocations.nested import NestedAllocation
from sparsetopics.model.item_assignment import assign_batch
from sparsetopics.options.training import LocalOptions


class Refinement(NamedTuple):
    """Which outer nodes to divide."""

    positions: IntArray  # (n_nodes,)
    gained: float  # nats
    left: float  # nats that dividing all others once would gain


def plan_refinement(
    source: OuterSource,
    current: Globals,
    enough: float,  # nats that may be left
    local: LocalOptions,
    executor: Executor,
) -> Refinement:
    """As few nodes as leave ``enough`` at most."""
    gains = division_gains(source, current, local, executor)
    order = np.argsort(-gains, kind="stable")
    left = gains.sum() - np.cumsum(gains[order])
    n_divided = 0 if gains.sum() <= enough else 1 + int(np.argmax(left <= enough))
    positions = np.sort(order[:n_divided])
    positions = positions[gains[positions] > 0.0]
    gained = float(gains[positions].sum())
    return Refinement(positions, gained, float(gains.sum()) - gained)


def division_gains(
    source: OuterSource, current: Globals, local: LocalOptions, executor: Executor
) -> FloatArray:
    """What dividing each outer node alone would add to the ELBO, (n_nodes,), in nats."""
    batch = source.read(0)
    below, parents = source.children(np.arange(batch.n_docs))
    worth = node_worth(below, current, local, executor)
    halves: FloatArray = np.bincount(parents, worth, batch.n_docs).astype(np.float64)
    return np.maximum(halves - node_worth(batch, current, local, executor), 0.0)


def node_worth(batch: Any, current: Globals, local: LocalOptions, executor: Executor) -> FloatArray:
    """n_A log Σ_k exp W_Ak over the best components, (n_nodes,), in nats."""
    log_weights = cast(NestedAllocation, current.allocation).expected_log_weights
    n_slots = local.n_slots(len(log_weights))
    found = assign_batch(
        batch, cast(Any, current.likelihood), current.components, log_weights, n_slots, executor
    )
    worth: FloatArray = batch.weights * found.log_totals
    return worth
