"""Components as plain normal distributions, and sampling from them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparsetopics.base.batches import FloatArray, IntArray
from sparsetopics.base.errors import OptionError
from sparsetopics.base.showing import short_repr

LOG_TWO_PI = float(np.log(2.0 * np.pi))


class Normals(NamedTuple):
    """Gaussians N(means_k, covariances_k)."""

    means: FloatArray  # (n_topics, n_columns)
    covariances: FloatArray  # (n_topics, n_columns, n_columns); variances (n_topics, n_columns)

    def __repr__(self) -> str:
        return short_repr(self, "means", "covariances")

    def sample(
        self, weights: FloatArray, n_items: int, rng: np.random.Generator
    ) -> tuple[FloatArray, IntArray]:
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
        return values, topics


def cholesky_factors(matrices: FloatArray) -> FloatArray:
    """Lower factors L with L Lᵀ the symmetric matrices (.., n_columns, n_columns).

    Raises ``OptionError`` if a matrix is not positive definite.
    """
    try:
        return np.linalg.cholesky(matrices).astype(np.float64, copy=False)
    except np.linalg.LinAlgError:
        hint = "Take a prior of uncorrelated columns, and scale columns of very large values."
        raise OptionError("scale matrix", "is not positive definite", hint) from None


def log_determinants(factors: FloatArray) -> FloatArray:
    """log |L Lᵀ| of Cholesky factors, (n_topics,)."""
    logs: FloatArray = 2.0 * np.log(np.diagonal(factors, axis1=-2, axis2=-1)).sum(axis=-1)
    return logs
