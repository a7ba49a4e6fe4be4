"""Gaussians of mean zero and any covariance: Λ_k ~ W(ν, B⁻¹), x ~ N(0, Λ_k⁻¹).

ν_k = ν + N_k, B_k = B + Σ r x xᵀ (SPARSE16, App. B.1).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from sparsetopics.base.batches import Batch, FloatArray, IntArray, ItemSource, Vectors
from sparsetopics.model.array_formats import COMPONENTS, MATRICES, MATRIX, ArrayFormat, StoredAs
from sparsetopics.model.likelihoods import priors, wishart
from sparsetopics.model.likelihoods.likelihood import Posterior
from sparsetopics.model.likelihoods.moments import Moments
from sparsetopics.model.likelihoods.natural_parameters import NaturalParameters
from sparsetopics.model.likelihoods.normals import LOG_TWO_PI, Normals
from sparsetopics.model.likelihoods.scorers import TriangularScorer, triangular_scorer
from sparsetopics.model.likelihoods.vector_seeds import distant_items, moments_of_each
from sparsetopics.model.likelihoods.vectors import elbo_items, merge_gains
from sparsetopics.options.training import TrainingOptions


class WishartPosterior(NamedTuple):
    """q(Λ_k) = W(ν_k, B_k⁻¹)."""

    degrees_of_freedom: FloatArray  # (n_topics,)  ν_k
    scale_matrices: FloatArray  # (n_topics, n_columns, n_columns)  B_k


@dataclass(frozen=True, slots=True, eq=False)
class ZeroMeanGaussian:
    """The prior W(ν, B⁻¹); raises ``OptionError`` unless ν > D + 1 and B is positive definite."""

    degrees_of_freedom: float  # ν
    scale_matrix: FloatArray  # (n_columns, n_columns)  B

    stored = StoredAs(
        WishartPosterior,
        {
            "degrees_of_freedom": ArrayFormat(COMPONENTS),
            "scale_matrices": ArrayFormat(MATRICES, lower=-np.inf),
            "prior_scale_matrix": ArrayFormat(MATRIX, lower=-np.inf),
        },
        ("prior_degrees_of_freedom",),
    )

    def __post_init__(self) -> None:
        priors.check_wishart(self.degrees_of_freedom, self.scale_matrix)

    @classmethod
    def from_data(
        cls,
        values: Vectors,  # (n_items, n_columns)  a sample
        scale: float = 1.0,
        degrees_of_freedom: float | None = None,
        diagonal: bool = True,
    ) -> Self:
        """Expected covariance: ``scale`` times the sample's second moments; ν = D + 2 by default.

        By default columns are uncorrelated in the prior.
        """
        n_columns = values.shape[1]
        dof = n_columns + 2.0 if degrees_of_freedom is None else degrees_of_freedom
        spread = priors.spread_of(values, np.zeros(n_columns), diagonal)
        return cls(dof, (dof - n_columns - 1.0) * scale * spread)

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
        return Moments.zeros_full(n_topics, np.zeros(self.n_columns), with_sums=False)

    def posterior(self, moments: Moments) -> WishartPosterior:
        return WishartPosterior(
            self.degrees_of_freedom + moments.counts, self.scale_matrix + moments.squares
        )

    def components_of(self, posterior: Posterior) -> Moments:
        dof, scale_matrices = posterior
        return Moments(
            dof - self.degrees_of_freedom,
            np.zeros((len(dof), 0)),
            scale_matrices - self.scale_matrix,
            np.zeros(self.n_columns),
        )

    def log_evidence(self, moments: Moments) -> FloatArray:
        """−ND/2 log 2π + log Z(ν_k, B_k) − log Z(ν, B), (n_topics,)."""
        evidence: FloatArray = (
            wishart.log_normalizers(*self.posterior(moments))
            - wishart.log_normalizers(*self.posterior(self.zeros(1)))
            - 0.5 * self.n_columns * LOG_TWO_PI * moments.counts
        )
        return evidence

    def expected_log_likelihood(self, moments: Moments, posterior_moments: Moments) -> FloatArray:
        dof, scale_matrices = self.posterior(posterior_moments)
        constants = self._constants(dof, wishart.cholesky(scale_matrices))
        solved = np.linalg.solve(scale_matrices, moments.squares)
        expected: FloatArray = moments.counts * constants - 0.5 * dof * np.trace(
            solved, axis1=1, axis2=2
        )
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
        dof, scale_matrices = self.posterior(moments)
        factors = wishart.cholesky(scale_matrices)
        constants = self._constants(dof, factors)
        factors /= np.sqrt(dof)[:, None, None]
        means = np.zeros((len(dof), self.n_columns))
        return triangular_scorer(means[0], means, factors, constants)

    def natural_parameters(self, moments: Moments) -> NaturalParameters:
        dof, scale_matrices = self.posterior(moments)
        constants = self._constants(dof, wishart.cholesky(scale_matrices))
        precisions = dof[:, None, None] * np.linalg.inv(scale_matrices)
        return NaturalParameters(np.zeros(precisions.shape[:2]), -0.5 * precisions, constants)

    def _constants(self, dof: FloatArray, factors: FloatArray) -> FloatArray:
        """½ E[log |Λ_k|] − D/2 log 2π, (n_topics,)."""
        log_determinants = wishart.expected_log_determinants(dof, factors)
        constants: FloatArray = 0.5 * (log_determinants - self.n_columns * LOG_TWO_PI)
        return constants

    def point_estimates(self, posterior: Posterior) -> Normals:
        """Mean zero and E[Λ_k⁻¹] = B_k / (ν_k − D − 1)."""
        dof, scale_matrices = posterior
        shrunk = dof - self.n_columns - 1.0
        return Normals(np.zeros((len(dof), self.n_columns)), scale_matrices / shrunk[:, None, None])
