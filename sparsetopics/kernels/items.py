"""Numba kernels of mixture items: log densities, L-sparse responsibilities, gathering by topic.

A topic is a component here. Letters: n item, d column, k topic, i entry. An item's shares are
rounded to multiples of 2⁻²⁴, and the largest is what the others leave of one. Float32 holds such
numbers exactly, and float64 their sums: no mass is lost in counts, in merges or when batches are
taken out.
"""

from __future__ import annotations

import math

import numpy as np

from sparsetopics.base.batches import FloatArray, IntArray, WordCounts, WordIds
from sparsetopics.kernels.types import Float32Array, SparseShares, TopicIds, inner, kernel

GRID = 2.0**24  # shares are multiples of 1 / GRID
ROWS_AT_ONCE = 4  # items multiplied at once, so that each factor is fetched once for all of them
FEW_SLOTS = 16  # up to so many slots, a sorted list of the largest weights is faster

Weights = FloatArray | Float32Array


@kernel
def multiply(
    values: Weights,  # (n_items, n_columns or more)
    factors: Weights,  # (n_columns, n_products)  of the same type
    out: Weights,  # (n_items, n_products)  overwritten
) -> None:
    """out_nj = Σ_c values_nc factors_cj, added in the order of the columns for every n.

    So a row of ``out`` does not depend on the other rows, as it does with BLAS.
    """
    n_items, n_products = out.shape
    for low in range(0, n_items, ROWS_AT_ONCE):
        high = min(low + ROWS_AT_ONCE, n_items)
        out[low:high] = 0
        for c in range(factors.shape[0]):
            for n in range(low, high):
                value, row = values[n, c], out[n]
                for j in range(n_products):
                    row[j] += value * factors[c, j]


@kernel
def add_squares(
    products: Float32Array,  # (n_items, n_columns * n_topics)  column by column
    offsets: Float32Array,  # (n_columns * n_topics,)
    out: Float32Array,  # (n_items, n_topics)  added to
) -> None:
    """out_nk += Σ_d (product_ndk − offset_dk)²."""
    n_items, n_topics = out.shape
    n_columns = offsets.shape[0] // n_topics
    for n in range(n_items):
        row = out[n]
        for d in range(n_columns):
            product = products[n, d * n_topics : (d + 1) * n_topics]
            offset = offsets[d * n_topics : (d + 1) * n_topics]
            for k in range(n_topics):
                difference = product[k] - offset[k]
                row[k] += difference * difference


@kernel
def add_scaled_squares(
    values: Float32Array,  # (n_items, n_columns)
    means: Float32Array,  # (n_columns, n_topics)
    scales: Float32Array,  # (n_columns, n_topics)
    out: Float32Array,  # (n_items, n_topics)  added to
) -> None:
    """out_nk += Σ_d (scale_dk (x_nd − mean_dk))²."""
    n_items, n_topics = out.shape
    for n in range(n_items):
        row = out[n]
        for d in range(values.shape[1]):
            value, mean, scale = values[n, d], means[d], scales[d]
            for k in range(n_topics):
                difference = (value - mean[k]) * scale[k]
                row[k] += difference * difference


@kernel
def add_word_logs(
    indptr: IntArray,  # (n_docs + 1,)
    word_ids: WordIds,  # (n_pairs,)
    word_counts: WordCounts,  # (n_pairs,)
    log_weights: Float32Array,  # (n_words, n_topics)
    out: FloatArray,  # (n_docs, n_topics)  added to
) -> None:
    """out_nk += Σ_v x_nv log_weight_vk."""
    for n in range(indptr.shape[0] - 1):
        row = out[n]
        for u in range(indptr[n], indptr[n + 1]):
            count, logs = np.float64(word_counts[u]), log_weights[word_ids[u]]
            for k in range(row.shape[0]):
                row[k] += count * logs[k]


@inner
def _largest_of_few(weights: Weights, n_slots: int, scratch: Weights) -> float:
    """The ``n_slots``-th largest weight, by insertion into a sorted list in ``scratch``."""
    for k in range(weights.shape[0]):
        weight = weights[k]
        if k >= n_slots and weight <= scratch[n_slots - 1]:
            continue
        place = min(k, n_slots - 1)
        while place > 0 and scratch[place - 1] < weight:
            scratch[place] = scratch[place - 1]
            place -= 1
        scratch[place] = weight
    smallest: float = scratch[n_slots - 1]
    return smallest


