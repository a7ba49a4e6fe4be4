"""UCI bag of words: ``docword.NAME.txt`` with ``vocab.NAME.txt`` beside it.

Three header lines (documents, words, pairs), then ``document word count`` lines, ids from 1,
sorted by document.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv as pcsv
from numpy.typing import NDArray
from scipy.sparse import csr_array

from sparsetopics.batches import IntArray
from sparsetopics.corpora.blocks import CountedBlock, PendingBlock
from sparsetopics.corpora.byte_stream import LineBlock, line_blocks, read_utf8
from sparsetopics.corpora.sources import ReadOptions, SourceFile
from sparsetopics.errors import SourceError

_N_HEADER_LINES = 3
_LARGEST_COUNT = np.iinfo(np.uint32).max


class Header(NamedTuple):
    n_docs: int
    n_words: int
    n_pairs: int


class Pairs(NamedTuple):
    """``document word count`` lines."""

    triples: NDArray[np.int64]  # (n_pairs, 3)
    lines: IntArray  # (n_pairs,) where they stand in the file


class Documents(NamedTuple):
    """Consecutive documents, all of their lines."""

    triples: NDArray[np.int64]
    first: int  # number of the first document
    n_docs: int


def read_uci(files: Sequence[SourceFile], options: ReadOptions) -> Iterator[PendingBlock]:
    """All files share a vocabulary; document numbers run on from file to file."""
    n_docs_before = 0
    for file in files:
        vocabulary = options.vocabulary_file or find_vocabulary(file.path)
        words = _read_words(vocabulary)
        header, pairs = _open(file.path)
        if header.n_words != len(words):
            raise SourceError(
                f"{file.path}, line 2",
                found=f"{header.n_words} words",
                wanted=f"{len(words)}, the number of lines of {vocabulary}",
            )
        for documents in _documents(file.path, header, pairs):
            yield partial(_count, documents, words, n_docs_before)
        n_docs_before += header.n_docs


def find_vocabulary(docword: Path) -> Path:
    """The vocabulary beside ``docword.A.B.txt[.gz]``: ``vocab.A.B.txt`` or ``vocab.A.txt``.

    Raises SourceError if there is none.
    """
    parts = [part for part in docword.name.split(".")[1:] if part not in ("txt", "gz")]
    names = [f"vocab.{'.'.join(parts[:n])}.txt" for n in range(len(parts), 0, -1)]
    for name in [*names, "vocab.txt"]:
        for path in (docword.with_name(name), docword.with_name(f"{name}.gz")):
            if path.is_file():
                return path
    raise SourceError(
        str(docword),
        found=f"no {' or '.join([*names, 'vocab.txt'])} beside it",
        wanted="the vocabulary, one word a line",
        hint="Name it with --vocabulary-file.",
    )


def _read_words(path: Path) -> pa.StringArray:
    words = [line.strip() for line in read_utf8(path, "strict").rstrip().split("\n")]
    seen: dict[str, int] = {}
    for line, word in enumerate(words, start=1):
        if not word or word in seen:
            raise SourceError(
                f"{path}, line {line}",
                found=f"{word!r} again, as in line {seen[word]}" if word else "an empty line",
                wanted="a different word on each line",
            )
        seen[word] = line
    return pa.array(words, pa.string())


def _open(path: Path) -> tuple[Header, Iterator[Pairs]]:
    blocks = line_blocks(path, "strict")
    first = next(blocks, LineBlock(path, 1, b""))
    *lines, rest = first.data.split(b"\n", _N_HEADER_LINES)
    if len(lines) < _N_HEADER_LINES:
        raise SourceError(
            str(path),
            found=f"{len(lines)} lines",
            wanted="three header lines: numbers of documents, words and pairs",
        )
    header = Header(*(_header_number(line, path, n) for n, line in enumerate(lines, start=1)))
    remaining = chain([LineBlock(path, _N_HEADER_LINES + 1, rest)] if rest else [], blocks)
    return header, map(_parse, remaining)


def _header_number(line: bytes, path: Path, number: int) -> int:
    if not line.strip().isdigit():
        raise SourceError(
            f"{path}, line {number}", found=repr(line.decode())[:60], wanted="a header number"
        )
    return int(line)


def _parse(block: LineBlock) -> Pairs:
    """The numbers of a block: by Arrow where the lines are regular, else one by one."""
    try:
        table = pcsv.read_csv(
            pa.BufferReader(block.data),
            pcsv.ReadOptions(
                use_threads=False,
                block_size=len(block.data) + 1,
                column_names=["document", "word", "count"],
            ),
            pcsv.ParseOptions(delimiter=" ", quote_char=False),
            pcsv.ConvertOptions(
                column_types=dict.fromkeys(("document", "word", "count"), pa.int64()),
                null_values=[],
            ),
        )
    except pa.ArrowInvalid:
        return _parse_each(block)
    if len(table) != block.data.count(b"\n"):
        return _parse_each(block)
    triples = np.column_stack([column.to_numpy() for column in table.columns])
    return Pairs(triples, np.arange(block.first_line, block.first_line + len(triples)))


def _parse_each(block: LineBlock) -> Pairs:
    """Line by line, any white space between numbers; SourceError at a line of another form."""
    triples, lines = [], []
    for number, line in enumerate(block.data.splitlines(), start=block.first_line):
        if not line.strip():
            continue
        try:
            document, word, count = map(int, line.split())
        except ValueError as error:
            raise SourceError(
                f"{block.path}, line {number}",
                found=repr(line.decode())[:60],
                wanted="three whole numbers: document, word, count",
            ) from error
        triples.append((document, word, count))
        lines.append(number)
    return Pairs(np.array(triples, np.int64).reshape(-1, 3), np.array(lines, np.int64))


def _documents(path: Path, header: Header, pairs: Iterator[Pairs]) -> Iterator[Documents]:
    """Whole documents, also those without a line; SourceError at a line out of range or order."""
    waiting = np.empty((0, 3), np.int64)
    first, n_pairs = 1, 0
    for part in pairs:
        last_seen = int(waiting[-1, 0]) if len(waiting) else 1
        _check(part, header, path, last_seen)
        n_pairs += len(part.lines)
        waiting = np.concatenate((waiting, part.triples))
        last = int(waiting[-1, 0]) if len(waiting) else first
        complete = int(np.searchsorted(waiting[:, 0], last))  # the last document may go on
        yield Documents(waiting[:complete], first, last - first)
        waiting, first = waiting[complete:], last
    if n_pairs != header.n_pairs:
        raise SourceError(
            str(path),
            found=f"{n_pairs} pairs",
            wanted=f"{header.n_pairs}, as line 3 says",
            hint="The file may be cut off.",
        )
    yield Documents(waiting, first, header.n_docs + 1 - first)


def _check(pairs: Pairs, header: Header, path: Path, last_seen: int) -> None:
    documents, words, counts = pairs.triples.T
    before = np.concatenate(([last_seen], documents[:-1]))
    for bad, values, wanted in (
        (
            (documents < 1) | (documents > header.n_docs),
            documents,
            f"a document number from 1 to {header.n_docs}",
        ),
        (documents < before, documents, "lines sorted by document"),
        (
            (words < 1) | (words > header.n_words),
            words,
            f"a word number from 1 to {header.n_words}",
        ),
        ((counts < 1) | (counts > _LARGEST_COUNT), counts, "a count of 1 or more"),
    ):
        if bad.any():
            row = int(np.argmax(bad))
            raise SourceError(
                f"{path}, line {pairs.lines[row]}", found=f"{values[row]}", wanted=wanted
            )


def _count(documents: Documents, words: pa.StringArray, n_docs_before: int) -> CountedBlock:
    """The documents as rows; a word given twice in one is added up."""
    rows, word_ids, counts = documents.triples.T
    indptr = np.searchsorted(rows, documents.first + np.arange(documents.n_docs + 1))
    matrix = csr_array(
        (counts.astype(np.uint32), word_ids.astype(np.int32) - 1, indptr),
        (documents.n_docs, len(words)),
    )
    matrix.sum_duplicates()
    numbers = np.arange(documents.first, documents.first + documents.n_docs) + n_docs_before
    return CountedBlock(
        pa.array(numbers).cast(pa.string()),
        pa.nulls(documents.n_docs, pa.string()),
        words,
        matrix.indptr.astype(np.int64),
        matrix.indices.astype(np.int32),
        matrix.data,
    )
