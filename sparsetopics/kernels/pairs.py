"""Numba kernels for moves: evidence of topics, and what merging any two topics would change."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from sparsetopics.base.batches import FloatArray, IntArray
from sparsetopics.kernels.special import (
    digamma,
    fast_log,
    fill_logs,
    log_gamma,
    log_gammas_in_place,
)
from sparsetopics.kernels.types import LANES, Rows, SparseShares, TopicIds, inner, kernel, lanes


@kernel
def word_gamma_sums(
    counts: FloatArray,  # (n_words, n_topics)
    word_concentration: float,
) -> FloatArray:
    """Σ_v lnΓ(S_kv + η) − lnΓ(η) of each topic, (n_topics,)."""
    n_words, n_topics = counts.shape
    sums = np.zeros(n_topics)
    for v in range(n_words):
        for first in range(0, n_topics, LANES):
            part = counts[v, first : first + LANES]
            if _has_count(part):  # a rare word has few topics
                _add_gammas(part, word_concentration, sums[first : first + LANES])
    return sums


@lanes
def _has_count(counts: FloatArray) -> bool:
    largest = 0.0
    for k in range(counts.shape[0]):
        largest = max(largest, counts[k])
    return largest > 0.0


@lanes
def _add_gammas(counts: FloatArray, word_concentration: float, sums: FloatArray) -> None:
    nothing = log_gamma(word_concentration)
    for k in range(counts.shape[0]):  # a count of zero adds exactly zero
        sums[k] += log_gamma(counts[k] + word_concentration) - nothing


@kernel
def word_gamma_changes(
    table: FloatArray,  # counts of all words and topics
    words: Rows,  # (n_rows,)  of the table
    topics: IntArray,  # (n_topics,)  columns of the table
    counts_after: FloatArray,  # (n_rows, n_topics)  in their place
    word_concentration: float,
) -> FloatArray:
    """``word_gamma_sums`` after minus before, (n_topics,); only entries that differ cost time."""
    n_rows, n_topics = counts_after.shape
    changes = np.zeros(n_topics)
    for i in range(n_rows):
        counts = table[words[i]]
        for k in range(n_topics):
            before, after = counts[topics[k]], counts_after[i, k]
            if before != after:
                changes[k] += log_gamma(after + word_concentration)
                changes[k] -= log_gamma(before + word_concentration)
    return changes


@kernel
def word_pair_gains(
    topic_counts: FloatArray,  # (n_topics, n_words)
    pairs: IntArray,  # (n_pairs, 2)
    word_concentration: float,
) -> FloatArray:
    """log M(S_a + S_b) − log M(S_a) − log M(S_b) of each pair, (n_pairs,).

    Only words that both topics have contribute, so each pair costs the words of its smaller topic.
    """
    n_topics, n_words = topic_counts.shape
    gains = np.zeros(pairs.shape[0])
    alone = np.zeros((n_topics, n_words))
    totals = np.zeros(n_topics)
    present = np.empty((n_topics, n_words), np.int32)  # the first entries are the topic's words
    n_present = np.zeros(n_topics, np.int64)
    both = np.empty(n_words)
    nothing = log_gamma(word_concentration)
    for k in range(n_topics):
        for v in range(n_words):
            if topic_counts[k, v] > 0.0:
                totals[k] += topic_counts[k, v]
                alone[k, v] = log_gamma(topic_counts[k, v] + word_concentration) - nothing
                present[k, n_present[k]] = v
                n_present[k] += 1
    prior = n_words * word_concentration
    empty = log_gamma(prior)
    for p in range(pairs.shape[0]):
        a, b = pairs[p, 0], pairs[p, 1]
        gain = log_gamma(totals[a] + prior) + log_gamma(totals[b] + prior)
        gain -= log_gamma(totals[a] + totals[b] + prior) + empty
        few, many = (a, b) if n_present[a] < n_present[b] else (b, a)
        n_both = 0
        for i in range(n_present[few]):
            v = present[few, i]
            both[n_both] = topic_counts[a, v] + topic_counts[b, v] + word_concentration
            if topic_counts[many, v] > 0.0:
                gain -= alone[a, v] + alone[b, v] + nothing
                n_both += 1
        log_gammas_in_place(both[:n_both])
        for i in range(n_both):
            gain += both[i]
        gains[p] = gain
    return gains


@kernel
def add_word_gains(
    counts: SparseShares,  # a row for each word
    is_new: NDArray[np.bool_],  # (n_topics,)
    word_concentration: float,
    gains: FloatArray,  # (n_topics, n_topics)  added to; [a, b] or [b, a]
) -> None:
    """Σ_v lnΓ(S_va + S_vb + η) − lnΓ(S_va + η) − lnΓ(S_vb + η) + lnΓ(η) of every pair of topics.

    Pairs without a new topic stay as they are. Only words that both topics have contribute.
    """
    n_topics = is_new.shape[0]
    values, alone, both = np.empty(n_topics), np.empty(n_topics), np.empty(n_topics)
    topics = np.empty(n_topics, np.int64)
    nothing = log_gamma(word_concentration)
    for v in range(counts.starts.shape[0] - 1):
        n_old = _add_part(counts, v, is_new, False, 0, topics, values)
        n_all = _add_part(counts, v, is_new, True, n_old, topics, values)
        if n_all == n_old or n_all == 1:
            continue
        for i in range(n_all):
            alone[i] = values[i] + word_concentration
        log_gammas_in_place(alone[:n_all])
        for i in range(n_old, n_all):  # each with all before it
            row = gains[topics[i]]
            for j in range(i):
                both[j] = values[i] + values[j] + word_concentration
            log_gammas_in_place(both[:i])
            for j in range(i):
                row[topics[j]] += both[j] - alone[j] - (alone[i] - nothing)


@inner
def _add_part(
    counts: SparseShares,
    v: int,
    is_new: NDArray[np.bool_],
    wanted: bool,
    filled: int,
    topics: IntArray,
    values: FloatArray,
) -> int:
    """Append a word's entries whose topics are new or not, as ``wanted``; how many there are."""
    for i in range(counts.starts[v], counts.starts[v + 1]):
        if is_new[counts.topics[i]] == wanted:
            topics[filled] = counts.topics[i]
            values[filled] = counts.shares[i]
            filled += 1
    return filled


