"""What merging two topics would do to the allocation's part of the ELBO, to first order.

Exact in the entropies of assignments; the weights are those of before. Moves use it to choose the
pairs whose exact gain they compute.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from sparsetopics import _pair_kernels, _summary_kernels
from sparsetopics.assignments import Assignments
from sparsetopics.batches import FloatArray
from sparsetopics.statistics import DocumentTerms


class PairGains(NamedTuple):
    """Above the diagonal, (n_topics, n_topics) each."""

    gains: FloatArray  # in nats
    together: FloatArray  # how often two topics are used by the same document, as a cosine


def document_pair_gains(
    batches: Iterable[Assignments], terms: DocumentTerms, reference: FloatArray
) -> PairGains:
    """Of topics that documents mix; ``reference`` (n_topics,) is the α_k of the terms."""
    n_topics = len(reference)
    gains, shared = np.zeros((n_topics, n_topics)), np.zeros((n_topics, n_topics))
    for batch, found in batches:
        _pair_kernels.add_assignment_pair_gains(batch.weights, *found, gains)
        in_documents = _summary_kernels.doc_topic_counts(
            batch.indptr, batch.weights, *found, n_topics
        )
        _pair_kernels.add_document_pair_gains(*in_documents, reference, gains, shared)
    gains += _prior_gains(terms, reference, shared)
    return PairGains(gains, _cosine(shared, terms.active_documents))


def item_pair_gains(batches: Iterable[Assignments], counts: FloatArray) -> PairGains:
    """Of components of a mixture that have ``counts`` (n_topics,) items.

    The weights integrated out, a merge of two components adds lnΓ(N_a + N_b) − lnΓ(N_a) − lnΓ(N_b),
    but for what the prior of one component less is worth; each N_k is taken as one more, so that
    empty components have a gain too.
    """
    n_topics = len(counts)
    gains, shared = np.zeros((n_topics, n_topics)), np.zeros((n_topics, n_topics))
    for batch, found in batches:
        _pair_kernels.add_assignment_pair_gains(batch.weights, *found, gains)
        _pair_kernels.add_shared_shares(*found, shared)
    sizes = counts + 1.0
    gains += gammaln(sizes[:, None] + sizes[None, :])
    gains -= gammaln(sizes)[:, None] + gammaln(sizes)[None, :]
    return PairGains(gains, _cosine(shared, sizes))


def _cosine(shared: FloatArray, sizes: FloatArray) -> FloatArray:
    sizes = np.maximum(sizes, 1.0)
    cosine: FloatArray = (shared + shared.T) / np.sqrt(sizes[:, None] * sizes[None, :])
    return cosine


def _prior_gains(terms: DocumentTerms, prior: FloatArray, shared: FloatArray) -> FloatArray:
    """The part that the priors of documents decide, (n_topics, n_topics).

    A document that uses a only owes lnΓ(N_a + α_a + α_b) − lnΓ(N_a + α_a) − lnΓ(α_b), one that uses
    neither lnΓ(α_a + α_b) − lnΓ(α_a) − lnΓ(α_b), and the sticks log(α_a + α_b) − log α_a − log α_b.
    """
    active, summed = terms.active_documents, terms.summed_digamma
    both = prior[:, None] + prior[None, :]
    log_gammas = gammaln(prior)
    only = active[:, None] - shared  # [a, b]: documents that use a and not b, above the diagonal
    only_other = active[None, :] - shared
    linear = prior[None, :] * summed[:, None] + prior[:, None] * summed[None, :]
    of_one = -only * log_gammas[None, :] - only_other * log_gammas[:, None]
    neither = terms.n_docs - active[:, None] - active[None, :] + shared
    apart = log_gammas[:, None] + log_gammas[None, :]
    logs = np.log(both) - np.log(prior)[:, None] - np.log(prior)[None, :]
    gains: FloatArray = linear + of_one + neither * (gammaln(both) - apart) + terms.n_docs * logs
    return gains
