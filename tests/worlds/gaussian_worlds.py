"""Priors of all Gaussian likelihoods, as ours and as the plain twin's, and items for them.

Means of priors are zero: likelihoods measure items from there.
"""

import json
from pathlib import Path

import numpy as np

import reference_gaussian
from sparsetopics.execution.executors import Executor
from sparsetopics.model.coordinates import Coordinates
from sparsetopics.model.likelihoods.diagonal_gaussian import DiagonalGaussian, IsotropicGaussian
from sparsetopics.model.likelihoods.gaussian import Gaussian, ZeroMeanGaussian
from sparsetopics.model.likelihoods.moments import Moments
from sparsetopics.model.responsibilities import Responsibilities
from sparsetopics.model.standard_source import standard_source
from sparsetopics.options.registry import VECTOR_LIKELIHOODS, imported

ORACLE = json.loads((Path(__file__).parents[1] / "data" / "oracle_mixtures.json").read_text())
SERIAL = Executor()
NAMES = ("zero_mean_gaussian", "gaussian", "diagonal_gaussian", "isotropic_gaussian")


def draw_prior(name, n_columns, rng):
    root = rng.standard_normal((n_columns, n_columns))
    scale_matrix = root @ root.T + np.eye(n_columns)
    mean = np.zeros(n_columns)
    if name == "zero_mean_gaussian":
        return {"nu": n_columns + 2.5, "B": scale_matrix}
    if name == "gaussian":
        return {"nu": n_columns + 2.5, "B": scale_matrix, "m": mean, "kappa": 0.3}
    if name == "isotropic_gaussian":
        return {"variance": 1.7, "m": mean, "kappa": 0.3}
    return {"a": 1.7, "b": np.diag(scale_matrix), "m": mean, "kappa": 0.3}


def likelihood_of(prior):
    assert not np.any(prior.get("m", 0.0))
    if "variance" in prior:
        return IsotropicGaussian(prior["variance"], prior["kappa"], as_they_are(len(prior["m"])))
    if "a" in prior:
        rates = np.asarray(prior["b"])
        return DiagonalGaussian(prior["a"], rates, prior["kappa"], as_they_are(len(rates)))
    scale_matrix = np.asarray(prior["B"])
    own = as_they_are(len(scale_matrix))
    if "m" in prior:
        return Gaussian(prior["nu"], scale_matrix, prior["kappa"], own)
    return ZeroMeanGaussian(prior["nu"], scale_matrix, own)


def as_they_are(n_columns):
    """Coordinates that are the columns."""
    return Coordinates.shifted(np.zeros(n_columns))


def standard(kind, values):
    """The weak prior in the coordinates that suit the values, and the values in these."""
    coordinates = kind.coordinates_for(np.asarray(values, np.float64))
    return kind.in_coordinates(coordinates), coordinates(values)


def in_standard_coordinates(source, likelihood):
    """The source of vectors as training reads it."""
    kind = imported(VECTOR_LIKELIHOODS[likelihood].where)
    names = [*map(str, range(source.n_columns))]
    return standard_source(source, kind.coordinates_for, names, np.random.default_rng(0))


def draw_items(n_items, n_columns, rng):
    """Three clumps of different width, read-only."""
    centres, widths = rng.normal(3.0, 3.0, (3, n_columns)), rng.uniform(0.3, 2.0, 3)
    own = rng.integers(0, 3, n_items)
    values = centres[own] + widths[own, None] * rng.standard_normal((n_items, n_columns))
    values = values.astype(np.float32)
    values.flags.writeable = False
    return values


def draw_shares(n_items, n_topics, rng):
    """Dense responsibilities on a grid that float32 holds exactly; about half are zero."""
    shares = rng.dirichlet(np.full(n_topics, 0.3), n_items) * (rng.random((n_items, 1)) < 0.9)
    shares = np.floor(shares * 1024) / 1024
    shares[:, 0] = 1.0 - shares[:, 1:].sum(axis=1)
    return shares


def sparse(shares):
    """Dense responsibilities as sparse rows without zeros."""
    items, topics = np.nonzero(shares)
    starts = np.searchsorted(items, np.arange(len(shares) + 1)).astype(np.int64)
    return Responsibilities(
        starts, topics.astype(np.uint32), shares[items, topics].astype(np.float32)
    )


def plain_components(model):
    """Weights of a mixture's components, with that of the tail if it has one, and the components.

    These are the twin's dicts, in columns. Items must differ in all directions.
    """
    likelihood, own = model.likelihood, model.likelihood.coordinates
    axes = np.eye(own.n_columns) if own.directions is None else own.directions
    axes = own.scales[:, None] * axes * own.widths
    empty = likelihood.posterior(likelihood.zeros(1))
    names = {"degrees_of_freedom": "nu", "scale_matrices": "B", "means": "m"}
    names |= {"mean_precisions": "kappa", "shapes": "a", "rates": "b"}
    found = []
    for posterior, n_topics in ((model.posterior, model.n_topics), (empty, 1)):
        fields = {names[name]: values for name, values in posterior._asdict().items()}
        for k in range(n_topics):
            plain = {name: values[k] for name, values in fields.items()}
            if hasattr(likelihood, "variance"):
                plain["variance"] = likelihood.standard_variance
            found.append(reference_gaussian.in_columns(plain, own.origin, axes))
    weights = model.mixture.mean_weights
    return np.append(weights, max(1.0 - weights.sum(), 0.0)), found


def plain_log_densities(model, values):
    """The predictive density of each item under the twin."""
    weights, components = plain_components(model)
    find = reference_gaussian.mixture_log_density
    return np.array([find(weights, components, x) for x in np.asarray(values, float)])


def sum_items(likelihood, values, found, n_topics):
    return likelihood.zeros(n_topics).sum_items(values, found, SERIAL)


def oracle_world(name):
    """A case of ``oracle_mixtures.json``: likelihood, moments, H_k, γ and the bound in nats."""
    case = ORACLE[name]
    values, shares, given = np.array(case["x"]), np.array(case["responsibilities"]), case["prior"]
    counts = shares.sum(axis=0)
    crossed = np.einsum("nk,nd,ne->kde", shares, values, values)
    if name == "diagonal_gaussian":
        prior = {"a": given["nu"] / 2, "b": np.array(given["beta"]) / 2}
        prior |= {"m": given["m"], "kappa": given["kappa"]}
        moments = Moments(counts, shares.T @ values, shares.T @ values**2)
    elif name == "gaussian":
        prior, moments = given, Moments(counts, shares.T @ values, crossed)
    else:
        prior, moments = given, Moments(counts, np.zeros((len(counts), 0)), crossed)
    entropies = -(shares * np.log(shares)).sum(axis=0)
    bound = case["elbo_per_scalar"] * values.size
    return likelihood_of(prior), moments, entropies, case["gamma"], bound
