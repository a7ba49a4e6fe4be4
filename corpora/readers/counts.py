"""What the formats of word counts share: lines of document, word and count, and word lists.

UCI collections and Matrix Market files are lines of document, word and count.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv as pcsv
from numpy.typing import NDArray

from sparsetopics.base.batches import IntArray
from sparsetopics.base.errors import SourceError
from sparsetopics.base.wording import quantity
from sparsetopics.corpora.readers.blocks import CountedBlock
from sparsetopics.corpora.sources.arrow_files import native_reader
from sparsetopics.corpora.sources.byte_stream import (
    PACKED_SUFFIXES,
    LineBlock,
    Place,
    is_file,
    read_utf8,
)

LARGEST_COUNT = np.iinfo(np.uint32).max
_LARGEST_EXACT = 2.0**53
_MOST_DOCS = 2**31 - 1  # in a file
_DOCS_AT_ONCE = 1 << 20
_MOST_WITHOUT = 1 << 20  # documents without a line in any file
_MOST_EMPTY = 100  # documents for each line, beyond that


class LineLayout(NamedTuple):
    """The meaning of the numbers of a line."""

    columns: tuple[str, ...] = ("document", "word", "count")  # without count, each is 1
    is_real: bool = False  # counts may be written as 2.0
    least_count: int = 1


class Size(NamedTuple):
    """The sizes that the head of a file promises."""

    n_docs: int
    n_words: int
    n_pairs: int


class Pairs(NamedTuple):
    """Parsed lines."""

    triples: NDArray[np.int64]  # (n_pairs, 3) document, word, count; both ids from 1
    lines: IntArray  # (n_pairs,) their numbers in the file


class Documents(NamedTuple):
    """Consecutive documents with all of their lines."""

    source: str  # the file, for errors
    triples: NDArray[np.int64]
    first: int  # number of the first document
    n_docs: int


def parse(block: LineBlock, layout: LineLayout) -> Pairs:
    """Parse a block, with Arrow if the lines are regular, otherwise line by line.

    Raises SourceError at a line of another form, or a count that is not whole.
    """
    if b"x" in block.data or b"X" in block.data:  # Arrow reads 0x10 as 16
        return _parse_each(block, layout)
    types = dict.fromkeys(layout.columns, pa.int64())
    if layout.is_real:
        types["count"] = pa.float64()
    try:
        table = pcsv.read_csv(
            native_reader(block.data),
            pcsv.ReadOptions(
                use_threads=False, block_size=len(block.data) + 1, column_names=list(types)
            ),
            pcsv.ParseOptions(delimiter=" ", quote_char=False),
            pcsv.ConvertOptions(column_types=types, null_values=[]),
        )
    except pa.ArrowInvalid:
        return _parse_each(block, layout)
    if len(table) != block.data.count(b"\n"):
        return _parse_each(block, layout)
    columns = {name: table[name].to_numpy() for name in layout.columns}
    lines = np.arange(block.first_line, block.first_line + len(table))
    return _pairs(columns, lines, block.source)


def _parse_each(block: LineBlock, layout: LineLayout) -> Pairs:
    """Parse line by line, with any white space between numbers."""
    rows, lines = [], []
    as_count = float if layout.is_real else int
    kinds = [as_count if name == "count" else int for name in layout.columns]
    for number, line in enumerate(block.data.splitlines(), start=block.first_line):
        if not line.strip():
            continue
        try:
            if b"_" in line:  # Python reads 1_0 as 10
                raise ValueError("an underscore")
            rows.append([kind(n) for kind, n in zip(kinds, line.split(), strict=True)])
        except ValueError as error:
            numbers = "numbers" if layout.is_real else "whole numbers"
            expected = f"{len(kinds)} {numbers} ({', '.join(layout.columns)})"
            raise bad_line(block.source, number, line.decode(), expected) from error
        lines.append(number)
    try:
        columns = {
            name: np.array([row[n] for row in rows], np.float64 if kind is float else np.int64)
            for n, (name, kind) in enumerate(zip(layout.columns, kinds, strict=True))
        }
    except OverflowError as error:
        raise SourceError(block.source, "a number has more than 64 bits") from error
    return _pairs(columns, np.array(lines, np.int64), block.source)


def _pairs(columns: Mapping[str, NDArray[np.number]], lines: IntArray, source: str) -> Pairs:
    counts: NDArray[np.number] = columns.get("count", np.ones(len(lines), np.int64))
    if counts.dtype == np.float64:
        bad = ~(np.abs(counts) <= _LARGEST_EXACT) | (counts != np.floor(counts))
        expected = "a whole count (weights such as tf-idf are not counts)"
        refuse_first(bad, counts, lambda pair: f"{source}, line {lines[pair]}", expected)
        counts = counts.astype(np.int64)
    return Pairs(np.column_stack([columns["document"], columns["word"], counts]), lines)


def bad_line(source: str, number: int, line: str, expected: str) -> SourceError:
    """The error for a line of another form than ``expected``."""
    return SourceError(f"{source}, line {number}", f"expected {expected}, but found {line!r:.60}")


def refuse_first(
    bad: NDArray[np.bool_],  # (n,)
    values: NDArray[np.number],  # (n,)
    where: Callable[[int], str],  # the place of a value
    expected: str,
) -> None:
    """SourceError at the first of ``values`` that is ``bad``."""
    if bad.any():
        place = int(np.argmax(bad))
        raise SourceError(where(place), f"expected {expected}, but found {values[place]}")


def whole_documents(
    path: Place, size: Size, pairs: Iterable[Pairs], layout: LineLayout
) -> Iterator[Documents]:
    """Join lines to whole documents, those without a line too.

    Raises SourceError at a line that is out of range or order.
    """
    if size.n_docs > _MOST_DOCS:
        problem = f"the header promises {size.n_docs:,} documents, more than {_MOST_DOCS:,}"
        raise SourceError(str(path), problem)
    waiting = np.empty((0, 3), np.int64)
    first, n_pairs = 1, 0
    for part in pairs:
        last_seen = int(waiting[-1, 0]) if len(waiting) else 1
        check_pairs(part, size, path, layout, last_seen)
        n_pairs += len(part.lines)
        waiting = np.concatenate((waiting, part.triples))
        last = int(waiting[-1, 0]) if len(waiting) else first
        _check_empty(last, n_pairs, path)
        complete = int(np.searchsorted(waiting[:, 0], last))  # the last document may go on
        yield from _pieces(str(path), waiting[:complete], first, last)
        waiting, first = waiting[complete:], last
    if n_pairs != size.n_pairs:
        problem = (
            f"the header promises {quantity(size.n_pairs, 'pair')}, but the file has {n_pairs}"
        )
        raise SourceError(str(path), problem, "It may be cut off.")
    _check_empty(size.n_docs, n_pairs, path)
    yield from _pieces(str(path), waiting, first, size.n_docs + 1)


def _check_empty(n_docs: int, n_pairs: int, path: Place) -> None:
    """Refuse a few bytes that claim thousands of millions of documents without a word."""
    if n_docs > _MOST_WITHOUT + _MOST_EMPTY * n_pairs:
        found = f"{quantity(n_docs, 'document')} in {quantity(n_pairs, 'line')}"
        problem = f"expected at most {_MOST_EMPTY} documents for each line, but found {found}"
        raise SourceError(str(path), problem, "Leave out documents without words.")


def _pieces(source: str, triples: NDArray[np.int64], first: int, stop: int) -> Iterator[Documents]:
    """The documents from ``first`` to before ``stop``, in pieces, because most may be empty."""
    for start in range(first, stop, _DOCS_AT_ONCE):
        end = min(start + _DOCS_AT_ONCE, stop)
        low, high = np.searchsorted(triples[:, 0], (start, end))
        yield Documents(source, triples[low:high], start, end - start)


def check_pairs(
    pairs: Pairs, size: Size, path: Place, layout: LineLayout, last_seen: int | None
) -> None:
    """SourceError at the first line out of range, or before document ``last_seen``."""
    documents, words, counts = pairs.triples.T
    before = np.concatenate(([last_seen or 1], documents[:-1]))
    n_docs, n_words, least = size.n_docs, size.n_words, layout.least_count
    is_outside = (documents < 1) | (documents > n_docs)
    is_early = (documents < before) & (last_seen is not None)
    for bad, values, expected in (
        (is_outside, documents, f"a document number from 1 to {n_docs}"),
        (is_early, documents, "document numbers in ascending order"),
        ((words < 1) | (words > n_words), words, f"a word number from 1 to {n_words}"),
        (
            (counts < least) | (counts > LARGEST_COUNT),
            counts,
            f"a count from {least} to {LARGEST_COUNT}",
        ),
    ):
        refuse_first(bad, values, lambda row: f"{path}, line {pairs.lines[row]}", expected)


def count_documents(
    documents: Documents, words: pa.StringArray, n_docs_before: int
) -> CountedBlock:
    """The documents as rows with their numbers as ids; counts of a repeated word are added up.

    Raises SourceError for a sum of more than ``LARGEST_COUNT``.
    """
    rows, word_ids, counts = documents.triples.T
    indptr = np.searchsorted(rows, documents.first + np.arange(documents.n_docs + 1))
    numbers = np.arange(documents.first, documents.first + documents.n_docs)
    ids = pa.array(numbers + n_docs_before).cast(pa.string())
    pairs = counts, word_ids - 1, indptr
    return summed(pairs, ids, words, lambda row: f"{documents.source}, document {numbers[row]}")


def summed(
    pairs: tuple[IntArray, IntArray, IntArray],  # counts from 0 to LARGEST_COUNT, words, indptr
    ids: pa.StringArray,  # (n_docs,)
    words: pa.StringArray,  # (n_words,)
    where: Callable[[int], str],  # the place of a row, for the error
) -> CountedBlock:
    """Add up the counts that a document has for the same word, and drop zeros.

    The documents have no labels. Raises SourceError for a sum of more than ``LARGEST_COUNT``.
    """
    from scipy.sparse import csr_array  # a tenth of a second to import, which text does not need

    matrix = csr_array(pairs, (len(ids), len(words)))
    matrix.sum_duplicates()  # in 64 bits: fewer than 2**31 counts of 32 bits cannot overflow
    matrix.eliminate_zeros()
    if matrix.data.max(initial=0) > LARGEST_COUNT:
        pair = int(np.argmax(matrix.data > LARGEST_COUNT))
        row = int(np.searchsorted(matrix.indptr, pair, side="right")) - 1
        word = words[matrix.indices[pair]].as_py()
        total = f"{matrix.data[pair]}, more than {LARGEST_COUNT}"
        raise SourceError(where(row), f"counts add up to {total}, for the word {word!r}")
    return CountedBlock(
        ids,
        pa.nulls(len(ids), pa.string()),
        words,
        matrix.indptr.astype(np.int64),
        matrix.indices.astype(np.int32),
        matrix.data.astype(np.uint32),
    )


_ENTRY = re.compile(r"([0-9]{1,9})\t([^\t]+)\t[0-9]+")  # of gensim: id, word, document frequency


def read_words(path: Place) -> pa.StringArray:
    """The words of a file in the order of their numbers.

    gensim's ``Dictionary.save_as_text`` writes a line with one number, then lines of id, word and
    document frequency. Any other file has a word on each line. Raises SourceError for a word or a
    number that occurs twice, and for a number that is missing.
    """
    lines = read_utf8(path, None).rstrip().split("\n")
    if lines[0].strip().isdigit() and len(lines) > 1 and _ENTRY.fullmatch(lines[1].rstrip("\r")):
        return _of_dictionary(lines, path)
    words = [line.strip() for line in lines]
    seen: dict[str, int] = {}
    for line, word in enumerate(words, start=1):
        if not word or word in seen:
            found = f"{word!r} again, as in line {seen[word]}" if word else "an empty line"
            problem = f"expected a different word on each line, but found {found}"
            raise SourceError(f"{path}, line {line}", problem)
        seen[word] = line
    return pa.array(words, pa.string())


def _of_dictionary(lines: Sequence[str], path: Place) -> pa.StringArray:
    words: dict[int, str] = {}
    for line, text in enumerate(lines[1:], start=2):
        entry = _ENTRY.fullmatch(text.rstrip("\r"))
        if entry is None or int(entry[1]) in words:
            expected = "id, word and document frequency, separated by tabs, each id once"
            raise bad_line(str(path), line, text, expected)
        words[int(entry[1])] = entry[2]
    missing = next((n for n in range(len(words)) if n not in words), None)
    if missing is not None:
        hint = "Dictionary.compactify() closes gaps."
        raise SourceError(str(path), f"no word has number {missing}", hint)
    if len(set(words.values())) < len(words):
        raise SourceError(str(path), "a word has two numbers")
    return pa.array([words[number] for number in range(len(words))], pa.string())


def words_beside(source: Place, names: Sequence[str]) -> Place:
    """The first existing file of ``names``, packed or not, in the folder of ``source``.

    Raises SourceError if there is none.
    """
    place = next(filter(is_file, packed_or_not(source, names)), None)
    if place is None:
        hint = "Name the vocabulary, one word a line, with --vocabulary-file."
        problem = f"there is no {' or '.join(names)} beside it"
        raise SourceError(str(source), problem, hint)
    return place


def packed_or_not(source: Place, names: Iterable[str]) -> list[Place]:
    """The files of these names in the folder of ``source``, each also as it may be packed."""
    return [source.with_name(name + end) for name in names for end in ("", *PACKED_SUFFIXES)]
