"""Numba kernels that sum responsibilities: by topic, by document and topic, by word and topic.

Responsibilities are compressed sparse rows, one row for each document-word pair. Letters: d
document, u pair, v row of a batch's words, k topic, i entry.
"""

from __future__ import annotations

import numpy as np

from sparsetopics.base.batches import FloatArray, IntArray
from sparsetopics.kernels.special import digamma, fill_logs, log_gamma
from sparsetopics.kernels.types import Float32Array, SparseShares, TopicIds, kernel


@kernel
def take_rows(
    found: SparseShares, others: SparseShares, rows: IntArray
) -> tuple[IntArray, TopicIds, Float32Array]:
    """The chosen rows, (n_taken,), in that order; those of ``others`` are numbered last."""
    n_found = found.starts.shape[0] - 1
    starts = np.zeros(rows.shape[0] + 1, np.int64)
    for i in range(rows.shape[0]):
        source, row = (found, rows[i]) if rows[i] < n_found else (others, rows[i] - n_found)
        starts[i + 1] = starts[i] + source.starts[row + 1] - source.starts[row]
    topics = np.empty(starts[-1], np.uint32)
    values = np.empty(starts[-1], np.float32)
    for i in range(rows.shape[0]):
        source, row = (found, rows[i]) if rows[i] < n_found else (others, rows[i] - n_found)
        shift = source.starts[row] - starts[i]
        for place in range(starts[i], starts[i + 1]):
            topics[place] = source.topics[place + shift]
            values[place] = source.shares[place + shift]
    return starts, topics, values


@kernel
def renumber(
    found: SparseShares,
    new_topics: IntArray,  # (n_topics,)  the new number of each topic, -1 to leave it out
) -> tuple[IntArray, TopicIds, Float32Array]:
    """Responsibilities under new topic numbers; topics with the same new number become one."""
    n_pairs = found.starts.shape[0] - 1
    new_starts = np.zeros(n_pairs + 1, np.int64)
    row_topics = np.empty(found.topics.shape[0], np.uint32)
    values = np.empty(found.topics.shape[0], np.float32)
    sums = np.zeros(found.topics.shape[0])  # in float64, to be rounded once, when a row is complete
    filled = 0
    for u in range(n_pairs):
        first = filled
        for i in range(found.starts[u], found.starts[u + 1]):
            k = new_topics[found.topics[i]]
            if k < 0:
                continue
            # Rows have few entries: a linear search needs no table of all topics.
            place = first
            while place < filled and row_topics[place] != k:
                place += 1
            if place == filled:
                row_topics[filled] = k
                sums[place] = 0.0
                filled += 1
            sums[place] += found.shares[i]
        for place in range(first, filled):
            values[place] = sums[place]
        new_starts[u + 1] = filled
    return new_starts, row_topics[:filled].copy(), values[:filled].copy()


@kernel
def add_topic_terms(
    indptr: IntArray,  # (n_docs + 1,)  positions of the documents' pairs
    counts: FloatArray,  # (n_pairs,)
    found: SparseShares,  # a row for each pair
    prior: FloatArray,  # (n_topics,)  α_k
    terms: FloatArray,  # (5, n_topics)  added to
    totals: FloatArray,  # (3,)  added to
    tail: float,  # prior mass of topics that no document uses
) -> None:
    """The sums of ``DocumentTerms``, in its order, at θ_dk = N_dk + α_k.

    Rows of ``terms``: −Σ x r log r; the number of documents in which k is active; and, over those
    documents, Σ ψ(θ_dk), Σ lnΓ(θ_dk) and Σ (N_dk − θ_dk) ψ(θ_dk).
    """
    n_topics = prior.shape[0]
    first, last = found.starts[indptr[0]], found.starts[indptr[-1]]
    mass = np.zeros(n_topics)
    used = np.zeros(n_topics, np.uint32)
    logs = np.empty(last - first)
    fill_logs(found.shares[first:last], logs)
    prior_total = tail
    for k in range(n_topics):
        prior_total += prior[k]
    for d in range(indptr.shape[0] - 1):
        n_used, length = 0, 0.0
        for u in range(indptr[d], indptr[d + 1]):
            length += counts[u]
            for i in range(found.starts[u], found.starts[u + 1]):
                k, share = found.topics[i], np.float64(found.shares[i])
                if mass[k] == 0.0:
                    used[n_used] = k
                    n_used += 1
                mass[k] += counts[u] * share
                terms[0, k] -= counts[u] * share * logs[i - first]
        for j in range(n_used):
            k = used[j]
            value = mass[k] + prior[k]
            log_derivative = digamma(value)
            terms[1, k] += 1.0
            terms[2, k] += log_derivative
            terms[3, k] += log_gamma(value)
            terms[4, k] -= prior[k] * log_derivative
            mass[k] = 0.0
        total = length + prior_total
        log_derivative = digamma(total)
        totals[0] += log_derivative
        totals[1] += log_gamma(total)
        totals[2] -= prior_total * log_derivative


@kernel
def doc_topic_counts(
    indptr: IntArray,  # (n_docs + 1,)
    counts: FloatArray,  # (n_pairs,)
    found: SparseShares,  # a row for each pair
    n_topics: int,
) -> tuple[IntArray, TopicIds, FloatArray]:
    """N_dk as sparse rows: document starts, topics in order of appearance, counts."""
    n_docs = indptr.shape[0] - 1
    doc_starts = np.zeros(n_docs + 1, np.int64)
    row_topics = np.empty(found.topics.shape[0], np.uint32)
    values = np.empty(found.topics.shape[0])
    place = np.full(n_topics, -1)  # of a topic's entry; below ``first`` it is another document's
    filled = 0
    for d in range(n_docs):
        first = filled
        for u in range(indptr[d], indptr[d + 1]):
            for i in range(found.starts[u], found.starts[u + 1]):
                k = found.topics[i]
                if place[k] < first:
                    place[k] = filled
                    row_topics[filled] = k
                    values[filled] = 0.0
                    filled += 1
                values[place[k]] += counts[u] * found.shares[i]
        doc_starts[d + 1] = filled
    return doc_starts, row_topics[:filled].copy(), values[:filled].copy()
