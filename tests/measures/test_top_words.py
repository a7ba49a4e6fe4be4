"""How different the top words of topics are, on lists with known answers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsetopics.measures.top_words import inverted_rbo, top_words, topic_diversity


@given(
    seed=st.integers(0, 10_000),
    n_topics=st.integers(1, 5),
    size=st.integers(1, 30),
    n_words=st.integers(1, 12),
)
def test_top_words_are_the_first_of_all_words_in_order(seed, n_topics, size, n_words):
    counts = np.random.default_rng(seed).integers(0, 4, (n_topics, size)).astype(float)
    in_order = np.argsort(-counts, axis=1, kind="stable")

    np.testing.assert_array_equal(top_words(counts, n_words), in_order[:, :n_words])


def rank_biased_overlap(first, second, persistence):
    """Webber, Moffat & Zobel (2010), eq. 32, for two lists of one length."""
    depth = len(first)
    overlap = [len(set(first[:d]) & set(second[:d])) for d in range(1, depth + 1)]
    series = sum(x / d * persistence**d for d, x in enumerate(overlap, start=1))
    return overlap[-1] / depth * persistence**depth + (1 - persistence) / persistence * series


@given(n_topics=st.integers(2, 5), n_top=st.integers(1, 6), seed=st.integers(0, 2**32 - 1))
def test_inverted_rbo_equals_the_definition(n_topics, n_top, seed):
    rng = np.random.default_rng(seed)
    lists = np.array([rng.permutation(8)[:n_top] for _ in range(n_topics)])
    pairs = [(i, j) for i in range(n_topics) for j in range(i)]
    expected = 1 - np.mean([rank_biased_overlap(lists[i], lists[j], 0.9) for i, j in pairs])

    assert inverted_rbo(lists) == pytest.approx(expected)


def test_inverted_rbo_of_the_extremes():
    assert inverted_rbo(np.array([[0, 1], [2, 3]])) == 1.0
    assert inverted_rbo(np.array([[0, 1], [0, 1]])) == pytest.approx(0.0)
    assert inverted_rbo(np.array([[0, 1]])) == 1.0


def test_diversity_counts_distinct_words():
    assert topic_diversity(np.array([[0, 1], [2, 3]])) == 1.0
    assert topic_diversity(np.array([[0, 1], [1, 0]])) == 0.5
    assert topic_diversity(np.array([[0, 1], [1, 2]])) == 0.75
