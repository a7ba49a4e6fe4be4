"""Readers as someone would add them: texts between bars, and rows of digits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
import pyarrow as pa

from sparsetopics.corpora.readers.blocks import (
    PendingBlock,
    PendingVectors,
    TextBlock,
    VectorBlock,
    vector_block,
)
from sparsetopics.corpora.readers.options import ReadOptions, VectorReadOptions
from sparsetopics.corpora.sources.byte_stream import SourceFile, read_utf8
from sparsetopics.corpora.sources.encodings import Decoding


def read_barred(files: Sequence[SourceFile], options: ReadOptions) -> Iterator[PendingBlock]:
    """Documents between bars; no ids and no labels."""
    for file in files:
        yield partial(_decode_barred, file, options.decoding)


def _decode_barred(file: SourceFile, decoding: Decoding) -> TextBlock:
    texts = read_utf8(file.path, decoding).strip().split("|")
    nothing = pa.nulls(len(texts), pa.string())
    return TextBlock(nothing, nothing, pa.array(texts, pa.string()))


def read_digits(
    files: Sequence[SourceFile], options: VectorReadOptions
) -> Iterator[PendingVectors]:
    """Each line an item, each digit a number; no ids and no labels."""
    for file in files:
        yield partial(_decode_digits, file)


def _decode_digits(file: SourceFile) -> VectorBlock:
    rows = np.array([[int(digit) for digit in line] for line in _lines(file)])
    nothing = pa.nulls(len(rows), pa.string())
    return vector_block(str(file.path), 0, rows, nothing, nothing)


def _lines(file: SourceFile) -> list[str]:
    return read_utf8(file.path, None).split()
