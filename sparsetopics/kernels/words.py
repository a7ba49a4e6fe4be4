"""Numba kernels over words: their weights before the local step, and their counts after it."""

from __future__ import annotations

import numpy as np

from sparsetopics.base.batches import FloatArray, IntArray
from sparsetopics.kernels.types import Float32Array, Rows, TopicIds, kernel


@kernel
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


@kernel
def top_topics(
    weights: Float32Array,  # (n_rows, n_topics)
    topics: TopicIds,  # (n_rows, n_slots)  overwritten
) -> None:
    """The topics of each row's ``n_slots`` largest weights, falling; ties go to the lower topic.

    This is the first step of every cold document; later steps choose again (``sweeps``). Under
    uniform π_d the best topics of a word depend on the word type only, so they are found once per
    batch instead of once per document.
    """
    n_rows, n_topics = weights.shape
    n_slots = topics.shape[1]
    best = np.empty(n_slots, np.float32)
    for v in range(n_rows):
        for k in range(n_topics):
            weight = weights[v, k]
            # Insertion into a short sorted list: most weights fail this one comparison.
            if k >= n_slots and weight <= best[n_slots - 1]:
                continue
            place = min(k, n_slots - 1)
            while place > 0 and best[place - 1] < weight:
                best[place] = best[place - 1]
                topics[v, place] = topics[v, place - 1]
                place -= 1
            best[place] = weight
            topics[v, place] = k


@kernel
def add_sparse_rows(
    rows: Rows,  # (n_rows,)  where each sparse row goes
    starts: IntArray,  # (n_rows + 1,)
    topics: TopicIds,
    values: Float32Array | FloatArray,
    scale: float,
    out: FloatArray,  # (n_words, n_topics)  added to
) -> None:
    """out[rows[i], topics] += scale · values, row by row."""
    for i in range(rows.shape[0]):
        for j in range(starts[i], starts[i + 1]):
            out[rows[i], topics[j]] += scale * values[j]


@kernel
def take_sparse_rows(
    rows: Rows,  # (n_rows,)
    starts: IntArray,  # (n_rows + 1,)
    topics: TopicIds,
    values: Float32Array | FloatArray,
    out: FloatArray,  # (n_words, n_topics)  subtracted from
    taken: FloatArray,  # (n_topics,)  added to: what was subtracted
) -> None:
    """out[rows[i], topics] −= values, row by row; rounding never leaves less than zero."""
    for i in range(rows.shape[0]):
        for j in range(starts[i], starts[i + 1]):
            before = out[rows[i], topics[j]]
            after = max(before - values[j], 0.0)
            out[rows[i], topics[j]] = after
            taken[topics[j]] += before - after


@kernel
def group_pairs(
    row_of_pair: Rows,  # (n_pairs,)
    starts: IntArray,  # (n_rows + 1,)  where each row's pairs begin
) -> IntArray:
    """Positions of the pairs of each row, row after row, rising within a row, (n_pairs,)."""
    pairs = np.empty(row_of_pair.shape[0], np.int64)
    place = starts[:-1].copy()
    for pair in range(row_of_pair.shape[0]):
        row = row_of_pair[pair]
        pairs[place[row]] = pair
        place[row] += 1
    return pairs
