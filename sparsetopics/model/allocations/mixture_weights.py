"""Weights of a mixture's components, each item having one component.

The weights follow from counts, which are all that is kept: q(v_k) = Beta(1 + N_k, γ + N_{>k}) for
the Dirichlet process and q(w) = Dir(γ/K + N) for finite mixtures. The counts may be those of other
items than the items whose bound is computed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import betaln, gammaln, psi, xlogy

from sparsetopics.base.batches import FloatArray
from sparsetopics.base.soundness import require
from sparsetopics.model.allocations.mixture import ItemAllocation
from sparsetopics.options.registry import MODELS, imported

NEVER = -1e30  # log weight of a component without items: below all others, and finite


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DPMixture(ItemAllocation):
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
    def weights(self) -> FloatArray:
        """E[w_k], (n_topics,); the tail has the rest, up to one."""
        taken, left = self._sticks
        means = taken / (taken + left)
        return means * np.concatenate(([1.0], np.cumprod(1.0 - means[:-1])))

    def bound(self, counts: FloatArray, entropies: FloatArray) -> float:
        """Σ_k H_k + lnB(a_k, b_k) − lnB(1, γ), and a correction for other items' counts.

        The correction is (N_k + 1 − a_k) E[log v_k] + (N_{>k} + γ − b_k) E[log(1 − v_k)]. Empty
        components at the end add exactly zero.
        """
        taken, left = self._sticks
        bound = entropies + betaln(taken, left) - betaln(1.0, self.top_concentration)
        if counts is not self.counts:
            log_taken, log_left = expected_logs(taken, left)
            bound += (counts + 1.0 - taken) * log_taken
            bound += (later(counts) + self.top_concentration - left) * log_left
        return float(bound.sum())

    @property
    def _sticks(self) -> tuple[FloatArray, FloatArray]:
        return 1.0 + self.counts, self.top_concentration + later(self.counts)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FiniteMixture(ItemAllocation):
    """w ~ Dir(γ/K, …, γ/K)."""

    @property
    def expected_log_weights(self) -> FloatArray:
        """ψ(γ/K + N_k) − ψ(γ + N), (n_topics,)."""
        posterior = self._posterior
        weights: FloatArray = psi(posterior) - psi(posterior.sum())
        return weights

    @property
    def weights(self) -> FloatArray:
        """E[w_k], (n_topics,), adds up to one."""
        posterior = self._posterior
        weights: FloatArray = posterior / posterior.sum()
        return weights

    def bound(self, counts: FloatArray, entropies: FloatArray) -> float:
        """Σ_k H_k + lnB(γ/K + N) − lnB(γ/K) + Σ_k (N_k of the items − N_k here) E[log w_k]."""
        prior = np.full(self.n_topics, self.top_concentration / self.n_topics)
        bound = entropies.sum() + _log_beta(self._posterior) - _log_beta(prior)
        if counts is not self.counts:
            bound += np.dot(counts - self.counts, self.expected_log_weights)
        return float(bound)

    @property
    def _posterior(self) -> FloatArray:
        return self.counts + self.top_concentration / self.n_topics


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DPModes(ItemAllocation):
    """Sticks of a Dirichlet process as points, at their modes, without a posterior.

    v_k = N_k / (N_k + N_{>k} + γ − 1), where Beta(1 + N_k, γ + N_{>k}) is highest; γ ≥ 1. The
    product of sticks telescopes: w_k = N_k / (N + γ − 1).
    """

    @property
    def expected_log_weights(self) -> FloatArray:
        """log w_k, (n_topics,)."""
        weights = self.weights
        logs = np.full(self.n_topics, NEVER)
        np.log(weights, out=logs, where=weights > 0.0)
        return logs

    @property
    def weights(self) -> FloatArray:
        """w_k, (n_topics,)."""
        weights: FloatArray = self.counts / (self.counts.sum() + self.top_concentration - 1.0)
        return weights

    def bound(self, counts: FloatArray, entropies: FloatArray) -> float:
        """The entropies and the log joint density of assignments and sticks.

        Σ_k N_k log v_k + (N_{>k} + γ − 1) log(1 − v_k), where N are ``counts``. The density of the
        sticks' prior is measured from its peak.
        """
        sticks, left = sticks_of(self.counts, self.top_concentration), self._left_of(self.counts)
        here = from_here(self.counts) + self.top_concentration - 1.0
        rest = np.divide(left, here, out=np.ones(len(left)), where=here > 0.0)  # 1 − v_k
        joint = xlogy(counts, sticks) + xlogy(self._left_of(counts), rest)
        return float((entropies + joint).sum())

    def _left_of(self, counts: FloatArray) -> FloatArray:
        """N_{>k} + γ − 1, (n_topics,)."""
        return later(counts) + self.top_concentration - 1.0


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class NestedAllocation(DPMixture):
    """The Dirichlet process with an infinite variational family: beyond T, posteriors are priors.

    VDP06, section 4: for i > T, q(v_i) and q(φ_i) are the priors, and items may belong to any of
    those components. So families are nested: T + 1 components reach every bound that T reach. All
    components beyond T are alike,

        E[log w_{T+j}] = Σ_{l≤T} E[log(1 − v_l)] + E_p[log v] + (j − 1) E_p[log(1 − v)],

    so an item's responsibilities for them are a geometric series. They act as a single component,
    the tail, whose log weight is

        Σ_{l≤T} E[log(1 − v_l)] + E_p[log v] − log(1 − exp E_p[log(1 − v)]).

    This is log Σ_j exp of the above and includes the entropy within the tail. The tail is the last
    component here, so ``counts`` are (T + 1,). Its posterior is the prior, whatever items it has.
    """

    @property
    def n_topics(self) -> int:
        """T, without the tail."""
        return len(self.counts) - 1

    def without_tail(self) -> DPMixture:
        """Only the T components, without the items of the tail."""
        return DPMixture(self.counts[:-1], self.top_concentration)

    @property
    def expected_log_weights(self) -> FloatArray:
        """E[log w_k] of the components, and the weight of the tail, (T + 1,)."""
        log_taken, log_left = expected_logs(*self._sticks)
        before = np.append(0.0, np.cumsum(log_left))
        weights: FloatArray = before + np.append(log_taken, self._tail_weight)
        return weights

    def check(self) -> None:
        self.without_tail().check()
        require(self.counts[-1] >= 0.0, "a tail below zero")

    def bound(self, counts: FloatArray, entropies: FloatArray) -> float:
        """Σ_k H_k, the sticks' part for k ≤ T as in ``DPMixture.bound``, and the tail's weight."""
        taken, left = self._sticks
        log_taken, log_left = expected_logs(taken, left)
        bound = betaln(taken, left) - betaln(1.0, self.top_concentration)
        bound += (counts[:-1] + 1.0 - taken) * log_taken
        bound += (later(counts)[:-1] + self.top_concentration - left) * log_left
        return float(bound.sum() + entropies.sum() + counts[-1] * self._tail_weight)

    @property
    def _sticks(self) -> tuple[FloatArray, FloatArray]:
        return 1.0 + self.counts[:-1], self.top_concentration + later(self.counts)[:-1]

    @property
    def _tail_weight(self) -> float:
        """E_p[log v] − log(1 − exp E_p[log(1 − v)]); that expectation is −1/γ."""
        gamma = self.top_concentration
        return float(psi(1.0) - psi(1.0 + gamma) - np.log(-np.expm1(-1.0 / gamma)))


def sharing_of(model: str, *, at_modes: bool, grows: bool = False) -> type[ItemAllocation]:
    """The class of the weights of a kind of mixture; only sticks can be points, or grow."""
    kind: type[ItemAllocation] = imported(MODELS[model].sharing)
    if kind is not DPMixture:
        return kind
    return NestedAllocation if grows else DPModes if at_modes else kind


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
