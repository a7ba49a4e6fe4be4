"""What training reads: batches of documents as three arrays, batches of vectors as one array.

Mixtures read documents as items: each is one, however many words it has.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from sparsetopics.base.showing import short_repr
from sparsetopics.base.soundness import check_fields, check_ids, check_starts, require

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
WordIds = NDArray[np.int32]
Vectors = NDArray[np.float32] | NDArray[np.float64]  # training reads float32 alone
WordCounts = NDArray[np.uint32] | NDArray[np.float32]
AnyArray = NDArray[Any]  # a file may hold numbers of any type, which are checked before use
Arrays = Mapping[str, AnyArray]
ITEM_PREFIX = "item_"  # before the names of the arrays of documents that are items
BLOCK_PAIRS = 8_192  # document-word pairs that one worker takes at a time


@dataclass(frozen=True, slots=True, eq=False)
class DocumentBatch:
    """Documents as compressed sparse rows of word counts.

    Within a document, word ids are sorted and unique, and counts are positive. Ingest ensures this;
    nothing checks it again.
    """

    indptr: IntArray  # (n_docs + 1,) starts at 0
    word_ids: WordIds  # (n_pairs,)
    word_counts: WordCounts  # (n_pairs,)

    def __repr__(self) -> str:
        return short_repr(self, "n_docs", "n_pairs")

    @property
    def n_docs(self) -> int:
        return len(self.indptr) - 1

    @property
    def n_pairs(self) -> int:
        return len(self.word_ids)

    @property
    def n_tokens(self) -> float:
        return float(self.word_counts.sum(dtype=np.float64))

    @property
    def weights(self) -> FloatArray:
        """Tokens of each pair, (n_pairs,)."""
        return self.word_counts.astype(np.float64)

    @property
    def documents(self) -> IntArray:
        """The document of each pair, (n_pairs,)."""
        return np.repeat(np.arange(self.n_docs), np.diff(self.indptr))

    @property
    def values(self) -> DocumentBatch:
        """The batch itself: as items of a mixture, its rows are the documents."""
        return self

    def __len__(self) -> int:
        return self.n_docs

    def __getitem__(self, documents: slice | AnyArray) -> DocumentBatch:
        """Some documents, indexed like an array's rows; consecutive ones are not copied."""
        if isinstance(documents, slice) and documents.step in (None, 1):
            first, last, _ = documents.indices(self.n_docs)
            indptr = self.indptr[first : max(first, last) + 1]
            pairs = slice(indptr[0], indptr[-1])
            return DocumentBatch(indptr - indptr[0], self.word_ids[pairs], self.word_counts[pairs])
        return self.take(np.arange(self.n_docs)[documents])

    def to_arrays(self) -> Arrays:
        return {"indptr": self.indptr, "word_ids": self.word_ids, "word_counts": self.word_counts}

    def check(self, n_words: int) -> None:
        """Raise ValueError unless the arrays, from a file, are as ingest writes them."""
        check_fields(DocumentBatch, self.to_arrays())
        check_ids(self.word_ids, n_words, "word ids")
        require(self.indptr.ndim == 1 and len(self.indptr) > 0, "starts of documents are missing")
        check_starts(self.indptr, self.n_docs, self.n_pairs, "documents")
        pairs = self.documents * n_words + self.word_ids
        require((pairs[1:] > pairs[:-1]).all(), "word ids do not rise in a document")
        counts = self.word_counts
        require(counts.shape == self.word_ids.shape, "word counts are not those of the words")
        is_sound = not len(counts) or (counts.min() > 0 and np.isfinite(counts.max()))
        require(is_sound, "word counts are not positive")

    def take(self, documents: AnyArray) -> DocumentBatch:
        """The chosen documents, in the given order."""
        ends, pairs = np.cumsum(np.diff(self.indptr)[documents]), pairs_of(self.indptr, documents)
        indptr = np.concatenate(([0], ends)).astype(np.int64)
        return DocumentBatch(indptr, self.word_ids[pairs], self.word_counts[pairs])

    def chosen(self, pairs: AnyArray) -> DocumentBatch:
        """The same documents with only the chosen pairs, (n_pairs,) of truth values."""
        indptr = np.concatenate(([0], np.cumsum(pairs)))[self.indptr]
        return DocumentBatch(indptr, self.word_ids[pairs], self.word_counts[pairs])

    @classmethod
    def joined(cls, parts: Sequence[DocumentBatch]) -> DocumentBatch:
        """The rows of at least one batch, one batch after the other."""
        lengths = np.concatenate([np.diff(part.indptr) for part in parts])
        return cls(
            np.concatenate(([0], np.cumsum(lengths))).astype(np.int64),
            np.concatenate([part.word_ids for part in parts]),
            np.concatenate([part.word_counts for part in parts]),
        )


