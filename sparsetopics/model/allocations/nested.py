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

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import betaln, psi

from sparsetopics.base.batches import FloatArray, IntArray
from sparsetopics.base.soundness import require
from sparsetopics.model.allocations.mixture import ItemAllocation, ItemTerms
from sparsetopics.model.allocations.mixture_weights import DPMixture, expected_logs, later
from sparsetopics.model.statistics import DocumentLengths


@dataclass(frozen=True, slots=True, eq=False)
class NestedAllocation:
    """w_k = v_k Π_{l<k} (1 − v_l), v_k ~ Beta(1, γ); v_k for k ≤ T is learned."""

    counts: FloatArray  # (T + 1,)  N_k from which q(v) follows, the tail's last
    top_concentration: float  # γ

    total_concentration = None

    @property
    def n_topics(self) -> int:
        """T, without the tail."""
        return len(self.counts) - 1

    def without_tail(self) -> ItemAllocation:
        """Only the T components, without the items of the tail."""
        return ItemAllocation(DPMixture(self.counts[:-1], self.top_concentration))

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

    def zero_terms(self) -> ItemTerms:
        return ItemTerms.zeros(len(self.counts))

    def elbo(self, terms: ItemTerms) -> float:
        """Σ_k H_k, the sticks' part for k ≤ T as in ``DPMixture.elbo``, and the tail's weight."""
        taken, left = self._sticks
        log_taken, log_left = expected_logs(taken, left)
        bound = betaln(taken, left) - betaln(1.0, self.top_concentration)
        bound += (terms.counts[:-1] + 1.0 - taken) * log_taken
        bound += (later(terms.counts)[:-1] + self.top_concentration - left) * log_left
        of_tail = terms.counts[-1] * self._tail_weight
        return float(bound.sum() + terms.assignment_entropy.sum() + of_tail)

    def updated(self, terms: ItemTerms) -> NestedAllocation:
        return replace(self, counts=terms.counts)

    def learned(self, terms: ItemTerms, lengths: DocumentLengths) -> NestedAllocation:
        """This rule itself: γ is not learned."""
        return self

    def reordered(self, order: IntArray) -> NestedAllocation:
        return replace(self, counts=self.counts[order])

    @property
    def _sticks(self) -> tuple[FloatArray, FloatArray]:
        return 1.0 + self.counts[:-1], self.top_concentration + later(self.counts)[:-1]

    @property
    def _tail_weight(self) -> float:
        """E_p[log v] − log(1 − exp E_p[log(1 − v)]); that expectation is −1/γ."""
        gamma = self.top_concentration
        return float(psi(1.0) - psi(1.0 + gamma) - np.log(-np.expm1(-1.0 / gamma)))
