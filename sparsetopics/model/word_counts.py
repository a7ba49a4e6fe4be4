"""Expected word-topic counts S_vk: sparse for a batch, dense for a collection."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparsetopics.base.batches import Arrays, DocumentBatch, FloatArray, IntArray
from sparsetopics.base.soundness import (
    check_close,
    check_ids,
    check_like,
    check_own_fields,
    check_rows,
    require,
)
from sparsetopics.execution.executors import Executor
from sparsetopics.kernels import summaries as summary_kernels
from sparsetopics.kernels import words as word_kernels
from sparsetopics.kernels.types import Float32Array, Rows, TopicIds
from sparsetopics.model.responsibilities import Responsibilities, SparseRows, joined_rows

BLOCK_ROWS = 2_048  # words of a batch that one worker takes at a time


class SparseCounts(NamedTuple):
    """The counts of a batch, as sparse rows for the batch's words."""

    words: Rows  # (n_rows,)  rising word ids
    starts: IntArray  # (n_rows + 1,)
    topics: TopicIds  # (n_entries,)  rising within a row
    values: Float32Array  # (n_entries,)

    def check(self, n_words: int, n_topics: int) -> None:
        """Raise ValueError unless kernels can safely use a file's arrays with these sizes."""
        check_own_fields(self)
        check_sparse(self.words, self.starts, self.topics, self.values, (n_words, n_topics))

    @property
    def sizes(self) -> FloatArray:
        """Tokens of each topic up to the last one with tokens, (at most n_topics,)."""
        return np.bincount(self.topics, self.values).astype(np.float64, copy=False)

    @property
    def word_of_entry(self) -> Rows:
        return np.repeat(self.words, np.diff(self.starts))


class WordCounts(NamedTuple):
    """The counts of a collection, word-major because a batch touches rows of words.

    ``start`` stands for data not seen so far. Rows are added up when a batch asks for its own: with
    many words, adding up both tables as a whole would take longer than the batch.
    """

    seen: FloatArray  # (n_words, n_topics)
    elsewhere: FloatArray | None = None  # (n_topics,)  tokens of words that the table leaves out
    within: FloatArray | None = None  # (n_topics,)  tokens of the table's words, kept up to date
    start: WordCounts | None = None
    share: float = 0.0  # of the start

    @classmethod
    def zeros(cls, n_words: int, n_topics: int) -> WordCounts:
        return cls(np.zeros((n_words, n_topics)))

    def check(self, nothing: WordCounts) -> None:
        check_like(self, nothing, "components")
        require(self.seen.min(initial=0.0) >= 0.0, "word counts below zero")
        require(self.elsewhere is None, "word counts of words that are left out")
        require(self.start is None, "word counts with a start")
        if self.within is not None:
            require(self.within.shape == (self.n_topics,), "sizes of other topics")
            require(self.within.min(initial=0.0) >= 0.0, "sizes of topics below zero")
            check_close(self.within, self.seen.sum(axis=0), "sizes of topics")

    @property
    def table(self) -> FloatArray:
        """All counts, (n_words, n_topics)."""
        return self.seen if self.start is None else self.seen + self.share * self.start.table

    @property
    def n_words(self) -> int:
        return len(self.seen)

    @property
    def n_columns(self) -> int:
        return self.n_words

    @property
    def n_topics(self) -> int:
        return int(self.seen.shape[1])

    @property
    def sizes(self) -> FloatArray:
        """Tokens of each topic, (n_topics,)."""
        sizes: FloatArray = self.seen.sum(axis=0) if self.within is None else self.within.copy()
        if self.elsewhere is not None:
            sizes = sizes + self.elsewhere
        return sizes if self.start is None else sizes + self.share * self.start.sizes

    def accumulator(self) -> WordCounts:
        """A copy that keeps its sizes up to date, so that they need no pass over the table."""
        return self._replace(seen=self.seen.copy(), within=self.seen.sum(axis=0))

    def zeros_like(self) -> WordCounts:
        return WordCounts(np.zeros_like(self.seen))

    def scaled(self, factor: float) -> WordCounts:
        return WordCounts(factor * self.table)

    def plus(self, other: WordCounts) -> WordCounts:
        return WordCounts(self.table + other.table)

    def with_rest(self, start: WordCounts, share: float) -> WordCounts:
        return self._replace(start=start, share=share)

    def rows(self, words: Rows) -> FloatArray:
        """The counts of some words, (n_rows, n_topics)."""
        rows = self.seen[words]
        return rows if self.start is None else rows + self.share * self.start.rows(words)

    def add(self, batch: SparseCounts, scale: float = 1.0) -> None:
        """Add a batch in place, ``scale`` times."""
        word_kernels.add_sparse_rows(*batch, scale, self.seen)
        if self.within is not None:
            more = batch.sizes
            self.within[: len(more)] += scale * more

    def take_out(self, batch: SparseCounts) -> None:
        """Take a batch out in place; rounding leaves no count below zero."""
        taken = np.zeros(self.n_topics) if self.within is None else np.negative(self.within)
        word_kernels.take_sparse_rows(*batch, self.seen, taken)
        if self.within is not None:
            np.negative(taken, out=self.within)

    def sum_batch(
        self, batch: DocumentBatch, found: Responsibilities, executor: Executor
    ) -> SparseCounts:
        """The counts of a batch, for the same words and topics."""
        return sum_words(batch, found, (self.n_words, self.n_topics), executor)

    def restored(self, arrays: Arrays) -> SparseCounts:
        """A batch's counts from its arrays by name."""
        return SparseCounts(**arrays)

    def check_batch(self, arrays: Arrays) -> None:
        self.restored(arrays).check(self.n_words, self.n_topics)


