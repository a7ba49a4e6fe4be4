"""Gaussians of any mean and covariance: Λ_k ~ W(ν, B⁻¹), μ_k ~ N(m, (κΛ_k)⁻¹), x ~ N(μ_k, Λ_k⁻¹).

κ_k = κ + N_k, ν_k = ν + N_k and, with x and m_k measured from the prior's mean m,
m_k = Σ r x / κ_k, B_k = B + Σ r x xᵀ − κ_k m_k m_kᵀ (Bishop, PRML §10.2; Murphy 2007, §8). If items
far away from zero were measured from zero, the difference in B_k would lose digits, and the ELBO
would no longer rise in every step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from sparsetopics.base.batches import FloatArray, Vectors
from sparsetopics.model.array_formats import COMPONENTS, MATRICES, MATRIX, MEAN, MEANS, StoredAs
from sparsetopics.model.likelihoods import wishart
from sparsetopics.model.likelihoods.likelihood import Posterior
from sparsetopics.model.likelihoods.moments import Moments
from sparsetopics.model.likelihoods.normals import LOG_TWO_PI, Normals
from sparsetopics.model.likelihoods.vector_likelihood import MEAN_PRECISION, check_mean, origin_of
from sparsetopics.model.likelihoods.wishart import NormalWishartPosterior, outer_products


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Gaussian(wishart.WishartLikelihood):
    """The Normal-Wishart prior.

    Raises ``OptionError`` as ``WishartLikelihood`` does, and unless κ > 0.
    """

    mean: FloatArray  # (n_columns,)  m, rounded to float32 where it is used
    mean_precision: float  # κ

    stored = StoredAs(
        NormalWishartPosterior,
        (COMPONENTS, MATRICES, MEANS, COMPONENTS),
        {"scale_matrix": MATRIX, "mean": MEAN},
        ("degrees_of_freedom", "mean_precision"),
    )

    def __post_init__(self) -> None:
        # Not super(): a dataclass with slots is another class than the one that was defined here.
        wishart.WishartLikelihood.__post_init__(self)
        check_mean(self.mean, self.mean_precision, self.n_columns)

    @classmethod
    def from_data(cls, values: Vectors) -> Self:
        """Expected variances: those of the sample; m: its mean; κ leaves means free."""
        mean = values.mean(axis=0, dtype=np.float64)
        return cls(*wishart.prior_from_data(values, mean), mean, MEAN_PRECISION)

    def zeros(self, n_topics: int) -> Moments:
        return Moments.zeros(n_topics, origin_of(self.mean), in_pairs=True)

    def posterior(self, moments: Moments) -> NormalWishartPosterior:
        centred = self._centred_posterior(moments)
        return centred._replace(means=centred.means + origin_of(self.mean))

    def _centred_posterior(self, moments: Moments) -> NormalWishartPosterior:
        mean_precisions = self.mean_precision + moments.counts
        means = moments.sums / mean_precisions[:, None]
        scale_matrices = self.scale_matrix + moments.squares
        scale_matrices -= mean_precisions[:, None, None] * outer_products(means)
        return NormalWishartPosterior(
            self.degrees_of_freedom + moments.counts, scale_matrices, means, mean_precisions
        )

    def components_of(self, posterior: Posterior) -> Moments:
        dof, scale_matrices, means, mean_precisions = posterior
        origin = origin_of(self.mean)
        means = means - origin
        squares = scale_matrices - self.scale_matrix
        squares += mean_precisions[:, None, None] * outer_products(means)
        sums = mean_precisions[:, None] * means
        return Moments(dof - self.degrees_of_freedom, sums, squares, origin)

    def log_evidence(self, moments: Moments) -> FloatArray:
        """−ND/2 log 2π + D/2 log(κ/κ_k) + log Z(ν_k, B_k) − log Z(ν, B), (n_topics,)."""
        dof, scale_matrices, _, mean_precisions = self._centred_posterior(moments)
        prior = np.array([self.degrees_of_freedom]), self.scale_matrix[None]
        log_ratios = np.log(self.mean_precision / mean_precisions)
        return (
            wishart.log_normalizers(dof, scale_matrices)
            - wishart.log_normalizers(*prior)
            + 0.5 * self.n_columns * (log_ratios - LOG_TWO_PI * moments.counts)
        )

    def point_estimates(self, posterior: Posterior) -> Normals:
        """m_k and E[Λ_k⁻¹]."""
        dof, scale_matrices, means, _ = posterior
        return self._normals(means, dof, scale_matrices)
