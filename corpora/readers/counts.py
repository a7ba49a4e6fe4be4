"""What the formats of word counts share, and UCI bag of words.

UCI collections and Matrix Market files are lines of document, word and count. Those of UCI are
``docword.NAME.txt`` with ``vocab.NAME.txt`` beside it: three header lines (documents, words,
pairs), then ``document word count`` lines, ids from 1, sorted by document.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from functools import partial
from itertools import chain
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.csv as pcsv
from numpy.typing import NDArray

from sparsetopics.base.batches import IntArray
from sparsetopics.base.errors import SourceError
from sparsetopics.base.wording import quantity
from sparsetopics.corpora.readers.blocks import CountedBlock, PendingBlock
from sparsetopics.corpora.readers.options import ReadOptions
from sparsetopics.corpora.sources.byte_stream import (
    LineBlock,
    Place,
    SourceFile,
    line_blocks,
    packing_of,
    read_utf8,
)

LARGEST_COUNT = np.iinfo(np.uint32).max
_LARGEST_EXACT = 2.0**53
_MOST_DOCS = 2**31 - 1  # in a file
_DOCS_AT_ONCE = 1 << 20
_MOST_WITHOUT = 1 << 20  # documents without a line in any file
_MOST_EMPTY = 100  # documents for each line, beyond that


class Layout(NamedTuple):
    """The sizes that the head of a file promises, and the meaning of the numbers of a line."""

    n_docs: int
    n_words: int
    n_pairs: int
    columns: tuple[str, ...] = ("document", "word", "count")  # without count, each is 1
    is_real: bool = False  # counts may be written as 2.0
    least_count: int = 1


#: Parsed lines, (n_pairs, 4): document, word, count, and the number of the line. Ids are from 1.
Lines: TypeAlias = NDArray[np.int64]
#: From the lines of a file, the file and the number of its words.
_Open = Callable[[Iterator[LineBlock], SourceFile, int], tuple[Layout, Iterator[Lines]]]


def read_triples(
    files: Sequence[SourceFile],
    options: ReadOptions,
    vocabulary_names: Callable[[str], list[str]],
    opened: _Open,
) -> Iterator[PendingBlock]:
    """The documents of all files; their numbers run on from file to file.

    ``opened`` reads the head of a file, and returns its lines, sorted by document.
    """
    n_docs_before = 0
    for file in files:
        path = file.path
        words = words_of(file, vocabulary_names)
        with closing(line_blocks(path, None)) as blocks:
            layout, parts = opened(blocks, file, len(words))
            for numbers, triples in _whole_documents(path, layout, parts):
                yield partial(_count, str(path), numbers, triples, words, n_docs_before)
        n_docs_before += layout.n_docs


def parse(block: LineBlock, layout: Layout) -> Lines:
    """Parse a block, with Arrow if the lines are regular, otherwise line by line.

    Raises SourceError at a line of another form, or a count that is not whole.
    """
    types = dict.fromkeys(layout.columns, pa.int64())
    if layout.is_real:
        types["count"] = pa.float64()
    own = pa.BufferOutputStream()  # in memory of Arrow, whose threads may outlive the read
    own.write(block.data)
    table = None
    with suppress(pa.ArrowInvalid):
        table = pcsv.read_csv(
            pa.BufferReader(own.getvalue()),
            pcsv.ReadOptions(
                use_threads=False, block_size=len(block.data) + 1, column_names=list(types)
            ),
            pcsv.ParseOptions(delimiter=" ", quote_char=False),
            pcsv.ConvertOptions(column_types=types, null_values=[]),
        )
    has_x = b"x" in block.data or b"X" in block.data  # Arrow reads 0x10 as 16
    if table is None or has_x or len(table) != block.data.count(b"\n"):
        return _parse_each(block, layout)
    columns = {name: table[name].to_numpy() for name in layout.columns}
    lines = np.arange(block.first_line, block.first_line + len(table))
    return _joined(columns, lines, block.source)


def _parse_each(block: LineBlock, layout: Layout) -> Lines:
    """Parse line by line, with any white space between numbers."""
    rows, lines = [], []
    kinds = [float if layout.is_real and name == "count" else int for name in layout.columns]
    for number, line in enumerate(block.data.splitlines(), start=block.first_line):
        if not line.strip():
            continue
        try:
            if b"_" in line:  # Python reads 1_0 as 10
                raise ValueError("an underscore")
            rows.append(tuple(kind(n) for kind, n in zip(kinds, line.split(), strict=True)))
        except ValueError as error:
            numbers = "numbers" if layout.is_real else "whole numbers"
            expected = f"{len(kinds)} {numbers} ({', '.join(layout.columns)})"
            raise bad_line(block.source, number, line.decode(), expected) from error
        lines.append(number)
    try:
        table = np.array(rows, np.dtype([*zip(layout.columns, kinds, strict=True)]))
    except OverflowError as error:
        raise SourceError(block.source, "a number has more than 64 bits") from error
    columns = {name: table[name] for name in layout.columns}
    return _joined(columns, np.array(lines, np.int64), block.source)


def _joined(columns: Mapping[str, NDArray[np.number]], lines: IntArray, source: str) -> Lines:
    counts: NDArray[np.number] = columns.get("count", np.ones(len(lines), np.int64))
    if counts.dtype == np.float64:
        bad = ~(np.abs(counts) <= _LARGEST_EXACT) | (counts != np.floor(counts))
        expected = "a whole count (weights such as tf-idf are not counts)"
        refuse_first(bad, counts, lambda pair: f"{source}, line {lines[pair]}", expected)
        counts = counts.astype(np.int64)
    return np.column_stack([columns["document"], columns["word"], counts, lines])


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


def _whole_documents(
    path: Place, layout: Layout, parts: Iterable[Lines]
) -> Iterator[tuple[range, NDArray[np.int64]]]:
    """Numbers of consecutive documents, with document, word and count of all their lines, (n, 3).

    Documents without a line are among them. Raises SourceError at a line out of range or order.
    """
    if layout.n_docs > _MOST_DOCS:
        problem = f"the header promises {layout.n_docs:,} documents, more than {_MOST_DOCS:,}"
        raise SourceError(str(path), problem)
    waiting = np.empty((0, 4), np.int64)
    first, n_pairs = 1, 0
    for part in parts:
        last_seen = int(waiting[-1, 0]) if len(waiting) else 1
        _check_lines(part, layout, path, last_seen)
        n_pairs += len(part)
        waiting = np.concatenate((waiting, part))
        last = int(waiting[-1, 0]) if len(waiting) else first
        _check_empty(last, n_pairs, path)
        complete = int(np.searchsorted(waiting[:, 0], last))  # the last document may go on
        yield from _pieces(waiting[:complete], first, last)
        waiting, first = waiting[complete:], last
    if n_pairs != layout.n_pairs:
        promised = quantity(layout.n_pairs, "pair")
        problem = f"the header promises {promised}, but the file has {n_pairs}"
        raise SourceError(str(path), problem, "It may be cut off.")
    _check_empty(layout.n_docs, n_pairs, path)
    yield from _pieces(waiting, first, layout.n_docs + 1)


def _check_empty(n_docs: int, n_pairs: int, path: Place) -> None:
    """Refuse a few bytes that claim thousands of millions of documents without a word."""
    if n_docs > _MOST_WITHOUT + _MOST_EMPTY * n_pairs:
        found = f"{quantity(n_docs, 'document')} in {quantity(n_pairs, 'line')}"
        problem = f"expected at most {_MOST_EMPTY} documents for each line, but found {found}"
        raise SourceError(str(path), problem, "Leave out documents without words.")


def _pieces(lines: Lines, first: int, stop: int) -> Iterator[tuple[range, NDArray[np.int64]]]:
    """The documents from ``first`` to before ``stop``, in pieces, because most may be empty."""
    for start in range(first, stop, _DOCS_AT_ONCE):
        end = min(start + _DOCS_AT_ONCE, stop)
        low, high = np.searchsorted(lines[:, 0], (start, end))
        yield range(start, end), lines[low:high, :3]  # workers need no numbers of lines


def _check_lines(lines: Lines, layout: Layout, path: Place, last_seen: int) -> None:
    """SourceError at the first line out of range, or before document ``last_seen``."""
    documents, words, counts, numbers = lines.T
    before = np.concatenate(([last_seen], documents[:-1]))
    n_docs, n_words, least = layout.n_docs, layout.n_words, layout.least_count
    is_outside = (documents < 1) | (documents > n_docs)
    is_uncounted = (counts < least) | (counts > LARGEST_COUNT)
    for bad, values, expected in (
        (is_outside, documents, f"a document number from 1 to {n_docs}"),
        (documents < before, documents, "document numbers in ascending order"),
        ((words < 1) | (words > n_words), words, f"a word number from 1 to {n_words}"),
        (is_uncounted, counts, f"a count from {least} to {LARGEST_COUNT}"),
    ):
        refuse_first(bad, values, lambda row: f"{path}, line {numbers[row]}", expected)


def _count(
    source: str,
    numbers: range,
    triples: NDArray[np.int64],  # (n_pairs, 3) document, word, count
    words: pa.StringArray,
    n_docs_before: int,
) -> CountedBlock:
    """The documents as rows with their numbers as ids; counts of a repeated word are added up.

    Raises SourceError for a sum of more than ``LARGEST_COUNT``.
    """
    rows, word_ids, counts = triples.T
    indptr = np.searchsorted(rows, np.arange(numbers.start, numbers.stop + 1))
    ids = pa.array(np.arange(numbers.start, numbers.stop) + n_docs_before).cast(pa.string())
    pairs = counts, word_ids - 1, indptr
    return summed(pairs, ids, words, lambda row: f"{source}, document {numbers[row]}")


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


def words_of(file: SourceFile, names_for: Callable[[str], list[str]]) -> pa.StringArray:
    """The words of a file of counts; SourceError with the ``names_for`` them if there are none, and
    what ``read_words`` raises."""
    if file.words is None:
        problem = f"there is no {' or '.join(names_for(file.path.name))} beside it"
        hint = "Name the vocabulary, one word a line, with --vocabulary-file."
        raise SourceError(str(file.path), problem, hint)
    return read_words(file.words)


def vocabulary_names(name: str) -> list[str]:
    """The names under which the words of a file are looked for, best first."""
    bare = name.removesuffix(packing_of(Path(name)))
    stem = bare.rpartition(".")[0] or bare
    start = stem.removesuffix("_bow").removesuffix("_tfidf")  # as gensim names them
    names = [f"{bare}.vocab", f"{stem}.vocab", f"{stem}.dict.txt", f"{stem}_wordids.txt"]
    names += [f"{start}_wordids.txt", f"vocab.{stem}.txt", "vocab.txt"]
    return list(dict.fromkeys(names))


# --- UCI bag of words -----------------------------------------------------------------------------
_N_HEADER_LINES = 3
_HEADER_NUMBER = re.compile(rb"\s*\d{1,18}\s*")


def uci_vocabulary_names(name: str) -> list[str]:
    """The names under which the words of ``docword.A.B.txt`` or ``A.B.uci``, perhaps packed, are
    looked for, best first: ``vocab.A.B.txt``, ``A.B.vocab``, ``vocab.A.txt`` and so on."""
    bare = name.removesuffix(packing_of(Path(name))).removeprefix("docword.")
    parts = [part for part in bare.split(".") if part not in ("docword", "txt", "uci")]
    stems = (".".join(parts[:n]) for n in range(len(parts), 0, -1))
    return [*chain.from_iterable((f"vocab.{s}.txt", f"{s}.vocab") for s in stems), "vocab.txt"]


def _uci_opened(
    blocks: Iterator[LineBlock], file: SourceFile, n_words: int
) -> tuple[Layout, Iterator[Lines]]:
    path = file.path
    first = next(blocks, LineBlock(str(path), 1, b""))
    *lines, rest = first.data.split(b"\n", _N_HEADER_LINES)
    if len(lines) < _N_HEADER_LINES:
        expected = "three header lines (numbers of documents, words and pairs)"
        raise SourceError(str(path), f"expected {expected}, but found {len(lines)}")
    for number, line in enumerate(lines, start=1):
        if not _HEADER_NUMBER.fullmatch(line):
            raise bad_line(str(path), number, line.decode(), "a number in the header")
    n_docs, n_found, n_pairs = map(int, lines)
    if n_found != n_words:
        expected = f"{quantity(n_words, 'word')}, as in {file.words}"
        raise SourceError(f"{path}, line 2", f"expected {expected}, but found {n_found}")
    remaining = chain([LineBlock(str(path), _N_HEADER_LINES + 1, rest)] if rest else [], blocks)
    layout = Layout(n_docs, n_words, n_pairs)
    return layout, (parse(block, layout) for block in remaining)


read_uci = partial(read_triples, vocabulary_names=uci_vocabulary_names, opened=_uci_opened)
