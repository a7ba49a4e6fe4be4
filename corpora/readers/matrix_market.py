"""Matrix Market: a matrix of counts as ``row column count`` lines, ids from 1; gensim's ``.mm``."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain
from typing import NamedTuple

import numpy as np

from sparsetopics.base.errors import SourceError
from sparsetopics.corpora.readers.blocks import PendingBlock
from sparsetopics.corpora.readers.count_lines import (
    LineLayout,
    Pairs,
    Size,
    check_pairs,
    count_documents,
    parse,
    whole_documents,
)
from sparsetopics.corpora.readers.word_lists import read_words, words_beside
from sparsetopics.corpora.sources.byte_stream import LineBlock, line_blocks
from sparsetopics.corpora.sources.places import Place
from sparsetopics.corpora.sources.sources import ReadOptions, SourceFile

_BANNER = re.compile(
    rb"%%MatrixMarket\s+matrix\s+coordinate\s+(integer|real|pattern)\s+general\s*", re.IGNORECASE
)
_SHAPE = re.compile(rb"\s*(\d{1,18})\s+(\d{1,18})\s+(\d{1,18})\s*")
_WANTED_SIZE = "numbers of rows, columns and entries after the comments"
_PAIRS_AT_ONCE = 1 << 20


class Head(NamedTuple):
    """The lines before the numbers."""

    field: str  # "integer", "real" or "pattern"
    n_rows: int
    n_columns: int
    n_pairs: int
    line: int  # where the shape stands


def read_matrix_market(files: Sequence[SourceFile], options: ReadOptions) -> Iterator[PendingBlock]:
    """Rows are documents, unless only the number of rows is that of the words: then columns are.

    Lines sorted by document stream; those of a file whose first lines are not are sorted in
    memory. Document numbers run on from file to file.
    """
    n_docs_before = 0
    for file in files:
        place = options.vocabulary_file or _find_words(file.path)
        words = read_words(place)
        head, blocks = _open(file.path)
        size, layout = _oriented(head, len(words), file.path, place)
        pairs = (parse(block, layout) for block in blocks)
        for documents in whole_documents(
            file.path, size, _by_document(pairs, size, file.path, layout), layout
        ):
            yield partial(count_documents, documents, words, n_docs_before)
        n_docs_before += size.n_docs


def _find_words(path: Place) -> Place:
    name = path.name.removesuffix(".gz").removesuffix(".zst")
    stem = name.rpartition(".")[0]
    bare = stem.removesuffix("_bow").removesuffix("_tfidf")  # as gensim names them
    return words_beside(
        path,
        [
            *(f"{name}.vocab", f"{stem}.vocab", f"{stem}.dict.txt", f"{stem}_wordids.txt"),
            *(f"{bare}_wordids.txt", f"vocab.{stem}.txt", "vocab.txt"),
        ],
    )


def _open(path: Place) -> tuple[Head, Iterator[LineBlock]]:
    """The head, and the lines after it."""
    blocks = line_blocks(path, "strict")
    field, number = None, 0
    for block in blocks:
        start = 0
        for number, line in enumerate(io.BytesIO(block.data), start=block.first_line):
            start += len(line)
            if field is None:
                field = _field(line.rstrip(), path)
            elif line.strip() and not line.startswith(b"%"):
                rest = LineBlock(block.source, number + 1, block.data[start:])
                return _head(field, line, path, number), chain([rest] if rest.data else [], blocks)
    raise SourceError(
        f"{path}, line {number}",
        found="no size" if number else "an empty file",
        wanted=_WANTED_SIZE,
    )


def _head(field: str, line: bytes, path: Place, number: int) -> Head:
    shape = _SHAPE.fullmatch(line)
    if shape is None:
        raise SourceError(
            f"{path}, line {number}", found=repr(line.decode().rstrip())[:60], wanted=_WANTED_SIZE
        )
    n_rows, n_columns, n_pairs = map(int, shape.groups())
    return Head(field, n_rows, n_columns, n_pairs, number)


def _field(banner: bytes, path: Place) -> str:
    known = _BANNER.fullmatch(banner)
    if known is None:
        raise SourceError(
            f"{path}, line 1",
            found=repr(banner.decode())[:80],
            wanted="%%MatrixMarket matrix coordinate, integer or real or pattern, general",
        )
    return known[1].decode().lower()


def _oriented(head: Head, n_words: int, path: Place, vocabulary: Place) -> tuple[Size, LineLayout]:
    """Which side is the documents: that which is not as long as the vocabulary."""
    names = ("document", "word") if head.n_columns == n_words else ("word", "document")
    if n_words not in (head.n_rows, head.n_columns):
        raise SourceError(
            f"{path}, line {head.line}",
            found=f"{head.n_rows} rows and {head.n_columns} columns",
            wanted=f"one of them {n_words}, the number of words of {vocabulary}",
        )
    shape = dict(zip(names, (head.n_rows, head.n_columns), strict=True))
    size = Size(shape["document"], shape["word"], head.n_pairs)
    columns = names if head.field == "pattern" else (*names, "count")
    return size, LineLayout(columns, is_real=head.field == "real", least_count=0)


def _by_document(
    pairs: Iterator[Pairs], size: Size, path: Place, layout: LineLayout
) -> Iterator[Pairs]:
    """The lines as they come if the first are sorted by document, else all of them, sorted."""
    first = next(pairs, None)
    if first is None:
        return
    if (np.diff(first.triples[:, 0]) >= 0).all():
        yield from chain([first], pairs)
        return
    parts = []
    for part in chain([first], pairs):
        check_pairs(part, size, path, layout, last_seen=None)
        parts.append(part)
    triples = np.concatenate([part.triples for part in parts])
    lines = np.concatenate([part.lines for part in parts])
    order = np.argsort(triples[:, 0], kind="stable")
    for start in range(0, len(order), _PAIRS_AT_ONCE):
        some = order[start : start + _PAIRS_AT_ONCE]
        yield Pairs(triples[some], lines[some])
