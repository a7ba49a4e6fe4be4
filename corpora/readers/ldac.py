"""LDA-C, the format of Blei's programs: a line ``n word:count word:count ...`` per document."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

import numpy as np
import pyarrow as pa

from sparsetopics.base.errors import SourceError
from sparsetopics.corpora.readers.blocks import CountedBlock, PendingBlock
from sparsetopics.corpora.readers.counts import (
    LARGEST_COUNT,
    bad_line,
    refuse_first,
    summed,
    vocabulary_names,
    words_of,
)
from sparsetopics.corpora.readers.options import ReadOptions
from sparsetopics.corpora.sources.byte_stream import LineBlock, SourceFile, line_blocks

_LINE = rb"[ \t]*\d{1,18}(?:[ \t]+\d{1,18}:\d{1,18})*[ \t\r]*\n"
_BAD_LINE = re.compile(rb"^(?!\Z|%b).*" % _LINE, re.MULTILINE)
_TO_SPACE = bytes.maketrans(b":", b" ")


def read_ldac(file: SourceFile, options: ReadOptions) -> Iterator[PendingBlock]:
    """Read documents without ids and labels; word numbers begin at 0.

    The words of ``NAME.dat`` are in ``NAME.dat.vocab``, ``NAME.vocab``, ``vocab.NAME.txt`` or
    ``vocab.txt``.
    """
    words = words_of(file, vocabulary_names)
    return (partial(_decode, block, words) for block in line_blocks(file.path, None))


def _decode(block: LineBlock, words: pa.StringArray) -> CountedBlock:
    bad = _BAD_LINE.search(block.data)
    if bad is not None:
        number = block.first_line + block.data.count(b"\n", 0, bad.start())
        expected = "a number of words, then as many word:count pairs of whole numbers"
        raise bad_line(block.source, number, bad[0].decode(), expected)
    numbers = np.fromstring(block.data.translate(_TO_SPACE), np.int64, sep=" ")
    characters = np.frombuffer(block.data, np.uint8)
    ends = np.flatnonzero(characters == ord("\n"))
    colons = np.flatnonzero(characters == ord(":"))
    n_pairs = np.diff(np.searchsorted(colons, ends), prepend=0)  # of each line
    heads = np.concatenate(([0], np.cumsum(1 + 2 * n_pairs)))[:-1]
    promised = numbers[heads]
    if (promised != n_pairs).any():
        line = int(np.argmax(promised != n_pairs))
        problem = f"the line promises {promised[line]} word:count pairs, but has {n_pairs[line]}"
        raise SourceError(block.place(line), problem, "The file may be cut off.")
    pairs = np.delete(numbers, heads).reshape(-1, 2)
    indptr = np.concatenate(([0], np.cumsum(n_pairs)))

    def where_of_pair(pair: int) -> str:
        return block.place(int(np.searchsorted(indptr, pair, side="right")) - 1)

    word_ids, counts = pairs.T
    expected = f"a word number from 0 to {len(words) - 1}"
    refuse_first(word_ids >= len(words), word_ids, where_of_pair, expected)
    expected = f"a count of at most {LARGEST_COUNT}"
    refuse_first(counts > LARGEST_COUNT, counts, where_of_pair, expected)
    return summed(
        (counts, word_ids, indptr), pa.nulls(len(n_pairs), pa.string()), words, block.place
    )
