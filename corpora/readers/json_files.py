"""JSON as programs write it: an array of objects, or objects one after the other, over lines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial

from sparsetopics.base.errors import SourceError
from sparsetopics.corpora.readers.blocks import PendingBlock
from sparsetopics.corpora.readers.jsonl import decode
from sparsetopics.corpora.readers.options import ReadOptions
from sparsetopics.corpora.sources.byte_stream import (
    LONGEST_TEXT,
    LineBlock,
    Place,
    SourceFile,
    line_blocks,
    too_long,
)
from sparsetopics.corpora.sources.encodings import Decoding

# Strings, which may hold braces, and braces. A string that is cut off ends where the data do.
_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)|[{}]', re.DOTALL)
_LONGEST_SHOWN = 40  # bytes
_TO_ONE_LINE = bytes.maketrans(b"\r\n", b"  ")  # strings have no line breaks but escaped ones


def read_json(files: Sequence[SourceFile], options: ReadOptions) -> Iterator[PendingBlock]:
    """Read JSON files; each object that is in no other is a document, as in JSON lines."""
    for file in files:
        for block in object_blocks(file.path, options.decoding):
            yield partial(decode, block, options)


def object_blocks(path: Place, decoding: Decoding | None) -> Iterator[LineBlock]:
    """The objects of a file as lines of JSON; SourceError for anything else beside them."""
    rest, n_objects = b"", 0
    wanted: tuple[bytes, ...] = (b"", b"[")  # what may stand before an object
    last: tuple[bytes, ...] = (b"", b"[]")  # and at the end
    for block in line_blocks(path, decoding, end=b"}"):
        objects, gaps, rest = _cut(rest + block.data)
        for number, gap in enumerate(gaps, n_objects + 1):
            if gap not in wanted:
                expected = "nothing but commas between the objects of an array"
                raise _unexpected(path, number, expected, gap)
            if number == 1:
                wanted, last = ((b",",), (b"]",)) if gap else ((b"",), (b"",))
        if objects:
            lines = b"\n".join([*objects, b""])
            yield LineBlock(str(path), n_objects + 1, lines, "object")
        n_objects += len(objects)
        if len(rest) > LONGEST_TEXT:
            raise too_long(path, "object")
    if _squeezed(rest) not in last:
        expected = "a closed array" if last == (b"]",) else "an object, or an array of objects,"
        raise _unexpected(path, n_objects + 1, f"{expected} at the end of the file", rest)


def _cut(data: bytes) -> tuple[list[bytes], list[bytes], bytes]:
    """The objects, each as a line; what stands before each; and what follows the last."""
    objects, gaps = [], []
    depth = start = end = 0
    for token in _TOKEN.finditer(data):
        if token[0] == b"{":
            start = start if depth else token.start()
            depth += 1
        elif token[0] == b"}" and depth:
            depth -= 1
            if not depth:
                gaps.append(_squeezed(data[end:start]))
                end = token.end()
                objects.append(data[start:end].translate(_TO_ONE_LINE))
    return objects, gaps, data[end:]


def _squeezed(data: bytes) -> bytes:
    return b"".join(data.split())


def _unexpected(path: Place, number: int, expected: str, found: bytes) -> SourceError:
    start = found.strip()[:_LONGEST_SHOWN].decode(errors="replace")
    problem = f"expected {expected}, but found {start!r}"
    return SourceError(f"{path}, object {number}", problem)
