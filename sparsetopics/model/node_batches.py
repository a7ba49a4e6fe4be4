"""Outer nodes of a kd-tree as a batch: each stands for all its items, with one responsibility.

To the engine a node is an item that weighs as much as its items do (VDP06, section 6).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from sparsetopics.base.batches import FloatArray, IntArray, VectorBatch, Vectors
from sparsetopics.base.errors import RunError
from sparsetopics.model.kd_tree import KdTree, NodeSums


@dataclass(frozen=True, eq=False)
class NodeRows:
    """Means over the items of each node, from the tree's origin."""

    means: FloatArray  # (n_nodes, n_columns)
    mean_products: FloatArray  # (n_nodes, n_products)  packed as in ``NodeSums``

    def __len__(self) -> int:
        return len(self.means)

    def __getitem__(self, nodes: slice | IntArray) -> NodeRows:
        return NodeRows(self.means[nodes], self.mean_products[nodes])


@dataclass(frozen=True, eq=False)
class NodeBatch:
    """Some nodes, none above another."""

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
    """What makes a tree of the same items the same again."""

    outer: IntArray  # (n_outer,)
    divided: IntArray  # (n_divided,)  all nodes with children, in the order of those


class NodeSource:
    """All items of a tree in one batch, by its outer nodes; they may be refined between laps."""

    def __init__(self, tree: KdTree, n_nodes: int) -> None:
        """Begin with ``n_nodes`` outer nodes, if the tree has as many."""
        self.tree = tree
        self.outer = np.array([0])
        while len(self.outer) < n_nodes:
            before = len(self.outer)
            self.refine(self.outer)
            if len(self.outer) == before:
                break

    @property
    def n_batches(self) -> int:
        return 1

    @property
    def n_docs(self) -> int:
        """Items."""
        return self.tree.n_items

    @property
    def n_tokens(self) -> float:
        return float(self.tree.n_items)

    @property
    def is_refinable(self) -> bool:
        return True

    @property
    def is_resident(self) -> bool:
        return True

    @cached_property
    def _batch(self) -> NodeBatch:
        return NodeBatch(self.tree.sums(self.outer))

    def read(self, batch_id: int) -> NodeBatch:
        return self._batch

    def children(self, positions: IntArray) -> tuple[NodeBatch, IntArray]:
        """The nodes one level below some outer ones, or those themselves that have none below.

        With them the position of each one's parent among ``positions``, rising.
        """
        nodes, parents = self._below(self.outer[positions])
        return NodeBatch(self.tree.sums(nodes)), parents

    def refine(self, nodes: IntArray, n_levels: int = 1) -> None:
        """Put what is ``n_levels`` below in the place of those of ``nodes`` that are outer ones."""
        chosen = np.isin(self.outer, nodes)
        below, parents = self._below(self.outer[chosen])
        for _ in range(n_levels - 1):
            below, upper = self._below(below)
            parents = parents[upper]
        former = np.concatenate([np.flatnonzero(~chosen), np.flatnonzero(chosen)[parents]])
        after = np.concatenate([self.outer[~chosen], below])
        self.outer = after[np.argsort(former, kind="stable")]
        self.__dict__.pop("_batch", None)

    def record(self) -> NodeRecord:
        return NodeRecord(self.outer, self.tree.divided)

    def restore(self, record: NodeRecord) -> None:
        """Restore the nodes that another source of the same items had, from a new tree.

        Raises RunError if the tree of these items cannot have such nodes.
        """
        try:
            self.tree.divide_again(record.divided)
            self.tree.check_outer(record.outer)
        except ValueError as error:
            wanted = "the tree that the items make"
            raise RunError("checkpoint", found=f"{error}", wanted=wanted) from error
        self.outer = record.outer
        self.__dict__.pop("_batch", None)

    def _below(self, nodes: IntArray) -> tuple[IntArray, IntArray]:
        left = self.tree.children(nodes)
        whole = left < 0
        pairs = np.stack([np.where(whole, nodes, left), np.where(whole, -1, left + 1)], axis=1)
        parents = np.repeat(np.arange(len(nodes)), 2).reshape(-1, 2)
        return pairs[pairs >= 0], parents[pairs >= 0]


class LeafSource:
    """All items in one batch, each for itself: a tree that is refined as far as it goes."""

    def __init__(self, values: Vectors) -> None:
        self._batch = VectorBatch(values)
        self.outer = np.arange(len(values))

    @property
    def n_batches(self) -> int:
        return 1

    @property
    def n_docs(self) -> int:
        return self._batch.n_docs

    @property
    def n_tokens(self) -> float:
        return float(self._batch.n_docs)

    @property
    def is_refinable(self) -> bool:
        return False

    @property
    def is_resident(self) -> bool:
        return True

    def read(self, batch_id: int) -> VectorBatch:
        return self._batch

    def children(self, positions: IntArray) -> tuple[VectorBatch, IntArray]:
        return self._batch.take(positions), np.arange(len(positions))

    def refine(self, nodes: IntArray, n_levels: int = 1) -> None:
        """There is nothing below."""

    def record(self) -> None:
        """Items stay what they are."""

    def restore(self, record: NodeRecord) -> None:
        """There is nothing to take up."""
