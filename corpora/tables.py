"""Tables of other libraries as documents in memory: whatever hands out Arrow data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from sparsetopics.base.errors import SourceError
from sparsetopics.corpora.memory_corpus import MemoryDocuments, documents_of_blocks
from sparsetopics.corpora.readers.arrow import table_blocks, text_columns
from sparsetopics.corpora.readers.blocks import TextBlock, with_running_numbers
from sparsetopics.corpora.sources.arrow_batches import pieces
from sparsetopics.corpora.sources.sources import ReadOptions
from sparsetopics.corpora.text.pruning import PruningOptions
from sparsetopics.corpora.text.tokenizer import TokenizerOptions
from sparsetopics.corpora.text.vocabulary import Vocabulary

_ROWS_AT_ONCE = 1_024
_WHERE = "table"  # for messages


def documents_of_table(
    table: Any,
    read: ReadOptions,
    tokenizer: TokenizerOptions | None,
    pruning: PruningOptions,
    given: Vocabulary | None,
) -> MemoryDocuments:
    """Tokenise, prune and encode a table, one document a row.

    Raises SourceError for what hands out no Arrow data, for a field that is not there, and if
    nothing is left.
    """
    return documents_of_blocks(_blocks(table, read), _WHERE, tokenizer, pruning, given)


def _blocks(table: Any, read: ReadOptions) -> Iterator[TextBlock]:
    """Each document with an id, a running number where it has none."""
    n_documents = 0
    try:
        batches = (_chosen(batch, read) for batch in _batches(table))
        for pending in table_blocks(pieces(batches, None), _WHERE, read):
            block = pending()
            doc_ids = with_running_numbers(block.doc_ids, n_documents)
            n_documents += len(doc_ids)
            yield block._replace(doc_ids=doc_ids)
    except (pa.ArrowException, ValueError) as error:
        raise SourceError(
            _WHERE,
            found=str(error).splitlines()[0],
            wanted="columns that Arrow can hold",
            hint="Leave out all columns but text, id and label.",
        ) from error


def _chosen(batch: pa.RecordBatch, read: ReadOptions) -> pa.RecordBatch:
    return batch.select(text_columns(batch.schema, read, _WHERE).columns)


def _batches(table: Any) -> Iterator[pa.RecordBatch]:
    """As they come, which may be all in one."""
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
            _WHERE,
            found=f"an object of type {type(table).__name__}",
            wanted="a table that hands out Arrow data, such as pyarrow's, pandas' or polars'",
            hint="A list of texts is for Corpus.from_texts.",
        )
