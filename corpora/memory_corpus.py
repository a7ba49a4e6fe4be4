"""Corpora of documents in memory, made from texts, tables, sparse matrices or gensim's corpora."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, islice
from operator import index
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from sparsetopics.base.batches import DocumentBatch, IntArray, WordCounts
from sparsetopics.base.errors import ShapeError, SourceError
from sparsetopics.corpora.readers.blocks import TextBlock, numbered
from sparsetopics.corpora.readers.counts import LARGEST_COUNT
from sparsetopics.corpora.readers.options import ReadOptions
from sparsetopics.corpora.readers.text_tables import table_blocks, text_columns
from sparsetopics.corpora.sources.arrow_batches import pieces
from sparsetopics.corpora.store.document_rows import DOCS_PER_ROW_GROUP, encode, sizes_of_batch
from sparsetopics.corpora.store.shards import MemoryRowGroup
from sparsetopics.corpora.text.pruning import PruningOptions, WordTally, prune
from sparsetopics.corpora.text.tokenizer import TokenizerOptions, count_texts, options_for
from sparsetopics.corpora.text.vocabulary import Vocabulary

_ROWS_AT_ONCE = 1_024
TABLE = "table"  # in messages


class MemoryDocuments(NamedTuple):
    """The parts of a corpus in memory."""

    vocabulary: Vocabulary
    row_groups: tuple[MemoryRowGroup[DocumentBatch], ...]
    n_skipped: int
    n_unknown_tokens: int


def documents_of_blocks(
    texts: Iterable[TextBlock],
    where: str,
    tokenizer: TokenizerOptions | None,
    pruning: PruningOptions,
    given: Vocabulary | None,
) -> MemoryDocuments:
    """Tokenise, prune and encode; SourceError if nothing is left."""
    tokenizer = options_for(given, tokenizer)
    if given is None and tokenizer.ngrams > 1:
        tokenizer = tokenizer.before_joining(pruning.stop_words)
    blocks = [count_texts(block, tokenizer) for block in texts]
    vocabulary = given
    if vocabulary is None:
        vocabulary = prune(WordTally.of(blocks), pruning, counted=False)
    vocabulary = replace(vocabulary, tokenizer=tokenizer.settings())
    words = pa.array(vocabulary.words, pa.string())
    encoded = [encode(block, words) for block in blocks]
    groups = tuple(
        _group(rows.batch, rows.ids.to_pylist(), rows.labels.to_pylist())
        for rows, _, _ in encoded
        if rows.batch.n_docs
    )
    n_skipped = sum(block.n_skipped for block in encoded)
    if not groups:
        raise SourceError(
            where,
            found=f"none of {n_skipped} documents with a word of the vocabulary",
            wanted="at least one",
        )
    n_unknown = 0 if given is None else sum(block.n_unknown_tokens for block in encoded)
    return MemoryDocuments(vocabulary, groups, n_skipped, n_unknown)


def _group(
    batch: DocumentBatch, ids: list[str], labels: list[str | None]
) -> MemoryRowGroup[DocumentBatch]:
    return MemoryRowGroup(sizes_of_batch(batch), batch, ids, labels)


def blocks_of_texts(texts: Iterable[str | None]) -> Iterator[TextBlock]:
    """Texts under running numbers, a row group at a time; SourceError for anything but texts."""
    if isinstance(texts, str):  # whose letters would be documents
        raise SourceError("texts", found="a string", wanted="a list of strings, a document each")
    remaining = iter(texts)
    start = 0
    while some := list(islice(remaining, DOCS_PER_ROW_GROUP)):
        ids = pa.array([str(start + i) for i in range(len(some))], pa.string())
        yield TextBlock(ids, pa.nulls(len(some), pa.string()), _as_strings(some, start))
        start += len(some)


def _as_strings(texts: list[str | None], start: int) -> pa.StringArray:
    for number, text in enumerate(texts, start):
        if not (text is None or isinstance(text, str)):
            raise SourceError(
                f"texts[{number}]",
                found=f"{type(text).__name__} {text!r:.40}",
                wanted="a string or None",
            )
    return pa.array(texts, pa.string())


def blocks_of_table(
    table: Any,  # the tables of six libraries share no type, only Arrow's protocol
    read: ReadOptions,
) -> Iterator[TextBlock]:
    """A table with one document a row; rows without an id get running numbers.

    Raises SourceError for an object that hands out no Arrow data, and for a field that is missing.
    """
    batches = _table_batches(table)
    chosen = (batch.select(text_columns(batch.schema, read, TABLE).columns) for batch in batches)
    try:
        blocks = (pending() for pending in table_blocks(pieces(chosen, None), TABLE, read))
        yield from numbered(blocks)
    except (pa.ArrowException, ValueError) as error:
        raise SourceError(
            TABLE,
            found=str(error).splitlines()[0],
            wanted="columns that Arrow can hold",
            hint="Leave out all columns but text, id and label.",
        ) from error


def _table_batches(table: Any) -> Iterator[pa.RecordBatch]:  # see blocks_of_table
    """The rows of a table; one batch may hold all of them."""
    if hasattr(table, "with_format") and hasattr(table, "iter"):  # Hugging Face: knows its order
        for part in table.with_format("arrow").iter(batch_size=_ROWS_AT_ONCE):
            yield from pa.table(part).to_batches()
    elif hasattr(table, "__arrow_c_stream__"):
        with pa.RecordBatchReader.from_stream(table) as reader:
            yield from reader
    elif hasattr(table, "__arrow_c_array__"):
        yield pa.record_batch(table)
    else:
        raise SourceError(
            TABLE,
            found=f"an object of type {type(table).__name__}",
            wanted="a table that hands out Arrow data, such as pyarrow's, pandas' or polars'",
            hint="A list of texts is for Corpus.from_texts.",
        )


def documents_of_csr(
    counts: csr_array, words: Sequence[str], doc_ids: Sequence[str] | None
) -> MemoryDocuments:
    """Rows of a sparse matrix of counts, (n_docs, n_words); the words keep their order.

    Raises ShapeError for sizes that do not fit, a word given twice, or a count that is negative,
    not finite, or above 4,294,967,295.
    """
    matrix = _canonical(counts)
    n_docs, n_words = matrix.shape
    if len(words) != n_words or len(set(words)) != n_words:
        raise ShapeError(
            "words",
            found=f"{len(words)} words, {len(set(words))} of them different",
            wanted=f"{n_words} different words, one for each column",
        )
    names = [str(i) for i in range(n_docs)] if doc_ids is None else list(doc_ids)
    if len(names) != n_docs:
        raise ShapeError("doc_ids", found=f"{len(names)} ids", wanted=f"{n_docs}, one for each row")
    kept = np.flatnonzero(np.diff(matrix.indptr))
    if not len(kept):
        raise SourceError("counts", found="no count above zero", wanted="at least one")
    vocabulary = Vocabulary(
        tuple(words),
        np.bincount(matrix.indices, minlength=n_words),
        np.rint(np.bincount(matrix.indices, matrix.data, n_words)).astype(np.int64),
    )
    whole = DocumentBatch(
        matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), matrix.data
    )
    groups = tuple(
        _rows_of(whole, kept[start : start + DOCS_PER_ROW_GROUP], names)
        for start in range(0, len(kept), DOCS_PER_ROW_GROUP)
    )
    return MemoryDocuments(vocabulary, groups, n_docs - len(kept), 0)


def _rows_of(
    whole: DocumentBatch, rows: IntArray, names: list[str]
) -> MemoryRowGroup[DocumentBatch]:
    return _group(whole.take(rows), [names[row] for row in rows], [None] * len(rows))


def _canonical(counts: csr_array) -> csr_array:
    """Sorted, duplicates summed, no zeros, counts as uint32 if whole and else float32."""
    # The conversion to rows adds up duplicates in the current type, so widen it first.
    is_of_rows = not issparse(counts) or counts.format == "csr"
    matrix = csr_array(counts if is_of_rows else _widened(counts), copy=True)
    _check_counts(matrix)
    if not matrix.has_canonical_format:
        matrix = _widened(matrix)
        matrix.sum_duplicates()
        _check_counts(matrix)
    matrix.eliminate_zeros()
    matrix.data = _narrow(matrix.data)
    return matrix


def _widened(counts: csr_array) -> csr_array:
    """The sparse matrix in a 64-bit type, integer if it was, so that sums are exact."""
    kind = counts.dtype.kind
    if kind == "f" or counts.dtype == np.uint64:
        return counts.astype(np.float64)
    return counts.astype(np.int64) if kind in "bui" else counts


def _check_counts(matrix: csr_array) -> None:
    if matrix.dtype.kind not in "biuf":
        raise ShapeError("counts", found=f"type {matrix.dtype}", wanted="real numbers")
    largest = np.float64(LARGEST_COUNT)  # float32 would round it up
    bad = np.flatnonzero(~((matrix.data >= 0) & (matrix.data <= largest)))
    if len(bad):
        row = int(np.searchsorted(matrix.indptr, bad[0], side="right")) - 1
        raise ShapeError(
            f"counts, row {row}, column {matrix.indices[bad[0]]}",
            found=f"{matrix.data[bad[0]]}",
            wanted=f"counts of zero or more, {LARGEST_COUNT:,} at most, also when added up",
        )


def _narrow(data: NDArray[np.number]) -> WordCounts:
    whole = np.issubdtype(data.dtype, np.bool_) or (data == np.floor(data)).all()
    return data.astype(np.uint32) if whole else data.astype(np.float32)


def documents_of_gensim(
    bow: Iterable[Iterable[tuple[int, float]]], dictionary: Mapping[int, str]
) -> MemoryDocuments:
    """Documents as lists of (word number, count), under running numbers.

    Words keep the order of their numbers. Raises SourceError for anything but a bag of words,
    ShapeError for a number that is not in the dictionary, or a count that is negative or not
    finite.
    """
    numbers = sorted(dictionary.keys())
    rows = [_pairs(document, number) for number, document in enumerate(bow)]
    indptr = np.concatenate(([0], np.cumsum([len(row) for row in rows]))).astype(np.int64)
    flat = np.array(list(chain.from_iterable(rows)), np.float64).reshape(-1, 2)
    columns = np.searchsorted(numbers, flat[:, 0])
    known = np.append(numbers, -1)[columns] == flat[:, 0]
    if not known.all():
        pair = int(np.argmin(known))
        raise ShapeError(
            f"bow, document {int(np.searchsorted(indptr, pair, side='right')) - 1}",
            found=f"word {flat[pair, 0]:g}",
            wanted=f"one of the {len(numbers)} words of the dictionary",
        )
    counts = csr_array((flat[:, 1], columns, indptr), (len(rows), len(numbers)))
    return documents_of_csr(counts, [dictionary[number] for number in numbers], None)


def _pairs(document: Iterable[tuple[int, float]], number: int) -> list[tuple[float, float]]:
    try:
        # ``index`` and ``+ 0`` refuse strings, which ``float`` would take.
        return [(index(word), float(count + 0)) for word, count in document]
    except (TypeError, ValueError) as error:
        raise SourceError(
            f"bow, document {number}",
            found=f"{document!r:.60}",
            wanted="pairs of word number and count, as Dictionary.doc2bow makes them",
        ) from error
