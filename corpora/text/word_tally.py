"""Document and term frequency of every word, added up block by block."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from sparsetopics.base.batches import IntArray
from sparsetopics.corpora.readers.blocks import CountedBlock

_COMPACT_ABOVE = 1_000_000  # rows; below this adding up is left for later


class WordTotals(NamedTuple):
    """Every word of a collection, before pruning."""

    words: pa.StringArray  # in no order that matters
    document_frequency: IntArray  # (n_words,)
    term_frequency: IntArray  # (n_words,)
    n_docs: int


class WordTally:
    """Adds up blocks; its memory grows with the number of distinct words, not of blocks."""

    def __init__(self) -> None:
        self._tables: list[pa.Table] = []
        self._n_rows = 0
        self._compact_at = _COMPACT_ABOVE
        self._n_docs = 0

    def add(self, block: CountedBlock) -> None:
        n_words = len(block.words)
        table = pa.table(
            {
                "word": block.words,
                "document": np.bincount(block.word_ids, minlength=n_words),
                "term": np.bincount(block.word_ids, block.word_counts, n_words).astype(np.int64),
            }
        )
        self._tables.append(table)
        self._n_rows += n_words
        self._n_docs += len(block.doc_ids)
        if self._n_rows > self._compact_at:
            self._compact()

    def totals(self) -> WordTotals:
        table = self._compact()
        return WordTotals(
            table["word"].combine_chunks(),
            table["document_sum"].to_numpy(),
            table["term_sum"].to_numpy(),
            self._n_docs,
        )

    def _compact(self) -> pa.Table:
        """One row a word again."""
        if not self._tables:
            return _no_words()
        grouped = pa.concat_tables(self._tables).group_by("word", use_threads=False)
        summed = grouped.aggregate([("document", "sum"), ("term", "sum")])
        self._tables = [summed.rename_columns(["word", "document", "term"])]
        self._n_rows = len(summed)
        self._compact_at = max(_COMPACT_ABOVE, 2 * self._n_rows)
        return summed


def _no_words() -> pa.Table:
    """Made when it is asked for: Arrow imports pandas for its first array."""
    columns = {"word": pa.string(), "document_sum": pa.int64(), "term_sum": pa.int64()}
    return pa.table({name: pa.array([], kind) for name, kind in columns.items()})
