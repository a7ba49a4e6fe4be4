"""Laws that all Gaussian likelihoods keep, scorers, the local step, and coordinate ascent."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multivariate_normal

import reference_gaussian
from sparsetopics.base.errors import OptionError
from sparsetopics.execution.executors import open_executor
from sparsetopics.model import item_assignment as items_module
from sparsetopics.model.allocations.mixture_weights import DPMixture, FiniteMixture
from sparsetopics.model.item_assignment import assign
from sparsetopics.model.likelihoods import scorers
from sparsetopics.model.likelihoods.diagonal_gaussian import DiagonalGaussian, IsotropicGaussian
from sparsetopics.model.likelihoods.gaussian import Gaussian, ZeroMeanGaussian
from sparsetopics.model.likelihoods.normals import Normals
from worlds.dense_responsibilities import dense_of
from worlds.gaussian_worlds import (
    NAMES,
    SERIAL,
    as_they_are,
    draw_items,
    draw_prior,
    draw_shares,
    likelihood_of,
    sparse,
    standard,
    sum_items,
)

SEEDS = st.integers(0, 2**32 - 1)
KINDS = {
    "zero_mean_gaussian": ZeroMeanGaussian,
    "gaussian": Gaussian,
    "diagonal_gaussian": DiagonalGaussian,
    "isotropic_gaussian": IsotropicGaussian,
}
pytestmark = pytest.mark.filterwarnings("error")
each_likelihood = pytest.mark.parametrize("name", NAMES)
each_that_learns_widths = pytest.mark.parametrize("name", NAMES[:3])


def draw_world(name, seed, n_items=25, n_topics=3, n_columns=4):
    rng = np.random.default_rng(seed)
    prior = draw_prior(name, n_columns, rng)
    values, shares = draw_items(n_items, n_columns, rng), draw_shares(n_items, n_topics, rng)
    return prior, likelihood_of(prior), values, shares


def plain_posteriors(prior, values, shares):
    find = reference_gaussian.full_posterior
    if "a" in prior:
        find = reference_gaussian.diagonal_posterior
    elif "variance" in prior:
        find = reference_gaussian.spherical_posterior
    return [find(prior, values.astype(float), column) for column in shares.T]


def plain_log_densities(prior, values, shares):
    posteriors = plain_posteriors(prior, values, shares)
    expected = reference_gaussian.expected_log_density
    return np.array([[expected(prior, p, x) for p in posteriors] for x in values.astype(float)])


@each_likelihood
@settings(max_examples=25)
@given(seed=SEEDS, n_columns=st.integers(1, 20), n_topics=st.integers(1, 4))
def test_scorers_equal_a_loop_with_explicit_inverses(name, seed, n_columns, n_topics):
    prior, likelihood, values, shares = draw_world(name, seed, 12, n_topics, n_columns)

    found = likelihood.prepare(sum_items(likelihood, values, sparse(shares), n_topics))

    expected = plain_log_densities(prior, values, shares)
    np.testing.assert_allclose(found(values), expected, rtol=2e-5, atol=1e-3)


@each_likelihood
def test_scorers_do_not_depend_on_blocks(name, monkeypatch):
    _, likelihood, values, shares = draw_world(name, 0, 40, 3, 20)
    scorer = likelihood.prepare(sum_items(likelihood, values, sparse(shares), 3))
    whole = scorer(values)

    monkeypatch.setattr(scorers, "PRODUCT_ENTRIES", 1)
    monkeypatch.setattr(scorers, "FEWEST_ROWS", 7)

    np.testing.assert_allclose(scorer(values), whole, rtol=1e-5)
    assert scorer(values[:0]).shape == (0, 3)


@pytest.mark.parametrize("shift", [0.0, 5.0])
def test_float32_scorers_are_good_to_a_thousandth_of_a_nat(shift):
    """Covariances of condition 1e4 in 64 columns, for the items that count: their own.

    Standard coordinates hold the mean of all items at zero.
    """
    rng = np.random.default_rng(1)
    rotation = np.linalg.qr(rng.standard_normal((64, 64)))[0]
    values = (rng.standard_normal((400, 64)) * np.logspace(-2, 0, 64)) @ rotation + shift
    values = values.astype(np.float32)
    for kind in (ZeroMeanGaussian, Gaussian):
        if kind is ZeroMeanGaussian and shift:
            continue
        likelihood = kind.in_coordinates(as_they_are(64))
        likelihood = replace(likelihood, scale_matrix=1e-4 * np.diag(values.var(axis=0)))
        moments = sum_items(likelihood, values, sparse(np.ones((400, 1))), 1)
        found = likelihood.prepare(moments)(values)
        dof, scale_matrices = likelihood.posterior(moments)[:2]
        mean = getattr(likelihood.posterior(moments), "means", np.zeros((1, 64)))[0]
        away = values - mean
        distances = ((away @ np.linalg.inv(scale_matrices[0])) * away).sum(axis=1) * dof[0]
        constants = found[:, 0] + 0.5 * distances
        assert np.linalg.cond(scale_matrices[0]) > 1e3
        assert np.ptp(constants) < 2e-3, kind


@each_likelihood
@given(seed=SEEDS)
def test_expected_log_evidence_is_the_sum_over_items(name, seed):
    prior, likelihood, values, shares = draw_world(name, seed, 12)
    other = draw_shares(12, 3, np.random.default_rng(seed + 1))
    moments, others = (sum_items(likelihood, values, sparse(r), 3) for r in (shares, other))

    found = likelihood.expected_log_evidence(moments, others)

    expected = (shares * plain_log_densities(prior, values, other)).sum()
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-4)


@each_likelihood
def test_bound_is_highest_at_its_own_posterior_and_continuous(name):
    _, likelihood, values, shares = draw_world(name, 7)
    moments = sum_items(likelihood, values, sparse(shares), 3)
    best = likelihood.elbo(moments, moments)

    np.testing.assert_allclose(best, likelihood.log_evidence(moments).sum(), rtol=1e-14)
    np.testing.assert_allclose(likelihood.elbo(moments, moments.scaled(1.0)), best)
    for seed in range(10):
        other = draw_shares(25, 3, np.random.default_rng(seed))
        elsewhere = sum_items(likelihood, values, sparse(other), 3)
        assert likelihood.elbo(moments, elsewhere) < best, seed


@each_likelihood
def test_no_items_have_no_evidence_exactly(name):
    _, likelihood, values, shares = draw_world(name, 1)
    moments = sum_items(likelihood, values, sparse(shares), 5)

    evidence = likelihood.log_evidence(moments)

    np.testing.assert_array_equal(evidence[3:], 0.0)
    np.testing.assert_array_equal(likelihood.log_evidence(likelihood.zeros(2)), 0.0)


@each_likelihood
@given(seed=SEEDS)
def test_merging_and_splitting_again_restores_the_evidence(name, seed):
    _, likelihood, values, shares = draw_world(name, seed)
    whole = sum_items(likelihood, values, sparse(shares), 3)
    part = sum_items(likelihood, values, sparse(shares[:9]), 3)
    before = likelihood.log_evidence(whole)

    merged = whole.renumbered(np.array([0, 0, 1]), 2)
    again = whole.minus(part).plus(part)

    np.testing.assert_allclose(likelihood.log_evidence(again), before, rtol=1e-9, atol=1e-9)
    (gain,) = likelihood.merge_gains(whole, np.array([[0, 1]]))
    np.testing.assert_allclose(
        likelihood.log_evidence(merged)[0] - before[0] - before[1], gain, rtol=1e-9, atol=1e-9
    )


@each_likelihood
def test_merge_gains_take_pairs_in_parts(name, monkeypatch):
    _, likelihood, values, shares = draw_world(name, 2, n_topics=5)
    moments = sum_items(likelihood, values, sparse(shares), 5)
    pairs = np.argwhere(np.triu(np.ones((5, 5)), 1))
    whole = likelihood.merge_gains(moments, pairs)

    monkeypatch.setattr("sparsetopics.model.likelihoods.vector_likelihood.PAIRS_AT_ONCE", 3)

    np.testing.assert_array_equal(likelihood.merge_gains(moments, pairs), whole)
    assert len(whole) == 10


@each_that_learns_widths
def test_topics_that_look_alike_gain_by_merging(name):
    rng = np.random.default_rng(0)
    values = rng.standard_normal((400, 2)).astype(np.float32)
    values[200:] *= 20.0
    half = np.repeat(np.eye(3)[[0, 1, 2]], (100, 100, 200), axis=0)
    likelihood, values = standard(KINDS[name], values)

    gains = likelihood.merge_gains(
        sum_items(likelihood, values, sparse(half), 3), np.array([[0, 1], [0, 2]])
    )

    assert gains[0] > 0.0 > gains[1]


@each_likelihood
@given(seed=SEEDS)
def test_posteriors_lead_back_to_their_moments(name, seed):
    _, likelihood, values, shares = draw_world(name, seed)
    moments = sum_items(likelihood, values, sparse(shares), 3)

    back = likelihood.components_of(likelihood.posterior(moments))

    if name == "isotropic_gaussian":  # squares are lost, and nothing depends on them
        assert not back.squares.any()
        moments = moments._replace(squares=back.squares)
    for ours, theirs in zip(back, moments, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-8)


@each_that_learns_widths
def test_normals_of_components_come_near_the_truth(name):
    rng = np.random.default_rng(2)
    covariances = np.array([[[2.0, 0.8], [0.8, 1.0]], [[0.5, -0.2], [-0.2, 0.4]]])
    means = (
        np.zeros((2, 2)) if name == "zero_mean_gaussian" else np.array([[3.0, 1.0], [-4.0, 9.0]])
    )
    if name == "diagonal_gaussian":
        covariances = np.diagonal(covariances, axis1=1, axis2=2).copy()
    truth = Normals(means, covariances)
    values, topics = truth.sample(np.array([0.3, 0.7]), 40_000, rng)
    likelihood, standard_values = standard(KINDS[name], values)

    moments = sum_items(likelihood, standard_values, sparse(np.eye(2)[topics]), 2)
    found = likelihood.normals(likelihood.posterior(moments))

    np.testing.assert_allclose(np.bincount(topics) / 40_000, [0.3, 0.7], atol=0.01)
    np.testing.assert_allclose(found.means, truth.means, atol=0.05)
    np.testing.assert_allclose(found.covariances, truth.covariances, atol=0.05)


@pytest.mark.parametrize("diagonal", [False, True])
def test_plug_in_densities_are_those_of_normals(diagonal):
    rng = np.random.default_rng(3)
    roots = rng.standard_normal((3, 4, 4))
    covariances = roots @ roots.transpose(0, 2, 1) + np.eye(4)
    if diagonal:
        covariances *= np.eye(4)
    means = rng.normal(5.0, 3.0, (3, 4))
    values = draw_items(30, 4, rng)

    constants = -0.5 * np.linalg.slogdet(2.0 * np.pi * covariances)[1]
    if diagonal:
        precisions = 1.0 / np.diagonal(covariances, axis1=1, axis2=2)
        scorer = scorers.diagonal_scorer(means, precisions, constants)
    else:
        scorer = scorers.triangular_scorer(means, np.linalg.cholesky(covariances), constants)

    logs = np.column_stack(
        [multivariate_normal.logpdf(values, *pair) for pair in zip(means, covariances, strict=True)]
    )
    np.testing.assert_allclose(scorer(values), logs, rtol=1e-5, atol=1e-4)


@each_likelihood
@pytest.mark.parametrize("sparsity", [1, 2, 7])
def test_local_step_equals_its_twin(name, sparsity, monkeypatch):
    monkeypatch.setattr(items_module, "BLOCK_ITEMS", 10)
    prior, likelihood, values, shares = draw_world(name, 4, n_items=25, n_topics=3)
    moments = sum_items(likelihood, values, sparse(shares), 3)
    log_weights = DPMixture(moments.counts, 2.0).expected_log_weights

    found, log_totals = assign(values, likelihood.prepare(moments), log_weights, sparsity, SERIAL)

    weights = plain_log_densities(prior, values, shares) + log_weights
    n_slots = min(sparsity, 3)
    dense = np.zeros((25, 3))
    topics = found.topics.reshape(25, n_slots).astype(int)
    np.put_along_axis(dense, topics, found.shares.reshape(25, n_slots), axis=1)
    np.testing.assert_allclose(dense, reference_gaussian.top_shares(weights, n_slots), atol=1e-4)
    np.testing.assert_allclose(
        log_totals, reference_gaussian.log_totals(weights, n_slots), rtol=1e-5
    )
    np.testing.assert_array_equal(found.starts, n_slots * np.arange(26))


@each_likelihood
def test_local_step_has_the_same_bits_for_any_number_of_workers(name, monkeypatch):
    monkeypatch.setattr(items_module, "BLOCK_ITEMS", 10)
    _, likelihood, values, shares = draw_world(name, 5, n_items=45, n_topics=4)
    moments = sum_items(likelihood, values, sparse(shares), 4)
    scorer, log_weights = likelihood.prepare(moments), np.log([0.1, 0.2, 0.3, 0.4])

    alone, log_totals = assign(values, scorer, log_weights, 2, SERIAL)
    with open_executor(3) as executor:
        together, again = assign(values, scorer, log_weights, 2, executor)

    for ours, theirs in zip(alone, together, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(log_totals, again)


def test_too_many_slots_are_refused():
    scorer = scorers.diagonal_scorer(np.zeros((5000, 1)), np.ones((5000, 1)), np.zeros(5000))
    with pytest.raises(OptionError, match="sparsity: must be at most 4,096, but is 5,000"):
        assign(np.zeros((1, 1), np.float32), scorer, np.zeros(5000), 5000, SERIAL)


@each_likelihood
@pytest.mark.parametrize("kind", [DPMixture, FiniteMixture])
@settings(max_examples=15)
@given(seed=SEEDS, sparsity=st.integers(1, 6), shift=st.sampled_from([0.0, 100.0]))
def test_coordinate_ascent_never_lowers_the_bound(name, kind, seed, sparsity, shift):
    rng = np.random.default_rng(seed)
    likelihood, values = standard(KINDS[name], draw_items(80, 3, rng) + np.float32(shift))
    moments = sum_items(likelihood, values, sparse(draw_shares(80, 6, rng)), 6)
    allocation = kind(moments.counts, 2.0)
    before = -np.inf
    for _ in range(12):
        scorer = likelihood.prepare(moments)
        found, _ = assign(values, scorer, allocation.expected_log_weights, sparsity, SERIAL)
        moments = sum_items(likelihood, values, found, 6)
        allocation = allocation.with_counts(moments.counts)
        bound = likelihood.elbo(moments, moments)
        bound += allocation.bound(moments.counts, reference_gaussian.entropies(dense_of(found, 6)))
        assert bound >= before - 1e-9 * abs(bound), (seed, sparsity)
        before = bound
