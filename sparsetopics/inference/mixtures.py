"""How training of mixtures begins, and the model it ends with."""

from __future__ import annotations

from typing import cast

import numpy as np

from sparsetopics.base.batches import ItemBatch, Rows, Source
from sparsetopics.base.errors import warn_user
from sparsetopics.inference.item_step import K, components_of, sample_items
from sparsetopics.inference.local_step import Globals, Parameters
from sparsetopics.inference.room import check_room
from sparsetopics.model.allocations.mixture import ItemAllocation, ItemTerms
from sparsetopics.model.allocations.mixture_weights import NestedAllocation, sharing_of
from sparsetopics.model.likelihoods.diagonal_gaussian import IsotropicGaussian
from sparsetopics.model.likelihoods.likelihood import ItemLikelihood
from sparsetopics.model.likelihoods.scorers import V
from sparsetopics.model.mixture_posterior import MixturePosterior
from sparsetopics.model.statistics import C, P, Statistics, T
from sparsetopics.options.option import refuse
from sparsetopics.options.registry import LIKELIHOODS, imported
from sparsetopics.options.training import TrainingOptions

PRIOR_ITEMS = 100_000  # at most, to make the prior from
SEED_ITEMS = 2_000  # to choose seeds from, or
ITEMS_PER_SEED = 10  # for each seed, whichever are more
NEARLY_ALL = 0.9  # of the items
KMEANS_ROUNDS = 10  # for spheres at modes, where hard assignments to seeds are k-means


def begin_mixture(
    source: Source[ItemBatch[V]],
    options: TrainingOptions,
    rng: np.random.Generator,
    start: None = None,
) -> tuple[Statistics[K, ItemTerms], Parameters[K, P, ItemTerms]]:
    """Components made from seeds in a sample of the items, and the first parameters.

    Raises OptionError if there are fewer items than components, ShapeError for vectors that no
    prior can be made from.
    """
    assert start is None, "a mixture cannot start from a model"
    sample = sample_items(source, PRIOR_ITEMS, rng)
    kind = imported(LIKELIHOODS[options.likelihood_name].where)
    likelihood: ItemLikelihood[V, K, P] = kind.for_training(sample.values, source, options)
    n_seeds, n_items = options.n_topics, sample.n_docs
    if n_seeds > n_items:
        problem = f"must be at most {n_items:,}, the number of items, but is {n_seeds:,}"
        refuse("topics", problem)
    check_room(options, likelihood.zeros(1), source.read(0), source.n_docs)
    n_candidates = max(SEED_ITEMS, ITEMS_PER_SEED * n_seeds)
    values = sample.take(np.sort(rng.permutation(n_items)[:n_candidates])).values
    if options.start_name == "random":
        seeds = rng.permutation(len(values))[:n_seeds]
    else:
        seeds = likelihood.seeding().distant_seeds(values, n_seeds, rng)
        # If few items differ, there are fewer seeds; then arbitrary items fill up.
        spare = np.setdiff1d(np.arange(len(values)), seeds)
        seeds = np.concatenate([seeds, spare[: n_seeds - len(seeds)]])
    learner = options.learner_kind
    n_rounds = KMEANS_ROUNDS if learner.at_modes else 1
    components = components_of(values, seeds, likelihood.seeding(), n_rounds)
    components = components.scaled(source.n_docs / components.sizes.sum())
    if learner.grows:
        components = components.joined([components, components.zeros_like()])  # and a tail
    sharing = sharing_of(options.model, at_modes=learner.at_modes, grows=learner.grows)
    allocation = sharing(components.sizes, options.prior.gamma)
    return Statistics(components, allocation.zero_terms()), Parameters(allocation, likelihood)


def warn_of_one_component(current: Globals[C, P, T]) -> None:
    """Warn if nearly all items are in one component, which follows from too great a variance."""
    sizes, likelihood = current.components.sizes, current.likelihood
    assert isinstance(likelihood, IsotropicGaussian), "of points"
    share = float(sizes.max() / sizes.sum())
    if len(sizes) > 1 and share > NEARLY_ALL:
        warn_user(
            f"{share:.0%} of the items are in one component. If there are more clusters, try a "
            f"known variance (--variance) below {likelihood.variance:.3g}."
        )


def make_mixture_model(
    current: Globals[K, P, ItemTerms], options: TrainingOptions
) -> MixturePosterior:
    """The posterior as a model, components by falling weight."""
    likelihood = cast("ItemLikelihood[Rows, K, P]", current.likelihood)
    allocation, components = current.allocation, current.components
    if isinstance(allocation, NestedAllocation):
        components = components.take(np.arange(allocation.n_topics))
        allocation = allocation.without_tail()
    assert isinstance(allocation, ItemAllocation), "a mixture"
    order = np.argsort(-allocation.counts, kind="stable")
    return MixturePosterior(
        options.model,
        options.likelihood_name,
        likelihood,
        allocation.reordered(order),
        likelihood.posterior(components.take(order)),
    )
