"""The kd-tree: nodes hold the sums of their items, down to single items."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparsetopics.model import kd_tree
from sparsetopics.model.kd_tree import KdTree


def tree_of(values, *, in_pairs=True):
    return KdTree(values.astype(np.float32), np.ones(values.shape[1]), in_pairs=in_pairs)


def packed(values):
    """Sums over items of x, and of x_d x_e for d ≤ e."""
    wide = values.astype(np.float64)
    rows, columns = np.triu_indices(values.shape[1])
    return wide.sum(axis=0), (wide.T @ wide)[rows, columns]


def leaves_of(tree):
    """All nodes that hold single items, or items that are alike; divides down to them."""
    nodes, leaves = np.array([0]), []
    while len(nodes):
        left = tree.children(nodes)
        leaves += nodes[left < 0].tolist()
        left = left[left >= 0]
        nodes = np.concatenate([left, left + 1])
    return leaves


@pytest.mark.parametrize("in_pairs", [True, False])
@pytest.mark.parametrize("n_items", [1, 2, 15, 40, 300])
def test_every_node_has_the_sums_of_its_items(n_items, in_pairs):
    rng = np.random.default_rng(n_items)
    values = (rng.normal(size=(n_items, 3)) + 5.0).astype(np.float32)
    before = values.copy()

    tree = tree_of(values, in_pairs=in_pairs)
    leaves = leaves_of(tree)

    for node in range(tree.n_nodes):
        found, items = tree.sums(np.array([node])), tree.items(node)
        sums, products = packed(items)
        assert found.counts[0] == len(items)
        np.testing.assert_allclose(found.sums[0], sums, rtol=1e-9, atol=1e-9)
        wanted = products if in_pairs else products[[0, 3, 5]]
        np.testing.assert_allclose(found.products[0], wanted, rtol=1e-9, atol=1e-9)
    everything = np.concatenate([tree.items(node) for node in leaves])
    np.testing.assert_array_equal(np.sort(everything, axis=0), np.sort(before, axis=0))
    assert len(leaves) == n_items


@given(
    st.lists(st.tuples(*[st.integers(-3, 3)] * 2), min_size=1, max_size=60),
    st.sampled_from([1.0, 1e-20, 1e15]),
)
@settings(max_examples=60, deadline=None)
def test_children_are_a_division_of_their_parent(rows, scale):
    """Few different numbers, so that many items are alike; tiny and huge ones too."""
    values = (np.array(rows) * scale).astype(np.float32)
    tree = tree_of(values)

    leaves = leaves_of(tree)

    for node in range(tree.n_nodes):
        left = int(tree.children(np.array([node]))[0])
        if left >= 0:
            parts = np.concatenate([tree.items(left), tree.items(left + 1)])
            np.testing.assert_array_equal(parts, tree.items(node))
            assert min(len(tree.items(left)), len(tree.items(left + 1))) > 0
    for node in leaves:
        items = tree.items(node)
        assert (items == items[0]).all()
    assert sum(len(tree.items(node)) for node in leaves) == len(rows)


def test_a_node_is_divided_at_the_mean_of_its_widest_column():
    values = np.array([[0.0, 0.1], [1.0, 0.0], [10.0, 0.1], [2.0, 0.05]])
    tree = tree_of(values)

    left = int(tree.children(np.array([0]))[0])

    assert sorted(tree.items(left)[:, 0].tolist()) == [0.0, 1.0, 2.0]
    assert tree.items(left + 1)[:, 0].tolist() == [10.0]


def test_it_is_built_down_to_small_nodes(monkeypatch):
    monkeypatch.setattr(kd_tree, "FEWEST_ITEMS", 8)
    monkeypatch.setattr(kd_tree, "ITEMS_PER_COLUMN", 1)
    values = np.random.default_rng(0).normal(size=(500, 4)).astype(np.float32)
    tree = tree_of(values)
    sizes = tree.sums(np.arange(tree.n_nodes)).counts
    assert 500 / 8 < tree.n_nodes < 1000
    assert sizes[-1] <= 8
