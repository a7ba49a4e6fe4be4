"""Numba kernels that sum responsibilities: by topic, by document and topic, by word and topic.

Responsibilities are compressed sparse rows, one row for each document-word pair. Letters: d
document, u pair, v row of a batch's words, k topic, i entry.
"""

from __future__ import annotations

import math

import numpy as np

from sparsetopics.base.batches import FloatArray, IntArray
from sparsetopics.kernels.special import digamma
from sparsetopics.kernels.types import Float32Array, TopicIds, kernel


@kernel
def compact(
    topics: TopicIds,  # (n_pairs, n_slots)
    shares: FloatArray,  # (n_pairs, n_slots)
) -> tuple[IntArray, TopicIds, Float32Array]:
    """The slots in use as sparse rows.

    Shares are rounded to float32 here and nowhere else, so that all sums use the same numbers.
    """
    n_pairs, n_slots = topics.shape
    starts = np.zeros(n_pairs + 1, np.int64)
    for u in range(n_pairs):
        used = 0
        for slot in range(n_slots):
            used += 1 if np.float32(shares[u, slot]) > 0.0 else 0
        starts[u + 1] = starts[u] + used
    row_topics = np.empty(starts[n_pairs], np.uint32)
    values = np.empty(starts[n_pairs], np.float32)
    filled = 0
    for u in range(n_pairs):
        for slot in range(n_slots):
            share = np.float32(shares[u, slot])
            if share > 0.0:
                row_topics[filled] = topics[u, slot]
                values[filled] = share
                filled += 1
    return starts, row_topics, values


@kernel
def renumber(
    starts: IntArray,  # (n_pairs + 1,)
    topics: TopicIds,
    shares: Float32Array,
    new_topics: IntArray,  # (n_topics,)  the new number of each topic, -1 to leave it out
) -> tuple[IntArray, TopicIds, Float32Array]:
    """Responsibilities under new topic numbers; topics with the same new number become one."""
    n_pairs = starts.shape[0] - 1
    new_starts = np.zeros(n_pairs + 1, np.int64)
    row_topics = np.empty(topics.shape[0], np.uint32)
    values = np.empty(topics.shape[0], np.float32)
    sums = np.zeros(topics.shape[0])  # in float64, to be rounded once, when a row is complete
    filled = 0
    for u in range(n_pairs):
        first = filled
        for i in range(starts[u], starts[u + 1]):
            k = new_topics[topics[i]]
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
            sums[place] += shares[i]
        for place in range(first, filled):
            values[place] = sums[place]
        new_starts[u + 1] = filled
    return new_starts, row_topics[:filled].copy(), values[:filled].copy()


@kernel
def add_topic_terms(
    indptr: IntArray,  # (n_docs + 1,)  positions of the documents' pairs
    counts: FloatArray,  # (n_pairs,)
    starts: IntArray,  # (n_pairs + 1,)
    topics: TopicIds,
    shares: Float32Array,
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
    mass = np.zeros(n_topics)
    used = np.zeros(n_topics, np.uint32)
    prior_total = tail
    for k in range(n_topics):
        prior_total += prior[k]
    for d in range(indptr.shape[0] - 1):
        n_used, length = 0, 0.0
        for u in range(indptr[d], indptr[d + 1]):
            length += counts[u]
            for i in range(starts[u], starts[u + 1]):
                k, share = topics[i], np.float64(shares[i])
                if mass[k] == 0.0:
                    used[n_used] = k
                    n_used += 1
                mass[k] += counts[u] * share
                if share < 1.0:
                    terms[0, k] -= counts[u] * share * math.log(share)
        for j in range(n_used):
            k = used[j]
            value = mass[k] + prior[k]
            log_derivative = digamma(value)
            terms[1, k] += 1.0
            terms[2, k] += log_derivative
            terms[3, k] += math.lgamma(value)
            terms[4, k] -= prior[k] * log_derivative
            mass[k] = 0.0
        total = length + prior_total
        log_derivative = digamma(total)
        totals[0] += log_derivative
        totals[1] += math.lgamma(total)
        totals[2] -= prior_total * log_derivative


@kernel
def sum_by_word(
    pair_starts: IntArray,  # (n_rows + 1,)
    pairs: IntArray,  # (n_pairs,)  positions of each row's pairs, row after row
    counts: FloatArray,  # (n_pairs,)
    starts: IntArray,  # (n_pairs + 1,)
    topics: TopicIds,
    shares: Float32Array,
    n_topics: int,
) -> tuple[IntArray, TopicIds, Float32Array]:
    """Expected counts S_vk = Σ x r as sparse rows: row starts, topics rising, values.

    Pairs are added in the given order, so the sums do not depend on which worker had which
    documents. Values are rounded to float32 here, so that what is stored is what is summed.
    """
    n_rows = pair_starts.shape[0] - 1
    row_starts = np.zeros(n_rows + 1, np.int64)
    capacity = 0
    for v in range(n_rows):
        entries = 0
        for p in range(pair_starts[v], pair_starts[v + 1]):
            entries += starts[pairs[p] + 1] - starts[pairs[p]]
        capacity += min(n_topics, entries)
    row_topics = np.empty(capacity, np.uint32)
    values = np.empty(capacity, np.float32)
    row = np.zeros(n_topics)  # one dense row, reset after use, gives topics in rising order
    filled = 0
    for v in range(n_rows):
        for p in range(pair_starts[v], pair_starts[v + 1]):
            pair = pairs[p]
            for i in range(starts[pair], starts[pair + 1]):
                row[topics[i]] += counts[pair] * shares[i]
        for k in range(n_topics):
            if row[k] > 0.0:
                row_topics[filled] = k
                values[filled] = row[k]
                filled += 1
                row[k] = 0.0
        row_starts[v + 1] = filled
    return row_starts, row_topics[:filled].copy(), values[:filled].copy()


@kernel
def doc_topic_counts(
    indptr: IntArray,  # (n_docs + 1,)
    counts: FloatArray,  # (n_pairs,)
    starts: IntArray,  # (n_pairs + 1,)
    topics: TopicIds,
    shares: Float32Array,
    n_topics: int,
) -> tuple[IntArray, TopicIds, FloatArray]:
    """N_dk as sparse rows: document starts, topics in order of appearance, counts."""
    n_docs = indptr.shape[0] - 1
    doc_starts = np.zeros(n_docs + 1, np.int64)
    row_topics = np.empty(topics.shape[0], np.uint32)
    values = np.empty(topics.shape[0])
    place = np.full(n_topics, -1)  # of a topic's entry; below ``first`` it is another document's
    filled = 0
    for d in range(n_docs):
        first = filled
        for u in range(indptr[d], indptr[d + 1]):
            for i in range(starts[u], starts[u + 1]):
                k = topics[i]
                if place[k] < first:
                    place[k] = filled
                    row_topics[filled] = k
                    values[filled] = 0.0
                    filled += 1
                values[place[k]] += counts[u] * shares[i]
        doc_starts[d + 1] = filled
    return doc_starts, row_topics[:filled].copy(), values[:filled].copy()
