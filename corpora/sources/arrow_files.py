"""Arrow without two traps: threads that outlive a read, and conversions that import pandas.

Arrow reads ahead in threads of its own. When such a thread lets go of a Python object while the
interpreter ends, the process is aborted ("terminate called without an active exception"). So files
are opened here in ways that never hand a Python object to these threads.

Arrow's own ``array`` and ``to_numpy`` import pandas where it is installed, which takes longer than
reading a small corpus or writing a run. The conversions here do not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from sparsetopics.base.safe_reading import check_regular
from sparsetopics.corpora.sources.byte_stream import Place, open_unpacked, packing_of

Number = TypeVar("Number", bound=np.generic)


def open_parquet(
    source: Path | IO[bytes] | pa.NativeFile,
    *,
    dictionary_columns: Sequence[str] = (),
    check_pages: bool = False,
) -> pq.ParquetFile:
    """Open a Parquet file that is read in the calling thread.

    ``dictionary_columns`` stay encoded; ``check_pages`` compares the checksums of pages. Raises
    the errors of Arrow.
    """
    return pq.ParquetFile(
        source,
        read_dictionary=list(dictionary_columns),
        page_checksum_verification=check_pages,
        pre_buffer=False,  # otherwise Arrow's threads read ahead
    )


@contextmanager
def open_native(path: Place) -> Iterator[pa.NativeFile]:
    """The unpacked bytes of a file, read by Arrow without Python file objects."""
    if isinstance(path, Path) and not packing_of(path):
        check_regular(path)
        with pa.OSFile(str(path)) as source:
            yield source
        return
    # The unpacked copy has no name, so that a process that is killed leaves none behind.
    with open_unpacked(path) as unpacked, pa.OSFile(f"/dev/fd/{unpacked.fileno()}") as source:
        yield source


def numbers_of(array: pa.Array, kind: type[Number]) -> NDArray[Number]:
    """A read-only view of an array of numbers of this ``kind``, none of them null."""
    numbers = np.from_dlpack(array).astype(kind, copy=False)
    numbers.flags.writeable = False
    return numbers


def arrow_numbers(numbers: NDArray[np.generic]) -> pa.Array:
    """The same numbers, (n,)."""
    kind, own = pa.from_numpy_dtype(numbers.dtype), np.ascontiguousarray(numbers)
    return pa.Array.from_buffers(kind, len(own), [None, pa.py_buffer(own)])


def arrow_strings(texts: Sequence[str]) -> pa.Array:
    """The same strings; ArrowCapacityError for more than two gibibytes of them."""
    encoded = [text.encode() for text in texts]
    ends = np.cumsum([0, *map(len, encoded)])
    if ends[-1] > np.iinfo(np.int32).max:
        raise pa.ArrowCapacityError(f"{ends[-1]:,} bytes of strings")
    buffers = pa.py_buffer(ends.astype(np.int32)), pa.py_buffer(b"".join(encoded))
    return pa.StringArray.from_buffers(len(encoded), *buffers)
