"""Numba kernels of the collapsed criterion: variances of counts, and what they add to the ELBO."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparsetopics.base.batches import FloatArray, IntArray, WordIds
from sparsetopics.kernels.special import fast_log, log_gamma, one_minus_exp, trigamma
from sparsetopics.kernels.types import (
    ZERO,
    Float32Array,
    Rows,
    SparseShares,
    inlined,
    inner,
    kernel,
    lanes,
)

SMALLEST_REST = 1e-12  # stands for 1 − r of a share of one, so that its logarithm stays finite


@inlined
def correction(
    concentration: float, nothing: float, mean: float, variance: float, log_absent: float
) -> float:
    """E[lnΓ(a + n)] − lnΓ(a + E[n]) to second order for a sum n of independent Bernoulli variables.

    The expansion is around the mean given n > 0, because lnΓ(a + n) bends sharply at n = 0 when a
    is small (Teh, Newman & Welling 2006). P(n > 0) = 1 − exp(``log_absent``), where ``log_absent``
    is negative. ``nothing`` is lnΓ(a), computed once for many values.
    """
    present = one_minus_exp(log_absent)
    mean_present = mean / present
    spread = max((variance + mean * mean) / present - mean_present * mean_present, 0.0)
    expected = log_gamma(concentration + mean_present) - nothing
    expected += 0.5 * spread * trigamma(concentration + mean_present)
    return present * expected - (log_gamma(concentration + mean) - nothing)


@inlined
def is_uncertain(mean: float, variance: float, log_absent: float) -> bool:
    """Whether there is anything to correct: an assignment that is certain has no variance."""
    return mean > 0.0 and variance > 0.0 and log_absent < 0.0


@lanes
def _fill_spreads(shares: Float32Array, variances: FloatArray, logs: FloatArray) -> None:
    """r (1 − r) and log(1 − r). The difference is exact, so log1p would be no more accurate.

    Shares that were added up may exceed one by rounding.
    """
    for i in range(shares.shape[0]):
        share = np.float64(shares[i])
        variances[i] = share * max(1.0 - share, 0.0)
        logs[i] = fast_log(max(1.0 - share, SMALLEST_REST))


@kernel
def add_variances(
    indptr: IntArray,  # (n_docs + 1,)
    word_ids: WordIds,  # (n_pairs,)
    counts: FloatArray,  # (n_pairs,)
    found: SparseShares,  # a row for each pair
    prior: FloatArray,  # (n_topics,)  α_k
    scale: float,  # 1 to add documents, -1 to take them out
    by_word: FloatArray,  # (n_words, n_topics, 2)  added to: Σ x r (1 − r) and Σ x log(1 − r)
    doc_corrections: FloatArray,  # (n_topics,)  added to
) -> None:
    """Add the variances of documents' word counts, and the corrections for their topic counts."""
    n_topics = prior.shape[0]
    means, spreads, absences = np.zeros(n_topics), np.zeros(n_topics), np.zeros(n_topics)
    used = np.zeros(n_topics, np.uint32)
    nothing = np.zeros(n_topics)
    for k in range(n_topics):
        nothing[k] = log_gamma(prior[k])
    for d in range(indptr.shape[0] - 1):
        first, last, n_used = found.starts[indptr[d]], found.starts[indptr[d + 1]], 0
        variances, logs = np.empty(last - first), np.empty(last - first)
        _fill_spreads(found.shares[first:last], variances, logs)
        for u in range(indptr[d], indptr[d + 1]):  # two loops, so that the processor looks ahead
            of_word, count = by_word[word_ids[u]], scale * counts[u]
            for i in range(found.starts[u], found.starts[u + 1]):
                of_word[found.topics[i], 0] += count * variances[i - first]
                of_word[found.topics[i], 1] += count * logs[i - first]
        for u in range(indptr[d], indptr[d + 1]):
            for i in range(found.starts[u], found.starts[u + 1]):
                k = found.topics[i]
                if means[k] == 0.0:
                    used[n_used] = k
                    n_used += 1
                means[k] += counts[u] * np.float64(found.shares[i])
                spreads[k] += counts[u] * variances[i - first]
                absences[k] += counts[u] * logs[i - first]
        for j in range(n_used):
            k = used[j]
            if is_uncertain(means[k], spreads[k], absences[k]):
                doc_corrections[k] += scale * correction(
                    prior[k], nothing[k], means[k], spreads[k], absences[k]
                )
            means[k] = spreads[k] = absences[k] = 0.0


