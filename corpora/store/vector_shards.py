"""Parquet shards of vectors: items as rows."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sparsetopics.base.batches import VectorBatch, Vectors
from sparsetopics.base.errors import SparsetopicsError
from sparsetopics.corpora.sources.arrow_numbers import numbers_of
from sparsetopics.corpora.store.shard_files import ShardLayout, StoredShard, TableWriter

ROW_GROUP_BYTES = 4 << 20  # of values: a batch can be made of many, so that it is well mixed
MOST_ROWS = 65_536  # in a row group, whose names are decoded at once
ROW_GROUPS_PER_SHARD = 64


class VectorRows(NamedTuple):
    """Items with their names; values finite."""

    item_ids: pa.StringArray
    labels: pa.StringArray
    values: Vectors  # (n_items, n_columns)


def rows_per_group(n_columns: int) -> int:
    """As many items as make a row group of about ``ROW_GROUP_BYTES``."""
    n_bytes = n_columns * np.dtype(np.float32).itemsize
    return min(MOST_ROWS, max(1, ROW_GROUP_BYTES // n_bytes))


@dataclass(frozen=True, slots=True)
class StoredVectors:
    """Items on disk, in one row group of a shard."""

    shard: StoredShard
    index: int
    n_items: int
    n_columns: int

    def read(self) -> VectorBatch:
        """The items as a view of the decoded column; CorpusFormatError if the shard is damaged."""
        column = self._column("values")
        if column.type != _values_type(self.n_columns) or column.null_count:
            raise self._damaged(f"a column values of type {column.type}")
        flat = column.flatten()
        if flat.null_count:
            raise self._damaged("values that are null")
        values = numbers_of(flat)
        return VectorBatch(values.reshape(self.n_items, self.n_columns))

    def read_item_ids(self) -> list[str]:
        return self._names("item_id")

    def read_labels(self) -> list[str | None]:
        return self._names("label")

    def _names(self, name: str) -> list[Any]:
        column = self._column(name)
        if column.type != pa.string():
            raise self._damaged(f"a column {name} of type {column.type}")
        return cast(list[Any], column.to_pylist())

    def _column(self, name: str) -> pa.Array:
        table = self.shard.columns(self.index, [name])
        if table.column_names != [name] or table.num_rows != self.n_items:
            raise self._damaged(f"{table.num_rows} rows of {table.column_names}")
        return table.column(0).combine_chunks()

    def _damaged(self, found: str) -> SparsetopicsError:
        wanted = f"{self.n_items} items of {self.n_columns} columns as ingest writes them"
        return self.shard.damaged(f"in row group {self.index} {found}", wanted)


def vector_writer(folder: Path, n_columns: int) -> TableWriter[int]:
    """What writes ``table_of`` items into shards of a folder, in order."""
    layout = ShardLayout(rows_per_group(n_columns), ROW_GROUPS_PER_SHARD, _open_shard, len)
    return TableWriter(folder, layout)


def table_of(rows: VectorRows) -> pa.Table:
    """The rows as they are stored."""
    n_columns = rows.values.shape[1]
    kind = _values_type(n_columns)
    values = pa.FixedSizeListArray.from_arrays(pa.array(rows.values.reshape(-1)), type=kind)
    schema = pa.schema(
        [
            pa.field("item_id", pa.string(), nullable=False),
            pa.field("label", pa.string()),
            pa.field("values", kind, nullable=False),
        ]
    )
    return pa.Table.from_arrays([rows.item_ids, rows.labels, values], schema=schema)


def _values_type(n_columns: int) -> pa.DataType:
    return pa.list_(pa.float32(), n_columns)


def _open_shard(path: Path, schema: pa.Schema) -> pq.ParquetWriter:
    return pq.ParquetWriter(
        path,
        schema,
        compression="zstd",
        compression_level=1,  # floats hardly get smaller at higher ones
        use_dictionary=["label"],
        column_encoding={
            "item_id": "DELTA_BYTE_ARRAY",
            "values.list.element": "BYTE_STREAM_SPLIT",
        },
        write_statistics=False,
        write_page_checksum=True,
    )
