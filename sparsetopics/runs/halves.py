"""How alike topics are in two halves of the training documents: what differs less may be chance."""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array

from sparsetopics.base.batches import FloatArray
from sparsetopics.inference.course import Kept
from sparsetopics.inference.topics import falling
from sparsetopics.model.word_counts import cut_rows

TINY = 1e-300  # tokens of a topic that one half does not have


def likeness_of_halves(counts: FloatArray, n_batches: int, kept: Kept) -> tuple[float, ...]:
    """The probability that each topic, the largest first, shares with itself between two halves.

    ``counts`` are the tokens, (n_words, n_topics), and one half is every second batch. Empty if the
    learner keeps nothing of batches; 0 for a topic that one half does not have.
    """
    half = np.zeros(counts.shape)
    for batch_id in range(0, n_batches, 2):
        if (part := kept(batch_id)) is None:
            return ()
        batch, found = part
        lengths = np.diff(found.starts)
        tokens = found.shares * np.repeat(batch.weights, lengths)
        half += coo_array((tokens, (np.repeat(batch.word_ids, lengths), found.topics)), half.shape)
    shared, sizes = np.zeros(counts.shape[1]), np.maximum(half.sum(axis=0), TINY)
    of_others = np.maximum(counts.sum(axis=0) - half.sum(axis=0), TINY)
    for rows in cut_rows(len(counts)):
        others = np.maximum(counts[rows] - half[rows], 0.0)
        shared += np.minimum(half[rows] / sizes, others / of_others).sum(axis=0)
    return tuple(shared[falling(counts.sum(axis=0))].tolist())
