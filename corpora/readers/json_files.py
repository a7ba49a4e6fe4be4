"""JSON as programs write it: an array of objects, or objects one after the other, over lines."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sparsetopics.base.errors import SourceError
from sparsetopics.base.wording import excerpt
from sparsetopics.corpora.readers.jsonl import decode
from sparsetopics.corpora.readers.text_files import line_reader
from sparsetopics.corpora.sources.byte_stream import LineBlock, Place, check_length, line_blocks
from sparsetopics.corpora.sources.encodings import Decoding

# Strings, which may hold braces, and braces. A string that is cut off ends where the data do.
_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)|[{}]', re.DOTALL)
_LONGEST_SHOWN = 40  # characters
# What may stand before the first object, and what is expected after it.
_EXPECTED = {b"": "an object", b"[": "a comma and an object, or the end of the array"}


def object_blocks(path: Place, decoding: Decoding | None) -> Iterator[LineBlock]:
    """The objects of a file that are in no other as lines of JSON, in which ``\\r`` stands for the
    breaks of lines; SourceError for anything else beside them."""
    rest, line, n_objects = b"", 1, 0
    layout: bytes | None = None  # what stands before the first object
    for block in line_blocks(path, decoding, end=b"}"):
        data, objects, end = rest + block.data, [], 0
        for start, stop in _objects(data):
            between = data[end:start].strip()
            if layout is None and between in _EXPECTED:
                layout = between
            elif between != (b"," if layout else layout):
                raise _unexpected(data[end:], path, line + data.count(b"\n", 0, end), layout)
            one_line = data[start:stop].replace(b"\r\n", b"\r").replace(b"\n", b"\r")
            objects.append(one_line + b"\n")
            end = stop
        rest = data[end:]
        line += data.count(b"\n", 0, end)
        check_length(len(rest), path, "object")
        if objects:
            yield LineBlock(str(path), n_objects + 1, b"".join(objects), "object")
        n_objects += len(objects)
    if b"".join(rest.split()) not in ((b"", b"[]") if layout is None else (layout and b"]",)):
        raise _unexpected(rest, path, line, layout, at_end=True)


def _objects(data: bytes) -> Iterator[tuple[int, int]]:
    """Where each object that is in no other begins and ends."""
    depth = start = 0
    for token in _TOKEN.finditer(data):
        if token[0] == b"{":
            start = start if depth else token.start()
            depth += 1
        elif token[0] == b"}" and depth:
            depth -= 1
            if not depth:
                yield start, token.end()


def _unexpected(
    found: bytes, path: Place, line: int, layout: bytes | None, *, at_end: bool = False
) -> SourceError:
    """The error for what was ``found`` after the last object, from ``line`` on."""
    is_open = at_end and b"{" in found
    start = found.index(b"{" if is_open else found.strip()[:1])
    where = "{}, line {}".format(path, line + found.count(b"\n", 0, start))
    found = found.strip()
    if is_open or (at_end and layout != b"" and not found.strip(b"[,")):
        problem = f"the file ends before {'an object' if is_open else 'the array'} is closed"
        return SourceError(where, problem, "Copy or download it again.")
    expected = "an object or an array of objects" if layout is None else _EXPECTED[layout]
    shown = excerpt(found.decode(errors="replace"), _LONGEST_SHOWN)
    return SourceError(where, f"expected {expected}, but found {shown!r}")


read_json = line_reader(decode, object_blocks)
