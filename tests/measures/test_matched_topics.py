"""Groups of topics of several runs: planted ones are found, and every step is the best."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsetopics.measures.matched_topics import NONE, matched_topics, mean_topics

SEEDS = st.integers(0, 2**32 - 1)


def drawn_runs(rng, n_runs, n_topics, n_words=40, noise=0.2):
    """Tokens of runs that found the same topics in an order of their own, and these orders."""
    true = rng.dirichlet(np.full(n_words, 0.1), n_topics)
    orders = [rng.permutation(n_topics) for _ in range(n_runs)]
    other = rng.dirichlet(np.ones(n_words), (n_runs, n_topics))
    counts = [
        1_000.0 * ((1.0 - noise) * true + noise * own)[order]
        for own, order in zip(other, orders, strict=True)
    ]
    return counts, orders


def similarity(p, q):
    """Of two topics, as its definition says."""
    sizes = p.sum() * q.sum()
    return sum(np.sqrt(a * b) for a, b in zip(p, q, strict=True)) / np.sqrt(sizes)


@given(SEEDS, st.integers(1, 5), st.integers(1, 8))
def test_planted_topics_are_put_together(seed, n_runs, n_topics):
    counts, orders = drawn_runs(np.random.default_rng(seed), n_runs, n_topics)
    first = seed % n_runs

    groups = matched_topics(counts, first)

    true = [order[own] for order, own in zip(orders, groups, strict=True)]
    np.testing.assert_array_equal(true, np.tile(orders[first], (n_runs, 1)))


@given(SEEDS)
def test_no_other_assignment_of_the_last_run_is_better(seed):
    rng = np.random.default_rng(seed)
    counts = [rng.gamma(0.3, 100.0, (4, 9)) + 1e-9 for _ in range(3)]

    groups = matched_topics(counts, 0)

    others = counts[0][groups[0]] + counts[1][groups[1]]
    sums = {
        order: sum(similarity(others[k], counts[2][j]) for k, j in enumerate(order))
        for order in permutations(range(4))
    }
    assert sums[tuple(groups[2].tolist())] == pytest.approx(max(sums.values()), abs=1e-8)


@given(SEEDS, st.integers(1, 7), st.integers(1, 7))
def test_a_run_has_each_topic_once_at_most(seed, n_first, n_other):
    rng = np.random.default_rng(seed)
    counts = [rng.gamma(0.3, 100.0, (n, 20)) for n in (n_first, n_other)]
    counts[1][0] = 0.0  # no token

    groups = matched_topics(counts, 0)

    assert groups.shape == (2, n_first)
    for own, n_topics in zip(groups, (n_first, n_other), strict=True):
        placed = own[own != NONE]
        assert len(placed) == min(n_first, n_topics)
        assert {*placed.tolist()} <= {*range(n_topics)}
        assert len({*placed.tolist()}) == len(placed)


@given(SEEDS)
def test_shares_of_tokens_are_taken(seed):
    rng = np.random.default_rng(seed)
    counts = [rng.gamma(0.3, 1.0, (3, 12)) * (rng.random((3, 12)) < 0.4) for _ in range(4)]

    groups = matched_topics(counts, 0)

    assert all(sorted(own) == [0, 1, 2] for own in groups.tolist())


def test_the_mean_is_that_of_the_roots():
    counts = [np.array([[4.0, 0.0, 9.0], [1.0, 1.0, 0.0]]), np.array([[16.0, 4.0, 9.0]])]

    mean = mean_topics(counts, np.array([[0, 1], [0, NONE]]))

    np.testing.assert_allclose(mean, [[9.0, 1.0, 9.0], [1.0, 1.0, 0.0]])
