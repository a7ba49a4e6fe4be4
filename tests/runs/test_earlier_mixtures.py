"""Mixtures of vectors in run folders: of versions before standard coordinates, and ill-scaled ones.

Versions before measured items from the prior's mean, in columns, and kept no coordinates.
"""

import json
from dataclasses import replace

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from scipy.special import logsumexp, psi

import reference_gaussian
import sparsetopics
from resealing import reseal
from sparsetopics import DPGaussianMixture, GaussianMixture
from sparsetopics.base.errors import RunError, SparsetopicsWarning
from sparsetopics.base.sealed_files import write_sealed
from sparsetopics.corpora.corpus import VectorCorpus
from sparsetopics.options.training import LocalOptions, TrainingOptions
from sparsetopics.runs.plan import RunPlan
from sparsetopics.runs.resume import resume_run
from sparsetopics.runs.run import load_run
from sparsetopics.runs.train import train_run
from worlds.clumped_mixtures import (
    LIKELIHOOD_NAMES,
    MODEL_NAMES,
    draw_clumps,
    mixture_of,
    write_mixture,
)
from worlds.standard_worlds import random_map, two_clusters
from worlds.vectors_on_disk import ingested

CLUMPS = draw_clumps(0)
VALUES = CLUMPS.values.astype(float) + np.array([0.0, 50.0, -7.0])
GAMMA = 10.0
each_likelihood = pytest.mark.parametrize("likelihood", LIKELIHOOD_NAMES)


# --- runs of earlier versions ---------------------------------------------------------------------


def earlier_prior(likelihood):
    """The default prior of then, as the twin has it."""
    variances = VALUES.var(axis=0)
    if likelihood == "zero-mean-gaussian":
        return {"nu": 5.0, "B": np.diag((VALUES**2).mean(axis=0))}
    of_means = {"m": VALUES.mean(axis=0).astype(np.float32).astype(float), "kappa": 1e-4}
    if likelihood == "gaussian":
        return {"nu": 5.0, "B": np.diag(variances)} | of_means
    if likelihood == "diagonal-gaussian":
        return {"a": 1.5, "b": 0.5 * variances} | of_means
    return {"variance": float(variances.mean())} | of_means


def earlier_world(likelihood):
    """The prior, and the posterior of each of four clumps."""
    prior = earlier_prior(likelihood)
    find = reference_gaussian.full_posterior
    if "a" in prior:
        find = reference_gaussian.diagonal_posterior
    elif "variance" in prior:
        find = reference_gaussian.spherical_posterior
    return prior, [find(prior, VALUES, (CLUMPS.kinds == k).astype(float)) for k in range(4)]


def earlier_contents(likelihood):
    """The arrays and the entries of model.json that versions before wrote."""
    prior, posteriors = earlier_world(likelihood)
    first, second, means, precisions = (list(each) for each in zip(*posteriors, strict=True))
    arrays, numbers = {"component_counts": np.bincount(CLUMPS.kinds).astype(float)}, {}
    if "m" in prior:
        arrays |= {"means": np.array(means), "mean_precisions": np.array(precisions)}
        arrays["prior_mean"] = prior["m"]
        numbers["prior_mean_precision"] = prior["kappa"]
    if "B" in prior:
        arrays |= {"degrees_of_freedom": np.array(first), "scale_matrices": np.array(second)}
        arrays["prior_scale_matrix"] = prior["B"]
        numbers["prior_degrees_of_freedom"] = prior["nu"]
    elif "a" in prior:
        arrays |= {"shapes": np.array(first), "rates": np.array(second), "prior_rates": prior["b"]}
        numbers["prior_shape"] = prior["a"]
    else:
        numbers["prior_variance"] = prior["variance"]
    return arrays, numbers


def write_earlier(folder, likelihood, name):
    write_mixture(folder, mixture_of(CLUMPS, likelihood, name))
    arrays, numbers = earlier_contents(likelihood)
    save_file(arrays, folder / "model.safetensors")
    path = folder / "model.json"
    settings = json.loads(path.read_text())
    del settings["n_axes"]
    write_sealed(path, settings | numbers)
    reseal(folder)
    return folder


