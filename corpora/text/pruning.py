"""Which words are kept: stop words, frequency limits, size limit; and in which order."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparsetopics.base.batches import IntArray
from sparsetopics.base.errors import OptionError, SourceError
from sparsetopics.corpora.readers.blocks import CountedBlock
from sparsetopics.corpora.sources.byte_stream import read_utf8
from sparsetopics.corpora.text.vocabulary import Vocabulary

_COMPACT_ABOVE = 1_000_000  # rows: fewer are not worth adding up yet


class WordTotals(NamedTuple):
    """Every word of a collection, before pruning."""

    words: pa.StringArray  # in no order that matters
    document_frequency: IntArray  # (n_words,)
    term_frequency: IntArray  # (n_words,)
    n_docs: int


class WordTally:
    """Document and term frequency of every word, added up block by block.

    Its memory grows with the number of distinct words, not of blocks.
    """

    def __init__(self) -> None:
        self._tables: list[pa.Table] = []
        self._n_rows = 0
        self._compact_at = _COMPACT_ABOVE
        self._n_docs = 0

    @classmethod
    def of(cls, blocks: Iterable[CountedBlock]) -> WordTotals:
        """The totals of all blocks."""
        tally = cls()
        for block in blocks:
            tally._add(block)
        return tally._totals()

    def _add(self, block: CountedBlock) -> None:
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
        self._n_docs += len(block.ids)
        if self._n_rows > self._compact_at:
            self._compact()

    def _totals(self) -> WordTotals:
        table = self._compact()
        return WordTotals(
            table["word"].combine_chunks(),
            table["document_sum"].to_numpy(),
            table["term_sum"].to_numpy(),
            self._n_docs,
        )

    def _compact(self) -> pa.Table:
        """Reduce the tables to one row for each word."""
        if not self._tables:
            return _no_words()
        grouped = pa.concat_tables(self._tables).group_by("word", use_threads=False)
        summed = grouped.aggregate([("document", "sum"), ("term", "sum")])
        self._tables = [summed.rename_columns(["word", "document", "term"])]
        self._n_rows = len(summed)
        self._compact_at = max(_COMPACT_ABOVE, 2 * self._n_rows)
        return summed


def _no_words() -> pa.Table:
    """Not a constant, because Arrow imports pandas for its first array."""
    columns = {"word": pa.string(), "document_sum": pa.int64(), "term_sum": pa.int64()}
    return pa.table({name: pa.array([], kind) for name, kind in columns.items()})


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
        for name, limit in (("min_df", self.min_df), ("max_df", self.max_df)):
            if limit is None:
                continue
            if isinstance(limit, float) and not 0 <= limit <= 1:
                raise OptionError(
                    name,
                    found=f"{limit}",
                    wanted="a share from 0.0 to 1.0, or a whole number of documents",
                )
            if isinstance(limit, int) and limit < 1:
                raise OptionError(name, found=f"{limit}", wanted="1 or more documents")
        if self.max_words is not None and self.max_words < 1:
            raise OptionError("max_words", found=f"{self.max_words}", wanted="1 or more words")


def prune(totals: WordTotals, options: PruningOptions, *, counted: bool) -> Vocabulary:
    """Choose the words to keep, ordered by falling term frequency, ties by word.

    ``counted`` says that the collection came as counts. Raises SourceError if no word is left; it
    says how many words each limit removed.
    """
    if not len(totals.words):
        raise SourceError(
            "documents",
            found=f"no words in {totals.n_docs} documents",
            wanted="at least one word",
            hint="Check the sources and --token-pattern.",
        )
    least, most = _limits(totals.n_docs, options, counted=counted)
    too_rare = totals.document_frequency < least
    too_common = totals.document_frequency > most
    stop_words = pa.array(sorted(options.stop_words), pa.string())
    stopped = np.asarray(pc.is_in(totals.words, value_set=stop_words))
    kept = np.flatnonzero(~(too_rare | too_common | stopped))
    if not len(kept):
        raise SourceError(
            "vocabulary",
            found=f"none of {len(totals.words)} words left in {totals.n_docs} documents "
            f"({int(too_rare.sum())} in fewer than {least} documents, {int(too_common.sum())} in "
            f"more than {most}, {int(stopped.sum())} stop words)",
            wanted="at least one word",
            hint="Relax --min-df, --max-df, --stop-words or --token-pattern.",
        )
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
    min_df = options.min_df
    max_df = options.max_df
    if min_df is None:
        min_df = 1 if unlimited else DEFAULT_MIN_DF
    if max_df is None:
        max_df = 1.0 if unlimited else DEFAULT_MAX_DF
    least = int(np.ceil(min_df * n_docs)) if isinstance(min_df, float) else min_df
    most = int(max_df * n_docs) if isinstance(max_df, float) else max_df
    return max(least, 1), most


def english_stop_words() -> frozenset[str]:
    """English function words, such as articles and pronouns, and the stems of contractions."""
    text = files("sparsetopics.corpora.text").joinpath("english.txt").read_text(encoding="utf-8")
    return frozenset(text.split())


def read_stop_words(path: Path) -> frozenset[str]:
    """The words of a file, separated by white space; SourceError if it cannot be read."""
    return frozenset(read_utf8(path, "strict").split())
