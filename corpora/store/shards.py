"""Shards: Parquet files of rows, written in full row groups, read back one row group at a time.

And what corpora of documents and of vectors share, on disk or in memory.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import ClassVar, Generic, TypeVar

import numpy as np
import pyarrow as pa
from msgspec.structs import asdict
from numpy.typing import NDArray

from sparsetopics.base.batches import DocumentBatch, IntArray, VectorBatch
from sparsetopics.base.errors import SparsetopicsError
from sparsetopics.base.showing import short_repr
from sparsetopics.base.wording import reason_of
from sparsetopics.corpora.readers.blocks import LONGEST_NAME, overlong
from sparsetopics.corpora.readers.fields import TEXT, FieldType
from sparsetopics.corpora.store.manifest import DAMAGE, CorpusManifest, ShardEntry, Sizes, files_of
from sparsetopics.corpora.store.parquet_files import (
    MOST_TOGETHER,
    FileSeries,
    StoredFile,
    check_fields,
    check_values,
    columns_by_stem,
    rows_per_group,
)

RowBatch = TypeVar("RowBatch", DocumentBatch, VectorBatch)
SHARD = "shard"  # how the names of shards begin
_MOST_IDS = 1 << 24  # bytes in a row group that is small on disk: ids differ, so they are short


class RowKind(ABC, Generic[RowBatch]):
    """How rows of one kind are laid out in Parquet: all that differs between the kinds on disk."""

    id_column: ClassVar[str]
    columns: ClassVar[list[str]]  # that a batch is read from
    level: ClassVar[int]  # of compression
    dictionaries: ClassVar[list[str]]  # columns stored as dictionaries
    encodings: ClassVar[dict[str, str]]  # of other columns
    groups_per_shard: ClassVar[int]

    @property
    @abstractmethod
    def rows_per_group(self) -> int: ...

    @abstractmethod
    def columns_of(self, batch: RowBatch) -> list[pa.Array]:
        """The ``columns`` as they are stored."""

    @abstractmethod
    def sizes_of(self, table: pa.Table) -> Sizes | int:
        """The sizes of stored rows, as the manifest lists them."""

    @abstractmethod
    def batch_of(self, columns: Sequence[pa.Array], sizes: Sizes) -> RowBatch:
        """The batch in the stored ``columns``, as views; ValueError if they are damaged."""


@dataclass(frozen=True, slots=True, eq=False)
class RowGroup(ABC, Generic[RowBatch]):
    """Consecutive documents or items that are read at once, from disk or from memory."""

    sizes: Sizes

    @abstractmethod
    def read(self) -> RowBatch:
        """The rows; CorpusFormatError if their shard is damaged."""

    @abstractmethod
    def read_ids(self) -> list[str]: ...

    @abstractmethod
    def read_labels(self) -> list[str | None]: ...

    @abstractmethod
    def read_fields(self, names: Sequence[str], rows: IntArray | None = None) -> pa.Table:
        """Kept fields, a column each, of all rows or of some (ascending). Texts are read only if
        ``text`` is among the ``names``.

        Raises OptionError for a field that the corpus does not keep.
        """

    @property
    def n_docs(self) -> int:
        """Documents or items."""
        return self.sizes.n_docs

    @property
    def n_pairs(self) -> int:
        """Pairs of a document and a word in it; one for each item."""
        return self.sizes.n_pairs

    def read_rows(self, fields: Sequence[str] = ()) -> MemoryRowGroup[RowBatch]:
        """Ids, labels, batch and some kept fields."""
        ids, labels = (pa.array(n, pa.string()) for n in (self.read_ids(), self.read_labels()))
        return MemoryRowGroup(self.sizes, ids, labels, self.read(), self.read_fields(fields))


AnyRowGroup = RowGroup[DocumentBatch] | RowGroup[VectorBatch]


@dataclass(frozen=True, slots=True, eq=False)
class MemoryRowGroup(RowGroup[RowBatch]):
    """Rows in memory. Words are sorted and unique within a document, counts positive, no document
    empty (but see ``memory_corpus.every_text``); values are finite."""

    ids: pa.StringArray
    labels: pa.StringArray
    batch: RowBatch
    # Kept, in columns of their types.
    fields: pa.Table = field(default_factory=lambda: pa.table({}))

    def __repr__(self) -> str:
        return short_repr(self, "n_docs", "n_pairs")

    def take(self, rows: IntArray) -> MemoryRowGroup[RowBatch]:
        """The chosen rows, in the given order."""
        names, batch = (self.ids.take(rows), self.labels.take(rows)), self.batch.take(rows)
        return MemoryRowGroup(Sizes.of(batch), *names, batch, self.fields.take(rows))

    def read(self) -> RowBatch:
        return self.batch

    def read_ids(self) -> list[str]:
        return list(self.ids.to_pylist())

    def read_labels(self) -> list[str | None]:
        return list(self.labels.to_pylist())

    def read_fields(self, names: Sequence[str], rows: IntArray | None = None) -> pa.Table:
        check_fields(names, self.fields.column_names)
        chosen = self.fields.select(list(names))
        return chosen if rows is None else chosen.take(rows)


@dataclass(frozen=True, slots=True, eq=False)
class StoredRowGroup(RowGroup[RowBatch]):
    """Rows on disk, in one row group of a shard."""

    shard: StoredFile
    index: int
    kind: RowKind[RowBatch]
    beside: Mapping[str, StoredFile]  # the files with kept fields, by how their names begin
    types: Mapping[str, FieldType]  # of these

    def __repr__(self) -> str:
        return short_repr(self, "shard", "index", "n_docs", "n_pairs")

    def read(self) -> RowBatch:
        """The rows as views of the decoded columns; CorpusFormatError if the shard is damaged."""
        columns = self._columns(self.kind.columns)
        try:
            return self.kind.batch_of(columns, self.sizes)
        except ValueError as error:
            raise self._damaged(reason_of(error)) from error

    def read_ids(self) -> list[str]:
        return self._names(self.kind.id_column, _MOST_IDS).to_pylist()  # type: ignore[no-any-return]

    def read_labels(self) -> list[str | None]:
        encoded: pa.DictionaryArray = self._names("label").dictionary_encode()
        # Rows share the strings, because the labels of a whole corpus may be held together.
        labels = encoded.dictionary.to_pylist()
        codes = encoded.indices.to_pylist()  # without fill_null, which imports pandas
        return [None if code is None else labels[code] for code in codes]

    def read_fields(self, names: Sequence[str], rows: IntArray | None = None) -> pa.Table:
        check_fields(names, self.types)
        columns: dict[str, pa.Array] = {}
        for stem, held in columns_by_stem(names).items():
            table = self._table(stem, held, rows)
            columns |= {name: table[name].combine_chunks() for name in held}
        return pa.table({name: columns[name] for name in names})

    def _table(self, stem: str, names: list[str], rows: IntArray | None) -> pa.Table:
        """Kept fields that are in the same file; CorpusFormatError if it is damaged."""
        file, per_group = self.beside[stem], self.kind.rows_per_group
        size = rows_per_group(stem, per_group)
        parts = np.arange(-(-self.n_docs // size)) if rows is None else np.unique(rows // size)
        expected = int(np.minimum(size, self.n_docs - parts * size).sum())
        groups = self.index * (per_group // size) + parts
        table = file.columns(groups.tolist(), names, expected, MOST_TOGETHER)
        for name in names:
            try:
                check_values(table[name], self.types[name])
            except (ValueError, pa.ArrowInvalid) as error:
                raise DAMAGE.of(file.path, f"column {name!r}: {reason_of(error)}") from error
        if rows is None:
            return table
        return table.take(np.searchsorted(parts, rows // size) * size + rows % size)

    def _names(self, column: str, most: int = MOST_TOGETHER) -> pa.StringArray:
        (names,) = self._columns([column], most)
        if names.type != pa.string():
            raise self._damaged(f"expected strings in column {column}, but found {names.type}")
        if (row := overlong(names)) >= 0:
            raise self._damaged(f"row {row}: the {column} has more than {LONGEST_NAME:,} bytes")
        return names

    def _columns(self, names: list[str], most: int = MOST_TOGETHER) -> list[pa.Array]:
        table = self.shard.columns([self.index], names, self.n_docs, most)
        return [column.combine_chunks() for column in table.columns]

    def _damaged(self, problem: str) -> SparsetopicsError:
        return DAMAGE.of(f"{self.shard.path}, row group {self.index}", problem)


def rows_by_group(
    groups: Iterable[RowGroup[RowBatch]], rows: IntArray
) -> Iterator[tuple[RowGroup[RowBatch], IntArray]]:
    """Each row group with its own of the ``rows`` (ascending) of all groups, counted from its
    first row."""
    first = 0
    for group in groups:
        own = slice(*np.searchsorted(rows, [first, first + group.n_docs]))
        yield group, rows[own] - first
        first += group.n_docs


def stored_groups(
    folder: Path,
    shards: Sequence[ShardEntry],
    kind: RowKind[RowBatch],
    types: Mapping[str, FieldType] = {},
) -> tuple[StoredRowGroup[RowBatch], ...]:
    """The row groups of the shards of a corpus folder that keeps fields of these ``types``;
    CorpusFormatError if a file is missing or of another size."""
    groups = []
    for file in files_of(shards):
        file.check_size(folder, DAMAGE)
    for entry in shards:
        shard = StoredFile(folder, entry)
        beside = {stem: StoredFile(folder, file) for stem, file in entry.beside.items()}
        groups += [
            StoredRowGroup(sizes, shard, index, kind, beside, types)
            for index, sizes in enumerate(entry.groups)
        ]
    return tuple(groups)


class ShardWriter(Generic[RowBatch]):
    """Writes rows into shards of a folder, in order, and kept ``fields`` into files beside them;
    all row groups but the last are full. The numbers of the files begin with ``first``.

    Use with ``closing``; ``finish`` returns the entries of the shards.
    """

    def __init__(
        self,
        folder: Path,
        kind: RowKind[RowBatch],
        fields: Mapping[str, FieldType] = {},
        first: int = 0,
    ) -> None:
        self._kind: RowKind[RowBatch] = kind
        n_rows, n_groups = kind.rows_per_group, kind.groups_per_shard
        packing = kind.level, kind.dictionaries, kind.encodings
        self._shards = FileSeries(folder, SHARD, n_rows, n_groups, kind.sizes_of, first, *packing)
        self._columns = columns_by_stem(fields)
        self._beside = {}
        for stem, names in self._columns.items():
            step = rows_per_group(stem, n_rows)
            self._beside[stem] = FileSeries(
                *(folder, stem, step, n_groups * (n_rows // step)),
                len,
                first,
                level=1,
                dictionaries=[name for name in names if name != TEXT],
            )

    def close(self) -> None:
        """Let go of the files without writing more."""
        for series in (self._shards, *self._beside.values()):
            series.close()

    def append(self, rows: MemoryRowGroup[RowBatch]) -> None:
        names = [self._kind.id_column, "label", *self._kind.columns]
        columns = [rows.ids, rows.labels, *self._kind.columns_of(rows.batch)]
        named = zip(names, columns, strict=True)
        fields = [pa.field(name, own.type, nullable=name == "label") for name, own in named]
        self._shards.append(pa.Table.from_arrays(columns, schema=pa.schema(fields)))
        for stem, series in self._beside.items():
            series.append(rows.fields.select(self._columns[stem]))

    def finish(self) -> tuple[ShardEntry, ...]:
        """Write the remaining rows and close the last files; return the entries of all shards."""
        for series in (self._shards, *self._beside.values()):
            series.finish()
        found = []
        for number, file in enumerate(self._shards.entries):
            beside = {stem: series.entries[number] for stem, series in self._beside.items()}
            sizes = tuple(self._shards.groups[number])
            found.append(ShardEntry(**asdict(file) | beside, row_groups=sizes))
        return tuple(found)


class RowCorpus(ABC, Generic[RowBatch]):
    """What corpora of documents and of vectors share: rows in row groups, in a fixed order."""

    row_groups: Sequence[RowGroup[RowBatch]]
    noun: str  # what a row is called
    fields: Mapping[str, FieldType] = {}  # that are kept, by name

    @property
    @abstractmethod
    def kind(self) -> RowKind[RowBatch]: ...

    @property
    @abstractmethod
    def width(self) -> int:
        """Words of the vocabulary, or numbers of an item."""

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """SHA-256 of what the columns mean. Two corpora can share a model only if it is equal."""

    @abstractmethod
    def _finish_part(self, whole: Path, part: Path, shards: Sequence[ShardEntry]) -> CorpusManifest:
        """Turn the folder ``part`` with shards of rows of the corpus ``whole`` into a corpus."""

    def write_part(self, whole: Path, chosen: NDArray[np.bool_], part: Path) -> CorpusManifest:
        """Write the rows of this corpus, which is stored in ``whole``, where ``chosen`` (n_rows,)
        is true as the corpus ``part``; return its manifest."""
        with closing(ShardWriter(part, self.kind, self.fields)) as writer:
            for group, rows in rows_by_group(self.row_groups, np.flatnonzero(chosen)):
                writer.append(group.read_rows(list(self.fields)).take(rows))
            shards = writer.finish()
        return self._finish_part(whole, part, shards)

    @cached_property
    def sizes(self) -> Sizes:
        """The sizes of all row groups, added up."""
        return Sizes.total(group.sizes for group in self.row_groups)

    def batches(self) -> Iterator[RowBatch]:
        """The rows, one batch per row group, in order.

        A batch of documents has ``indptr`` (n_docs + 1,), and for each pair of a document and a
        word ``word_ids`` (n_pairs,) int32, sorted within a document, and ``word_counts`` (n_pairs,)
        uint32 or float32, all above zero. A batch of items has ``values`` (n_items, n_columns)
        float32 or float64. Raises CorpusFormatError for a damaged shard.
        """
        return (group.read() for group in self.row_groups)

    def ids(self) -> Iterator[list[str]]:
        """Ids, aligned with ``batches()``; raises the same errors."""
        return (group.read_ids() for group in self.row_groups)

    def labels(self) -> Iterator[list[str | None]]:
        """Labels, aligned with ``batches()``; None where a row has none. Raises the same errors."""
        return (group.read_labels() for group in self.row_groups)
