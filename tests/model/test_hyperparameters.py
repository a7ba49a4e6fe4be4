"""Learned concentrations are maxima of the bound, and near those that made the data."""

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import gammaln, psi

from sparsetopics.model.allocations.lda import LDAAllocation
from sparsetopics.model.hyperparameters import (
    inverse_digamma,
    learn_doc_concentration,
    learn_word_concentration,
)
from sparsetopics.model.likelihoods.words import evidence_by_topic
from sparsetopics.model.statistics import DocumentTerms

SEEDS = st.integers(0, 2**32 - 1)


def terms_of(posterior, alpha=0.1):
    """The sums of documents with Dirichlet posteriors θ (n_docs, n_topics), N_dk = θ_dk − α."""
    n_docs, n_topics = posterior.shape
    totals, digammas = posterior.sum(axis=1), psi(posterior)
    return DocumentTerms.zeros(n_topics)._replace(
        n_docs=float(n_docs),
        active_documents=np.full(n_topics, float(n_docs)),
        summed_digamma=digammas.sum(axis=0),
        summed_log_gamma=gammaln(posterior).sum(axis=0),
        frozen_slack=-alpha * digammas.sum(axis=0),
        totals=np.array(
            [psi(totals).sum(), gammaln(totals).sum(), -alpha * n_topics * psi(totals).sum()]
        ),
    )


def elbo_documents(terms, alpha):
    return LDAAllocation(alpha).elbo(terms)


def converged(learn, value, given):
    for _ in range(40):
        value = learn(value, given)
    return value


def test_topics_that_are_kept_share_the_total_equally():
    left = LDAAllocation(np.array([3.0, 1.0, 2.0])).joined(np.array([0, 1, 0]), 2)

    np.testing.assert_array_equal(left.doc_concentration, [3.0, 3.0])


@pytest.mark.parametrize("exponent", range(-12, 7))
def test_inverse_digamma_equals_mpmath(exponent):
    for mantissa in (1.0, 3.7):
        x = mantissa * 10.0**exponent
        value = float(mpmath.digamma(x))

        assert inverse_digamma(np.array([value]))[0] == pytest.approx(x, rel=1e-9)


@given(value=st.floats(-1e9, 15.0))
def test_inverse_digamma_inverts(value):
    found = inverse_digamma(np.array([value]))[0]

    assert psi(found) == pytest.approx(value, rel=1e-9, abs=1e-9)


@settings(max_examples=5)
@given(seed=SEEDS, n_topics=st.integers(2, 6))
def test_learned_alpha_is_a_maximum_of_the_bound(seed, n_topics):
    rng = np.random.default_rng(seed)
    terms = terms_of(rng.gamma(0.5, 10.0, (30, n_topics)) + 0.1)
    found = converged(learn_doc_concentration, np.full(n_topics, 0.1), terms)
    best = elbo_documents(terms, found)
    for topic in range(n_topics):
        step = np.zeros(n_topics)
        step[topic] = 1e-3 * found[topic]
        around = [elbo_documents(terms, found + sign * step) for sign in (1, -1)]

        assert max(around) < best
        assert abs(around[0] - around[1]) < 1e-2 * (2 * best - sum(around)) + 1e-9 * abs(best)


@settings(max_examples=5)
@given(seed=SEEDS)
def test_learned_eta_is_a_maximum_of_the_bound(seed):
    rng = np.random.default_rng(seed)
    counts = rng.poisson(rng.gamma(0.3, 10.0, (20, 3))).astype(float)
    counts[0] += 5.0
    found = converged(learn_word_concentration, 0.1, counts)
    around = [evidence_by_topic(counts, found * factor).sum() for factor in (0.99, 1.01)]

    assert max(around) < evidence_by_topic(counts, found).sum()


@settings(max_examples=20)
@given(seed=SEEDS, start=st.floats(1e-7, 1e3))
def test_every_call_raises_the_bound(seed, start):
    rng = np.random.default_rng(seed)
    terms = terms_of(rng.gamma(0.5, 10.0, (10, 4)) + 0.1)
    counts = rng.poisson(rng.gamma(0.3, 10.0, (20, 3))).astype(float)

    alpha, eta = np.full(4, start), start
    for _ in range(3):
        learned_alpha = learn_doc_concentration(alpha, terms)
        learned_eta = learn_word_concentration(eta, counts)

        before, after = elbo_documents(terms, alpha), elbo_documents(terms, learned_alpha)
        assert after >= before - 1e-9 * abs(before)
        before, after = (
            evidence_by_topic(counts, eta).sum(),
            evidence_by_topic(counts, learned_eta).sum(),
        )
        assert after >= before - 1e-9 * abs(before)
        alpha, eta = learned_alpha, learned_eta


def test_alpha_of_simulated_documents_is_recovered():
    rng = np.random.default_rng(1)
    true = np.array([0.1, 0.5, 2.0])
    counts = np.array([rng.multinomial(3000, rng.dirichlet(true)) for _ in range(3000)])

    found = np.full(3, 1.0)
    for _ in range(40):
        found = learn_doc_concentration(found, terms_of(counts + found))

    np.testing.assert_allclose(found, true, rtol=0.1)


@pytest.mark.parametrize("true", [0.02, 0.3, 4.0])
def test_eta_of_simulated_topics_is_recovered(true):
    rng = np.random.default_rng(2)
    counts = np.array([rng.multinomial(5000, rng.dirichlet(np.full(300, true))) for _ in range(20)])

    found = converged(learn_word_concentration, 0.1, counts.T.astype(float))

    assert found == pytest.approx(true, rel=0.1)


def test_with_nothing_to_learn_from_the_value_stays():
    assert learn_word_concentration(0.3, np.zeros((5, 2))) == 0.3
    one_topic = terms_of(np.full((4, 1), 2.0))
    np.testing.assert_allclose(learn_doc_concentration(np.array([0.3]), one_topic), 0.3)
