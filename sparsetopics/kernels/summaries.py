"""Numba kernels that sum responsibilities: by topic, by document and topic, by word and topic.

Responsibilities come as compressed sparse rows, one row for each document-word pair. Letters: d
document, u pair, v row of a batch's words, k topic, i entry.
"""

from __future__ import annotations

import math

import numba
import numpy as np

from sparsetopics.base.batches import FloatArray, IntArray
from sparsetopics.kernels.special import digamma
from sparsetopics.kernels.types import Float32Array, TopicIds


@numba.njit(cache=True, nogil=True)
def compact(
    topics: TopicIds,  # (n_pairs, n_slots)
    shares: FloatArray,  # (n_pairs, n_slots)
) -> tuple[IntArray, TopicIds, Float32Array]:
    """Slots in use as sparse rows, shares rounded to float32 once, here: all sums see the same."""
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


@numba.njit(cache=True, nogil=True)
def take_rows(
    starts: IntArray,  # (n_pairs + 1,)
    topics: TopicIds,
    shares: Float32Array,
    pairs: IntArray,  # (n_taken,)
) -> tuple[IntArray, TopicIds, Float32Array]:
    """The rows of ``pairs``, in that order."""
    new_starts = np.zeros(len(pairs) + 1, np.int64)
    for place in range(len(pairs)):
        u = pairs[place]
        new_starts[place + 1] = new_starts[place] + starts[u + 1] - starts[u]
    row_topics = np.empty(new_starts[-1], np.uint32)
    values = np.empty(new_starts[-1], np.float32)
    for place in range(len(pairs)):
        shift = new_starts[place] - starts[pairs[place]]
        for i in range(starts[pairs[place]], starts[pairs[place] + 1]):
            row_topics[i + shift] = topics[i]
            values[i + shift] = shares[i]
    return new_starts, row_topics, values


@numba.njit(cache=True, nogil=True)
def overlay_rows(
    starts: IntArray,  # (n_pairs + 1,)
    topics: TopicIds,
    shares: Float32Array,
    other_starts: IntArray,  # (n_new + 1,)
    other_topics: TopicIds,
    other_shares: Float32Array,
    source: IntArray,  # (n_pairs,)  the row of the others in a pair's place, -1: its own
) -> tuple[IntArray, TopicIds, Float32Array]:
    """Rows of which some are replaced by others."""
    n_pairs = len(source)
    new_starts = np.zeros(n_pairs + 1, np.int64)
    for u in range(n_pairs):
        row = source[u]
        length = starts[u + 1] - starts[u] if row < 0 else other_starts[row + 1] - other_starts[row]
        new_starts[u + 1] = new_starts[u] + length
    row_topics = np.empty(new_starts[-1], np.uint32)
    values = np.empty(new_starts[-1], np.float32)
    for u in range(n_pairs):
        row, lo = source[u], new_starts[u]
        for i in range(new_starts[u + 1] - lo):
            if row < 0:
                row_topics[lo + i] = topics[starts[u] + i]
                values[lo + i] = shares[starts[u] + i]
            else:
                row_topics[lo + i] = other_topics[other_starts[row] + i]
                values[lo + i] = other_shares[other_starts[row] + i]
    return new_starts, row_topics, values


@numba.njit(cache=True, nogil=True)
def renumber(
    starts: IntArray,  # (n_pairs + 1,)
    topics: TopicIds,
    shares: Float32Array,
    new_topics: IntArray,  # (n_topics,)  the new number of each topic, -1 to leave it out
) -> tuple[IntArray, TopicIds, Float32Array]:
    """Responsibilities under new numbers; topics that get the same number become one."""
    n_pairs = starts.shape[0] - 1
    new_starts = np.zeros(n_pairs + 1, np.int64)
    row_topics = np.empty(topics.shape[0], np.uint32)
    values = np.empty(topics.shape[0], np.float32)
    sums = np.zeros(topics.shape[0])  # of the row's entries: rounded once, when complete
    filled = 0
    for u in range(n_pairs):
        first = filled
        for i in range(starts[u], starts[u + 1]):
            k = new_topics[topics[i]]
            if k < 0:
                continue
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


@numba.njit(cache=True, nogil=True)
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

    Rows of ``terms``: −Σ x r log r; the number of documents in which k is active; and over those
    Σ ψ(θ_dk), Σ lnΓ(θ_dk) and Σ (N_dk − θ_dk) ψ(θ_dk).
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


@numba.njit(cache=True, nogil=True)
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

    Pairs are added in the order given, so the sums do not depend on how documents were spread
    over workers. Values are rounded to float32 once, here: what is stored is what is summed.
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
    row = np.zeros(n_topics)
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


@numba.njit(cache=True, nogil=True)
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
    place = np.full(n_topics, -1)
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
