"""Latent Dirichlet allocation: π_d ~ Dir(α_1, …, α_K), a fixed number of topics.

The concentration that users set is the total Σ_k α_k.
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln, psi

from sparsetopics.batches import FloatArray
from sparsetopics.statistics import DocumentTerms


def terms_of_active(
    active_sums: FloatArray,  # (4, n_topics)  rows as the document step sums them
    total_sums: FloatArray,  # (2,)
    n_docs: float,
    n_tokens: float,
    doc_concentration: FloatArray,  # (n_topics,)
) -> DocumentTerms:
    """Complete sums over the documents in which a topic is active to sums over all documents.

    Elsewhere θ_dk = α_k exactly, so those shares are a count times a constant.
    """
    entropy, n_active, digammas, log_gammas = active_sums
    inactive = n_docs - n_active
    summed = digammas + inactive * psi(doc_concentration) - total_sums[0]
    return DocumentTerms(
        n_docs=n_docs,
        n_tokens=n_tokens,
        assignment_entropy=entropy.copy(),
        summed_expected_log_doc_topic=summed,
        summed_log_gamma=log_gammas + inactive * gammaln(doc_concentration),
        frozen_slack=-doc_concentration * summed,
        summed_log_gamma_total=float(total_sums[1]),
    )


def elbo_documents(terms: DocumentTerms, doc_concentration: FloatArray) -> float:
    """Σ_k H_k + Σ_d [lnB(θ_d) − lnB(α) + Σ_k (N_dk + α_k − θ_dk) E[log π_dk]].

    A bound for every responsibility, whichever local update made it.
    """
    log_normalizer = gammaln(doc_concentration).sum() - gammaln(doc_concentration.sum())
    slack = terms.frozen_slack + doc_concentration * terms.summed_expected_log_doc_topic
    per_topic = terms.assignment_entropy + terms.summed_log_gamma + slack
    return float(np.sum(per_topic) - terms.summed_log_gamma_total - terms.n_docs * log_normalizer)
