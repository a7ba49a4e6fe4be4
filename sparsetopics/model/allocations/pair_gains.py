"""How merging two topics would change the allocation's part of the ELBO, to first order.

The change in the entropy of assignments is exact; the topic weights are those before the merge.
Moves use these gains to choose the pairs whose exact gain they compute.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from scipy.special import gammaln, psi

from sparsetopics.base.batches import FloatArray
from sparsetopics.kernels import pairs as pair_kernels
from sparsetopics.kernels import summaries as summary_kernels
from sparsetopics.model.assignments import Assignments
from sparsetopics.model.statistics import B


def document_pair_gains(
    batches: Iterable[Assignments[B]], n_docs: float, reference: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """``pair_gains`` of documents with θ_dk = N_dk + α_k; ``reference`` (n_topics,) is α_k.

    Kernels add the gains of words and documents that use both topics. A document that uses only a
    contributes lnΓ(N_a + α_a + α_b) − lnΓ(N_a + α_a) − lnΓ(α_b), to first order. A document that
    uses neither contributes lnΓ(α_a + α_b) − lnΓ(α_a) − lnΓ(α_b). The sticks contribute
    log(α_a + α_b) − log α_a − log α_b for each document.
    """
    n_topics = len(reference)
    gains, shared = np.zeros((n_topics, n_topics)), np.zeros((n_topics, n_topics))
    active, summed = np.zeros(n_topics), np.zeros(n_topics)  # documents that use k, their Σ ψ(θ_dk)
    for batch, found in batches:
        pair_kernels.add_assignment_pair_gains(batch.weights, found, gains)
        in_documents = summary_kernels.doc_topic_counts(
            batch.indptr, batch.weights, found, n_topics
        )
        pair_kernels.add_document_pair_gains(*in_documents, reference, gains, shared)
        _, topics, counts = in_documents
        active += np.bincount(topics, minlength=n_topics)
        summed += np.bincount(topics, psi(counts + reference[topics]), n_topics)
    both, log_gammas = reference[:, None] + reference[None, :], gammaln(reference)
    only = active[:, None] - shared  # [a, b]: documents that use a and not b, above the diagonal
    only_other = active[None, :] - shared
    linear = reference[None, :] * summed[:, None] + reference[:, None] * summed[None, :]
    of_one = -only * log_gammas[None, :] - only_other * log_gammas[:, None]
    neither = n_docs - active[:, None] - active[None, :] + shared
    apart = log_gammas[:, None] + log_gammas[None, :]
    logs = np.log(both) - np.log(reference)[:, None] - np.log(reference)[None, :]
    gains += linear + of_one + neither * (gammaln(both) - apart) + n_docs * logs
    return gains, _cosine(shared, active)


def item_pair_gains(
    batches: Iterable[Assignments[B]], counts: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """``pair_gains`` of a mixture whose components have ``counts`` (n_topics,) items.

    With the weights integrated out, merging two components adds lnΓ(N_a + N_b) − lnΓ(N_a) −
    lnΓ(N_b), apart from what the prior of one component less is worth. Each N_k is increased by
    one, so that empty components have a gain too.
    """
    n_topics = len(counts)
    gains, shared = np.zeros((n_topics, n_topics)), np.zeros((n_topics, n_topics))
    for batch, found in batches:
        pair_kernels.add_assignment_pair_gains(batch.weights, found, gains)
        pair_kernels.add_shared_shares(found, shared)
    sizes = counts + 1.0
    gains += gammaln(sizes[:, None] + sizes[None, :])
    gains -= gammaln(sizes)[:, None] + gammaln(sizes)[None, :]
    return gains, _cosine(shared, sizes)


def _cosine(shared: FloatArray, sizes: FloatArray) -> FloatArray:
    sizes = np.maximum(sizes, 1.0)
    return (shared + shared.T) / np.sqrt(sizes[:, None] * sizes[None, :])
