"""What priors must keep to, and the spread of a sample that they are made from."""

from __future__ import annotations

import numpy as np

from sparsetopics.base.batches import FloatArray, Vectors
from sparsetopics.base.errors import OptionError, ShapeError
from sparsetopics.model.likelihoods import wishart

NARROWEST, WIDEST = 1e-30, 1e38  # column: scaled by its width an item must stay within float32


def check_wishart(degrees_of_freedom: float, scale_matrix: FloatArray) -> None:
    """Refuse a prior without an expected covariance."""
    n_columns = len(scale_matrix)
    if not degrees_of_freedom > n_columns + 1:
        raise OptionError(
            "degrees of freedom", found=f"{degrees_of_freedom:g}",
            wanted=f"more than {n_columns + 1}, the columns and one",
            hint=f"The usual choice is {n_columns + 2}.",
        )  # fmt: skip
    if scale_matrix.shape != (n_columns, n_columns) or not np.array_equal(
        scale_matrix, scale_matrix.T
    ):
        raise OptionError("scale matrix", found="another", wanted="a symmetric square matrix")
    wishart.cholesky(scale_matrix)


def check_mean(mean: FloatArray, mean_precision: float, n_columns: int) -> None:
    """Refuse a prior of means that does not fit or has no variance."""
    if mean.shape != (n_columns,):
        raise OptionError("prior mean", found=f"shape {mean.shape}", wanted=f"({n_columns},)")
    if not mean_precision > 0.0:
        raise OptionError("mean precision", found=f"{mean_precision:g}", wanted="a positive number")


def origin_of(mean: FloatArray) -> FloatArray:
    """The prior's mean as float32 has it: items are measured from there, everywhere alike."""
    return mean.astype(np.float32).astype(np.float64)


def spread_of(values: Vectors, centre: FloatArray, diagonal: bool) -> FloatArray:
    """(1/n) Σ (x − c)(x − c)ᵀ of a sample, or its diagonal as a matrix.

    Raises ``OptionError`` where a column is constant.
    """
    deviations = values.astype(np.float64) - centre
    variances = np.mean(deviations**2, axis=0)
    constant = np.flatnonzero(values.max(axis=0, initial=-np.inf) <= values.min(axis=0))
    if len(constant):
        raise OptionError(
            f"column {constant[0]}", found="the same value in all items",
            wanted="values that differ", hint="Leave constant columns out.",
        )  # fmt: skip
    return np.diag(variances) if diagonal else deviations.T @ deviations / len(values)


def check_sample(sample: Vectors, n_items: int) -> None:
    """ShapeError unless ``n_items`` vectors, of which these are some, can tell of covariances."""
    n_columns = sample.shape[1]
    if n_items < n_columns:
        raise ShapeError(
            "items",
            found=f"{n_items:,} of them in {n_columns:,} columns",
            wanted="at least as many items as columns",
        )
    _check_columns(sample)


def _check_columns(sample: Vectors) -> None:
    constant = np.flatnonzero(sample.min(axis=0) == sample.max(axis=0))
    if len(constant):
        raise ShapeError(
            f"column {constant[0]}",
            found=f"{sample[0, constant[0]]:g} in every item",
            wanted="numbers that differ",
            hint="Leave out constant columns.",
        )
    widths = sample.max(axis=0).astype(np.float64) - sample.min(axis=0)
    odd = np.flatnonzero((widths < NARROWEST) | (widths > WIDEST))
    if len(odd):
        raise ShapeError(
            f"column {odd[0]}",
            found=f"numbers that differ by {widths[odd[0]]:g} at most",
            wanted=f"by {NARROWEST:g} to {WIDEST:g}",
            hint="Scale the column.",
        )
