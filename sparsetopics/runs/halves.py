"""How alike topics are in two halves of the training documents: what differs less may be chance."""

from __future__ import annotations

import numpy as np

from sparsetopics.base.batches import FloatArray
from sparsetopics.inference.course import Kept
from sparsetopics.inference.topics import falling
from sparsetopics.measures.similar_topics import shared_probability

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
        places = np.repeat(batch.word_ids, lengths).astype(np.int64) * counts.shape[1]
        np.add.at(half.reshape(-1), places + found.topics, tokens)
    others = np.maximum(counts - half, 0.0)
    topics, parts = falling(counts.sum(axis=0)), list[float]()
    for own, other in zip(half.T[topics], others.T[topics], strict=True):
        shares = own / max(own.sum(), TINY), other / max(other.sum(), TINY)
        parts.append(shared_probability(*shares))
    return tuple(parts)
