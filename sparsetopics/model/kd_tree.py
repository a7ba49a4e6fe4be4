"""A kd-tree of items whose nodes hold the sums over their items (Moore 1999, VDP06).

A node is divided at the mean of its widest column. The tree is built with sums down to nodes of a
few dozen items. Below that, down to single items, nodes are divided when their children are needed.

Training reads the outer nodes of a tree as a batch: all items of a node have the same
responsibilities. It treats a node as an item that weighs as much as the node's items together
(VDP06, section 6).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from sparsetopics.base.batches import FloatArray, IntArray, VectorBatch, Vectors
from sparsetopics.base.errors import RunError
from sparsetopics.base.soundness import check_ids, require
from sparsetopics.base.wording import reason_of
from sparsetopics.kernels import trees as tree_kernels

# Nodes with more items than the larger of these are divided when the tree is built.
FEWEST_ITEMS = 16
ITEMS_PER_COLUMN = 2  # so that the sums of nodes take no more memory than the items
ROOM = 1.1  # memory for sums, relative to the present nodes, so that sums are seldom copied


class NodeSums(NamedTuple):
    """Sums over the items of some nodes."""

    counts: FloatArray  # (n_nodes,)
    sums: FloatArray  # (n_nodes, n_columns)
    products: FloatArray  # (n_nodes, n_products)  x_d x_e packed, d ≤ e; or x_d² alone

    def take(self, nodes: IntArray) -> NodeSums:
        return NodeSums(*(values[nodes] for values in self))

    def with_room(self, n_nodes: int) -> NodeSums:
        """A copy with room for ``n_nodes`` nodes, the present ones first."""
        roomy = NodeSums(*(np.empty((n_nodes, *values.shape[1:])) for values in self))
        for mine, theirs in zip(self, roomy, strict=True):
            theirs[: len(mine)] = mine
        return roomy


def n_products(n_columns: int, *, in_pairs: bool) -> int:
    """How many products of columns a node sums: of all pairs, or of each column with itself."""
    return n_columns * (n_columns + 1) // 2 if in_pairs else n_columns


class KdTree:
    """Nodes are numbers; the root is 0, and children come after their parents.

    The tree reorders the rows of ``values`` (n_items, n_columns) in place. Its columns are as wide
    as ``widths`` (n_columns,) times their values. With ``in_pairs``, nodes sum the products of all
    pairs of columns.
    """

    def __init__(self, values: Vectors, widths: FloatArray, *, in_pairs: bool) -> None:
        self.n_items, self.n_columns = values.shape
        self._values, self._widths = np.asarray(values, np.float32), widths
        self._n_products = n_products(self.n_columns, in_pairs=in_pairs)
        few, most = max(FEWEST_ITEMS, ITEMS_PER_COLUMN * self.n_columns), 2 * self.n_items
        bounds, children = np.empty((most, 2), np.int64), np.empty(most, np.int64)
        n_nodes = tree_kernels.build(self._values, widths, few, bounds, children)
        self._bounds, self._children = bounds[:n_nodes].copy(), children[:n_nodes].copy()
        self._sums = self._sum(self._bounds, self._children, int(ROOM * n_nodes))

    @property
    def n_nodes(self) -> int:
        """The number of nodes so far."""
        return len(self._children)

    def sums(self, nodes: IntArray) -> NodeSums:
        return self._sums.take(nodes)

    def items(self, node: int) -> Vectors:
        """A view of the node's items, (n_items, n_columns)."""
        first, last = self._bounds[node]
        return self._values[first:last]

    def children(self, nodes: IntArray) -> IntArray:
        """The left children of ``nodes``, each just before the right one.

        -1 where all items of a node are alike.
        """
        undivided = nodes[(self._children[nodes] < 0) & (self._sums.counts[nodes] > 1.0)]
        if len(undivided):
            self._divide(undivided)
        return self._children[nodes]

    @property
    def divided(self) -> IntArray:
        """The nodes that have children, in the order in which they were divided."""
        nodes = np.flatnonzero(self._children >= 0)
        return nodes[np.argsort(self._children[nodes], kind="stable")]

    def divide_again(self, nodes: IntArray) -> None:
        """Divide the nodes that another tree of the same items has divided, in the same order.

        Nodes then have the same numbers in both trees. Raises ValueError for a list of nodes that
        no tree of these items can have divided.
        """
        n_built = (self.n_nodes - 1) // 2
        check_ids(nodes, 2 * self.n_items, "divided nodes")
        require(np.array_equal(nodes[:n_built], self.divided), "another tree was divided")
        left = nodes[n_built:]
        while len(left):
            # Divide only nodes that exist so far; the others are children of these.
            there = int(np.argmax(np.append(left >= self.n_nodes, True)))
            chosen, n_before = left[:there], self.n_nodes
            is_whole = there > 0 and (self._children[chosen] < 0).all()
            require(is_whole and len(np.unique(chosen)) == there, "a node was divided twice")
            self._divide(chosen)
            require(self.n_nodes == n_before + 2 * there, "a node of items that are alike")
            left = left[there:]

    def check_outer(self, nodes: IntArray) -> None:
        """Raise ValueError unless every item is in exactly one of ``nodes``."""
        check_ids(nodes, self.n_nodes, "outer nodes")
        first, last = self._bounds[nodes].T
        # The number of nodes that contain each item, as the running sum of starts minus ends.
        n_above = np.zeros(self.n_items + 1, np.int64)
        np.add.at(n_above, first, 1)
        np.add.at(n_above, last, -1)
        require((np.cumsum(n_above[:-1]) == 1).all(), "outer nodes leave items out")

    def _divide(self, nodes: IntArray) -> None:
        own = self._values, self._widths
        middles = np.array([tree_kernels.divide(*own, *self._bounds[n]) for n in nodes])
        first, last = self._bounds[nodes].T
        made = middles > first
        bounds = np.stack([first, middles, middles, last], axis=1)[made].reshape(-1, 2)
        self._children[nodes[made]] = self.n_nodes + 2 * np.arange(made.sum())
        alone = np.full(len(bounds), -1)
        n_before, n_after = self.n_nodes, self.n_nodes + len(bounds)
        if n_after > len(self._sums.counts):
            self._sums = self._sums.with_room(int(ROOM * n_after))
        for values, more in zip(self._sums, self._sum(bounds, alone, len(bounds)), strict=True):
            values[n_before:n_after] = more
        self._bounds = np.concatenate([self._bounds, bounds])
        self._children = np.concatenate([self._children, alone])

    def _sum(self, bounds: IntArray, children: IntArray, room: int) -> NodeSums:
        """The sums of the nodes with these bounds, with room for ``room`` nodes in all."""
        n_nodes = len(bounds)
        counts, sums = np.zeros(room), np.zeros((room, self.n_columns))
        products = np.zeros((room, self._n_products))
        counts[:n_nodes] = np.diff(bounds, axis=1)[:, 0]
        tree_kernels.sum_nodes(self._values, bounds, children, sums, products)
        return NodeSums(counts, sums, products)


# --- nodes as batches -----------------------------------------------------------------------------
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
