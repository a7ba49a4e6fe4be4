"""The part of the ELBO that documents' topic proportions make, the same for LDA and HDP.

For a document with π_d ~ Dir(c_1, …, c_K) and q(π_d) = Dir(θ_d) the part that is not the prior's
normaliser is

    lnB(θ_d) + Σ_k (N_dk + c_k − θ_dk) E[log π_dk].

It is a bound for every θ_d, and the best one is θ_dk = N_dk + c_k, where it is
Σ_k lnΓ(N_dk + c_k) − lnΓ(N_d + c). Memoized sums keep the θ_d of the time of the visit while c
moves on; written out per topic, E[log π_dk] = ψ(θ_dk) − ψ(θ_d), θ_d = Σ_k θ_dk, each contributes

    lnΓ(θ_dk) + (N_dk − θ_dk) ψ(θ_dk)   (frozen)   +   c_k ψ(θ_dk)   (live)

and the total the same with the sign turned. Where a topic is not active in a document, θ_dk = c_k
needs no memory: it can follow c, and contributes lnΓ(c_k). Frozen and followed θ_dk need not add up
to N_d + c for this to be a bound: lnΓ is convex, so each topic's tangent lies below it, and the
total is exact as long as c, in total, stays as it was.
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln, psi

from sparsetopics.base.batches import DocumentBatch, FloatArray, worker_blocks
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
    """−Σ_d [lnΓ(θ_d) + (N_d + c − θ_d) ψ(θ_d)], what the documents' totals take away."""
    digammas, log_gammas, slack = terms.totals.tolist()
    return -float(log_gammas + slack + total_concentration * digammas)


def frozen_everywhere(terms: DocumentTerms, concentration: FloatArray) -> DocumentTerms:
    """The same documents with all θ_dk written down, those of inactive topics too.

    So the bound stays one when the total concentration changes, on which all documents depend.
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
    """Sums over the documents with θ_dk = N_dk + α_k; ``tail`` is α of topics none uses."""
    counts = batch.word_counts.astype(np.float64)
    doc_concentration = np.require(doc_concentration, requirements="W")  # one numba signature

    def add(block: tuple[int, int]) -> tuple[FloatArray, FloatArray]:
        first, last = block
        sums, totals = np.zeros((len(TERMS_BY_TOPIC), len(doc_concentration))), np.zeros(3)
        summary_kernels.add_topic_terms(
            batch.indptr[first : last + 1], counts, *found, doc_concentration, sums, totals, tail
        )
        return sums, totals

    blocks = executor.map(add, worker_blocks(batch.indptr))
    by_topic = sum(
        (sums for sums, _ in blocks), np.zeros((len(TERMS_BY_TOPIC), len(doc_concentration)))
    )
    totals = sum((totals for _, totals in blocks), np.zeros(3))
    return DocumentTerms._make((float(batch.n_docs), float(counts.sum()), *by_topic, totals))
