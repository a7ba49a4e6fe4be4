"""How training of mixtures begins, and the model that it ends with."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from sparsetopics.allocations.items import ItemAllocation
from sparsetopics.allocations.mixtures import DPMixture, FiniteMixture
from sparsetopics.allocations.modes import DPModes
from sparsetopics.allocations.nested import NestedAllocation
from sparsetopics.batches import IntArray, ItemSource, Vectors
from sparsetopics.errors import OptionError, ShapeError
from sparsetopics.item_starts import components_of, sample_items
from sparsetopics.laps import Prior
from sparsetopics.likelihoods.diagonal_gaussian import DiagonalGaussian
from sparsetopics.likelihoods.gaussian import Gaussian
from sparsetopics.likelihoods.isotropic_gaussian import IsotropicGaussian
from sparsetopics.likelihoods.likelihood import ItemLikelihood
from sparsetopics.likelihoods.multinomial import Multinomial
from sparsetopics.likelihoods.zero_mean_gaussian import ZeroMeanGaussian
from sparsetopics.local_step import Globals
from sparsetopics.mixture_model import MixtureModel
from sparsetopics.options import LikelihoodName, TrainingOptions
from sparsetopics.statistics import Statistics

PRIOR_ITEMS = 100_000  # at most, that the prior is made from
SEED_ITEMS = 2_000  # that seeds are chosen among, or
ITEMS_PER_SEED = 10  # if that is more
KMEANS_ROUNDS = 10  # of points: under spheres at modes, sharing out to seeds is k-means
NARROWEST, WIDEST = 1e-30, 1e38  # column: scaled by its width an item must stay within float32

LIKELIHOODS: dict[LikelihoodName, type[Any]] = {  # of vectors, priors from the data
    "zero-mean-gaussian": ZeroMeanGaussian,
    "gaussian": Gaussian,
    "diagonal-gaussian": DiagonalGaussian,
    "isotropic-gaussian": IsotropicGaussian,
}


def begin_mixture(
    source: ItemSource, options: TrainingOptions, rng: np.random.Generator
) -> tuple[Statistics, Prior]:
    """The prior, and components made from seeds in a sample of the items."""
    sample = sample_items(source, PRIOR_ITEMS, rng)
    likelihood = _likelihood_of(sample, source, options)
    if options.n_topics > len(sample):
        raise OptionError(
            "components",
            found=f"{options.n_topics:,}",
            wanted=f"at most {len(sample):,}, the items",
        )
    n_seeds = options.n_topics
    n_candidates = max(SEED_ITEMS, ITEMS_PER_SEED * n_seeds)
    values = sample[np.sort(rng.permutation(len(sample))[:n_candidates])]
    if options.start_name == "random":
        seeds = rng.permutation(len(values))[:n_seeds]
    else:
        seeds = likelihood.distant_seeds(values, n_seeds, rng)
        seeds = _filled_up(seeds, n_seeds, len(values))
    n_rounds = KMEANS_ROUNDS if options.at_modes else 1
    components = components_of(values, seeds, likelihood, n_rounds)
    components = components.scaled(source.n_docs / components.counts.sum())
    if options.learner == "accelerated":
        components = components.joined([components, components.zeros_like()])  # and a tail
        nested = NestedAllocation(components.counts, options.prior.gamma)
        return Statistics(components, nested.zero_terms()), Prior(nested, likelihood)
    kind: type[DPMixture | FiniteMixture] = FiniteMixture
    if options.model == "dp-mixture":
        kind = DPModes if options.at_modes else DPMixture
    allocation = ItemAllocation(kind(components.counts, options.prior.gamma))
    return Statistics(components, allocation.zero_terms()), Prior(allocation, likelihood)


def make_mixture_model(current: Globals, options: TrainingOptions) -> MixtureModel:
    """The posterior as a model, components in falling order of weight."""
    likelihood = cast("ItemLikelihood[Any]", current.likelihood)
    allocation, components = current.allocation, current.components
    if isinstance(allocation, NestedAllocation):
        components = components.take(np.arange(allocation.n_topics))
        allocation = allocation.without_tail()
    assert isinstance(allocation, ItemAllocation), "a mixture"
    order = np.argsort(-allocation.mixture.counts, kind="stable")
    return MixtureModel(
        options.model,
        options.likelihood_name,
        likelihood,
        allocation.reordered(order).mixture,
        likelihood.posterior(components.take(order)),
    )


def _likelihood_of(
    sample: Any, source: ItemSource, options: TrainingOptions
) -> ItemLikelihood[Any]:
    """The prior; ShapeError for vectors that it cannot be made from."""
    if options.counts_words:
        return Multinomial(source.n_columns, options.prior.word_concentration)
    if options.likelihood_name == "isotropic-gaussian":  # few items and constant columns will do
        return IsotropicGaussian.from_data(sample, options.variance, at_modes=options.at_modes)
    if source.n_docs < source.n_columns:
        raise ShapeError(
            "items",
            found=f"{source.n_docs:,} of them in {source.n_columns:,} columns",
            wanted="at least as many items as columns",
        )
    _check_columns(sample)
    likelihood: ItemLikelihood[Any] = LIKELIHOODS[options.likelihood_name].from_data(sample)
    return likelihood


def _filled_up(seeds: IntArray, n_seeds: int, n_items: int) -> IntArray:
    """As many seeds as wanted, though fewer items differ: the rest start with items like others."""
    spare = np.setdiff1d(np.arange(n_items), seeds)
    return np.concatenate([seeds, spare[: n_seeds - len(seeds)]])


def _check_columns(sample: Vectors) -> None:
    constant = np.flatnonzero(sample.min(axis=0) == sample.max(axis=0))
    if len(constant):
        raise ShapeError(
            f"column {constant[0]}",
            found=f"{sample[0, constant[0]]:g} in every item",
            wanted="numbers that differ",
            hint="Leave out constant columns.",
        )
    widths = sample.max(axis=0).astype(np.float64) - sample.min(axis=0)
    odd = np.flatnonzero((widths < NARROWEST) | (widths > WIDEST))
    if len(odd):
        raise ShapeError(
            f"column {odd[0]}",
            found=f"numbers that differ by {widths[odd[0]]:g} at most",
            wanted=f"by {NARROWEST:g} to {WIDEST:g}",
            hint="Scale the column.",
        )
