"""Gaussians with a Normal-Wishart prior: known bounds, Student chains, quadrature."""

import numpy as np
import pytest
from scipy.stats import gamma, norm

import reference_gaussian
from sparsetopics.base.errors import OptionError
from sparsetopics.model.allocations.mixture_weights import DPMixture
from sparsetopics.model.likelihoods.gaussian import WIDTH, Gaussian
from sparsetopics.model.likelihoods.vector_likelihood import MEAN_PRECISION
from sparsetopics.model.responsibilities import Responsibilities
from worlds.gaussian_worlds import (
    as_they_are,
    draw_prior,
    likelihood_of,
    oracle_world,
    standard,
    sum_items,
)


def moments_of_all(likelihood, values):
    n_items = len(values)
    hard = Responsibilities(
        np.arange(n_items + 1), np.zeros(n_items, np.uint32), np.ones(n_items, np.float32)
    )
    return sum_items(likelihood, values.astype(np.float32), hard, 1)


def test_bound_of_a_dp_mixture_is_the_known_one():
    likelihood, moments, entropies, concentration, bound = oracle_world("gaussian")
    allocation = DPMixture(moments.counts, concentration)

    found = likelihood.log_evidence(moments).sum() + allocation.bound(moments.counts, entropies)

    np.testing.assert_allclose(found, bound, rtol=1e-12)


@pytest.mark.parametrize("n_columns", [1, 2, 5])
@pytest.mark.parametrize("n_items", [1, 2, 9])
def test_evidence_is_a_chain_of_student_predictives(n_columns, n_items):
    rng = np.random.default_rng(n_items)
    prior = draw_prior("gaussian", n_columns, rng)
    likelihood = likelihood_of(prior)
    values = rng.normal(1.0, 2.0, (n_items, n_columns)).astype(np.float32)

    (found,) = likelihood.log_evidence(moments_of_all(likelihood, values))

    expected = reference_gaussian.log_evidence_by_chain(prior, values.astype(float))
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_evidence_in_one_dimension_is_the_integral():
    values = np.array([0.5, -1.25, 2.0])
    likelihood = Gaussian(3.5, np.array([[1.8]]), as_they_are(1), 0.7)

    (found,) = likelihood.log_evidence(moments_of_all(likelihood, values[:, None]))

    log_precisions, means = np.linspace(-12.0, 5.0, 301), np.linspace(-60.0, 60.0, 4001)
    total = 0.0
    for log_precision in log_precisions:
        precision, width = np.exp(log_precision), np.exp(-0.5 * log_precision)
        densities = norm.pdf(means, 0.0, width / np.sqrt(0.7))
        for value in values:
            densities *= norm.pdf(value, means, width)
        total += densities.sum() * gamma.pdf(precision, 3.5 / 2, scale=2 / 1.8) * precision
    total *= (log_precisions[1] - log_precisions[0]) * (means[1] - means[0])
    np.testing.assert_allclose(found, np.log(total), rtol=1e-6)


def test_posterior_is_that_of_the_uncentred_formulas():
    """With shares, and however far the items are from zero."""
    rng = np.random.default_rng(4)
    prior = draw_prior("gaussian", 3, rng)
    values = (50.0 + rng.normal(size=(20, 3))).astype(np.float32)
    shares = (np.floor(rng.random(20) * 1024) / 1024).astype(np.float32)
    found = Responsibilities(np.arange(21), np.zeros(20, np.uint32), shares)
    likelihood = likelihood_of(prior)

    posterior = likelihood.posterior(sum_items(likelihood, values, found, 1))

    expected = reference_gaussian.full_posterior(prior, values.astype(float), shares.astype(float))
    for ours, theirs in zip(posterior, expected, strict=True):
        np.testing.assert_allclose(ours[0], theirs, rtol=1e-5)


def test_weak_prior_expects_the_covariance_and_the_mean():
    """A share of that of all items; in standard coordinates, it is a sphere about zero."""
    rng = np.random.default_rng(0)
    values = 5.0 + rng.normal(size=(500, 3)) @ rng.normal(size=(3, 3))

    likelihood, _ = standard(Gaussian, values)

    empty = likelihood.posterior(likelihood.zeros(1))
    found, inside = likelihood.normals(empty), likelihood.standard_normals(empty)
    np.testing.assert_allclose(
        found.covariances[0], WIDTH ** (1 / 5) * np.cov(values.T, bias=True), rtol=1e-9
    )
    np.testing.assert_allclose(found.means[0], values.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(inside.covariances[0], WIDTH ** (1 / 5) * np.eye(3))
    np.testing.assert_array_equal(inside.means, np.zeros((1, 3)))
    assert (likelihood.degrees_of_freedom, likelihood.mean_precision) == (5.0, MEAN_PRECISION)


def test_priors_that_cannot_be_are_refused():
    with pytest.raises(OptionError, match="degrees of freedom"):
        Gaussian(3.0, np.eye(2), as_they_are(2), 1.0)
    with pytest.raises(OptionError, match="mean precision: must be positive, but is 0"):
        Gaussian(9.0, np.eye(2), as_they_are(2), 0.0)
