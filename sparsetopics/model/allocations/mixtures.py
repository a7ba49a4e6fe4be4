"""Mixture weights: each item has one component.

Both posteriors follow from counts, which are all that is kept: q(v_k) = Beta(1 + N_k, γ + N_{>k})
and q(w) = Dir(γ/K + N). The counts may be those of other items than the bound is asked for.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol, Self

import numpy as np
from scipy.special import betaln, gammaln, psi

from sparsetopics.base.batches import FloatArray
from sparsetopics.base.soundness import require


class MixtureAllocation(Protocol):
    """How items share components; every method leaves the object as it is."""

    @property
    def counts(self) -> FloatArray:
        """N_k that the weights follow from, (n_topics,)."""

    @property
    def concentration(self) -> float:
        """γ."""

    @property
    def n_topics(self) -> int: ...

    @property
    def expected_log_weights(self) -> FloatArray:
        """E[log w_k], (n_topics,)."""

    @property
    def mean_weights(self) -> FloatArray:
        """E[w_k], (n_topics,)."""

    def elbo(self, counts: FloatArray, entropies: FloatArray) -> float:
        """All of the ELBO but the data's part, in nats, for items with these N_k and H_k."""

    def updated(self, counts: FloatArray) -> Self:
        """The global step: the weights at their optimum for N_k, of any number of components."""


@dataclass(frozen=True, slots=True, eq=False)
class DPMixture:
    """w_k = v_k Π_{l<k} (1 − v_l), v_k ~ Beta(1, γ).

    The truncation is of the assignments, q(z > K) = 0: a further empty component adds exactly zero,
    and bounds of different K compare (Bryant & Sudderth 2012).
    """

    counts: FloatArray  # (n_topics,)  N_k
    concentration: float  # γ

    @property
    def n_topics(self) -> int:
        return len(self.counts)

    @property
    def expected_log_weights(self) -> FloatArray:
        """E[log v_k] + Σ_{l<k} E[log(1 − v_l)], (n_topics,)."""
        taken, left = expected_logs(*self._sticks)
        weights: FloatArray = taken + np.cumsum(left) - left
        return weights

    @property
    def mean_weights(self) -> FloatArray:
        """E[w_k], (n_topics,); what is missing to one is the tail's."""
        taken, left = self._sticks
        means = taken / (taken + left)
        weights: FloatArray = means * np.concatenate(([1.0], np.cumprod(1.0 - means[:-1])))
        return weights

    def elbo(self, counts: FloatArray, entropies: FloatArray) -> float:
        """Σ_k H_k + lnB(a_k, b_k) − lnB(1, γ) and what the posterior is off its optimum.

        That is (N_k + 1 − a_k) E[log v_k] + (N_{>k} + γ − b_k) E[log(1 − v_k)]. Empty components at
        the end add exactly zero.
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

    def updated(self, counts: FloatArray) -> Self:
        return replace(self, counts=counts)


@dataclass(frozen=True, slots=True, eq=False)
class FiniteMixture:
    """w ~ Dir(γ/K, …, γ/K)."""

    counts: FloatArray  # (n_topics,)  N_k
    concentration: float  # γ, in total

    @property
    def n_topics(self) -> int:
        return len(self.counts)

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

    def updated(self, counts: FloatArray) -> Self:
        return replace(self, counts=counts)


def check_counts(counts: FloatArray, concentration: float) -> None:
    """ValueError unless these numbers give valid mixture weights."""
    require(counts.ndim == 1 and len(counts) > 0, "no items of components")
    require(counts.min() >= 0.0, "items of components below zero")
    require(concentration > 0.0, "a concentration that is not positive")


def later(counts: FloatArray) -> FloatArray:
    """N_{>k} = Σ_{l>k} N_l, (n_topics,); summed from the end, so that no rounding is left there."""
    later: FloatArray = np.append(np.cumsum(counts[:0:-1])[::-1], 0.0)
    return later


def expected_logs(taken: FloatArray, left: FloatArray) -> tuple[FloatArray, FloatArray]:
    """E[log v_k] and E[log(1 − v_k)] of Beta(taken, left), (n_topics,) each."""
    total = psi(taken + left)
    return psi(taken) - total, psi(left) - total


def _log_beta(concentrations: FloatArray) -> float:
    return float(gammaln(concentrations).sum() - gammaln(concentrations.sum()))
