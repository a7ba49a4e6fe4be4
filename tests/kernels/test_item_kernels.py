"""The kernels of mixture items against their plain twin, and the laws they must keep."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference_gaussian
from sparsetopics.kernels import items as item_kernels
from sparsetopics.kernels.items import FEW_SLOTS, GRID
from worlds.gaussian_worlds import draw_items, draw_shares, sparse

SEEDS = st.integers(0, 2**32 - 1)


def share(log_weights, n_slots):
    n_items, _ = log_weights.shape
    given = log_weights.copy()
    topics = np.full((n_items, n_slots), 99, np.uint32)
    shares = np.full((n_items, n_slots), np.nan, np.float32)
    totals = np.full(n_items, np.nan)
    item_kernels.share_items(log_weights, topics, shares, totals)
    np.testing.assert_array_equal(log_weights, given)
    return topics, shares, totals


def draw_weights(seed, n_topics, tied, dtype, n_items=7):
    rng = np.random.default_rng(seed)
    weights = rng.normal(-100.0, 3.0, (n_items, n_topics))
    return (np.round(weights / 3.0) * 3.0 if tied else weights).astype(dtype)


@given(
    seed=SEEDS,
    n_topics=st.integers(1, 3 * FEW_SLOTS),
    n_slots=st.integers(1, 3 * FEW_SLOTS),
    tied=st.booleans(),
    dtype=st.sampled_from([np.float32, np.float64]),
)
def test_share_items_equals_its_twin(seed, n_topics, n_slots, tied, dtype):
    n_slots = min(n_slots, n_topics)
    weights = draw_weights(seed, n_topics, tied, dtype)

    topics, shares, totals = share(weights, n_slots)

    dense = np.zeros(weights.shape)
    np.put_along_axis(dense, topics.astype(np.int64), shares.astype(np.float64), axis=1)
    np.testing.assert_allclose(
        dense, reference_gaussian.top_shares(weights, n_slots), rtol=0, atol=n_topics / GRID
    )
    np.testing.assert_allclose(
        totals, reference_gaussian.log_totals(weights, n_slots), rtol=1e-14, atol=1e-12
    )


@given(seed=SEEDS, n_topics=st.integers(1, 60), n_slots=st.integers(1, 60), tied=st.booleans())
def test_chosen_topics_are_the_largest_and_rise(seed, n_topics, n_slots, tied):
    n_slots = min(n_slots, n_topics)
    weights = draw_weights(seed, n_topics, tied, np.float32)

    topics, *_ = share(weights, n_slots)

    expected = np.sort(np.argsort(-weights, axis=1, kind="stable")[:, :n_slots], axis=1)
    np.testing.assert_array_equal(topics, expected)


@given(seed=SEEDS, n_topics=st.integers(1, 60), n_slots=st.integers(1, 60))
def test_shares_add_up_to_one_exactly_and_so_do_merged_ones(seed, n_topics, n_slots):
    _, shares, *_ = share(draw_weights(seed, n_topics, False, np.float32), min(n_slots, n_topics))

    assert (shares.astype(np.float64).sum(axis=1) == 1.0).all()
    assert (shares >= 0.0).all()
    scaled = shares.astype(np.float64) * GRID
    np.testing.assert_array_equal(scaled, np.round(scaled))
    merged = shares[:, 0].astype(np.float64) + shares[:, -1]
    np.testing.assert_array_equal(merged.astype(np.float32), merged)


def test_one_slot_is_hard():
    _, shares, totals = share(np.array([[1.0, 3.0, 3.0], [5.0, 2.0, 1.0]]), 1)

    np.testing.assert_array_equal(shares, [[1.0], [1.0]])
    np.testing.assert_array_equal(totals, [3.0, 5.0])


def test_weights_far_apart_leave_no_mass_behind():
    topics, shares, totals = share(np.array([[-1e6, -2e6, -3e6]], np.float32), 2)

    np.testing.assert_array_equal(topics, [[0, 1]])
    np.testing.assert_array_equal(shares, [[1.0, 0.0]])
    assert totals[0] == -1e6


@pytest.mark.parametrize("n_topics", [200, 4096])
def test_even_shares_of_many_topics_add_up(n_topics):
    _, shares, *_ = share(np.zeros((1, n_topics)), n_topics)

    assert shares.astype(np.float64).sum() == 1.0
    assert (shares > 0.0).all()


@given(seed=SEEDS, n_topics=st.integers(1, 6), n_items=st.integers(0, 9))
def test_terms_equal_their_twin(seed, n_topics, n_items):
    rng = np.random.default_rng(seed)
    shares, weights = draw_shares(n_items, n_topics, rng), rng.gamma(1.0, size=n_items)
    counts, entropies = np.ones((2, n_topics))

    item_kernels.add_terms(weights, sparse(shares), counts, entropies)

    alone = [reference_gaussian.entropies(row[None]) for row in shares]
    twins = (weight * entropy for weight, entropy in zip(weights, alone, strict=True))
    np.testing.assert_allclose(counts, 1.0 + weights @ shares, rtol=1e-12)
    np.testing.assert_allclose(entropies, sum(twins, np.ones(n_topics)), rtol=1e-12)


@given(seed=SEEDS, n_topics=st.integers(1, 6), n_items=st.integers(0, 9))
def test_grouped_entries_are_those_of_each_topic(seed, n_topics, n_items):
    shares = draw_shares(n_items, n_topics, np.random.default_rng(seed))

    starts, items, roots = item_kernels.group_entries(sparse(shares), n_topics)

    for k in range(n_topics):
        own = slice(starts[k], starts[k + 1])
        np.testing.assert_array_equal(items[own], np.flatnonzero(shares[:, k]))
        np.testing.assert_array_equal(roots[own], np.sqrt(shares[shares[:, k] > 0, k]))


@given(seed=SEEDS, n_topics=st.integers(1, 5), n_columns=st.integers(1, 4))
def test_squares_equal_their_twin(seed, n_topics, n_columns):
    rng = np.random.default_rng(seed)
    products, offsets = (
        rng.normal(size=(6, n_columns, n_topics)),
        rng.normal(size=(n_columns, n_topics)),
    )
    found = np.ones((6, n_topics), np.float32)

    item_kernels.add_squares(
        products.reshape(6, -1).astype(np.float32), offsets.ravel().astype(np.float32), found
    )

    expected = 1.0 + ((products - offsets) ** 2).sum(axis=1)
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@given(seed=SEEDS, n_topics=st.integers(1, 5), n_columns=st.integers(1, 4))
def test_scaled_squares_equal_their_twin(seed, n_topics, n_columns):
    rng = np.random.default_rng(seed)
    values = draw_items(6, n_columns, rng)
    means, scales = rng.normal(size=(2, n_columns, n_topics)).astype(np.float32)
    found = np.ones((6, n_topics), np.float32)

    item_kernels.add_scaled_squares(values, means, scales, found)

    expected = 1.0 + ((values[:, :, None] - means) ** 2 * scales**2).sum(axis=1)
    np.testing.assert_allclose(found, expected, rtol=1e-5)
