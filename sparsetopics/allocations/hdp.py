"""The hierarchical Dirichlet process by direct assignment: as many topics as documents need.

β_k = u_k Π_{l<k} (1 − u_l) with u_k ~ Beta(1, γ); π_d ~ Dir(αβ_1, …, αβ_K, αβ_{>K}); words use the
first K topics only, so that bounds of different K compare (HDP15; Bryant & Sudderth 2012).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparsetopics.allocations import documents, sticks
from sparsetopics.batches import FloatArray, IntArray
from sparsetopics.model import Sticks
from sparsetopics.statistics import DocumentTerms


@dataclass(frozen=True, slots=True, eq=False)
class HDPAllocation:
    """Topic weights shared by all documents."""

    sticks: Sticks

    @classmethod
    def even(cls, n_topics: int, n_docs: float, gamma: float, alpha: float) -> HDPAllocation:
        """All topics, and the tail, of the same weight."""
        empty = Sticks(np.zeros(0), np.zeros(0), gamma, alpha)
        weights = np.full(n_topics, 1.0 / (n_topics + 1))
        return cls(sticks.from_weights(weights, empty, n_docs))

    @property
    def doc_concentration(self) -> FloatArray:
        return self.sticks.doc_concentration * self.sticks.global_topic_weights

    @property
    def tail(self) -> float:
        return float(sticks.concentrations_with_tail(self.sticks)[-1])

    @property
    def n_topics(self) -> int:
        return len(self.sticks.means)

    @property
    def weights(self) -> FloatArray:
        """E[β_k], (n_topics,)."""
        return self.sticks.global_topic_weights

    def complete(self, terms: DocumentTerms) -> DocumentTerms:
        """Active topics are enough: elsewhere θ_dk = αE[β_k] follows the weights."""
        return terms

    def elbo(self, terms: DocumentTerms) -> float:
        """Σ_k H_k + the documents' Dirichlet part + that of the sticks (``sticks``), in nats.

        The tail is not active in any document.
        """
        concentration = sticks.concentrations_with_tail(self.sticks)
        return float(
            documents.bound_by_topic(terms.with_tail(), concentration).sum()
            + documents.bound_of_totals(terms, self.sticks.doc_concentration)
            + sticks.elbo_sticks(self.sticks, terms.n_docs)
        )

    def updated(self, terms: DocumentTerms) -> HDPAllocation:
        """The global step: (ρ, ω) at their optimum, warm from where they are."""
        return HDPAllocation(sticks.optimized(self.sticks, weight_terms(terms)))

    def merged(self, kept: int, absorbed: int) -> HDPAllocation:
        """Topic ``kept`` takes the weight of ``absorbed``, which goes."""
        weights = self.weights
        weights[kept] += weights[absorbed]
        return self._of(np.delete(weights, absorbed), np.delete(self._concentrations, absorbed))

    def without(self, topic: int) -> HDPAllocation:
        """A topic less; its weight falls to the others."""
        weights = np.delete(self.weights, topic)
        weights *= 1.0 + self.weights[topic] / weights.sum()
        return self._of(weights, np.delete(self._concentrations, topic))

    def restricted(self, kept: IntArray) -> HDPAllocation:
        """Some topics only, ``kept`` rising; the weight of the others falls to them."""
        weights = self.weights[kept]
        weights *= self.weights.sum() / weights.sum()
        return self._of(weights, self._concentrations[kept])

    def branched(self, parents: IntArray) -> HDPAllocation:
        """Children share the weight of their parent, ``parents`` (n_children,) in rising order."""
        n_siblings = np.bincount(parents)[parents]
        return self._of(self.weights[parents] / n_siblings, self._concentrations[parents])

    def _of(self, weights: FloatArray, concentrations: FloatArray) -> HDPAllocation:
        return HDPAllocation(sticks.reweighted(weights, concentrations, self.sticks))

    @property
    def _concentrations(self) -> FloatArray:
        return self.sticks.concentrations

    def learned(self, terms: DocumentTerms) -> HDPAllocation:
        """With γ at its optimum: K / −Σ_k E[log(1 − u_k)]."""
        _, left = sticks.expected_logs(self.sticks)
        gamma = float(np.clip(-len(left) / left.sum(), 1e-3, 1e4))
        return HDPAllocation(self.sticks._replace(top_concentration=gamma))

    def reordered(self, order: IntArray) -> HDPAllocation:
        """The same topic weights in another order."""
        return self._of(self.weights[order], self._concentrations[order])


def weight_terms(terms: DocumentTerms) -> sticks.WeightTerms:
    return sticks.WeightTerms(terms.n_docs, terms.active_documents, terms.summed_digamma)
