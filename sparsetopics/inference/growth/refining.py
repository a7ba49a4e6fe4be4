"""Refinement of the tree: nodes are divided if their children would differ in responsibilities.

Under given global parameters, the ELBO of a node's items is n_A log Σ_k exp W_Ak. If the node is
divided, each half finds its own optimum, so the ELBO never falls. The rise is known from the means
of the halves alone.

What the whole tree costs is more than its nodes could gain by one division, for a node may hold
items of two components although its halves look alike. That is found from the items of some nodes.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sparsetopics.base.batches import FloatArray, IntArray, VectorBatch
from sparsetopics.execution.executors import Executor
from sparsetopics.inference.learners.accelerated import MomentGlobals, Nodes
from sparsetopics.inference.local_step import Parameters
from sparsetopics.model.allocations.mixture import ItemTerms
from sparsetopics.model.allocations.mixture_weights import NestedAllocation
from sparsetopics.model.item_assignment import assign_batch
from sparsetopics.model.kd_tree import LeafSource, NodeSource
from sparsetopics.model.likelihoods.moments import Moments
from sparsetopics.model.likelihoods.vector_likelihood import VectorLikelihood
from sparsetopics.options.training import LocalOptions

SAMPLE_ITEMS = 50_000  # at least, if there are as many, from which the cost of nodes is estimated
OuterSource = LeafSource | NodeSource  # all items in one batch, alone or as nodes of a tree
MomentParameters = Parameters[Moments, Moments, ItemTerms]
Worth = Callable[[Nodes], FloatArray]  # ``node_worth`` under some parameters


def plan_refinement(
    source: OuterSource,
    worth: Worth,
    enough: float,  # nats that may be left
) -> IntArray:
    """The positions of the fewest nodes to divide so that at most ``enough`` is left to gain.

    They are fewer, those of the largest gains, if the source has room for fewer.
    """
    gains = division_gains(source, worth)
    order = np.argsort(-gains, kind="stable")
    left = gains.sum() - np.cumsum(gains[order])
    n_divided = 0 if gains.sum() <= enough else 1 + int(np.argmax(left <= enough))
    positions = np.sort(order[: min(n_divided, max(source.most_nodes - len(gains), 0))])
    return positions[gains[positions] > 0.0]


def division_gains(source: OuterSource, worth: Worth) -> FloatArray:
    """What dividing each outer node alone would add to the ELBO, (n_nodes,), in nats."""
    batch = source.read(0)
    below, parents = source.below
    halves: FloatArray = np.bincount(parents, worth(below), batch.n_docs).astype(np.float64)
    return np.maximum(halves - worth(batch), 0.0)


def cost_of_nodes(source: NodeSource, worth: Worth) -> float:
    """What the ELBO loses because items share the responsibilities of their node, in nats.

    It is estimated from the items of every n-th node.
    """
    positions = np.arange(0, len(source.outer), max(1, source.n_docs // SAMPLE_ITEMS))
    nodes = source.read(0).take(positions)
    items = VectorBatch(np.concatenate([source.tree.items(n) for n in source.outer[positions]]))
    cost = worth(items).sum() - worth(nodes).sum()
    return float(cost * source.n_docs / nodes.weights.sum())


def node_worth(
    batch: Nodes, current: MomentGlobals, local: LocalOptions, executor: Executor
) -> FloatArray:
    """n_A log Σ_k exp W_Ak over the best components, (n_nodes,), in nats."""
    allocation, likelihood = families_of(current)
    log_weights = allocation.expected_log_weights
    n_slots = local.n_slots(len(log_weights))
    _, logs = assign_batch(batch, likelihood, current.components, log_weights, n_slots, executor)
    return batch.weights * logs


def families_of(
    current: MomentParameters | MomentGlobals,
) -> tuple[NestedAllocation, VectorLikelihood]:
    """The allocation and the likelihood of a mixture that grows."""
    assert isinstance(current.allocation, NestedAllocation), "growth is of nested families"
    assert isinstance(current.likelihood, VectorLikelihood), "growth is of vectors"
    return current.allocation, current.likelihood
