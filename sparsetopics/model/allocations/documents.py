"""The part of the ELBO that comes from documents' topic proportions, the same for LDA and HDP.

For a document with π_d ~ Dir(c_1, …, c_K) and q(π_d) = Dir(θ_d), the part without the prior's
normalizer is

    lnB(θ_d) + Σ_k (N_dk + c_k − θ_dk) E[log π_dk].

It is a bound for every θ_d. The best is θ_dk = N_dk + c_k, which gives
Σ_k lnΓ(N_dk + c_k) − lnΓ(N_d + c). Memoized sums keep the θ_d of the visit while c changes. With
E[log π_dk] = ψ(θ_dk) − ψ(θ_d) and θ_d = Σ_k θ_dk, each topic contributes

    lnΓ(θ_dk) + (N_dk − θ_dk) ψ(θ_dk)   (frozen)   +   c_k ψ(θ_dk)   (live)

and the total contributes the same with the opposite sign. Where a topic is not active in a
document, θ_dk = c_k need not be stored: it follows c and contributes lnΓ(c_k). Frozen and following
θ_dk need not add up to N_d + c for this to be a bound: lnΓ is convex, so each topic's tangent lies
below it, and the total is exact as long as the total of c does not change.
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln, psi

from sparsetopics.base.batches import DocumentBatch, FloatArray, cut_blocks
from sparsetopics.execution.executors import Executor
from sparsetopics.kernels import summaries as summary_kernels
from sparsetopics.model.responsibilities import Responsibilities
from sparsetopics.model.statistics import TERMS_BY_TOPIC, DocumentTerms


def bound_by_topic(terms: DocumentTerms, concentration: FloatArray) -> FloatArray:
    """Entropy and Dirichlet part of each topic under c_k = ``concentration``, (n_topics,)."""
    inactive = terms.n_docs - terms.active_documents
    bound: FloatArray = (
        terms.assignment_entropy
        + terms.summed_log_gamma
        + terms.frozen_slack
        + concentration * terms.summed_digamma
        + inactive * gammaln(concentration)
    )
    return bound


def bound_of_totals(terms: DocumentTerms, total_concentration: float) -> float:
    """−Σ_d [lnΓ(θ_d) + (N_d + c − θ_d) ψ(θ_d)], the contribution of the documents' totals."""
    digammas, log_gammas, slack = terms.totals.tolist()
    return -float(log_gammas + slack + total_concentration * digammas)


def frozen_everywhere(terms: DocumentTerms, concentration: FloatArray) -> DocumentTerms:
    """The same documents with every θ_dk frozen, those of inactive topics included.

    So the sum stays a bound when the total concentration changes, on which all documents depend.
    """
    inactive = terms.n_docs - terms.active_documents
    digammas = inactive * psi(concentration)
    return terms._replace(
        active_documents=np.full_like(concentration, terms.n_docs),
        summed_digamma=terms.summed_digamma + digammas,
        summed_log_gamma=terms.summed_log_gamma + inactive * gammaln(concentration),
        frozen_slack=terms.frozen_slack - concentration * digammas,
    )


def sum_terms(
    batch: DocumentBatch,
    found: Responsibilities,
    doc_concentration: FloatArray,
    tail: float,
    executor: Executor,
) -> DocumentTerms:
    """Sums over documents with θ_dk = N_dk + α_k; ``tail`` is the α of topics that none uses."""
    counts = batch.word_counts.astype(np.float64)
    shape = len(TERMS_BY_TOPIC), len(doc_concentration)
    # numba compiles anew for read-only arrays.
    doc_concentration = np.require(doc_concentration, requirements="W")

    def add(block: tuple[int, int]) -> tuple[FloatArray, FloatArray]:
        first, last = block
        sums, totals = np.zeros(shape), np.zeros(3)
        summary_kernels.add_topic_terms(
            batch.indptr[first : last + 1], counts, found, doc_concentration, sums, totals, tail
        )
        return sums, totals

    blocks = executor.map(add, cut_blocks(batch.indptr))
    by_topic = sum((sums for sums, _ in blocks), np.zeros(shape))
    totals = sum((totals for _, totals in blocks), np.zeros(3))
    return DocumentTerms._make((float(batch.n_docs), float(counts.sum()), *by_topic, totals))
