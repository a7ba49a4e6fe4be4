"""UCI bag of words: ``docword.NAME.txt`` with ``vocab.NAME.txt`` beside it.

Three header lines (documents, words, pairs), then ``document word count`` lines, ids from 1,
sorted by document.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import partial
from itertools import chain

from sparsetopics.base.errors import SourceError
from sparsetopics.base.wording import quantity
from sparsetopics.corpora.readers.blocks import PendingBlock
from sparsetopics.corpora.readers.counts import (
    LineLayout,
    Pairs,
    Size,
    bad_line,
    count_documents,
    parse,
    read_words,
    whole_documents,
    words_beside,
)
from sparsetopics.corpora.readers.options import ReadOptions
from sparsetopics.corpora.sources.byte_stream import LineBlock, Place, SourceFile, line_blocks

_N_HEADER_LINES = 3
_LAYOUT = LineLayout()
_HEADER_NUMBER = re.compile(rb"\s*\d{1,18}\s*")


def read_uci(files: Sequence[SourceFile], options: ReadOptions) -> Iterator[PendingBlock]:
    """Read the documents of all files; their numbers run on from file to file."""
    n_docs_before = 0
    for file in files:
        names = vocabulary_names(file.path.name)
        vocabulary = options.vocabulary_file or words_beside(file.path, names)
        words = read_words(vocabulary)
        with closing(line_blocks(file.path, None)) as blocks:
            size, pairs = _past_head(blocks, file.path)
            if size.n_words != len(words):
                expected = f"{quantity(len(words), 'word')}, as in {vocabulary}"
                problem = f"expected {expected}, but found {size.n_words}"
                raise SourceError(f"{file.path}, line 2", problem)
            for documents in whole_documents(file.path, size, pairs, _LAYOUT):
                yield partial(count_documents, documents, words, n_docs_before)
        n_docs_before += size.n_docs


def vocabulary_names(name: str) -> list[str]:
    """The names under which the words of ``docword.A.B.txt[.gz]`` are looked for, best first:
    ``vocab.A.B.txt``, ``vocab.A.txt`` and ``vocab.txt``."""
    parts = [part for part in name.split(".")[1:] if part not in ("txt", "gz", "zst")]
    return [*(f"vocab.{'.'.join(parts[:n])}.txt" for n in range(len(parts), 0, -1)), "vocab.txt"]


def _past_head(blocks: Iterator[LineBlock], path: Place) -> tuple[Size, Iterator[Pairs]]:
    first = next(blocks, LineBlock(str(path), 1, b""))
    *lines, rest = first.data.split(b"\n", _N_HEADER_LINES)
    if len(lines) < _N_HEADER_LINES:
        expected = "three header lines (numbers of documents, words and pairs)"
        raise SourceError(str(path), f"expected {expected}, but found {len(lines)}")
    size = Size(*(_header_number(line, path, n) for n, line in enumerate(lines, start=1)))
    remaining = chain([LineBlock(str(path), _N_HEADER_LINES + 1, rest)] if rest else [], blocks)
    return size, (parse(block, _LAYOUT) for block in remaining)


def _header_number(line: bytes, path: Place, number: int) -> int:
    if not _HEADER_NUMBER.fullmatch(line):
        raise bad_line(str(path), number, line.decode(), "a number in the header")
    return int(line)
