"""Reading files piece by piece: packed or not, text as UTF-8, whole lines, errors with a place."""

from __future__ import annotations

import gzip
import io
import os
import shutil
import struct
import zipfile
import zlib
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from itertools import chain
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, NamedTuple, TypeAlias, cast

import pyarrow as pa

from sparsetopics.base.errors import SourceError
from sparsetopics.base.safe_reading import open_regular
from sparsetopics.base.wording import quantity, reason_of
from sparsetopics.corpora.sources import encodings
from sparsetopics.corpora.sources.archives import ZipMember, check_unpacked
from sparsetopics.corpora.sources.encodings import UTF_8, Decoding, NotTextError, undecodable
from sparsetopics.corpora.sources.remote import ReadStream, RemoteFile

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

#: A file to read: on this disk, behind a URL, or in a zip archive of either. All kinds have name,
#: ``open("rb")`` and ``with_name``.
Place: TypeAlias = Path | RemoteFile | ZipMember


class SourceFile(NamedTuple):
    """One file to read."""

    path: Place
    name: str  # path relative to the folder or archive the user named, else the file's own name
    words: Place | None = None  # of counts: the file with their words, if there is one


def open_place(place: Place) -> IO[bytes]:
    """The bytes as they are stored; OSError if this is not a regular file or cannot be read."""
    return open_regular(place) if isinstance(place, Path) else place.open("rb")


def absolute(place: Place) -> Place:
    """The place for other processes, which may have another working directory."""
    return place.absolute() if isinstance(place, Path) else place


def n_bytes_of(place: Place) -> int:
    """Its size as it is stored, which may be packed; SourceError if it is gone."""
    with reading(place):
        return place.stat().st_size if isinstance(place, Path) else place.n_bytes


_NAMES = {".gz": "gzip", ".zst": "zstd", ".bz2": "bzip2"}
PACKED_SUFFIXES = tuple(_NAMES)
_OF_ARROW = {".zst": "zstd", ".bz2": "bz2"}


def packing_of(path: Place) -> str:
    """The end of a name that says how the file is packed; empty if it does not."""
    return next((suffix for suffix in PACKED_SUFFIXES if path.name.endswith(suffix)), "")


_READ_AHEAD = 1 << 17  # bytes


class _UnpackedStream(ReadStream):
    """The unpacked bytes of a packed stream; their number is compared with that of the packed."""

    def __init__(self, path: Place) -> None:
        self._path = path
        # A packed file in an archive is compared with the bytes of the archive, because it could be
        # a bomb that is packed twice; and together with the others, because each could be a bomb.
        self._share, self._sums = 1.0, [0.0, 0.0]
        if isinstance(path, ZipMember):
            self._share = path.info.compress_size / max(path.info.file_size, 1)
            self._sums = path.archive.unpacked
        self._packed = ReadStream(open_place(path))
        packed = io.BufferedReader(self._packed, _READ_AHEAD)
        unpacked: gzip.GzipFile | pa.NativeFile = gzip.GzipFile(fileobj=packed)
        if packing := _OF_ARROW.get(packing_of(path)):  # which refuses odd data at the end
            unpacked = pa.CompressedInputStream(pa.PythonFile(packed), packing)
        super().__init__(cast(IO[bytes], unpacked))

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        n_packed = self._packed.n_read
        n_read = super().readinto(buffer)
        self._sums[0] += n_read
        self._sums[1] += self._share * (self._packed.n_read - n_packed)
        check_unpacked(int(self._sums[0]), int(self._sums[1]), str(self._path))
        return n_read

    def close(self) -> None:
        super().close()
        self._packed.close()


BLOCK_BYTES = 8 << 20  # per block: small enough for a few workers' scratch arrays
LONGEST_TEXT = 1 << 26  # bytes of a document or line: more is a bomb, or not text
_MOST_NAMED = 100  # files that are not text
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


_OF_ZIP = (zipfile.BadZipFile, NotImplementedError, struct.error)  # errors of damaged archives


class LineBlock(NamedTuple):
    """Whole lines of valid UTF-8; the last one ends with a line break too."""

    source: str  # the file, for errors
    first_line: int  # number of the first line in the file, from 1
    data: bytes
    noun: str = "line"  # what a line is in the file

    def place(self, row: int) -> str:
        """Where one of the lines lies, for messages."""
        return f"{self.source}, {self.noun} {self.first_line + row}"


@contextmanager
def reading(path: Place) -> Iterator[None]:
    """Turn the errors of a file that is missing, unreadable or damaged into a SourceError."""
    try:
        yield
    except (OSError, EOFError, zlib.error, *_OF_ZIP) as error:
        packing = "" if isinstance(error, _OF_ZIP) else packing_of(path)
        problem, hint = "cannot be read", ""
        # Errors of libraries, unlike those of the system, have no number.
        if not isinstance(error, OSError) or (error.errno is None and packing):
            problem = f"damaged or truncated {_NAMES.get(packing, 'zip')} data"
            hint = "Copy or download it again."
        raise SourceError(str(path), f"{problem} ({reason_of(error)})", hint) from error


def is_file(place: Place) -> bool:
    """Whether there is such a file; SourceError if a service does not answer."""
    if isinstance(place, Path):
        return os.path.isfile(place)  # unlike Path.is_file, also of a name that is too long
    with reading(place):
        return place.is_file()


