"""How much groups of documents are of each topic: means, their errors, and their differences.

The mean of the proportions that are inferred for each document is a biased estimate of a group's
mean. The prior pulls short documents towards itself, and similar topics take tokens from each
other; both are the same in every document, so more documents do not help. Here a group's mean is
estimated from the words of the group instead, and no document is inferred.

With topics φ, a document d of n_d tokens, x_d the shares of words in it and π_d its proportions,

    E[x_d | π_d] = Σ_k π_dk φ_k,    so    E[mean of x_d over a group] = Σ_k μ_k φ_k

with μ = E[π_d] in the group, however proportions vary there. So μ is estimated as the mixture of
topics under which the mean of x_d is most likely, by EM. Each document has the same weight.

The error comes from a linear estimate that is unbiased for each document. For any weights w > 0

    y_d = A x_d,    A = (φ W φᵀ)⁻¹ φ W,    W = diag(1/p),  p = Σ_k w_k φ_k

has E[y_d | π_d] = π_d. This W gives the least variance if w = μ. The variance of y_d is

    Var y_d = Var π_d + E[Var(y_d | π_d)],

which is how proportions differ between documents, and what the words of a document leave uncertain
about its own. The variance of a group's y_d, divided by the number of its documents, thus holds
both. Maximum likelihood is as precise as the linear estimate with w = μ, or more precise where a
share is near zero.

Tables have the same bits on every processor. So there is no BLAS here, whose sums have no fixed
order, and of numpy's functions no power but the square, which depend on the vectors it finds.

Few documents have most of a rare topic, so the distribution of its mean is skewed. Intervals and
tests take that into account.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.sparse import csc_array, csr_array

from sparsetopics.base.batches import DocumentBatch, FloatArray, IntArray, cut_blocks
from sparsetopics.execution.executors import open_executor
from sparsetopics.kernels.items import multiply
from sparsetopics.kernels.words import mixed
from sparsetopics.measures.estimates import Estimates

ROUNDING = 1e-12  # of a mean square
COLLINEAR = 1e-10  # share of a column's square that the columns before it leave
RIDGE = 1e-4  # of 1; keeps errors finite for topics that are the same
EM_CYCLES = 20
EM_TOLERANCE = 1e-5  # of a share
LONGEST_STRIDE = 1e3  # EM steps
EM_GROUPS = 32  # done at once
SMALLEST_START = 1e-6  # share; of a topic


# --- sums over documents --------------------------------------------------------------------------
def unbiased_projection(topic_word: FloatArray, weights: FloatArray) -> FloatArray:
    """Return Aᵀ, (n_words, n_topics): how much a token of each word says about each topic.

    ``topic_word`` is φ, (n_topics, n_words), positive; rows sum to one. ``weights`` is w,
    (n_topics,), about how much there is of each topic. The ridge is relative to the largest
    eigenvalue, 1, of √w φ W φᵀ √w.
    """
    word_scales = np.sqrt(np.einsum("k,kv->v", weights, topic_word))
    scaled = np.sqrt(weights)[:, None] * topic_word / word_scales
    columns, information = np.ascontiguousarray(scaled.T), np.empty((len(weights), len(weights)))
    multiply(scaled, columns, information)
    information[np.diag_indices_from(information)] += RIDGE
    solved = np.empty(columns.shape)
    multiply(columns, inverse(information), solved)
    solved *= np.sqrt(weights) / word_scales[:, None]
    return solved


def inverse(matrix: FloatArray) -> FloatArray:
    """The inverse of a positive definite matrix with a diagonal of about one, by sweeps (Goodnight
    1979).

    Raises LinAlgError with the number of a column that those before it determine.
    """
    swept = matrix.copy()
    for k in range(len(swept)):
        pivot = swept[k, k]  # what the columns before leave of this one
        if not pivot > COLLINEAR:
            raise np.linalg.LinAlgError(k)
        row = swept[k] / pivot
        swept -= swept[:, k, None] * row
        swept[k] = swept[:, k] = row
        swept[k, k] = -1.0 / pivot
    return -swept


class GroupSums(NamedTuple):
    """Sums over the documents of each group; adding those of two sets of documents adds fields."""

    n_documents: IntArray  # (n_groups,)
    n_tokens: FloatArray  # (n_groups,)
    powers: FloatArray  # (n_groups, 3, n_topics)  Σ y, Σ y², Σ y³
    word_shares: csr_array  # (n_groups, n_words)  Σ x


def sum_groups(
    batch: DocumentBatch,
    groups: IntArray,  # (n_docs,)  −1: in none
    n_groups: int,
    projection: FloatArray,  # (n_words, n_topics)
    workers: int = 1,
) -> GroupSums:
    """Sum documents by group; those without a word are left out.

    The result has the same bits for any number of workers.
    """
    shares, sizes = word_shares(batch, len(projection))
    chosen = np.flatnonzero((groups >= 0) & (sizes > 0.0))
    own = groups[chosen]
    is_in = csr_array((np.ones(len(own)), (own, chosen)), shape=(n_groups, batch.n_docs))
    estimates = document_estimates(shares, projection, workers)
    squares = estimates * estimates
    powers = [is_in @ each for each in (estimates, squares, squares * estimates)]
    n_tokens = np.bincount(own, sizes[chosen], n_groups).astype(np.float64)
    n_documents = np.bincount(own, minlength=n_groups)
    return GroupSums(n_documents, n_tokens, np.stack(powers, axis=1), is_in @ shares)


def word_shares(batch: DocumentBatch, n_words: int) -> tuple[csr_array, FloatArray]:
    """Return the shares of words in documents, (n_docs, n_words), and the tokens of each."""
    pairs = batch.word_counts.astype(np.float64), batch.word_ids, batch.indptr
    shares = csr_array(pairs, shape=(batch.n_docs, n_words))
    sizes: FloatArray = shares.sum(axis=1)
    shares.data /= np.repeat(sizes, np.diff(batch.indptr))
    return shares, sizes


def document_estimates(shares: csr_array, projection: FloatArray, workers: int = 1) -> FloatArray:
    """Return y of each document, (n_docs, n_topics): proportions without bias, but with noise."""

    def estimate(block: tuple[int, int]) -> FloatArray:
        found: FloatArray = shares[slice(*block)] @ projection
        return found

    with open_executor(workers) as executor:
        parts = executor.map(estimate, cut_blocks(shares.indptr.astype(np.int64)))
        return np.concatenate([np.empty((0, projection.shape[1])), *parts])


class GroupTotal:
    """Sums over the documents of one group that were seen so far.

    Memory grows with the number of words (4 bytes each), and not with the number of documents.
    """

    def __init__(self, n_topics: int, n_words: int) -> None:
        self.n_documents, self.n_tokens = 0, 0.0
        self.powers = np.zeros((3, n_topics))
        self.word_shares = np.zeros(n_words, np.float32)

    def add(self, sums: GroupSums, row: int) -> None:
        """Add one row of sums."""
        self.n_documents += int(sums.n_documents[row])
        self.n_tokens += float(sums.n_tokens[row])
        self.powers += sums.powers[row]
        pairs = slice(*sums.word_shares.indptr[row : row + 2])
        words, shares = sums.word_shares.indices[pairs], sums.word_shares.data[pairs]
        self.word_shares[words] += shares

    def include(self, other: GroupTotal) -> None:
        """Add the documents of another group."""
        self.n_documents += other.n_documents
        self.n_tokens += other.n_tokens
        self.powers += other.powers
        self.word_shares += other.word_shares


# --- estimates ------------------------------------------------------------------------------------
def group_means(totals: Sequence[GroupTotal], topic_word: FloatArray) -> Estimates:
    """Estimate the mean proportions of all groups, each of at least one document.

    ``topic_word`` and the numbers of words are those of the projection. Rows of the means,
    (n_groups, n_topics), sum to one. Errors are NaN for groups of one document.
    """
    n_documents = np.array([[each.n_documents] for each in totals], np.int64)
    powers = np.stack([each.powers for each in totals], axis=1)
    first, second, third = powers / n_documents
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = second - first**2
        # Rounding leaves a little where all documents are alike, and no third moment fits that.
        variance[variance < ROUNDING * second] = 0.0
        central = third - 3.0 * first * second + 2.0 * first * first * first
        error = np.sqrt(variance / (n_documents - 1.0))
        skewness = central / (variance * np.sqrt(variance * n_documents))
    error[n_documents[:, 0] < 2] = np.nan
    skewness = np.where(variance > 0.0, skewness, 0.0)
    mean = _most_likely(totals, first, topic_word)
    return Estimates(mean, error, skewness, np.broadcast_to(n_documents - 1.0, mean.shape))


def group_shares(
    totals: Sequence[GroupTotal], topic_word: FloatArray, projection: FloatArray
) -> FloatArray:
    """Estimate the means of groups of other topics than those of the totals, without errors."""
    words = (csr_array(each.word_shares[None].astype(np.float64)) for each in totals)
    start = np.concatenate([own @ projection / own.sum() for own in words])
    return _most_likely(totals, start, topic_word)


def _most_likely(
    totals: Sequence[GroupTotal], start: FloatArray, topic_word: FloatArray
) -> FloatArray:
    """Return the means, some groups at a time, from the unbiased means on."""
    found, word_topic = np.empty(start.shape), np.ascontiguousarray(topic_word.T)
    for first in range(0, len(start), EM_GROUPS):
        some = slice(first, first + EM_GROUPS)
        words = np.stack([each.word_shares for each in totals[some]]).astype(np.float64)
        words /= words.sum(axis=1, keepdims=True)
        shares = csc_array(words)
        means = _normalized(np.maximum(start[some], SMALLEST_START))
        for _ in range(EM_CYCLES):
            new = _em_cycle(means, shares, word_topic)
            moved = np.abs(new - means).max()
            means = new
            if moved < EM_TOLERANCE:
                break
        found[some] = means
    return found


def _em_cycle(means: FloatArray, words: csc_array, word_topic: FloatArray) -> FloatArray:
    """Take two EM steps, a long step in their direction, and a third EM step.

    An EM step is μ_k ← μ_k Σ_v x_v φ_kv / Σ_j μ_j φ_jv. The long step is that of SQUAREM
    (Varadhan & Roland 2008, scheme S3), without which many times as many steps would be needed.
    """

    def step(old: FloatArray) -> FloatArray:
        ratios = words.copy()
        ratios.data /= mixed(words.indptr.astype(np.int64), words.indices, word_topic, old)
        new: FloatArray = old * (ratios @ word_topic)
        return new

    one = step(means)
    two = step(one)
    change, bend = one - means, two - 2.0 * one + means
    lengths = np.linalg.norm(change, axis=1), np.linalg.norm(bend, axis=1)
    stride = np.clip(lengths[0] / np.maximum(lengths[1], 1e-300), 1.0, LONGEST_STRIDE)[:, None]
    far = means + 2.0 * stride * change + stride * stride * bend
    # Shares that would fall below zero fall far, but not to zero, which EM never leaves.
    return step(_normalized(np.where(far > 0.0, far, 0.1 * two)))


def _normalized(means: FloatArray) -> FloatArray:
    normalized: FloatArray = means / means.sum(axis=1, keepdims=True)
    return normalized


# --- differences between groups -------------------------------------------------------------------
def group_differences(means: Estimates, pairs: IntArray) -> Estimates:
    """Compare groups; ``pairs`` is (n_pairs, 2), numbers of two groups without common documents.

    Degrees of freedom are Welch's. The third cumulants of two independent means subtract, which
    gives the skewness of their difference (Zhou & Dinh 2005).
    """
    one, other = pairs.T
    variance = means.standard_error**2
    cumulant = means.skewness * variance * means.standard_error
    error = np.sqrt(variance[one] + variance[other])
    with np.errstate(divide="ignore", invalid="ignore"):
        skewness = (cumulant[one] - cumulant[other]) / (error * error * error)
        spread = variance**2 / means.freedom
        freedom = (variance[one] + variance[other]) ** 2 / (spread[one] + spread[other])
    skewness, freedom = np.nan_to_num(skewness), np.nan_to_num(freedom, nan=1.0, posinf=1e9)
    return Estimates(means.value[one] - means.value[other], error, skewness, freedom)
