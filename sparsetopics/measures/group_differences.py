"""Differences between groups of documents in their mean topic proportions, and their p-values."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import stdtr

from sparsetopics.base.batches import FloatArray, IntArray
from sparsetopics.measures.prevalence import GroupMeans, skewed_interval, unskewed


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


def group_differences(means: GroupMeans, pairs: IntArray, level: float = 0.95) -> Differences:
    """Compare groups; ``pairs`` is (n_pairs, 2), numbers of two groups without common documents.

    Degrees of freedom are Welch's. The third cumulants of two independent means subtract, which
    gives the skewness of their difference (Zhou & Dinh 2005).
    """
    one, other = pairs.T
    n_documents = means.n_documents[:, None].astype(np.float64)
    variance = means.standard_error**2
    cumulant = means.skewness * variance * means.standard_error
    difference = means.mean[one] - means.mean[other]
    error = np.sqrt(variance[one] + variance[other])
    unit = np.where(error > 0.0, error, np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        skewness = (cumulant[one] - cumulant[other]) / (unit * unit * unit)
        spread = variance**2 / (n_documents - 1.0)
        freedom = (variance[one] + variance[other]) ** 2 / (spread[one] + spread[other])
    skewness, freedom = np.nan_to_num(skewness), np.nan_to_num(freedom, nan=1.0, posinf=1e9)
    t = unskewed(difference / unit, skewness)
    low, high = skewed_interval(error, skewness, freedom, level)
    p_value = 2.0 * stdtr(freedom, -np.abs(t))
    return Differences(
        difference,
        error,
        np.maximum(difference + low, -1.0),
        np.minimum(difference + high, 1.0),
        t,
        p_value,
        holm_adjusted(p_value.ravel()).reshape(p_value.shape),
    )


def variance_of_means(means: GroupMeans, groups: IntArray) -> FloatArray:
    """Return how much the true means of ``groups`` vary, (n_topics,), as a variance.

    Groups count by their documents. From the variance of the estimates, its expected value if all
    true means were equal is subtracted, Σ w_g (1 − w_g) s_g², where w_g is a group's share of the
    documents and s_g its standard error. So the result is unbiased, and may be negative. Groups of
    one document, whose errors are not known, are left out.
    """
    known = groups[means.n_documents[groups] > 1]
    if len(known) < 2:
        return np.zeros(means.mean.shape[1])
    share = means.n_documents[known, None] / means.n_documents[known].sum()
    away = means.mean[known] - (share * means.mean[known]).sum(axis=0)
    noise = (1.0 - share) * means.standard_error[known] ** 2
    variance: FloatArray = (share * (away**2 - noise)).sum(axis=0)
    return variance


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
