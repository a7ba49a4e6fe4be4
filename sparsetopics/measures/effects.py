"""Least squares of documents' proportions on columns of a design, with errors.

The estimates y_d of ``measures.prevalence`` have no bias, whatever the proportions of a document
are. So if E[π_d | x_d] = βᵀ x_d, least squares of y on x have no bias either, and their residuals
hold both how documents differ and what words leave uncertain. A contrast cᵀβ is Σ_d a_d y_d, with
a_d = cᵀ (XᵀX)⁻¹ x_d. Its variance,

    Σ_d a_d² e_d²/(1 − h_d)²,    h_d = x_dᵀ (XᵀX)⁻¹ x_d,

does not assume that errors are alike in all documents (HC3 of MacKinnon & White 1985). The third
powers give its skewness, which counts where few documents have most of a topic.

Documents are read twice, once for β and once for the residuals. Like all tables of prevalence,
these have the same bits on every processor, so that there is no BLAS.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from operator import add
from typing import NamedTuple, TypeVar

import numpy as np

from sparsetopics.base.batches import DocumentBatch, FloatArray
from sparsetopics.kernels.items import multiply
from sparsetopics.measures.estimates import Estimates
from sparsetopics.measures.prevalence import document_estimates, inverse, word_shares

ALONE = 1.0 - 1e-9  # leverage of a document that a coefficient of its own fits
ROWS = 1_000  # of products of columns, which are made at once

T = TypeVar("T", bound=tuple[FloatArray | int, ...])


class Products(NamedTuple):
    """Sums over documents that have words and values."""

    n_documents: int
    of_columns: FloatArray  # (n_columns, n_columns)  XᵀX
    with_topics: FloatArray  # (n_columns, n_topics)  Xᵀy


class Spread(NamedTuple):
    """Sums over documents of a power of a times one of e/(1 − h), for each contrast."""

    squares: FloatArray  # (n_contrasts, n_topics)  Σ a² e²/(1 − h)²
    cubes: FloatArray  # (n_contrasts, n_topics)
    is_unknown: FloatArray  # (n_contrasts,)  above zero if a document alone decides


def sum_products(
    batch: DocumentBatch, design: FloatArray, projection: FloatArray, workers: int = 1
) -> Products:
    """Sum the products of columns, (n_docs, n_columns), and topics; rows with NaN are left out."""
    known, estimates = _known(batch, design, projection, workers)
    return Products(len(known), product(known, known), product(known, estimates))


def fit(products: Products) -> tuple[FloatArray, FloatArray]:
    """Return β, (n_columns, n_topics), and (XᵀX)⁻¹, (n_columns, n_columns).

    Raises LinAlgError with the number of a column that others determine.
    """
    sizes = np.sqrt(np.diagonal(products.of_columns))
    sizes = np.where(sizes > 0.0, sizes, 1.0)
    scaled = products.of_columns / np.outer(sizes, sizes)
    inverted = inverse(scaled) / np.outer(sizes, sizes)
    return product(inverted, products.with_topics), inverted


def sum_spread(
    batch: DocumentBatch,
    design: FloatArray,
    projection: FloatArray,
    coefficients: FloatArray,  # (n_columns, n_topics)
    inverted: FloatArray,  # (n_columns, n_columns)
    contrasts: FloatArray,  # (n_contrasts, n_columns)
    workers: int = 1,
) -> Spread:
    """Sum what residuals say about the errors of contrasts."""
    known, estimates = _known(batch, design, projection, workers)
    residuals = estimates - product(known.T, coefficients)
    solved = product(known.T, inverted)
    leverage = np.einsum("dp,dp->d", solved, known)
    is_alone = leverage > ALONE
    residuals[~is_alone] /= 1.0 - leverage[~is_alone, None]
    residuals[is_alone] = 0.0
    shape = len(contrasts), projection.shape[1]
    least = (1.0 - ALONE) * np.sqrt(np.einsum("cp,pq,cq->c", contrasts, inverted, contrasts))
    sums = Spread(np.zeros(shape), np.zeros(shape), np.zeros(len(contrasts)))
    for first in range(0, len(known), ROWS):
        some = slice(first, first + ROWS)
        parts, left = product(solved[some].T, contrasts.T), residuals[some]
        sums.squares[:] += product(parts * parts, left * left)
        sums.cubes[:] += product(parts * parts * parts, left * left * left)
        sums.is_unknown[:] += (np.abs(parts[is_alone[some]]) > least).sum(axis=0)
    return sums


def estimates_of(
    contrasts: FloatArray, coefficients: FloatArray, n_documents: int, spread: Spread
) -> Estimates:
    """Return what ``contrasts``, (n_contrasts, n_columns), times β are, with errors.

    Errors are NaN where a document alone decides. Degrees of freedom are documents less columns.
    """
    value = product(contrasts.T, coefficients)
    error = np.sqrt(spread.squares)
    error[spread.is_unknown > 0.0] = np.nan
    with np.errstate(divide="ignore", invalid="ignore"):
        skewness = np.nan_to_num(spread.cubes / (error * error * error))
    freedom = np.full(value.shape, n_documents - contrasts.shape[1], np.float64)
    return Estimates(value, error, skewness, freedom)


def added(sums: Iterable[T]) -> T:
    """Add named tuples of sums, one after the other, field by field."""
    return reduce(lambda total, own: type(total)(*map(add, total, own)), sums)


def product(left: FloatArray, right: FloatArray) -> FloatArray:
    """leftᵀ right of two matrices with as many rows, added in the order of the rows."""
    out = np.empty((left.shape[1], right.shape[1]))
    multiply(np.ascontiguousarray(left.T), np.ascontiguousarray(right), out)
    return out


def _known(
    batch: DocumentBatch, design: FloatArray, projection: FloatArray, workers: int
) -> tuple[FloatArray, FloatArray]:
    """The rows of the design and the estimates of documents that have words and values."""
    shares, sizes = word_shares(batch, len(projection))
    known = (sizes > 0.0) & ~np.isnan(design).any(axis=1)
    return design[known], document_estimates(shares, projection, workers)[known]
