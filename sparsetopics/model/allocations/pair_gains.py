"""What merging two topics would do to the allocation's part of the ELBO, to first order.

Exact in the entropies of assignments; the weights are those of before. Moves use it to choose the
pairs whose exact gain they compute.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln, psi

from sparsetopics.base.batches import FloatArray
from sparsetopics.kernels import pairs as pair_kernels
from sparsetopics.kernels import summaries as summary_kernels
from sparsetopics.kernels.types import TopicIds
from sparsetopics.model.assignments import Assignments
from sparsetopics.model.statistics import B


class PairGains(NamedTuple):
    """Above the diagonal, (n_topics, n_topics) each."""

    gains: FloatArray  # in nats
    together: FloatArray  # how often two topics are used by the same document, as a cosine


def document_pair_gains(
    batches: Iterable[Assignments[B]], n_docs: float, reference: FloatArray
) -> PairGains:
    """Of topics that documents mix; θ_dk = N_dk + the α_k of ``reference`` (n_topics,)."""
    n_topics = len(reference)
    gains, shared = np.zeros((n_topics, n_topics)), np.zeros((n_topics, n_topics))
    used = _Used(n_docs, np.zeros(n_topics), np.zeros(n_topics))
    for batch, found in batches:
        pair_kernels.add_assignment_pair_gains(batch.weights, *found, gains)
        in_documents = summary_kernels.doc_topic_counts(
            batch.indptr, batch.weights, *found, n_topics
        )
        pair_kernels.add_document_pair_gains(*in_documents, reference, gains, shared)
        used = used.plus(*in_documents[1:], reference)
    gains += _prior_gains(used, reference, shared)
    return PairGains(gains, _cosine(shared, used.n_users))


def item_pair_gains(batches: Iterable[Assignments[B]], counts: FloatArray) -> PairGains:
    """Of components of a mixture that have ``counts`` (n_topics,) items.

    The weights integrated out, a merge of two components adds lnΓ(N_a + N_b) − lnΓ(N_a) − lnΓ(N_b),
    but for what the prior of one component less is worth; each N_k is taken as one more, so that
    empty components have a gain too.
    """
    n_topics = len(counts)
    gains, shared = np.zeros((n_topics, n_topics)), np.zeros((n_topics, n_topics))
    for batch, found in batches:
        pair_kernels.add_assignment_pair_gains(batch.weights, *found, gains)
        pair_kernels.add_shared_shares(*found, shared)
    sizes = counts + 1.0
    gains += gammaln(sizes[:, None] + sizes[None, :])
    gains -= gammaln(sizes)[:, None] + gammaln(sizes)[None, :]
    return PairGains(gains, _cosine(shared, sizes))


def _cosine(shared: FloatArray, sizes: FloatArray) -> FloatArray:
    sizes = np.maximum(sizes, 1.0)
    cosine: FloatArray = (shared + shared.T) / np.sqrt(sizes[:, None] * sizes[None, :])
    return cosine


class _Used(NamedTuple):
    """What the documents that use a topic are to it."""

    n_docs: float  # of all
    n_users: FloatArray  # (n_topics,)
    summed_digamma: FloatArray  # (n_topics,)  Σ_d ψ(θ_dk) over those

    def plus(self, topics: TopicIds, counts: FloatArray, prior: FloatArray) -> _Used:
        """With entries of more documents."""
        digammas = psi(counts + prior[topics])
        n_topics = len(prior)
        return self._replace(
            n_users=self.n_users + np.bincount(topics, minlength=n_topics),
            summed_digamma=self.summed_digamma + np.bincount(topics, digammas, n_topics),
        )


def _prior_gains(used: _Used, prior: FloatArray, shared: FloatArray) -> FloatArray:
    """The part that the priors of documents decide, (n_topics, n_topics).

    A document that uses a only owes lnΓ(N_a + α_a + α_b) − lnΓ(N_a + α_a) − lnΓ(α_b), one that uses
    neither lnΓ(α_a + α_b) − lnΓ(α_a) − lnΓ(α_b), and the sticks log(α_a + α_b) − log α_a − log α_b.
    """
    active, summed = used.n_users, used.summed_digamma
    both = prior[:, None] + prior[None, :]
    log_gammas = gammaln(prior)
    only = active[:, None] - shared  # [a, b]: documents that use a and not b, above the diagonal
    only_other = active[None, :] - shared
    linear = prior[None, :] * summed[:, None] + prior[:, None] * summed[None, :]
    of_one = -only * log_gammas[None, :] - only_other * log_gammas[:, None]
    neither = used.n_docs - active[:, None] - active[None, :] + shared
    apart = log_gammas[:, None] + log_gammas[None, :]
    logs = np.log(both) - np.log(prior)[:, None] - np.log(prior)[None, :]
    gains: FloatArray = linear + of_one + neither * (gammaln(both) - apart) + used.n_docs * logs
    return gains
