"""Gaussians of full covariance, of any mean or of mean zero.

Precisions are Λ_k ~ W(ν_k, B_k⁻¹) with ν_k = ν + N_k, so E[Λ_k] = ν_k B_k⁻¹ (Bishop, PRML, B.78)
and E[Λ_k⁻¹] = B_k / (ν_k − D − 1).

Of any mean: μ_k ~ N(0, (κΛ_k)⁻¹), x ~ N(μ_k, Λ_k⁻¹), where x are standard coordinates. κ_k = κ +
N_k, m_k = Σ r x / κ_k, B_k = B + Σ r x xᵀ − κ_k m_k m_kᵀ (§10.2 there; Murphy 2007, §8). If items
far away from zero were not measured from a point among them, the difference in B_k would lose
digits, and the ELBO would no longer rise in every step.

Of mean zero: x ~ N(0, Λ_k⁻¹), B_k = B + Σ r x xᵀ (SPARSE16, App. B.1).

The next item of a component is Student-t: with n = ν_k − D + 1 degrees of freedom, location m_k and
scale matrix B_k (1 + 1/κ_k) / n (Murphy 2007, eq. 258).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple, Self

import numpy as np
from scipy.special import gammaln, psi

from sparsetopics.base.batches import Batch, FloatArray, Source, Vectors
from sparsetopics.base.errors import OptionError, ShapeError
from sparsetopics.base.showing import short_repr
from sparsetopics.model.array_formats import COMPONENTS, MATRICES, MATRIX, MEANS, StoredAs
from sparsetopics.model.coordinates import Coordinates, usual_items
from sparsetopics.model.likelihoods import normals, scorers
from sparsetopics.model.likelihoods.likelihood import Posterior
from sparsetopics.model.likelihoods.moments import Moments, outer_products
from sparsetopics.model.likelihoods.normals import LOG_TWO_PI, Normals
from sparsetopics.model.likelihoods.vector_likelihood import (
    MEAN_PRECISION,
    VectorLikelihood,
    check_mean_precision,
    coordinates_of,
)
from sparsetopics.options.training import TrainingOptions

WIDTH = 1e-3  # s^ν, where s is the expected covariance of a component in that of most items


class NormalWishartPosterior(NamedTuple):
    """q(Λ_k) = W(ν_k, B_k⁻¹), q(μ_k|Λ_k) = N(m_k, (κ_k Λ_k)⁻¹)."""

    degrees_of_freedom: FloatArray  # (n_topics,)  ν_k
    scale_matrices: FloatArray  # (n_topics, n_columns, n_columns)  B_k
    means: FloatArray  # (n_topics, n_columns)  m_k
    mean_precisions: FloatArray  # (n_topics,)  κ_k

    def __repr__(self) -> str:
        return short_repr(self, "degrees_of_freedom", "scale_matrices", "means", "mean_precisions")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class WishartLikelihood(VectorLikelihood):
    """The prior of the precisions, W(ν, B⁻¹).

    Raises ``OptionError`` unless ν > D + 1 and B is symmetric and positive definite.
    """

    degrees_of_freedom: float  # ν
    scale_matrix: FloatArray  # (n_columns, n_columns)  B
    coordinates: Coordinates

    def __post_init__(self) -> None:
        dof, n_columns = self.degrees_of_freedom, self.n_columns
        if not dof > n_columns + 1:  # or the prior would have no expected covariance
            problem = f"must be more than {n_columns + 1}, the columns plus one, but is {dof:g}"
            hint = f"The usual choice is {n_columns + 2}."
            raise OptionError("degrees of freedom", problem, hint)
        matrix = self.scale_matrix
        if matrix.shape != (n_columns, n_columns) or not np.array_equal(matrix, matrix.T):
            raise OptionError("scale matrix", "must be square and symmetric")
        normals.cholesky_factors(matrix)

    @classmethod
    def in_coordinates(cls, coordinates: Coordinates) -> Self:
        """ν = D + 2, and B = s I, which is then also the expected covariance.

        In a few columns, clusters are much smaller than the whole; among many columns, they are as
        wide as the whole in most directions. With s^ν = ``WIDTH``, each column changes the evidence
        of a component by the same number of nats, however many columns there are.
        """
        dof = coordinates.n_axes + 2.0
        return cls(dof, WIDTH ** (1.0 / dof) * np.eye(coordinates.n_axes), coordinates)

    @classmethod
    def for_training(cls, sample: Vectors, source: Source[Batch], options: TrainingOptions) -> Self:
        """``in_coordinates`` of the source; ShapeError if there are fewer items than columns."""
        n_columns = coordinates_of(source).n_columns
        if source.n_docs < n_columns:
            problem = f"expected at least {n_columns:,}, as many as columns, but found"
            hint = "Take --likelihood diagonal-gaussian."
            raise ShapeError("items", f"{problem} {source.n_docs:,}", hint)
        return cls.in_coordinates(coordinates_of(source))

    def seeding(self, components: Moments | None = None) -> Self:
        """Distances are those within components, which show what noise is, or of scaled columns.

        Along standard axes, clusters are no farther apart than items are in any other direction.
        """
        if components is None or components.n_topics == 1:
            variances = self.coordinates.covariance_of_columns
        else:
            covariances = self.standard_normals(self.posterior(components)).covariances
            variances = np.tensordot(components.counts, covariances, 1)
        share = self.scale_matrix.trace() / variances.trace()
        return replace(self, scale_matrix=0.5 * share * (variances + variances.T))

    def _with_means(self, moments: Moments) -> NormalWishartPosterior:
        """The posterior; where means are known, m_k is 0 and κ_k is ∞."""
        return NormalWishartPosterior(*self.posterior(moments))

    def expected_log_evidence(self, batch: Moments, components: Moments) -> float:
        posterior = self._with_means(components)
        dof, scale_matrices, means, _ = posterior
        products = np.linalg.solve(scale_matrices, batch.scatter(means))
        traces = np.trace(products, axis1=1, axis2=2)
        constants = self._constants(posterior, normals.cholesky_factors(scale_matrices))
        return float((batch.counts * constants - 0.5 * dof * traces).sum())

    def prepare(self, moments: Moments) -> scorers.TriangularScorer:
        posterior = self._with_means(moments)
        factors = normals.cholesky_factors(posterior.scale_matrices)
        constants = self._constants(posterior, factors)
        factors /= np.sqrt(posterior.degrees_of_freedom)[:, None, None]
        return scorers.triangular_scorer(posterior.means, factors, constants)

    def predictive(self, components: Moments) -> scorers.Scorer[Vectors]:
        dof, scale_matrices, means, mean_precisions = self._with_means(components)
        free, n_columns = dof - self.n_columns + 1.0, self.n_columns
        scales = (1.0 + 1.0 / mean_precisions) / free
        factors = normals.cholesky_factors(scale_matrices) * np.sqrt(scales)[:, None, None]
        constants = gammaln(0.5 * (free + n_columns)) - gammaln(0.5 * free)
        constants -= 0.5 * (n_columns * np.log(np.pi * free) + normals.log_determinants(factors))
        distances = scorers.triangular_scorer(means, factors, np.zeros(len(means)))
        distances = distances._replace(is_steady=True)
        return partial(scorers.student_log_densities, distances, free, n_columns, constants)

    def prepare_nodes(self, moments: Moments) -> scorers.NodeScorer:
        posterior = self._with_means(moments)
        dof, scale_matrices, means, _ = posterior
        constants = self._constants(posterior, normals.cholesky_factors(scale_matrices))
        precisions = dof[:, None, None] * np.linalg.inv(scale_matrices)
        linear = np.einsum("kde,ke->kd", precisions, means)
        constants -= 0.5 * np.einsum("kd,kd->k", linear, means)
        return scorers.node_scorer(linear, -0.5 * precisions, constants)

    def _constants(self, posterior: NormalWishartPosterior, factors: FloatArray) -> FloatArray:
        """½ (E[log |Λ_k|] − D/κ_k − D log 2π), (n_topics,), for Cholesky factors of B_k.

        E[log |Λ_k|] = Σ_d ψ((ν_k − d) / 2) + D log 2 − log |B_k|, with d from 0.
        """
        n_columns = self.n_columns
        halves = 0.5 * (posterior.degrees_of_freedom[:, None] - np.arange(n_columns))
        log_precisions = psi(halves).sum(axis=1) + n_columns * np.log(2.0)
        log_precisions -= normals.log_determinants(factors)
        blur = n_columns / posterior.mean_precisions  # what the uncertainty of the mean costs
        constants: FloatArray = 0.5 * (log_precisions - blur - n_columns * LOG_TWO_PI)
        return constants

    def standard_normals(self, posterior: Posterior) -> Normals:
        """Means m_k, or zero if they are known, and covariances E[Λ_k⁻¹] = B_k / (ν_k − D − 1)."""
        dof, scale_matrices, *of_means = posterior
        means = of_means[0] if of_means else np.zeros((len(dof), self.n_columns))
        return Normals(means, scale_matrices / (dof - self.n_columns - 1.0)[:, None, None])


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Gaussian(WishartLikelihood):
    """The Normal-Wishart prior.

    Raises ``OptionError`` as ``WishartLikelihood`` does, and unless κ > 0.
    """

    mean_precision: float = MEAN_PRECISION  # κ; by default, it leaves means free

    stored = StoredAs(
        NormalWishartPosterior,
        (COMPONENTS, MATRICES, MEANS, COMPONENTS),
        {"scale_matrix": MATRIX},
        ("degrees_of_freedom", "mean_precision"),
    )

    def __post_init__(self) -> None:
        # Not super(): a dataclass with slots is another class than the one that was defined here.
        WishartLikelihood.__post_init__(self)
        check_mean_precision(self.mean_precision)

    @classmethod
    def coordinates_for(cls, values: FloatArray) -> Coordinates:
        """Axes along which most items are uncorrelated."""
        return usual_items(values)[1].in_one_unit()

    def zeros(self, n_topics: int) -> Moments:
        return Moments.zeros(n_topics, self.n_columns, in_pairs=True)

    def posterior(self, moments: Moments) -> NormalWishartPosterior:
        mean_precisions = self.mean_precision + moments.counts
        means = moments.sums / mean_precisions[:, None]
        scale_matrices = self.scale_matrix + moments.squares
        scale_matrices -= mean_precisions[:, None, None] * outer_products(means)
        return NormalWishartPosterior(
            self.degrees_of_freedom + moments.counts, scale_matrices, means, mean_precisions
        )

    def components_of(self, posterior: Posterior) -> Moments:
        dof, scale_matrices, means, mean_precisions = posterior
        squares = scale_matrices - self.scale_matrix
        squares += mean_precisions[:, None, None] * outer_products(means)
        return Moments(dof - self.degrees_of_freedom, mean_precisions[:, None] * means, squares)

    def log_evidence(self, moments: Moments) -> FloatArray:
        """−ND/2 log 2π + D/2 log(κ/κ_k) + log Z(ν_k, B_k) − log Z(ν, B), (n_topics,)."""
        dof, scale_matrices, _, mean_precisions = self._with_means(moments)
        log_ratios = np.log(self.mean_precision / mean_precisions)
        return (
            log_normalizers(dof, scale_matrices)
            - log_normalizers(*self._with_means(self.zeros(1))[:2])
            + 0.5 * self.n_columns * (log_ratios - LOG_TWO_PI * moments.counts)
        )


class WishartPosterior(NamedTuple):
    """q(Λ_k) = W(ν_k, B_k⁻¹)."""

    degrees_of_freedom: FloatArray  # (n_topics,)  ν_k
    scale_matrices: FloatArray  # (n_topics, n_columns, n_columns)  B_k

    def __repr__(self) -> str:
        return short_repr(self, "degrees_of_freedom", "scale_matrices")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ZeroMeanGaussian(WishartLikelihood):
    """The prior W(ν, B⁻¹), as in ``WishartLikelihood``."""

    stored = StoredAs(
        WishartPosterior, (COMPONENTS, MATRICES), {"scale_matrix": MATRIX}, ("degrees_of_freedom",)
    )

    @classmethod
    def coordinates_for(cls, values: FloatArray) -> Coordinates:
        """Axes along which most items are uncorrelated about zero."""
        return usual_items(values, has_mean=False)[1].in_one_unit()

    def zeros(self, n_topics: int) -> Moments:
        return Moments.zeros(n_topics, self.n_columns, in_pairs=True, with_sums=False)

    def posterior(self, moments: Moments) -> WishartPosterior:
        return WishartPosterior(
            self.degrees_of_freedom + moments.counts, self.scale_matrix + moments.squares
        )

    def _with_means(self, moments: Moments) -> NormalWishartPosterior:
        dof, scale_matrices = self.posterior(moments)
        means, certain = np.zeros((len(dof), self.n_columns)), np.full(len(dof), np.inf)
        return NormalWishartPosterior(dof, scale_matrices, means, certain)

    def components_of(self, posterior: Posterior) -> Moments:
        dof, scale_matrices = posterior
        squares = scale_matrices - self.scale_matrix
        return Moments(dof - self.degrees_of_freedom, np.zeros((len(dof), 0)), squares)

    def log_evidence(self, moments: Moments) -> FloatArray:
        """−ND/2 log 2π + log Z(ν_k, B_k) − log Z(ν, B), (n_topics,)."""
        return (
            log_normalizers(*self.posterior(moments))
            - log_normalizers(*self.posterior(self.zeros(1)))
            - 0.5 * self.n_columns * LOG_TWO_PI * moments.counts
        )


def log_normalizers(degrees_of_freedom: FloatArray, scale_matrices: FloatArray) -> FloatArray:
    """log ∫ |Λ|^((ν−D−1)/2) exp(−½ tr BΛ) dΛ, (n_topics,).

    That is νD/2 log 2 + lnΓ_D(ν/2) − ν/2 log |B|.
    """
    n_columns = scale_matrices.shape[-1]
    half = 0.5 * degrees_of_freedom
    halves = half[:, None] - 0.5 * np.arange(n_columns)
    log_gammas = gammaln(halves).sum(axis=1) + n_columns * (n_columns - 1) / 4.0 * np.log(np.pi)
    logs: FloatArray = log_gammas + half * (
        n_columns * np.log(2.0) - normals.log_determinants(normals.cholesky_factors(scale_matrices))
    )
    return logs
