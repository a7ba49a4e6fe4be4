"""Corpora whose documents can be told apart by their counts."""

from dataclasses import replace

import numpy as np
import scipy.sparse

from sparsetopics.corpora.corpus import Corpus


def corpus_of(n_docs, docs_per_group=None):
    """Document d holds word 0 d + 1 times, so that its count names it, and one other word."""
    counts = np.zeros((n_docs, 4))
    counts[:, 0] = np.arange(1, n_docs + 1)
    counts[np.arange(n_docs), 1 + np.arange(n_docs) % 3] = 1
    matrix = scipy.sparse.csr_array(counts)
    words = ["a", "b", "c", "d"]
    if docs_per_group is None:
        return Corpus.from_csr(matrix, words)
    parts = [
        Corpus.from_csr(matrix[start : start + docs_per_group], words)
        for start in range(0, n_docs, docs_per_group)
    ]
    return replace(parts[0], row_groups=tuple(g for part in parts for g in part.row_groups))


def documents_in(batch):
    """Numbers of the documents in a batch, in its order."""
    np.testing.assert_array_equal(batch.word_ids[batch.indptr[:-1]], 0)
    return (batch.word_counts[batch.indptr[:-1]].astype(int) - 1).tolist()


def divisions(source):
    return [documents_in(source.read(batch_id)) for batch_id in range(source.n_batches)]
