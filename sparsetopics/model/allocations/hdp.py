"""The hierarchical Dirichlet process by direct assignment: as many topics as documents need.

β_k = u_k Π_{l<k} (1 − u_l) with u_k ~ Beta(1, γ); π_d ~ Dir(αβ_1, …, αβ_K, αβ_{>K}). Words use only
the first K topics, so that bounds of different K compare (HDP15; Bryant & Sudderth 2012).

The global step chooses q(u_k) = Beta(ρ_k ω_k, (1 − ρ_k) ω_k). With c_k = αE[β_k] and c_{K+1} =
αE[β_{>K}], the terms of the ELBO that contain (ρ, ω) are

    Σ_k { lnB(a_k, b_k) + (1 + D − a_k) E[log u_k] + (γ + D (K + 1 − k) − b_k) E[log(1 − u_k)] }
    + Σ_{k≤K} [ c_k Σ_{d: k active} ψ(θ_dk) + (D − D_k) lnΓ(c_k) ] + D lnΓ(c_{K+1}),

a_k = ρ_k ω_k, b_k = (1 − ρ_k) ω_k (HDP15). Where k is not active, θ_dk = c_k follows c (see
``documents``); the paper freezes it there, which ties β to its former value. The gradient takes
O(K) time: ∂c_l/∂ρ_k is c_k/ρ_k for l = k and −c_l/(1 − ρ_k) for l > k, so one reversed cumulative
sum serves all k.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln, logit, psi, xlogy

from sparsetopics.base.batches import DocumentBatch, FloatArray, IntArray
from sparsetopics.base.soundness import require
from sparsetopics.execution.executors import Executor
from sparsetopics.kernels import sticks as stick_kernels
from sparsetopics.model.allocations import documents
from sparsetopics.model.allocations.pair_gains import document_pair_gains
from sparsetopics.model.assignments import Assignments
from sparsetopics.model.statistics import DocumentLengths, DocumentTerms
from sparsetopics.model.topic_posterior import Sticks
from sparsetopics.options.training import TopicPrior

SMALLEST = stick_kernels.SMALLEST  # distance of a stick mean from 0 and 1
CONCENTRATION_RANGE = (1e-3, 1e4)  # of learned α and γ


@dataclass(frozen=True, slots=True, eq=False)
class HDPAllocation:
    """Topic weights shared by all documents."""

    sticks: Sticks
    # Set only if α is learned. Σ_d lnΓ(N_d + α), which no responsibility changes, must then follow
    # α, while ``DocumentTerms`` keep it for the α of the visit.
    lengths: DocumentLengths | None = None

    @classmethod
    def first(cls, n_topics: int, n_docs: float, prior: TopicPrior) -> HDPAllocation:
        """All topics and the tail with the same weight."""
        # The optimum that concentrations would have without the documents' linear terms.
        concentrations = 1.0 + prior.gamma + n_docs * (1.0 + np.arange(n_topics, 0.0, -1.0))
        empty = Sticks(np.zeros(0), np.zeros(0), prior.gamma, prior.doc_concentration)
        weights = np.full(n_topics, 1.0 / (n_topics + 1))
        return cls(reweighted(weights, concentrations, empty))

    @property
    def doc_concentration(self) -> FloatArray:
        return self.sticks.doc_concentration * self.sticks.global_topic_weights

    def zero_terms(self) -> DocumentTerms:
        return DocumentTerms.zeros(len(self.doc_concentration))

    def check(self) -> None:
        means, concentrations, gamma, alpha = self.sticks
        require(means.ndim == 1 and len(means) > 0, "no sticks")
        require(concentrations.shape == means.shape, "sticks without concentrations")
        require(means.min() > 0.0 and means.max() < 1.0, "sticks out of range")
        lowest = min(concentrations.min(), gamma, alpha)
        require(lowest > 0.0, "concentrations of sticks that are not positive")
        if self.lengths is not None:
            self.lengths.check()

    @property
    def tail(self) -> float:
        return float(concentrations_with_tail(self.sticks)[-1])

    @property
    def n_topics(self) -> int:
        return len(self.sticks.means)

    @property
    def weights(self) -> FloatArray:
        """E[β_k], (n_topics,)."""
        return self.sticks.global_topic_weights

    @property
    def total_concentration(self) -> float:
        return self.sticks.doc_concentration

    @property
    def top_concentration(self) -> float:
        return self.sticks.top_concentration

    def complete(self, terms: DocumentTerms) -> DocumentTerms:
        """``terms`` themselves: where a topic is not active, θ_dk = αE[β_k] follows the weights."""
        return terms

    @property
    def reference(self) -> FloatArray:
        """α_k."""
        return self.doc_concentration

    def sum_terms(
        self, assignments: Assignments[DocumentBatch], reference: FloatArray, executor: Executor
    ) -> DocumentTerms:
        """Terms with θ_dk = N_dk + α_k, where α_k is ``reference``."""
        tail = float(self.sticks.doc_concentration - reference.sum())
        return documents.sum_terms(*assignments, reference, tail, executor)

    def pair_gains(
        self,
        batches: Iterable[Assignments[DocumentBatch]],
        terms: DocumentTerms,
        reference: FloatArray,
    ) -> tuple[FloatArray, FloatArray]:
        return document_pair_gains(batches, terms.n_docs, reference)

    def elbo(self, terms: DocumentTerms) -> float:
        """Σ_k H_k, the documents' Dirichlet part and the sticks' part (``elbo_sticks``), in nats.

        The tail is not active in any document.
        """
        concentrations = concentrations_with_tail(self.sticks)
        bound = documents.bound_by_topic(terms.with_tail(), concentrations).sum()
        if self.lengths is None:
            bound += documents.bound_of_totals(terms, self.total_concentration)
        else:
            bound -= self.lengths.log_gamma_sum(self.total_concentration)
        return float(bound + elbo_sticks(self.sticks, terms.n_docs))

    def prior_slack(self, n_docs: float) -> float:
        """What ``elbo`` leaves out of Σ_d [lnΓ(α) − Σ_k lnΓ(αβ_k)] at E[β], in nats.

        Its bound (``elbo_sticks``) takes lnΓ(1 + x) to be additive. The difference is zero
        if one topic has all weight and grows with the number of topics among which it is shared,
        so that the bound prefers one topic to two, most of all in short documents.
        """
        weights = concentrations_with_tail(self.sticks)
        return n_docs * float(gammaln(1.0 + weights.sum()) - gammaln(1.0 + weights).sum())

    def updated(self, terms: DocumentTerms) -> HDPAllocation:
        """The global step: (ρ, ω) at their optimum, searched from their present values."""
        return HDPAllocation(optimized(self.sticks, terms), self.lengths)

    def joined(self, new_topics: IntArray, n_topics: int) -> HDPAllocation:
        """Topic k becomes part of ``new_topics[k]``, which takes its weight."""
        weights = np.bincount(new_topics, self.weights, n_topics).astype(np.float64)
        first = np.unique(new_topics, return_index=True)[1]
        return self._of(weights, self.sticks.concentrations[first])

    def restricted(self, kept: IntArray) -> HDPAllocation:
        """Only the topics ``kept``, in rising order; they share the weight of the others."""
        weights = self.weights[kept]
        weights *= self.weights.sum() / weights.sum()
        return self._of(weights, self.sticks.concentrations[kept])

    def branched(self, parents: IntArray) -> HDPAllocation:
        """Children share their parent's weight equally; ``parents`` (n_children,) rise."""
        n_siblings = np.bincount(parents)[parents]
        return self._of(self.weights[parents] / n_siblings, self.sticks.concentrations[parents])

    def _of(self, weights: FloatArray, concentrations: FloatArray) -> HDPAllocation:
        return HDPAllocation(reweighted(weights, concentrations, self.sticks), self.lengths)

    def learned(self, terms: DocumentTerms, lengths: DocumentLengths) -> HDPAllocation:
        """The same weights with γ = K / −Σ_k E[log(1 − u_k)] and then α at their optimum."""
        from scipy.optimize import minimize_scalar  # slow to import, and seldom needed

        means, concentrations, *_ = self.sticks
        left = psi((1.0 - means) * concentrations) - psi(concentrations)  # E[log(1 − u_k)]
        gamma = float(np.clip(-len(left) / left.sum(), *CONCENTRATION_RANGE))
        shares = concentrations_with_tail(self.sticks) / self.sticks.doc_concentration
        with_tail = terms.with_tail()
        inactive = terms.n_docs - with_tail.active_documents

        def negative(log_alpha: float) -> float:
            alpha = math.exp(log_alpha)  # no BLAS and no exp of numpy, which depend on processors
            of_documents = (alpha * shares * with_tail.summed_digamma).sum()
            of_documents += (inactive * gammaln(alpha * shares)).sum()
            of_documents -= lengths.log_gamma_sum(alpha)
            return -float(of_documents + terms.n_docs * len(left) * log_alpha)

        bounds = [math.log(end) for end in CONCENTRATION_RANGE]
        alpha = math.exp(minimize_scalar(negative, bounds=bounds, method="bounded").x)
        learned = self.sticks._replace(top_concentration=gamma, doc_concentration=alpha)
        return HDPAllocation(learned, lengths)

    def reordered(self, order: IntArray) -> HDPAllocation:
        """The same topic weights in another order."""
        return self._of(self.weights[order], self.sticks.concentrations[order])


