"""The Dirichlet process with an infinite variational family: beyond T, posteriors are the priors.

VDP06, section 4: for i > T, q(v_i) and q(φ_i) are the priors, and items may belong to any of those
components. So families are nested: T + 1 components reach every bound that T reach. All components
beyond T are alike,

    E[log w_{T+j}] = Σ_{l≤T} E[log(1 − v_l)] + E_p[log v] + (j − 1) E_p[log(1 − v)],

so an item's responsibilities for them are a geometric series. They act as a single component, the
tail, whose log weight is Σ_{l≤T} E[log(1 − v_l)] + E_p[log v] − log(1 − exp E_p[log(1 − v)]): this
is log Σ_j exp of the above and includes the entropy within the tail. The tail is the last component
here. Its posterior is the prior, whatever items it has.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import betaln, psi

from sparsetopics.base.batches import FloatArray
from sparsetopics.base.soundness import require
from sparsetopics.model.allocations.mixture_weights import DPMixture, expected_logs, later


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class NestedAllocation(DPMixture):
    """w_k = v_k Π_{l<k} (1 − v_l), v_k ~ Beta(1, γ); v_k for k ≤ T is learned.

    ``counts`` (T + 1,) end with that of the tail.
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
        of_tail = counts[-1] * self._tail_weight
        return float(bound.sum() + entropies.sum() + of_tail)

    @property
    def _sticks(self) -> tuple[FloatArray, FloatArray]:
        return 1.0 + self.counts[:-1], self.top_concentration + later(self.counts)[:-1]

    @property
    def _tail_weight(self) -> float:
        """E_p[log v] − log(1 − exp E_p[log(1 − v)]); that expectation is −1/γ."""
        gamma = self.top_concentration
        return float(psi(1.0) - psi(1.0 + gamma) - np.log(-np.expm1(-1.0 / gamma)))
