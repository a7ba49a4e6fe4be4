"""The frequencies of all words of a corpus, taken or not, by which its vocabulary can grow."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from sparsetopics.base.batches import IntArray
from sparsetopics.base.errors import CorpusFormatError, SourceError
from sparsetopics.base.safe_reading import parse_json
from sparsetopics.base.sealed_files import FileEntry, Refusal, decoded
from sparsetopics.base.wording import reason_of
from sparsetopics.corpora.readers.blocks import NO_ACCOUNT
from sparsetopics.corpora.sources.arrow_files import arrow_numbers, arrow_strings
from sparsetopics.corpora.text.lemmas import commonest_forms
from sparsetopics.corpora.text.pruning import PruningOptions, WordTotals, prune
from sparsetopics.corpora.text.vocabulary import FREQUENCIES, Vocabulary, read_words

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
