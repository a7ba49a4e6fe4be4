"""Which words are kept: stop words, frequency limits, size limit; and in which order."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparsetopics.base.batches import IntArray
from sparsetopics.base.errors import OptionError, SourceError
from sparsetopics.base.wording import quantity
from sparsetopics.corpora.readers.blocks import CountedBlock
from sparsetopics.corpora.text.vocabulary import Vocabulary
from sparsetopics.options.ingest_table import INGEST_OPTION
from sparsetopics.options.option import check_values

_COMPACT_ABOVE = 1_000_000  # rows: fewer are not worth adding up yet


class WordTotals(NamedTuple):
    """Every word of a collection, before pruning."""

    words: pa.StringArray  # in no order that matters
    document_frequency: IntArray  # (n_words,)
    term_frequency: IntArray  # (n_words,)
    n_docs: int


def tally_words(blocks: Iterable[CountedBlock]) -> WordTotals:
    """Document and term frequency of every word, added up block by block.

    Memory grows with the number of distinct words, not of blocks.
    """
    columns = {"word": pa.string(), "document": pa.int64(), "term": pa.int64()}
    tables = [pa.schema(columns).empty_table()]
    n_docs = n_rows = 0
    compact_at = _COMPACT_ABOVE
    for block in blocks:
        n_words = len(block.words)
        documents = np.bincount(block.word_ids, minlength=n_words)
        terms = np.bincount(block.word_ids, block.word_counts, n_words).astype(np.int64)
        tables.append(pa.table({"word": block.words, "document": documents, "term": terms}))
        n_docs += len(block.ids)
        n_rows += n_words
        if n_rows > compact_at:
            tables = [_compacted(tables)]
            n_rows = len(tables[0])
            compact_at = max(_COMPACT_ABOVE, 2 * n_rows)
    words, documents, terms = (column.combine_chunks() for column in _compacted(tables).columns)
    return WordTotals(words, documents.to_numpy(), terms.to_numpy(), n_docs)


def _compacted(tables: list[pa.Table]) -> pa.Table:
    """One table with one row for each word."""
    grouped = pa.concat_tables(tables).group_by("word", use_threads=False)
    summed = grouped.aggregate([("document", "sum"), ("term", "sum")])
    return summed.rename_columns(["word", "document", "term"])


SMALL_COLLECTION = 100  # documents; below this the frequency limits are off unless asked for
DEFAULT_MIN_DF = 2
DEFAULT_MAX_DF = 0.5


@dataclass(frozen=True, slots=True)
class PruningOptions:
    """Limits on the vocabulary.

    A float limit is a share of the documents, an integer is a number of them. A word is kept if
    ``min_df <= document frequency <= max_df``. The default limits are 2 and 0.5. There are none for
    collections of fewer than 100 documents, nor for counts, whose words have been chosen before.
    ``max_words`` keeps the most frequent words.
    """

    min_df: int | float | None = None
    max_df: int | float | None = None
    max_words: int | None = None
    stop_words: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        check_values(INGEST_OPTION, "pruning", self)

    def refuse_beside(self, other: str, why: str) -> None:
        """OptionError for the first option that was given, which ``--other`` excludes."""
        for option in fields(self):
            if getattr(self, option.name) != option.default:
                raise OptionError(option.name, f"cannot be combined with --{other}, {why}")


def prune(totals: WordTotals, options: PruningOptions, *, counted: bool) -> Vocabulary:
    """Choose the words to keep, ordered by falling term frequency, ties by word.

    ``counted`` says that the collection came as counts. Raises SourceError if no word is left; it
    says how many words each limit removed.
    """
    if not len(totals.words):
        problem = f"there are no words in {quantity(totals.n_docs, 'document')}"
        raise SourceError("documents", problem, "Check the sources and --token-pattern.")
    least, most = _limits(totals.n_docs, options, counted=counted)
    too_rare = totals.document_frequency < least
    too_common = totals.document_frequency > most
    stop_words = pa.array(sorted(options.stop_words), pa.string())
    stopped = np.asarray(pc.is_in(totals.words, value_set=stop_words))
    kept = np.flatnonzero(~(too_rare | too_common | stopped))
    if not len(kept):
        problem = (
            f"none of {len(totals.words)} words is left in {quantity(totals.n_docs, 'document')} "
            f"({too_rare.sum()} in fewer than {quantity(least, 'document')}, "
            f"{too_common.sum()} in more than {most}, {stopped.sum()} stop words)"
        )
        hint = "Relax --min-df, --max-df, --stop-words or --token-pattern."
        raise SourceError("vocabulary", problem, hint)
    table = pa.table(
        {
            "word": totals.words.take(kept),
            "document": totals.document_frequency[kept],
            "term": totals.term_frequency[kept],
        }
    ).sort_by([("term", "descending"), ("word", "ascending")])[: options.max_words]
    return Vocabulary(
        tuple(table["word"].to_pylist()), table["document"].to_numpy(), table["term"].to_numpy()
    )


def _limits(n_docs: int, options: PruningOptions, *, counted: bool) -> tuple[int, int]:
    """The least and the greatest document frequency of a kept word."""
    unlimited = counted or n_docs < SMALL_COLLECTION
    min_df, max_df = options.min_df, options.max_df
    if min_df is None:
        min_df = 1 if unlimited else DEFAULT_MIN_DF
    if max_df is None:
        max_df = 1.0 if unlimited else DEFAULT_MAX_DF
    least = int(np.ceil(min_df * n_docs)) if isinstance(min_df, float) else min_df
    most = int(max_df * n_docs) if isinstance(max_df, float) else max_df
    return max(least, 1), most