def check_sparse(
    words: Rows,
    starts: IntArray,
    topics: TopicIds,
    values: Float32Array | FloatArray,
    shape: tuple[int, int],
) -> None:
    """Raise ValueError unless sparse counts with rising words fit a table of ``shape``."""
    check_ids(words, shape[0], "words")
    require((words[1:] > words[:-1]).all(), "words do not rise")
    check_rows(starts, topics, values, shape[1], "word counts")
    require(len(starts) == len(words) + 1, f"word counts of {len(starts) - 1:,} words")


class BatchRows(NamedTuple):
    """The words of a batch numbered from 0, and the pairs of each."""

    words: Rows  # (n_rows,)  rising word ids
    row_of_pair: Rows  # (n_pairs,)
    pair_starts: IntArray  # (n_rows + 1,)
    pairs: IntArray  # (n_pairs,)  positions of each row's pairs


def number_rows(batch: DocumentBatch, n_words: int) -> BatchRows:
    """Number the words that occur in ``batch`` and list each one's pairs, in document order."""
    frequency = np.bincount(batch.word_ids, minlength=n_words)
    present = np.flatnonzero(frequency)
    row_of_word = np.zeros(n_words, np.uint32)
    row_of_word[present] = np.arange(len(present), dtype=np.uint32)
    row_of_pair = row_of_word[batch.word_ids]
    starts = np.concatenate(([0], np.cumsum(frequency[present]))).astype(np.int64)
    pairs = word_kernels.group_pairs(row_of_pair, starts)
    return BatchRows(present.astype(np.uint32), row_of_pair, starts, pairs)


def sum_words(
    batch: DocumentBatch, found: Responsibilities, shape: tuple[int, int], executor: Executor
) -> SparseCounts:
    """Expected word-topic counts of a batch; ``shape`` is (n_words, n_topics)."""
    rows = number_rows(batch, shape[0])
    counts = batch.word_counts.astype(np.float64)

    def gather(part: slice) -> SparseRows:
        starts = rows.pair_starts[part.start : part.stop + 1]
        return summary_kernels.sum_by_word(starts, rows.pairs, counts, *found, shape[1])

    parts = executor.map(gather, cut_rows(len(rows.words)))
    return SparseCounts(rows.words, *joined_rows(parts))


def cut_rows(n_rows: int) -> list[slice]:
    """Consecutive ranges that cover 0 to ``n_rows``; one empty range if there are none."""
    starts = range(0, max(n_rows, 1), BLOCK_ROWS)
    return [slice(first, min(first + BLOCK_ROWS, n_rows)) for first in starts]
