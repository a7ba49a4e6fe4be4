"""Dividing a corpus of vectors into batches at random: held in memory, or streamed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sparsetopics.base.batches import IntArray, VectorBatch, VectorSource
from sparsetopics.corpora.batching import HeldRowGroups, Piece, checked_n_batches, divided
from sparsetopics.corpora.vectors import VectorCorpus

RESIDENT_BYTES = 512 << 20  # of values: a corpus of more is read from disk


def plan_vector_batches(
    corpus: VectorCorpus,
    n_batches: int | None,
    rng: np.random.Generator,
    *,
    resident_bytes: int = RESIDENT_BYTES,
) -> VectorSource:
    """Divide the items at random into batches whose sizes differ by at most one.

    A corpus of at most ``resident_bytes`` of values is read once and kept. Of a larger one, the
    row groups are put in random order, the items of each too, and the batches are cut from that
    sequence: a batch holds items of few row groups, which are decoded when it is read. The
    division depends on the corpus, ``n_batches`` and ``rng`` alone. Raises OptionError if
    ``n_batches`` is not between 1 and the number of items.
    """
    n_batches = checked_n_batches(n_batches, corpus.n_items, "items")
    n_bytes = corpus.n_items * corpus.n_columns * np.dtype(np.float32).itemsize
    if n_bytes <= resident_bytes:
        return _resident(corpus, n_batches, rng)
    return _streamed(corpus, n_batches, rng)


@dataclass(frozen=True, eq=False)
class ResidentVectors:
    """Batches in memory."""

    batches: Sequence[VectorBatch]
    n_docs: int
    n_columns: int

    @property
    def n_tokens(self) -> float:
        return float(self.n_docs)

    @property
    def is_resident(self) -> bool:
        return True

    @property
    def n_batches(self) -> int:
        return len(self.batches)

    def read(self, batch_id: int) -> VectorBatch:
        return self.batches[batch_id]


@dataclass(frozen=True, eq=False)
class StreamedVectors:
    """Batches put together from row groups decoded on demand; safe to read from many threads."""

    _held: HeldRowGroups[VectorBatch]
    parts: Sequence[Sequence[Piece]]  # of each batch
    n_docs: int
    n_columns: int

    @property
    def n_tokens(self) -> float:
        return float(self.n_docs)

    @property
    def is_resident(self) -> bool:
        return False

    @property
    def n_batches(self) -> int:
        return len(self.parts)

    def read(self, batch_id: int) -> VectorBatch:
        pieces = self.parts[batch_id]
        return VectorBatch(
            np.concatenate([self._held.read(group).values[rows] for group, rows in pieces])
        )


def _resident(corpus: VectorCorpus, n_batches: int, rng: np.random.Generator) -> ResidentVectors:
    """Each row group is scattered to its places in one array, so that nothing is held twice."""
    parts = divided(corpus.n_items, n_batches, rng)
    place = np.empty(corpus.n_items, np.int64)
    place[np.concatenate(parts)] = np.arange(corpus.n_items)
    values = np.empty((corpus.n_items, corpus.n_columns), np.float32)
    start = 0
    for batch in corpus.batches():
        values[place[start : start + batch.n_items]] = batch.values
        start += batch.n_items
    ends = np.cumsum([len(part) for part in parts])
    batches = tuple(VectorBatch(part) for part in np.split(values, ends[:-1]))
    return ResidentVectors(batches, corpus.n_items, corpus.n_columns)


def _streamed(corpus: VectorCorpus, n_batches: int, rng: np.random.Generator) -> StreamedVectors:
    sizes = [group.n_items for group in corpus.row_groups]
    pieces = ((int(group), rng.permutation(sizes[group])) for group in rng.permutation(len(sizes)))
    shares = [
        corpus.n_items // n_batches + (b < corpus.n_items % n_batches) for b in range(n_batches)
    ]
    parts = _cut(list(pieces), shares)
    held = HeldRowGroups(corpus.row_groups)
    return StreamedVectors(held, parts, corpus.n_items, corpus.n_columns)


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
            part.append(Piece(group, np.sort(taken)))
            share -= len(taken)
        parts.append(part)
    return parts
