"""A corpus of vectors, on disk or in memory."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from sparsetopics.base.batches import VectorBatch, Vectors
from sparsetopics.base.errors import ShapeError
from sparsetopics.corpora.projection import Projection
from sparsetopics.corpora.readers.vector_blocks import narrowed
from sparsetopics.corpora.store.manifest import DAMAGE
from sparsetopics.corpora.store.shard_files import StoredShard
from sparsetopics.corpora.store.vector_manifest import VectorManifest
from sparsetopics.corpora.store.vector_shards import StoredVectors, rows_per_group


class VectorGroup(Protocol):
    """Consecutive items that are read at once."""

    @property
    def n_items(self) -> int: ...

    def read(self) -> VectorBatch: ...

    def read_item_ids(self) -> list[str]: ...

    def read_labels(self) -> list[str | None]: ...


@dataclass(frozen=True, slots=True, eq=False)
class MemoryVectors:
    """Items in memory."""

    values: Vectors
    item_ids: list[str]
    labels: list[str | None]

    @property
    def n_items(self) -> int:
        return len(self.values)

    def read(self) -> VectorBatch:
        return VectorBatch(self.values)

    def read_item_ids(self) -> list[str]:
        return self.item_ids

    def read_labels(self) -> list[str | None]:
        return self.labels


@dataclass(frozen=True, eq=False)
class VectorCorpus:
    """Items as rows of float32, in row groups.

    ``columns`` are their names, where they are known; ``projection`` is what made the values of
    what was read, if anything.
    """

    n_columns: int
    row_groups: Sequence[VectorGroup]
    columns: tuple[str, ...] | None = None  # names, where they are known
    made: Mapping[str, Any] = field(default_factory=dict)  # format, and what was done to values
    projection: Projection | None = None  # that made the values
    projection_hash: str | None = None  # SHA-256 of its file

    @cached_property
    def n_items(self) -> int:
        """Rows."""
        return sum(group.n_items for group in self.row_groups)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of what the columns are: two corpora can share a model only if it is the same."""
        what = [self.n_columns, self.columns, self.projection_hash]
        return hashlib.sha256(json.dumps(what).encode()).hexdigest()

    def batches(self) -> Iterator[VectorBatch]:
        """The items, one batch per row group, in order: ``values`` (n_items, n_columns) float32.

        Raises CorpusFormatError for a damaged shard.
        """
        return (group.read() for group in self.row_groups)

    def item_ids(self) -> Iterator[list[str]]:
        """Item ids, aligned with ``batches()``; raises what they raise."""
        return (group.read_item_ids() for group in self.row_groups)

    def labels(self) -> Iterator[list[str | None]]:
        """Labels, aligned with ``batches()``; None where an item has none; raises likewise."""
        return (group.read_labels() for group in self.row_groups)

    @classmethod
    def open(cls, path: str | Path) -> VectorCorpus:
        """Open a corpus folder; items are read when asked for.

        Raises CorpusFormatError if the manifest, the projection or the size of a shard is not
        what ingest wrote, or if it is a corpus of documents. ``validate`` looks at every byte.
        """
        folder = Path(path)
        manifest = VectorManifest.load(folder)
        groups: list[VectorGroup] = []
        for entry in manifest.shards:
            entry.file.check_size(folder, DAMAGE)
            shard = StoredShard(folder, entry.file)
            groups += [
                StoredVectors(shard, index, n_items, manifest.n_columns)
                for index, n_items in enumerate(entry.row_groups)
            ]
        projection = None
        if manifest.projection is not None:
            manifest.projection.check(folder, DAMAGE)
            projection = Projection.read(folder / manifest.projection.file)
        return cls(
            manifest.n_columns,
            tuple(groups),
            manifest.columns,
            manifest.made,
            projection,
            None if manifest.projection is None else manifest.projection.sha256,
        )

    @classmethod
    def from_array(
        cls,
        values: ArrayLike,  # (n_items, n_columns)
        labels: Sequence[Any] | None = None,
        item_ids: Sequence[Any] | None = None,
    ) -> VectorCorpus:
        """Make a corpus in memory of ``values`` (n_items, n_columns); without ``item_ids``
        (n_items,), items have running numbers.

        An array that is float32 already is not copied. Raises ShapeError if it is not of two
        dimensions, has no items or columns, holds anything but finite real numbers, or if names
        are not as many as items.
        """
        vectors = _checked(values)
        n_items, n_columns = vectors.shape
        ids = range(n_items) if item_ids is None else item_ids
        item_names = [str(name) for name in ids]
        label_names = [_label(label) for label in ([None] * n_items if labels is None else labels)]
        for what, names in (("item_ids", item_names), ("labels", label_names)):
            if len(names) != n_items:
                raise ShapeError(what, found=f"{len(names)}", wanted=f"{n_items}, one for each row")
        step = rows_per_group(n_columns)
        stretches = [slice(start, start + step) for start in range(0, n_items, step)]
        groups = [MemoryVectors(vectors[s], item_names[s], label_names[s]) for s in stretches]
        return cls(n_columns, tuple(groups), made={"format": "array"})


def _label(label: Any) -> str | None:
    return None if label is None else str(label)


def _checked(values: ArrayLike) -> Vectors:
    array = np.asarray(values)
    if array.ndim != 2 or not array.size or array.dtype.kind not in "fiub":
        raise ShapeError(
            "values",
            found=f"{array.dtype} of shape {array.shape}",
            wanted="real numbers of shape (n_items, n_columns), at least one of each",
        )
    vectors, odd = narrowed(array)
    if odd is not None:
        raise ShapeError(
            f"values, item {odd[0]}, column {odd[1]}",
            found=f"{array[odd]}",
            wanted="a finite number within float32",
        )
    return vectors
