"""Matrix Market files: counts of documents (also gensim's ``.mm``), or a matrix of any numbers.

The first line names layout and type, a line after the comments the sizes. The lines of a sparse
matrix ("coordinate") are ``row column number``, ids from 1; a dense one ("array") has a number on
each line, column by column. scipy's reader is not used: it ends the process when a file has not as
many numbers as its sizes say.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np

from sparsetopics.base.batches import FloatArray
from sparsetopics.base.errors import SourceError
from sparsetopics.base.wording import quantity
from sparsetopics.corpora.readers.counts import (
    Layout,
    Lines,
    bad_line,
    parse,
    read_triples,
    vocabulary_names,
)
from sparsetopics.corpora.sources.byte_stream import LineBlock, Place, SourceFile, line_blocks

_BANNER = re.compile(
    rb"%%MatrixMarket\s+matrix\s+(coordinate|array)\s+(integer|real|double|pattern)\s+general\s*",
    re.IGNORECASE,
)
_SIZES = re.compile(rb"\s*\d{1,18}(?:\s+\d{1,18}){1,2}\s*")
_BANNERS = "%%MatrixMarket matrix coordinate, integer or real or pattern, general"
_SIZES_EXPECTED = "numbers of rows, columns and entries after the comments"
_PAIRS_AT_ONCE = 1 << 20
MOST_ENTRIES = 2**26  # of a whole matrix, however few of them the file lists
_LARGEST_RATIO = 250  # of entries to bytes beyond that


class Head(NamedTuple):
    """The lines before the numbers."""

    layout: str  # "coordinate" or "array"
    field: str  # "integer", "real", "double" or "pattern"
    n_rows: int
    n_columns: int
    n_entries: int  # that are listed; of an array all
    line: int  # where the sizes stand


def read_matrix(path: Path) -> FloatArray:
    """The whole matrix, (n_rows, n_columns), with zeros where a sparse file lists no entry.

    Entries that are listed twice are added up. Raises ValueError for damaged numbers, SourceError
    for a damaged head and for a file that cannot be read or is not UTF-8.
    """
    with closing(line_blocks(path, None)) as blocks, warnings.catch_warnings():
        head, rest = _past_head(blocks, path)
        n_rows, n_columns = head.n_rows, head.n_columns
        n_bytes = path.stat().st_size
        is_sparse = head.layout == "coordinate"
        # Before memory is allocated: every listed entry takes a byte at least.
        most = max(MOST_ENTRIES, _LARGEST_RATIO * n_bytes) if is_sparse else n_bytes
        promised = f"{n_rows} x {n_columns} numbers"
        if not 0 < n_rows * n_columns <= most or head.n_entries > n_bytes:
            raise ValueError(f"the header promises {promised} in {n_bytes:,} bytes")
        warnings.simplefilter("ignore")  # that there are no numbers, which is found below
        lines = (line for block in rest for line in block.data.splitlines())
        numbers: FloatArray = np.loadtxt(lines, np.float64, comments="%", ndmin=2)
    if is_sparse:
        return _of_entries(numbers, head)
    if head.field == "pattern" or numbers.shape != (head.n_entries, 1):
        raise ValueError(f"expected {promised}, but found shape {numbers.shape}")
    return numbers.reshape(n_columns, n_rows).T  # they come column by column


def _of_entries(numbers: FloatArray, head: Head) -> FloatArray:
    matrix = np.zeros((head.n_rows, head.n_columns))
    if head.n_entries == 0 and not numbers.size:
        return matrix
    is_pattern = head.field == "pattern"
    if numbers.shape != (head.n_entries, 2 if is_pattern else 3):
        raise ValueError(f"expected {head.n_entries:,} entries, but found shape {numbers.shape}")
    places = numbers[:, :2]
    if not ((places >= 1) & (places <= matrix.shape) & (places == np.floor(places))).all():
        raise ValueError("an entry has a row or column that the matrix lacks")
    rows, columns = (places.astype(np.int64) - 1).T
    np.add.at(matrix, (rows, columns), 1.0 if is_pattern else numbers[:, 2])
    return matrix


def _past_head(blocks: Iterator[LineBlock], path: Place) -> tuple[Head, Iterator[LineBlock]]:
    """The head, and the lines after it; SourceError for a damaged head."""
    known, number = None, 0
    for block in blocks:
        start = 0
        for number, line in enumerate(io.BytesIO(block.data), start=block.first_line):
            start += len(line)
            if known is None:
                known = _BANNER.fullmatch(line.rstrip())
                if known is None:
                    raise bad_line(block.source, 1, line.rstrip().decode(), _BANNERS)
            elif line.strip() and not line.startswith(b"%"):
                rest = LineBlock(block.source, number + 1, block.data[start:])
                layout, field = known[1].decode().lower(), known[2].decode().lower()
                head = _head(layout, field, line, block.source, number)
                return head, chain([rest] if rest.data else [], blocks)
    problem = f"expected {_SIZES_EXPECTED}, but the file {'ends' if number else 'is empty'}"
    raise SourceError(f"{path}, line {number}", problem)


def _head(layout: str, field: str, line: bytes, source: str, number: int) -> Head:
    sizes = [int(size) for size in line.split()] if _SIZES.fullmatch(line) else []
    if layout == "array" and len(sizes) == 2:
        sizes.append(sizes[0] * sizes[1])
    elif layout == "array" or len(sizes) != 3:
        raise bad_line(source, number, line.decode().rstrip(), _SIZES_EXPECTED)
    n_rows, n_columns, n_entries = sizes
    return Head(layout, field, n_rows, n_columns, n_entries, number)


def _opened(
    blocks: Iterator[LineBlock], file: SourceFile, n_words: int
) -> tuple[Layout, Iterator[Lines]]:
    """Rows are documents, unless only the number of rows is that of the words: then columns are.

    Files whose lines are sorted by document are streamed. If the first lines of a file are not, the
    file is sorted in memory.
    """
    path = file.path
    head, rest = _past_head(blocks, path)
    if head.layout == "array" or head.field == "double":
        raise bad_line(str(path), 1, f"matrix {head.layout} {head.field}", _BANNERS)
    names = ("document", "word") if head.n_columns == n_words else ("word", "document")
    if n_words not in (head.n_rows, head.n_columns):
        expected = f"{n_words} rows or columns, one for each word of {file.words}"
        found = f"{quantity(head.n_rows, 'row')} and {quantity(head.n_columns, 'column')}"
        raise SourceError(f"{path}, line {head.line}", f"expected {expected}, but found {found}")
    shape = dict(zip(names, (head.n_rows, head.n_columns), strict=True))
    sizes = shape["document"], shape["word"], head.n_entries
    columns = names if head.field == "pattern" else (*names, "count")
    layout = Layout(*sizes, columns, is_real=head.field == "real", least_count=0)
    return layout, _by_document(parse(block, layout) for block in rest)


def _by_document(parts: Iterator[Lines]) -> Iterator[Lines]:
    """The lines as they come if the first are sorted by document; otherwise all lines, sorted."""
    first = next(parts, None)
    if first is None:
        return
    if (np.diff(first[:, 0]) >= 0).all():
        yield from chain([first], parts)
        return
    lines = np.concatenate([first, *parts])
    order = np.argsort(lines[:, 0], kind="stable")
    for start in range(0, len(order), _PAIRS_AT_ONCE):
        yield lines[order[start : start + _PAIRS_AT_ONCE]]


read_matrix_market = partial(read_triples, vocabulary_names=vocabulary_names, opened=_opened)
