"""Least squares of proportions: against statsmodels and a plain twin, and by draws."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

import reference_prevalence as reference
from sparsetopics.answers.formula import natural_spline
from sparsetopics.measures.effects import added, estimates_of, fit, sum_products, sum_spread
from sparsetopics.measures.prevalence import group_differences, group_means, unbiased_projection
from worlds.topic_draws import N_TOPICS, N_WORDS, batch_of, draw_documents, draw_topics, totals_of

EVEN = np.full(N_TOPICS, 0.25)


def effects(batch, design, contrasts, projection, workers=1, cuts=()):
    """Estimates of contrasts, of documents in parts."""
    ends = [0, *cuts, batch.n_docs]
    parts = [
        (batch.take(np.arange(first, last)), design[first:last]) for first, last in pairwise(ends)
    ]
    products = added(sum_products(*part, projection, workers) for part in parts)
    found = fit(products)
    spread = added(sum_spread(*part, projection, *found, contrasts, workers) for part in parts)
    return estimates_of(contrasts, found[0], products.n_documents, spread)


def drawn(seed, n_documents=60, n_columns=3):
    """Documents, a design with an intercept, contrasts, and a projection."""
    rng = np.random.default_rng(seed)
    topic_word = draw_topics(seed % 97)
    batch = draw_documents(rng, topic_word, rng.dirichlet(np.full(N_TOPICS, 3.0)), n_documents)
    design = np.column_stack([np.ones(n_documents), rng.normal(size=(n_documents, n_columns - 1))])
    contrasts = np.vstack([np.eye(n_columns), rng.normal(size=(2, n_columns))])
    return batch, design, contrasts, unbiased_projection(topic_word, EVEN)


@given(seed=st.integers(0, 2**32), n_columns=st.integers(1, 5), scale=st.floats(1e-6, 1e6))
def test_estimates_errors_and_skewness_are_those_of_the_plain_twin(seed, n_columns, scale):
    batch, design, contrasts, projection = drawn(seed, n_columns=n_columns)
    design[:, 1:] *= scale

    found = effects(batch, design, contrasts, projection)

    estimates = reference.dense_shares(batch, N_WORDS) @ projection
    value, error, skewness = reference.least_squares(design, estimates, contrasts)
    np.testing.assert_allclose(found.value, value, rtol=1e-6, atol=1e-8 * np.abs(value).max())
    np.testing.assert_allclose(found.standard_error, error, rtol=1e-6)
    np.testing.assert_allclose(found.skewness, skewness, rtol=1e-5, atol=1e-8)
    assert (found.freedom == 60 - n_columns).all()


@given(seed=st.integers(0, 2**32), n_columns=st.integers(1, 5))
def test_coefficients_and_errors_are_those_of_statsmodels(seed, n_columns):
    models = pytest.importorskip("statsmodels.api")
    batch, design, _, projection = drawn(seed, n_columns=n_columns)

    found = effects(batch, design, np.eye(n_columns), projection)

    estimates = reference.dense_shares(batch, N_WORDS) @ projection
    for topic, own in enumerate(estimates.T):
        expected = models.OLS(own, design).fit(cov_type="HC3")
        np.testing.assert_allclose(found.value[:, topic], expected.params, atol=1e-9)
        np.testing.assert_allclose(found.standard_error[:, topic], expected.bse, rtol=1e-7)


def test_documents_without_words_or_values_are_left_out():
    batch, design, contrasts, projection = drawn(1)
    counts = np.zeros((batch.n_docs, N_WORDS), np.int64)
    np.add.at(counts, (np.repeat(np.arange(60), np.diff(batch.indptr)), batch.word_ids),
              batch.word_counts)  # fmt: skip
    counts[5], design[9, 2], design[30] = 0, np.nan, np.nan
    kept = np.setdiff1d(np.arange(60), [5, 9, 30])

    found = effects(batch_of(counts), design, contrasts, projection)

    expected = effects(batch_of(counts[kept]), design[kept], contrasts, projection)
    assert expected.freedom[0, 0] == 57 - 3
    for own, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(own, other)


@pytest.mark.parametrize("name", ["a sum", "a constant", "zero", "too few documents"])
def test_a_column_that_others_determine_is_named(name):
    batch, design, _, projection = drawn(2)
    one, x, y = design.T
    columns = {
        "a sum": [one, x, y, 2.0 * x - y + 1.0, x * x],
        "a constant": [one, x, y, np.full(60, 7.0)],
        "zero": [one, x, y, np.zeros(60)],
        "too few documents": [one, x, y, x * y],
    }
    design = np.column_stack(columns[name])
    if name == "too few documents":
        design[3:] = np.nan

    with pytest.raises(np.linalg.LinAlgError) as refused:
        fit(sum_products(batch, design, projection))

    assert refused.value.args == (3,)


def test_a_document_alone_leaves_only_what_it_decides_without_an_error():
    batch, design, _, projection = drawn(3)
    alone = (np.arange(60) == 17).astype(np.float64)
    with_alone = np.column_stack([design, alone])
    contrasts = np.eye(4)

    found = effects(batch, with_alone, contrasts, projection)

    rest = np.flatnonzero(alone == 0.0)
    expected = effects(batch.take(rest), design[rest], np.eye(3), projection)
    assert np.isnan(found.standard_error[3]).all()
    np.testing.assert_allclose(found.value[:3], expected.value, atol=1e-9)
    np.testing.assert_allclose(found.standard_error[:3], expected.standard_error, rtol=1e-6)
    tested = found.tested()
    assert np.isnan(tested.p_value).any(axis=1).tolist() == [False, False, False, True]
    assert np.isnan(tested.low).any(axis=1).tolist() == [False, False, False, True]


@given(seed=st.integers(0, 2**32), cuts=st.lists(st.integers(0, 60), max_size=4))
def test_parts_add_up_to_all_documents(seed, cuts):
    batch, design, contrasts, projection = drawn(seed)

    whole = effects(batch, design, contrasts, projection)
    parts = effects(batch, design, contrasts, projection, cuts=sorted(cuts))

    for own, other in zip(parts, whole, strict=True):
        np.testing.assert_allclose(own, other, rtol=1e-7, atol=1e-9)


def test_any_number_of_workers_gives_the_same_bits():
    batch, design, contrasts, projection = drawn(4, n_documents=3_000)

    one = effects(batch, design, contrasts, projection)
    three = effects(batch, design, contrasts, projection, 3)

    for own, other in zip(one, three, strict=True):
        np.testing.assert_array_equal(own, other)


def test_indicators_of_groups_have_the_linear_means_of_groups():
    rng = np.random.default_rng(5)
    topic_word = draw_topics()
    batch = draw_documents(rng, topic_word, np.array([0.1, 0.2, 0.3, 0.4]), 90)
    groups, projection = rng.integers(0, 3, 90), unbiased_projection(topic_word, EVEN)
    design = np.column_stack([np.ones(90), groups == 1, groups == 2]).astype(np.float64)

    found = effects(batch, design, np.eye(3), projection)

    totals = totals_of(batch, groups, 3, projection)
    means = np.array([total.powers[0] / total.n_documents for total in totals])
    np.testing.assert_allclose(found.value[0], means[0], atol=1e-12)
    np.testing.assert_allclose(found.value[1:], means[1:] - means[:1], atol=1e-12)
    # HC3 of indicators divides by n − 1 twice, group means by n (n − 1).
    n = np.bincount(groups)[:, None]
    errors = group_means(totals, topic_word).standard_error * np.sqrt(n / (n - 1))
    expected = np.sqrt(errors[0] ** 2 + errors[1:] ** 2)
    np.testing.assert_allclose(found.standard_error[1:], expected, rtol=1e-9)
    compared = group_differences(group_means(totals, topic_word), np.array([[1, 0], [2, 0]]))
    np.testing.assert_allclose(found.skewness[1:], compared.skewness, rtol=0.1, atol=0.01)


def test_intervals_of_a_curve_hold_the_truth():
    draws, rng = 60, np.random.default_rng(6)
    topic_word = draw_topics(concentration=0.3)
    projection = unbiased_projection(topic_word, EVEN)
    year = np.linspace(0.0, 1.0, 11)
    curves = np.column_stack([np.ones(11), *spline(year)])
    bend = curves @ np.array([0.2, 0.5, -1.0, 0.3])
    bend = (bend - bend.min()) / np.ptp(bend)
    ends = np.array([[0.7, 0.2, 0.08, 0.02], [0.1, 0.2, 0.3, 0.4]])
    truth = (1 - bend[:, None]) * ends[0] + bend[:, None] * ends[1]
    held = []
    for _ in range(draws):
        own = rng.integers(0, 11, 220)
        counts = np.stack([
            rng.multinomial(40, rng.dirichlet(2.0 * mean) @ topic_word) for mean in truth[own]
        ])  # fmt: skip
        found = effects(batch_of(counts), curves[own], curves, projection)
        low, high = found.interval(0.0, 1.0)
        held.append(((low <= truth) & (truth <= high)).mean())

    # As if all intervals of a draw held the truth or none.
    assert np.mean(held) >= binom.ppf(1e-4, draws, 0.94) / draws
    assert np.mean(held) <= 0.98


def spline(values):
    columns = natural_spline(values, 3)
    return [np.asarray(own) for own in columns.values()]
