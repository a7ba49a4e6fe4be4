"""Log densities of items under all topics, prepared once for each global step.

A full covariance enters as A_k, the inverse of a triangular factor, with A_kᵀA_k the precision.
|A_k (x − m_k)|² keeps float32 accurate: on 8×8 image patches it errs by a few 1e-5 nats. xᵀΛ_k x as
one product of quadratic features would take two thirds of the time, but err by a hundredth of a
nat. One matrix product serves all topics, in slices of rows, as A_k is zero above its diagonal.

Products of matrices in BLAS round the rows at the edge of a block differently from those within,
so the last bits of a row depend on its neighbours. That is harmless in training, where batches are
fixed. Inference uses ``steady`` scorers, which add in a fixed order and take about twice as long.
"""

from __future__ import annotations

from functools import lru_cache, partial
from typing import NamedTuple, Protocol, TypeVar

import numpy as np

from sparsetopics.base.batches import FloatArray, IntArray, Rows, Vectors
from sparsetopics.kernels import items as item_kernels
from sparsetopics.kernels.types import Float32Array
from sparsetopics.model.coordinates import LARGEST_SCORED, Coordinates
from sparsetopics.model.kd_tree import NodeRows

SLICE_COLUMNS = 16  # rows of A_k in one product: at 64 columns this saves a third of the work
PRODUCT_ENTRIES = 2**20  # entries of one product, which is squared while it is in the cache
FEWEST_ROWS = 64  # items in a product: with fewer, BLAS takes as long to pack the factors
V = TypeVar("V", bound=Rows)
V_contra = TypeVar("V_contra", bound=Rows, contravariant=True)


class Scorer(Protocol[V_contra]):
    """What the local step asks of a likelihood: a function, but no closure: models are pickled."""

    def __call__(self, values: V_contra, /) -> Float32Array | FloatArray:
        """log p(x | k) of each row and topic, or its expectation, (n_items, n_topics)."""


def steady(scorer: Scorer[V]) -> Scorer[V]:
    """A scorer whose result for an item does not depend on the other items.

    Its densities differ from those of ``scorer`` by rounding only.
    """
    # All other scorers use no BLAS and are steady as they are.
    if isinstance(scorer, TriangularScorer | SphereScorer):
        return scorer._replace(is_steady=True)
    return scorer


