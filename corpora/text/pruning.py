"""Which words are kept: stop words, frequency limits, size limit; and in which order.

The frequencies of all words, kept or not, may be stored, so that the vocabulary can grow by them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from sparsetopics.base.batches import IntArray
from sparsetopics.base.errors import CorpusFormatError, OptionError, SourceError
from sparsetopics.base.safe_reading import parse_json
from sparsetopics.base.sealed_files import FileEntry, Refusal, decoded
from sparsetopics.base.wording import quantity, reason_of
from sparsetopics.corpora.readers.blocks import NO_ACCOUNT, CountedBlock, ReadingAccount
from sparsetopics.corpora.sources.arrow_files import arrow_numbers, arrow_strings
from sparsetopics.corpora.text.account import STOPPED
from sparsetopics.corpora.text.lemmas import commonest_forms
from sparsetopics.corpora.text.segmenting import check_divided
from sparsetopics.corpora.text.stop_words import are_stop_words
from sparsetopics.corpora.text.vocabulary import FREQUENCIES, Vocabulary, read_words
from sparsetopics.options.ingest_table import INGEST_OPTION
from sparsetopics.options.option import check_values

_COMPACT_ABOVE = 1_000_000  # rows: fewer are not worth adding up yet


class WordTotals(NamedTuple):
    """Every word of a collection, before pruning, and what happened to others."""

    table: pa.Table  # columns word, document and term (frequencies), in no order that matters
    n_docs: int
    n_with_words: int  # documents that have any
    account: ReadingAccount
    forms: pa.Table | None  # of lemmas, and how often they occur in each block

    def plus(self, more: WordTotals) -> WordTotals:
        """The totals of both collections, without what happened to others and without forms."""
        table = _compacted([self.table, more.table])
        n_with_words = self.n_with_words + more.n_with_words
        return WordTotals(table, self.n_docs + more.n_docs, n_with_words, NO_ACCOUNT, None)


def tally_words(blocks: Iterable[CountedBlock]) -> WordTotals:
    """Document and term frequency of every word, added up block by block.

    Memory grows with the number of distinct words, not of blocks.
    """
    columns = {"word": pa.string(), "document": pa.int64(), "term": pa.int64()}
    tables = [pa.schema(columns).empty_table()]
    n_docs = n_with_words = n_rows = 0
    account = NO_ACCOUNT
    forms: list[pa.Table] = []
    compact_at = _COMPACT_ABOVE
    for block in blocks:
        n_words = len(block.words)
        documents = np.bincount(block.word_ids, minlength=n_words)
        terms = np.bincount(block.word_ids, block.word_counts, n_words).astype(np.int64)
        tables.append(pa.table({"word": block.words, "document": documents, "term": terms}))
        n_docs += len(block.ids)
        account = account + block.account
        forms += [pa.table(dict(block.forms))] if block.forms else []
        n_with_words += int(block.account[0] or np.count_nonzero(np.diff(block.indptr)))
        n_rows += n_words
        if n_rows > compact_at:
            tables = [_compacted(tables)]
            n_rows = len(tables[0])
            compact_at = max(_COMPACT_ABOVE, 2 * n_rows)
    table, added = _compacted(tables), pa.concat_tables(forms) if forms else None
    return WordTotals(table, n_docs, n_with_words, account, added)


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


def prune(
    totals: WordTotals, options: PruningOptions, *, counted: bool
) -> tuple[Vocabulary, dict[str, int]]:
    """Choose the words to keep, ordered by falling term frequency, ties by word; and count the
    tokens that each rule leaves out. A token that several rules would leave out counts for the
    first.

    ``counted`` says that the collection came as counts. Raises SourceError if no word is left; it
    says how many words each limit removed. Raises SourceError, too, if most letters are of words
    that nothing divided.
    """
    _, _, *n_letters, n_uncut, _, _, _ = totals.account
    check_divided(sum(n_letters), n_uncut)
    words, documents, terms = (column.combine_chunks() for column in totals.table.columns)
    documents, terms = documents.to_numpy(), terms.to_numpy()
    if not len(words):
        found = f"words in {quantity(totals.n_docs, 'document')}" if totals.n_docs else "documents"
        raise SourceError("documents", f"there are no {found}", "Check the sources or texts.")
    least, most = document_limits(totals.n_with_words, options, counted=counted)
    stopped = are_stop_words(words, options.stop_words)
    rare, common = documents < least, documents > most
    is_kept, left_out = np.ones(len(words), np.bool_), {}
    for rule, mask in {STOPPED: stopped, "min_df": rare, "max_df": common}.items():
        left_out[rule] = int(terms[is_kept & mask].sum())
        is_kept &= ~mask
    kept = np.flatnonzero(is_kept)
    if not len(kept):
        problem = (
            f"none of {len(words)} words is left in {quantity(totals.n_docs, 'document')} "
            f"({rare.sum()} in fewer than {quantity(least, 'document')}, "
            f"{common.sum()} in more than {most}, {stopped.sum()} stop words)"
        )
        hint = "Relax --min-df, --max-df, --stop-words or --token-pattern."
        raise SourceError("vocabulary", problem, hint)
    order = [("term", "descending"), ("word", "ascending")]
    table = totals.table.take(kept).sort_by(order)[: options.max_words]
    frequencies = table["document"].to_numpy(), table["term"].to_numpy()
    vocabulary = Vocabulary(tuple(table["word"].to_pylist()), *frequencies)
    left_out["max_words"] = int(terms[kept].sum() - vocabulary.term_frequency.sum())
    if totals.forms is not None:
        vocabulary = replace(vocabulary, forms=commonest_forms(vocabulary, totals.forms))
    return vocabulary, left_out


def document_limits(n_docs: int, options: PruningOptions, *, counted: bool) -> tuple[int, int]:
    """The least and the greatest document frequency of a kept word."""
    unlimited = counted or n_docs < SMALL_COLLECTION
    usual = (1, 1.0) if unlimited else (DEFAULT_MIN_DF, DEFAULT_MAX_DF)
    min_df = usual[0] if options.min_df is None else options.min_df
    max_df = usual[1] if options.max_df is None else options.max_df
    least = int(np.ceil(min_df * n_docs)) if isinstance(min_df, float) else min_df
    most = int(max_df * n_docs) if isinstance(max_df, float) else max_df
    return max(least, 1), most


# --- the frequencies of all words -----------------------------------------------------------------
FILE_NAME = "candidates.parquet"
_N_DOCUMENTS, _PRUNING = b"n_documents", b"pruning"  # in the metadata of the file
_DAMAGE = Refusal(CorpusFormatError, "Ingest again")


def save_candidates(folder: Path, totals: WordTotals, pruning: PruningOptions) -> FileEntry:
    """Write the totals, and the cuts that decide which of these words are taken."""
    # In the order of words, which does not depend on the blocks that were added up.
    table = totals.table.filter(pc.field("document") > 0).sort_by("word").combine_chunks()
    cuts = asdict(pruning) | {"stop_words": sorted(pruning.stop_words)}
    metadata = {_N_DOCUMENTS: json.dumps(totals.n_with_words), _PRUNING: json.dumps(cuts)}
    table = table.rename_columns(["word", *FREQUENCIES]).replace_schema_metadata(metadata)
    pq.write_table(table, folder / FILE_NAME, compression="zstd", use_dictionary=False)
    return FileEntry.of(folder / FILE_NAME)


def read_candidates(folder: Path, entry: FileEntry) -> tuple[WordTotals, PruningOptions]:
    """Read what ``save_candidates`` wrote; CorpusFormatError if it is missing, damaged or not the
    file of the ``entry``."""
    entry.check(folder, _DAMAGE)
    path = folder / FILE_NAME
    try:
        table, words, of_documents, of_terms = read_words(path)
        metadata = table.schema.metadata or {}
        n_documents, cuts = (parse_json(metadata[key]) for key in (_N_DOCUMENTS, _PRUNING))
        pruning = decoded(cuts, PruningOptions, path, _DAMAGE)
    except (OSError, KeyError, ValueError, pa.ArrowException) as error:
        problem = f"cannot be read as frequencies of words: {reason_of(error)}"
        raise CorpusFormatError(str(path), problem) from error
    n_docs = decoded(n_documents, int, path, _DAMAGE)
    return _totals(words, of_documents, of_terms, n_docs), pruning


def totals_of(vocabulary: Vocabulary, n_docs: int) -> WordTotals:
    """The totals of a corpus of which only the frequencies of its vocabulary are known."""
    words = arrow_strings(vocabulary.words)
    return _totals(words, vocabulary.document_frequency, vocabulary.term_frequency, n_docs)


def grown(
    known: Vocabulary, totals: WordTotals, tallied: WordTotals, pruning: PruningOptions
) -> Vocabulary:
    """The vocabulary, followed by the other words of ``totals`` that pass the cuts, by falling term
    frequency, ties by word. Their forms are the commonest in ``tallied``, the new documents."""
    try:
        passed, _ = prune(totals, pruning, counted=known.tokenizer is None)
    except SourceError:  # none passes
        return known
    is_known = pc.is_in(arrow_strings(passed.words), value_set=arrow_strings(known.words))
    rows = np.flatnonzero(~np.asarray(is_known))
    if not len(rows):
        return known
    longer = replace(
        known,
        words=(*known.words, *(passed.words[row] for row in rows)),
        document_frequency=np.append(known.document_frequency, passed.document_frequency[rows]),
        term_frequency=np.append(known.term_frequency, passed.term_frequency[rows]),
        grown=(*known.grown, len(known)),
    )
    shown = longer.words
    if tallied.forms is not None:
        words, _, terms = (column.combine_chunks() for column in tallied.table.columns)
        found = terms.take(pc.index_in(arrow_strings(longer.words), value_set=words))
        of_new = replace(longer, term_frequency=np.asarray(pc.fill_null(found, 0)))
        shown = commonest_forms(of_new, tallied.forms)
    elif known.forms is None:
        return longer
    return replace(longer, forms=(*known.shown, *shown[len(known) :]))


def _totals(words: pa.StringArray, documents: IntArray, terms: IntArray, n_docs: int) -> WordTotals:
    numbers = {"document": arrow_numbers(documents), "term": arrow_numbers(terms)}
    return WordTotals(pa.table({"word": words, **numbers}), n_docs, n_docs, NO_ACCOUNT, None)
