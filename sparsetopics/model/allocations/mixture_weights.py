"""Weights of a mixture's components, each item having one component.

The weights follow from counts, which are all that is kept: q(v_k) = Beta(1 + N_k, γ + N_{>k}) for
the Dirichlet process and q(w) = Dir(γ/K + N) for finite mixtures. The counts may be those of other
items than the items whose bound is computed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from scipy.special import betaln, gammaln, psi, xlogy

from sparsetopics.base.batches import FloatArray
from sparsetopics.base.showing import short_repr
from sparsetopics.base.soundness import require
from sparsetopics.options.registry import MODELS, imported

NEVER = -1e30  # log weight of a component without items: below all others, and finite


@dataclass(frozen=True, slots=True, eq=False)
class MixtureWeights(ABC):
    """How items share components; no method changes the object."""

    counts: FloatArray  # (n_topics,)  N_k, from which the weights follow
    concentration: float  # γ, in total

    def __repr__(self) -> str:
        return short_repr(self, "n_topics", "concentration")

    @property
    def n_topics(self) -> int:
        return len(self.counts)

    def check(self) -> None:
        """ValueError unless these numbers give valid weights."""
        require(self.counts.ndim == 1 and len(self.counts) > 0, "no items of components")
        require(self.counts.min() >= 0.0, "items of components below zero")
        require(self.concentration > 0.0, "a concentration that is not positive")

    @property
    @abstractmethod
    def expected_log_weights(self) -> FloatArray:
        """E[log w_k], (n_topics,)."""

    @property
    @abstractmethod
    def mean_weights(self) -> FloatArray:
        """E[w_k], (n_topics,)."""

    @abstractmethod
    def elbo(self, counts: FloatArray, entropies: FloatArray) -> float:
        """The ELBO in nats without the data's part, for items with these N_k and H_k."""

    def updated(self, counts: FloatArray) -> Self:
        """The global step: weights at their optimum for N_k, of any number of components."""
        return replace(self, counts=counts)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DPMixture(MixtureWeights):
    """w_k = v_k Π_{l<k} (1 − v_l), v_k ~ Beta(1, γ).

    Assignments are truncated, q(z > K) = 0, and not the sticks. So another empty component adds
    exactly zero, and bounds of different K compare (Bryant & Sudderth 2012).
    """

    @property
    def expected_log_weights(self) -> FloatArray:
        """E[log v_k] + Σ_{l<k} E[log(1 − v_l)], (n_topics,)."""
        taken, left = expected_logs(*self._sticks)
        return taken + np.cumsum(left) - left

    @property
    def mean_weights(self) -> FloatArray:
        """E[w_k], (n_topics,); the tail has the rest, up to one."""
        taken, left = self._sticks
        means = taken / (taken + left)
        return means * np.concatenate(([1.0], np.cumprod(1.0 - means[:-1])))

    def elbo(self, counts: FloatArray, entropies: FloatArray) -> float:
        """Σ_k H_k + lnB(a_k, b_k) − lnB(1, γ), and a correction for other items' counts.

        The correction is (N_k + 1 − a_k) E[log v_k] + (N_{>k} + γ − b_k) E[log(1 − v_k)]. Empty
        components at the end add exactly zero.
        """
        taken, left = self._sticks
        bound = entropies + betaln(taken, left) - betaln(1.0, self.concentration)
        if counts is not self.counts:
            log_taken, log_left = expected_logs(taken, left)
            bound += (counts + 1.0 - taken) * log_taken
            bound += (later(counts) + self.concentration - left) * log_left
        return float(bound.sum())

    @property
    def _sticks(self) -> tuple[FloatArray, FloatArray]:
        return 1.0 + self.counts, self.concentration + later(self.counts)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FiniteMixture(MixtureWeights):
    """w ~ Dir(γ/K, …, γ/K)."""

    @property
    def expected_log_weights(self) -> FloatArray:
        """ψ(γ/K + N_k) − ψ(γ + N), (n_topics,)."""
        posterior = self._posterior
        weights: FloatArray = psi(posterior) - psi(posterior.sum())
        return weights

    @property
    def mean_weights(self) -> FloatArray:
        """E[w_k], (n_topics,), adds up to one."""
        posterior = self._posterior
        weights: FloatArray = posterior / posterior.sum()
        return weights

    def elbo(self, counts: FloatArray, entropies: FloatArray) -> float:
        """Σ_k H_k + lnB(γ/K + N) − lnB(γ/K) + Σ_k (N_k of the items − N_k here) E[log w_k]."""
        prior = np.full(self.n_topics, self.concentration / self.n_topics)
        bound = entropies.sum() + _log_beta(self._posterior) - _log_beta(prior)
        if counts is not self.counts:
            bound += np.dot(counts - self.counts, self.expected_log_weights)
        return float(bound)

    @property
    def _posterior(self) -> FloatArray:
        return self.counts + self.concentration / self.n_topics


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DPModes(MixtureWeights):
    """Sticks of a Dirichlet process as points, at their modes, without a posterior.

    v_k = N_k / (N_k + N_{>k} + γ − 1), where Beta(1 + N_k, γ + N_{>k}) is highest; γ ≥ 1. The
    product of sticks telescopes: w_k = N_k / (N + γ − 1).
    """

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
        """The entropies and the log joint density of assignments and sticks.

        Σ_k N_k log v_k + (N_{>k} + γ − 1) log(1 − v_k), where N are ``counts``. The density of the
        sticks' prior is measured from its peak.
        """
        sticks, left = sticks_of(self.counts, self.concentration), self._left_of(self.counts)
        here = from_here(self.counts) + self.concentration - 1.0
        rest = np.divide(left, here, out=np.ones(len(left)), where=here > 0.0)  # 1 − v_k
        joint = xlogy(counts, sticks) + xlogy(self._left_of(counts), rest)
        return float((entropies + joint).sum())

    def _left_of(self, counts: FloatArray) -> FloatArray:
        """N_{>k} + γ − 1, (n_topics,)."""
        return later(counts) + self.concentration - 1.0


