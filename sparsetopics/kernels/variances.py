"""Numba kernels of the collapsed criterion: variances of counts, and what they add to the ELBO."""

from __future__ import annotations

import math

import numpy as np

from sparsetopics.base.batches import FloatArray, IntArray, WordIds
from sparsetopics.kernels.special import log_gamma, trigamma
from sparsetopics.kernels.types import Float32Array, TopicIds, kernel

LARGEST_SHARE = 1.0 - 1e-12  # stands for a share of one, so that log(1 − r) stays finite


@kernel
def correction(
    concentration: float, nothing: float, mean: float, variance: float, log_absent: float
) -> float:
    """E[lnΓ(a + n)] − lnΓ(a + E[n]) to second order for a sum n of independent Bernoulli variables.

    The expansion is around the mean given n > 0, because lnΓ(a + n) bends sharply at n = 0 when a
    is small (Teh, Newman & Welling 2006). P(n > 0) = 1 − exp(``log_absent``). ``nothing`` is
    lnΓ(a), computed once for many values.
    """
    if mean <= 0.0:
        return 0.0
    present = -math.expm1(log_absent)
    mean_present = mean / present
    spread = max((variance + mean * mean) / present - mean_present * mean_present, 0.0)
    expected = log_gamma(concentration + mean_present) - nothing
    expected += 0.5 * spread * trigamma(concentration + mean_present)
    return present * expected - (log_gamma(concentration + mean) - nothing)


@kernel
def add_variances(
    indptr: IntArray,  # (n_docs + 1,)
    word_ids: WordIds,  # (n_pairs,)
    counts: FloatArray,  # (n_pairs,)
    starts: IntArray,  # (n_pairs + 1,)
    topics: TopicIds,
    shares: Float32Array,
    prior: FloatArray,  # (n_topics,)  α_k
    scale: float,  # 1 to add documents, -1 to take them out
    variances: FloatArray,  # (n_words, n_topics)  added to: Σ x r (1 − r)
    log_absent: FloatArray,  # (n_words, n_topics)  added to: Σ x log(1 − r)
    doc_corrections: FloatArray,  # (n_topics,)  added to
) -> None:
    """Add the variances of documents' word counts, and the corrections for their topic counts."""
    n_topics = prior.shape[0]
    means, spreads, absences = np.zeros(n_topics), np.zeros(n_topics), np.zeros(n_topics)
    used = np.zeros(n_topics, np.uint32)
    nothing = np.zeros(n_topics)
    for k in range(n_topics):
        nothing[k] = log_gamma(prior[k])
    surely = math.log1p(-LARGEST_SHARE)
    for d in range(indptr.shape[0] - 1):
        n_used = 0
        for u in range(indptr[d], indptr[d + 1]):
            for i in range(starts[u], starts[u + 1]):
                k, share = topics[i], np.float64(shares[i])
                # Shares that were added up may exceed one by rounding.
                certain = share >= 1.0
                variance = 0.0 if certain else counts[u] * share * (1.0 - share)
                absent = counts[u] * (surely if certain else math.log1p(-share))
                variances[word_ids[u], k] += scale * variance
                log_absent[word_ids[u], k] += scale * absent
                if means[k] == 0.0:
                    used[n_used] = k
                    n_used += 1
                means[k] += counts[u] * share
                spreads[k] += variance
                absences[k] += absent
        for j in range(n_used):
            k = used[j]
            doc_corrections[k] += scale * correction(
                prior[k], nothing[k], means[k], spreads[k], absences[k]
            )
            means[k] = spreads[k] = absences[k] = 0.0


@kernel
def word_correction(
    concentration: float, nothing: float, count: float, variance: float, log_absent: float
) -> float:
    """``correction`` for the count of a word in a topic; 0 if all assignments are certain."""
    if count <= 0.0 or log_absent >= 0.0:
        return 0.0
    return correction(concentration, nothing, count, max(variance, 0.0), log_absent)


@kernel
def word_corrections(
    counts: FloatArray,  # (n_words, n_topics)
    variances: FloatArray,  # (n_words, n_topics)
    log_absent: FloatArray,  # (n_words, n_topics)
    word_concentration: float,
) -> FloatArray:
    """Σ_v ``word_correction`` of each topic, (n_topics,)."""
    n_words, n_topics = counts.shape
    found = np.zeros(n_topics)
    nothing = log_gamma(word_concentration)
    for v in range(n_words):
        for k in range(n_topics):
            found[k] += word_correction(
                word_concentration, nothing, counts[v, k], variances[v, k], log_absent[v, k]
            )
    return found


@kernel
def word_correction_changes(
    counts: FloatArray,  # (n_words, n_topics)  before, as the next two
    variances: FloatArray,
    log_absent: FloatArray,
    counts_after: FloatArray,
    variances_after: FloatArray,
    log_absent_after: FloatArray,
    word_concentration: float,
) -> FloatArray:
    """``word_corrections`` after minus before, (n_topics,); only entries that differ cost time."""
    n_words, n_topics = counts.shape
    changes = np.zeros(n_topics)
    nothing = log_gamma(word_concentration)
    for v in range(n_words):
        for k in range(n_topics):
            before = counts[v, k], variances[v, k], log_absent[v, k]
            after = counts_after[v, k], variances_after[v, k], log_absent_after[v, k]
            if before != after:
                now = word_correction(word_concentration, nothing, *after)
                changes[k] += now - word_correction(word_concentration, nothing, *before)
    return changes
