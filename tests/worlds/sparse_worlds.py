"""Documents with L-sparse responsibilities, dense and as sparse rows, for tests of kernels."""

from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

from sparsetopics.base.batches import DocumentBatch
from sparsetopics.model.responsibilities import Responsibilities
from worlds.dense_responsibilities import sparse_of


class World(NamedTuple):
    """A batch; ``dense`` holds what ``sparse`` says, as float64."""

    batch: DocumentBatch
    dense: np.ndarray  # (n_pairs, n_topics)
    sparse: Responsibilities
    prior: np.ndarray  # (n_topics,)
    n_words: int

    @property
    def counts(self):
        return self.batch.word_counts.astype(float)

    @property
    def n_topics(self):
        return self.dense.shape[1]

    def doc_topic_counts(self):
        counts = np.zeros((self.batch.n_docs, self.n_topics))
        documents = np.repeat(np.arange(self.batch.n_docs), np.diff(self.batch.indptr))
        np.add.at(counts, documents, self.counts[:, None] * self.dense)
        return counts


_ARRAYS_AND_COPIES: list[tuple[np.ndarray, np.ndarray]] = []  # of all worlds of a test


@contextmanager
def staying_as_they_are():
    """Arrays of worlds that are made meanwhile are not changed.

    Arrays that only read would be as safe, but numba compiles every kernel anew for those.
    """
    _ARRAYS_AND_COPIES.clear()
    yield
    for array, copy in _ARRAYS_AND_COPIES:
        np.testing.assert_array_equal(array, copy, "a test has changed its world")


def make_world(seed, lengths=(5, 0, 8, 1), n_words=9, n_topics=5, largest=6):
    """Each word uses one to three topics, in no order."""
    rng = np.random.default_rng(seed)
    lengths = np.minimum(lengths, n_words)
    indptr = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    words = [np.sort(rng.choice(n_words, length, replace=False)) for length in lengths]
    dense = np.zeros((indptr[-1], n_topics), np.float32)
    for row in dense:
        used = rng.choice(n_topics, min(n_topics, rng.integers(1, 4)), replace=False)
        row[used] = rng.dirichlet(np.ones(len(used)))
    sparse = shuffled_rows(sparse_of(dense), rng)
    batch = DocumentBatch(
        indptr,
        np.concatenate(words).astype(np.int32),
        rng.integers(1, largest + 1, indptr[-1]).astype(np.uint32),
    )
    prior = rng.uniform(0.01, 0.4, n_topics)
    arrays = (indptr, batch.word_ids, batch.word_counts, *sparse, prior)
    _ARRAYS_AND_COPIES.extend((array, array.copy()) for array in arrays)
    return World(batch, dense.astype(float), sparse, prior, n_words)


def shuffled_rows(sparse, rng):
    """The entries of a row may stand in any order: slots are by falling weight, not by topic."""
    order = np.arange(len(sparse.topics))
    for lo, hi in zip(sparse.starts[:-1], sparse.starts[1:], strict=True):
        order[lo:hi] = rng.permutation(order[lo:hi])
    return Responsibilities(sparse.starts, sparse.topics[order], sparse.shares[order])


worlds = st.builds(
    make_world,
    st.integers(0, 10_000),
    lengths=st.lists(st.integers(0, 9), min_size=1, max_size=5),
    n_topics=st.integers(1, 7),
    largest=st.sampled_from([1, 6, 1_000_000]),
)
