"""The local step of mixtures: a batch of items to L-sparse responsibilities, in blocks."""

from __future__ import annotations

import numpy as np

from sparsetopics.base.batches import FloatArray, IntArray, ItemBatch, VectorBatch
from sparsetopics.base.errors import OptionError
from sparsetopics.execution.executors import Executor
from sparsetopics.kernels import items as item_kernels
from sparsetopics.kernels.types import Float32Array
from sparsetopics.model.kd_tree import NodeBatch
from sparsetopics.model.likelihoods.likelihood import ItemLikelihood
from sparsetopics.model.likelihoods.moments import Moments
from sparsetopics.model.likelihoods.scorers import Scorer, V
from sparsetopics.model.likelihoods.vector_likelihood import VectorLikelihood
from sparsetopics.model.responsibilities import Responsibilities
from sparsetopics.model.statistics import C, P

BLOCK_ITEMS = 1024  # items that one worker takes at a time
LARGEST_SLOTS = 4096  # see ``item_kernels.share_items``


def assign(
    values: V,  # (n_items, ..)
    scorer: Scorer[V],
    expected_log_weights: FloatArray,  # (n_topics,)
    sparsity: int,
    executor: Executor,
) -> tuple[Responsibilities, FloatArray]:
    """The best responsibilities in ``sparsity`` topics: 1 is hard, K is dense (SPARSE16, Alg. 1).

    They have min(L, K) slots for each item, topics rising. Also returns log Σ exp W over the slots,
    (n_items,). The dense weights W_nk = E[log w_k] + E[log p(x_n|φ_k)] exist only for a block of
    items at once. Raises OptionError if ``sparsity`` is above 4,096.
    """
    n_items, n_topics = len(values), len(expected_log_weights)
    n_slots = min(sparsity, n_topics)
    if n_slots > LARGEST_SLOTS:
        problem = f"must be at most {LARGEST_SLOTS:,}, but is {n_slots:,}"
        raise OptionError("sparsity", problem, "Items seldom need more than a few topics.")
    topics = np.zeros((n_items, n_slots), np.uint32)  # 0 where weights are NaN
    shares = np.empty((n_items, n_slots), np.float32)
    log_totals = np.empty(n_items)
    log_weights = expected_log_weights.astype(np.float32)

    def assign_block(low: int) -> None:
        block = slice(low, low + BLOCK_ITEMS)
        logs = scorer(values[block])
        logs += log_weights
        item_kernels.share_items(logs, topics[block], shares[block], log_totals[block])

    executor.map(assign_block, range(0, n_items, BLOCK_ITEMS))
    starts = np.arange(n_items + 1, dtype=np.int64) * n_slots
    return Responsibilities(starts, topics.ravel(), shares.ravel()), log_totals


def assign_batch(
    batch: ItemBatch[V] | NodeBatch,
    likelihood: ItemLikelihood[V, C, P],
    components: C,
    expected_log_weights: FloatArray,  # (n_topics,)
    sparsity: int,
    executor: Executor,
) -> tuple[Responsibilities, FloatArray]:
    """``assign`` for items, or for nodes, which are scored by the means over their items."""
    if not isinstance(batch, NodeBatch):
        scorer = likelihood.prepare(components)
        return assign(batch.values, scorer, expected_log_weights, sparsity, executor)
    assert isinstance(likelihood, VectorLikelihood), "only vectors lie in trees"
    assert isinstance(components, Moments), "vectors have moments"
    of_nodes = likelihood.prepare_nodes(components)
    return assign(batch.values, of_nodes, expected_log_weights, sparsity, executor)


def assign_to_pairs(
    batch: VectorBatch | NodeBatch,
    starts: IntArray,  # (n_pairs + 1,)  of the items of each pair
    likelihood: VectorLikelihood,
    pairs: Moments,  # 2 n_pairs components
    expected_log_weights: FloatArray,  # (2 n_pairs,)
    sparsity: int,
    executor: Executor,
) -> tuple[Float32Array, FloatArray]:
    """``assign`` each item to the two components of its own pair alone.

    Returns the shares, (n_items, 2), and log Σ exp W over the slots, (n_items,).
    """
    log_weights = expected_log_weights.reshape(-1, 2)
    logs = np.empty((batch.n_docs, 2))

    def score(pair: int) -> None:
        own, both = slice(starts[pair], starts[pair + 1]), slice(2 * pair, 2 * pair + 2)
        if isinstance(batch, NodeBatch):
            found: FloatArray | Float32Array = of_nodes.take(both)(batch.values[own])
        else:
            scorer = likelihood.prepare(pairs.take(np.arange(both.start, both.stop)))
            found = scorer(batch.values[own])
        logs[own] = found + log_weights[pair]

    if isinstance(batch, NodeBatch):
        of_nodes = likelihood.prepare_nodes(pairs)
    executor.map(score, range(len(starts) - 1))
    topics = np.empty((batch.n_docs, min(sparsity, 2)), np.uint32)
    chosen = np.empty(topics.shape, np.float32)
    log_totals = np.empty(batch.n_docs)
    item_kernels.share_items(logs, topics, chosen, log_totals)
    shares = np.zeros((batch.n_docs, 2), np.float32)
    np.put_along_axis(shares, topics.astype(np.int64), chosen, axis=1)
    return shares, log_totals
