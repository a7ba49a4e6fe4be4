"""Weights of a DP mixture as points: the most probable sticks, no posterior of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import xlogy

from sparsetopics.base.batches import FloatArray
from sparsetopics.model.allocations.mixtures import later

NEVER = -1e30  # log weight of a component without items: below all others, and finite


@dataclass(frozen=True, slots=True, eq=False)
class DPModes:
    """v_k = N_k / (N_k + N_{>k} + γ − 1), where Beta(1 + N_k, γ + N_{>k}) is highest; γ ≥ 1.

    The product of sticks telescopes: w_k = N_k / (N + γ − 1).
    """

    counts: FloatArray  # (n_topics,)  N_k
    concentration: float  # γ

    @property
    def n_topics(self) -> int:
        return len(self.counts)

    @property
    def expected_log_weights(self) -> FloatArray:
        """log w_k, (n_topics,)."""
        weights = self.mean_weights
        logs = np.full(self.n_topics, NEVER)
        np.log(weights, out=logs, where=weights > 0.0)
        return logs

    @property
    def mean_weights(self) -> FloatArray:
        """w_k, (n_topics,)."""
        weights: FloatArray = self.counts / (self.counts.sum() + self.concentration - 1.0)
        return weights

    def elbo(self, counts: FloatArray, entropies: FloatArray) -> float:
        """Log joint density of assignments and sticks, their prior's measured from its peak.

        Σ_k N_k log v_k + (N_{>k} + γ − 1) log(1 − v_k), the N of ``counts``, and the entropies.
        """
        sticks, left = sticks_of(self.counts, self.concentration), self._left_of(self.counts)
        here = from_here(self.counts) + self.concentration - 1.0
        rest = np.divide(left, here, out=np.ones(len(left)), where=here > 0.0)  # 1 − v_k
        joint = xlogy(counts, sticks) + xlogy(self._left_of(counts), rest)
        return float((entropies + joint).sum())

    def updated(self, counts: FloatArray) -> DPModes:
        return DPModes(counts, self.concentration)

    def _left_of(self, counts: FloatArray) -> FloatArray:
        """N_{>k} + γ − 1, (n_topics,)."""
        return later(counts) + self.concentration - 1.0


def sticks_of(counts: FloatArray, concentration: float) -> FloatArray:
    """v_k of ``DPModes``, (n_topics,); zero where nothing is left."""
    left = from_here(counts) + concentration - 1.0
    sticks: FloatArray = np.divide(counts, left, out=np.zeros(len(counts)), where=left > 0.0)
    return sticks


def log_weights_of(sticks: FloatArray) -> FloatArray:
    """log v_k + Σ_{l<k} log(1 − v_l), (n_topics,), of sticks inside (0, 1)."""
    left = np.log1p(-sticks)
    weights: FloatArray = np.log(sticks) + np.cumsum(left) - left
    return weights


def from_here(counts: FloatArray) -> FloatArray:
    """N_k + N_{>k}, (n_topics,); summed from the end, so that no rounding is left there."""
    return np.cumsum(counts[::-1])[::-1]