class Rows(Protocol):
    """One row for each item: vectors, documents, or means over the items of nodes."""

    def __len__(self) -> int: ...

    def __getitem__(self, rows: slice, /) -> Self: ...


V_co = TypeVar("V_co", bound=Rows, covariant=True)
B_co = TypeVar("B_co", bound="Batch", covariant=True)  # a kind of batch
Stored = TypeVar("Stored", bound="StoredBatch")


class Batch(Protocol):
    """Documents or items. Each of their pairs has one row of responsibilities.

    The pairs of a document are its words; an item is a pair itself.
    """

    @property
    def n_docs(self) -> int: ...

    @property
    def indptr(self) -> IntArray:
        """Where the pairs of each document begin, (n_docs + 1,)."""

    @property
    def weights(self) -> FloatArray:
        """Tokens of each pair, (n_pairs,)."""

    def take(self, documents: IntArray, /) -> Self:
        """The chosen documents, in the given order."""


class StoredBatch(Batch, Protocol):
    """A batch of a corpus, which a file may hold too."""

    def to_arrays(self) -> Arrays: ...

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """The documents of at least one batch, one batch after the other."""

    def check(self, n_columns: int, /) -> None:
        """Raise ValueError unless the arrays, from a file, are as ingest writes them."""


class ItemBatch(StoredBatch, Protocol[V_co]):
    """Items of a mixture."""

    @property
    def values(self) -> V_co:
        """One row for each item: a vector or a document."""


class Source(Protocol[B_co]):
    """A collection in fixed batches, which can be read in any order."""

    @property
    def n_batches(self) -> int: ...

    @property
    def n_docs(self) -> int: ...

    @property
    def n_tokens(self) -> float: ...

    @property
    def n_columns(self) -> int:
        """Words of the vocabulary, or numbers of an item."""

    @property
    def is_resident(self) -> bool:
        """Whether all batches stay in memory anyway."""

    def read(self, batch_id: int, /) -> B_co:
        """A batch; the same one each time."""


class PlainItems:
    """Items, each of which is a pair itself."""

    __slots__ = ()
    values: Rows

    @property
    def n_docs(self) -> int:
        return len(self.values)

    @property
    def indptr(self) -> IntArray:
        return np.arange(self.n_docs + 1)

    @property
    def weights(self) -> FloatArray:
        return np.ones(self.n_docs)


@dataclass(frozen=True, slots=True, eq=False)
class VectorBatch(PlainItems):
    """Items as rows of finite numbers. Ingest ensures this; nothing checks it again.

    Training treats an item as a document of one token.
    """

    values: Vectors  # (n_items, n_columns)

    def __repr__(self) -> str:
        return short_repr(self, "values")

    def to_arrays(self) -> Arrays:
        return {"values": self.values}

    def check(self, n_columns: int) -> None:
        """Raise ValueError unless the array, from a file, is as ingest writes it."""
        check_fields(VectorBatch, self.to_arrays())
        is_table = self.values.ndim == 2 and self.values.shape[1] == n_columns
        require(is_table, f"vectors have shape {self.values.shape}")
        require(np.isfinite(self.values).all(), "vectors are not finite")

    def take(self, items: AnyArray) -> VectorBatch:
        """The chosen items, in the given order."""
        return VectorBatch(self.values[items])

    @classmethod
    def joined(cls, parts: Sequence[VectorBatch]) -> VectorBatch:
        """The rows of at least one batch, one batch after the other."""
        return parts[0] if len(parts) == 1 else cls(np.concatenate([p.values for p in parts]))


