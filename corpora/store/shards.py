"""Parquet shards: documents as rows, a row group as the unit that is read at once."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from sparsetopics.base.batches import DocumentBatch, WordCounts
from sparsetopics.base.errors import SparsetopicsError
from sparsetopics.corpora.sources.arrow_numbers import numbers_of
from sparsetopics.corpora.store.document_manifest import Sizes
from sparsetopics.corpora.store.manifest import ShardEntry
from sparsetopics.corpora.store.shard_files import ShardLayout, StoredShard, TableWriter

DOCS_PER_ROW_GROUP = 8_192
ROW_GROUPS_PER_SHARD = 32
COUNT_TYPES = (pa.list_(pa.uint32()), pa.list_(pa.float32()))


class DocumentRows(NamedTuple):
    """Documents with their names; word ids sorted and unique, counts positive, none empty."""

    doc_ids: pa.StringArray
    labels: pa.StringArray
    batch: DocumentBatch


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
        ids, numbers = word_ids.flatten(), counts.flatten()
        if ids.null_count or numbers.null_count:
            raise self._damaged("word ids or counts that are null")
        offsets = numbers_of(word_ids.offsets).astype(np.int64)
        batch = DocumentBatch(
            offsets - offsets[0], numbers_of(ids).view(np.int32), numbers_of(numbers)
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

    def _damaged(self, found: str) -> SparsetopicsError:
        wanted = f"{self.n_docs} documents as ingest writes them"
        return self.shard.damaged(f"in row group {self.index} {found}", wanted)


class ShardWriter:
    """Writes documents into shards of a folder, in order; row groups are always full but the last.

    Use as a context manager; ``finish`` returns the list of shards.
    """

    def __init__(self, folder: Path) -> None:
        layout = ShardLayout(DOCS_PER_ROW_GROUP, ROW_GROUPS_PER_SHARD, _open_shard, _sizes_of)
        self._tables = TableWriter(folder, layout)

    def __enter__(self) -> ShardWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._tables.__exit__(kind, error, traceback)

    def append(self, rows: DocumentRows) -> None:
        self._tables.append(_table_of(rows))

    def finish(self) -> tuple[ShardEntry[Sizes], ...]:
        """Write what waits, close the last shard, list all."""
        return self._tables.finish()


def _sizes_of(table: pa.Table) -> Sizes:
    counts = table["counts"].combine_chunks().flatten()
    return Sizes(len(table), len(counts), pc.sum(counts).as_py())


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
