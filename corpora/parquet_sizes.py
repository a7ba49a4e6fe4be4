"""How much a Parquet file unpacks to, asked of every page before any is: Arrow believes its head.

A page begins with a struct of Thrift's compact protocol, in which fields 2 and 3 are its size
unpacked and packed (https://parquet.apache.org/docs/file-format/data-pages/).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, Any, NamedTuple

MOST_UNPACKED = 1 << 28  # bytes of a row group, whatever it has on disk
LARGEST_RATIO = 250  # of unpacked to packed bytes beyond that
_BYTES_OF_VALUE = 8
_HEAD_BYTES = (1 << 8, 1 << 16, 1 << 24)  # to read for a head; statistics may make it long
_UNPACKED, _PACKED, _DICTIONARY = 2, 3, 7  # fields of the struct
_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 12  # kinds
_VARINTS = (4, 5, 6)
_DEEPEST = 8


class Page(NamedTuple):
    """What the head of a page says."""

    n_unpacked: int
    n_packed: int
    is_dictionary: bool


def check_sizes(file: IO[bytes], metadata: Any) -> int:
    """ValueError if a row group unpacks to too much; the size of the largest dictionary, bytes.

    ``file`` is the Parquet file, ``metadata`` pyarrow's of it.
    """
    largest_dictionary = 0
    for index in range(metadata.num_row_groups):
        group = metadata.row_group(index)
        n_unpacked = n_packed = 0
        for number in range(group.num_columns):
            column = group.column(number)
            for page in _pages(file, column):
                n_unpacked += page.n_unpacked
                n_packed += page.n_packed
                if page.is_dictionary:
                    largest_dictionary = max(largest_dictionary, page.n_unpacked)
            if metadata.schema.column(number).max_repetition_level:  # lists, as long as they say
                n_unpacked += _BYTES_OF_VALUE * column.num_values
        if n_unpacked > max(MOST_UNPACKED, LARGEST_RATIO * n_packed):
            raise ValueError(f"{n_packed:,} bytes that unpack to {n_unpacked:,} or more")
    return largest_dictionary


def _pages(file: IO[bytes], column: Any) -> Iterator[Page]:
    if not column.num_values:
        return
    place = column.data_page_offset
    if column.has_dictionary_page and 0 < column.dictionary_page_offset < place:
        place = column.dictionary_page_offset
    end = place + column.total_compressed_size
    while place < end:
        page, length = _page_at(file, place)
        yield page
        place += length + page.n_packed


def _page_at(file: IO[bytes], place: int) -> tuple[Page, int]:
    """The page whose head begins there, and how long that is."""
    for n_bytes in _HEAD_BYTES:
        if place < 0:
            break
        file.seek(place)
        data = file.read(n_bytes)
        try:
            fields, length = _struct(data, 0, 0)
        except IndexError:
            if len(data) < n_bytes:
                break
            continue
        n_unpacked, n_packed = fields.get(_UNPACKED, -1), fields.get(_PACKED, -1)
        if min(n_unpacked, n_packed) < 0:
            break
        return Page(n_unpacked, n_packed, _DICTIONARY in fields), length
    raise ValueError(f"no page of Parquet at byte {place:,}")


def _struct(data: bytes, place: int, depth: int) -> tuple[dict[int, int], int]:
    """Whole numbers of a struct by their fields, 0 for others, and where it ends.

    Raises IndexError where the data end, ValueError for what is no struct.
    """
    fields: dict[int, int] = {}
    number = 0
    while head := data[place]:
        place += 1
        if head >> 4:
            number += head >> 4
        else:
            coded, place = _varint(data, place)
            number = _signed(coded)
        kind, fields[number] = head & 15, 0
        if kind in _VARINTS:
            coded, place = _varint(data, place)
            fields[number] = _signed(coded)
        elif kind not in (_TRUE, _FALSE):  # whose value is their kind
            place = _after(data, place, kind, depth)
    return fields, place + 1


def _after(data: bytes, place: int, kind: int, depth: int) -> int:
    """Where a value of ``kind`` ends."""
    if depth > _DEEPEST:
        raise ValueError("a head of a page that is nested too deeply")
    if kind in (_TRUE, _FALSE, _BYTE):
        return place + 1
    if kind in _VARINTS:
        return _varint(data, place)[1]
    if kind == _DOUBLE:
        return place + 8
    if kind == _BINARY:
        length, place = _varint(data, place)
        return place + length
    if kind in (_LIST, _SET):
        n_values, place = data[place] >> 4, place + 1
        inner = data[place - 1] & 15
        if n_values == 15:
            n_values, place = _varint(data, place)
        for _ in range(n_values):
            place = _after(data, place, inner, depth + 1)
            if place > len(data):
                raise IndexError
        return place
    if kind == _STRUCT:
        return _struct(data, place, depth + 1)[1]
    raise ValueError(f"a head of a page with a value of kind {kind}")


def _varint(data: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[place]
        place += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, place
        shift += 7
        if shift > 63:
            raise ValueError("a head of a page with a number of more than 64 bits")


def _signed(coded: int) -> int:
    return (coded >> 1) ^ -(coded & 1)