def expected_weights(name):
    """E[log w_k], E[w_k] and the weight of the tail, for clumps of one size."""
    counts = np.bincount(CLUMPS.kinds).astype(float)
    if name == "mixture":
        posterior = counts + GAMMA / 4
        return psi(posterior) - psi(posterior.sum()), posterior / posterior.sum(), 0.0
    taken = 1.0 + counts
    left = GAMMA + np.append(np.cumsum(counts[:0:-1])[::-1], 0.0)
    log_left = psi(left) - psi(taken + left)
    logs = psi(taken) - psi(taken + left) + np.append(0.0, np.cumsum(log_left[:-1]))
    rest = np.append(1.0, np.cumprod(left / (taken + left)))
    return logs, taken / (taken + left) * rest[:-1], rest[-1]


def as_prior(prior, posterior):
    """A posterior as the prior of the next item."""
    first, second, mean, precision = posterior
    of_means = {"m": mean, "kappa": precision} if "m" in prior else {}
    if "B" in prior:
        return {"nu": first, "B": second} | of_means
    own = {"a": first, "b": second} if "a" in prior else {"variance": prior["variance"]}
    return own | of_means


@each_likelihood
@pytest.mark.parametrize("name", MODEL_NAMES)
def test_a_run_of_an_earlier_version_opens_and_says_the_same(tmp_path, likelihood, name):
    """As plain numpy finds it from what that version stored."""
    items = np.vstack([VALUES[::12], [[3.0, 51.0, -6.0], [40.0, 0.0, 40.0]]])

    model = load_run(write_earlier(tmp_path / "run", likelihood, name)).model

    prior, posteriors = earlier_world(likelihood)
    expected_logs, weights, tail = expected_weights(name)
    find = reference_gaussian.expected_log_density
    logs = np.array([[find(prior, each, x) for each in posteriors] for x in items]) + expected_logs
    shares = np.exp(logs - logsumexp(logs, axis=1, keepdims=True))
    np.testing.assert_allclose(model.responsibilities(items), shares, rtol=1e-3, atol=1e-4)
    components = [as_prior(prior, each) for each in posteriors] + [prior]
    of_mixture = reference_gaussian.mixture_log_density
    densities = [of_mixture(np.append(weights, tail), components, x) for x in items]
    np.testing.assert_allclose(model.log_densities(items), densities, rtol=1e-4, atol=1e-3)
    np.testing.assert_allclose(model.weights, weights / weights.sum())
    assert model.n_columns == 3


@each_likelihood
def test_it_shows_the_means_and_covariances_that_it_stored(tmp_path, likelihood):
    arrays, _ = earlier_contents(likelihood)

    normals = load_run(write_earlier(tmp_path / "run", likelihood, "mixture")).model.normals

    means = arrays.get("means", np.zeros((4, 3)))
    np.testing.assert_allclose(normals.means, means, rtol=1e-9)
    if "scale_matrices" in arrays:
        shrunk = (arrays["degrees_of_freedom"] - 4.0)[:, None, None]
        np.testing.assert_allclose(normals.covariances, arrays["scale_matrices"] / shrunk)
    elif "rates" in arrays:
        expected = arrays["rates"] / (arrays["shapes"] - 1.0)[:, None]
        np.testing.assert_allclose(normals.covariances, expected)
    else:
        np.testing.assert_allclose(normals.covariances, VALUES.var(axis=0).mean())


@each_likelihood
def test_it_is_stored_again_as_runs_are_now(tmp_path, likelihood):
    first = load_run(write_earlier(tmp_path / "run", likelihood, "dp-mixture")).model

    second = load_run(write_mixture(tmp_path / "again", first)).model

    assert "n_axes" in json.loads((tmp_path / "again" / "model.json").read_text())
    for method in ("responsibilities", "log_densities"):
        found, expected = (getattr(each, method)(VALUES) for each in (second, first))
        np.testing.assert_array_equal(found, expected)


