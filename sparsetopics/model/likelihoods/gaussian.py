"""Gaussians of any mean and covariance: Λ_k ~ W(ν, B⁻¹), μ_k ~ N(m, (κΛ_k)⁻¹), x ~ N(μ_k, Λ_k⁻¹).

κ_k = κ + N_k, ν_k = ν + N_k and, with x and m_k measured from the prior's mean m,
m_k = Σ r x / κ_k, B_k = B + Σ r x xᵀ − κ_k m_k m_kᵀ (Bishop, PRML §10.2; Murphy 2007, §8). Measured
from zero, far away, the difference B_k would lose digits, and the ELBO its monotony.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from sparsetopics.base.batches import Batch, FloatArray, IntArray, ItemSource, Vectors
from sparsetopics.model.array_formats import (
    COMPONENTS,
    MATRICES,
    MATRIX,
    MEAN,
    MEANS,
    ArrayFormat,
    StoredAs,
)
from sparsetopics.model.likelihoods import priors, wishart
from sparsetopics.model.likelihoods.likelihood import Posterior
from sparsetopics.model.likelihoods.moments import Moments
from sparsetopics.model.likelihoods.natural_parameters import NaturalParameters
from sparsetopics.model.likelihoods.normals import LOG_TWO_PI, Normals
from sparsetopics.model.likelihoods.scorers import TriangularScorer, triangular_scorer
from sparsetopics.model.likelihoods.vector_seeds import distant_items, moments_of_each
from sparsetopics.model.likelihoods.vectors import elbo_items, merge_gains
from sparsetopics.options.training import TrainingOptions


class NormalWishartPosterior(NamedTuple):
    """q(Λ_k) = W(ν_k, B_k⁻¹), q(μ_k|Λ_k) = N(m_k, (κ_k Λ_k)⁻¹)."""

    degrees_of_freedom: FloatArray  # (n_topics,)  ν_k
    scale_matrices: FloatArray  # (n_topics, n_columns, n_columns)  B_k
    means: FloatArray  # (n_topics, n_columns)  m_k
    mean_precisions: FloatArray  # (n_topics,)  κ_k


@dataclass(frozen=True, slots=True, eq=False)
class Gaussian:
    """The Normal-Wishart prior.

    Raises ``OptionError`` unless ν > D + 1, B is positive definite and κ > 0.
    """

    degrees_of_freedom: float  # ν
    scale_matrix: FloatArray  # (n_columns, n_columns)  B
    mean: FloatArray  # (n_columns,)  m, taken as float32 has it
    mean_precision: float  # κ

    stored = StoredAs(
        NormalWishartPosterior,
        {
            "degrees_of_freedom": ArrayFormat(COMPONENTS),
            "scale_matrices": ArrayFormat(MATRICES, lower=-np.inf),
            "means": MEANS,
            "mean_precisions": ArrayFormat(COMPONENTS),
            "prior_scale_matrix": ArrayFormat(MATRIX, lower=-np.inf),
            "prior_mean": MEAN,
        },
        ("prior_degrees_of_freedom", "prior_mean_precision"),
    )

    def __post_init__(self) -> None:
        priors.check_wishart(self.degrees_of_freedom, self.scale_matrix)
        priors.check_mean(self.mean, self.mean_precision, self.n_columns)

    @classmethod
    def from_data(
        cls,
        values: Vectors,  # (n_items, n_columns)  a sample
        scale: float = 1.0,
        degrees_of_freedom: float | None = None,
        mean_precision: float = 1e-4,
        diagonal: bool = True,
    ) -> Self:
        """Expected covariance: ``scale`` times the sample's; m its mean; ν = D + 2 by default.

        κ = 1e-4 leaves means free. By default columns are uncorrelated in the prior.
        """
        n_columns = values.shape[1]
        dof = n_columns + 2.0 if degrees_of_freedom is None else degrees_of_freedom
        mean = values.mean(axis=0, dtype=np.float64)
        spread = priors.spread_of(values, mean, diagonal)
        return cls(dof, (dof - n_columns - 1.0) * scale * spread, mean, mean_precision)

    @classmethod
    def for_training(
        cls, sample: Vectors, source: ItemSource[Batch], options: TrainingOptions
    ) -> Self:
        """That of ``from_data``; ShapeError for vectors that it cannot be made from."""
        priors.check_sample(sample, source.n_docs)
        return cls.from_data(sample)

    @property
    def n_columns(self) -> int:
        return len(self.scale_matrix)

    @property
    def word_concentration(self) -> None:
        return None

    def zeros(self, n_topics: int) -> Moments:
        return Moments.zeros_full(n_topics, priors.origin_of(self.mean), with_sums=True)

    def posterior(self, moments: Moments) -> NormalWishartPosterior:
        centred = self._centred_posterior(moments)
        return centred._replace(means=centred.means + priors.origin_of(self.mean))

    def _centred_posterior(self, moments: Moments) -> NormalWishartPosterior:
        """With m_k measured from the prior's mean, as moments are."""
        mean_precisions = self.mean_precision + moments.counts
        means = moments.sums / mean_precisions[:, None]
        scale_matrices = self.scale_matrix + moments.squares
        scale_matrices -= mean_precisions[:, None, None] * _outer(means)
        return NormalWishartPosterior(
            self.degrees_of_freedom + moments.counts, scale_matrices, means, mean_precisions
        )

    def components_of(self, posterior: Posterior) -> Moments:
        dof, scale_matrices, means, mean_precisions = posterior
        origin = priors.origin_of(self.mean)
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
        evidence: FloatArray = (
            wishart.log_normalizers(dof, scale_matrices)
            - wishart.log_normalizers(*prior)
            + 0.5 * self.n_columns * (log_ratios - LOG_TWO_PI * moments.counts)
        )
        return evidence

    def expected_log_likelihood(self, moments: Moments, posterior_moments: Moments) -> FloatArray:
        posterior = self._centred_posterior(posterior_moments)
        dof, scale_matrices, means, _ = posterior
        crossed = moments.sums[:, :, None] * means[:, None, :]
        scatter = moments.squares - crossed - crossed.transpose(0, 2, 1)
        scatter += moments.counts[:, None, None] * _outer(means)
        traces = np.trace(np.linalg.solve(scale_matrices, scatter), axis1=1, axis2=2)
        constants = self._constants(posterior, wishart.cholesky(scale_matrices))
        expected: FloatArray = moments.counts * constants - 0.5 * dof * traces
        return expected

    def elbo(self, components: Moments, posterior: Moments) -> float:
        return elbo_items(self, components, posterior)

    def expected_log_evidence(self, batch: Moments, posterior: Moments) -> float:
        return float(self.expected_log_likelihood(batch, posterior).sum())

    def merge_gains(self, components: Moments, pairs: IntArray) -> FloatArray:
        return merge_gains(self, components, pairs)

    def distant_seeds(self, values: Vectors, n_seeds: int, rng: np.random.Generator) -> IntArray:
        return distant_items(values, self, n_seeds, rng)

    def alone(self, values: Vectors, seeds: IntArray) -> Moments:
        return moments_of_each(values[seeds], self)

    def learned(self, components: Moments) -> Self:
        """The prior as it is: it is not learned."""
        return self

    def prepare(self, moments: Moments) -> TriangularScorer:
        posterior = self._centred_posterior(moments)
        factors = wishart.cholesky(posterior.scale_matrices)
        constants = self._constants(posterior, factors)
        factors /= np.sqrt(posterior.degrees_of_freedom)[:, None, None]
        origin = priors.origin_of(self.mean)
        return triangular_scorer(origin, posterior.means, factors, constants)

    def natural_parameters(self, moments: Moments) -> NaturalParameters:
        posterior = self._centred_posterior(moments)
        dof, scale_matrices, means, _ = posterior
        constants = self._constants(posterior, wishart.cholesky(scale_matrices))
        precisions = dof[:, None, None] * np.linalg.inv(scale_matrices)
        linear = np.einsum("kde,ke->kd", precisions, means)
        constants -= 0.5 * np.einsum("kd,kd->k", linear, means)
        return NaturalParameters(linear, -0.5 * precisions, constants)

    def _constants(self, posterior: NormalWishartPosterior, factors: FloatArray) -> FloatArray:
        """½ (E[log |Λ_k|] − D/κ_k) − D/2 log 2π, (n_topics,)."""
        log_determinants = wishart.expected_log_determinants(posterior.degrees_of_freedom, factors)
        blur = self.n_columns / posterior.mean_precisions
        constants: FloatArray = 0.5 * (log_determinants - blur - self.n_columns * LOG_TWO_PI)
        return constants

    def point_estimates(self, posterior: Posterior) -> Normals:
        """m_k and E[Λ_k⁻¹] = B_k / (ν_k − D − 1)."""
        dof, scale_matrices, means, _ = posterior
        shrunk = dof - self.n_columns - 1.0
        return Normals(means, scale_matrices / shrunk[:, None, None])


def _outer(means: FloatArray) -> FloatArray:
    return means[:, :, None] * means[:, None, :]
