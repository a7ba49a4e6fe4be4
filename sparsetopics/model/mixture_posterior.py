"""A trained mixture: the posterior of weights and components, and what follows from them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sparsetopics.base.batches import FloatArray, IntArray, Vectors
from sparsetopics.model.allocations.mixture_weights import MixtureWeights
from sparsetopics.model.item_assignment import BLOCK_ITEMS
from sparsetopics.model.likelihoods.likelihood import Estimates, ItemLikelihood
from sparsetopics.model.likelihoods.multinomial import Categoricals
from sparsetopics.model.likelihoods.normals import Normals, mixture_log_densities
from sparsetopics.model.likelihoods.scorers import Scorer, steady
from sparsetopics.options.table import LikelihoodName, ModelName


@dataclass(frozen=True, eq=False)
class MixtureModel:
    """Components of a mixture, in falling order of weight."""

    name: ModelName
    likelihood_name: LikelihoodName
    likelihood: ItemLikelihood[Any, Any, Any]  # the prior
    mixture: MixtureWeights
    posterior: Any  # of the likelihood, e.g. WishartPosterior

    @property
    def n_topics(self) -> int:
        """Components."""
        return self.mixture.n_topics

    @property
    def n_columns(self) -> int:
        return self.likelihood.n_columns

    @cached_property
    def weights(self) -> FloatArray:
        """E[w_k], (n_topics,), made to add up to one."""
        weights = self.mixture.mean_weights
        shares: FloatArray = weights / weights.sum()
        return shares

    @cached_property
    def estimates(self) -> Estimates[Any]:
        """Each component at its posterior mean."""
        return self.likelihood.point_estimates(self.posterior)

    @property
    def normals(self) -> Normals:
        """Posterior means of each component's mean and covariance."""
        assert isinstance(self.estimates, Normals), "of a mixture of vectors"
        return self.estimates

    @property
    def topic_word_posterior(self) -> FloatArray:
        """λ, (n_topics, n_words), of a mixture of documents."""
        posterior: FloatArray = self.posterior.topic_word_posterior
        return posterior

    @property
    def topic_word_mean(self) -> FloatArray:
        """Posterior mean probability of each word in each component, (n_topics, n_words)."""
        assert isinstance(self.estimates, Categoricals), "of a mixture of documents"
        return self.estimates.probabilities

    def responsibilities(self, values: Any) -> FloatArray:
        """Of each component for each item, dense (n_items, n_topics); a row depends on its own
        item alone."""
        shares = np.empty((len(values), self.n_topics))
        for low in range(0, len(values), BLOCK_ITEMS):
            block = slice(low, low + BLOCK_ITEMS)
            logs = self._expected.log_densities(values[block]) + self.mixture.expected_log_weights
            logs -= logs.max(axis=1, keepdims=True)
            shares[block] = np.exp(logs)
        shares /= shares.sum(axis=1, keepdims=True)
        return shares

    def log_densities(self, values: Any) -> FloatArray:
        """log Σ_k w_k p(x | component k) of each item, (n_items,), parameters plugged in."""
        return mixture_log_densities(self._plugged_in, self.weights, values)

    @cached_property
    def _expected(self) -> Scorer[Any]:
        """E[log p(x | component)], made ready once for all batches."""
        return steady(self.likelihood.prepare(self.likelihood.components_of(self.posterior)))

    @cached_property
    def _plugged_in(self) -> Scorer[Any]:
        """log p(x | component) at the posterior means, likewise."""
        return self.estimates.scorer()

    def sample(self, n_items: int, rng: np.random.Generator) -> tuple[Vectors, IntArray]:
        """Items (n_items, n_columns) and their components (n_items,)."""
        return self.normals.sample(self.weights, n_items, rng)