@kernel
def move_topics_in_place(
    topics: SparseShares,  # (n_topics,)  the counts of words in each topic
    families: IntArray,  # (n_topics,)  topics move only between groups of their own family
    word_concentration: float,
    groups: IntArray,  # (n_topics,)  changed
    counts: FloatArray,  # (n_words, n_groups)  of the groups, changed with them
) -> int:
    """Put each topic, the last one first, into the group where log M is highest without it.

    Returns the number of topics that moved. A topic that is alone in its group stays.
    """
    n_words, n_groups = counts.shape
    prior, n_moved = n_words * word_concentration, 0
    sizes, members = np.zeros(n_groups), np.zeros(n_groups, np.int64)
    family = np.zeros(n_groups, np.int64)
    for k in range(groups.shape[0]):
        members[groups[k]] += 1
        family[groups[k]] = families[k]
        for i in range(topics.starts[k], topics.starts[k + 1]):
            sizes[groups[k]] += topics.shares[i]
    for k in range(groups.shape[0] - 1, -1, -1):
        own, size = groups[k], 0.0
        if members[own] == 1:
            continue
        before, gains = np.zeros(n_groups), np.zeros(n_groups)
        for i in range(topics.starts[k], topics.starts[k + 1]):
            row, count = counts[topics.topics[i]], np.float64(topics.shares[i])
            size += count
            row[own] = max(0.0, row[own] - count)
            _add_gammas(row, word_concentration, before)
            _add_gammas(row, word_concentration + count, gains)  # less the same for all groups
        sizes[own] -= size
        best = own
        for g in range(n_groups):
            of_size = log_gamma(sizes[g] + prior) - log_gamma(sizes[g] + size + prior)
            gains[g] += of_size - before[g]
        for g in range(n_groups):
            if family[g] == families[k] and gains[g] > gains[best]:
                best = g
        for i in range(topics.starts[k], topics.starts[k + 1]):
            counts[topics.topics[i], best] += topics.shares[i]
        sizes[best] += size
        members[own] -= 1
        members[best] += 1
        groups[k] = best
        n_moved += best != own
    return n_moved


