"""Gaussians of full covariance: Λ_k ~ W(ν_k, B_k⁻¹), E[Λ_k] = ν_k B_k⁻¹ (Bishop, PRML, B.78).

B grows with the data, B_k = B + Σ r x xᵀ; E[Λ⁻¹] = B / (ν − D − 1).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln, psi

from sparsetopics.base.batches import FloatArray, Vectors
from sparsetopics.base.errors import OptionError
from sparsetopics.model.likelihoods.moments import Moments
from sparsetopics.model.likelihoods.normals import (
    LOG_TWO_PI,
    Normals,
    cholesky_factors,
    log_determinants,
)
from sparsetopics.model.likelihoods.scorers import TriangularScorer, triangular_scorer
from sparsetopics.model.likelihoods.vector_likelihood import VectorLikelihood, scatter_of


@dataclass(frozen=True, slots=True, eq=False)
class WishartLikelihood(VectorLikelihood):
    """The prior of the precisions, W(ν, B⁻¹).

    Raises ``OptionError`` unless ν > D + 1 and B is symmetric and positive definite.
    """

    degrees_of_freedom: float  # ν
    scale_matrix: FloatArray  # (n_columns, n_columns)  B

    def __post_init__(self) -> None:
        dof, n_columns = self.degrees_of_freedom, self.n_columns
        if not dof > n_columns + 1:  # or the prior would have no expected covariance
            raise OptionError(
                "degrees of freedom", found=f"{dof:g}",
                wanted=f"more than {n_columns + 1}, the columns and one",
                hint=f"The usual choice is {n_columns + 2}.",
            )  # fmt: skip
        matrix = self.scale_matrix
        if matrix.shape != (n_columns, n_columns) or not np.array_equal(matrix, matrix.T):
            raise OptionError("scale matrix", found="another", wanted="a symmetric square matrix")
        cholesky_factors(matrix)

    @property
    def n_columns(self) -> int:
        return len(self.scale_matrix)

    def _expected(
        self, moments: Moments, scatter: FloatArray, dof: FloatArray, scale_matrices: FloatArray,
        blur: FloatArray | float,
    ) -> FloatArray:  # fmt: skip
        """Σ_n r_nk E[log p(x_n|φ_k)] of items whose scatter about m_k is given, (n_topics,)."""
        traces = np.trace(np.linalg.solve(scale_matrices, scatter), axis1=1, axis2=2)
        constants = self._constants(dof, cholesky_factors(scale_matrices), blur)
        expected: FloatArray = moments.counts * constants - 0.5 * dof * traces
        return expected

    def _scorer(
        self, origin: FloatArray, means: FloatArray, dof: FloatArray, scale_matrices: FloatArray,
        blur: FloatArray | float,
    ) -> TriangularScorer:  # fmt: skip
        """E[log p(x|φ_k)] for ``means`` measured from ``origin``."""
        factors = cholesky_factors(scale_matrices)
        constants = self._constants(dof, factors, blur)
        factors /= np.sqrt(dof)[:, None, None]
        return triangular_scorer(origin, means, factors, constants)

    def _constants(
        self, dof: FloatArray, factors: FloatArray, blur: FloatArray | float
    ) -> FloatArray:
        """½ (E[log |Λ_k|] − D/κ_k − D log 2π), (n_topics,).

        ``factors`` are Cholesky factors of B_k. ``blur`` is D/κ_k, which the uncertainty of the
        mean costs: 0 where the mean is known.
        """
        log_precisions = _expected_log_determinants(dof, factors)
        return 0.5 * (log_precisions - blur - self.n_columns * LOG_TWO_PI)

    def _normals(self, means: FloatArray, dof: FloatArray, scale_matrices: FloatArray) -> Normals:
        """Means, and covariances E[Λ_k⁻¹] = B_k / (ν_k − D − 1)."""
        shrunk = dof - self.n_columns - 1.0
        return Normals(means, scale_matrices / shrunk[:, None, None])


def scale_from_data(
    values: Vectors,
    centre: FloatArray,  # (n_columns,)
    scale: float,
    degrees_of_freedom: float | None,
    diagonal: bool,
) -> tuple[float, FloatArray]:
    """ν, D + 2 by default, and B with an expected covariance of ``scale`` times the sample's."""
    n_columns = values.shape[1]
    dof = n_columns + 2.0 if degrees_of_freedom is None else degrees_of_freedom
    return dof, (dof - n_columns - 1.0) * scale * scatter_of(values, centre, diagonal)


def log_normalizers(degrees_of_freedom: FloatArray, scale_matrices: FloatArray) -> FloatArray:
    """log ∫ |Λ|^((ν−D−1)/2) exp(−½ tr BΛ) dΛ, (n_topics,).

    That is νD/2 log 2 + lnΓ_D(ν/2) − ν/2 log |B|.
    """
    n_columns = scale_matrices.shape[-1]
    half = 0.5 * degrees_of_freedom
    halves = half[:, None] - 0.5 * np.arange(n_columns)
    log_gammas = gammaln(halves).sum(axis=1) + n_columns * (n_columns - 1) / 4.0 * np.log(np.pi)
    logs: FloatArray = log_gammas + half * (
        n_columns * np.log(2.0) - log_determinants(cholesky_factors(scale_matrices))
    )
    return logs


def _expected_log_determinants(degrees_of_freedom: FloatArray, factors: FloatArray) -> FloatArray:
    """E[log |Λ_k|] from ν_k and the Cholesky factors of B_k, (n_topics,)."""
    n_columns = factors.shape[-1]
    halves = 0.5 * (degrees_of_freedom[:, None] - np.arange(n_columns))
    expected: FloatArray = (
        psi(halves).sum(axis=1) + n_columns * np.log(2.0) - log_determinants(factors)
    )
    return expected