# --- sticks ---------------------------------------------------------------------------------------
def reweighted(weights: FloatArray, concentrations: FloatArray, like: Sticks) -> Sticks:
    """Sticks with E[β] = ``weights`` and the given ω, (n_topics,) each; the tail has the rest.

    The weights add up to less than one.
    """
    left = 1.0 - np.concatenate(([0.0], np.cumsum(weights[:-1])))
    means = np.clip(weights / np.maximum(left, SMALLEST), SMALLEST, 1.0 - SMALLEST)
    return like._replace(means=means, concentrations=concentrations)


def elbo_sticks(sticks: Sticks, n_docs: float) -> float:
    """E[log p(u)] − E[log q(u)] + D (K log α + Σ_{k≤K+1} E[log β_k]), in nats.

    The last part bounds Σ_d [lnΓ(α) − Σ_k lnΓ(αβ_k)] from below for every α > 0: lnΓ(x) =
    lnΓ(1 + x) − log x, and lnΓ(1 + x), convex and zero at 0, is superadditive.
    """
    n_topics = len(sticks.means)
    gamma, alpha = sticks.top_concentration, sticks.doc_concentration
    of_sticks = stick_kernels.stick_terms(
        sticks.means, sticks.concentrations, n_docs, gamma, np.empty(n_topics), np.empty(n_topics)
    )
    return float(of_sticks + n_topics * (np.log(gamma) + n_docs * np.log(alpha)))


