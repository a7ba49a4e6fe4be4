"""Which words are kept: stop words, frequency limits, size limit; and in which order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparsetopics.base.errors import OptionError, SourceError
from sparsetopics.corpora.text.vocabulary import Vocabulary
from sparsetopics.corpora.text.word_tally import WordTotals

SMALL_COLLECTION = 100  # documents; below this the frequency limits are off unless asked for
DEFAULT_MIN_DF = 2
DEFAULT_MAX_DF = 0.5


@dataclass(frozen=True, slots=True)
class PruningOptions:
    """Limits on the vocabulary.

    A float limit is a share of the documents, an integer a number of them; a word is kept if
    ``min_df <= document frequency <= max_df``. None stands for 2 and 0.5, and for no limit where
    the collection has fewer than 100 documents or comes as counts, where words were chosen
    before. ``max_words`` keeps the most frequent words.
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
    """The kept words by falling term frequency, ties by word.

    ``counted`` says that the collection came as counts. Raises SourceError if no word is left,
    saying which limit took how many.
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
        tuple(table["word"].to_pylist()),
        table["document"].to_numpy(),
        table["term"].to_numpy(),
    )


def _limits(n_docs: int, options: PruningOptions, *, counted: bool) -> tuple[int, int]:
    """Least and greatest document frequency of a kept word."""
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
