"""Topic coherence: do the top words of a topic occur together, in documents or running text?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from scipy.sparse import csr_array

from sparsetopics.base.batches import DocumentBatch, FloatArray, IntArray

GENSIM_EPSILON = 1e-12


def count_cooccurrence(
    batches: Iterable[DocumentBatch], top_words: IntArray
) -> tuple[FloatArray, int]:
    """Count the documents that hold each pair of a topic's top words, one batch at a time.

    ``top_words`` is (n_topics, n_top) word ids. Other words of a batch are dropped first. Returns
    the counts, (n_topics, n_top, n_top), with document frequencies on the diagonals, and the number
    of all documents.
    """
    words, place = np.unique(top_words, return_inverse=True)
    place = place.reshape(top_words.shape)
    rows, columns = np.broadcast_arrays(place[:, :, None], place[:, None, :])
    documents, n_docs = np.zeros(rows.shape), 0
    for batch in batches:
        shape = batch.n_docs, 1 + max(int(batch.word_ids.max(initial=0)), int(words[-1]))
        pairs = np.ones(batch.n_pairs), batch.word_ids, batch.indptr
        present = csr_array(pairs, shape=shape)[:, words]
        # Entry (i, j) counts the documents of the batch that hold words i and j.
        meeting = (present.T @ present).tocsr()
        documents += np.asarray(meeting[rows.ravel(), columns.ravel()]).reshape(rows.shape)
        n_docs += batch.n_docs
    return documents, n_docs


def npmi(counts: FloatArray, n_docs: int) -> FloatArray:
    """Return the normalised pointwise mutual information of each topic, (n_topics,), in [−1, 1].

    It is the mean over word pairs of log(p_ij / (p_i p_j)) / −log p_ij with a document as the
    window (Bouma 2009; Röder, Both & Hinneburg 2015). Words that never meet score −1.
    """
    joint = counts / n_docs
    frequency = np.diagonal(joint, axis1=1, axis2=2)
    independent = frequency[:, :, None] * frequency[:, None, :]
    score = np.full(joint.shape, -1.0)
    score[joint == 1] = 1.0
    usual = (joint > 0) & (joint < 1)
    score[usual] = np.log(joint[usual] / independent[usual]) / -np.log(joint[usual])
    return _mean_over_pairs(score)


def u_mass(counts: FloatArray, n_docs: int) -> FloatArray:
    """Return the mean log p(word | higher-ranked word) of each topic, (n_topics,), about 0 at most.

    This is the measure of Mimno et al. (2011) with gensim's smoothing, so that numbers compare:
    log((p_ij + 1e-12) / p_j) for a word i ranked below word j, or 0 if word j never occurs.
    """
    joint = counts / n_docs
    condition = np.diagonal(joint, axis1=1, axis2=2)[:, None, :]  # p_j of the higher-ranked word
    known = np.broadcast_to(condition > 0, joint.shape)
    score = np.zeros(joint.shape)
    np.log((joint + GENSIM_EPSILON) / np.where(condition > 0, condition, 1), out=score, where=known)
    return _mean_over_pairs(score)


def _mean_over_pairs(score: FloatArray) -> FloatArray:
    """Return the mean of score[:, i, j] over i > j; a single top word has no pair and gives NaN."""
    later, earlier = np.tril_indices(score.shape[1], k=-1)
    if len(later) == 0:
        return np.full(len(score), np.nan)
    mean: FloatArray = score[:, later, earlier].mean(axis=1)
    return mean


def text_coherence(
    top_words: Sequence[Sequence[str]], texts: Iterable[Sequence[str]]
) -> tuple[FloatArray, FloatArray]:
    """Score the ``top_words`` of each topic by windows that slide over ``texts``.

    Returns c_v and c_npmi, (n_topics,) each; NaN if one of its top words is not in the texts.
    c_v is the indirect cosine similarity of NPMI vectors in windows of 110 words, between 0 and 1.
    c_npmi is the mean NPMI of word pairs in windows of 10 words (Röder, Both & Hinneburg 2015).
    gensim computes both, so that they compare with published numbers. It iterates over ``texts``
    once for each, and it counts a word that stands twice in a window as gone when the first leaves.
    """
    from gensim.corpora import Dictionary  # slow to import
    from gensim.models import CoherenceModel

    dictionary = Dictionary()
    distinct = sorted({word for words in top_words for word in words})
    dictionary.token2id = {word: word_id for word_id, word in enumerate(distinct)}

    def scores(measure: str) -> FloatArray:
        model = CoherenceModel(
            topics=top_words, texts=texts, dictionary=dictionary, coherence=measure, processes=1
        )
        # gensim divides by zero, the frequency of a word that does not occur.
        with np.errstate(divide="ignore", invalid="ignore"):
            found = np.asarray(model.get_coherence_per_topic(), np.float64)
        return np.where(np.isfinite(found), found, np.nan)

    return scores("c_v"), scores("c_npmi")