def concentrations_with_tail(sticks: Sticks) -> FloatArray:
    """αE[β_1], …, αE[β_K], αE[β_{>K}], (n_topics + 1,)."""
    left = np.concatenate(([1.0], np.cumprod(1.0 - sticks.means)))
    return sticks.doc_concentration * np.append(sticks.means, 1.0) * left


def objective(sticks: Sticks, terms: DocumentTerms) -> tuple[float, FloatArray, FloatArray]:
    """The terms above in nats, up to a constant, and their gradients by ρ and ω, (n_topics,)."""
    by_mean, by_concentration = np.empty_like(sticks.means), np.empty_like(sticks.means)
    value = stick_kernels.stick_terms(
        sticks.means, sticks.concentrations, terms.n_docs, sticks.top_concentration,
        by_mean, by_concentration,
    )  # fmt: skip
    value += stick_kernels.add_weight_terms(
        sticks.means, terms.n_docs, sticks.doc_concentration,
        terms.active_documents, terms.summed_digamma, by_mean,
    )  # fmt: skip
    return value, by_mean, by_concentration


def optimized(start: Sticks, terms: DocumentTerms) -> Sticks:
    """(ρ, ω) at a maximum of ``objective``, by L-BFGS from ``start``, and never worse than that."""
    # np.log takes other roundings on processors with other vectors.
    logs = xlogy(1.0, start.concentrations)
    found = stick_kernels.best_sticks(
        np.concatenate((logit(start.means), logs)), terms.n_docs, start.top_concentration,
        start.doc_concentration, terms.active_documents, terms.summed_digamma,
    )  # fmt: skip
    means, concentrations = np.empty_like(start.means), np.empty_like(start.means)
    stick_kernels.unpack(found, means, concentrations)
    best = start._replace(means=means, concentrations=concentrations)
    return best if objective(best, terms)[0] > objective(start, terms)[0] else start