def sharing_of(model: str, *, at_modes: bool) -> type[MixtureWeights]:
    """The class of the weights of a kind of mixture; only sticks can be points."""
    kind: type[MixtureWeights] = imported(MODELS[model].sharing)
    return DPModes if at_modes and kind is DPMixture else kind


def later(counts: FloatArray) -> FloatArray:
    """N_{>k} = Σ_{l>k} N_l, (n_topics,); summed from the end, so that it is exactly 0 there."""
    return np.append(np.cumsum(counts[:0:-1])[::-1], 0.0)


def from_here(counts: FloatArray) -> FloatArray:
    """N_k + N_{>k}, (n_topics,); summed from the end, so that rounding does not add up there."""
    return np.cumsum(counts[::-1])[::-1]


def expected_logs(taken: FloatArray, left: FloatArray) -> tuple[FloatArray, FloatArray]:
    """E[log v_k] and E[log(1 − v_k)] of Beta(taken, left), (n_topics,) each."""
    total = psi(taken + left)
    return psi(taken) - total, psi(left) - total


def sticks_of(counts: FloatArray, concentration: float) -> FloatArray:
    """v_k of ``DPModes``, (n_topics,); zero where nothing is left."""
    left = from_here(counts) + concentration - 1.0
    return np.divide(counts, left, out=np.zeros(len(counts)), where=left > 0.0)


def log_weights_of(sticks: FloatArray) -> FloatArray:
    """log v_k + Σ_{l<k} log(1 − v_l), (n_topics,), of sticks inside (0, 1)."""
    left = np.log1p(-sticks)
    weights: FloatArray = np.log(sticks) + np.cumsum(left) - left
    return weights


def _log_beta(concentrations: FloatArray) -> float:
    return float(gammaln(concentrations).sum() - gammaln(concentrations.sum()))
