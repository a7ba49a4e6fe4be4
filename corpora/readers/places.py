"""Where documents are in their files, for messages: the files are read again to find out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain, islice

from sparsetopics.corpora.readers.blocks import PendingBlock
from sparsetopics.corpora.readers.csv_files import placed_records
from sparsetopics.corpora.readers.options import ReadOptions
from sparsetopics.corpora.sources.byte_stream import LineBlock, Place, SourceFile, line_blocks
from sparsetopics.corpora.sources.encodings import Decoding

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


def lines(
    file: SourceFile,
    options: ReadOptions,
    *,
    blank: bool = True,
    blocks: Callable[[Place, Decoding], Iterator[LineBlock]] = line_blocks,
) -> Iterator[str]:
    """Each line is one document; without ``blank``, only lines that are not blank."""
    for block in blocks(file.path, options.decoding):
        for number, line in enumerate(block.data.split(b"\n")[:-1], start=block.first_line):
            if blank or line.strip():
                yield f"{block.source}, {block.noun} {number}"


def records(file: SourceFile, options: ReadOptions) -> Iterator[str]:
    """Each record after the header is one document; its place is its first line."""
    rows = placed_records(file.path, options)
    own = rows if options.header else islice(rows, 1, None)
    return (f"{file.path}, line {line}" for _, line in own)