class TriangularScorer(NamedTuple):
    """constant_k − ½ |A_k (x − m_k)|² with triangular A_k."""

    slices: tuple[Float32Array, ...]  # of A: (columns up to here, rows here * n_topics)
    offsets: tuple[Float32Array, ...]  # A_k m_k, (rows here * n_topics,)
    constants: Float32Array  # (n_topics,)
    is_steady: bool = False

    def __call__(self, values: Vectors) -> Float32Array:
        """(n_items, n_topics), computed in blocks of items."""
        out = np.zeros((len(values), len(self.constants)), np.float32)
        widest = max(len(offsets) for offsets in self.offsets)
        n_rows = max(PRODUCT_ENTRIES // widest, FEWEST_ROWS)
        buffer = np.empty(min(n_rows, len(values)) * widest, np.float32)
        for low in range(0, len(values), n_rows):
            rows = np.asarray(values[low : low + n_rows], np.float32)
            for factors, offsets in zip(self.slices, self.offsets, strict=True):
                products = buffer[: len(rows) * len(offsets)].reshape(len(rows), -1)
                if self.is_steady:
                    item_kernels.multiply(rows, factors, products)
                else:
                    np.matmul(rows[:, : len(factors)], factors, out=products)
                item_kernels.add_squares(products, offsets, out[low : low + n_rows])
        out *= np.float32(-0.5)
        out += self.constants
        return out


class SphereScorer(NamedTuple):
    """constant_k − |x − m_k|² / 2σ², as one matrix product in float64.

    The square is expanded. In float32 that would lose spheres that are small compared with the
    distances between them.
    """

    directions: FloatArray  # (n_topics, n_columns)  m_k / σ²
    constants: FloatArray  # (n_topics,)  with −|m_k|² / 2σ²
    precision: float  # 1 / σ²
    is_steady: bool = False

    def __call__(self, values: Vectors) -> FloatArray:
        """(n_items, n_topics)."""
        away = values.astype(np.float64)
        out = np.empty((len(values), len(self.constants)))
        if self.is_steady:
            item_kernels.multiply(away, np.ascontiguousarray(self.directions.T), out)
        else:
            np.matmul(away, self.directions.T, out=out)
        out += self.constants
        out -= (0.5 * self.precision) * np.einsum("nd,nd->n", away, away)[:, None]
        return out


def student_log_densities(
    distances: TriangularScorer,  # −½ |A_k (x − m_k)|²
    degrees_of_freedom: FloatArray,  # (n_topics,)  n_k
    n_columns: int,  # D
    constants: FloatArray,  # (n_topics,)
    values: Vectors,
) -> FloatArray:
    """log t(x | n_k, m_k, S_k) = constant_k − ½ (n_k + D) log(1 + |A_k (x − m_k)|² / n_k)."""
    out = distances(values).astype(np.float64)
    np.log1p(out * (-2.0 / degrees_of_freedom), out=out)
    out *= -0.5 * (degrees_of_freedom + n_columns)
    out += constants
    return out


def column_student_log_densities(
    means: FloatArray,  # (n_topics, n_columns)
    scales: FloatArray,  # (n_topics, n_columns)  s
    shapes: FloatArray,  # (n_topics,)  a, half the degrees of freedom
    constants: FloatArray,  # (n_topics,)
    values: Vectors,
) -> FloatArray:
    """constant_k − (a_k + ½) Σ_d log(1 + s_kd (x_d − m_kd)²): Student-t in each column."""
    out = np.zeros((len(values), len(constants)))
    for d in range(values.shape[1]):
        out += np.log1p((values[:, d, None] - means[:, d]) ** 2 * scales[:, d])
    out *= -(shapes + 0.5)
    out += constants
    return out


def log_densities_of_columns(
    coordinates: Coordinates, standard: Scorer[Vectors], values: Vectors
) -> FloatArray:
    """Log densities of items in columns, from those in standard coordinates."""
    logs = standard(coordinates(values, LARGEST_SCORED))
    lost = coordinates.misfits(values) + coordinates.log_volume
    return np.subtract(logs, lost[:, None], dtype=np.float64)


def triangular_scorer(
    means: FloatArray,  # (n_topics, n_columns)
    factors: FloatArray,  # (n_topics, n_columns, n_columns)  lower Cholesky factors of covariances
    constants: FloatArray,  # (n_topics,)
) -> TriangularScorer:
    """constant_k − ½ (x − m_k)ᵀ (L_k L_kᵀ)⁻¹ (x − m_k)."""
    from scipy.linalg import lapack  # imported only for models with covariances

    n_columns = means.shape[1]
    inverses = np.stack([lapack.dtrtri(factor, lower=1)[0] for factor in factors])
    by_column = np.ascontiguousarray(inverses.transpose(2, 1, 0))  # columns of x, rows of A, topics
    offsets = np.einsum("edk,ke->dk", by_column, means, optimize=True)
    parts = [slice(low, low + SLICE_COLUMNS) for low in range(0, n_columns, SLICE_COLUMNS)]
    slices = [by_column[: part.stop, part].astype(np.float32) for part in parts]
    return TriangularScorer(
        tuple(factors.reshape(len(factors), -1) for factors in slices),
        tuple(offsets[part].astype(np.float32).ravel() for part in parts),
        constants.astype(np.float32),
    )


def diagonal_scorer(
    means: FloatArray,  # (n_topics, n_columns)
    precisions: FloatArray,  # (n_topics, n_columns)
    constants: FloatArray,  # (n_topics,)
) -> Scorer[Vectors]:
    """constant_k − ½ Σ_d precision_kd (x_d − m_kd)²."""
    return partial(
        _diagonal_log_densities,
        np.ascontiguousarray(means.T, np.float32),
        np.ascontiguousarray(np.sqrt(precisions).T, np.float32),
        constants.astype(np.float32),
    )


def _diagonal_log_densities(
    means: Float32Array, scales: Float32Array, constants: Float32Array, values: Vectors
) -> Float32Array:
    out = np.zeros((len(values), len(constants)), np.float32)
    item_kernels.add_scaled_squares(np.asarray(values, np.float32), means, scales, out)
    out *= np.float32(-0.5)
    out += constants
    return out


# --- nodes of a kd-tree ---------------------------------------------------------------------------
class NodeScorer(NamedTuple):
    """The mean of E[log p(x|φ_k)] over a node's items.

    E[log p(x|φ_k)] = E[η_k]ᵀ t(x) − E[a(η_k)], where t(x) holds the numbers of x and their
    products. So the mean follows from the means of t(x) alone (VDP06, eq. 16).
    """

    linear: FloatArray  # (n_columns, n_topics)
    products: FloatArray  # (n_products, n_topics)
    constants: FloatArray  # (n_topics,)

    def take(self, topics: slice) -> NodeScorer:
        return NodeScorer(*(values[..., topics] for values in self))

    def __call__(self, values: NodeRows) -> FloatArray:
        """(n_nodes, n_topics)."""
        logs: FloatArray = values.means @ self.linear
        logs += values.mean_products @ self.products
        logs += self.constants
        return logs


def node_scorer(
    linear: FloatArray,  # (n_topics, n_columns)  of x
    quadratic: FloatArray,  # (n_topics, n_columns, n_columns)  of x xᵀ; or (.., n_columns)
    constants: FloatArray,  # (n_topics,)
) -> NodeScorer:
    if quadratic.ndim == 3:  # packed for d ≤ e: products off the diagonal count twice
        rows, columns = _upper_triangle(quadratic.shape[1])
        quadratic = quadratic[:, rows, columns] * np.where(rows == columns, 1.0, 2.0)
    return NodeScorer(linear.T.copy(), quadratic.T.copy(), constants)


def unpacked(products: FloatArray, n_columns: int) -> FloatArray:
    """Symmetric matrices from sums of x_d x_e for d ≤ e, (.., n_columns, n_columns)."""
    rows, columns = _upper_triangle(n_columns)
    matrices = np.empty((len(products), n_columns, n_columns))
    matrices[:, rows, columns] = matrices[:, columns, rows] = products
    return matrices


@lru_cache(maxsize=4)  # growth fits many small mixtures with the same number of columns
def _upper_triangle(n_columns: int) -> tuple[IntArray, IntArray]:
    return np.triu_indices(n_columns)
