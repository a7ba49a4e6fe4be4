"""Expected word-topic counts S_vk of a batch, pair by pair, and of a collection, in a table."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from sparsetopics.base.batches import (
    BLOCK_PAIRS,
    Arrays,
    DocumentBatch,
    FloatArray,
    IntArray,
    WordIds,
)
from sparsetopics.base.batches import WordCounts as BatchTokens
from sparsetopics.base.errors import ShapeError
from sparsetopics.base.soundness import (
    check_close,
    check_ids,
    check_like,
    check_own_fields,
    require,
)
from sparsetopics.execution.executors import Executor
from sparsetopics.kernels import words as word_kernels
from sparsetopics.kernels.types import Float32Array, Rows, SparseShares, TopicIds
from sparsetopics.model.responsibilities import Responsibilities

BLOCK_ROWS = 2_048  # words of a batch that one worker takes at a time
MOST_PARTS = 4  # of the vocabulary; each reads all pairs of a batch
SAMPLED = 16  # one pair in as many tells how often words occur
SERIAL = Executor()


class PairCounts(NamedTuple):
    """The counts of a batch: the words of its pairs, and how topics share them.

    Shares are multiples of 2⁻²⁰. If a pair's tokens are a whole number, every sum of counts below
    2³³ tokens is exact, so that a batch that is taken out leaves no trace, in whatever order.
    """

    words: WordIds  # (n_pairs,)
    tokens: BatchTokens  # (n_pairs,)
    starts: IntArray  # (n_pairs + 1,)
    topics: TopicIds  # (n_entries,)
    shares: Float32Array  # (n_entries,)

    @property
    def responsibilities(self) -> SparseShares:
        return SparseShares(self.starts, self.topics, self.shares)

    @property
    def word_of_entry(self) -> Rows:
        return np.repeat(self.words, np.diff(self.starts))

    @property
    def values(self) -> FloatArray:
        """Tokens of each entry, (n_entries,)."""
        return np.repeat(self.tokens.astype(np.float64), np.diff(self.starts)) * self.shares


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
    def n_columns(self) -> int:
        return len(self.seen)

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

    @property
    def is_exact(self) -> bool:
        return True

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
        rows = self.seen.take(words, axis=0)
        if self.start is not None:
            rows += self.share * self.start.table.take(words, axis=0)
        return rows

    def add(self, batch: PairCounts, scale: float = 1.0) -> None:
        """Add a batch in place, ``scale`` times."""
        self.exchange(batch, None, SERIAL, scale)

    def exchange(
        self, new: PairCounts, old: PairCounts | None, executor: Executor, scale: float = 1.0
    ) -> None:
        """Add ``new`` in place, ``scale`` times, and take out ``old``.

        These are the former counts of the same pairs. Rounding of fractional tokens leaves no count
        below zero. Raises ShapeError if they have other pairs, since kernels read one row for each.
        """
        words, found, table = new.words, new.responsibilities, self.seen
        nothing = SparseShares(*Responsibilities.unknown(len(words)))
        former = nothing if old is None else old.responsibilities
        if len(former.starts) != len(new.starts):
            counted = f"{len(words):,} pairs, but found {len(former.starts) - 1:,}"
            raise ShapeError("former counts", f"expected {counted}")
        tokens = scale * new.tokens.astype(np.float64)

        def exchange(part: tuple[int, int]) -> FloatArray:
            return word_kernels.exchange_pairs(*part, words, tokens, found, former, table)

        # In the order of parts, since sums of fractional tokens round.
        added = sum(executor.map(exchange, _cut_words(words, self.n_columns)))
        if self.within is not None:
            np.add(self.within, added, out=self.within)

    def sum_batch(
        self, batch: DocumentBatch, found: Responsibilities, executor: Executor
    ) -> PairCounts:
        """The counts of a batch, for the same words and topics."""
        return PairCounts(batch.word_ids, batch.word_counts, *found)

    def restored(self, arrays: Arrays) -> PairCounts:
        """A batch's counts from its arrays by name."""
        return PairCounts(**arrays)

    def check_batch(self, arrays: Arrays) -> None:
        batch = self.restored(arrays)
        check_own_fields(batch)
        check_ids(batch.words, self.n_columns, "words")
        require(len(batch.tokens) == len(batch.words), "tokens of other pairs")
        Responsibilities(*batch.responsibilities).check(len(batch.words), self.n_topics)


def _cut_words(words: WordIds, n_words: int) -> list[tuple[int, int]]:
    """Ranges of words with about as many pairs each, so that no two workers change one row."""
    few = np.sort(words[::SAMPLED])
    n_parts = min(max(len(words) // BLOCK_PAIRS, 1), MOST_PARTS)
    inner = few[np.arange(1, n_parts) * len(few) // n_parts].tolist()
    return list(pairwise([0, *inner, n_words]))


def number_rows(batch: DocumentBatch, n_words: int) -> tuple[Rows, WordIds]:
    """Return the rising ids of the words in ``batch``, and the place of each pair among them."""
    present = np.flatnonzero(np.bincount(batch.word_ids, minlength=n_words))
    row_of_word = np.zeros(n_words, np.int32)
    row_of_word[present] = np.arange(len(present), dtype=np.int32)
    return present.astype(np.uint32), row_of_word[batch.word_ids]


def cut_rows(n_rows: int) -> list[slice]:
    """Consecutive ranges that cover 0 to ``n_rows``; one empty range if there are none."""
    starts = range(0, max(n_rows, 1), BLOCK_ROWS)
    return [slice(first, min(first + BLOCK_ROWS, n_rows)) for first in starts]