@kernel
def add_assignment_pair_gains(
    counts: FloatArray,  # (n_pairs,)
    found: SparseShares,  # a row for each pair
    gains: FloatArray,  # (n_topics, n_topics)  added to, above the diagonal
) -> None:
    """What merging a and b changes in −Σ x r log r; only tokens that use both contribute."""
    logs = np.empty(found.shares.shape[0])
    fill_logs(found.shares, logs)
    for u in range(found.starts.shape[0] - 1):
        for i in range(found.starts[u], found.starts[u + 1]):
            left = np.float64(found.shares[i])
            for j in range(i + 1, found.starts[u + 1]):
                right = np.float64(found.shares[j])
                both = left + right
                change = left * logs[i] + right * logs[j] - both * fast_log(both)
                a, b = found.topics[i], found.topics[j]
                gains[min(a, b), max(a, b)] += counts[u] * change


@kernel
def add_document_pair_gains(
    doc_starts: IntArray,  # (n_docs + 1,)
    topics: TopicIds,
    masses: FloatArray,  # N_dk
    prior: FloatArray,  # (n_topics,)  α_k
    gains: FloatArray,  # (n_topics, n_topics)  added to, above the diagonal
    shared: FloatArray,  # (n_topics, n_topics)  likewise: the number of documents that use both
) -> None:
    """lnΓ(θ_a + θ_b) − lnΓ(θ_a) − lnΓ(θ_b) − α_b ψ(θ_a) − α_a ψ(θ_b) of documents that use both.

    The last two terms take back what ``pair_gains`` counts for all documents that use one topic.
    """
    longest = 0
    for d in range(doc_starts.shape[0] - 1):
        longest = max(longest, doc_starts[d + 1] - doc_starts[d])
    log_gammas, digammas = np.zeros(longest), np.zeros(longest)
    for d in range(doc_starts.shape[0] - 1):
        lo, hi = doc_starts[d], doc_starts[d + 1]
        for i in range(lo, hi):
            value = masses[i] + prior[topics[i]]
            log_gammas[i - lo], digammas[i - lo] = log_gamma(value), digamma(value)
        for i in range(lo, hi):
            a = topics[i]
            for j in range(i + 1, hi):
                b = topics[j]
                both = masses[i] + masses[j] + prior[a] + prior[b]
                change = log_gamma(both) - log_gammas[i - lo] - log_gammas[j - lo]
                change -= prior[b] * digammas[i - lo] + prior[a] * digammas[j - lo]
                gains[min(a, b), max(a, b)] += change
                shared[min(a, b), max(a, b)] += 1.0


@kernel
def add_shared_shares(
    found: SparseShares,
    shared: FloatArray,  # (n_topics, n_topics)  added to, above the diagonal
) -> None:
    """shared_ab += Σ √(r_a r_b) over the rows that use both."""
    for u in range(found.starts.shape[0] - 1):
        for i in range(found.starts[u], found.starts[u + 1]):
            for j in range(i + 1, found.starts[u + 1]):
                a, b = found.topics[i], found.topics[j]
                product = np.float64(found.shares[i]) * np.float64(found.shares[j])
                shared[min(a, b), max(a, b)] += math.sqrt(product)
