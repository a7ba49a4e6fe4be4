"""Numba kernels around the document step: what a batch needs per word before and after it."""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from sparsetopics.batches import FloatArray, IntArray

Float32Array = NDArray[np.float32]
TopicIds = NDArray[np.uint32]
Rows = NDArray[np.uint32]


@numba.njit(cache=True, nogil=True)
def collapsed_weights(
    counts: FloatArray,  # (n_rows, n_topics)
    inverse_totals: FloatArray,  # (n_topics,)  1 / (N_k + Vη)
    word_concentration: float,
    weights: Float32Array,  # (n_rows, n_topics)  overwritten
) -> None:
    """Fill ``weights`` with the posterior mean E[φ_kv]."""
    n_rows, n_topics = counts.shape
    for v in range(n_rows):
        for k in range(n_topics):
            weights[v, k] = (counts[v, k] + word_concentration) * inverse_totals[k]


@numba.njit(cache=True, nogil=True)
def top_topics(
    weights: Float32Array,  # (n_rows, n_topics)
    topics: TopicIds,  # (n_rows, n_slots)  overwritten
) -> None:
    """The largest ``n_slots`` weights of each row, falling, ties to the lower topic index.

    This is the first step of every document: under uniform π_d the best topics of a word depend
    on the word type alone, so they are found once per global update.
    """
    n_rows, n_topics = weights.shape
    n_slots = topics.shape[1]
    best = np.empty(n_slots, np.float32)
    for v in range(n_rows):
        for k in range(n_topics):
            weight = weights[v, k]
            if k >= n_slots and weight <= best[n_slots - 1]:
                continue
            place = min(k, n_slots - 1)
            while place > 0 and best[place - 1] < weight:
                best[place] = best[place - 1]
                topics[v, place] = topics[v, place - 1]
                place -= 1
            best[place] = weight
            topics[v, place] = k


@numba.njit(cache=True, nogil=True)
def sum_by_word(
    pair_starts: IntArray,  # (n_rows + 1,)
    pairs: IntArray,  # (n_pairs,)  positions of each row's pairs, row after row
    counts: FloatArray,  # (n_pairs,)
    topics: TopicIds,  # (n_pairs, n_slots)
    shares: FloatArray,  # (n_pairs, n_slots)
    n_topics: int,
) -> tuple[IntArray, TopicIds, Float32Array]:
    """Expected counts S_vk = Σ x r as sparse rows: row starts, topics rising, values.

    Pairs are added in the order given, so the sums do not depend on how documents were spread
    over workers. Values are rounded to float32 once, here: what is stored is what is summed.
    """
    n_rows = pair_starts.shape[0] - 1
    starts = np.zeros(n_rows + 1, np.int64)
    capacity = 0
    for v in range(n_rows):
        capacity += min(n_topics, (pair_starts[v + 1] - pair_starts[v]) * topics.shape[1])
    row_topics = np.empty(capacity, np.uint32)
    values = np.empty(capacity, np.float32)
    row = np.zeros(n_topics)
    filled = 0
    for v in range(n_rows):
        for i in range(pair_starts[v], pair_starts[v + 1]):
            pair = pairs[i]
            for slot in range(topics.shape[1]):
                row[topics[pair, slot]] += counts[pair] * shares[pair, slot]
        for k in range(n_topics):
            if row[k] > 0.0:
                row_topics[filled] = k
                values[filled] = row[k]
                filled += 1
                row[k] = 0.0
        starts[v + 1] = filled
    return starts, row_topics[:filled].copy(), values[:filled].copy()


@numba.njit(cache=True, nogil=True)
def add_sparse_rows(
    rows: Rows,  # (n_rows,)  where each sparse row goes
    starts: IntArray,  # (n_rows + 1,)
    topics: TopicIds,
    values: Float32Array,
    scale: float,
    out: FloatArray,  # (n_words, n_topics)  added to
) -> None:
    """out[rows[i], topics] += scale · values, row by row."""
    for i in range(rows.shape[0]):
        for j in range(starts[i], starts[i + 1]):
            out[rows[i], topics[j]] += scale * values[j]
