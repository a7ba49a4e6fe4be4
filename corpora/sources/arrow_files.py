"""Open files so that Arrow's own threads never touch a Python object.

Arrow reads ahead in threads that outlive the read. When such a thread lets go of a Python object
while the interpreter ends, the process is aborted ("terminate called without an active exception").
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pyarrow as pa
import pyarrow.parquet as pq

from sparsetopics.base.safe_reading import check_regular
from sparsetopics.corpora.sources.byte_stream import open_unpacked
from sparsetopics.corpora.sources.places import Place
from sparsetopics.corpora.sources.unpacking import PACKED_SUFFIXES


def open_parquet(
    source: Path | IO[bytes] | pa.NativeFile,
    *,
    dictionary_columns: Sequence[str] = (),
    check_pages: bool = False,
) -> pq.ParquetFile:
    """Open a Parquet file that is read in the calling thread.

    ``dictionary_columns`` stay encoded; ``check_pages`` compares the checksums of pages. Raises
    what Arrow raises.
    """
    return pq.ParquetFile(
        source,
        read_dictionary=list(dictionary_columns),
        page_checksum_verification=check_pages,
        pre_buffer=False,  # else Arrow's threads read ahead
    )


@contextmanager
def open_native(path: Place) -> Iterator[pa.NativeFile]:
    """The unpacked bytes of a file, read by Arrow without Python file objects."""
    if isinstance(path, Path) and path.suffix not in PACKED_SUFFIXES:
        check_regular(path)
        with pa.OSFile(str(path)) as source:
            yield source
        return
    # The unpacked copy has no name, so that a process that is killed leaves none behind.
    with open_unpacked(path) as unpacked, pa.OSFile(f"/dev/fd/{unpacked.fileno()}") as source:
        yield source


def native_reader(data: bytes) -> pa.NativeFile:
    """Copy ``data`` into memory that Arrow owns, and read it there."""
    sink = pa.BufferOutputStream()
    sink.write(data)
    return pa.BufferReader(sink.getvalue())
