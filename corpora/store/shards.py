"""Shards: Parquet files of rows, written in full row groups, read back one row group at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import ClassVar, Generic, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from sparsetopics.base.batches import DocumentBatch, IntArray, VectorBatch
from sparsetopics.base.errors import SparsetopicsError
from sparsetopics.base.sealed_files import FileEntry
from sparsetopics.base.showing import short_repr
from sparsetopics.base.wording import quantity, reason_of
from sparsetopics.corpora.sources.arrow_files import open_parquet
from sparsetopics.corpora.sources.parquet_sizes import check_sizes
from sparsetopics.corpora.store.manifest import DAMAGE, ShardEntry, Sizes

RowBatch = TypeVar("RowBatch", DocumentBatch, VectorBatch)


@dataclass(frozen=True, slots=True, eq=False)
class Rows(Generic[RowBatch]):
    """Documents or items with their names. Words are sorted and unique within a document, counts
    positive, no document empty; values are finite."""

    ids: pa.StringArray
    labels: pa.StringArray
    batch: RowBatch

    def __repr__(self) -> str:
        return short_repr(self, "batch")

    def take(self, rows: IntArray) -> Rows[RowBatch]:
        """The chosen rows, in the given order."""
        return Rows(self.ids.take(rows), self.labels.take(rows), self.batch.take(rows))


class RowKind(ABC, Generic[RowBatch]):
    """How rows of one kind are laid out in Parquet: all that differs between the kinds on disk."""

    id_column: ClassVar[str]
    columns: ClassVar[list[str]]  # that a batch is read from
    level: ClassVar[int]  # of compression
    dictionaries: ClassVar[list[str]]  # columns stored as dictionaries
    encodings: ClassVar[dict[str, str]]  # of other columns

    @property
    @abstractmethod
    def rows_per_group(self) -> int: ...

    @property
    @abstractmethod
    def groups_per_shard(self) -> int: ...

    @abstractmethod
    def columns_of(self, batch: RowBatch) -> list[pa.Array]:
        """The ``columns`` as they are stored."""

    @abstractmethod
    def sizes_of(self, table: pa.Table) -> Sizes:
        """The sizes of stored rows."""

    @abstractmethod
    def batch_of(self, columns: Sequence[pa.Array], sizes: Sizes) -> RowBatch:
        """The batch in the stored ``columns``, as views; ValueError if they are damaged."""

    def table_of(self, rows: Rows[RowBatch]) -> pa.Table:
        """The rows as they are stored."""
        own: list[pa.Array] = self.columns_of(rows.batch)
        strings = pa.string()
        fields = [pa.field(self.id_column, strings, nullable=False), pa.field("label", strings)]
        for name, column in zip(self.columns, own, strict=True):
            fields.append(pa.field(name, column.type, nullable=False))
        return pa.Table.from_arrays([rows.ids, rows.labels, *own], schema=pa.schema(fields))

    def open_writer(self, path: Path, schema: pa.Schema) -> pq.ParquetWriter:
        """A writer of one shard."""
        return pq.ParquetWriter(
            path,
            schema,
            compression="zstd",
            compression_level=self.level,
            use_dictionary=self.dictionaries,
            column_encoding=self.encodings,
            write_statistics=False,
            write_page_checksum=True,
        )

    @staticmethod
    @abstractmethod
    def entry_of(file: FileEntry, groups: Sequence[Sizes]) -> ShardEntry:
        """How the manifest lists a shard."""


class StoredShard:
    """One shard on disk; its checksum is compared before the first read."""

    def __repr__(self) -> str:
        return short_repr(self, "path")

    def __init__(self, folder: Path, entry: FileEntry) -> None:
        self.path = folder / entry.file
        self._entry = entry
        self._verified = False
        self._lock = Lock()  # so that only one of many threads compares

    def __reduce__(self) -> tuple[Callable[[Path, FileEntry], StoredShard], tuple[Path, FileEntry]]:
        """Another process compares the checksum once, however many row groups it receives."""
        return _stored_shard, (self.path.parent, self._entry)

    def columns(self, row_group: int, names: list[str]) -> pa.Table:
        """Columns of a row group; CorpusFormatError if the file is not as it was written."""
        try:
            with self._lock:
                if not self._verified:
                    self._verify()
            with open_parquet(self.path, check_pages=True) as file:
                return file.read_row_group(row_group, columns=names, use_threads=False)
        except (OSError, ValueError, IndexError, pa.ArrowException) as error:
            raise DAMAGE.of(self.path, f"cannot be read ({reason_of(error)})") from error

    def _verify(self) -> None:
        self._entry.check(self.path.parent, DAMAGE)
        with self.path.open("rb") as raw:
            check_sizes(raw)
        self._verified = True


@lru_cache(maxsize=1_000)
def _stored_shard(folder: Path, entry: FileEntry) -> StoredShard:
    return StoredShard(folder, entry)


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

    @property
    def n_docs(self) -> int:
        """Documents or items."""
        return self.sizes.n_docs

    @property
    def n_pairs(self) -> int:
        """Pairs of a document and a word in it; one for each item."""
        return self.sizes.n_pairs

    def read_rows(self) -> Rows[RowBatch]:
        """Ids, labels and batch."""
        ids, labels = (pa.array(n, pa.string()) for n in (self.read_ids(), self.read_labels()))
        return Rows(ids, labels, self.read())


AnyRowGroup = RowGroup[DocumentBatch] | RowGroup[VectorBatch]


@dataclass(frozen=True, slots=True, eq=False)
class MemoryRowGroup(RowGroup[RowBatch]):
    """Rows in memory."""

    batch: RowBatch
    ids: list[str]
    labels: list[str | None]

    def __repr__(self) -> str:
        return short_repr(self, "n_docs", "n_pairs")

    def read(self) -> RowBatch:
        return self.batch

    def read_ids(self) -> list[str]:
        return self.ids

    def read_labels(self) -> list[str | None]:
        return self.labels


@dataclass(frozen=True, slots=True, eq=False)
class StoredRowGroup(RowGroup[RowBatch]):
    """Rows on disk, in one row group of a shard."""

    shard: StoredShard
    index: int
    kind: RowKind[RowBatch]

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
        return self._names(self.kind.id_column)  # type: ignore[return-value]

    def read_labels(self) -> list[str | None]:
        return self._names("label")

    def _names(self, column: str) -> list[str | None]:
        (names,) = self._columns([column])
        if names.type != pa.string():
            raise self._damaged(f"expected strings in column {column}, but found {names.type}")
        values: list[str | None] = names.to_pylist()
        return values

    def _columns(self, names: list[str]) -> list[pa.Array]:
        table = self.shard.columns(self.index, names)
        if table.column_names != names or table.num_rows != self.n_docs:
            actual = f"{table.num_rows} of {table.column_names}"
            raise self._damaged(
                f"expected {quantity(self.n_docs, 'row')} of {names}, but found {actual}"
            )
        return [column.combine_chunks() for column in table.columns]

    def _damaged(self, problem: str) -> SparsetopicsError:
        return DAMAGE.of(f"{self.shard.path}, row group {self.index}", problem)


def stored_groups(
    folder: Path, shards: Sequence[ShardEntry], kind: RowKind[RowBatch]
) -> tuple[StoredRowGroup[RowBatch], ...]:
    """The row groups of the shards of a corpus folder; CorpusFormatError if a shard is missing or
    of another size."""
    groups = []
    for entry in shards:
        entry.check_size(folder, DAMAGE)
        shard = StoredShard(folder, entry)
        groups += [
            StoredRowGroup(sizes, shard, index, kind) for index, sizes in enumerate(entry.groups)
        ]
    return tuple(groups)


class ShardWriter(Generic[RowBatch]):
    """Writes rows into shards of a folder, in order; all row groups but the last are full.

    Use as a context manager; ``finish`` returns the entries of the shards.
    """

    def __init__(self, folder: Path, kind: RowKind[RowBatch]) -> None:
        self._folder = folder
        self._kind: RowKind[RowBatch] = kind
        self._waiting: list[pa.Table] = []
        self._n_waiting = 0
        self._file: pq.ParquetWriter | None = None
        self._groups: list[Sizes] = []
        self._shards: list[ShardEntry] = []

    def __enter__(self) -> ShardWriter[RowBatch]:
        return self

    def __exit__(self, *error: type[BaseException] | BaseException | TracebackType | None) -> None:
        if self._file is not None:
            self._file.close()

    def append(self, rows: Rows[RowBatch]) -> None:
        table = self._kind.table_of(rows)
        self._waiting.append(table)
        self._n_waiting += len(table)
        n_rows = self._kind.rows_per_group
        if self._n_waiting >= n_rows:
            waiting = pa.concat_tables(self._waiting)
            whole = len(waiting) - len(waiting) % n_rows
            for start in range(0, whole, n_rows):
                self._write(waiting.slice(start, n_rows))
            self._waiting = [waiting.slice(whole)]
            self._n_waiting = len(waiting) - whole

    def finish(self) -> tuple[ShardEntry, ...]:
        """Write the remaining rows and close the last shard; return the entries of all shards."""
        if self._n_waiting:
            self._write(pa.concat_tables(self._waiting))
        self._close()
        return tuple(self._shards)

    def _write(self, table: pa.Table) -> None:
        if self._file is None:
            self._file = self._kind.open_writer(self._path(), table.schema)
        self._file.write_table(table, row_group_size=self._kind.rows_per_group)
        self._groups.append(self._kind.sizes_of(table))
        if len(self._groups) == self._kind.groups_per_shard:
            self._close()

    def _close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
            self._shards.append(self._kind.entry_of(FileEntry.of(self._path()), self._groups))
            self._groups = []

    def _path(self) -> Path:
        return self._folder / shard_name(len(self._shards))


def shard_name(number: int) -> str:
    """The file name of a shard, counted from 0."""
    return f"shard-{number:05d}.parquet"