@contextmanager
def open_bytes(path: Place) -> Iterator[IO[bytes]]:
    """The bytes of a file, unpacked if its name says that they are packed; SourceError for a bomb
    and, as from ``reading``, if the file cannot be read."""
    with reading(path), _unpacked(path) if packing_of(path) else open_place(path) as stream:
        yield stream


def _unpacked(path: Place) -> io.BufferedReader:
    return io.BufferedReader(_UnpackedStream(path), _READ_AHEAD)


@contextmanager
def open_unpacked(path: Place) -> Iterator[IO[bytes]]:
    """The bytes of a file as a stream to seek in; a packed or remote file is copied to disk.

    Raises what ``open_bytes`` raises.
    """
    if isinstance(path, Path) and not packing_of(path):
        with open_bytes(path) as stream:
            yield stream
        return
    with TemporaryFile() as unpacked:  # not in memory, because its size is not known
        with open_bytes(path) as packed:
            shutil.copyfileobj(packed, unpacked, BLOCK_BYTES)
        unpacked.seek(0)
        yield unpacked


def read_utf8(path: Place, decoding: Decoding | None) -> str:
    """The whole text of a file; SourceError as ``line_blocks`` raises it."""
    data = _joined(_utf8_pieces(path, decoding), path)
    return checked_utf8(data, path, 1, decoding).decode()


def read_whole(path: Place) -> bytes:
    """All bytes of a file that holds one image; SourceError if they are too many."""
    with open_bytes(path) as stream:
        return _joined(iter(partial(stream.read, BLOCK_BYTES), b""), path)


def _joined(pieces: Iterable[bytes], path: Place) -> bytes:
    found, n_bytes = [], 0
    for piece in pieces:
        found.append(piece)
        n_bytes += len(piece)
        check_length(n_bytes, path, "file")
    return b"".join(found)


def line_blocks(
    path: Place, decoding: Decoding | None, end: bytes = b"\n"
) -> Generator[LineBlock, None, None]:
    """The lines of a file in blocks of about ``BLOCK_BYTES``; blocks end with another byte if
    ``end`` is given.

    ``decoding`` is None where the options of decoding are not for the file. Raises SourceError if
    the file cannot be read; NotTextError if it is something else than text, and at the first line
    that cannot be decoded unless such bytes are replaced.
    """
    first_line = 1
    for data in _whole_lines(path, decoding, end):
        data = checked_utf8(data, path, first_line, decoding)
        yield LineBlock(str(path), first_line, data)
        first_line += data.count(b"\n")


def _whole_lines(path: Place, decoding: Decoding | None, last: bytes) -> Iterator[bytes]:
    rest = b""
    for piece in _utf8_pieces(path, decoding):
        end = piece.rfind(last) + 1
        if end:
            yield rest + piece[:end]
            rest = piece[end:]
        else:
            rest += piece
            check_length(len(rest), path, "line")
    if rest:
        yield rest + b"\n"


def _utf8_pieces(path: Place, decoding: Decoding | None) -> Iterator[bytes]:
    """The pieces of a text file in UTF-8, which is not checked yet, without a byte order mark."""
    given = None if decoding is None else decoding.encoding
    with open_bytes(path) as stream:
        start = stream.read(BLOCK_BYTES)
        pieces: Iterator[bytes] = chain([start], iter(partial(stream.read, BLOCK_BYTES), b""))
        encoding = encodings.encoding_of(start, given, str(path))
        if encoding != UTF_8:
            pieces = encodings.as_utf8(pieces, encoding, decoding or Decoding(), str(path))
        yield next(pieces, b"").removeprefix(BYTE_ORDER_MARK)
        yield from pieces


def check_length(n_bytes: int, path: Place, what: str) -> None:
    """Raise SourceError if this is more than a text may have."""
    if n_bytes > LONGEST_TEXT:
        problem = f"a {what} may have at most {LONGEST_TEXT:,} bytes, but this one has more"
        hint = "Choose the format with --format, or divide the document."
        raise SourceError(str(path), problem, hint)


def error_of_all(files: Iterable[SourceFile], decoding: Decoding) -> NotTextError | None:
    """The error for the first file that is not text or not in its encoding, which also says what is
    wrong with the others; None if there are none. Reads each file up to its first bad line."""
    errors: list[NotTextError] = []
    for file in files:
        try:
            deque(line_blocks(file.path, decoding), maxlen=0)
        except NotTextError as error:
            errors.append(error)
        except SourceError:  # will be met when the file is read
            pass
    if len(errors) < 2:
        return errors[0] if errors else None
    first, *others = errors
    problem, _, hint = first.text.partition(". ")
    named = [f"{e.where}: {e.text.partition('. ')[0]}" for e in others[:_MOST_NAMED]]
    more = f"{quantity(len(others), 'more file')}: {'; '.join(named)}."
    return NotTextError(first.where, problem, f"{hint} {more}")


def checked_utf8(data: bytes, path: Place, first_line: int, decoding: Decoding | None) -> bytes:
    """``data`` if it is UTF-8; otherwise repaired, or NotTextError with the line of the bad byte.

    ``decoding`` is None where its options are not for the file.
    """
    with suppress(pa.ArrowInvalid):
        pa.array([data], pa.binary()).cast(pa.string())  # checks them without a second copy
        return data
    try:
        return data.decode(errors=(decoding or Decoding()).errors).encode()
    except UnicodeDecodeError as error:
        line = first_line + data.count(b"\n", 0, error.start)
        raise undecodable(error, UTF_8, decoding, f"{path}, line {line}") from error
