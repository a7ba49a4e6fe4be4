"""Topic coherence: do the top words of a topic occur in the same documents?"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from sparsetopics.base.batches import DocumentBatch, FloatArray, IntArray

GENSIM_EPSILON = 1e-12


class Cooccurrence(NamedTuple):
    """In how many documents the top words of each topic meet."""

    documents: FloatArray  # (n_topics, n_top, n_top)   the diagonal is document frequency
    n_docs: int


def count_cooccurrence(batches: Iterable[DocumentBatch], top_words: IntArray) -> Cooccurrence:
    """Count, streaming, the documents that hold each pair of a topic's top words.

    ``top_words`` is (n_topics, n_top) word ids; only their columns are kept of a batch.
    """
    words, place = np.unique(top_words, return_inverse=True)
    place = place.reshape(top_words.shape)
    rows, columns = np.broadcast_arrays(place[:, :, None], place[:, None, :])
    documents, n_docs = np.zeros(rows.shape), 0
    for batch in batches:
        present = _presence(batch, words)
        meeting = (present.T @ present).tocsr()
        documents += np.asarray(meeting[rows.ravel(), columns.ravel()]).reshape(rows.shape)
        n_docs += batch.n_docs
    return Cooccurrence(documents, n_docs)


def _presence(batch: DocumentBatch, words: IntArray) -> csr_array:
    """Which of the sorted ``words`` each document holds, (n_docs, len(words)) of 0 and 1."""
    column = np.searchsorted(words, batch.word_ids)
    column[column == len(words)] = 0
    found = words[column] == batch.word_ids
    indptr = np.concatenate(([0], np.cumsum(found)))[batch.indptr]
    shape = (batch.n_docs, len(words))
    return csr_array((np.ones(indptr[-1]), column[found], indptr), shape=shape)


def npmi(counts: Cooccurrence) -> FloatArray:
    """Normalised pointwise mutual information of each topic, (n_topics,), between -1 and 1.

    Mean over word pairs of log(p_ij / (p_i p_j)) / −log p_ij with a document as the window
    (Bouma 2009; Röder, Both & Hinneburg 2015). Words that never meet score -1.
    """
    joint = counts.documents / counts.n_docs
    frequency = np.diagonal(joint, axis1=1, axis2=2)
    independent = frequency[:, :, None] * frequency[:, None, :]
    score = np.full(joint.shape, -1.0)
    score[joint == 1] = 1.0
    usual = (joint > 0) & (joint < 1)
    score[usual] = np.log(joint[usual] / independent[usual]) / -np.log(joint[usual])
    return _mean_over_pairs(score)


def u_mass(counts: Cooccurrence) -> FloatArray:
    """Mean log p(word | better-placed word) of each topic, (n_topics,), at most about 0.

    Mimno et al. (2011) with gensim's smoothing, log((p_ij + 1e-12) / p_j) for word i placed after
    word j, so that the numbers compare; a word j that never occurs scores 0, as there.
    """
    joint = counts.documents / counts.n_docs
    condition = np.diagonal(joint, axis1=1, axis2=2)[:, None, :]  # of the earlier word
    known = np.broadcast_to(condition > 0, joint.shape)
    score = np.zeros(joint.shape)
    np.log((joint + GENSIM_EPSILON) / np.where(condition > 0, condition, 1), out=score, where=known)
    return _mean_over_pairs(score)


def _mean_over_pairs(score: FloatArray) -> FloatArray:
    """Mean of score[:, i, j] over i > j; a single top word has no pair and scores NaN."""
    later, earlier = np.tril_indices(score.shape[1], k=-1)
    if len(later) == 0:
        return np.full(len(score), np.nan)
    mean: FloatArray = score[:, later, earlier].mean(axis=1)
    return mean
