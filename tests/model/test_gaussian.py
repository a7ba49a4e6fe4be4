"""Gaussians with a Normal-Wishart prior: known bounds, Student chains, quadrature."""

import numpy as np
import pytest
from scipy.stats import gamma, norm

import reference_gaussian
from sparsetopics.base.errors import OptionError
from sparsetopics.model.allocations.mixture_weights import DPMixture
from sparsetopics.model.likelihoods.gaussian import Gaussian
from sparsetopics.model.responsibilities import Responsibilities
from worlds.gaussian_worlds import draw_prior, likelihood_of, oracle_world, sum_items


def moments_of_all(likelihood, values):
    n_items = len(values)
    hard = Responsibilities(
        np.arange(n_items + 1), np.zeros(n_items, np.uint32), np.ones(n_items, np.float32)
    )
    return sum_items(likelihood, values.astype(np.float32), hard, 1)


def test_bound_of_a_dp_mixture_is_the_known_one():
    likelihood, moments, entropies, concentration, bound = oracle_world("gaussian")
    allocation = DPMixture(moments.counts, concentration)

    found = likelihood.log_evidence(moments).sum() + allocation.elbo(moments.counts, entropies)

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
    np.testing.assert_allclose(found, expected, rtol=1e-6)  # items are rounded about the mean


def test_evidence_in_one_dimension_is_the_integral():
    values = np.array([0.5, -1.25, 2.0])
    likelihood = Gaussian(3.5, np.array([[1.8]]), np.array([0.5]), 0.7)

    (found,) = likelihood.log_evidence(moments_of_all(likelihood, values[:, None]))

    log_precisions, means = np.linspace(-12.0, 5.0, 301), np.linspace(-60.0, 60.0, 4001)
    total = 0.0
    for log_precision in log_precisions:
        precision, width = np.exp(log_precision), np.exp(-0.5 * log_precision)
        densities = norm.pdf(means, 0.5, width / np.sqrt(0.7))
        for value in values:
            densities *= norm.pdf(value, means, width)
        total += densities.sum() * gamma.pdf(precision, 3.5 / 2, scale=2 / 1.8) * precision
    total *= (log_precisions[1] - log_precisions[0]) * (means[1] - means[0])
    np.testing.assert_allclose(found, np.log(total), rtol=1e-6)


def test_posterior_is_that_of_the_uncentred_formulas():
    """However far the prior's mean is from zero, and with shares."""
    rng = np.random.default_rng(4)
    prior = draw_prior("gaussian", 3, rng)
    prior["m"] = prior["m"] + 50.0
    values = (50.0 + rng.normal(size=(20, 3))).astype(np.float32)
    shares = (np.floor(rng.random(20) * 1024) / 1024).astype(np.float32)
    found = Responsibilities(np.arange(21), np.zeros(20, np.uint32), shares)
    likelihood = likelihood_of(prior)

    posterior = likelihood.posterior(sum_items(likelihood, values, found, 1))

    expected = reference_gaussian.full_posterior(prior, values.astype(float), shares.astype(float))
    for ours, theirs in zip(posterior, expected, strict=True):
        np.testing.assert_allclose(ours[0], theirs, rtol=1e-5)


def test_prior_from_data_expects_the_variances_and_the_mean():
    rng = np.random.default_rng(0)
    values = (5.0 + rng.normal(size=(500, 3)) @ rng.normal(size=(3, 3))).astype(np.float32)

    likelihood = Gaussian.from_data(values)

    estimates = likelihood.point_estimates(likelihood.posterior(likelihood.zeros(1)))
    expected = np.diag(values.astype(float).var(axis=0))
    np.testing.assert_allclose(estimates.covariances[0], expected, rtol=1e-6)
    np.testing.assert_allclose(estimates.means[0], values.mean(axis=0), rtol=1e-6)


def test_priors_that_cannot_be_are_refused():
    with pytest.raises(OptionError, match="degrees of freedom"):
        Gaussian(3.0, np.eye(2), np.zeros(2), 1.0)
    with pytest.raises(OptionError, match="mean precision: must be positive, but is 0"):
        Gaussian(9.0, np.eye(2), np.zeros(2), 0.0)
    with pytest.raises(OptionError, match=r"prior mean: must have shape \(2,\), but has \(3,\)"):
        Gaussian(9.0, np.eye(2), np.zeros(3), 1.0)
