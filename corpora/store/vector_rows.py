"""Vectors in a corpus folder: their manifest and rows as Parquet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, TypedDict

import numpy as np
import pyarrow as pa
from msgspec import Meta

from sparsetopics.base.batches import VectorBatch, Vectors
from sparsetopics.base.sealed_files import FileEntry, Json
from sparsetopics.base.soundness import require
from sparsetopics.corpora.readers.blocks import VECTORS, ValueType
from sparsetopics.corpora.sources.arrow_files import numbers_of
from sparsetopics.corpora.store.manifest import CorpusManifest, ShardEntry, Sizes
from sparsetopics.corpora.store.shards import MemoryRowGroup, RowKind

ROW_GROUP_BYTES = 4 << 20  # of values: a batch can be made of many, so that it is well mixed
MOST_ROWS = 65_536  # in a row group, whose names are decoded at once
MOST_COLUMNS = 2**31 - 1  # of a list of fixed size in Arrow


class PcaFacts(TypedDict):
    """How a projection was fitted."""

    n_components: int
    whitened: bool
    seed: int
    n_sampled: int
    explained_variance: float  # share of the variance of the sample


class Made(TypedDict, total=False):
    """How the values of a corpus were made."""

    format: str
    patches: int | None  # side, pixels
    stride: int | None  # pixels
    patch_mean_removed: bool
    basis: str
    pca: PcaFacts


class VectorManifest(CorpusManifest, frozen=True, kw_only=True, omit_defaults=True):
    """Files and sizes of a corpus of vectors, and how its values were made, in their order on disk.

    The type of values is left out for float32, so that manifests have the bytes of earlier
    releases.
    """

    kind = VECTORS
    n_columns: Annotated[int, Meta(ge=1, le=MOST_COLUMNS)]
    columns: tuple[str, ...] | None  # names, where the source has them and nothing was projected
    value_type: ValueType = "float32"  # of stored values
    made: Made
    projection: FileEntry | None
    shards: tuple[ShardEntry, ...]

    def __post_init__(self) -> None:
        if self.columns is not None and len(self.columns) != self.n_columns:
            raise ValueError(f"{self.n_columns:,} columns have {len(self.columns):,} names")
        for shard in self.shards:
            is_plain = all(isinstance(own, int) for own in shard.row_groups) and not shard.beside
            require(is_plain, f"{shard.file} is no shard of vectors")

    @staticmethod
    def named(sizes: Sizes) -> dict[str, int | float]:
        return {"n_items": sizes.n_docs}

    @property
    def totals(self) -> dict[str, int | float]:
        return {
            **self.sums,
            "n_columns": self.n_columns,
            "n_shards": len(self.shards),
            "n_skipped": 0,  # an item is read or refused
        }

    def to_json(self) -> dict[str, Json]:
        n_bytes = sum(shard.n_bytes for shard in self.shards)
        return {**self.sums, "n_columns": self.n_columns, "n_bytes": n_bytes, **super().to_json()}


@dataclass(frozen=True, slots=True)
class VectorKind(RowKind[VectorBatch]):
    """Items as lists of numbers, all of the same length and type."""

    id_column = "item_id"
    columns: ClassVar = ["values"]
    level = 1  # floats hardly get smaller at higher ones
    dictionaries: ClassVar = ["label"]
    encodings: ClassVar = {
        "item_id": "DELTA_BYTE_ARRAY",
        "values.list.element": "BYTE_STREAM_SPLIT",
    }
    groups_per_shard = 64
    n_columns: int
    value_type: ValueType = "float32"

    @property
    def rows_per_group(self) -> int:
        """As many items as have about ``ROW_GROUP_BYTES``."""
        n_bytes = self.n_columns * np.dtype(self.value_type).itemsize
        return min(MOST_ROWS, max(1, ROW_GROUP_BYTES // n_bytes))

    def in_memory(
        self, ids: pa.StringArray, labels: pa.StringArray, values: Vectors
    ) -> tuple[MemoryRowGroup[VectorBatch], ...]:
        """Items in memory, in row groups that hold views of the ``values``."""
        step = self.rows_per_group
        slices = (slice(start, start + step) for start in range(0, len(values), step))
        parts = ((ids[s], labels[s], VectorBatch(values[s])) for s in slices)
        return tuple(MemoryRowGroup(Sizes.of(part[-1]), *part) for part in parts)

    def columns_of(self, batch: VectorBatch) -> list[pa.Array]:
        flat = pa.array(batch.values.reshape(-1))
        return [pa.FixedSizeListArray.from_arrays(flat, type=self._type)]

    def sizes_of(self, table: pa.Table) -> int:
        return len(table)

    def batch_of(self, columns: Sequence[pa.Array], sizes: Sizes) -> VectorBatch:
        (column,) = columns
        if column.type != self._type or column.null_count:
            raise ValueError(f"expected {self._type} without nulls, but found type {column.type}")
        flat = column.flatten()
        if flat.null_count:
            raise ValueError("some values are null")
        numbers = numbers_of(flat, flat.type.to_pandas_dtype())
        return VectorBatch(numbers.reshape(sizes.n_docs, self.n_columns))

    @property
    def _type(self) -> pa.DataType:
        return pa.list_(pa.type_for_alias(self.value_type), self.n_columns)
