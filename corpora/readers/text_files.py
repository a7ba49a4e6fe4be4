"""Plain text: one file per document, or one line per document."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import pyarrow as pa

from sparsetopics.corpora.readers.blocks import PendingBlock, TextBlock
from sparsetopics.corpora.sources.byte_stream import (
    BLOCK_BYTES,
    LineBlock,
    line_blocks,
    read_utf8,
    reading,
)
from sparsetopics.corpora.sources.places import absolute, n_bytes_of
from sparsetopics.corpora.sources.sources import ReadOptions, SourceFile

_MOST_FILES = 4_096  # in one block


def read_text(files: Sequence[SourceFile], options: ReadOptions) -> Iterator[PendingBlock]:
    """Each file a document: its name is the id, the folder it lies in the label.

    Who decodes a block opens its files, since most of the time with many small ones goes there.
    """
    together: list[SourceFile] = []
    n_bytes = 0
    for file in files:
        together.append(file._replace(path=absolute(file.path)))
        with reading(file.path):
            n_bytes += n_bytes_of(file.path)
        if n_bytes >= BLOCK_BYTES or len(together) == _MOST_FILES:
            yield partial(_decode_files, together, options)
            together, n_bytes = [], 0
    if together:
        yield partial(_decode_files, together, options)


def _decode_files(files: list[SourceFile], options: ReadOptions) -> TextBlock:
    folders = [file.name.rpartition("/")[0] or None for file in files]
    return TextBlock(
        pa.array([file.name for file in files], pa.string()),
        pa.array(folders, pa.string()),
        pa.array([read_utf8(file.path, options.encoding_errors) for file in files], pa.string()),
    )


def read_lines(files: Sequence[SourceFile], options: ReadOptions) -> Iterator[PendingBlock]:
    """Each line a document, an empty line an empty one; no ids and no labels."""
    for file in files:
        for block in line_blocks(file.path, options.encoding_errors):
            yield partial(_decode_lines, block)


def _decode_lines(block: LineBlock) -> TextBlock:
    texts = pa.array(block.data.decode().split("\n")[:-1], pa.string())
    nothing = pa.nulls(len(texts), pa.string())
    return TextBlock(nothing, nothing, texts)
