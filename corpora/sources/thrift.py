"""Structs of Thrift's compact protocol, in which Parquet tells of itself, read with suspicion.

https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
"""

from __future__ import annotations

from typing import Any

Struct = dict[int, Any]  # values by the numbers of their fields

_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 12  # kinds
_WHOLE = (4, 5, 6)
_DEEPEST = 12
_MANY = 15  # values of a list, whose number follows


def read_struct(data: bytes, place: int = 0, depth: int = 0) -> tuple[Struct, int]:
    """The struct that begins at ``place``, and where it ends.

    Raises IndexError where the data end, ValueError for what is no struct.
    """
    if depth > _DEEPEST:
        raise ValueError("structs that are nested too deeply")
    fields: Struct = {}
    number = 0
    while head := data[place]:
        place += 1
        if head >> 4:
            number += head >> 4
        else:
            coded, place = _varint(data, place)
            number = _signed(coded)
        kind = head & 15
        if kind in (_TRUE, _FALSE):  # which need no value
            fields[number] = kind == _TRUE
        else:
            fields[number], place = _value(data, place, kind, depth)
    return fields, place + 1


def _value(data: bytes, place: int, kind: int, depth: int) -> tuple[Any, int]:
    if kind in _WHOLE:
        coded, place = _varint(data, place)
        return _signed(coded), place
    if kind == _BINARY:
        length, place = _varint(data, place)
        if place + length > len(data):
            raise IndexError
        return data[place : place + length], place + length
    if kind == _STRUCT:
        return read_struct(data, place, depth + 1)
    if kind in (_LIST, _SET):
        return _values(data, place, depth + 1)
    if kind in (_TRUE, _FALSE, _BYTE):
        return data[place], place + 1
    if kind == _DOUBLE:
        return None, place + 8
    raise ValueError(f"a value of kind {kind}")


def _values(data: bytes, place: int, depth: int) -> tuple[list[Any], int]:
    if depth > _DEEPEST:
        raise ValueError("lists that are nested too deeply")
    n_values, kind = data[place] >> 4, data[place] & 15
    place += 1
    if n_values == _MANY:
        n_values, place = _varint(data, place)
    values = []
    for _ in range(n_values):  # of a byte at least, so that it ends with the data
        value, place = _value(data, place, kind, depth)
        values.append(value)
    return values, place


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
            raise ValueError("a number of more than 64 bits")


def _signed(coded: int) -> int:
    return (coded >> 1) ^ -(coded & 1)