@inner
def _largest_of_many(weights: Weights, n_slots: int, scratch: Weights) -> float:
    """The ``n_slots``-th largest weight, by quickselect in ``scratch`` (Hoare 1961): O(K)."""
    scratch[:] = weights
    low, high, target = 0, weights.shape[0] - 1, n_slots - 1
    while low < high:
        pivot = scratch[(low + high) // 2]
        i, j = low, high
        while i <= j:
            while scratch[i] > pivot:
                i += 1
            while scratch[j] < pivot:
                j -= 1
            if i <= j:
                scratch[i], scratch[j] = scratch[j], scratch[i]
                i += 1
                j -= 1
        if target <= j:
            high = j
        elif target >= i:
            low = i
        else:
            break
    found: float = scratch[target]
    return found


@inner
def _choose(weights: Weights, scratch: Weights, topics: TopicIds) -> None:
    """Fill ``topics`` with the topics of the largest weights, rising; ties go to the lower one."""
    n_topics, n_slots = weights.shape[0], topics.shape[0]
    if n_slots == n_topics:
        for k in range(n_topics):
            topics[k] = k
        return
    if n_slots <= FEW_SLOTS:
        threshold = _largest_of_few(weights, n_slots, scratch)
    else:
        threshold = _largest_of_many(weights, n_slots, scratch)
    larger = 0
    for k in range(n_topics):
        larger += 1 if weights[k] > threshold else 0
    ties_left, filled = n_slots - larger, 0
    for k in range(n_topics):
        if weights[k] > threshold or (weights[k] == threshold and ties_left > 0):
            ties_left -= 0 if weights[k] > threshold else 1
            topics[filled] = k
            filled += 1
            if filled == n_slots:
                return


@inner
def _share_out(weights: Weights, topics: TopicIds, shares: Float32Array) -> float:
    """Fill ``shares`` with the softmax of the chosen weights; return the log of their sum."""
    n_slots = topics.shape[0]
    best = 0
    for slot in range(1, n_slots):
        if weights[topics[slot]] > weights[topics[best]]:
            best = slot
    largest = np.float64(weights[topics[best]])
    total = 0.0
    for slot in range(n_slots):
        total += math.exp(weights[topics[slot]] - largest)
    left = 1.0
    for slot in range(n_slots):
        if slot != best:
            share = math.exp(weights[topics[slot]] - largest) / total
            share = math.floor(share * GRID + 0.5) / GRID
            shares[slot] = share
            left -= share
    shares[best] = left
    return largest + math.log(total)


@kernel
def share_items(
    log_weights: Weights,  # (n_items, n_topics)  finite
    topics: TopicIds,  # (n_items, n_slots)  overwritten, rising in a row
    shares: Float32Array,  # (n_items, n_slots)  overwritten
    log_totals: FloatArray,  # (n_items,)  overwritten
) -> None:
    """The responsibilities that maximise Σ_k r_k (W_k − log r_k) in ``n_slots`` topics.

    They are the softmax of the largest weights (SPARSE16, Alg. 1), rounded as described above.
    With at most 4,096 slots, the largest share can absorb the rounding of the others.
    ``log_totals`` are log Σ exp W_k over the slots.
    """
    scratch = np.empty(log_weights.shape[1], log_weights.dtype)
    for n in range(log_weights.shape[0]):
        _choose(log_weights[n], scratch, topics[n])
        log_totals[n] = _share_out(log_weights[n], topics[n], shares[n])


@kernel
def add_terms(
    weights: FloatArray,  # (n_items,)
    found: SparseShares,  # a row for each item
    counts: FloatArray,  # (n_topics,)  added to
    entropies: FloatArray,  # (n_topics,)  added to
) -> None:
    """counts_k += Σ w r and entropies_k −= Σ w r log r over the entries of topic k."""
    for n in range(weights.shape[0]):
        for i in range(found.starts[n], found.starts[n + 1]):
            share = np.float64(found.shares[i])
            counts[found.topics[i]] += weights[n] * share
            if 0.0 < share < 1.0:
                entropies[found.topics[i]] -= weights[n] * share * math.log(share)


@kernel
def group_entries(
    found: SparseShares,  # a row for each item
    n_topics: int,
) -> tuple[IntArray, IntArray, FloatArray]:
    """Entries with a share, topic after topic: where topics start, the items, and √share."""
    topic_starts = np.zeros(n_topics + 1, np.int64)
    for i in range(found.topics.shape[0]):
        topic_starts[found.topics[i] + 1] += 1 if found.shares[i] > 0.0 else 0
    for k in range(n_topics):
        topic_starts[k + 1] += topic_starts[k]
    place = topic_starts[:-1].copy()
    items = np.empty(topic_starts[n_topics], np.int64)
    roots = np.empty(topic_starts[n_topics])
    for n in range(found.starts.shape[0] - 1):
        for i in range(found.starts[n], found.starts[n + 1]):
            if found.shares[i] > 0.0:
                items[place[found.topics[i]]] = n
                roots[place[found.topics[i]]] = math.sqrt(np.float64(found.shares[i]))
                place[found.topics[i]] += 1
    return topic_starts, items, roots


@kernel
def gather_scaled(
    values: Float32Array,  # (n_items, n_columns)
    items: IntArray,  # (n_rows,)
    scales: FloatArray,  # (n_rows,)
    out: FloatArray,  # (n_rows, n_columns)  overwritten
) -> None:
    """out_i = scale_i · values[items_i]."""
    for i in range(items.shape[0]):
        row, scale = values[items[i]], scales[i]
        for d in range(values.shape[1]):
            out[i, d] = scale * row[d]


@kernel
def add_diagonal_moments(
    values: Float32Array,  # (n_items, n_columns)
    found: SparseShares,  # a row for each item
    sums: FloatArray,  # (n_topics, n_columns)  added to
    squares: FloatArray,  # (n_topics, n_columns)  added to
) -> None:
    """sums_k += Σ r x and squares_k += Σ r x², column by column."""
    for n in range(found.starts.shape[0] - 1):
        row = values[n]
        for i in range(found.starts[n], found.starts[n + 1]):
            share = np.float64(found.shares[i])
            sum_row, square_row = sums[found.topics[i]], squares[found.topics[i]]
            for d in range(row.shape[0]):
                weighted = share * row[d]
                sum_row[d] += weighted
                square_row[d] += weighted * row[d]
