"""Outer nodes of a kd-tree as a batch: all items of a node have the same responsibilities.

Training treats a node as an item that weighs as much as the node's items together (VDP06,
section 6).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from sparsetopics.base.batches import FloatArray, IntArray, VectorBatch, Vectors
from sparsetopics.base.errors import RunError
from sparsetopics.base.wording import reason_of
from sparsetopics.model.kd_tree import KdTree, NodeSums


@dataclass(frozen=True, eq=False)
class NodeRows:
    """Means over the items of each node."""

    means: FloatArray  # (n_nodes, n_columns)
    mean_products: FloatArray  # (n_nodes, n_products)  packed as in ``NodeSums``

    def __len__(self) -> int:
        return len(self.means)

    def __getitem__(self, nodes: slice | IntArray) -> NodeRows:
        return NodeRows(self.means[nodes], self.mean_products[nodes])


@dataclass(frozen=True, eq=False)
class NodeBatch:
    """Some nodes, none of which contains another."""

    sums: NodeSums

    @property
    def n_docs(self) -> int:
        """Nodes."""
        return len(self.sums.counts)

    @property
    def indptr(self) -> IntArray:
        return np.arange(self.n_docs + 1)

    @property
    def weights(self) -> FloatArray:
        """Items of each node, (n_nodes,)."""
        return self.sums.counts

    @cached_property
    def values(self) -> NodeRows:
        counts = self.sums.counts[:, None]
        return NodeRows(self.sums.sums / counts, self.sums.products / counts)

    def take(self, nodes: IntArray) -> NodeBatch:
        return NodeBatch(self.sums.take(nodes))


class NodeRecord(NamedTuple):
    """What restores the nodes of a source in a new tree of the same items."""

    outer: IntArray  # (n_outer,)
    divided: IntArray  # (n_divided,)  all nodes with children, in the order of their division


class NodeSource:
    """All items of a tree in one batch of its outer nodes, which may be refined between laps."""

    n_batches = 1
    is_resident = True

    def __init__(self, tree: KdTree, n_nodes: int, most_nodes: int) -> None:
        """Begin with ``n_nodes`` outer nodes, or fewer if the tree has fewer.

        Callers refine as long as there are at most ``most_nodes``.
        """
        self.tree, self.most_nodes = tree, most_nodes
        self.n_docs, self.n_tokens = tree.n_items, float(tree.n_items)  # items
        self.n_columns = tree.n_columns
        self.outer = np.array([0])
        n_before = 0
        while n_before < len(self.outer) < n_nodes:
            n_before = len(self.outer)
            self.refine(self.outer)

    @cached_property
    def _batch(self) -> NodeBatch:
        return NodeBatch(self.tree.sums(self.outer))

    def read(self, batch_id: int) -> NodeBatch:
        return self._batch

    @cached_property
    def below(self) -> tuple[NodeBatch, IntArray]:
        """The nodes one level below the outer nodes, and the positions of their parents, rising.

        A node without children stands for itself.
        """
        nodes, parents = self._below(self.outer)
        return NodeBatch(self.tree.sums(nodes)), parents

    def refine(self, nodes: IntArray, n_levels: int = 1) -> None:
        """Replace those of ``nodes`` that are outer ones by the nodes ``n_levels`` below them."""
        chosen = np.isin(self.outer, nodes)
        below, parents = self._below(self.outer[chosen])
        for _ in range(n_levels - 1):
            below, upper = self._below(below)
            parents = parents[upper]
        former = np.concatenate([np.flatnonzero(~chosen), np.flatnonzero(chosen)[parents]])
        after = np.concatenate([self.outer[~chosen], below])
        self._replace_outer(after[np.argsort(former, kind="stable")])

    def record(self) -> NodeRecord:
        return NodeRecord(self.outer, self.tree.divided)

    def restore(self, record: NodeRecord) -> None:
        """Take over the nodes of another source of the same items.

        Raises RunError if a tree of these items cannot have such nodes.
        """
        try:
            self.tree.divide_again(record.divided)
            self.tree.check_outer(record.outer)
        except ValueError as error:
            problem = f"does not fit the tree of these items: {reason_of(error)}"
            raise RunError("checkpoint", problem) from error
        self._replace_outer(record.outer)

    def _replace_outer(self, nodes: IntArray) -> None:
        self.outer = nodes
        for kept in ("_batch", "below"):
            self.__dict__.pop(kept, None)

    def _below(self, nodes: IntArray) -> tuple[IntArray, IntArray]:
        left = self.tree.children(nodes)
        whole = left < 0
        pairs = np.stack([np.where(whole, nodes, left), np.where(whole, -1, left + 1)], axis=1)
        parents = np.repeat(np.arange(len(nodes)), 2).reshape(-1, 2)
        return pairs[pairs >= 0], parents[pairs >= 0]


class LeafSource:
    """All items in one batch, like a tree whose outer nodes have one item each."""

    n_batches = 1
    is_resident = True

    def __init__(self, values: Vectors) -> None:
        self._batch = VectorBatch(values)
        self.outer = np.arange(len(values))
        self.most_nodes = len(values)
        self.n_docs, self.n_tokens = len(values), float(len(values))
        self.n_columns = values.shape[1]

    def read(self, batch_id: int) -> VectorBatch:
        return self._batch

    @property
    def below(self) -> tuple[VectorBatch, IntArray]:
        return self._batch, np.arange(self.n_docs)

    def refine(self, nodes: IntArray, n_levels: int = 1) -> None:
        """Do nothing, as there is nothing below an item."""

    def record(self) -> None:
        """Nothing, as the items always stay the outer nodes."""
