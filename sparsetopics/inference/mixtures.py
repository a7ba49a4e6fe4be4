"""The components that training of mixtures starts from, and the posterior that it ends with."""

from __future__ import annotations

from typing import cast

import numpy as np

from sparsetopics.base.batches import IntArray, ItemSource, Rows
from sparsetopics.base.errors import OptionError
from sparsetopics.inference.item_starts import components_of, sample_items
from sparsetopics.inference.laps import Prior
from sparsetopics.inference.local_step import Globals
from sparsetopics.model.allocations.mixture import ItemAllocation
from sparsetopics.model.allocations.nested import NestedAllocation
from sparsetopics.model.mixture_posterior import AnyItemLikelihood, MixturePosterior, sharing_of
from sparsetopics.model.statistics import Statistics
from sparsetopics.options.registry import LIKELIHOODS, imported
from sparsetopics.options.training import TrainingOptions

PRIOR_ITEMS = 100_000  # the prior is made from a sample of at most so many items
# Seeds are chosen among so many items, or so many times the number of seeds if that is more.
SEED_ITEMS = 2_000
ITEMS_PER_SEED = 10
KMEANS_ROUNDS = 10  # rounds of k-means, which assignment is for spheres at modes


def begin_mixture(
    source: ItemSource, options: TrainingOptions, rng: np.random.Generator, start: None = None
) -> tuple[Statistics, Prior]:
    """Make the prior, and components from seeds in a sample of the items.

    Raises OptionError for more components than items, ShapeError for vectors without a prior.
    """
    assert start is None, "mixtures do not start from a model"
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
    if options.grows:
        components = components.joined([components, components.zeros_like()])  # and a tail
        nested = NestedAllocation(components.counts, options.prior.gamma)
        return Statistics(components, nested.zero_terms()), Prior(nested, likelihood)
    kind = sharing_of(options.model, at_modes=options.at_modes)
    allocation = ItemAllocation(kind(components.counts, options.prior.gamma))
    return Statistics(components, allocation.zero_terms()), Prior(allocation, likelihood)


def make_mixture_model(current: Globals, options: TrainingOptions) -> MixturePosterior:
    """Return the posterior, with components in falling order of weight."""
    likelihood = cast(AnyItemLikelihood, current.likelihood)
    allocation, components = current.allocation, current.components
    if isinstance(allocation, NestedAllocation):
        components = components.take(np.arange(allocation.n_topics))
        allocation = allocation.without_tail()
    assert isinstance(allocation, ItemAllocation), "a mixture"
    order = np.argsort(-allocation.mixture.counts, kind="stable")
    return MixturePosterior(
        options.model,
        options.likelihood_name,
        likelihood,
        allocation.reordered(order).mixture,
        likelihood.posterior(components.take(order)),
    )


def _likelihood_of(sample: Rows, source: ItemSource, options: TrainingOptions) -> AnyItemLikelihood:
    """Make the prior; ShapeError for vectors that it cannot be made from."""
    kind = imported(LIKELIHOODS[options.likelihood_name].where)
    prior: AnyItemLikelihood = kind.for_training(sample, source, options)
    return prior


def _filled_up(seeds: IntArray, n_seeds: int, n_items: int) -> IntArray:
    """Add further items to seeds if fewer than ``n_seeds`` items are distinct."""
    spare = np.setdiff1d(np.arange(n_items), seeds)
    return np.concatenate([seeds, spare[: n_seeds - len(seeds)]])
