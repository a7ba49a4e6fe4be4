"""Statistics of a mixture of documents: each component's number of documents, and their words.

Responsibilities of items are multiples of 2⁻²⁴ (``kernels.items``). So with whole word counts,
float64 holds all sums exactly, and a batch that is taken out leaves nothing behind.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import sparse

from sparsetopics.base.batches import Arrays, DocumentBatch, DocumentItems, FloatArray, IntArray
from sparsetopics.base.soundness import check_ids, check_like, check_own_fields, check_rows, require
from sparsetopics.execution.executors import Executor
from sparsetopics.kernels import words as word_kernels
from sparsetopics.kernels.types import Rows, TopicIds
from sparsetopics.model.responsibilities import Responsibilities


class SparseDocumentCounts(NamedTuple):
    """The counts of a batch, as sparse rows for the batch's words."""

    counts: FloatArray  # (n_topics,)  documents, Σ r
    words: Rows  # (n_rows,)  rising word ids
    starts: IntArray  # (n_rows + 1,)
    topics: TopicIds  # (n_entries,)  rising within a row
    values: FloatArray  # (n_entries,)

    def check(self, like: DocumentCounts) -> None:
        """Raise ValueError unless kernels can safely use a file's arrays with counts ``like``."""
        check_own_fields(self)
        check_like(self.counts, like.counts, "documents of topics")
        require(self.counts.min(initial=0.0) >= 0.0, "documents of topics below zero")
        require(np.isfinite(self.counts).all(), "documents of topics are not finite")
        (n_words, n_topics), words = like.table.shape, self.words
        check_ids(words, n_words, "words")
        require((words[1:] > words[:-1]).all(), "words do not rise")
        check_rows(self.starts, self.topics, self.values, n_topics, "word counts")
        n_rows = len(self.starts) - 1
        require(n_rows == len(words), f"word counts of {n_rows:,} words")


class DocumentCounts(NamedTuple):
    """The counts of a collection. Counts of disjoint sets of documents add."""

    counts: FloatArray  # (n_topics,)  N_k = Σ r
    table: FloatArray  # (n_words, n_topics)  S_vk = Σ r x

    @classmethod
    def zeros(cls, n_words: int, n_topics: int) -> DocumentCounts:
        return cls(np.zeros(n_topics), np.zeros((n_words, n_topics)))

    def check(self, nothing: DocumentCounts) -> None:
        check_like(self, nothing, "components")
        require(self.counts.min(initial=0.0) >= 0.0, "documents of topics below zero")
        require(self.table.min(initial=0.0) >= 0.0, "word counts below zero")

    @property
    def n_topics(self) -> int:
        return len(self.counts)

    @property
    def n_columns(self) -> int:
        return len(self.table)

    @property
    def sizes(self) -> FloatArray:
        """Documents of each topic, (n_topics,)."""
        return self.counts

    @property
    def features(self) -> FloatArray:
        """Features by which topics are compared: roots of word counts, (n_topics, n_words)."""
        return np.sqrt(self.table.T.astype(np.float32))

    @property
    def is_exact(self) -> bool:
        return False

    def accumulator(self) -> DocumentCounts:
        return DocumentCounts(self.counts.copy(), self.table.copy())

    def zeros_like(self) -> DocumentCounts:
        return DocumentCounts(np.zeros_like(self.counts), np.zeros_like(self.table))

    def plus(self, other: DocumentCounts) -> DocumentCounts:
        return DocumentCounts(*map(operator.add, self, other))

    def with_rest(self, start: DocumentCounts, share: float) -> DocumentCounts:
        return self.plus(start.scaled(share))

    def scaled(self, factor: float) -> DocumentCounts:
        """The counts times ``factor``."""
        return DocumentCounts(factor * self.counts, factor * self.table)

    def take(self, topics: IntArray) -> DocumentCounts:
        """The counts of ``topics``, in that order."""
        return DocumentCounts(self.counts[topics], self.table.take(topics, axis=1))

    @classmethod
    def joined(cls, parts: Sequence[DocumentCounts]) -> DocumentCounts:
        """The topics of at least one part, one part after the other."""
        counts, tables = zip(*parts, strict=True)
        return cls(np.concatenate(counts), np.hstack(tables))

    def renumbered(self, new_topics: IntArray, n_topics: int) -> DocumentCounts:
        """Topic k becomes ``new_topics[k]``; -1 leaves it out, equal numbers add up."""
        moved = DocumentCounts.zeros(len(self.table), n_topics)
        kept = np.flatnonzero(new_topics >= 0)
        np.add.at(moved.counts, new_topics[kept], self.counts[kept])
        np.add.at(moved.table.T, new_topics[kept], self.table.T[kept])
        return moved

    def add(self, batch: SparseDocumentCounts, scale: float = 1.0) -> None:
        """Add a batch in place, ``scale`` times."""
        np.add(self.counts, scale * batch.counts, out=self.counts)
        word_kernels.add_sparse_rows(*batch[1:], scale, self.table)

    def exchange(
        self, new: SparseDocumentCounts, old: SparseDocumentCounts | None, executor: Executor
    ) -> None:
        """Add ``new`` in place, and take out ``old``.

        If counts are not whole, rounding leaves none below zero.
        """
        if old is not None:
            self.add(old, -1.0)
            for values in self:
                np.maximum(values, 0.0, out=values)
        self.add(new)

    def sum_batch(
        self, batch: DocumentItems, found: Responsibilities, executor: Executor
    ) -> SparseDocumentCounts:
        """The counts of a batch, for the same words and topics."""
        documents, (n_words, n_topics) = batch.values, self.table.shape
        shares = sparse.csr_array(
            (found.shares.astype(np.float64), found.topics.astype(np.int64), found.starts),
            shape=(documents.n_docs, n_topics),
        )
        sums = (rows_of(documents, n_words).T.tocsr() @ shares).sorted_indices()
        words = np.flatnonzero(np.diff(sums.indptr))
        return SparseDocumentCounts(
            np.bincount(found.topics, found.shares, minlength=n_topics).astype(np.float64),
            words.astype(np.uint32),
            np.append(sums.indptr[words], sums.indptr[-1]).astype(np.int64),
            sums.indices.astype(np.uint32),
            sums.data,
        )

    def sum_items(
        self, values: DocumentBatch, found: Responsibilities, executor: Executor
    ) -> DocumentCounts:
        """The counts of ``values``, with a row of ``found`` for each document."""
        counts = self.zeros_like()
        counts.add(self.sum_batch(DocumentItems(values), found, executor))
        return counts

    def restored(self, arrays: Arrays) -> SparseDocumentCounts:
        """A batch's counts from its arrays by name."""
        return SparseDocumentCounts(**arrays)

    def check_batch(self, arrays: Arrays) -> None:
        self.restored(arrays).check(self)


def rows_of(batch: DocumentBatch, n_words: int) -> sparse.csr_array:
    """Word counts as a matrix (n_docs, n_words)."""
    return sparse.csr_array(
        (batch.word_counts.astype(np.float64), batch.word_ids, batch.indptr),
        shape=(batch.n_docs, n_words),
    )