@each_likelihood
def test_a_run_of_now_says_the_same_without_its_coordinates(tmp_path, likelihood):
    """So what other programs read is true: the arrays in columns."""
    model = mixture_of(draw_clumps(1), likelihood)
    folder = write_mixture(tmp_path / "run", model)
    settings = json.loads((folder / "model.json").read_text())
    del settings["n_axes"]
    if likelihood == "isotropic-gaussian":
        assert settings["prior_variance"] == pytest.approx(model.normals.covariances[0, 0])
    write_sealed(folder / "model.json", settings)

    found = load_run(folder).model

    values = draw_clumps(1).values
    np.testing.assert_allclose(
        found.responsibilities(values), model.responsibilities(values), rtol=1e-3, atol=1e-4
    )
    np.testing.assert_allclose(
        found.log_densities(values), model.log_densities(values), rtol=1e-3, atol=1e-3
    )


@pytest.mark.parametrize("name", ["means", "prior_mean", "prior_scale_matrix"])
def test_an_earlier_run_that_lacks_an_array_is_refused(tmp_path, name):
    folder = write_earlier(tmp_path / "run", "gaussian", "mixture")
    arrays = load_file(folder / "model.safetensors")
    del arrays[name]
    save_file(arrays, folder / "model.safetensors")
    reseal(folder)

    with pytest.raises(RunError, match=f"{name}: the array is missing"):
        load_run(folder)


# --- ill-scaled vectors ---------------------------------------------------------------------------


def ill_scaled(seed=0, n_items=400):
    """Two clusters of condition 10⁸ in columns of units from 1e-6 to 1e6, far from zero."""
    rng = np.random.default_rng(seed)
    values = two_clusters(rng, n_items, 4) @ random_map(rng, 4, 1e8)
    return values * [1e-6, 1.0, 1e3, 1e6] + [1e-3, 1e9, 0.0, -1e12]


def rank_deficient(seed=0, n_items=400):
    """Three directions in six columns, one of which never changes."""
    x, y, z = two_clusters(np.random.default_rng(seed), n_items, 3).T
    return np.c_[x, 2.54 * x, y, x + y, z, np.full(n_items, 7.0)]


WORLDS = {"condition": ill_scaled, "rank": rank_deficient}


@pytest.mark.filterwarnings("ignore:The 6 columns vary in")
@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("likelihood", ["gaussian", "diagonal-gaussian", "isotropic-gaussian"])
@pytest.mark.parametrize("kind", [GaussianMixture, DPGaussianMixture])
def test_a_loaded_model_gives_the_same_bits(tmp_path, kind, likelihood, world):
    """It must lose no digit to the units of columns, or to correlations."""
    values = WORLDS[world]()
    model = kind(3, likelihood=likelihood, max_iter=10, random_state=0).fit(values)

    model.save(tmp_path / "run")
    found = sparsetopics.load(tmp_path / "run")

    wild = np.vstack([values, values[:9] * 3.0, np.zeros((1, values.shape[1]))])
    for method in ("score_samples", "predict_proba"):
        mine, theirs = (getattr(each, method)(wild) for each in (found, model))
        assert np.isfinite(mine).all()
        np.testing.assert_array_equal(mine, theirs)
    if likelihood == "gaussian" and world == "condition":
        kinds = found.predict(values)
        assert len(np.unique(kinds)) >= 2


@pytest.mark.parametrize("seed", range(2))
def test_ill_scaled_clusters_are_those_of_well_scaled_ones(seed):
    """A Gaussian mixture is the same after an affine map."""
    rng = np.random.default_rng(seed)
    values = two_clusters(rng, 400, 4)
    mapped = values @ random_map(rng, 4, 1e6) + 1e9
    first, second = (
        DPGaussianMixture(6, random_state=0, max_iter=40).fit(each) for each in (values, mapped)
    )

    assert first.n_components_ == second.n_components_
    assert (first.predict(values) == second.predict(mapped)).mean() >= 0.99


