"""Means of topics in groups, their errors and differences, against plain twins and by draws."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference_prevalence as reference
from sparsetopics.base.batches import DocumentBatch
from sparsetopics.measures.estimates import Estimates, holm_adjusted, skewed_interval, unskewed
from sparsetopics.measures.prevalence import (
    RIDGE,
    GroupTotal,
    group_differences,
    group_means,
    sum_groups,
    unbiased_projection,
)
from sparsetopics.measures.telling_words import telling_group_words
from worlds.topic_draws import N_TOPICS, N_WORDS, batch_of, draw_documents, draw_topics, totals_of


@given(seed=st.integers(0, 2**32), spread=st.floats(0.2, 5.0))
def test_the_projection_gives_documents_of_topics_back_their_proportions(seed, spread):
    rng = np.random.default_rng(seed)
    topic_word, weights = draw_topics(seed, spread), rng.dirichlet(np.full(N_TOPICS, 3.0))

    found = unbiased_projection(topic_word, weights)

    exact = reference.projection(topic_word, weights)
    np.testing.assert_allclose(topic_word @ exact, np.eye(N_TOPICS), atol=1e-9)
    np.testing.assert_allclose(topic_word @ found, np.eye(N_TOPICS), atol=0.05)


def test_the_projection_solves_its_equations_with_the_ridge():
    rng = np.random.default_rng(5)
    topic_word, weights = rng.dirichlet(np.full(90, 0.3), 37) + 1e-4, rng.dirichlet(np.ones(37))

    found = unbiased_projection(topic_word, weights)

    scaled = np.sqrt(weights)[:, None] * topic_word / np.sqrt(weights @ topic_word)
    ridged = scaled @ scaled.T + RIDGE * np.eye(37)
    expected = np.linalg.solve(ridged, scaled) * np.sqrt(weights)[:, None]
    np.testing.assert_allclose(found.T, expected / np.sqrt(weights @ topic_word), rtol=1e-7)


def test_the_projection_stays_finite_for_topics_that_are_equal():
    topic_word = np.tile(draw_topics()[:1], (N_TOPICS, 1))

    found = unbiased_projection(topic_word, np.full(N_TOPICS, 0.25))

    np.testing.assert_allclose(topic_word @ found, 0.25, atol=1e-3)


def test_means_and_errors_are_those_of_the_plain_twin():
    rng = np.random.default_rng(1)
    topic_word = draw_topics()
    batch = draw_documents(rng, topic_word, np.array([0.1, 0.2, 0.3, 0.4]), 60)
    groups = rng.integers(-1, 3, 60)
    projection = unbiased_projection(topic_word, np.full(N_TOPICS, 0.25))

    found = group_means(totals_of(batch, groups, 3, projection), topic_word)

    shares = reference.dense_shares(batch, N_WORDS)
    for group in range(3):
        own = shares[groups == group]
        error, skewness = reference.errors(own @ projection)
        expected = reference.most_likely(own.mean(axis=0), topic_word)
        assert (found.freedom[group] == len(own) - 1).all()
        np.testing.assert_allclose(found.value[group], expected, atol=2e-4)
        np.testing.assert_allclose(found.standard_error[group], error, rtol=1e-6)
        np.testing.assert_allclose(found.skewness[group], skewness, rtol=1e-5)


@given(
    seed=st.integers(0, 2**32),
    cuts=st.lists(st.integers(0, 30), max_size=5),
    groups=st.lists(st.integers(-1, 2), min_size=30, max_size=30),
)
def test_sums_of_blocks_are_those_of_all_documents(seed, cuts, groups):
    rng = np.random.default_rng(seed)
    topic_word = draw_topics()
    counts = rng.poisson(0.3, (30, N_WORDS))
    projection = unbiased_projection(topic_word, np.full(N_TOPICS, 0.25))
    whole = totals_of(batch_of(counts), groups, 3, projection)

    parts = [GroupTotal(N_TOPICS, N_WORDS) for _ in whole]
    ends = [0, *sorted(cuts), 30]
    for first, last in pairwise(ends):
        some = np.array(groups[first:last], np.int64)
        block = batch_of(counts[first:last])
        sums = sum_groups(block, some, 3, projection)
        for row, total in enumerate(parts):
            total.add(sums, row)

    chosen = np.array(groups)[counts.sum(axis=1) > 0]
    for group, (part, exact) in enumerate(zip(parts, whole, strict=True)):
        assert part.n_documents == exact.n_documents == (chosen == group).sum()
        np.testing.assert_allclose(part.n_tokens, exact.n_tokens)
        np.testing.assert_allclose(part.powers, exact.powers, atol=1e-9)
        np.testing.assert_allclose(part.word_shares, exact.word_shares, atol=1e-6)


def test_a_group_that_includes_another_has_the_sums_of_both():
    topic_word = draw_topics()
    batch = draw_documents(np.random.default_rng(2), topic_word, np.full(N_TOPICS, 0.25), 40)
    projection = unbiased_projection(topic_word, np.full(N_TOPICS, 0.25))
    own, other = totals_of(batch, np.arange(40) % 2, 2, projection)
    (both,) = totals_of(batch, np.zeros(40, np.int64), 1, projection)

    own.include(other)

    assert own.n_documents == both.n_documents == 40
    assert (own.n_tokens, other.n_documents) == (both.n_tokens, 20)
    np.testing.assert_allclose(own.powers, both.powers)
    np.testing.assert_allclose(own.word_shares, both.word_shares, rtol=1e-5)


def test_sums_have_the_same_bits_for_any_number_of_workers():
    rng = np.random.default_rng(2)
    topic_word = draw_topics()
    batch = draw_documents(rng, topic_word, np.full(N_TOPICS, 0.25), 3_000)
    projection = unbiased_projection(topic_word, np.full(N_TOPICS, 0.25))
    groups = rng.integers(0, 5, 3_000)

    several = sum_groups(batch, groups, 5, projection, 3)

    one = sum_groups(batch, groups, 5, projection)
    np.testing.assert_array_equal(several.powers, one.powers)
    np.testing.assert_array_equal(several.word_shares.data, one.word_shares.data)


def test_intervals_of_means_and_differences_hold_the_truth_as_often_as_they_say():
    rng = np.random.default_rng(3)
    topic_word = draw_topics(concentration=0.5)
    truth = np.array([[0.7, 0.2, 0.08, 0.02], [0.1, 0.2, 0.3, 0.4]])
    projection = unbiased_projection(topic_word, np.full(N_TOPICS, 0.25))
    held, differences_held = [], []
    for _ in range(200):
        batches = [draw_documents(rng, topic_word, mean, 120) for mean in truth]
        joined = DocumentBatch.joined(batches)
        found = group_means(totals_of(joined, np.repeat([0, 1], 120), 2, projection), topic_word)
        low, high = found.interval(0.0, 1.0)
        held.append((low <= truth) & (truth <= high))
        pair = group_differences(found, np.array([[0, 1]])).tested()
        difference = truth[0] - truth[1]
        differences_held.append((pair.low <= difference) & (difference <= pair.high))

    assert 0.93 <= np.mean(held) <= 0.97
    assert 0.93 <= np.mean(differences_held) <= 0.97


def test_p_values_of_groups_that_are_alike_are_uniform():
    rng = np.random.default_rng(4)
    topic_word, mean = draw_topics(), np.array([0.1, 0.2, 0.3, 0.4])
    projection = unbiased_projection(topic_word, mean)
    p_values = []
    for _ in range(200):
        batch = draw_documents(rng, topic_word, mean, 120)
        found = group_means(totals_of(batch, np.arange(120) % 2, 2, projection), topic_word)
        p_values.append(group_differences(found, np.array([[0, 1]])).tested().p_value[0])

    below = [np.mean(np.array(p_values) < level) for level in (0.05, 0.25, 0.5)]
    np.testing.assert_allclose(below, [0.05, 0.25, 0.5], atol=0.04)


@given(
    error=st.floats(1e-6, 1.0),
    skewness=st.floats(-1.5, 1.5),
    freedom=st.integers(1, 500),
    level=st.sampled_from([0.5, 0.9, 0.95]),
)
def test_skewed_intervals_are_those_of_the_plain_twin(error, skewness, freedom, level):
    low, high = skewed_interval(np.array(error), np.array(skewness), np.array(freedom), level)

    expected = reference.interval(error, skewness, freedom, level)
    np.testing.assert_allclose((low, high), expected, rtol=1e-4, atol=1e-4 * error)


def test_an_interval_ends_where_the_test_has_its_p_value():
    values, errors = np.array([[0.4], [0.1]]), np.full((2, 1), 0.1)
    means = Estimates(values, errors, values, freedom=np.array([[19.0], [29.0]]))
    pair = group_differences(means, np.array([[0, 1]])).tested()
    moved = means._replace(value=values - [[pair.low[0, 0]], [0.0]])

    assert group_differences(moved, np.array([[0, 1]])).tested().p_value[0, 0] == pytest.approx(
        0.05
    )


def test_without_skewness_the_test_is_that_of_welch():
    t = np.array([-3.0, 0.0, 2.0])

    np.testing.assert_array_equal(unskewed(t, np.zeros(3)), t)


def test_groups_of_one_document_have_a_mean_but_no_error():
    topic_word = draw_topics()
    batch = draw_documents(np.random.default_rng(5), topic_word, np.full(N_TOPICS, 0.25), 11)
    projection = unbiased_projection(topic_word, np.full(N_TOPICS, 0.25))

    found = group_means(totals_of(batch, [0] * 10 + [1], 2, projection), topic_word)

    assert found.value[1].sum() == pytest.approx(1.0)
    assert np.isnan(found.standard_error[1]).all()
    assert np.isnan(found.interval(0.0, 1.0)).any(axis=0).tolist() == [[False] * 4, [True] * 4]
    assert np.isnan(group_differences(found, np.array([[0, 1]])).tested().p_value).all()


def test_documents_that_are_alike_have_no_error_and_cannot_be_told_apart():
    topic_word = draw_topics()
    rng = np.random.default_rng(6)
    drawn = draw_documents(rng, topic_word, np.full(N_TOPICS, 0.25), 12)
    batch = drawn.take(np.array([0] * 5 + [1] * 5 + list(range(2, 12))))
    groups = np.repeat([0, 1, 2], [5, 5, 10])
    projection = unbiased_projection(topic_word, np.full(N_TOPICS, 0.25))

    found = group_means(totals_of(batch, groups, 3, projection), topic_word)
    differences = group_differences(found, np.array([[0, 1], [0, 2]])).tested()

    assert (found.standard_error[:2] == 0.0).all()
    assert (found.skewness[:2] == 0.0).all()
    assert np.isnan(differences.p_value).tolist() == [[True] * 4, [False] * 4]
    assert np.isnan(differences.t[0]).all()


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=12))
def test_holm_is_the_plain_twin(p_values):
    found = holm_adjusted(np.array(p_values))

    np.testing.assert_allclose(found, reference.holm(np.array(p_values)))


def test_holm_by_hand_leaves_out_what_is_not_known():
    found = holm_adjusted(np.array([0.04, np.nan, 0.01, 0.03]))

    np.testing.assert_allclose(found, [0.06, np.nan, 0.03, 0.06])


def test_a_group_that_uses_a_word_of_a_topic_more_is_told_by_it():
    topic_word = draw_topics(6)
    rng = np.random.default_rng(6)
    topic = 1
    word = int(np.argsort(-topic_word[topic])[3])
    own = topic_word.copy()
    own[topic, word] *= 4.0
    own /= own.sum(axis=1, keepdims=True)
    mean = np.full(N_TOPICS, 0.25)
    batches = [draw_documents(rng, topics, mean, 400) for topics in (topic_word, own)]
    projection = unbiased_projection(topic_word, mean)
    totals = totals_of(DocumentBatch.joined(batches), np.repeat([0, 1], 400), 2, projection)

    _, second = telling_group_words(totals, group_means(totals, topic_word).value, topic_word, 3)

    assert second[topic][0] == word


def test_one_group_has_no_telling_words():
    topic_word = draw_topics()
    batch = draw_documents(np.random.default_rng(7), topic_word, np.full(N_TOPICS, 0.25), 20)
    projection = unbiased_projection(topic_word, np.full(N_TOPICS, 0.25))
    totals = totals_of(batch, [0] * 20, 1, projection)

    (words,) = telling_group_words(totals, group_means(totals, topic_word).value, topic_word, 3)

    assert [len(each) for each in words] == [0] * N_TOPICS
