"""Gaussians of mean zero and any covariance: Λ_k ~ W(ν, B⁻¹), x ~ N(0, Λ_k⁻¹).

ν_k = ν + N_k, B_k = B + Σ r x xᵀ (SPARSE16, App. B.1).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from sparsetopics.base.batches import FloatArray, Vectors
from sparsetopics.base.showing import short_repr
from sparsetopics.model.array_formats import COMPONENTS, MATRICES, MATRIX, StoredAs
from sparsetopics.model.likelihoods import wishart
from sparsetopics.model.likelihoods.likelihood import Posterior
from sparsetopics.model.likelihoods.moments import Moments
from sparsetopics.model.likelihoods.normals import LOG_TWO_PI, Normals


class WishartPosterior(NamedTuple):
    """q(Λ_k) = W(ν_k, B_k⁻¹)."""

    degrees_of_freedom: FloatArray  # (n_topics,)  ν_k
    scale_matrices: FloatArray  # (n_topics, n_columns, n_columns)  B_k

    def __repr__(self) -> str:
        return short_repr(self, "degrees_of_freedom", "scale_matrices")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ZeroMeanGaussian(wishart.WishartLikelihood):
    """The prior W(ν, B⁻¹), as in ``WishartLikelihood``."""

    stored = StoredAs(
        WishartPosterior, (COMPONENTS, MATRICES), {"scale_matrix": MATRIX}, ("degrees_of_freedom",)
    )

    @classmethod
    def from_data(cls, values: Vectors) -> Self:
        """Expected variances: the mean squares of the sample."""
        return cls(*wishart.prior_from_data(values, np.zeros(values.shape[1])))

    def zeros(self, n_topics: int) -> Moments:
        origin = np.zeros(self.n_columns)
        return Moments.zeros(n_topics, origin, in_pairs=True, with_sums=False)

    def posterior(self, moments: Moments) -> WishartPosterior:
        return WishartPosterior(
            self.degrees_of_freedom + moments.counts, self.scale_matrix + moments.squares
        )

    def _centred_posterior(self, moments: Moments) -> wishart.NormalWishartPosterior:
        dof, scale_matrices = self.posterior(moments)
        means, certain = np.zeros((len(dof), self.n_columns)), np.full(len(dof), np.inf)
        return wishart.NormalWishartPosterior(dof, scale_matrices, means, certain)

    def components_of(self, posterior: Posterior) -> Moments:
        dof, scale_matrices = posterior
        no_sums, origin = np.zeros((len(dof), 0)), np.zeros(self.n_columns)
        squares = scale_matrices - self.scale_matrix
        return Moments(dof - self.degrees_of_freedom, no_sums, squares, origin)

    def log_evidence(self, moments: Moments) -> FloatArray:
        """−ND/2 log 2π + log Z(ν_k, B_k) − log Z(ν, B), (n_topics,)."""
        return (
            wishart.log_normalizers(*self.posterior(moments))
            - wishart.log_normalizers(*self.posterior(self.zeros(1)))
            - 0.5 * self.n_columns * LOG_TWO_PI * moments.counts
        )

    def point_estimates(self, posterior: Posterior) -> Normals:
        """Mean zero and E[Λ_k⁻¹]."""
        dof, scale_matrices = posterior
        return self._normals(np.zeros((len(dof), self.n_columns)), dof, scale_matrices)
