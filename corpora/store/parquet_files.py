"""Numbered Parquet files of a corpus: written in full row groups, read a few of them at a time.

Kept fields of documents are beside the shards: ``texts-00000.parquet`` holds the texts of the
documents in ``shard-00000.parquet``, and ``fields-00000.parquet`` their other fields, so that each
is read only when it is wanted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import islice
from pathlib import Path
from threading import Lock

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from sparsetopics.base.errors import OptionError, SourceError
from sparsetopics.base.sealed_files import FileEntry
from sparsetopics.base.showing import short_repr
from sparsetopics.base.wording import listed, quantity, reason_of
from sparsetopics.corpora.readers.fields import ARROW_TYPES, TEXT, FieldType
from sparsetopics.corpora.sources import parquet_sizes
from sparsetopics.corpora.sources.arrow_files import open_parquet
from sparsetopics.corpora.store.manifest import DAMAGE, FIELDS, TEXTS, Sizes

MOST_TOGETHER = 100 << 20  # bytes of columns that are read at once, however few they take on disk


class StoredFile:
    """One Parquet file on disk; its checksum is compared before the first read."""

    def __repr__(self) -> str:
        return short_repr(self, "path")

    def __init__(self, folder: Path, entry: FileEntry) -> None:
        self.path = folder / entry.file
        self._entry = entry
        self._lock = Lock()  # so that only one of many threads compares

    def __reduce__(self) -> tuple[Callable[[Path, FileEntry], StoredFile], tuple[Path, FileEntry]]:
        """Another process compares the checksum once, however many row groups it receives."""
        return _stored_file, (self.path.parent, self._entry)

    def columns(self, groups: list[int], names: list[str], n_rows: int, most: int) -> pa.Table:
        """Columns of some row groups, which hold ``n_rows`` together.

        Raises CorpusFormatError if the file is not as it was written, and if the columns have more
        than ``most`` bytes and 250 times as many as the file: many rows may share a long string.
        """
        try:
            with self._lock:
                chunks = [self._chunks[group] for group in groups]
            columns, n_bytes = {}, 0
            with open_parquet(self.path, check_pages=True) as file:
                for name in names:
                    step, parts = self._step(file, chunks, name, n_rows), []
                    batches = file.iter_batches(step, groups, columns=[name], use_threads=False)
                    for batch in islice(batches, n_rows // step + 1):  # no more than needed
                        parts.append(batch.column(0))
                        n_bytes += batch.nbytes
                        parquet_sizes.check_ratio(n_bytes, self._entry.n_bytes, most)
                    columns[name] = pa.chunked_array(parts, file.schema_arrow.field(name).type)
            table = pa.table(columns)
            if len(table) != n_rows:
                raise ValueError(f"expected {quantity(n_rows, 'row')}, but found {len(table)}")
            return table
        except (OSError, ValueError, LookupError, pa.ArrowException) as error:
            raise DAMAGE.of(self.path, f"cannot be read ({reason_of(error)})") from error

    def _step(
        self, file: pq.ParquetFile, groups: list[list[parquet_sizes.Chunk]], name: str, n_rows: int
    ) -> int:
        """How many rows of a column to decode before their bytes are counted."""
        kind = file.schema_arrow.field(name).type
        places = [place for place, leaf in enumerate(file.schema) if leaf.path == name]
        if not places and pa.types.is_primitive(getattr(kind, "value_type", kind)):
            return max(1, n_rows)  # a list of numbers, which no rows share
        if len(places) != 1:
            raise ValueError(f"column {name!r} holds {kind}")
        chunks = [group[places[0]] for group in groups]
        with self.path.open("rb") as raw:  # no value is longer than its page
            longest = max([1, *(p.n_unpacked for c in chunks for p in parquet_sizes.pages(raw, c))])
        # Twice, because Arrow keeps a dictionary and the page that it came in.
        parquet_sizes.check_ratio(2 * longest, self._entry.n_bytes, MOST_TOGETHER)
        return max(1, min(n_rows, MOST_TOGETHER // (2 * longest)))

    @cached_property
    def _chunks(self) -> list[list[parquet_sizes.Chunk]]:
        """Those of each row group, once the checksum has been compared."""
        self._entry.check(self.path.parent, DAMAGE)
        with self.path.open("rb") as raw:
            parquet_sizes.check_sizes(raw)
            return parquet_sizes.row_groups(raw)


@lru_cache(maxsize=1_000)
def _stored_file(folder: Path, entry: FileEntry) -> StoredFile:
    return StoredFile(folder, entry)


@dataclass
class FileSeries:
    """Files ``STEM-00000.parquet`` (or of the number ``first``) and so on, to which tables are
    appended.

    All row groups but the last are full, and so are all files. ``finish`` or ``close`` ends the
    last file; then ``entries`` lists the files and ``groups`` the sizes of their row groups.
    """

    folder: Path
    stem: str
    rows_per_group: int
    groups_per_file: int
    sizes_of: Callable[[pa.Table], Sizes | int]
    first: int
    level: int  # of compression
    dictionaries: list[str]  # columns stored as dictionaries
    encodings: dict[str, str] | None = None  # of other columns
    entries: list[FileEntry] = field(default_factory=list)
    groups: list[list[Sizes | int]] = field(default_factory=list)
    _waiting: list[pa.Table] = field(default_factory=list)
    _n_waiting: int = 0
    _file: pq.ParquetWriter | None = None

    def append(self, table: pa.Table) -> None:
        self._waiting.append(table)
        self._n_waiting += len(table)
        n_rows = self.rows_per_group
        if self._n_waiting >= n_rows:
            waiting = pa.concat_tables(self._waiting)
            whole = len(waiting) - len(waiting) % n_rows
            for start in range(0, whole, n_rows):
                self._write(waiting.slice(start, n_rows))
            self._waiting = [waiting.slice(whole)]
            self._n_waiting = len(waiting) - whole

    def finish(self) -> None:
        """Write the remaining rows and end the last file."""
        if self._n_waiting:
            self._write(pa.concat_tables(self._waiting))
        if self._file is not None:
            self._end_file()

    def close(self) -> None:
        """Let go of the file without writing more."""
        if self._file is not None:
            self._file.close()

    def _write(self, table: pa.Table) -> None:
        if self._file is None:
            self._file = pq.ParquetWriter(
                self._path(),
                table.schema,
                compression="zstd",
                compression_level=self.level,
                use_dictionary=self.dictionaries,
                column_encoding=self.encodings,
                write_statistics=False,
                write_page_checksum=True,
            )
            self.groups.append([])
        self._file.write_table(table, row_group_size=self.rows_per_group)
        n_packed = self._path().stat().st_size
        if table.nbytes > max(MOST_TOGETHER, parquet_sizes.LARGEST_RATIO * n_packed):
            problem = f"{quantity(len(table), 'row')} repeat strings of {table.nbytes:,} bytes"
            raise SourceError("documents", problem, "Keep fewer fields, or shorten the labels.")
        self.groups[-1].append(self.sizes_of(table))
        if len(self.groups[-1]) == self.groups_per_file:
            self._end_file()

    def _end_file(self) -> None:
        assert self._file is not None
        self._file.close()
        self._file = None
        self.entries.append(FileEntry.of(self._path()))

    def _path(self) -> Path:
        return self.folder / f"{self.stem}-{self.first + len(self.entries):05d}.parquet"


# --- kept fields ----------------------------------------------------------------------------------
# In a row group: few, since texts are long and a few documents are shown at a time. A divisor of
# the number of documents in a row group of a shard.
_TEXTS_PER_GROUP = 256


def columns_by_stem(names: Iterable[str]) -> dict[str, list[str]]:
    """The fields that each kind of file holds; no entry for a kind that is not needed."""
    others = [name for name in names if name != TEXT]
    columns = {TEXTS: [TEXT] if TEXT in names else [], FIELDS: others}
    return {stem: held for stem, held in columns.items() if held}


def rows_per_group(stem: str, n_docs: int) -> int:
    """Rows in a row group of such a file, where a row group of a shard holds ``n_docs``."""
    return min(_TEXTS_PER_GROUP, n_docs) if stem == TEXTS else n_docs


def check_fields(names: Sequence[str], known: Iterable[str]) -> None:
    """OptionError for a field that is not among the ``known`` ones."""
    fields = list(known)
    for name in names:
        if name not in fields:
            problem = f"the corpus keeps no field {name!r}"
            kept = f"It keeps {listed(fields)}." if fields else "Ingest again with --keep."
            raise OptionError("field", problem, kept)


def check_values(column: pa.ChunkedArray, kind: FieldType) -> None:
    """ValueError or ArrowInvalid unless the values are sound."""
    if column.type != ARROW_TYPES[kind]:
        raise ValueError(f"expected a {kind} ({ARROW_TYPES[kind]}), but found {column.type}")
    column.validate(full=True)  # strings of UTF-8
    if kind == "number" and not pc.all(pc.is_finite(column), min_count=0).as_py():
        raise ValueError("some numbers are not finite")
