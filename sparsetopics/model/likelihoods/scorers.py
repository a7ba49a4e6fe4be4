"""Log densities of items under all topics, made ready once per global step.

A full covariance enters by the inverse of a triangular factor, A_k with A_kᵀA_k the precision.
|A_k (x − m_k)|² keeps float32 accurate; xᵀΛ_k x as one product of quadratic features would take
two thirds of the time, but on 8×8 image patches its errors are near a hundredth of a nat, not a
few 1e-5. One GEMM serves all topics, in slices of rows, as A_k is zero above its diagonal.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol, TypeVar

import numpy as np

from sparsetopics.base.batches import FloatArray, Rows, Vectors
from sparsetopics.kernels import items as item_kernels
from sparsetopics.kernels.types import Float32Array

SLICE_COLUMNS = 16  # rows of A_k in one GEMM: a third less to multiply at 64 columns
PRODUCT_ENTRIES = 2**20  # of one GEMM's result, to be squared while it is in the cache
FEWEST_ROWS = 64  # of items in a GEMM: with fewer, packing the factors costs as much


V_contra = TypeVar("V_contra", bound=Rows, contravariant=True)


class Scorer(Protocol[V_contra]):
    """What the local step asks of a likelihood."""

    def log_densities(self, values: V_contra) -> Float32Array | FloatArray:
        """(n_items, n_topics) of rows of vectors, or of documents."""
        ...


class TriangularScorer(NamedTuple):
    """constant_k − ½ |A_k (x − o − m_k)|² with triangular A_k."""

    origin: Float32Array  # (n_columns,)  taken from x first, against cancellation
    slices: tuple[Float32Array, ...]  # of A: (columns up to here, rows here * n_topics)
    offsets: tuple[Float32Array, ...]  # A_k m_k, (rows here * n_topics,)
    constants: Float32Array  # (n_topics,)

    def log_densities(self, values: Vectors) -> Float32Array:
        """(n_items, n_topics), in blocks of items."""
        n_topics = len(self.constants)
        out = np.zeros((len(values), n_topics), np.float32)
        widest = max(len(offsets) for offsets in self.offsets)
        n_rows = max(PRODUCT_ENTRIES // widest, FEWEST_ROWS)
        buffer = np.empty(min(n_rows, len(values)) * widest, np.float32)
        for low in range(0, len(values), n_rows):
            self._add_squares(values[low : low + n_rows], buffer, out[low : low + n_rows])
        out *= np.float32(-0.5)
        out += self.constants
        return out

    def _add_squares(self, values: Vectors, buffer: Float32Array, out: Float32Array) -> None:
        values = values - self.origin
        for factors, offsets in zip(self.slices, self.offsets, strict=True):
            products = buffer[: len(values) * len(offsets)].reshape(len(values), -1)
            np.matmul(values[:, : len(factors)], factors, out=products)
            item_kernels.add_squares(products, offsets, out)


class DiagonalScorer(NamedTuple):
    """constant_k − ½ Σ_d (scale_kd (x_d − o_d − m_kd))²."""

    origin: Float32Array  # (n_columns,)  taken from x first
    means: Float32Array  # (n_columns, n_topics)  from the origin
    scales: Float32Array  # (n_columns, n_topics)
    constants: Float32Array  # (n_topics,)

    def log_densities(self, values: Vectors) -> Float32Array:
        """(n_items, n_topics)."""
        out = np.zeros((len(values), len(self.constants)), np.float32)
        item_kernels.add_scaled_squares(values - self.origin, self.means, self.scales, out)
        out *= np.float32(-0.5)
        out += self.constants
        return out


class SphereScorer(NamedTuple):
    """constant_k − |x − o − m_k|² / 2σ², by one product of matrices in float64.

    The square is taken apart, which in float32 would lose spheres that are small against the
    distances between them.
    """

    origin: Float32Array  # (n_columns,)  taken from x first
    directions: FloatArray  # (n_topics, n_columns)  (m_k − o) / σ²
    constants: FloatArray  # (n_topics,)  with −|m_k − o|² / 2σ²
    precision: float  # 1 / σ²

    @classmethod
    def of(
        cls,
        origin: FloatArray,  # (n_columns,)
        means: FloatArray,  # (n_topics, n_columns)  from the origin
        variance: float,
        constants: FloatArray,  # (n_topics,)
    ) -> SphereScorer:
        squares = np.einsum("kd,kd->k", means, means)
        constants = constants - 0.5 * squares / variance
        return cls(origin.astype(np.float32), means / variance, constants, 1.0 / variance)

    def log_densities(self, values: Vectors) -> FloatArray:
        """(n_items, n_topics)."""
        away = (values - self.origin).astype(np.float64)
        out: FloatArray = away @ self.directions.T
        out += self.constants
        out -= (0.5 * self.precision) * np.einsum("nd,nd->n", away, away)[:, None]
        return out


def triangular_scorer(
    origin: FloatArray,  # (n_columns,)
    means: FloatArray,  # (n_topics, n_columns)  from the origin
    factors: FloatArray,  # (n_topics, n_columns, n_columns)  lower Cholesky factors of covariances
    constants: FloatArray,  # (n_topics,)
) -> TriangularScorer:
    """constant_k − ½ (x − o − m_k)ᵀ (L_k L_kᵀ)⁻¹ (x − o − m_k)."""
    from scipy.linalg import lapack  # imported only for models with covariances

    n_columns = means.shape[1]
    inverses = np.stack([lapack.dtrtri(factor, lower=1)[0] for factor in factors])
    by_column = np.ascontiguousarray(inverses.transpose(2, 1, 0))  # columns of x, rows of A, topics
    offsets = np.einsum("edk,ke->dk", by_column, means, optimize=True)
    parts = [slice(low, low + SLICE_COLUMNS) for low in range(0, n_columns, SLICE_COLUMNS)]
    slices = [by_column[: part.stop, part].astype(np.float32) for part in parts]
    return TriangularScorer(
        origin.astype(np.float32),
        tuple(factors.reshape(len(factors), -1) for factors in slices),
        tuple(offsets[part].astype(np.float32).ravel() for part in parts),
        constants.astype(np.float32),
    )


def diagonal_scorer(
    origin: FloatArray,  # (n_columns,)
    means: FloatArray,  # (n_topics, n_columns)  from the origin
    precisions: FloatArray,  # (n_topics, n_columns)
    constants: FloatArray,  # (n_topics,)
) -> DiagonalScorer:
    """constant_k − ½ Σ_d precision_kd (x_d − o_d − m_kd)²."""
    return DiagonalScorer(
        origin.astype(np.float32),
        np.ascontiguousarray(means.T, np.float32),
        np.ascontiguousarray(np.sqrt(precisions).T, np.float32),
        constants.astype(np.float32),
    )
