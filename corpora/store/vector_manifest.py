"""What the manifest of a corpus of vectors says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from sparsetopics.base.sealed_files import FileEntry, Size
from sparsetopics.corpora.store.manifest import (
    VECTORS,
    ShardEntry,
    check_claim,
    load_manifest,
    save_manifest,
)

MOST_COLUMNS = 2**31 - 1  # of a list of fixed size in Arrow


@dataclass(frozen=True, slots=True)
class VectorManifest:
    """Files and sizes of a corpus of vectors, and how its values were made."""

    n_columns: int
    columns: tuple[str, ...] | None  # names, where the source has them and nothing was projected
    made: Mapping[str, Any]  # format, and what was done to the values on the way
    projection: FileEntry | None
    shards: tuple[ShardEntry[int], ...]  # of a row group: items

    @property
    def n_items(self) -> int:
        return sum(sum(shard.row_groups) for shard in self.shards)

    @property
    def sums(self) -> dict[str, int | float]:
        return {"n_items": self.n_items}

    @property
    def totals(self) -> dict[str, int | float]:
        """How much the corpus holds, by the names that ``--json`` uses."""
        return {
            "n_items": self.n_items,
            "n_columns": self.n_columns,
            "n_shards": len(self.shards),
            "n_skipped": 0,  # an item is read or refused
        }

    def save(self, folder: Path) -> None:
        save_manifest(folder, VECTORS, _to_json(self))

    @classmethod
    def load(cls, folder: Path) -> VectorManifest:
        """Read the manifest of a corpus folder; CorpusFormatError if there is no sound one."""
        return load_manifest(folder, VECTORS, _Record, _of_record)


def _to_json(manifest: VectorManifest) -> dict[str, Any]:
    return {
        "n_items": manifest.n_items,
        "n_columns": manifest.n_columns,
        "n_bytes": sum(shard.file.n_bytes for shard in manifest.shards),
        "columns": manifest.columns,
        "made": manifest.made,
        "projection": manifest.projection and manifest.projection.to_json(),
        "shards": [
            shard.file.to_json()
            | {"n_items": sum(shard.row_groups)}
            | {"row_groups": shard.row_groups}
            for shard in manifest.shards
        ],
    }


class _Shard(FileEntry, frozen=True):
    row_groups: tuple[Size, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        check_claim(sum(self.row_groups), self.n_bytes)


class _Record(msgspec.Struct):
    """What ``manifest.json`` holds, but for the totals."""

    n_columns: Annotated[int, Meta(ge=1, le=MOST_COLUMNS)]
    columns: tuple[str, ...] | None
    made: dict[str, Any]
    projection: FileEntry | None
    shards: list[_Shard]

    def __post_init__(self) -> None:
        if self.columns is not None and len(self.columns) != self.n_columns:
            raise ValueError(f"{len(self.columns):,} names of {self.n_columns:,} columns")


def _of_record(record: _Record) -> VectorManifest:
    return VectorManifest(
        n_columns=record.n_columns,
        columns=record.columns,
        made=record.made,
        projection=record.projection,
        shards=tuple(ShardEntry(shard.alone(), shard.row_groups) for shard in record.shards),
    )
