"""Gaussians with a Normal-Gamma prior: known bounds, Student chains, and the Wishart's case."""

from dataclasses import replace

import numpy as np
import pytest

import reference_gaussian
from sparsetopics.base.errors import OptionError
from sparsetopics.model.allocations.mixture_weights import DPMixture
from sparsetopics.model.likelihoods.diagonal_gaussian import DiagonalGaussian
from sparsetopics.model.likelihoods.gaussian import Gaussian
from worlds.gaussian_worlds import (
    as_they_are,
    draw_items,
    draw_prior,
    draw_shares,
    likelihood_of,
    oracle_world,
    sparse,
    standard,
    sum_items,
)


def test_bound_of_a_dp_mixture_is_the_known_one():
    likelihood, moments, entropies, concentration, bound = oracle_world("diagonal_gaussian")
    allocation = DPMixture(moments.counts, concentration)

    found = likelihood.log_evidence(moments).sum() + allocation.bound(moments.counts, entropies)

    np.testing.assert_allclose(found, bound, rtol=1e-12)


@pytest.mark.parametrize("n_columns", [1, 2, 5])
@pytest.mark.parametrize("n_items", [1, 2, 9])
def test_evidence_is_a_chain_of_student_predictives(n_columns, n_items):
    rng = np.random.default_rng(n_items)
    prior = draw_prior("diagonal_gaussian", n_columns, rng)
    likelihood = likelihood_of(prior)
    values = rng.normal(1.0, 2.0, (n_items, n_columns)).astype(np.float32)

    moments = sum_items(likelihood, values, sparse(np.ones((n_items, 1))), 1)
    (found,) = likelihood.log_evidence(moments)

    expected = reference_gaussian.log_evidence_by_chain(prior, values.astype(float))
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_in_one_dimension_it_is_the_full_gaussian():
    """ν = 2a and B = 2b: every formula must agree."""
    rng = np.random.default_rng(3)
    raw, shares = draw_items(30, 1, rng), sparse(draw_shares(30, 3, rng))
    (diagonal, values), (full, turned) = (standard(k, raw) for k in (DiagonalGaussian, Gaussian))
    np.testing.assert_allclose(values, turned, rtol=1e-6)
    diagonal = replace(diagonal, rates=0.5 * full.scale_matrix[0])
    assert (2.0 * diagonal.shape, diagonal.mean_precision) == (3.0, full.mean_precision)
    ours, theirs = (sum_items(each, values, shares, 3) for each in (diagonal, full))

    np.testing.assert_allclose(diagonal.log_evidence(ours), full.log_evidence(theirs), rtol=1e-10)
    np.testing.assert_allclose(
        diagonal.prepare(ours)(values),
        full.prepare(theirs)(values),
        rtol=1e-5,
    )
    np.testing.assert_allclose(
        diagonal.predictive(ours)(values),
        full.predictive(theirs)(values),
        rtol=1e-5,
    )
    normals = (
        likelihood.normals(likelihood.posterior(moments))
        for likelihood, moments in ((diagonal, ours), (full, theirs))
    )
    for mine, other in zip(*normals, strict=True):
        np.testing.assert_allclose(mine.ravel(), other.ravel(), rtol=1e-10)


def test_columns_are_independent():
    rng = np.random.default_rng(5)
    values, shares = draw_items(30, 3, rng), sparse(draw_shares(30, 2, rng))
    prior = draw_prior("diagonal_gaussian", 3, rng)
    likelihood = likelihood_of(prior)

    whole = likelihood.log_evidence(sum_items(likelihood, values, shares, 2))

    parts = 0.0
    for d in range(3):
        alone = prior | {"b": prior["b"][d : d + 1], "m": prior["m"][d : d + 1]}
        of_column = likelihood_of(alone)
        column = np.ascontiguousarray(values[:, d : d + 1])
        parts = parts + of_column.log_evidence(sum_items(of_column, column, shares, 2))
    np.testing.assert_allclose(whole, parts, rtol=1e-12)


def test_priors_that_cannot_be_are_refused():
    with pytest.raises(OptionError, match="shape: must be more than 1, but is 1"):
        DiagonalGaussian(1.0, np.ones(2), 1.0, as_they_are(2))
    with pytest.raises(OptionError, match="rates: must be positive, but one is 0"):
        DiagonalGaussian(2.0, np.array([1.0, 0.0]), 1.0, as_they_are(2))
    with pytest.raises(OptionError, match="mean precision"):
        DiagonalGaussian(2.0, np.ones(2), -1.0, as_they_are(2))
