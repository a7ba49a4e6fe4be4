"""Unpacked size of a Parquet file, taken from all its pages before Arrow trusts what they claim.

A file describes itself in structs of Thrift's compact protocol, which are read here with suspicion:
https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md. The numbers of
their fields are those of https://github.com/apache/parquet-format. pyarrow's own view of them is
not used: it ends the process when the statistics of a file do not fit its schema.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Iterator
from typing import IO, NamedTuple, TypeAlias, TypeVar

import pyarrow as pa

from sparsetopics.base.soundness import require

MOST_UNPACKED = 1 << 28  # bytes of a row group, whatever its size on disk
LARGEST_RATIO = 250  # of unpacked to packed bytes beyond that
_MAGIC = b"PAR1"
_BYTES_OF_VALUE = 8
_LARGEST = 1 << 60  # bytes
_HEAD_BYTES = (1 << 8, 1 << 16, 1 << 24)  # to read for a page header, which statistics make long


_CODECS = {0: None, 1: "snappy", 2: "gzip", 4: "brotli", 6: "zstd", 7: "lz4_raw"}
_UNKNOWN = "unknown"
_BYTE_ARRAY = 6  # a type: strings
_DELTA_BYTE_ARRAY = 7  # an encoding: each string omits the prefix it shares with the one before

# The kinds of Thrift's values.
_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 12
_WHOLE = (4, 5, 6)
_DEEPEST = 12
_MANY = 15  # in place of the length of a list; the true length follows

Value: TypeAlias = "bool | int | bytes | list[Value] | Struct | None"
Kind = TypeVar("Kind", bool, int, bytes, "list[Value]", "Struct")


class Struct(dict[int, Value]):
    """A struct: values by the numbers of their fields."""

    def get_as(self, field: int, kind: type[Kind]) -> Kind:
        """A field that must be of this kind; ValueError if it is not."""
        value = self.get(field)
        if type(value) is not kind:
            raise ValueError(f"damaged Parquet metadata: field {field} is {value!r:.40}")
        return value

    def size(self, field: int) -> int:
        """A field that counts bytes or values; ValueError for anything else."""
        value = self.get_as(field, int)
        require(0 <= value <= _LARGEST, f"damaged Parquet metadata: a size is {value!r}")
        return value


def _read_struct(data: IO[bytes], depth: int = 0) -> Struct:
    """The struct that begins here; IndexError where the data end, ValueError if it is none."""
    fields, number = Struct(), 0
    while head := _byte(data):
        # The distance to the number of the previous field, or the number itself.
        number = number + (head >> 4) if head >> 4 else _signed(_varint(data))
        kind = head & 15
        if kind in (_TRUE, _FALSE):  # the kind is the value
            fields[number] = kind == _TRUE
        else:
            fields[number] = _value(data, kind, depth)
    return fields


def _value(data: IO[bytes], kind: int, depth: int) -> Value:
    require(depth <= _DEEPEST, "damaged Parquet metadata: values are nested too deeply")
    if kind in _WHOLE:
        return _signed(_varint(data))
    if kind == _BINARY:
        return _exactly(data, _varint(data))
    if kind == _STRUCT:
        return _read_struct(data, depth + 1)
    if kind in (_LIST, _SET):
        return _values(data, depth + 1)
    if kind in (_TRUE, _FALSE, _BYTE):
        return _byte(data)
    if kind == _DOUBLE:
        return _exactly(data, 8)
    raise ValueError(f"damaged Parquet metadata: a value is of unknown kind {kind}")


def _values(data: IO[bytes], depth: int) -> list[Value]:
    head = _byte(data)
    n_values = _varint(data) if head >> 4 == _MANY else head >> 4
    # Each takes a byte at least, so a false length ends with the data.
    return [_value(data, head & 15, depth) for _ in range(n_values)]


def _varint(data: IO[bytes]) -> int:
    """A number of seven bits a byte, the lowest first; the eighth bit says that more follow."""
    value = 0
    for shift in range(0, 64, 7):
        byte = _byte(data)
        value |= (byte & 127) << shift
        if byte < 128:
            return value
    raise ValueError("damaged Parquet metadata: a number has more than 64 bits")


def _byte(data: IO[bytes]) -> int:
    return data.read(1)[0]


def _exactly(data: IO[bytes], n_bytes: int) -> bytes:
    found = data.read(min(n_bytes, _LARGEST))
    if len(found) < n_bytes:
        raise IndexError
    return found


def _signed(coded: int) -> int:
    """Undo the zigzag code: 0, 1, 2, 3, 4 … stand for 0, -1, 1, -2, 2 …"""
    return (coded >> 1) ^ -(coded & 1)


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
    """What the header of a page says."""

    place: int  # in the file, of the data after the header
    n_head: int  # bytes of the header
    n_packed: int  # bytes after it
    n_unpacked: int
    is_dictionary: bool
    is_incremental: bool  # strings that omit a shared prefix
    codec: str | None  # as that of its chunk


def check_sizes(file: IO[bytes], most: int | None = None) -> dict[str, list[Page]]:
    """The pages of each column whose strings are stored once but may occur in many rows.

    Raises ValueError if a row group unpacks to too much, as ``check_ratio`` says.
    """
    n_bytes = file.seek(0, os.SEEK_END)
    n_seen = 0
    shared: dict[str, list[Page]] = {}
    for group in row_groups(file):
        n_unpacked = n_packed = 0
        for chunk in group:
            if chunk.is_nested:  # a list may claim any length in a few bytes
                n_unpacked += _BYTES_OF_VALUE * chunk.n_values
            for page in pages(file, chunk):
                n_unpacked += page.n_unpacked
                n_packed += page.n_packed
                n_seen += page.n_head + page.n_packed
                require(n_seen <= n_bytes, "pages share their data")
                if chunk.is_of_strings and (page.is_dictionary or page.is_incremental):
                    shared.setdefault(chunk.name, []).append(page)
        check_ratio(n_unpacked, n_packed, most)
    return shared


def longest_shared(file: IO[bytes], pages: Iterable[Page]) -> int:
    """An upper bound on the bytes of a string that rows may share; ValueError for damaged pages."""
    longest = 0
    for page in pages:
        if page.n_unpacked <= longest:
            continue
        if page.is_incremental or page.codec == _UNKNOWN:
            longest = page.n_unpacked
        else:
            longest = max(longest, _longest_of(_page_bytes(file, page)))
    return longest


def _page_bytes(file: IO[bytes], page: Page) -> bytes:
    file.seek(page.place)
    data = file.read(page.n_packed)
    if page.codec is None:
        return data
    try:
        unpacked: bytes = pa.decompress(data, page.n_unpacked, page.codec, asbytes=True)
    except (OSError, pa.ArrowException) as error:
        raise ValueError("a Parquet dictionary is damaged") from error
    return unpacked


def _longest_of(dictionary: bytes) -> int:
    """The length of the longest string; each is preceded by its length in four bytes."""
    longest = place = 0
    while place <= len(dictionary) - 4:
        length = int.from_bytes(dictionary[place : place + 4], "little")
        longest = max(longest, length)
        place += 4 + length
    return min(longest, len(dictionary))


def check_ratio(n_unpacked: int, n_packed: float, most: int | None = None) -> None:
    """ValueError if so few bytes cannot plausibly unpack to so many, and these are more than
    ``most``, which is 256 MiB by default."""
    if n_unpacked > max(most or MOST_UNPACKED, LARGEST_RATIO * n_packed):
        raise ValueError(f"{n_packed:,} bytes unpack to {n_unpacked:,} or more")


def row_groups(file: IO[bytes]) -> list[list[Chunk]]:
    """The chunks of all row groups, from the footer of the file; ValueError if it is damaged."""
    n_bytes = file.seek(0, os.SEEK_END)
    file.seek(max(0, n_bytes - 8))
    tail = file.read(8)
    length = int.from_bytes(tail[:4], "little")
    require(tail[4:] == _MAGIC and length <= n_bytes - 8, "there is no Parquet footer")
    file.seek(n_bytes - 8 - length)
    try:
        footer = _read_struct(io.BytesIO(file.read(length)))
    except LookupError as error:
        raise ValueError("the Parquet footer is damaged") from error
    return [
        [_chunk(column) for column in _structs(group.get_as(1, list))]
        for group in _structs(footer.get_as(4, list))
    ]


def _structs(values: list[Value]) -> Iterator[Struct]:
    """ValueError for a value that is no struct."""
    for value in values:
        if not isinstance(value, Struct):
            raise ValueError(f"damaged Parquet metadata: a list holds {value!r:.40}")
        yield value


def _chunk(column: Struct) -> Chunk:
    facts = column.get_as(3, Struct)
    start = facts.size(9)
    dictionary = facts.size(11) if 11 in facts else 0
    if 0 < dictionary < start:
        start = dictionary
    path = facts.get_as(3, list)
    if not path or not isinstance(path[0], bytes):
        raise ValueError("damaged Parquet metadata: a column has no name")
    return Chunk(
        path[0].decode(errors="replace"),
        start,
        facts.size(7),
        facts.size(5),
        _CODECS.get(facts.get_as(4, int), _UNKNOWN),
        is_nested=len(path) > 1,
        is_of_strings=facts.get_as(1, int) == _BYTE_ARRAY,
    )


def pages(file: IO[bytes], chunk: Chunk) -> Iterator[Page]:
    """The pages of a chunk; ValueError where there is none."""
    place, end = chunk.start, chunk.start + chunk.n_packed
    while place < end and chunk.n_values:
        page = _page_at(file, place, chunk.codec)
        yield page
        place += page.n_head + page.n_packed


def _page_at(file: IO[bytes], place: int, codec: str | None) -> Page:
    for n_bytes in _HEAD_BYTES:
        file.seek(place)
        data = io.BytesIO(file.read(n_bytes))
        try:
            facts = _read_struct(data)
        except LookupError:  # the header is longer
            continue
        n_packed, n_unpacked = facts.size(3), facts.size(2)
        heads = (facts.get(5), 2), (facts.get(8), 4)  # pages of both versions, with their encoding
        encodings = [head.get(field) for head, field in heads if isinstance(head, Struct)]
        kind = 7 in facts, _DELTA_BYTE_ARRAY in encodings
        n_head = data.tell()
        return Page(place + n_head, n_head, n_packed, n_unpacked, *kind, codec)
    raise ValueError(f"there is no Parquet page at byte {place:,}")
