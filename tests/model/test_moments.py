"""Additive statistics of items: against dense sums, and the arithmetic that learners rely on."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsetopics.base.batches import VectorBatch
from sparsetopics.execution.executors import Executor, open_executor
from sparsetopics.model.kd_tree import NodeBatch, NodeSums
from sparsetopics.model.likelihoods import moments as moments_module
from sparsetopics.model.likelihoods.moments import Moments
from worlds.gaussian_worlds import draw_items, draw_shares, sparse

SERIAL = Executor()
SEEDS = st.integers(0, 2**32 - 1)


def draw(seed, n_items=20, n_topics=4, n_columns=3):
    rng = np.random.default_rng(seed)
    return draw_items(n_items, n_columns, rng), draw_shares(n_items, n_topics, rng)


def zeros_full(n_topics, n_columns=3, with_sums=True):
    return Moments.zeros(n_topics, n_columns, in_pairs=True, with_sums=with_sums)


def full_moments(values, found, n_topics, with_sums=True):
    zeros = zeros_full(n_topics, values.shape[1], with_sums)
    return zeros.sum_items(values, found, SERIAL)


def diagonal_moments(values, found, n_topics):
    zeros = Moments.zeros(n_topics, values.shape[1])
    return zeros.sum_items(values, found, SERIAL)


def assert_close(found, expected, rtol=1e-12):
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=1e-9)


@given(seed=SEEDS, n_items=st.integers(0, 30), n_topics=st.integers(1, 5), with_sums=st.booleans())
def test_full_moments_equal_dense_sums(seed, n_items, n_topics, with_sums):
    values, shares = draw(seed, n_items, n_topics)

    found = full_moments(values, sparse(shares), n_topics, with_sums)

    wide = values.astype(np.float64)
    np.testing.assert_array_equal(found.counts, shares.sum(axis=0))
    expected = shares.T @ wide if with_sums else np.zeros((n_topics, 0))
    np.testing.assert_allclose(found.sums, expected, rtol=1e-12, atol=1e-12)
    crossed = np.einsum("nk,nd,ne->kde", shares, wide, wide)
    np.testing.assert_allclose(found.squares, crossed, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(found.squares, found.squares.transpose(0, 2, 1))


@given(seed=SEEDS, n_items=st.integers(0, 30), n_topics=st.integers(1, 5))
def test_diagonal_moments_equal_dense_sums(seed, n_items, n_topics):
    values, shares = draw(seed, n_items, n_topics)

    found = diagonal_moments(values, sparse(shares), n_topics)

    wide = values.astype(np.float64)
    np.testing.assert_array_equal(found.counts, shares.sum(axis=0))
    np.testing.assert_allclose(found.sums, shares.T @ wide, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found.squares, shares.T @ wide**2, rtol=1e-12, atol=1e-12)


def test_blocks_of_items_make_no_difference(monkeypatch):
    values, shares = draw(0, 40)
    whole = full_moments(values, sparse(shares), 4, True)

    monkeypatch.setattr(moments_module, "BLOCK_ITEMS", 3)

    assert_close(full_moments(values, sparse(shares), 4, True), whole)


@pytest.mark.parametrize("shift", [0.0, 100.0])
def test_float32_shares_lose_nothing_on_the_way(shift):
    """Shares without a short float32 form; squares keep twelve digits."""
    rng = np.random.default_rng(2)
    values = (draw_items(500, 3, rng) + np.float32(shift)).astype(np.float32)
    shares = rng.dirichlet(np.ones(3), 500).astype(np.float32)

    found = full_moments(values, sparse(shares), 3, True)

    wide, exact = values.astype(np.float64), shares.astype(np.float64)
    crossed = np.einsum("nk,nd,ne->kde", exact, wide, wide)
    np.testing.assert_allclose(found.squares, crossed, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found.sums, exact.T @ wide, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found.counts, exact.sum(axis=0), rtol=1e-13)


@pytest.mark.parametrize("diagonal", [False, True])
def test_disjoint_items_add_and_can_be_taken_out(diagonal):
    values, shares = draw(1, 30)

    def of(items):
        found = values[items], sparse(shares[items]), 4
        return diagonal_moments(*found) if diagonal else full_moments(*found, True)

    first, second = of(slice(0, 11)), of(slice(11, 30))
    whole = first.plus(second)

    assert_close(whole, of(slice(0, 30)))
    assert_close(whole.minus(second), first, rtol=1e-10)
    np.testing.assert_array_equal(whole.minus(second).counts, first.counts)


def test_renumbered_moments_are_those_of_renumbered_responsibilities():
    values, shares = draw(3, 30)
    found = sparse(shares)
    new_topics = np.array([1, 0, 1, -1])

    moved = full_moments(values, found, 4, True).renumbered(new_topics, 2)

    assert_close(moved, full_moments(values, found.renumbered(new_topics), 2, True))


def test_renumbering_back_restores_what_was_kept():
    values, shares = draw(4)
    before = diagonal_moments(values, sparse(shares), 4)

    after = before.renumbered(np.array([2, 0, 3, 1]), 6).take(np.array([2, 0, 3, 1]))

    for ours, theirs in zip(after, before, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_scaling_is_seeing_items_again():
    values, shares = draw(5)
    once = full_moments(values, sparse(shares), 4, True)

    assert_close(once.scaled(2.0), once.plus(once))


def test_zeros_are_neutral():
    values, shares = draw(6)
    full = full_moments(values, sparse(shares), 4, False)
    diagonal = diagonal_moments(values, sparse(shares), 4)

    for found in (full, diagonal):
        zeros = found.zeros_like()
        assert (zeros.n_topics, zeros.n_columns) == (4, 3)
        for ours, theirs in zip(found.plus(zeros), found, strict=True):
            np.testing.assert_array_equal(ours, theirs)


def test_batches_go_in_and_out_in_place():
    values, shares = draw(8)
    batch = full_moments(values, sparse(shares), 4)
    total = zeros_full(4)

    total.add(batch)
    copy = total.accumulator()
    total.add(batch, -0.5)

    assert_close(total, batch.scaled(0.5))
    assert_close(copy, batch)
    np.testing.assert_array_equal(total.sizes, batch.counts / 2)
    total.exchange(batch.zeros_like(), batch, Executor())
    assert total.counts.min() == 0.0


@pytest.mark.parametrize("with_sums", [True, False])
def test_a_batch_is_the_same_for_any_number_of_workers_and_can_be_restored(monkeypatch, with_sums):
    monkeypatch.setattr(moments_module, "BLOCK_TOPICS", 2)
    values, shares = draw(9, 60, 7)
    zeros = zeros_full(7, 3, with_sums)

    alone = zeros.sum_batch(VectorBatch(values), sparse(shares), SERIAL)
    with open_executor(3) as executor:
        together = zeros.sum_batch(VectorBatch(values), sparse(shares), executor)

    for ours, theirs in zip(alone, together, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    for ours, theirs in zip(zeros.restored(alone._asdict()), alone, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("is_full", [True, False])
@pytest.mark.parametrize("with_sums", [True, False])
def test_nodes_share_out_what_their_items_add_up_to(with_sums, is_full):
    rng = np.random.default_rng(3)
    n_nodes, n_columns, n_topics = 40, 3, 5
    rows, columns = np.triu_indices(n_columns) if is_full else (np.arange(3), np.arange(3))
    sums = NodeSums(rng.uniform(1.0, 9.0, n_nodes), rng.normal(size=(n_nodes, n_columns)),
                    rng.normal(size=(n_nodes, len(rows))))  # fmt: skip
    shares = draw_shares(n_nodes, n_topics, rng)
    squares = np.zeros((n_topics, n_columns, n_columns) if is_full else (n_topics, n_columns))
    width = n_columns if with_sums else 0
    zeros = Moments(np.zeros(n_topics), np.zeros((n_topics, width)), squares)

    found = zeros.sum_batch(NodeBatch(sums), sparse(shares), SERIAL)

    as_stored = sparse(shares)
    dense = np.zeros((n_nodes, n_topics))
    nodes = np.repeat(np.arange(n_nodes), np.diff(as_stored.starts))
    dense[nodes, as_stored.topics] = as_stored.shares
    np.testing.assert_allclose(found.counts, dense.T @ sums.counts, rtol=1e-12)
    np.testing.assert_allclose(found.sums, (dense.T @ sums.sums)[:, :width], rtol=1e-11)
    own = found.squares[:, rows, columns] if is_full else found.squares
    np.testing.assert_allclose(own, dense.T @ sums.products, rtol=1e-11, atol=1e-12)
    if is_full:
        np.testing.assert_array_equal(found.squares, np.swapaxes(found.squares, 1, 2))
