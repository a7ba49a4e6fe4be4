"""Learning Dirichlet concentrations by fixed point (Minka 2000, "Estimating a Dirichlet").

Every iteration raises the ELBO with all else fixed, so the bound never falls.
"""

from __future__ import annotations

import numpy as np
from scipy.special import polygamma, psi

from sparsetopics.base.batches import FloatArray
from sparsetopics.model.statistics import DocumentTerms

ITERATIONS = 20
SMALLEST, LARGEST = 1e-6, 1e4  # of a concentration
HIGHEST_DIGAMMA = 100.0  # far above ψ(LARGEST); an edited file may hold more, and exp overflow


def learn_doc_concentration(
    doc_concentration: FloatArray,  # (n_topics,)
    terms: DocumentTerms,
) -> FloatArray:
    """α that maximizes Σ_k α_k T_k − D lnB(α) with T_k = Σ_d E[log π_dk], one number per topic.

    Fixed point ψ(α_k) = ψ(Σ_j α_j) + T_k / D.
    """
    mean_logs = (terms.summed_digamma - terms.totals[0]) / terms.n_docs
    learned = doc_concentration
    for _ in range(ITERATIONS):
        learned = np.clip(inverse_digamma(psi(learned.sum()) + mean_logs), SMALLEST, LARGEST)
    return learned


def learn_word_concentration(
    word_concentration: float,
    word_topic_counts: FloatArray,  # (n_words, n_topics)
) -> float:
    """η that maximizes Σ_k [lnB(S_k + η) − lnB(η1)].

    Fixed point η ← η Σ_kv [ψ(S_kv + η) − ψ(η)] / (V Σ_k [ψ(N_k + Vη) − ψ(Vη)]).
    """
    n_words = word_topic_counts.shape[0]
    seen = word_topic_counts[word_topic_counts > 0.0]
    totals = word_topic_counts.sum(axis=0)
    learned = word_concentration
    for _ in range(ITERATIONS):
        gain = np.sum(psi(seen + learned) - psi(learned))
        spread = n_words * np.sum(psi(totals + n_words * learned) - psi(n_words * learned))
        if spread <= 0.0:
            break
        learned = float(np.clip(learned * gain / spread, SMALLEST, LARGEST))
    return learned


def inverse_digamma(values: FloatArray) -> FloatArray:
    """x with ψ(x) = value, by Newton's method from Minka's start (appendix C)."""
    low, high = np.minimum(values, -2.22), np.minimum(values, HIGHEST_DIGAMMA)
    x: FloatArray = np.where(values >= -2.22, np.exp(high) + 0.5, -1.0 / (low - psi(1.0)))
    for _ in range(6):
        x = np.maximum(x - (psi(x) - values) / polygamma(1, x), 1e-300)
    return x
