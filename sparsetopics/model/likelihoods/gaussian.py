"""Gaussians of any mean and covariance: Λ_k ~ W(ν, B⁻¹), μ_k ~ N(m, (κΛ_k)⁻¹), x ~ N(μ_k, Λ_k⁻¹).

κ_k = κ + N_k, ν_k = ν + N_k and, with x and m_k measured from the prior's mean m,
m_k = Σ r x / κ_k, B_k = B + Σ r x xᵀ − κ_k m_k m_kᵀ (Bishop, PRML §10.2; Murphy 2007, §8). If items
far away from zero were measured from zero, the difference in B_k would lose digits, and the ELBO
would no longer rise in every step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from sparsetopics.base.batches import FloatArray, Vectors
from sparsetopics.model.array_formats import COMPONENTS, MATRICES, MATRIX, MEAN, MEANS, StoredAs
from sparsetopics.model.likelihoods import wishart
from sparsetopics.model.likelihoods.likelihood import Posterior
from sparsetopics.model.likelihoods.moments import Moments
from sparsetopics.model.likelihoods.normals import LOG_TWO_PI, Normals, cholesky_factors
from sparsetopics.model.likelihoods.scorers import NaturalParameters, TriangularScorer
from sparsetopics.model.likelihoods.vector_likelihood import check_mean, origin_of


class NormalWishartPosterior(NamedTuple):
    """q(Λ_k) = W(ν_k, B_k⁻¹), q(μ_k|Λ_k) = N(m_k, (κ_k Λ_k)⁻¹)."""

    degrees_of_freedom: FloatArray  # (n_topics,)  ν_k
    scale_matrices: FloatArray  # (n_topics, n_columns, n_columns)  B_k
    means: FloatArray  # (n_topics, n_columns)  m_k
    mean_precisions: FloatArray  # (n_topics,)  κ_k


@dataclass(frozen=True, slots=True, eq=False)
class Gaussian(wishart.WishartLikelihood):
    """The Normal-Wishart prior.

    Raises ``OptionError`` as ``WishartLikelihood`` does, and unless κ > 0.
    """

    mean: FloatArray  # (n_columns,)  m, rounded to float32 where it is used
    mean_precision: float  # κ

    stored = StoredAs(
        NormalWishartPosterior,
        {
            "degrees_of_freedom": COMPONENTS,
            "scale_matrices": MATRICES,
            "means": MEANS,
            "mean_precisions": COMPONENTS,
            "prior_scale_matrix": MATRIX,
            "prior_mean": MEAN,
        },
        ("prior_degrees_of_freedom", "prior_mean_precision"),
    )

    def __post_init__(self) -> None:
        # Not super(): a dataclass with slots is another class than the one that was defined here.
        wishart.WishartLikelihood.__post_init__(self)
        check_mean(self.mean, self.mean_precision, self.n_columns)

    @classmethod
    def from_data(
        cls,
        values: Vectors,  # (n_items, n_columns)  a sample
        scale: float = 1.0,
        degrees_of_freedom: float | None = None,
        mean_precision: float = 1e-4,
        diagonal: bool = True,
    ) -> Self:
        """Expected covariance: ``scale`` times the sample's; m: its mean; ν is D + 2 by default.

        κ = 1e-4 leaves means free. With ``diagonal``, columns are uncorrelated in the prior.
        """
        mean = values.mean(axis=0, dtype=np.float64)
        prior = wishart.scale_from_data(values, mean, scale, degrees_of_freedom, diagonal)
        return cls(*prior, mean, mean_precision)

    def zeros(self, n_topics: int) -> Moments:
        return Moments.zeros_full(n_topics, origin_of(self.mean), with_sums=True)

    def posterior(self, moments: Moments) -> NormalWishartPosterior:
        centred = self._centred_posterior(moments)
        return centred._replace(means=centred.means + origin_of(self.mean))

    def _centred_posterior(self, moments: Moments) -> NormalWishartPosterior:
        """The posterior with m_k measured from the prior's mean, like moments."""
        mean_precisions = self.mean_precision + moments.counts
        means = moments.sums / mean_precisions[:, None]
        scale_matrices = self.scale_matrix + moments.squares
        scale_matrices -= mean_precisions[:, None, None] * _outer(means)
        return NormalWishartPosterior(
            self.degrees_of_freedom + moments.counts, scale_matrices, means, mean_precisions
        )

    def components_of(self, posterior: Posterior) -> Moments:
        dof, scale_matrices, means, mean_precisions = posterior
        origin = origin_of(self.mean)
        means = means - origin
        squares = scale_matrices - self.scale_matrix
        squares += mean_precisions[:, None, None] * _outer(means)
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

    def expected_log_likelihood(self, moments: Moments, posterior_moments: Moments) -> FloatArray:
        dof, scale_matrices, means, mean_precisions = self._centred_posterior(posterior_moments)
        crossed = moments.sums[:, :, None] * means[:, None, :]
        scatter = moments.squares - crossed - crossed.transpose(0, 2, 1)
        scatter += moments.counts[:, None, None] * _outer(means)
        return self._expected(
            moments, scatter, dof, scale_matrices, self.n_columns / mean_precisions
        )

    def prepare(self, moments: Moments) -> TriangularScorer:
        dof, scale_matrices, means, mean_precisions = self._centred_posterior(moments)
        blur = self.n_columns / mean_precisions
        return self._scorer(origin_of(self.mean), means, dof, scale_matrices, blur)

    def natural_parameters(self, moments: Moments) -> NaturalParameters:
        dof, scale_matrices, means, mean_precisions = self._centred_posterior(moments)
        blur = self.n_columns / mean_precisions
        constants = self._constants(dof, cholesky_factors(scale_matrices), blur)
        precisions = dof[:, None, None] * np.linalg.inv(scale_matrices)
        linear = np.einsum("kde,ke->kd", precisions, means)
        constants -= 0.5 * np.einsum("kd,kd->k", linear, means)
        return NaturalParameters(linear, -0.5 * precisions, constants)

    def point_estimates(self, posterior: Posterior) -> Normals:
        """m_k and E[Λ_k⁻¹]."""
        dof, scale_matrices, means, _ = posterior
        return self._normals(means, dof, scale_matrices)


def _outer(means: FloatArray) -> FloatArray:
    return means[:, :, None] * means[:, None, :]
