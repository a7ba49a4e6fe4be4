"""LDA-C, the format of Blei's programs: a line ``n word:count word:count ...`` per document."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.sparse import csr_array

from sparsetopics.base.errors import SourceError
from sparsetopics.corpora.readers.blocks import CountedBlock, PendingBlock
from sparsetopics.corpora.readers.counts import (
    LARGEST_COUNT,
    read_words,
    refuse_first,
    sum_in_place,
    words_beside,
)
from sparsetopics.corpora.readers.options import ReadOptions
from sparsetopics.corpora.sources.byte_stream import LineBlock, Place, line_blocks
from sparsetopics.corpora.sources.source_files import SourceFile

_LINE = rb"[ \t]*\d{1,18}(?:[ \t]+\d{1,18}:\d{1,18})*[ \t\r]*\n"
_LINES = re.compile(rb"(?:%b)*+" % _LINE)  # possessive: a bad line is where the match ends
_TO_SPACE = bytes.maketrans(b":", b" ")


def read_ldac(files: Sequence[SourceFile], options: ReadOptions) -> Iterator[PendingBlock]:
    """Read documents without ids and labels; word numbers begin at 0.

    The words of ``NAME.ldac`` are in ``NAME.ldac.vocab``, ``NAME.vocab``, ``vocab.NAME.txt`` or
    ``vocab.txt``.
    """
    for file in files:
        words = read_words(options.vocabulary_file or _find_words(file.path))
        for block in line_blocks(file.path, "strict"):
            yield partial(_decode, block, words)


def _find_words(path: Place) -> Place:
    name = path.name.removesuffix(".gz").removesuffix(".zst")
    stem = name.rpartition(".")[0] or name
    return words_beside(path, [f"{name}.vocab", f"{stem}.vocab", f"vocab.{stem}.txt", "vocab.txt"])


def _decode(block: LineBlock, words: pa.StringArray) -> CountedBlock:
    matched = _LINES.match(block.data)
    assert matched is not None  # the pattern also matches no line
    if matched.end() < len(block.data):
        bad = block.data.count(b"\n", 0, matched.end())
        raise SourceError(
            f"{block.source}, line {block.first_line + bad}",
            found=repr(block.data[matched.end() :].split(b"\n", 1)[0].decode())[:60],
            wanted="a number of words, then as many word:count pairs of whole numbers",
        )
    numbers = np.fromstring(block.data.translate(_TO_SPACE), np.int64, sep=" ")
    n_pairs = _pairs_of_lines(block.data)
    heads = np.concatenate(([0], np.cumsum(1 + 2 * n_pairs)))[:-1]
    _check_numbers(block, numbers[heads], n_pairs)
    pairs = np.delete(numbers, heads).reshape(-1, 2)
    indptr = np.concatenate(([0], np.cumsum(n_pairs)))
    _check_pairs(block, pairs, indptr, len(words))
    matrix = csr_array((pairs[:, 1], pairs[:, 0], indptr), (len(n_pairs), len(words)))
    summed = sum_in_place(
        matrix, lambda row: f"{block.source}, line {block.first_line + row}", words
    )
    nothing = pa.nulls(len(n_pairs), pa.string())
    return CountedBlock(nothing, nothing, words, *summed)


def _pairs_of_lines(data: bytes) -> NDArray[np.int64]:
    """The number of colons in each line, (n_lines,)."""
    characters = np.frombuffer(data, np.uint8)
    ends = np.flatnonzero(characters == ord("\n"))
    colons = np.flatnonzero(characters == ord(":"))
    return np.diff(np.searchsorted(colons, ends), prepend=0)


def _check_numbers(
    block: LineBlock, promised: NDArray[np.int64], n_pairs: NDArray[np.int64]
) -> None:
    wrong = promised != n_pairs
    if wrong.any():
        line = int(np.argmax(wrong))
        raise SourceError(
            f"{block.source}, line {block.first_line + line}",
            found=f"{n_pairs[line]} word:count pairs",
            wanted=f"{promised[line]}, as the line begins with",
            hint="The file may be cut off.",
        )


def _check_pairs(
    block: LineBlock, pairs: NDArray[np.int64], indptr: NDArray[np.int64], n_words: int
) -> None:
    def where(pair: int) -> str:
        line = int(np.searchsorted(indptr, pair, side="right")) - 1
        return f"{block.source}, line {block.first_line + line}"

    words, counts = pairs.T
    refuse_first(words >= n_words, words, where, f"a word number from 0 to {n_words - 1}")
    refuse_first(counts > LARGEST_COUNT, counts, where, f"a count of at most {LARGEST_COUNT}")
