"""Which topics occur together in documents: correlations of proportions, without bias.

Words leave the proportions of a document uncertain, so that the covariance of the estimates y_d of
``measures.prevalence`` is that of proportions and more: Cov y = Cov π + E[Var(y_d | π_d)]. Of n_d
tokens with the shares x_d of words, the last term has the estimate

    V_d = (A diag(x_d) Aᵀ − y_d y_dᵀ)/(n_d − 1),

which is subtracted. Errors are those of the jackknife over blocks of documents.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparsetopics.base.batches import DocumentBatch, FloatArray
from sparsetopics.measures.effects import product
from sparsetopics.measures.estimates import Estimates
from sparsetopics.measures.prevalence import document_estimates, word_shares

BLOCKS = 20


class PairSums(NamedTuple):
    """Sums over the documents of each block that have two tokens or more."""

    n_documents: FloatArray  # (n_blocks, 1)
    first: FloatArray  # (n_blocks, n_topics)  Σ y
    second: FloatArray  # (n_blocks, n_topics, n_topics)  Σ y yᵀ n/(n − 1)
    words: FloatArray  # (n_blocks, n_words)  Σ x/(n − 1)


def sum_pairs(
    batch: DocumentBatch, projection: FloatArray, rng: np.random.Generator, workers: int = 1
) -> PairSums:
    """Sum documents in blocks drawn at random, so that their order does not matter."""
    shares, sizes = word_shares(batch, len(projection))
    estimates = document_estimates(shares, projection, workers)
    drawn = rng.permutation(np.arange(batch.n_docs) % BLOCKS)
    blocks, sums = np.where(sizes >= 2.0, drawn, -1), []
    for block in range(BLOCKS):
        own = np.flatnonzero(blocks == block)
        y, rest = estimates[own], sizes[own, None] - 1.0
        words = shares[own].T @ (1.0 / rest[:, 0])
        second = product(y * (1.0 + 1.0 / rest), y)
        sums.append((np.array([len(own)], np.float64), y.sum(axis=0), second, words))
    return PairSums(*(np.stack(each) for each in zip(*sums, strict=True)))


def correlations(sums: PairSums, projection: FloatArray) -> Estimates:
    """Return the correlations of all topics, (n_topics, n_topics); NaN of topics that do not vary.

    ``projection`` is (n_words, n_topics). Errors are NaN if a block has no document.
    """
    noise = np.stack([product(projection * own[:, None], projection) for own in sums.words])
    parts = sums.n_documents, sums.first, sums.second - noise
    whole = _correlation(*(each.sum(axis=0) for each in parts))
    without = [_correlation(*(each.sum(axis=0) - each[block] for each in parts))
               for block in range(BLOCKS)]  # fmt: skip
    spread = np.square(np.stack(without) - np.mean(without, axis=0)).sum(axis=0)
    has_all = (sums.n_documents > 0.0).all()
    error = np.sqrt(spread * (BLOCKS - 1) / BLOCKS) if has_all else np.full(whole.shape, np.nan)
    # Less noise than was subtracted leaves too little variance.
    whole = np.clip(whole, -1.0, 1.0)
    return Estimates(whole, error, np.zeros(whole.shape), np.full(whole.shape, BLOCKS - 1.0))


def _correlation(n_documents: FloatArray, first: FloatArray, second: FloatArray) -> FloatArray:
    n = np.where(n_documents > 0.0, n_documents, np.nan)
    mean = first / n
    covariance = second / n - np.outer(mean, mean)
    variance = np.diagonal(covariance)
    scale = np.sqrt(np.where(variance > 0.0, variance, np.nan))
    found: FloatArray = covariance / np.outer(scale, scale)
    return found
