"""What the manifest of a corpus of vectors says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sparsetopics.corpora.manifest import (
    VECTORS,
    FileEntry,
    ShardEntry,
    load_manifest,
    save_manifest,
    size_from_json,
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
        return load_manifest(folder, VECTORS, _from_json)


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


def _from_json(content: dict[str, Any]) -> VectorManifest:
    n_columns = size_from_json(content["n_columns"])
    columns, projection = content["columns"], content["projection"]
    if not 1 <= n_columns <= MOST_COLUMNS or (columns is not None and len(columns) != n_columns):
        raise ValueError(f"{n_columns} columns")
    return VectorManifest(
        n_columns=n_columns,
        columns=None if columns is None else tuple(map(str, columns)),
        made=dict(content["made"]),
        projection=None if projection is None else FileEntry.from_json(projection),
        shards=tuple(
            ShardEntry(FileEntry.from_json(shard), tuple(map(size_from_json, shard["row_groups"])))
            for shard in content["shards"]
        ),
    )
