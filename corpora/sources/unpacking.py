"""Packed files piece by piece, as long as they are no bombs."""

from __future__ import annotations

import gzip
import io
from typing import IO, TYPE_CHECKING, cast

import pyarrow as pa

from sparsetopics.corpora.sources.archives import ZipMember, check_unpacked
from sparsetopics.corpora.sources.places import Place, open_place

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

PACKED_SUFFIXES = (".gz", ".zst")
_READ_AHEAD = 1 << 17  # bytes


def open_packed(path: Place) -> IO[bytes]:
    """What a file whose name ends in .gz or .zst unpacks to; a bomb raises SourceError as it is
    read."""
    return io.BufferedReader(_UnpackedStream(path), _READ_AHEAD)


class _CountedStream(io.RawIOBase):
    """A stream that knows how much of it was read."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self.n_read = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        n_read = _fill(self._stream, buffer)
        self.n_read += n_read
        return n_read

    def close(self) -> None:
        if not self.closed:
            self._stream.close()
        super().close()


class _UnpackedStream(io.RawIOBase):
    """What a packed stream unpacks to, compared with how much of that was read."""

    def __init__(self, path: Place) -> None:
        self._path = path
        # What is packed twice is compared with the archive's bytes, not with what they became.
        self._share = path.packed_share if isinstance(path, ZipMember) else 1.0
        self._packed = _CountedStream(open_place(path))
        self._unpacked = self._unpacker(io.BufferedReader(self._packed, _READ_AHEAD))
        self._n_read = 0

    def _unpacker(self, packed: io.BufferedReader) -> IO[bytes]:
        if self._path.suffix == ".gz":
            return cast(IO[bytes], gzip.GzipFile(fileobj=packed))
        return cast(IO[bytes], pa.CompressedInputStream(pa.PythonFile(packed), "zstd"))

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        n_read = _fill(self._unpacked, buffer)
        self._n_read += n_read
        check_unpacked(self._n_read, int(self._share * self._packed.n_read), str(self._path))
        return n_read

    def close(self) -> None:
        if not self.closed:
            self._unpacked.close()
            self._packed.close()
        super().close()


def _fill(stream: IO[bytes], buffer: WriteableBuffer) -> int:
    with memoryview(buffer).cast("B") as view:
        data = stream.read(len(view))
        view[: len(data)] = data
        return len(data)
