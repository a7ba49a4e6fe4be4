"""Correlations of topics, against a plain twin and by draws."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

import reference_prevalence as reference
from sparsetopics.measures.effects import added
from sparsetopics.measures.prevalence import unbiased_projection
from sparsetopics.measures.topic_correlations import BLOCKS, correlations, sum_pairs
from worlds.topic_draws import N_TOPICS, N_WORDS, batch_of, draw_documents, draw_topics

EVEN = np.full(N_TOPICS, 0.25)


def drawn_sums(batch, projection, workers=1):
    return sum_pairs(batch, projection, np.random.default_rng(0), workers)


def found_in(batch, projection):
    return correlations(drawn_sums(batch, projection), projection)


@given(seed=st.integers(0, 2**32))
def test_correlations_and_errors_are_those_of_the_plain_twin(seed):
    rng = np.random.default_rng(seed)
    topic_word = draw_topics(seed % 97)
    proportions = rng.dirichlet(np.full(N_TOPICS, 0.5), 90)
    sizes = np.concatenate([[0, 1, 1, 2], rng.integers(20, 60, 86)])
    counts = np.stack([
        rng.multinomial(size, own @ topic_word)
        for size, own in zip(sizes, proportions, strict=True)
    ])  # fmt: skip
    projection = unbiased_projection(topic_word, EVEN)

    found = found_in(batch_of(counts), projection)

    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    drawn = np.random.default_rng(0).permutation(np.arange(90) % BLOCKS)
    value, error = reference.correlations(shares, sizes, projection, drawn, BLOCKS)
    np.testing.assert_allclose(found.value, np.clip(value, -1.0, 1.0), atol=1e-9)
    np.testing.assert_allclose(found.standard_error, error, rtol=1e-6, atol=1e-9)


def test_parts_add_up_to_all_documents():
    topic_word = draw_topics()
    projection = unbiased_projection(topic_word, EVEN)
    batch = draw_documents(np.random.default_rng(0), topic_word, EVEN, 130)

    whole = drawn_sums(batch, projection)
    cuts = np.split(np.arange(130), [20, 20, 100])
    parts = added(drawn_sums(batch.take(some), projection) for some in cuts)

    for own, other in zip(parts, whole, strict=True):
        both = own.sum(axis=0), other.sum(axis=0)
        np.testing.assert_allclose(*both, rtol=1e-12, atol=1e-12)


def test_errors_do_not_depend_on_the_order_of_documents():
    rng, topic_word = np.random.default_rng(3), draw_topics()
    means = np.array([[0.7, 0.1, 0.1, 0.1], [0.1, 0.7, 0.1, 0.1]])
    halves = [rng.dirichlet(4.0 * mean, 600) for mean in means]
    counts = np.array([rng.multinomial(60, own @ topic_word) for own in np.concatenate(halves)])
    projection = unbiased_projection(topic_word, EVEN)
    orders = [np.arange(1200), np.arange(1200).reshape(2, 600).T.ravel(), rng.permutation(1200)]

    errors = [found_in(batch_of(counts[order]), projection).standard_error for order in orders]

    pairs = np.triu_indices(N_TOPICS, 1)
    for error in errors[:2]:
        assert 0.6 < np.mean(error[pairs] / errors[2][pairs]) < 1.6


def test_any_number_of_workers_gives_the_same_bits():
    topic_word = draw_topics()
    projection = unbiased_projection(topic_word, EVEN)
    batch = draw_documents(np.random.default_rng(1), topic_word, EVEN, 2_000)

    three = drawn_sums(batch, projection, 3)

    for own, other in zip(three, drawn_sums(batch, projection), strict=True):
        np.testing.assert_array_equal(own, other)


@pytest.mark.parametrize("n_documents", [0, 1, 2, 19])
@pytest.mark.parametrize("n_tokens", [1, 2, 30])
def test_few_or_short_documents_say_nothing_or_little(n_documents, n_tokens):
    topic_word = draw_topics()
    projection = unbiased_projection(topic_word, EVEN)
    rng = np.random.default_rng(2)
    counts = rng.multinomial(n_tokens, topic_word[0], n_documents).reshape(-1, N_WORDS)

    found = found_in(batch_of(counts), projection)

    low, high = found.interval(-1.0, 1.0)
    if n_documents < 2 or n_tokens < 2:
        assert np.isnan(found.value).all()
    assert np.isnan(found.standard_error).all()
    assert np.isnan((low, high)).all()
    assert (np.isnan(found.value) | (np.abs(found.value) <= 1.0)).all()


def test_proportions_of_equal_documents_do_not_correlate_where_their_estimates_do():
    rng = np.random.default_rng(3)
    topic_word = draw_topics(concentration=1.0)
    projection = unbiased_projection(topic_word, EVEN)
    mean = np.array([0.4, 0.3, 0.2, 0.1])
    own = 0.05 * rng.normal(size=(4_000, 2)) @ np.array([[1, 1, -1, -1], [1, -1, 1, -1.0]])
    proportions = np.clip(mean + own, 0.0, None)
    proportions /= proportions.sum(axis=1, keepdims=True)
    truth = np.corrcoef(proportions.T)
    counts = np.stack([rng.multinomial(12, each @ topic_word) for each in proportions])

    found = found_in(batch_of(counts), projection)

    naive = np.corrcoef((counts / 12 @ projection).T)
    pairs = np.triu_indices(N_TOPICS, 1)
    distance = np.abs(found.value - truth)[pairs] / found.standard_error[pairs]
    assert distance.max() < 5.0
    assert np.abs(naive - truth)[pairs].max() > 0.3


def test_intervals_hold_the_truth():
    draws, rng = 60, np.random.default_rng(4)
    topic_word = draw_topics()
    projection = unbiased_projection(topic_word, EVEN)

    def proportions(n):
        scores = rng.normal(size=(n, 2)) @ np.array([[1, 1, -1, 0], [0, 1, 1, -1.0]])
        raised = np.exp(scores + 0.5 * rng.normal(size=(n, 4)))
        return raised / raised.sum(axis=1, keepdims=True)

    pairs = np.triu_indices(N_TOPICS, 1)
    truth, held = np.corrcoef(proportions(400_000).T)[pairs], []
    for _ in range(draws):
        counts = np.stack([rng.multinomial(40, own @ topic_word) for own in proportions(300)])
        low, high = (end[pairs] for end in found_in(batch_of(counts), projection).interval(-1, 1))
        held.append(((low <= truth) & (truth <= high)).mean())

    # As if all intervals of a draw held the truth or none.
    assert np.mean(held) >= binom.ppf(1e-4, draws, 0.94) / draws
    assert np.mean(held) <= 0.99
