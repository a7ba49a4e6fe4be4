"""Shards as files: Parquet tables written in full row groups, read back one row group at a time."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Generic, NamedTuple, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from sparsetopics.base.errors import SparsetopicsError
from sparsetopics.base.sealed_files import FileEntry
from sparsetopics.corpora.sources.arrow_files import open_parquet
from sparsetopics.corpora.sources.parquet_sizes import check_sizes
from sparsetopics.corpora.store.manifest import DAMAGE, ShardEntry

Group = TypeVar("Group")


class StoredShard:
    """One shard on disk; its checksum is compared before the first read."""

    def __init__(self, folder: Path, entry: FileEntry) -> None:
        self.path = folder / entry.file
        self._entry = entry
        self._verified = False
        self._lock = Lock()  # so that one thread of many does the comparing

    def __reduce__(self) -> tuple[Callable[[Path, FileEntry], StoredShard], tuple[Path, FileEntry]]:
        """Another process compares its checksum once, however many row groups it is sent."""
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
            found = (str(error).splitlines() or [type(error).__name__])[0]
            raise self.damaged(found, "a readable shard") from error

    def damaged(self, found: str, wanted: str) -> SparsetopicsError:
        return DAMAGE.of(self.path, found=found, wanted=wanted)

    def _verify(self) -> None:
        self._entry.check(self.path.parent, DAMAGE)
        with self.path.open("rb") as raw:
            check_sizes(raw)
        self._verified = True


@lru_cache(maxsize=1_000)
def _stored_shard(folder: Path, entry: FileEntry) -> StoredShard:
    return StoredShard(folder, entry)


class ShardLayout(NamedTuple, Generic[Group]):
    """How a kind of corpus cuts its rows into files."""

    rows_per_group: int
    groups_per_shard: int
    open: Callable[[Path, pa.Schema], pq.ParquetWriter]
    measure: Callable[[pa.Table], Group]  # what the manifest says of a row group


class TableWriter(Generic[Group]):
    """Writes rows into shards of a folder, in order; row groups are always full but the last.

    Use as a context manager; ``finish`` returns the list of shards.
    """

    def __init__(self, folder: Path, layout: ShardLayout[Group]) -> None:
        self._folder = folder
        self._layout = layout
        self._waiting: list[pa.Table] = []
        self._n_waiting = 0
        self._file: pq.ParquetWriter | None = None
        self._row_groups: list[Group] = []
        self._shards: list[ShardEntry[Group]] = []

    def __enter__(self) -> TableWriter[Group]:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._file is not None:
            self._file.close()

    def append(self, rows: pa.Table) -> None:
        self._waiting.append(rows)
        self._n_waiting += len(rows)
        n_rows = self._layout.rows_per_group
        if self._n_waiting >= n_rows:
            waiting = pa.concat_tables(self._waiting)
            whole = len(waiting) - len(waiting) % n_rows
            for start in range(0, whole, n_rows):
                self._write(waiting.slice(start, n_rows))
            self._waiting = [waiting.slice(whole)]
            self._n_waiting = len(waiting) - whole

    def finish(self) -> tuple[ShardEntry[Group], ...]:
        """Write what waits, close the last shard, list all."""
        if self._n_waiting:
            self._write(pa.concat_tables(self._waiting))
        self._close()
        return tuple(self._shards)

    def _write(self, table: pa.Table) -> None:
        if self._file is None:
            self._file = self._layout.open(self._path(), table.schema)
        self._file.write_table(table, row_group_size=self._layout.rows_per_group)
        self._row_groups.append(self._layout.measure(table))
        if len(self._row_groups) == self._layout.groups_per_shard:
            self._close()

    def _close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
            self._shards.append(ShardEntry(FileEntry.of(self._path()), tuple(self._row_groups)))
            self._row_groups = []

    def _path(self) -> Path:
        return self._folder / f"shard-{len(self._shards):05d}.parquet"
