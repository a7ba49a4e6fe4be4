"""Unpacked size of an Arrow IPC file, checked first because Arrow trusts what messages claim.

A message is a head, which is a flatbuffer, and a body of buffers. A packed buffer begins with its
unpacked size. The numbers of fields are those of Message.fbs and File.fbs in
https://github.com/apache/arrow/tree/main/format.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from typing import IO, NamedTuple

from sparsetopics.base.soundness import require
from sparsetopics.corpora.sources.parquet_sizes import check_ratio

MAGIC = b"ARROW1"
_CONTINUATION = b"\xff\xff\xff\xff"
_BLOCK, _BUFFER = "<qi4xq", "<qq"
_DICTIONARY, _RECORDS = 2, 3  # types of messages


class Message(NamedTuple):
    """A message and its place in the file."""

    head: FlatTable
    n_head: int  # bytes
    body: int  # its place in the file

    @property
    def n_packed(self) -> int:
        """Bytes of the body."""
        return _checked(self.head.number(3, "<q"))

    @property
    def is_dictionary(self) -> bool:
        return self.head.number(1, "<B") == _DICTIONARY


class FlatTable(NamedTuple):
    """A table of a flatbuffer; ValueError if it points outside its bytes.

    A table begins with the distance back to its list of offsets, which begins with its own length.
    """

    data: bytes
    place: int  # in the data

    @classmethod
    def root(cls, data: bytes) -> FlatTable:
        """The table that a flatbuffer begins with."""
        return cls(data, _unpacked("<I", data, 0))

    def number(self, field: int, form: str) -> int:
        """A number; 0 if the field is missing."""
        place = self._place_of(field)
        return 0 if place is None else _unpacked(form, self.data, place)

    def table(self, field: int) -> FlatTable | None:
        place = self._place_of(field)
        if place is None:
            return None
        return FlatTable(self.data, place + _unpacked("<I", self.data, place))

    def structs(self, field: int, form: str) -> list[tuple[int, ...]]:
        """A vector of structs; empty if the field is missing."""
        place = self._place_of(field)
        if place is None:
            return []
        place += _unpacked("<I", self.data, place)
        n_bytes = _unpacked("<I", self.data, place) * struct.calcsize(form)
        _require(place + 4 + n_bytes <= len(self.data), "a vector runs past the end")
        return list(struct.iter_unpack(form, self.data[place + 4 : place + 4 + n_bytes]))

    def _place_of(self, field: int) -> int | None:
        places = self.place - _unpacked("<i", self.data, self.place)
        entry = 4 + 2 * field
        if entry + 2 > _unpacked("<H", self.data, places):
            return None
        offset = _unpacked("<H", self.data, places + entry)
        return self.place + offset if offset else None


def check_ipc_sizes(file: IO[bytes]) -> None:
    """ValueError if a record batch, or all dictionaries together, unpack to too much."""
    n_bytes = file.seek(0, os.SEEK_END)
    n_seen = n_dictionaries = n_dictionaries_packed = 0
    for message in messages(file):
        n_seen += message.n_head + message.n_packed
        require(n_seen <= n_bytes, "messages share their data, or the file is cut off")
        n_own = n_unpacked(file, message)
        check_ratio(n_own, message.n_packed)
        if message.is_dictionary:
            n_dictionaries += n_own
            n_dictionaries_packed += message.n_packed
            check_ratio(n_dictionaries, n_dictionaries_packed)


def is_ipc_file(file: IO[bytes]) -> bool:
    """Whether this is a file, whose footer lists all messages, and not a stream."""
    file.seek(0)
    return file.read(len(MAGIC)) == MAGIC


def messages(file: IO[bytes]) -> Iterator[Message]:
    """All messages of a stream, or of a file as its footer lists them; ValueError for damage."""
    if not is_ipc_file(file):
        start = 0
        while (message := _message_at(file, start)) is not None:
            yield message
            start = message.body + message.n_packed
        return
    n_bytes = file.seek(0, os.SEEK_END)
    tail_bytes = 4 + len(MAGIC)
    file.seek(max(0, n_bytes - tail_bytes))
    n_foot = int.from_bytes(file.read(4), "little")
    has_foot = file.read(len(MAGIC)) == MAGIC and n_foot <= n_bytes - tail_bytes
    _require(has_foot, "there is no footer")
    file.seek(n_bytes - tail_bytes - n_foot)
    foot = FlatTable.root(file.read(n_foot))
    for place, n_head, _ in (*foot.structs(2, _BLOCK), *foot.structs(3, _BLOCK)):
        message = _message_at(file, _checked(place))
        if message is None:
            raise ValueError("damaged Arrow IPC data: there is no message where the footer says")
        yield message._replace(body=place + _checked(n_head))


def _message_at(file: IO[bytes], place: int) -> Message | None:
    """The message that begins at ``place``; None at the end of a stream."""
    file.seek(place)
    length = file.read(4)
    if length == _CONTINUATION:  # missing in old files
        length = file.read(4)
    n_head = int.from_bytes(length, "little")
    if n_head == 0:
        return None
    start = file.tell()
    body = start + n_head
    _require(body <= file.seek(0, os.SEEK_END), "a message is cut off")
    file.seek(start)
    return Message(FlatTable.root(file.read(n_head)), body - place, body)


def n_unpacked(file: IO[bytes], message: Message) -> int:
    """Bytes that a message makes Arrow allocate; 0 if its buffers are not packed."""
    records = message.head.table(2)
    if message.is_dictionary and records is not None:
        records = records.table(1)
    elif message.head.number(1, "<B") != _RECORDS:
        return 0
    if records is None or records.table(3) is None:
        return 0
    n_bytes = 0
    for offset, length in records.structs(2, _BUFFER):
        if length:
            file.seek(message.body + _checked(offset))
            claimed = int.from_bytes(file.read(8), "little", signed=True)
            n_bytes += _checked(length if claimed == -1 else claimed)  # -1: not packed
    return n_bytes


def _unpacked(form: str, data: bytes, place: int) -> int:
    _require(place >= 0, "an offset points before the beginning")
    _require(place + struct.calcsize(form) <= len(data), "an offset points past the end")
    return int(struct.unpack_from(form, data, place)[0])


def _checked(size: int) -> int:
    _require(0 <= size <= 1 << 60, f"a size is {size}")
    return size


def _require(is_sound: bool, problem: str) -> None:
    require(is_sound, f"damaged Arrow IPC data: {problem}")
