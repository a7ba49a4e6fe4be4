"""How much a Parquet file unpacks to, asked of all pages first: Arrow believes what they say.

The numbers of fields are those of https://github.com/apache/parquet-format. pyarrow's own view of
them is not used: it ends the process when a file's statistics do not fit its schema.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable, Iterator
from typing import IO, NamedTuple, cast

import pyarrow as pa

from sparsetopics.corpora.sources.thrift import Struct, read_struct

MOST_UNPACKED = 1 << 28  # bytes of a row group, whatever it has on disk
LARGEST_RATIO = 250  # of unpacked to packed bytes beyond that
_LENGTH = struct.Struct("<I")
_MAGIC = b"PAR1"
_BYTES_OF_VALUE = 8
_LARGEST = 1 << 60  # bytes
_HEAD_BYTES = (1 << 8, 1 << 16, 1 << 24)  # to read for a head; statistics may make it long


_CODECS = {0: None, 1: "snappy", 2: "gzip", 4: "brotli", 6: "zstd", 7: "lz4_raw"}
_UNKNOWN = "unknown"
_BYTE_ARRAY = 6  # a type: strings
_DELTA_BYTE_ARRAY = 7  # an encoding: each string omits the prefix it shares with the one before


class Chunk(NamedTuple):
    """A column of a row group."""

    name: str  # of the column, or of the column that contains it
    start: int  # of its first page, in the file
    n_packed: int  # bytes
    n_values: int
    codec: str | None  # Arrow's name for the codec of its pages
    is_nested: bool
    is_of_strings: bool


class Page(NamedTuple):
    """What the head of a page says."""

    place: int  # in the file, of the data after the head
    n_head: int  # bytes of it
    n_packed: int  # bytes after it
    n_unpacked: int
    is_dictionary: bool
    is_incremental: bool  # strings that omit a shared prefix


class Shared(NamedTuple):
    """A page whose strings are stored once but may occur in many rows."""

    page: Page
    codec: str | None


def check_sizes(file: IO[bytes]) -> dict[str, list[Shared]]:
    """The pages of each column of strings that rows may share.

    Raises ValueError if a row group unpacks to too much.
    """
    n_bytes = file.seek(0, os.SEEK_END)
    n_seen = 0
    shared: dict[str, list[Shared]] = {}
    for group in row_groups(file):
        n_unpacked = n_packed = 0
        for chunk in group:
            if chunk.is_nested:  # lists are as long as they say, however few bytes that takes
                n_unpacked += _BYTES_OF_VALUE * chunk.n_values
            for page in pages(file, chunk):
                n_unpacked += page.n_unpacked
                n_packed += page.n_packed
                n_seen += page.n_head + page.n_packed
                if n_seen > n_bytes:
                    raise ValueError("pages that share their data")
                if chunk.is_of_strings and (page.is_dictionary or page.is_incremental):
                    shared.setdefault(chunk.name, []).append(Shared(page, chunk.codec))
        check_ratio(n_unpacked, n_packed)
    return shared


def longest_shared(file: IO[bytes], pages: Iterable[Shared]) -> int:
    """An upper bound on the bytes of a string that rows may share; ValueError for damaged pages."""
    longest = 0
    for page, codec in pages:
        if page.n_unpacked <= longest:
            continue
        if page.is_incremental or codec == _UNKNOWN:
            longest = page.n_unpacked
        else:
            longest = max(longest, _longest_of(_page_bytes(file, page, codec)))
    return longest


def _page_bytes(file: IO[bytes], page: Page, codec: str | None) -> bytes:
    file.seek(page.place)
    data = file.read(page.n_packed)
    if codec is None:
        return data
    try:
        return cast(bytes, pa.decompress(data, page.n_unpacked, codec, asbytes=True))
    except (OSError, pa.ArrowException) as error:
        raise ValueError("a damaged dictionary of Parquet") from error


def _longest_of(dictionary: bytes) -> int:
    """The length of the longest string; each is preceded by its length in four bytes."""
    longest = place = 0
    unpack, end = _LENGTH.unpack_from, len(dictionary) - 4
    while place <= end:
        (length,) = unpack(dictionary, place)
        if length > longest:
            longest = length
        place += 4 + length
    return min(longest, len(dictionary))


def check_ratio(n_unpacked: int, n_packed: int) -> None:
    """ValueError if so few bytes cannot plausibly unpack to so many."""
    if n_unpacked > max(MOST_UNPACKED, LARGEST_RATIO * n_packed):
        raise ValueError(f"{n_packed:,} bytes that unpack to {n_unpacked:,} or more")


def row_groups(file: IO[bytes]) -> list[list[Chunk]]:
    """The chunks of all row groups, from the foot of the file; ValueError if it is damaged."""
    n_bytes = file.seek(0, os.SEEK_END)
    file.seek(max(0, n_bytes - 8))
    tail = file.read(8)
    length = int.from_bytes(tail[:4], "little")
    if tail[4:] != _MAGIC or length > n_bytes - 8:
        raise ValueError("no foot of Parquet")
    file.seek(n_bytes - 8 - length)
    try:
        foot, _ = read_struct(file.read(length))
        return [[_chunk(column) for column in group[1]] for group in foot[4]]
    except (LookupError, TypeError, AttributeError) as error:
        raise ValueError("a damaged foot of Parquet") from error


def _chunk(column: Struct) -> Chunk:
    told = column[3]
    start, dictionary = _size(told[9]), _size(told.get(11, 0))
    if 0 < dictionary < start:
        start = dictionary
    path = told[3]
    return Chunk(
        path[0].decode(errors="replace"),
        start,
        _size(told[7]),
        _size(told[5]),
        _CODECS.get(told[4], _UNKNOWN),
        is_nested=len(path) > 1,
        is_of_strings=told[1] == _BYTE_ARRAY,
    )


def _size(value: object) -> int:
    if type(value) is not int or not 0 <= value <= _LARGEST:
        raise ValueError(f"a damaged head or foot of Parquet: the size {value!r}")
    return value


def pages(file: IO[bytes], chunk: Chunk) -> Iterator[Page]:
    """The pages of a chunk; ValueError where there is none."""
    place, end = chunk.start, chunk.start + chunk.n_packed
    while place < end and chunk.n_values:
        page = _page_at(file, place)
        yield page
        place += page.n_head + page.n_packed


def _page_at(file: IO[bytes], place: int) -> Page:
    for n_bytes in _HEAD_BYTES:
        file.seek(place)
        data = file.read(n_bytes)
        try:
            told, n_head = read_struct(data)
            sizes = place + n_head, n_head, _size(told[3]), _size(told[2])
        except LookupError:
            continue
        heads = (told.get(5), 2), (told.get(8), 4)  # of pages, old and new, with their encoding
        encodings = [head.get(field) for head, field in heads if isinstance(head, dict)]
        return Page(*sizes, 7 in told, _DELTA_BYTE_ARRAY in encodings)
    raise ValueError(f"no page of Parquet at byte {place:,}")
