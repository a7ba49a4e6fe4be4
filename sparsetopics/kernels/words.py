"""Numba kernels over words: their weights, their counts, and their probabilities in mixtures."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sparsetopics.base.batches import FloatArray, IntArray, WordIds
from sparsetopics.kernels.types import (
    Float32Array,
    Lists,
    Rows,
    SparseShares,
    TopicIds,
    Weights,
    kernel,
    lanes,
)

TOPIC_BITS = 32  # of a key, below those of the weight
LARGEST_TOPIC = 2**TOPIC_BITS - 1


@lanes
def _weigh(row: FloatArray, inverse_totals: FloatArray, eta: float, out: Float32Array) -> None:
    for k in range(row.shape[0]):
        out[k] = (row[k] + eta) * inverse_totals[k]


@lanes
def _make_keys(bits: NDArray[np.int32], keys: IntArray) -> None:
    """Whole numbers in the order of weights, and of falling topics where these are equal.

    The bits of positive floats, read as a whole number, are in the order of the floats.
    """
    for k in range(keys.shape[0]):
        keys[k] = (np.int64(bits[k]) << TOPIC_BITS) | (LARGEST_TOPIC - k)


@lanes
def _largest_below(keys: IntArray, limit: int) -> int:
    largest = -1
    for k in range(keys.shape[0]):
        key = keys[k]
        largest = max(largest, key if key < limit else -1)
    return largest


@kernel
def fill_lists(
    rows: Rows,  # (n_chosen,)  of the table, to do
    weights: Weights,
    lists: Lists,  # overwritten for these rows
) -> None:
    """The best L topics of words under equal proportions, falling; ties go to the lower topic.

    This is where every cold document begins; later sweeps choose again (``sweeps``). Where all
    topics are listed, they keep their order.
    """
    table, eta, inverse_totals = weights
    n_topics, n_slots = table.shape[1], lists.topics.shape[1]
    of_word, keys = np.empty(n_topics, np.float32), np.empty(n_topics, np.int64)
    bits = of_word.view(np.int32)
    for i in range(rows.shape[0]):
        v = rows[i]
        _weigh(table[v], inverse_totals, eta, of_word)
        if n_slots < n_topics:
            _make_keys(bits, keys)
        last = int(np.iinfo(np.int64).max)
        total = np.float32(1e-37)  # keeps shares finite for a word that no topic explains
        for slot in range(n_slots):
            topic = slot
            if n_slots < n_topics:
                last = _largest_below(keys, last)
                topic = LARGEST_TOPIC - (last & LARGEST_TOPIC)
            lists.topics[v, slot] = topic
            lists.shares[v, slot] = of_word[topic]
            total += of_word[topic]
        for slot in range(n_slots):
            lists.shares[v, slot] /= total


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
def mixed(
    starts: IntArray,  # (n_rows + 1,)  of compressed sparse rows
    columns: WordIds,  # (n_entries,)
    left: FloatArray,  # (n_rows, n_topics)
    right: FloatArray,  # (n_columns, n_topics)
) -> FloatArray:
    """Σ_k left_rk right_ck for each entry (r, c), added in this order, unlike in BLAS."""
    sums = np.zeros(columns.shape[0])
    for r in range(left.shape[0]):
        row = left[r]
        for i in range(starts[r], starts[r + 1]):
            other, total = right[columns[i]], 0.0
            for k in range(row.shape[0]):
                total += row[k] * other[k]
            sums[i] = total
    return sums


@kernel
def take_block(table: FloatArray, rows: Rows, columns: IntArray) -> FloatArray:
    """table[rows][:, columns], (n_rows, n_columns), several times faster than numpy's."""
    block = np.empty((rows.shape[0], columns.shape[0]))
    for i in range(rows.shape[0]):
        row = table[rows[i]]
        for j in range(columns.shape[0]):
            block[i, j] = row[columns[j]]
    return block


@kernel
def exchange_pairs(
    first_word: int,  # of those whose rows are changed
    last_word: int,  # after the last of them
    words: WordIds,  # (n_pairs,)
    tokens: FloatArray,  # (n_pairs,)
    new: SparseShares,  # (n_pairs)
    old: SparseShares,  # (n_pairs)
    table: FloatArray,  # (n_words, n_topics)  changed
) -> FloatArray:
    """Take out tokens · old shares and add tokens · new shares, pair by pair, in some rows.

    No count falls below zero. Returns what is added to each topic, (n_topics,), which is more than
    the pairs say where a count would fall below zero. Old and new entries of a pair often lie in
    one cache line, hence a single pass.
    """
    added = np.zeros(table.shape[1])
    for u in range(words.shape[0]):
        if words[u] < first_word or words[u] >= last_word:
            continue
        row, weight = table[words[u]], tokens[u]
        for i in range(old.starts[u], old.starts[u + 1]):
            k = old.topics[i]
            count = max(row[k] - weight * old.shares[i], 0.0)
            added[k] += count - row[k]
            row[k] = count
        for i in range(new.starts[u], new.starts[u + 1]):
            k, more = new.topics[i], weight * new.shares[i]
            added[k] += more
            row[k] += more
    return added
