"""How different topics are from each other, by the ranking of their top words."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from sparsetopics.base.batches import IntArray

PERSISTENCE = 0.9  # p, by which ranks count less and less


def inverted_rbo(top_words: IntArray) -> float:
    """One minus the mean rank-biased overlap of all pairs of topics, between 0 and 1.

    Overlap is extrapolated from the n_top ranks given (Webber, Moffat & Zobel 2010, eq. 32), as in
    OCTIS (Bianchi, Terragni & Hovy 2021); the customary n_top is 10. One topic alone gives 1.
    """
    n_topics, n_top = top_words.shape
    if n_topics < 2:
        return 1.0
    words, column = np.unique(top_words, return_inverse=True)
    column = column.reshape(top_words.shape)
    overlap = np.zeros((n_topics, n_topics))
    for depth in range(1, n_top + 1):
        indptr = np.arange(n_topics + 1) * depth
        shape = (n_topics, len(words))
        listed = csr_array((np.ones(indptr[-1]), column[:, :depth].ravel(), indptr), shape=shape)
        agreement = (listed @ listed.T).toarray() / depth
        overlap += (1 - PERSISTENCE) * PERSISTENCE ** (depth - 1) * agreement
    overlap += PERSISTENCE**n_top * agreement
    return 1 - float(overlap[np.triu_indices(n_topics, k=1)].mean())
