"""Components as plain normal distributions: plugged-in densities, held-out scores, sampling."""

from __future__ import annotations

from typing import NamedTuple, TypeVar

import numpy as np
from scipy.special import logsumexp

from sparsetopics.base.batches import FloatArray, IntArray, Rows, Vectors
from sparsetopics.model.likelihoods import priors, scorers, wishart
from sparsetopics.model.likelihoods.scorers import Scorer

BLOCK_ITEMS = 1024
V = TypeVar("V", bound=Rows)
LOG_TWO_PI = float(np.log(2.0 * np.pi))


class Normals(NamedTuple):
    """Gaussians N(means_k, covariances_k)."""

    means: FloatArray  # (n_topics, n_columns)
    covariances: FloatArray  # (n_topics, n_columns, n_columns); variances (n_topics, n_columns)

    def scorer(self) -> Scorer[Vectors]:
        """log N(x | mean_k, covariance_k)."""
        n_columns = self.means.shape[1]
        origin = priors.origin_of(self.means.mean(axis=0))
        centred = self.means - origin
        if self.covariances.ndim == 2:
            constants = -0.5 * (np.log(self.covariances).sum(axis=1) + n_columns * LOG_TWO_PI)
            return scorers.diagonal_scorer(origin, centred, 1.0 / self.covariances, constants)
        factors = wishart.cholesky(self.covariances)
        constants = -0.5 * (wishart.log_determinants(factors) + n_columns * LOG_TWO_PI)
        return scorers.triangular_scorer(origin, centred, factors, constants)

    def sample(
        self, weights: FloatArray, n_items: int, rng: np.random.Generator
    ) -> tuple[Vectors, IntArray]:
        """Items (n_items, n_columns) and their components (n_items,); ``weights`` add up to one."""
        topics: IntArray = rng.choice(len(weights), n_items, p=weights)
        values = rng.standard_normal((n_items, self.means.shape[1]))
        for k in np.unique(topics):
            own = topics == k
            if self.covariances.ndim == 2:
                values[own] *= np.sqrt(self.covariances[k])
            else:
                values[own] = values[own] @ np.linalg.cholesky(self.covariances[k]).T
            values[own] += self.means[k]
        return values.astype(np.float32), topics


def mixture_log_densities(
    scorer: Scorer[V],
    weights: FloatArray,  # (n_topics,)  w_k
    values: V,  # rows of numbers (n_items, n_columns), or documents
) -> FloatArray:
    """log Σ_k w_k p(x_n|k), (n_items,): of point estimates the held-out score of items."""
    totals = np.empty(len(values))
    for low in range(0, len(values), BLOCK_ITEMS):
        block = slice(low, low + BLOCK_ITEMS)
        logs = scorer.log_densities(values[block]).astype(np.float64)
        totals[block] = logsumexp(logs, b=weights, axis=1)
    return totals
