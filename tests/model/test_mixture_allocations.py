"""Mixture weights: bounds against brute force and the plain twin, and what moves rely on."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import gammaln

import reference_gaussian
from sparsetopics.model.allocations.mixture_weights import DPMixture, DPModes, FiniteMixture

SEEDS = st.integers(0, 2**32 - 1)
KINDS = (DPMixture, FiniteMixture)
ALL = (*KINDS, DPModes)


def draw(seed, n_topics):
    rng = np.random.default_rng(seed)
    return rng.gamma(0.5, 20.0, n_topics), rng.gamma(1.0, 3.0, n_topics)


@given(seed=SEEDS, n_topics=st.integers(1, 8), concentration=st.floats(0.1, 50.0))
def test_dp_bound_equals_its_twin(seed, n_topics, concentration):
    counts, entropies = draw(seed, n_topics)

    bound = DPMixture(counts, concentration).bound(counts, entropies)

    expected = reference_gaussian.dp_elbo(counts, concentration, entropies.sum())
    np.testing.assert_allclose(bound, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_bound_of_hard_assignments_is_their_probability(kind):
    """log p(z) with the weights integrated by a Pólya chain."""
    assignments = np.array([0, 2, 0, 1, 0, 2, 2, 0])
    counts = np.bincount(assignments).astype(float)
    concentration, n_topics = 1.7, 3
    expected, seen = 0.0, np.zeros(n_topics)
    for k in assignments:
        if kind is FiniteMixture:
            share = concentration / n_topics
            expected += np.log((seen[k] + share) / (seen.sum() + concentration))
        else:
            for stick in range(k):
                later = seen[stick + 1 :].sum() + concentration
                expected += np.log(later / (later + seen[stick] + 1.0))
            later = seen[k + 1 :].sum() + concentration
            expected += np.log((seen[k] + 1.0) / (later + seen[k] + 1.0))
        seen[k] += 1.0

    bound = kind(counts, concentration).bound(counts, np.zeros(n_topics))

    np.testing.assert_allclose(bound, expected, rtol=1e-12)


@given(seed=SEEDS, n_topics=st.integers(1, 6))
def test_an_empty_last_component_adds_exactly_zero_to_a_dp(seed, n_topics):
    counts, entropies = draw(seed, n_topics)
    more = np.append(counts, 0.0)

    without = DPMixture(counts, 2.5)
    with_empty = DPMixture(more, 2.5)

    added = with_empty.bound(more, np.append(entropies, 0.0)) - without.bound(counts, entropies)
    assert abs(added) <= 1e-13 * abs(without.bound(counts, entropies))
    np.testing.assert_array_equal(
        with_empty.expected_log_weights[:-1], without.expected_log_weights
    )
    np.testing.assert_array_equal(with_empty.weights[:-1], without.weights)
    assert DPMixture(np.zeros(3), 2.5).bound(np.zeros(3), np.zeros(3)) == 0.0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_the_global_step_is_the_best_there_is(kind, seed):
    counts, entropies = draw(seed, 4)
    best = kind(np.full(4, counts.sum() / 4), 1.3).with_counts(counts)

    value = best.bound(counts, entropies)

    np.testing.assert_allclose(value, best.bound(counts.copy(), entropies), rtol=1e-12)
    for other in range(10):
        elsewhere, _ = draw(1000 + 10 * seed + other, 4)
        assert best.with_counts(elsewhere).bound(counts, entropies) < value, seed


@pytest.mark.parametrize("kind", KINDS)
def test_expected_logs_and_means_are_those_of_samples(kind):
    counts, concentration = np.array([30.0, 8.0, 12.0]), 2.0
    allocation = kind(counts, concentration)
    rng = np.random.default_rng(0)
    if kind is FiniteMixture:
        drawn = rng.dirichlet(counts + concentration / 3, 200_000)
    else:
        later = np.array([20.0, 12.0, 0.0])
        sticks = rng.beta(1.0 + counts, concentration + later, (200_000, 3))
        left = np.cumprod(1.0 - sticks, axis=1)
        drawn = sticks * np.column_stack((np.ones(200_000), left[:, :-1]))

    np.testing.assert_allclose(allocation.weights, drawn.mean(axis=0), rtol=0.01)
    np.testing.assert_allclose(
        allocation.expected_log_weights, np.log(drawn).mean(axis=0), rtol=0.01
    )


def test_finite_weights_add_up_and_a_dp_keeps_a_tail():
    counts = np.array([5.0, 0.0, 3.0])

    assert FiniteMixture(counts, 2.0).weights.sum() == pytest.approx(1.0, rel=1e-14)
    tail = 1.0 - DPMixture(counts, 2.0).weights.sum()
    assert tail == pytest.approx((5 / 11) * (5 / 6) * (2 / 6), rel=1e-12)


def test_finite_bound_at_no_items_is_zero():
    assert FiniteMixture(np.zeros(4), 2.0).bound(np.zeros(4), np.zeros(4)) == 0.0


def test_finite_bound_equals_the_dirichlet_normalizers():
    counts, entropies = draw(3, 4)

    bound = FiniteMixture(counts, 2.0).bound(counts, entropies)

    expected = gammaln(counts + 0.5).sum() - gammaln(counts.sum() + 2.0) - 4 * gammaln(0.5)
    np.testing.assert_allclose(bound, entropies.sum() + expected + gammaln(2.0), rtol=1e-12)


@pytest.mark.parametrize("kind", ALL)
def test_moves_keep_the_items(kind):
    allocation = kind(np.array([6.0, 1.0, 3.0, 0.0]), 2.0)

    merged = allocation.joined(np.array([0, 1, 0, 2]), 3)
    restricted = allocation.restricted(np.array([1, 2]))
    branched = allocation.branched(np.array([0, 0, 1, 2, 3]))
    reordered = allocation.reordered(np.array([2, 0, 3, 1]))

    np.testing.assert_array_equal(merged.counts, [9.0, 1.0, 0.0])
    np.testing.assert_array_equal(restricted.counts, [2.5, 7.5])
    np.testing.assert_array_equal(branched.counts, [3.0, 3.0, 1.0, 3.0, 0.0])
    np.testing.assert_array_equal(reordered.counts, [3.0, 6.0, 0.0, 1.0])
    np.testing.assert_array_equal(allocation.restricted(np.array([3])).counts, [10.0])
    np.testing.assert_array_equal(allocation.counts, [6.0, 1.0, 3.0, 0.0])
    assert [a.n_topics for a in (merged, restricted, branched, reordered)] == [3, 2, 5, 4]
    assert merged.top_concentration == 2.0
    assert {type(a) for a in (merged, restricted, branched, reordered)} == {kind}


@given(seed=SEEDS, n_topics=st.integers(2, 8))
def test_components_by_falling_size_have_the_best_dp_bound(seed, n_topics):
    counts, entropies = draw(seed, n_topics)
    order = np.argsort(-counts, kind="stable")

    before = DPMixture(counts, 1.5)
    after = DPMixture(counts[order], 1.5)

    gain = after.bound(after.counts, entropies[order]) - before.bound(counts, entropies)
    assert gain >= -1e-9
