"""The ELBO's stick-breaking terms and their gradient, in one pass over the topics."""

from __future__ import annotations

import numpy as np

from sparsetopics.base.batches import FloatArray
from sparsetopics.kernels.special import digamma, log_gamma, own_terms, trigamma
from sparsetopics.kernels.types import kernel


@kernel
def stick_terms(
    means: FloatArray,  # (n_topics,)  ρ
    concentrations: FloatArray,  # (n_topics,)  ω
    n_docs: float,
    top_concentration: float,  # γ
    by_mean: FloatArray,  # (n_topics,)  overwritten: the gradient
    by_concentration: FloatArray,  # (n_topics,)  overwritten
) -> float:
    """Σ_k { lnB(a, b) + (1 + D − a) E[log u] + (γ + D (K + 1 − k) − b) E[log(1 − u)] }."""
    n_topics = means.shape[0]
    value = 0.0
    for k in range(n_topics):
        rho, omega = means[k], concentrations[k]
        a, b = rho * omega, (1.0 - rho) * omega
        for_a, for_b = 1.0 + n_docs, top_concentration + n_docs * (n_topics - k)
        total = digamma(omega)
        value += for_a * (digamma(a) - total) + for_b * (digamma(b) - total)
        value += own_terms(a) + own_terms(b) - own_terms(omega)
        shared = (for_a - a + for_b - b) * trigamma(omega)
        by_a = (for_a - a) * trigamma(a) - shared
        by_b = (for_b - b) * trigamma(b) - shared
        by_mean[k] = omega * (by_a - by_b)
        by_concentration[k] = rho * by_a + (1.0 - rho) * by_b
    return value


@kernel
def add_weight_terms(
    means: FloatArray,  # (n_topics,)  ρ
    n_docs: float,
    doc_concentration: float,  # α
    active_documents: FloatArray,  # (n_topics,)
    summed_digamma: FloatArray,  # (n_topics,)
    by_mean: FloatArray,  # (n_topics,)  added to
) -> float:
    """Σ_k [c_k Σ_active ψ(θ_dk) + (D − D_k) lnΓ(c_k)] with the tail, c = αE[β]."""
    n_topics = means.shape[0]
    pulls = np.zeros(n_topics + 1)  # c_k times the derivative of the terms by c_k
    value, left = 0.0, doc_concentration
    for k in range(n_topics + 1):
        tail = k == n_topics
        c = left if tail else left * means[k]
        inactive = n_docs if tail else n_docs - active_documents[k]
        linear = 0.0 if tail else summed_digamma[k]
        value += c * linear + inactive * log_gamma(c)
        pulls[k] = c * (linear + inactive * digamma(c))
        left -= 0.0 if tail else c
        left = max(left, 1e-300)  # rounding must not make the rest of the stick zero
    # ∂c_l/∂ρ_k is c_k/ρ_k for l = k and −c_l/(1 − ρ_k) for l > k: one sum from the end serves all.
    after = 0.0
    for k in range(n_topics, 0, -1):
        after += pulls[k]
        by_mean[k - 1] += pulls[k - 1] / means[k - 1] - after / (1.0 - means[k - 1])
    return value
