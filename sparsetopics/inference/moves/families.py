"""Children of topics over words: each the parent, tilted towards a document of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from sparsetopics.base.batches import DocumentBatch, FloatArray, IntArray
from sparsetopics.model.assignments import Assignments
from sparsetopics.model.likelihoods.document_seeds import distant_shares
from sparsetopics.model.word_counts import WordCounts

FEWEST_SEEDS = 2  # documents for each child
SEED_SHARE = 1 / 7


class Sampling(NamedTuple):
    """What children are made from."""

    n_documents: int  # at most, of each topic
    fewest_tokens: float  # of the topic in each


class Families(NamedTuple):
    """Topics in the place of others."""

    components: Any  # Components of all children, or of the topic itself where it has none
    parents: IntArray  # (n_children,)  rising


def divide_words(
    table: FloatArray,  # (n_words, n_topics)
    samples: Mapping[int, Assignments],
    n_children: int,
    rng: np.random.Generator,
) -> Families:
    """``n_children`` of each topic that has a sample of documents with enough of it."""
    counts, parents = [], []
    for topic in range(table.shape[1]):
        mine = table[:, [topic]]
        own = words_of_topic(samples[topic], topic) if topic in samples else None
        if own is not None and own.n_docs >= FEWEST_SEEDS * n_children:
            seeds = distant_shares(own, len(mine), n_children, rng)
            mine = ((1.0 - SEED_SHARE) * mine + SEED_SHARE * mine.sum() * seeds) / n_children
        counts.append(mine)
        parents.append(np.full(mine.shape[1], topic))
    return Families(WordCounts(np.hstack(counts)), np.concatenate(parents))


def words_of_topic(assignments: Assignments, topic: int) -> DocumentBatch:
    """The expected counts x_dv r_dv of a topic, as documents."""
    batch, found = assignments
    entries = np.flatnonzero(found.topics == topic)
    pairs = np.searchsorted(found.starts, entries, side="right") - 1
    counts = (found.shares[entries] * batch.word_counts[pairs]).astype(np.float32)
    indptr = np.searchsorted(pairs, batch.indptr).astype(np.int64)
    own = DocumentBatch(indptr, batch.word_ids[pairs], counts)
    return own.take(np.flatnonzero(np.diff(indptr) > 0))
