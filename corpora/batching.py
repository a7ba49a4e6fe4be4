"""Dividing a corpus into batches at random: held in memory, or streamed by row group."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from sparsetopics.base.batches import BatchSource, DocumentBatch, IntArray
from sparsetopics.base.errors import OptionError
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.options.table import RESIDENT_PAIRS

FEWEST_BATCHES = 10
FEWEST_DOCS = 32  # in a batch of the default division
MOST_DOCS = 8_192
HELD_ROW_GROUPS = 2


def plan_batches(
    corpus: Corpus,
    n_batches: int | None,
    rng: np.random.Generator,
    *,
    resident_pairs: int = RESIDENT_PAIRS,
) -> BatchSource:
    """Divide the documents at random into batches of nearly equal size, none empty.

    A corpus of at most ``resident_pairs`` pairs is read once and kept. Of a larger one, each row
    group is divided into the same number of pieces, so that there are at least ``n_batches``,
    and decoded when a piece of it is read. The division depends on the corpus, ``n_batches`` and
    ``rng`` alone. Raises OptionError if ``n_batches`` is not between 1 and the number of documents.
    """
    n_batches = checked_n_batches(n_batches, corpus.n_docs, "documents")
    if corpus.n_pairs <= resident_pairs:
        return _resident(corpus, n_batches, rng)
    return _streamed(corpus, n_batches, rng)


def checked_n_batches(n_batches: int | None, n_rows: int, rows: str) -> int:
    """The number asked for, or the default; OptionError unless every batch gets one of the rows."""
    if n_batches is None:
        return default_n_batches(n_rows)
    if not 1 <= n_batches <= n_rows:
        wanted = f"1 to {n_rows}, the number of {rows}"
        raise OptionError("batches", found=f"{n_batches}", wanted=wanted)
    return n_batches


def default_n_batches(n_docs: int) -> int:
    """At least 10, with at most 8,192 documents in each; fewer where a batch would have under 32
    documents."""
    wanted = max(FEWEST_BATCHES, -(-n_docs // MOST_DOCS))
    return max(1, min(wanted, n_docs // FEWEST_DOCS))


@dataclass(frozen=True, eq=False)
class ResidentBatches:
    """Batches in memory."""

    batches: Sequence[DocumentBatch]
    n_docs: int
    n_tokens: float
    n_words: int

    @property
    def is_resident(self) -> bool:
        return True

    @property
    def n_batches(self) -> int:
        return len(self.batches)

    def read(self, batch_id: int) -> DocumentBatch:
        return self.batches[batch_id]


class Piece(NamedTuple):
    """Rows of one row group, ascending."""

    group: int
    rows: IntArray


Batch = TypeVar("Batch", covariant=True)


class Readable(Protocol[Batch]):
    """A row group, of documents or of vectors."""

    def read(self) -> Batch: ...


class HeldRowGroups(Generic[Batch]):
    """Row groups that are decoded on demand, the few used last kept; safe for many threads."""

    def __init__(self, groups: Sequence[Readable[Batch]]) -> None:
        self._groups = groups
        self._held: OrderedDict[int, Batch] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._held)

    def read(self, group: int) -> Batch:
        """The row group, from those held if it is there."""
        with self._lock:  # also keeps two threads from decoding the same row group
            if group not in self._held:
                while len(self._held) >= HELD_ROW_GROUPS:
                    self._held.popitem(last=False)
                self._held[group] = self._groups[group].read()
            self._held.move_to_end(group)
            return self._held[group]


@dataclass(frozen=True, eq=False)
class StreamedBatches:
    """Batches cut from row groups that are decoded on demand; safe to read from many threads."""

    _held: HeldRowGroups[DocumentBatch]
    pieces: Sequence[Piece]
    n_docs: int
    n_tokens: float
    n_words: int

    @property
    def is_resident(self) -> bool:
        return False

    @property
    def n_batches(self) -> int:
        return len(self.pieces)

    def read(self, batch_id: int) -> DocumentBatch:
        piece = self.pieces[batch_id]
        return self._held.read(piece.group).take(piece.rows)


def _resident(corpus: Corpus, n_batches: int, rng: np.random.Generator) -> ResidentBatches:
    whole = concatenated(list(corpus.batches()))
    batches = [whole.take(rows) for rows in divided(whole.n_docs, n_batches, rng)]
    return ResidentBatches(tuple(batches), corpus.n_docs, float(corpus.n_tokens), corpus.n_words)


def _streamed(corpus: Corpus, n_batches: int, rng: np.random.Generator) -> StreamedBatches:
    groups = corpus.row_groups
    n_pieces = -(-n_batches // len(groups))
    pieces = [
        Piece(index, rows)
        for index, group in enumerate(groups)
        for rows in divided(group.n_docs, min(n_pieces, group.n_docs), rng)
    ]
    return StreamedBatches(
        HeldRowGroups(groups), tuple(pieces), corpus.n_docs, float(corpus.n_tokens), corpus.n_words
    )


def divided(n_rows: int, n_parts: int, rng: np.random.Generator) -> list[IntArray]:
    """A random division into parts of nearly equal size, each ascending."""
    return [np.sort(part) for part in np.array_split(rng.permutation(n_rows), n_parts)]


def concatenated(batches: Sequence[DocumentBatch]) -> DocumentBatch:
    """The documents of several batches, in order, as one."""
    lengths = [np.diff(batch.indptr) for batch in batches]
    return DocumentBatch(
        np.concatenate(([0], np.cumsum(np.concatenate(lengths)))).astype(np.int64),
        np.concatenate([batch.word_ids for batch in batches]),
        np.concatenate([batch.word_counts for batch in batches]),
    )
