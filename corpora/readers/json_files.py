"""JSON as programs write it: an array of objects, or objects one after the other, over lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
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


def read_json(file: SourceFile, options: ReadOptions) -> Iterator[PendingBlock]:
    """Read a JSON file; each object that is in no other is a document, as in JSON lines."""
    blocks = object_blocks(file.path, options.decoding)
    return (partial(decode, block, options) for block in blocks)


def object_blocks(path: Place, decoding: Decoding | None) -> Iterator[LineBlock]:
    """The objects of a file as lines of JSON; SourceError for anything else beside them."""
    rest, outside, n_objects = b"", b"", 0
    for block in line_blocks(path, decoding, end=b"}"):
        objects, between, rest = _cut(rest + block.data)
        outside += between
        if outside.strip(b"[,"):
            raise _unexpected(outside.lstrip(b"[,"), f"{path}, object {n_objects + 1} or later")
        if len(rest) > LONGEST_TEXT:
            raise too_long(path, "object")
        if objects:
            lines = b"\n".join([*objects, b""])
            yield LineBlock(str(path), n_objects + 1, lines, "object")
        n_objects += len(objects)
    outside += _squeezed(rest)
    if outside not in (b"", b"[" + b"," * (n_objects - 1) + b"]"):
        raise _unexpected(outside.lstrip(b"[,"), f"{path}, after object {n_objects}")


def _cut(data: bytes) -> tuple[list[bytes], bytes, bytes]:
    """The objects, each as a line; what stands before them; and what follows the last."""
    objects, between = [], []
    depth = start = end = 0
    for token in _TOKEN.finditer(data):
        if token[0] == b"{":
            start = start if depth else token.start()
            depth += 1
        elif token[0] == b"}" and depth:
            depth -= 1
            if not depth:
                between.append(data[end:start])
                end = token.end()
                objects.append(data[start:end].translate(_TO_ONE_LINE))
    return objects, _squeezed(b"".join(between)), data[end:]


def _squeezed(data: bytes) -> bytes:
    return b"".join(data.split())


def _unexpected(found: bytes, where: str) -> SourceError:
    start = found[:_LONGEST_SHOWN].decode(errors="replace")
    problem = f"expected objects, or an array of them that is closed, but found {start!r}"
    return SourceError(where, problem)
