"""What full covariances share: Λ_k ~ W(ν_k, B_k⁻¹), E[Λ] = ν B⁻¹ (Bishop, PRML, B.78).

B grows with the data, B_k = B + Σ r x xᵀ; E[Λ⁻¹] = B / (ν − D − 1).
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln, psi

from sparsetopics.base.batches import FloatArray
from sparsetopics.base.errors import OptionError


def log_normalizers(degrees_of_freedom: FloatArray, scale_matrices: FloatArray) -> FloatArray:
    """log ∫ |Λ|^((ν−D−1)/2) exp(−½ tr BΛ) dΛ, (n_topics,).

    That is νD/2 log 2 + lnΓ_D(ν/2) − ν/2 log |B|.
    """
    n_columns = scale_matrices.shape[-1]
    half = 0.5 * degrees_of_freedom
    halves = half[:, None] - 0.5 * np.arange(n_columns)
    log_gammas = gammaln(halves).sum(axis=1) + n_columns * (n_columns - 1) / 4.0 * np.log(np.pi)
    logs: FloatArray = log_gammas + half * (
        n_columns * np.log(2.0) - log_determinants(cholesky(scale_matrices))
    )
    return logs


def cholesky(matrices: FloatArray) -> FloatArray:
    """Lower factors L with L Lᵀ the symmetric matrices; OptionError where one is not definite."""
    try:
        return np.linalg.cholesky(matrices).astype(np.float64, copy=False)
    except np.linalg.LinAlgError:
        raise OptionError(
            "scale matrix", found="one that is singular or indefinite",
            wanted="a positive definite matrix",
            hint="Take a prior of uncorrelated columns, and scale columns of very large values.",
        ) from None  # fmt: skip


def log_determinants(factors: FloatArray) -> FloatArray:
    """log |L Lᵀ| of Cholesky factors, (n_topics,)."""
    logs: FloatArray = 2.0 * np.log(np.diagonal(factors, axis1=-2, axis2=-1)).sum(axis=-1)
    return logs


def expected_log_determinants(degrees_of_freedom: FloatArray, factors: FloatArray) -> FloatArray:
    """E[log |Λ_k|] from ν_k and the Cholesky factors of B_k, (n_topics,)."""
    n_columns = factors.shape[-1]
    halves = 0.5 * (degrees_of_freedom[:, None] - np.arange(n_columns))
    expected: FloatArray = (
        psi(halves).sum(axis=1) + n_columns * np.log(2.0) - log_determinants(factors)
    )
    return expected