class Uncertain(NamedTuple):
    """Counts of a word that are to be corrected, collected so that loops run along lanes."""

    topics: IntArray  # (2 · n_topics,)
    signs: FloatArray  # (2 · n_topics,)  1 to add the correction, -1 to take it out
    sums: FloatArray  # (3, 2 · n_topics)  means, variances and log P(n = 0)


@inner
def _nothing_uncertain(n_topics: int) -> Uncertain:
    n = 2 * n_topics
    return Uncertain(np.empty(n, np.int64), np.empty(n), np.empty((3, n)))


@inner
def _collect(n: int, k: int, sign: float, count: float, sums: FloatArray, out: Uncertain) -> int:
    """Append a count with its variance and log P(n = 0), if it is uncertain; return how many."""
    out.topics[n], out.signs[n] = k, sign
    out.sums[0, n], out.sums[1, n], out.sums[2, n] = count, sums[0], sums[1]
    return n + 1 if is_uncertain(count, sums[0], sums[1]) else n


@lanes
def _correct(n: int, word_concentration: float, sums: FloatArray) -> None:
    """Put the corrections of the first ``n`` counts in the place of their means."""
    nothing = log_gamma(word_concentration)
    for i in range(n):
        sums[0, i] = correction(word_concentration, nothing, sums[0, i], sums[1, i], sums[2, i])


@inner
def _add_corrections(
    n: int, word_concentration: float, uncertain: Uncertain, found: FloatArray
) -> None:
    _correct(n, word_concentration, uncertain.sums)
    for i in range(n):
        found[uncertain.topics[i]] += uncertain.signs[i] * uncertain.sums[0, i]


@kernel
def word_corrections(
    counts: FloatArray,  # (n_words, n_topics)
    by_word: FloatArray,  # (n_words, n_topics, 2)
    word_concentration: float,
) -> FloatArray:
    """Σ_v ``correction`` of the counts of each topic's words, (n_topics,)."""
    n_words, n_topics = counts.shape
    found, uncertain = np.zeros(n_topics), _nothing_uncertain(n_topics)
    for v in range(n_words):
        n = ZERO
        for k in range(n_topics):
            n = _collect(n, k, 1.0, counts[v, k], by_word[v, k], uncertain)
        _add_corrections(n, word_concentration, uncertain, found)
    return found


@kernel
def word_correction_changes(
    table: FloatArray,  # counts of all words and topics, before
    by_word: FloatArray,  # and their spread
    words: Rows,  # (n_rows,)  of both
    topics: IntArray,  # (n_topics,)  columns of both
    counts_after: FloatArray,  # (n_rows, n_topics)  in their place
    by_word_after: FloatArray,  # (n_rows, n_topics, 2)
    word_concentration: float,
) -> FloatArray:
    """``word_corrections`` after minus before, (n_topics,); only entries that differ cost time."""
    n_rows, n_topics = counts_after.shape
    changes, uncertain = np.zeros(n_topics), _nothing_uncertain(n_topics)
    for i in range(n_rows):
        n, counts, spread = ZERO, table[words[i]], by_word[words[i]]
        for k in range(n_topics):
            c = topics[k]
            before = counts[c], spread[c, 0], spread[c, 1]
            after = counts_after[i, k], by_word_after[i, k, 0], by_word_after[i, k, 1]
            if before != after:
                n = _collect(n, k, 1.0, counts_after[i, k], by_word_after[i, k], uncertain)
                n = _collect(n, k, -1.0, counts[c], spread[c], uncertain)
        _add_corrections(n, word_concentration, uncertain, changes)
    return changes
