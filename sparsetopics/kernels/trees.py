"""Numba kernels of the kd-tree: dividing items, and sums over the items of a node.

Letters: n item, d and e columns. Products x_d x_e are packed for d ≤ e, row by row.
"""

from __future__ import annotations

import numpy as np

from sparsetopics.base.batches import FloatArray, IntArray
from sparsetopics.kernels.types import Float32Array, SparseShares, kernel


@kernel
def divide(
    values: Float32Array,  # (n_items, n_columns)  rows of the range change places
    widths: FloatArray,  # (n_columns,)  units of the columns
    first: int,
    last: int,
) -> int:
    """Put the items below the mean of the widest column first; return where the others begin.

    The widest column is the one of largest variance. Returns ``first`` if all items are alike.
    """
    n_columns = values.shape[1]
    sums, squares = np.zeros(n_columns), np.zeros(n_columns)
    for n in range(first, last):
        for d in range(n_columns):
            # Measured from the first item, large values do not cancel in the variance.
            difference = np.float64(values[n, d]) - np.float64(values[first, d])
            sums[d] += difference
            squares[d] += difference * difference
    sums /= last - first
    column = np.argmax((squares / (last - first) - sums * sums) * widths * widths)
    mean = np.float64(values[first, column]) + sums[column]
    low, high = first, last - 1
    while low <= high:
        if np.float64(values[low, column]) < mean:
            low += 1
            continue
        for d in range(n_columns):
            value = values[low, d]
            values[low, d] = values[high, d]
            values[high, d] = value
        high -= 1
    return first if low == last else low


@kernel
def build(
    values: Float32Array,  # (n_items, n_columns)  rows change places
    widths: FloatArray,  # (n_columns,)  units of the columns
    few: int,
    bounds: IntArray,  # (2 n_items, 2)  overwritten
    children: IntArray,  # (2 n_items,)  overwritten: the left child, before the right one; or -1
) -> int:
    """Divide until nodes hold at most ``few`` items; return the number of nodes, parents first."""
    bounds[0, 0], bounds[0, 1] = 0, values.shape[0]
    n_nodes, node = 1, 0
    while node < n_nodes:
        first, last = bounds[node]
        children[node] = -1
        if last - first > few:
            middle = divide(values, widths, first, last)
            if middle > first:
                children[node] = n_nodes
                bounds[n_nodes, 0], bounds[n_nodes, 1] = first, middle
                bounds[n_nodes + 1, 0], bounds[n_nodes + 1, 1] = middle, last
                n_nodes += 2
        node += 1
    return n_nodes


@kernel
def add_sums(
    values: Float32Array,  # (n_items, n_columns)
    first: int,
    last: int,
    sums: FloatArray,  # (n_columns,)  added to: Σ x
    products: FloatArray,  # (n_columns (n_columns + 1) / 2,) of pairs, or (n_columns,); added to
) -> None:
    """Add the items from ``first`` up to ``last``, and the products of their columns."""
    n_columns = values.shape[1]
    row = np.empty(n_columns)
    in_pairs = products.shape[0] > n_columns
    for n in range(first, last):
        for d in range(n_columns):
            row[d] = values[n, d]
            sums[d] += row[d]
        if not in_pairs:
            for d in range(n_columns):
                products[d] += row[d] * row[d]
            continue
        place = 0
        for d in range(n_columns):
            value, own = row[d], products[place : place + n_columns - d]
            for e in range(n_columns - d):
                own[e] += value * row[d + e]
            place += n_columns - d


@kernel
def sum_nodes(
    values: Float32Array,  # (n_items, n_columns)
    bounds: IntArray,  # (n_nodes, 2)
    children: IntArray,  # (n_nodes,)
    sums: FloatArray,  # (n_nodes, n_columns)  zeros, added to
    products: FloatArray,  # (n_nodes, n_products)  zeros, added to
) -> None:
    """Sum leaves over their items, and all other nodes over their children."""
    # Children have higher numbers than their parents, so they are summed first.
    for node in range(bounds.shape[0] - 1, -1, -1):
        left = children[node]
        if left < 0:
            add_sums(values, bounds[node, 0], bounds[node, 1], sums[node], products[node])
            continue
        np.add(sums[left], sums[left + 1], sums[node])
        np.add(products[left], products[left + 1], products[node])


@kernel
def share_out(
    found: SparseShares,  # a row for each node
    counts: FloatArray,  # (n_nodes,)  sums of nodes
    sums: FloatArray,  # (n_nodes, n_columns)
    products: FloatArray,  # (n_nodes, n_products)
    topic_counts: FloatArray,  # (n_topics,)  added to, as are the next
    topic_sums: FloatArray,  # (n_topics, n_columns)
    topic_products: FloatArray,  # (n_topics, n_products)
) -> None:
    """Add each node's sums to those of the topics, by its responsibilities."""
    for node in range(found.starts.shape[0] - 1):
        for entry in range(found.starts[node], found.starts[node + 1]):
            k, share = found.topics[entry], np.float64(found.shares[entry])
            topic_counts[k] += share * counts[node]
            for d in range(sums.shape[1]):
                topic_sums[k, d] += share * sums[node, d]
            for d in range(products.shape[1]):
                topic_products[k, d] += share * products[node, d]
