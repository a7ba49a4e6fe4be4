"""How much a Parquet file unpacks to, asked of all pages first: Arrow believes what they say.

The numbers of fields are those of https://github.com/apache/parquet-format. pyarrow's own view of
them is not used: it ends the process when a file's statistics do not fit its schema.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import IO, NamedTuple

from sparsetopics.corpora.thrift import Struct, read_struct

MOST_UNPACKED = 1 << 28  # bytes of a row group, whatever it has on disk
LARGEST_RATIO = 250  # of unpacked to packed bytes beyond that
_MAGIC = b"PAR1"
_BYTES_OF_VALUE = 8
_LARGEST = 1 << 60  # bytes
_HEAD_BYTES = (1 << 8, 1 << 16, 1 << 24)  # to read for a head; statistics may make it long


class Chunk(NamedTuple):
    """A column of a row group."""

    start: int  # of its first page, in the file
    n_packed: int  # bytes
    n_values: int
    is_nested: bool


class Page(NamedTuple):
    """What the head of a page says."""

    n_head: int  # bytes of it
    n_packed: int  # bytes after it
    n_unpacked: int
    is_dictionary: bool


def check_sizes(file: IO[bytes]) -> int:
    """ValueError if a row group unpacks to too much; the size of the largest dictionary, bytes."""
    n_bytes = file.seek(0, os.SEEK_END)
    n_seen = largest_dictionary = 0
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
                if page.is_dictionary:
                    largest_dictionary = max(largest_dictionary, page.n_unpacked)
        if n_unpacked > max(MOST_UNPACKED, LARGEST_RATIO * n_packed):
            raise ValueError(f"{n_packed:,} bytes that unpack to {n_unpacked:,} or more")
    return largest_dictionary


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
    return Chunk(start, _size(told[7]), _size(told[5]), is_nested=len(told[3]) > 1)


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
            return Page(n_head, _size(told[3]), _size(told[2]), is_dictionary=7 in told)
        except LookupError:
            continue
    raise ValueError(f"no page of Parquet at byte {place:,}")
