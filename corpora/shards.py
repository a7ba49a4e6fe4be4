"""Parquet shards: documents as rows, a row group as the unit that is read at once."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Any, NamedTuple, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from sparsetopics.batches import DocumentBatch, WordCounts
from sparsetopics.corpora.manifest import FileEntry, ShardEntry, Sizes, file_sha256
from sparsetopics.errors import CorpusFormatError

DOCS_PER_ROW_GROUP = 8_192
ROW_GROUPS_PER_SHARD = 32
COUNT_TYPES = (pa.list_(pa.uint32()), pa.list_(pa.float32()))


class DocumentRows(NamedTuple):
    """Documents with their names; word ids sorted and unique, counts positive, none empty."""

    doc_ids: pa.StringArray
    labels: pa.StringArray
    batch: DocumentBatch


class StoredShard:
    """One shard on disk; its checksum is compared before the first read."""

    def __init__(self, path: Path, sha256: str) -> None:
        self.path = path
        self._sha256 = sha256
        self._verified = False
        self._lock = Lock()  # so that one thread of many does the comparing

    def columns(self, row_group: int, names: list[str]) -> pa.Table:
        """Columns of a row group; CorpusFormatError if the file is not as it was written."""
        try:
            with self._lock:
                if not self._verified:
                    self._verify()
            with pq.ParquetFile(self.path, page_checksum_verification=True) as file:
                return file.read_row_group(row_group, columns=names, use_threads=False)
        except (OSError, ValueError, IndexError, pa.ArrowException) as error:
            raise self.damaged(str(error).splitlines()[0], "a readable shard") from error

    def damaged(self, found: str, wanted: str) -> CorpusFormatError:
        return CorpusFormatError(
            str(self.path), found=found, wanted=wanted, hint="Ingest anew, or restore the file."
        )

    def _verify(self) -> None:
        found = file_sha256(self.path)
        if found != self._sha256:
            raise self.damaged(f"sha256 {found[:12]}…", f"{self._sha256[:12]}…")
        self._verified = True


@dataclass(frozen=True, slots=True)
class StoredRowGroup:
    """Documents on disk, in one row group of a shard."""

    shard: StoredShard
    index: int
    n_docs: int
    n_pairs: int
    n_tokens: int | float
    n_words: int

    def read(self) -> DocumentBatch:
        """The documents as views of the decoded columns.

        Raises CorpusFormatError if the shard is damaged.
        """
        word_ids, counts = self._columns(["word_ids", "counts"])
        if word_ids.type != pa.list_(pa.uint32()) or counts.type not in COUNT_TYPES:
            raise self._damaged(f"columns of type {word_ids.type} and {counts.type}")
        if word_ids.offsets != counts.offsets:
            raise self._damaged("word ids and counts of different length")
        offsets = word_ids.offsets.to_numpy().astype(np.int64)
        batch = DocumentBatch(
            offsets - offsets[0],
            word_ids.flatten().to_numpy(zero_copy_only=False).view(np.int32),
            counts.flatten().to_numpy(zero_copy_only=False),
        )
        self._check(batch)
        return batch

    def read_doc_ids(self) -> list[str]:
        return self._names("doc_id")

    def read_labels(self) -> list[str | None]:
        return self._names("label")

    def _names(self, column: str) -> list[Any]:
        (names,) = self._columns([column])
        if names.type != pa.string():
            raise self._damaged(f"a column {column} of type {names.type}")
        return cast(list[Any], names.to_pylist())

    def _columns(self, names: list[str]) -> list[pa.Array]:
        table = self.shard.columns(self.index, names)
        if table.column_names != names or table.num_rows != self.n_docs:
            raise self._damaged(f"{table.num_rows} rows of {table.column_names}")
        return [column.combine_chunks() for column in table.columns]

    def _check(self, batch: DocumentBatch) -> None:
        """What the kernels rely on to stay inside their arrays."""
        if batch.n_pairs != self.n_pairs:
            raise self._damaged(f"{batch.n_pairs} pairs where the manifest has {self.n_pairs}")
        largest = int(batch.word_ids.view(np.uint32).max(initial=0))
        if largest >= self.n_words:
            raise self._damaged(f"word id {largest} where the vocabulary has {self.n_words} words")

    def _damaged(self, found: str) -> CorpusFormatError:
        wanted = f"{self.n_docs} documents as ingest writes them"
        return self.shard.damaged(f"in row group {self.index} {found}", wanted)


class ShardWriter:
    """Writes documents into shards of a folder, in order; row groups are always full but the last.

    Use as a context manager; ``finish`` returns the list of shards.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._waiting: list[pa.Table] = []
        self._n_waiting = 0
        self._file: pq.ParquetWriter | None = None
        self._row_groups: list[Sizes] = []
        self._shards: list[ShardEntry] = []

    def __enter__(self) -> ShardWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._file is not None:
            self._file.close()

    def append(self, rows: DocumentRows) -> None:
        self._waiting.append(_table_of(rows))
        self._n_waiting += len(rows.doc_ids)
        if self._n_waiting >= DOCS_PER_ROW_GROUP:
            waiting = pa.concat_tables(self._waiting)
            whole = len(waiting) - len(waiting) % DOCS_PER_ROW_GROUP
            for start in range(0, whole, DOCS_PER_ROW_GROUP):
                self._write(waiting.slice(start, DOCS_PER_ROW_GROUP))
            self._waiting = [waiting.slice(whole)]
            self._n_waiting = len(waiting) - whole

    def finish(self) -> tuple[ShardEntry, ...]:
        """Write what waits, close the last shard, list all."""
        if self._n_waiting:
            self._write(pa.concat_tables(self._waiting))
        self._close()
        return tuple(self._shards)

    def _write(self, table: pa.Table) -> None:
        if self._file is None:
            self._file = _open_shard(self._path(), table.schema)
        self._file.write_table(table, row_group_size=DOCS_PER_ROW_GROUP)
        counts = table["counts"].combine_chunks().flatten()
        self._row_groups.append(Sizes(len(table), len(counts), pc.sum(counts).as_py()))
        if len(self._row_groups) == ROW_GROUPS_PER_SHARD:
            self._close()

    def _close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
            self._shards.append(ShardEntry(FileEntry.of(self._path()), tuple(self._row_groups)))
            self._row_groups = []

    def _path(self) -> Path:
        return self._folder / f"shard-{len(self._shards):05d}.parquet"


def _table_of(rows: DocumentRows) -> pa.Table:
    offsets = pa.array(rows.batch.indptr, pa.int32())
    word_ids = pa.array(rows.batch.word_ids.view(np.uint32))
    counts: WordCounts = rows.batch.word_counts
    columns = (
        rows.doc_ids,
        rows.labels,
        pa.ListArray.from_arrays(offsets, word_ids),
        pa.ListArray.from_arrays(offsets, pa.array(counts)),
    )
    schema = pa.schema(
        [
            pa.field("doc_id", pa.string(), nullable=False),
            pa.field("label", pa.string()),
            pa.field("word_ids", columns[2].type, nullable=False),
            pa.field("counts", columns[3].type, nullable=False),
        ]
    )
    return pa.Table.from_arrays(list(columns), schema=schema)


def _open_shard(path: Path, schema: pa.Schema) -> pq.ParquetWriter:
    return pq.ParquetWriter(
        path,
        schema,
        compression="zstd",
        compression_level=3,
        use_dictionary=["label", "counts.list.element"],
        column_encoding={
            "doc_id": "DELTA_BYTE_ARRAY",
            "word_ids.list.element": "BYTE_STREAM_SPLIT",
        },
        write_statistics=False,
        write_page_checksum=True,
    )
