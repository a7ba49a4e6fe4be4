"""Documents in memory, from texts or from a sparse matrix, as row groups of a corpus."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from scipy.sparse import csr_array, issparse

from sparsetopics.base.batches import DocumentBatch, WordCounts
from sparsetopics.base.errors import ShapeError, SourceError
from sparsetopics.corpora.readers.blocks import CountedBlock, TextBlock
from sparsetopics.corpora.readers.count_lines import LARGEST_COUNT
from sparsetopics.corpora.store.encoding import encode
from sparsetopics.corpora.store.shards import DOCS_PER_ROW_GROUP, DocumentRows
from sparsetopics.corpora.text.pruning import PruningOptions, prune
from sparsetopics.corpora.text.tokenizer import TokenizerOptions, count_texts, options_for
from sparsetopics.corpora.text.vocabulary import Vocabulary
from sparsetopics.corpora.text.word_tally import WordTally


@dataclass(frozen=True, slots=True, eq=False)
class MemoryRowGroup:
    """Documents in memory."""

    rows: DocumentRows

    @property
    def n_docs(self) -> int:
        return self.rows.batch.n_docs

    @property
    def n_pairs(self) -> int:
        return self.rows.batch.n_pairs

    @property
    def n_tokens(self) -> int | float:
        counts = self.rows.batch.word_counts
        if counts.dtype == np.uint32:
            return int(counts.sum(dtype=np.int64))
        return self.rows.batch.n_tokens

    def read(self) -> DocumentBatch:
        return self.rows.batch

    def read_doc_ids(self) -> list[str]:
        return self.rows.doc_ids.to_pylist()  # type: ignore[no-any-return]

    def read_labels(self) -> list[str | None]:
        return self.rows.labels.to_pylist()  # type: ignore[no-any-return]


class MemoryDocuments(NamedTuple):
    """What a corpus in memory is made of."""

    vocabulary: Vocabulary
    row_groups: tuple[MemoryRowGroup, ...]
    n_skipped: int
    n_unknown_tokens: int


def documents_of_texts(
    texts: Iterable[str | None],
    tokenizer: TokenizerOptions | None,
    pruning: PruningOptions,
    given: Vocabulary | None,
) -> MemoryDocuments:
    """Tokenise, prune and encode; SourceError if nothing is left."""
    if isinstance(texts, str):  # whose letters would be documents
        raise SourceError("texts", found="a string", wanted="a list of strings, a document each")
    return documents_of_blocks(_text_blocks(texts), "texts", tokenizer, pruning, given)


def documents_of_blocks(
    texts: Iterable[TextBlock],
    where: str,
    tokenizer: TokenizerOptions | None,
    pruning: PruningOptions,
    given: Vocabulary | None,
) -> MemoryDocuments:
    """As ``documents_of_texts``, of documents with ids and labels."""
    tokenizer = options_for(given, tokenizer)
    if given is None and tokenizer.ngrams > 1:
        tokenizer = tokenizer.before_joining(pruning.stop_words)
    blocks = [count_texts(block, tokenizer) for block in texts]
    vocabulary = _learned(blocks, pruning) if given is None else given
    vocabulary = replace(vocabulary, tokenizer=tokenizer.settings())
    words = pa.array(vocabulary.words, pa.string())
    encoded = [encode(block, words) for block in blocks]
    groups = tuple(MemoryRowGroup(block.rows) for block in encoded if block.rows.batch.n_docs)
    n_skipped = sum(block.n_skipped for block in encoded)
    if not groups:
        raise SourceError(
            where,
            found=f"none of {n_skipped} documents with a word of the vocabulary",
            wanted="at least one",
        )
    n_unknown = 0 if given is None else sum(block.n_unknown_tokens for block in encoded)
    return MemoryDocuments(vocabulary, groups, n_skipped, n_unknown)


def _text_blocks(texts: Iterable[str | None]) -> Iterator[TextBlock]:
    """Texts under running numbers, a row group at a time."""
    remaining = iter(texts)
    start = 0
    while some := list(islice(remaining, DOCS_PER_ROW_GROUP)):
        doc_ids = pa.array([str(start + i) for i in range(len(some))], pa.string())
        yield TextBlock(doc_ids, pa.nulls(len(some), pa.string()), _as_strings(some, start))
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


def _learned(blocks: Sequence[CountedBlock], pruning: PruningOptions) -> Vocabulary:
    tally = WordTally()
    for block in blocks:
        tally.add(block)
    return prune(tally.totals(), pruning, counted=False)


def documents_of_csr(
    counts: Any, words: Sequence[str], doc_ids: Sequence[str] | None
) -> MemoryDocuments:
    """Rows of a sparse matrix of counts; the words keep their order.

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
        MemoryRowGroup(_rows_of(whole, kept[start : start + DOCS_PER_ROW_GROUP], names))
        for start in range(0, len(kept), DOCS_PER_ROW_GROUP)
    )
    return MemoryDocuments(vocabulary, groups, n_docs - len(kept), 0)


def _rows_of(whole: DocumentBatch, rows: Any, names: list[str]) -> DocumentRows:
    return DocumentRows(
        pa.array([names[row] for row in rows], pa.string()),
        pa.nulls(len(rows), pa.string()),
        whole.take(rows),
    )


def _canonical(counts: Any) -> csr_array:
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


def _widened(counts: Any) -> Any:
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


def _narrow(data: Any) -> WordCounts:
    whole = np.issubdtype(data.dtype, np.bool_) or ((data == np.floor(data)).all())
    narrow: WordCounts = data.astype(np.uint32 if whole else np.float32)
    return narrow