def edited(folder, name, change):
    arrays = load_file(folder / "model.safetensors")
    arrays[name] = np.ascontiguousarray(change(arrays[name].copy()))
    save_file(arrays, folder / "model.safetensors")
    reseal(folder)
    return folder


def stretched(axes):
    axes[0] *= 1.1
    return axes


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("directions", stretched, "expected orthonormal directions"),
        ("directions", np.zeros_like, "expected orthonormal directions"),
        ("directions", lambda axes: axes * 1e60, "expected orthonormal directions"),
        ("widths", np.zeros_like, "expected 3 axes, but found 0"),
        ("widths", lambda widths: widths * [1, 1, 0], "expected 3 axes, but found 2"),
        ("widths", np.negative, "expected finite numbers of 0 or more, but found -"),
        ("scales", np.zeros_like, "expected finite positive numbers, but found 0.0"),
        ("scales", lambda scales: scales * 1e-120, "expected finite positive numbers"),
        ("origin", lambda origin: origin * 1e120, "expected finite numbers, but found"),
        ("steps", np.negative, "expected finite numbers of 0 or more"),
    ],
)
def test_hostile_coordinates_are_refused_with_one_line(tmp_path, name, change, message):
    model = mixture_of(CLUMPS, "gaussian")
    own = replace(model.likelihood.coordinates, steps=np.ones(3))
    model = replace(model, likelihood=replace(model.likelihood, coordinates=own))
    folder = write_mixture(tmp_path / "run", model)
    edited(folder, f"coordinates_{name}", change)

    with pytest.raises(RunError) as caught:
        load_run(folder)

    said = str(caught.value)
    assert message in said
    assert "model.safetensors, coordinates" in said
    assert "\n" not in said


@pytest.fixture(scope="module", params=WORLDS)
def corpus(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("vectors")
    np.save(folder / "values.npy", WORLDS[request.param]())
    ingested([folder / "values.npy"], folder / "corpus")
    return folder / "corpus"


def trained(corpus, out, laps, *, workers=1, learner="memoized", likelihood="gaussian"):
    options = TrainingOptions(
        4, laps, learner, LocalOptions("mean-field"), model="dp-mixture", likelihood=likelihood
    )
    plan = RunPlan(corpus, out, options, n_batches=4, seed=3, workers=workers, checkpoint_every=1)
    train_run(replace(plan, keep_state=True))
    return (out / "model.safetensors").read_bytes()


@pytest.mark.filterwarnings("ignore:The 6 columns vary in")
@pytest.mark.parametrize(
    ("learner", "likelihood"),
    [
        ("memoized", "gaussian"),
        ("memoized", "diagonal-gaussian"),
        ("full", "gaussian"),
        ("stochastic", "diagonal-gaussian"),
    ],
)
def test_bits_are_the_same_for_any_workers_and_after_a_stop(corpus, tmp_path, learner, likelihood):
    given = {"learner": learner, "likelihood": likelihood}
    whole = trained(corpus, tmp_path / "whole", 6, **given)

    shared = trained(corpus, tmp_path / "shared", 6, workers=2, **given)
    trained(corpus, tmp_path / "part", 3, **given)
    resume_run(tmp_path / "part", laps=6)

    assert shared == whole
    assert (tmp_path / "part" / "model.safetensors").read_bytes() == whole
    (batch, *_) = VectorCorpus.open(corpus).batches()
    assert np.isfinite(load_run(tmp_path / "part").model.log_densities(batch.values)).all()


def test_what_columns_say_is_said_once(tmp_path):
    np.save(tmp_path / "values.npy", rank_deficient())
    ingested([tmp_path / "values.npy"], tmp_path / "corpus")

    with pytest.warns(SparsetopicsWarning, match="6 columns vary in 3 directions") as caught:
        trained(tmp_path / "corpus", tmp_path / "run", 2)

    assert len(caught) == 1
