"""Zero-mean Gaussians with a Wishart prior: known bounds, Student chains, quadrature."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import gamma, norm

import reference_gaussian
from sparsetopics.base.errors import OptionError
from sparsetopics.model.allocations.mixture_weights import DPMixture
from sparsetopics.model.likelihoods.gaussian import WIDTH, ZeroMeanGaussian
from sparsetopics.model.likelihoods.moments import Moments
from worlds.gaussian_worlds import as_they_are, draw_prior, likelihood_of, oracle_world, standard


def moments_of_all(values):
    return Moments(
        np.array([float(len(values))]),
        np.zeros((1, 0)),
        (values.T @ values)[None].astype(float),
    )


def test_bound_of_a_dp_mixture_is_the_known_one():
    likelihood, moments, entropies, concentration, bound = oracle_world("zero_mean_gaussian")
    allocation = DPMixture(moments.counts, concentration)

    found = likelihood.log_evidence(moments).sum() + allocation.bound(moments.counts, entropies)

    np.testing.assert_allclose(found, bound, rtol=1e-12)


@pytest.mark.parametrize("n_columns", [1, 2, 5])
@pytest.mark.parametrize("n_items", [1, 2, 9])
def test_evidence_is_a_chain_of_student_predictives(n_columns, n_items):
    rng = np.random.default_rng(n_items)
    prior = draw_prior("zero_mean_gaussian", n_columns, rng)
    values = rng.normal(0.0, 2.0, (n_items, n_columns))

    (found,) = likelihood_of(prior).log_evidence(moments_of_all(values))

    expected = reference_gaussian.log_evidence_by_chain(prior, values)
    np.testing.assert_allclose(found, expected, rtol=1e-11)


def test_evidence_in_one_dimension_is_the_integral():
    values = np.array([0.4, -1.3, 2.2])
    likelihood = ZeroMeanGaussian(3.5, np.array([[1.8]]), as_they_are(1))

    def joint(precision):
        prior = gamma.pdf(precision, 3.5 / 2, scale=2 / 1.8)
        return prior * np.prod(norm.pdf(values, 0.0, 1.0 / np.sqrt(precision)))

    (found,) = likelihood.log_evidence(moments_of_all(values[:, None]))

    integral, _ = quad(joint, 0.0, np.inf, epsabs=1e-14, epsrel=1e-11)
    np.testing.assert_allclose(found, np.log(integral), rtol=1e-9)


def test_weak_prior_expects_the_mean_products():
    """A share of those of all items; in standard coordinates, that is a sphere."""
    rng = np.random.default_rng(0)
    values = 2.0 + rng.normal(size=(500, 3)) @ rng.normal(size=(3, 3))

    likelihood, _ = standard(ZeroMeanGaussian, values)

    empty = likelihood.posterior(likelihood.zeros(1))
    found = likelihood.normals(empty)
    np.testing.assert_allclose(
        found.covariances[0], WIDTH ** (1 / 5) * values.T @ values / 500, rtol=1e-9
    )
    np.testing.assert_array_equal(found.means, np.zeros((1, 3)))
    inside = likelihood.standard_normals(empty).covariances[0]
    np.testing.assert_allclose(inside, WIDTH ** (1 / 5) * np.eye(3))
    assert likelihood.degrees_of_freedom == 5.0


def test_priors_that_cannot_be_are_refused():
    with pytest.raises(
        OptionError, match="degrees of freedom: must be more than 3, the columns plus one, but is 3"
    ):
        ZeroMeanGaussian(3.0, np.eye(2), as_they_are(2))
    with pytest.raises(OptionError, match="scale matrix: is not positive definite"):
        ZeroMeanGaussian(9.0, np.ones((2, 2)), as_they_are(2))
    with pytest.raises(OptionError, match="scale matrix"):
        ZeroMeanGaussian(9.0, np.array([[1.0, 0.5], [0.0, 1.0]]), as_they_are(2))
    with pytest.raises(OptionError, match="scale matrix"):
        ZeroMeanGaussian(9.0, np.ones((2, 3)), as_they_are(2))
