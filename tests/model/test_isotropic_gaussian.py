"""Spheres of known variance: what the default is, points beside posteriors, chains of normals."""

import numpy as np
import pytest

import reference_gaussian
from sparsetopics.base.errors import OptionError, ShapeError
from sparsetopics.corpora.corpus import VectorCorpus
from sparsetopics.model.likelihoods import diagonal_gaussian
from sparsetopics.model.likelihoods.diagonal_gaussian import IsotropicGaussian, effective_variance
from sparsetopics.options.training import LocalOptions, TopicPrior, TrainingOptions
from sparsetopics.runs.data import source_of
from worlds.gaussian_worlds import (
    as_they_are,
    draw_items,
    draw_prior,
    draw_shares,
    likelihood_of,
    sparse,
    sum_items,
)


def variance_in_columns(values, at_modes=False, variance=None):
    """The variance of columns with which training on the values begins."""
    options = TrainingOptions(
        1,
        model="dp-mixture",
        likelihood="isotropic-gaussian",
        local=LocalOptions("mean-field"),
        prior=TopicPrior(),
        learner="alternating" if at_modes else "full",
        variance=variance,
    )
    corpus = VectorCorpus.from_array(values)
    source = source_of(corpus, options, 1, np.random.default_rng(0))
    prior = IsotropicGaussian.for_training(source.read(0).values, source, options)
    normals = prior.normals(prior.posterior(prior.zeros(1)))
    assert np.ptp(normals.covariances) == 0.0
    return normals.covariances[0, 0]


@pytest.mark.parametrize("n_columns", [1, 2, 5])
@pytest.mark.parametrize("n_items", [1, 2, 9])
def test_evidence_is_a_chain_of_normal_predictives(n_columns, n_items):
    rng = np.random.default_rng(n_items)
    prior = draw_prior("isotropic_gaussian", n_columns, rng)
    likelihood = likelihood_of(prior)
    values = rng.normal(1.0, 2.0, (n_items, n_columns)).astype(np.float32)

    moments = sum_items(likelihood, values, sparse(np.ones((n_items, 1))), 1)
    (found,) = likelihood.log_evidence(moments)

    expected = reference_gaussian.log_evidence_by_chain(prior, values.astype(float))
    np.testing.assert_allclose(found, expected, rtol=1e-10)


@pytest.mark.parametrize("fewest", [1, 20])
@pytest.mark.parametrize("shape", [(400, 3), (6, 9), (9, 9)])
def test_default_variance_is_that_of_the_covariance(shape, fewest, monkeypatch):
    """With more items than columns and with fewer."""
    rng = np.random.default_rng(3)
    values = rng.normal(3.0, 1.0, shape) * np.arange(1, shape[1] + 1)
    covariance = np.cov(values.T, bias=True)
    monkeypatch.setattr(diagonal_gaussian, "FEWEST_DIRECTIONS", fewest)
    n_directions = np.trace(covariance) ** 2 / np.trace(covariance @ covariance)
    expected = np.trace(covariance) / max(n_directions, fewest)

    found = effective_variance(values)

    np.testing.assert_allclose(found, expected, rtol=1e-5)
    monkeypatch.setattr(diagonal_gaussian, "SPREAD_ITEMS", 2)
    few = effective_variance(values)
    assert 0.2 * expected < few < 5.0 * expected
    assert few != expected


@pytest.mark.filterwarnings("ignore:The 280 columns vary in 40 directions only")
def test_columns_that_say_the_same_do_not_count_twice():
    """Spheres then judge items alike, however often a column is there."""
    values = np.random.default_rng(0).standard_normal((2_500, 40)).astype(np.float32)

    alone, twice = (variance_in_columns(np.tile(values, (1, n)), at_modes=True) for n in (1, 7))

    assert alone == pytest.approx(1.0, abs=0.05)
    assert twice == pytest.approx(7.0 * alone, rel=1e-5)


def test_of_posteriors_the_default_is_the_mean_variance_of_columns():
    values = np.random.default_rng(0).standard_normal((500, 3)) * [1, 2, 3]

    assert variance_in_columns(values) == pytest.approx(values.var(axis=0).mean(), rel=1e-5)


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize("at_modes", [False, True])
def test_a_variance_that_is_given_is_that_of_columns(unit, at_modes):
    values = unit * np.random.default_rng(0).standard_normal((500, 3))

    found = variance_in_columns(values, at_modes, 0.3 * unit**2)

    assert found == pytest.approx(0.3 * unit**2, rel=1e-9)


def test_points_have_no_width():
    """Densities and bounds lack what the variance of means takes away, and nothing else."""
    rng = np.random.default_rng(4)
    values, shares = draw_items(30, 3, rng), sparse(draw_shares(30, 3, rng))
    posterior, points = (
        IsotropicGaussian(2.0, 0.5, as_they_are(3), at_modes) for at_modes in (False, True)
    )
    moments = sum_items(posterior, values, shares, 3)

    precisions = 0.5 + moments.counts
    logs = [each.prepare(moments)(values) for each in (points, posterior)]
    np.testing.assert_allclose(logs[0] - logs[1], np.tile(1.5 / precisions, (30, 1)), rtol=1e-9)
    gap = posterior.log_evidence(moments) - points.log_evidence(moments)
    np.testing.assert_allclose(gap, 1.5 * np.log(0.5 / precisions), rtol=1e-9)


def test_small_spheres_far_from_the_mean_are_told_apart():
    """A hundredth of a nat at a thousandth of the distances: float32 would be wrong by nats."""
    values = np.array([[1000.0, 0.0], [1000.0, 0.001], [-1000.0, 0.0]], np.float32)
    likelihood = IsotropicGaussian(1e-6, 1e-9, as_they_are(2))
    moments = sum_items(likelihood, values, sparse(np.eye(3)), 3)

    found = likelihood.prepare(moments)(values)

    assert found[0, 0] - found[0, 1] == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize("variance", [0.0, -1.0, np.inf, np.nan])
def test_variances_that_cannot_be_are_refused(variance):
    with pytest.raises(OptionError, match=r"variance: must be positive, but is "):
        IsotropicGaussian(variance, 1.0, as_they_are(2))


def test_items_that_are_all_alike_are_refused():
    with pytest.raises(ShapeError, match="items: no two differ"):
        variance_in_columns(np.ones((4, 2)))
    with pytest.raises(OptionError, match="mean precision"):
        IsotropicGaussian(1.0, 0.0, as_they_are(2))
