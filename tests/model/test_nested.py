"""The nested family: its bound is the limit of long explicit truncations, and T nests in T + 1."""

import numpy as np
import pytest
from scipy.special import betaln, logsumexp, psi

from sparsetopics.model.allocations.mixture import ItemTerms
from sparsetopics.model.allocations.mixture_weights import DPMixture, NestedAllocation

GAMMA = [0.3, 1.0, 10.0]


def drawn(seed, n_topics=3, n_items=6):
    """Scores of items under components and under the prior, and counts for the sticks."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(-3.0, 2.0, (n_items, n_topics + 1))
    return scores, rng.gamma(1.0, 5.0, n_topics)


def stick_logs(taken, left):
    total = psi(taken + left)
    return psi(taken) - total, psi(left) - total


def truncated(scores, counts, gamma, n_more):
    """Σ_n log Σ_i exp S_ni over T + ``n_more`` components, sticks beyond T at their prior, and the
    divergence of the sticks, by hand."""
    n_topics = len(counts)
    later = counts.sum() - np.cumsum(counts)
    taken = np.concatenate([1.0 + counts, np.ones(n_more)])
    left = np.concatenate([gamma + later, np.full(n_more, gamma)])
    log_taken, log_left = stick_logs(taken, left)
    weights = log_taken + np.cumsum(log_left) - log_left
    columns = np.minimum(np.arange(n_topics + n_more), n_topics)
    divergence = betaln(1.0, gamma) - betaln(taken, left)
    divergence += (taken - 1.0) * log_taken + (left - gamma) * log_left
    return logsumexp(scores[:, columns] + weights, axis=1).sum() - divergence.sum()


def nested_bound(scores, allocation):
    """The same from the allocation: its weights, then its ELBO at the best responsibilities."""
    logs = scores + allocation.expected_log_weights
    shares = np.exp(logs - logsumexp(logs, axis=1, keepdims=True))
    entropies = -np.sum(np.where(shares > 0.0, shares * np.log(shares), 0.0), axis=0)
    n_items = float(len(scores))
    terms = ItemTerms(n_items, n_items, shares.sum(axis=0), entropies)
    return allocation.elbo(terms) + (shares * scores).sum()


@pytest.mark.parametrize("gamma", GAMMA)
@pytest.mark.parametrize("seed", range(3))
def test_the_bound_is_that_of_a_long_truncation(gamma, seed):
    scores, counts = drawn(seed)
    allocation = NestedAllocation(np.append(counts, 0.0), gamma)

    found = nested_bound(scores, allocation)

    gaps = [found - truncated(scores, counts, gamma, n_more) for n_more in (1, 3, 200)]
    assert gaps[0] > gaps[1] > gaps[2] - 1e-9 > -1e-8  # truncations come from below
    assert found == pytest.approx(truncated(scores, counts, gamma, 20_000), rel=1e-10)


@pytest.mark.parametrize("gamma", GAMMA)
def test_a_component_more_that_is_as_before_data_changes_nothing(gamma):
    """Families are nested: T + 1 components reach what T reach."""
    scores, counts = drawn(7)
    wider = np.insert(scores, -1, scores[:, -1], axis=1)
    alone = NestedAllocation(np.append(counts, 0.0), gamma)
    more = NestedAllocation(np.append(counts, [0.0, 0.0]), gamma)

    assert nested_bound(wider, more) == pytest.approx(nested_bound(scores, alone), rel=1e-12)


@pytest.mark.parametrize("gamma", GAMMA)
def test_items_of_the_tail_are_later_than_all_components(gamma):
    counts = np.array([5.0, 3.0, 2.0])
    taken, left = 1.0 + counts[:2], gamma + np.array([5.0, 2.0])
    log_taken, log_left = stick_logs(taken, left)

    found = NestedAllocation(counts, gamma).expected_log_weights

    tail = psi(1.0) - psi(1.0 + gamma) - np.log(-np.expm1(-1.0 / gamma)) + log_left.sum()
    expected = [log_taken[0], log_left[0] + log_taken[1], tail]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_the_update_is_the_optimum():
    """No other sticks give the same responsibilities a higher ELBO."""
    rng = np.random.default_rng(0)
    counts = rng.gamma(1.0, 5.0, 4)
    terms = ItemTerms(counts.sum(), counts.sum(), counts, np.zeros(4))
    best = NestedAllocation(counts, 2.0).updated(terms)
    for _ in range(50):
        other = NestedAllocation(counts * rng.uniform(0.5, 1.5, 4), 2.0)
        assert other.elbo(terms) < best.elbo(terms)


def test_without_items_in_the_tail_it_is_the_mixture():
    """But for the tail's weight, which no item asks for."""
    counts = np.array([5.0, 3.0, 2.0])
    allocation = NestedAllocation(np.append(counts, 0.0), 2.0)
    terms = ItemTerms(10.0, 10.0, np.append(counts, 0.0), np.append(np.ones(3), 0.0))
    plain = DPMixture(counts, 2.0)

    assert allocation.elbo(terms) == pytest.approx(plain.bound(counts, np.ones(3)), rel=1e-12)
    np.testing.assert_allclose(allocation.expected_log_weights[:-1], plain.expected_log_weights)
    np.testing.assert_array_equal(allocation.without_tail().counts, counts)
    assert allocation.n_topics == 3
