"""Which topics of two models are the same: against all pairs, and against scipy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import jensenshannon

from sparsetopics.measures.similar_topics import (
    jensen_shannon_similarity,
    shared_probability,
    similarities,
)

CONCENTRATIONS = [0.01, 0.3, 1.0, 30.0]


def drawn(seed, n_words=60, n_topics=2, concentration=0.3):
    return np.random.default_rng(seed).dirichlet(np.full(n_words, concentration), n_topics)


@pytest.mark.parametrize("concentration", CONCENTRATIONS)
@pytest.mark.parametrize("seed", range(5))
def test_shared_probability_is_one_minus_half_of_all_differences(seed, concentration):
    p, q = drawn(seed, concentration=concentration)

    assert shared_probability(p, q) == pytest.approx(1 - np.abs(p - q).sum() / 2)
    assert shared_probability(p, q) == shared_probability(q, p)
    assert shared_probability(p, p) == pytest.approx(1.0)


@pytest.mark.parametrize("concentration", CONCENTRATIONS)
@pytest.mark.parametrize("seed", range(5))
def test_similarity_is_one_minus_the_squared_distance_of_scipy(seed, concentration):
    p, q = drawn(seed, concentration=concentration)

    expected = 1 - jensenshannon(p, q, base=2) ** 2
    assert jensen_shannon_similarity(p, q) == pytest.approx(expected)
    assert jensen_shannon_similarity(q, p) == pytest.approx(expected)


def test_topics_with_no_word_in_common_are_not_similar():
    p, q = np.array([0.5, 0.5, 0.0, 0.0]), np.array([0.0, 0.0, 1.0, 0.0])

    assert shared_probability(p, q) == 0.0
    assert jensen_shannon_similarity(p, q) == pytest.approx(0.0)
    assert jensen_shannon_similarity(p, p) == pytest.approx(1.0)


@pytest.mark.parametrize("seed", range(5))
def test_words_that_one_vocabulary_lacks_count_as_words_of_one_topic(seed):
    """As if the words were there, and one topic never had them."""
    p, q = drawn(seed)
    lacking = np.where(np.arange(len(p)) % 3 == 0, 0.0, q)
    whole = np.append(lacking, q.sum() - lacking.sum())  # its own words, in a column that p lacks

    expected = 1 - jensenshannon(np.append(p, 0.0), whole, base=2) ** 2
    assert jensen_shannon_similarity(p, lacking) == pytest.approx(expected)


@st.composite
def two_models(draw):
    """Topics of the same words, that share anything from nothing to all."""
    n_words = draw(st.integers(1, 50))
    concentration = draw(st.sampled_from(CONCENTRATIONS))
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    ours = rng.dirichlet(np.full(n_words, concentration), draw(st.integers(1, 12)))
    theirs = rng.dirichlet(np.full(n_words, concentration), draw(st.integers(1, 12)))
    mixed = rng.uniform(0, 1, (len(theirs), 1))
    return ours, mixed * theirs + (1 - mixed) * ours[rng.integers(len(ours), size=len(theirs))]


@given(two_models(), st.sampled_from([0.2, 0.5, 0.8]))
def test_no_pair_that_is_similar_is_left_out(models, least):
    ours, theirs = models

    for measure in (shared_probability, jensen_shannon_similarity):
        found = similarities(ours, theirs, measure, least)
        for k, p in enumerate(ours):
            for j, q in enumerate(theirs):
                assert found[k, j] == measure(p, q) or (
                    found[k, j] == 0.0 and measure(p, q) < least
                )


def test_pairs_that_share_little_are_left_out():
    topics = np.kron(np.eye(6), np.full((1, 7), 1 / 7))  # of words of their own

    asked = []
    found = similarities(topics, topics[::-1], lambda p, q: asked.append(p) or 0.75, 0.5)

    assert found.tolist() == (0.75 * np.eye(6)[::-1]).tolist()
    assert len(asked) == 6
