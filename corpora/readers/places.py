"""Where documents lie in their files, for messages: the files are read again to find out."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator
from itertools import chain

from sparsetopics.corpora.readers.blocks import PendingBlock
from sparsetopics.corpora.readers.options import ReadOptions, delimiter_of
from sparsetopics.corpora.sources.byte_stream import SourceFile, line_blocks

#: The places of the documents of a file, in their order.
Places = Callable[[SourceFile, ReadOptions], Iterator[str]]


def rows(
    read: Callable[[list[SourceFile], ReadOptions], Iterator[PendingBlock]],
    file: SourceFile,
    options: ReadOptions,
) -> Iterator[str]:
    """Each row that is read is one document."""
    sizes = (len(pending().ids) for pending in read([file], options))
    return (f"{file.path}, row {n}" for n, _ in enumerate(chain.from_iterable(map(range, sizes))))


def files(file: SourceFile, options: ReadOptions) -> Iterator[str]:
    """Each file is one document."""
    yield str(file.path)


def lines(file: SourceFile, options: ReadOptions, *, blank: bool = True) -> Iterator[str]:
    """Each line is one document, or each that is not ``blank``."""
    for block in line_blocks(file.path, options.decoding):
        for number, line in enumerate(block.data.split(b"\n")[:-1], start=block.first_line):
            if blank or line.strip():
                yield f"{block.source}, line {number}"


def records(file: SourceFile, options: ReadOptions) -> Iterator[str]:
    """Each record after the header is one document; its place is its first line."""
    blocks = line_blocks(file.path, options.decoding)
    texts = (io.StringIO(block.data.decode(), newline="") for block in blocks)
    reader = csv.reader(chain.from_iterable(texts), delimiter=delimiter_of(file.path), strict=True)
    next(reader)
    start = reader.line_num
    for record in reader:
        if record:
            yield f"{file.path}, line {start + 1}"
        start = reader.line_num
