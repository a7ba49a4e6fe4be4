"""Predictive densities: ratios of evidences, Student-t, the tail, and what integrates to one."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import logsumexp

import reference_gaussian
from sparsetopics.model.allocations.mixture_weights import DPMixture, FiniteMixture
from sparsetopics.model.coordinates import Coordinates
from sparsetopics.model.mixture_posterior import MixturePosterior
from worlds.clumped_mixtures import LIKELIHOODS, draw_clumps, mixture_of
from worlds.gaussian_worlds import (
    NAMES,
    draw_items,
    draw_prior,
    draw_shares,
    likelihood_of,
    plain_components,
    plain_log_densities,
    sparse,
    sum_items,
)

SEEDS = st.integers(0, 2**32 - 1)
each_likelihood = pytest.mark.parametrize("name", NAMES)


@each_likelihood
@settings(max_examples=25)
@given(seed=SEEDS, n_columns=st.integers(1, 8), n_topics=st.integers(1, 4))
def test_a_predictive_density_is_a_ratio_of_evidences(name, seed, n_columns, n_topics):
    """log p(x | items) = log M(items and x) − log M(items), for components with items and none."""
    rng = np.random.default_rng(seed)
    likelihood = likelihood_of(draw_prior(name, n_columns, rng))
    values, shares = draw_items(12, n_columns, rng), draw_shares(12, n_topics, rng)
    components = sum_items(likelihood, values, sparse(shares), n_topics)
    components = components.joined([components, likelihood.zeros(1)])
    further = draw_items(5, n_columns, rng)

    found = likelihood.predictive(components)(further)

    before = likelihood.log_evidence(components)
    for n in range(5):
        alone = likelihood.alone(further, slice(n, n + 1))
        with_it = components.plus(alone.take(np.zeros(n_topics + 1, int)))
        expected = likelihood.log_evidence(with_it) - before
        np.testing.assert_allclose(found[n], expected, rtol=1e-5, atol=1e-4)


@each_likelihood
@given(seed=SEEDS, n_columns=st.integers(1, 8))
def test_without_items_it_is_that_of_the_prior(name, seed, n_columns):
    """As scipy has it, however far away items are."""
    rng = np.random.default_rng(seed)
    prior = draw_prior(name, n_columns, rng)
    likelihood = likelihood_of(prior)
    values = draw_items(6, n_columns, rng) * np.float32(10.0) ** np.arange(6)[:, None]
    values = values.astype(np.float32)

    found = likelihood.predictive(likelihood.zeros(1))(values)[:, 0]

    expected = [reference_gaussian.predictive_log_density(prior, x) for x in values.astype(float)]
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-4)


def test_points_predict_with_their_variance_alone():
    """Means are points; a component without items has no point, and predicts like its prior."""
    rng = np.random.default_rng(0)
    likelihood = replace(likelihood_of(draw_prior("isotropic_gaussian", 3, rng)), at_modes=True)
    values = draw_items(9, 3, rng)
    components = sum_items(likelihood, values, sparse(np.ones((9, 1))), 1)
    components = components.joined([components, likelihood.zeros(1)])

    found = likelihood.predictive(components)(values)

    mean = values.astype(float).sum(axis=0) / (9.0 + likelihood.mean_precision)
    wider = 1.0 + 1.0 / likelihood.mean_precision
    for k, (centre, factor) in enumerate(((mean, 1.0), (0.0, wider))):
        variance = likelihood.variance * factor
        squares = ((values - centre) ** 2).sum(axis=1) / variance
        expected = -0.5 * (squares + 3 * np.log(2 * np.pi * variance))
        np.testing.assert_allclose(found[:, k], expected, rtol=1e-5)


def model_of(name, values, shares, *, is_dp, coordinates=None):
    """A mixture whose components are the given shares of the items."""
    kind = LIKELIHOODS[name]
    likelihood = kind.in_coordinates(coordinates or kind.coordinates_for(values.astype(float)))
    standard = likelihood.coordinates(values)
    moments = sum_items(likelihood, standard, sparse(shares), shares.shape[1])
    mixture = (DPMixture if is_dp else FiniteMixture)(moments.counts, 3.0)
    model = "dp-mixture" if is_dp else "mixture"
    return MixturePosterior(model, name, likelihood, mixture, likelihood.posterior(moments))


@pytest.mark.parametrize("name", LIKELIHOODS)
@pytest.mark.parametrize("is_dp", [False, True])
@settings(max_examples=10)
@given(seed=SEEDS, n_columns=st.integers(1, 5), unit=st.sampled_from([1e-6, 1.0, 1e6]))
def test_the_density_of_a_mixture_is_the_plain_sum(name, is_dp, seed, n_columns, unit):
    """Over components, and the tail that a process has, in columns of any unit."""
    rng = np.random.default_rng(seed)
    values = draw_items(40, n_columns, rng) * unit
    model = model_of(name, values, draw_shares(40, 3, rng), is_dp=is_dp)
    items = np.vstack([values[:8], 30.0 * values[8:12]])

    found = model.log_densities(items)

    np.testing.assert_allclose(found, plain_log_densities(model, items), rtol=1e-5, atol=2e-3)
    weights, _ = plain_components(model)
    assert weights.sum() == pytest.approx(1.0)
    assert (weights[-1] > 1e-3) == is_dp


@pytest.mark.parametrize("name", LIKELIHOODS)
@pytest.mark.parametrize("is_dp", [False, True])
@pytest.mark.parametrize(("unit", "offset"), [(1.0, 0.0), (1e-6, 0.0), (1e4, 1e9)])
def test_the_density_of_one_column_integrates_to_one(name, is_dp, unit, offset):
    rng = np.random.default_rng(0)
    offset = 0.0 if name == "zero-mean-gaussian" else offset
    values = unit * draw_items(60, 1, rng) + offset
    model = model_of(name, values, draw_shares(60, 3, rng), is_dp=is_dp)
    centre, width = values.mean(), values.std()

    def density(place):
        x = np.array([[centre + width * np.sinh(place)]])
        return float(np.exp(model.log_densities(x)[0]) * width * np.cosh(place))

    total, _ = quad(density, -16.0, 16.0, limit=500, epsabs=1e-7)

    assert total == pytest.approx(1.0, abs=2e-3)


@pytest.mark.parametrize("name", ["gaussian", "diagonal-gaussian"])
def test_a_constant_column_has_a_density_of_its_own(name):
    """Which integrates to one, and leaves that of the other columns as it is."""
    rng = np.random.default_rng(0)
    values, shares = draw_items(60, 2, rng), draw_shares(60, 3, rng)
    constant = np.insert(values, 1, 5.0, axis=1)
    without = model_of(name, values, shares, is_dp=True)
    model = model_of(name, constant, shares, is_dp=True)
    assert model.likelihood.coordinates.n_axes == 2

    def density(place):
        x = np.array([[values[0, 0], 5.0 + 1e-3 * np.sinh(place), values[0, 1]]])
        return float(np.exp(model.log_densities(x)[0]) * 1e-3 * np.cosh(place))

    total, _ = quad(density, -14.0, 14.0, limit=300)

    assert total == pytest.approx(np.exp(without.log_densities(values[:1])[0]), rel=1e-4)
    np.testing.assert_allclose(
        model.responsibilities(constant), without.responsibilities(values), atol=1e-5
    )


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_components_have_no_say_in_what_units_an_elbo_is(name):
    """The ELBO is that of items in columns: moving along costs nothing, units cost their logs."""
    clumps = draw_clumps(0)
    shares = np.eye(4)[clumps.kinds]
    values = clumps.values.astype(float)

    def elbo(scaled):
        model = model_of(name, scaled, shares, is_dp=True)
        components = model.likelihood.components_of(model.posterior)
        standard = model.likelihood.coordinates(scaled)
        moments = sum_items(model.likelihood, standard, sparse(shares), 4)
        assert components.n_topics == 4
        return model.likelihood.elbo(moments, moments)

    shift = elbo(1024.0 * values) - elbo(values)

    assert shift == pytest.approx(-values.size * np.log(1024.0), rel=1e-4)


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_the_scorer_of_a_model_takes_items_in_columns(name):
    clumps = draw_clumps(0)
    model = mixture_of(clumps, name)
    own = model.likelihood
    inside = own.prepare(own.components_of(model.posterior))

    found = model.scorer(clumps.values)

    standard = inside(own.coordinates(clumps.values))
    np.testing.assert_allclose(found, standard - own.coordinates.log_volume, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_components_without_items_share_the_tail_s_density(name):
    """One more of them changes no density but by its weight."""
    rng = np.random.default_rng(3)
    values = draw_items(40, 2, rng)
    shares = draw_shares(40, 2, rng)
    own = Coordinates.shifted(np.zeros(2))
    model = model_of(name, values, shares, is_dp=True, coordinates=own)
    empty = model_of(name, values, np.c_[shares, np.zeros(40)], is_dp=True, coordinates=own)

    logs = [each._predictive(values) for each in (model, empty)]

    np.testing.assert_allclose(logs[1][:, 2], logs[0][:, 2])
    np.testing.assert_allclose(logs[1][:, 3], logs[0][:, 2])
    expected = logsumexp(logs[0], b=plain_components(model)[0], axis=1)
    np.testing.assert_allclose(model.log_densities(values), expected, rtol=1e-9)
    np.testing.assert_allclose(empty.log_densities(values), expected, rtol=1e-9)
