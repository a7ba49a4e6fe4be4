"""Held-out scores by document or item: their mean, and how far two models differ on the same data.

Some documents are hard for every model, so scores of two models on the same documents rise and fall
together. The standard error of their difference is therefore smaller than the errors of the two
scores suggest.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sparsetopics.base.batches import FloatArray


class HeldoutScores(NamedTuple):
    """The score of every held-out document or item, in their order in the corpus."""

    log_likelihoods: FloatArray  # (n_rows,)  s_d, nats
    sizes: FloatArray  # (n_rows,)  n_d: scored tokens of a document; one for an item


class Estimate(NamedTuple):
    """A mean and its standard error, which is NaN for a single document or item."""

    mean: float
    standard_error: float


def mean_score(scores: HeldoutScores) -> Estimate:
    """Return the log-likelihood per token or item, in nats.

    It is a ratio of two sums over D documents, R = Σ_d s_d / Σ_d n_d. The delta method gives

        se² = D / (D − 1) · Σ_d (s_d − R n_d)² / (Σ_d n_d)²,

    which for items (n_d = 1) is the variance of their scores over D.
    """
    log_likelihoods, sizes = scores
    n_rows, total = len(sizes), float(sizes.sum())
    mean = float(log_likelihoods.sum()) / total
    if n_rows < 2:
        return Estimate(mean, math.nan)
    residual = float(np.sum((log_likelihoods - mean * sizes) ** 2))
    return Estimate(mean, math.sqrt(n_rows / (n_rows - 1) * residual) / total)


def paired_difference(one: HeldoutScores, other: HeldoutScores) -> Estimate:
    """Return by how many nats per token or item ``one`` scores higher than ``other``.

    Both are scores of the same rows. With δ_d = s_d − s'_d, the difference of the two scores of
    document d, this is

        Δ = Σ_d δ_d / Σ_d n_d,    se² = D / (D − 1) · Σ_d (δ_d − Δ n_d)² / (Σ_d n_d)².
    """
    return mean_score(HeldoutScores(one.log_likelihoods - other.log_likelihoods, one.sizes))


def differences_from_best(scores: Sequence[HeldoutScores]) -> list[Estimate | None]:
    """Return the paired difference of each model from the best one; None for the best itself.

    The best has the highest mean score, the first of equal ones. All differences are None if the
    models were not scored on the same tokens, because they know different words.
    """
    if not scores or not all(np.array_equal(each.sizes, scores[0].sizes) for each in scores):
        return [None] * len(scores)
    best = int(np.argmax([mean_score(each).mean for each in scores]))
    return [
        None if place == best else paired_difference(each, scores[best])
        for place, each in enumerate(scores)
    ]
