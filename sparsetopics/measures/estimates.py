"""Estimates with errors: their intervals, their tests, and what other runs add to the errors."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import cbrt, stdtr, stdtrit

from sparsetopics.base.batches import FloatArray, IntArray

LEVEL = 0.95  # of intervals


class Estimates(NamedTuple):
    """Numbers of each topic that are known with an error, (n, n_topics) each; NaN: not known."""

    value: FloatArray
    standard_error: FloatArray
    skewness: FloatArray  # of the estimate, not of documents
    freedom: FloatArray  # degrees of freedom of the standard error

    def at(self, *places: IntArray | list[int] | slice | None) -> Estimates:
        """Return some of them, chosen as in arrays."""
        return Estimates(*(own[places] for own in self))

    def interval(self, least: float, most: float) -> tuple[FloatArray, FloatArray]:
        """Return the lower and upper ends of 95 % intervals, from ``least`` to ``most``."""
        low, high = skewed_interval(self.standard_error, self.skewness, self.freedom, LEVEL)
        return np.maximum(self.value + low, least), np.minimum(self.value + high, most)

    def tested(self, most: float = 1.0) -> Differences:
        """Test each of them against zero; intervals end at −``most`` and ``most``."""
        error = self.standard_error
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = self.value / np.where(error > 0.0, error, np.nan)
        t = unskewed(ratio, self.skewness)
        p_value = 2.0 * stdtr(self.freedom, -np.abs(t))
        adjusted = holm_adjusted(p_value.ravel()).reshape(p_value.shape)
        return Differences(self.value, error, *self.interval(-most, most), t, p_value, adjusted)

    def over_runs(self, of_runs: FloatArray) -> Estimates:
        """Add to the errors how far the estimates of other runs are from these.

        ``of_runs`` is (n_runs, n, n_topics), NaN where a run has no such topic. With the mean
        square B of the distances of m runs, Σ (run − own)²/(m − 1), the variance becomes
        W + (1 + 1/m) B (Rubin 1987). Degrees of freedom are Satterthwaite's. Without other runs,
        these are the same estimates; of one, nothing is known.
        """
        if not len(of_runs):
            return self
        n_runs = (~np.isnan(of_runs)).sum(axis=0)
        freedom = np.where(n_runs > 1, n_runs - 1.0, np.nan)
        between = np.nansum((of_runs - self.value) ** 2, axis=0) / freedom
        within, added = self.standard_error**2, (1.0 + 1.0 / np.maximum(n_runs, 1)) * between
        total = within + added
        share = np.divide(within, total, out=np.ones_like(total), where=total > 0.0)
        with np.errstate(divide="ignore"):  # one document has no degrees of freedom
            inverse = share**2 / self.freedom + (1.0 - share) ** 2 / freedom
        skewness = self.skewness * share * np.sqrt(share)
        return Estimates(self.value, np.sqrt(total), skewness, 1.0 / inverse)


class Differences(NamedTuple):
    """By how much the first group of each pair exceeds the other, (n_pairs, n_topics) each.

    Errors, intervals and p-values are NaN if a group has one document. t and p-values are also NaN
    if all documents of each group are alike: then nothing tells how much others would differ.
    """

    difference: FloatArray
    standard_error: FloatArray
    low: FloatArray
    high: FloatArray
    t: FloatArray  # the difference in standard errors, without skewness
    p_value: FloatArray  # two-sided
    adjusted_p_value: FloatArray  # Holm: over all pairs and topics


def skewed_interval(
    error: FloatArray, skewness: FloatArray, freedom: FloatArray, level: float
) -> tuple[FloatArray, FloatArray]:
    """Return how far below and above an estimate the ends of its interval are.

    With q = (estimate − truth)/se and a the skewness of the estimate,

        t(q) = q + a (q²/3 + 1/6) + a² q³/27

    has no skewness to first order (Hall 1992; Zhou & Dinh 2005) and rises with q. It is inverted at
    the quantiles of Student's t.
    """
    quantile = stdtrit(np.maximum(freedom, 1.0), (1.0 + level) / 2.0)
    high, low = (_inverted(sign * quantile, skewness) for sign in (-1.0, 1.0))
    return -error * low, -error * high


def _inverted(t: FloatArray, skewness: FloatArray) -> FloatArray:
    """Solve t(q) = t for q; the formula in a stays exact enough where a is almost zero."""
    a = np.where(np.abs(skewness) < 1e-6, 1e-6, skewness)
    q: FloatArray = 3.0 / a * (cbrt(1.0 + a * (t - a / 6.0)) - 1.0)
    return q


def unskewed(q: FloatArray, skewness: FloatArray) -> FloatArray:
    """Return t(q) of ``skewed_interval``."""
    a = skewness
    return q + a * (q * q / 3.0 + 1.0 / 6.0) + a * a * q * q * q / 27.0


def holm_adjusted(p_values: FloatArray) -> FloatArray:
    """Adjust p-values for their number, (n,), so that the family-wise error rate holds.

    The i-th smallest of m becomes the largest (m − j + 1) p_j of all j ≤ i, at most 1 (Holm 1979).
    NaN stays NaN and does not count.
    """
    adjusted = np.full(len(p_values), np.nan)
    known = np.flatnonzero(~np.isnan(p_values))
    order = known[np.argsort(p_values[known], kind="stable")]
    factors = np.arange(len(order), 0, -1.0)
    adjusted[order] = np.minimum(np.maximum.accumulate(factors * p_values[order]), 1.0)
    return adjusted
