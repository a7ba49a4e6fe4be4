"""Stick-breaking weights of an HDP: q(u_k) = Beta(ρ_k ω_k, (1 − ρ_k) ω_k), and their global step.

With c_k = αE[β_k] and c_{K+1} = αE[β_{>K}], the terms of the ELBO that contain (ρ, ω) are

    Σ_k { lnB(a_k, b_k) + (1 + D − a_k) E[log u_k] + (γ + D (K + 1 − k) − b_k) E[log(1 − u_k)] }
    + Σ_{k≤K} [ c_k Σ_{d: k active} ψ(θ_dk) + (D − D_k) lnΓ(c_k) ] + D lnΓ(c_{K+1}),

a_k = ρ_k ω_k, b_k = (1 − ρ_k) ω_k (HDP15). Where k is not active, θ_dk = c_k follows c (see
``documents``); the paper freezes it there, which ties β to its former value. The gradient takes
O(K) time: ∂c_l/∂ρ_k is c_k/ρ_k for l = k and −c_l/(1 − ρ_k) for l > k, so one reversed cumulative
sum serves all k.
"""

from __future__ import annotations

import numpy as np
from scipy.special import logit, xlogy

from sparsetopics.base.batches import FloatArray
from sparsetopics.kernels import sticks as stick_kernels
from sparsetopics.model.statistics import DocumentTerms
from sparsetopics.model.topic_posterior import Sticks

SMALLEST = stick_kernels.SMALLEST


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