@dataclass(frozen=True, slots=True, eq=False)
class DocumentItems(PlainItems):
    """A batch of documents with one row of responsibilities each, instead of one for each word."""

    values: DocumentBatch

    def to_arrays(self) -> Arrays:
        return {ITEM_PREFIX + name: array for name, array in self.values.to_arrays().items()}

    def check(self, n_columns: int) -> None:
        """ValueError unless a file's arrays are what ingest writes, with so many words."""
        self.values.check(n_columns)

    def take(self, items: IntArray) -> DocumentItems:
        """The chosen items, in the given order."""
        return DocumentItems(self.values.take(items))

    @classmethod
    def joined(cls, parts: Sequence[DocumentItems]) -> DocumentItems:
        """At least one, one after the other."""
        return cls(DocumentBatch.joined([part.values for part in parts]))


def documents_in(arrays: Arrays) -> StoredBatch:
    """The batch among a file's arrays, unchecked; ValueError or KeyError if there is none.

    This is the inverse of ``to_arrays``: each kind of batch has an array that no other kind has.
    """
    if "values" in arrays:
        return VectorBatch(arrays["values"])
    prefix = ITEM_PREFIX if f"{ITEM_PREFIX}indptr" in arrays else ""
    require(f"{prefix}indptr" in arrays, "no documents")
    documents = DocumentBatch(*(arrays[prefix + field.name] for field in fields(DocumentBatch)))
    return DocumentItems(documents) if prefix else documents


class DocumentItemSource:
    """The batches of a source of documents, as items; ``n_tokens`` still counts tokens."""

    def __init__(self, documents: Source[DocumentBatch]) -> None:
        self.documents = documents
        self.n_batches, self.is_resident = documents.n_batches, documents.is_resident
        self.n_docs, self.n_tokens = documents.n_docs, documents.n_tokens
        self.n_columns = documents.n_columns

    def read(self, batch_id: int) -> DocumentItems:
        return DocumentItems(self.documents.read(batch_id))


VectorSource = Source[VectorBatch]


def read_enough(source: Source[Stored], batch_ids: Iterable[int], n_docs: int) -> Stored:
    """The first of these batches that have ``n_docs`` documents or items together, as one."""
    found: list[Stored] = []
    for batch_id in batch_ids:
        found.append(source.read(batch_id))
        if sum(batch.n_docs for batch in found) >= n_docs:
            break
    return type(found[0]).joined(found)


def pairs_of(indptr: IntArray, documents: AnyArray) -> IntArray:
    """Positions of the pairs of the chosen documents, document after document."""
    lengths = np.diff(indptr)[documents]
    ends = np.cumsum(lengths)
    moves = np.repeat(indptr[documents] - (ends - lengths), lengths)
    return moves + np.arange(len(moves))


def cut_blocks(indptr: IntArray, pairs_per_block: int = BLOCK_PAIRS) -> list[tuple[int, int]]:
    """Consecutive ranges of documents with about ``pairs_per_block`` pairs each, never empty."""
    n_docs = len(indptr) - 1
    blocks = []
    first = 0
    while first < n_docs:
        last = int(np.searchsorted(indptr, indptr[first] + pairs_per_block, side="right")) - 1
        last = min(max(last, first + 1), n_docs)
        blocks.append((first, last))
        first = last
    return blocks
