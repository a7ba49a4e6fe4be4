"""Dividing a corpus into batches at random: held in memory, or streamed by row group."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Generic

import numpy as np

from sparsetopics.base.batches import (
    DocumentBatch,
    IntArray,
    Source,
    VectorBatch,
    VectorSource,
)
from sparsetopics.base.errors import OptionError
from sparsetopics.corpora.corpus import Corpus, VectorCorpus
from sparsetopics.corpora.row_corpus import RowCorpus
from sparsetopics.corpora.store.shards import RowBatch
from sparsetopics.options.option import shown
from sparsetopics.options.table import RESIDENT_PAIRS

FEWEST_BATCHES = 10
FEWEST_DOCS = 32  # in a batch of the default division
MOST_DOCS = 8_192
HELD_ROW_GROUPS = 2
RESIDENT_BYTES = 512 << 20  # of values: a larger corpus is read from disk


def plan_batches(
    corpus: Corpus,
    n_batches: int | None,
    rng: np.random.Generator,
    *,
    resident_pairs: int = RESIDENT_PAIRS,
) -> Source[DocumentBatch]:
    """Divide the documents at random into batches of nearly equal size, none empty.

    A corpus of at most ``resident_pairs`` pairs is read once and kept. For a larger one, each row
    group is divided into the same number of pieces, enough for at least ``n_batches``, and decoded
    when a piece of it is read. The division depends only on the corpus, ``n_batches`` and ``rng``.
    Raises OptionError if ``n_batches`` is not between 1 and the number of documents.
    """
    n_batches = _checked_n_batches(n_batches, corpus)
    if corpus.n_pairs > resident_pairs:
        return _streamed(corpus, _pieces(corpus, n_batches, rng))
    whole = DocumentBatch.joined(list(corpus.batches()))
    parts = _divided(whole.n_docs, n_batches, rng)
    return _resident(corpus, [whole.take(rows) for rows in parts])


def plan_vector_batches(
    corpus: VectorCorpus,
    n_batches: int | None,
    rng: np.random.Generator,
    *,
    resident_bytes: int = RESIDENT_BYTES,
) -> VectorSource:
    """Divide the items at random into batches whose sizes differ by at most one.

    A corpus of at most ``resident_bytes`` of values is read once and kept. For a larger one, the
    row groups are put in random order, and the items of each one too, and the batches are cut from
    that sequence: a batch holds items of few row groups, which are decoded when it is read. The
    division depends only on the corpus, ``n_batches`` and ``rng``. Raises OptionError if
    ``n_batches`` is not between 1 and the number of items.
    """
    n_batches = _checked_n_batches(n_batches, corpus)
    n_bytes = corpus.n_items * corpus.n_columns * np.dtype(np.float32).itemsize
    if n_bytes > resident_bytes:
        return _streamed(corpus, _mixed_pieces(corpus, n_batches, rng))
    parts = _divided(corpus.n_items, n_batches, rng)
    # Each row group is scattered to its places in one array, so that nothing is held twice.
    place = np.empty(corpus.n_items, np.int64)
    place[np.concatenate(parts)] = np.arange(corpus.n_items)
    values = np.empty((corpus.n_items, corpus.n_columns), np.float32)
    start = 0
    for batch in corpus.batches():
        values[place[start : start + batch.n_items]] = batch.values
        start += batch.n_items
    ends = np.cumsum([len(part) for part in parts])
    return _resident(corpus, [VectorBatch(part) for part in np.split(values, ends[:-1])])


def _checked_n_batches(n_batches: int | None, corpus: RowCorpus[RowBatch]) -> int:
    """The chosen number or the default; OptionError unless every batch gets a row."""
    n_rows = corpus.sizes.n_docs
    if n_batches is None:
        return default_n_batches(n_rows)
    if not 1 <= n_batches <= n_rows:
        allowed = f"from 1 to {n_rows}, the number of {corpus.noun}"
        raise OptionError("batches", f"must be {allowed}, but is {shown(n_batches)}")
    return int(n_batches)  # which may be numpy's


def default_n_batches(n_docs: int) -> int:
    """At least 10, with at most 8,192 documents in each; fewer where a batch would have fewer than
    32 documents."""
    enough = max(FEWEST_BATCHES, -(-n_docs // MOST_DOCS))
    return max(1, min(enough, n_docs // FEWEST_DOCS))


@dataclass(frozen=True, eq=False)
class Batches(Generic[RowBatch]):
    """The rows of a corpus in batches, which many threads may read."""

    n_docs: int
    n_tokens: float
    n_columns: int  # words of the vocabulary, or numbers of an item
    n_batches: int
    is_resident: bool
    read: Callable[[int], RowBatch]


def joined(first: Source[DocumentBatch], last: Source[DocumentBatch]) -> Batches[DocumentBatch]:
    """The batches of one source of documents, and after them those of another with the same words,
    which stays in memory."""

    def read(batch_id: int) -> DocumentBatch:
        n_first = first.n_batches
        return first.read(batch_id) if batch_id < n_first else last.read(batch_id - n_first)

    sizes = first.n_docs + last.n_docs, first.n_tokens + last.n_tokens, first.n_columns
    return Batches(*sizes, first.n_batches + last.n_batches, first.is_resident, read)


Piece = tuple[int, IntArray]  # the number of a row group, and some of its rows, ascending


def _resident(corpus: RowCorpus[RowBatch], batches: Sequence[RowBatch]) -> Batches[RowBatch]:
    """Batches in memory."""
    return Batches(*_sizes_of(corpus), len(batches), True, batches.__getitem__)


def _streamed(corpus: RowCorpus[RowBatch], parts: Sequence[Sequence[Piece]]) -> Batches[RowBatch]:
    """Batches put together from row groups that are decoded on demand, the few used last kept."""
    held: OrderedDict[int, RowBatch] = OrderedDict()
    lock = Lock()

    def row_group(number: int) -> RowBatch:
        with lock:  # also keeps two threads from decoding the same row group
            if number not in held:
                while len(held) >= HELD_ROW_GROUPS:
                    held.popitem(last=False)
                held[number] = corpus.row_groups[number].read()
            held.move_to_end(number)
            return held[number]

    def read(batch_id: int) -> RowBatch:
        taken = [row_group(number).take(rows) for number, rows in parts[batch_id]]
        return taken[0] if len(taken) == 1 else taken[0].joined(taken)

    return Batches(*_sizes_of(corpus), len(parts), False, read)


def _sizes_of(corpus: RowCorpus[RowBatch]) -> tuple[int, float, int]:
    return corpus.sizes.n_docs, float(corpus.sizes.n_tokens), corpus.width


def _pieces(corpus: Corpus, n_batches: int, rng: np.random.Generator) -> list[list[Piece]]:
    """Batches of documents: each a piece of one row group."""
    n_pieces = -(-n_batches // len(corpus.row_groups))
    return [
        [(index, rows)]
        for index, group in enumerate(corpus.row_groups)
        for rows in _divided(group.n_docs, min(n_pieces, group.n_docs), rng)
    ]


def _mixed_pieces(
    corpus: VectorCorpus, n_batches: int, rng: np.random.Generator
) -> list[list[Piece]]:
    """Batches of items: stretches of a random sequence of row groups and of items in each."""
    sizes = [group.n_docs for group in corpus.row_groups]
    pieces = ((int(group), rng.permutation(sizes[group])) for group in rng.permutation(len(sizes)))
    share, rest = divmod(corpus.n_items, n_batches)
    return _cut(list(pieces), [share + (batch < rest) for batch in range(n_batches)])


def _cut(sequence: list[tuple[int, IntArray]], shares: Sequence[int]) -> list[list[Piece]]:
    """The rows of all row groups, one after the other, in stretches of these lengths."""
    remaining = iter(sequence)
    group, rows = next(remaining)
    parts: list[list[Piece]] = []
    for share in shares:
        part: list[Piece] = []
        while share:
            if not len(rows):
                group, rows = next(remaining)
            taken, rows = rows[:share], rows[share:]
            part.append((group, np.sort(taken)))
            share -= len(taken)
        parts.append(part)
    return parts


def _divided(n_rows: int, n_parts: int, rng: np.random.Generator) -> list[IntArray]:
    """A random division into parts of nearly equal size, each ascending."""
    return [np.sort(part) for part in np.array_split(rng.permutation(n_rows), n_parts)]
