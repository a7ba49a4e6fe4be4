"""Topics of texts in Arrow's record batches, for engines that call a function with these."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache, partial
from itertools import chain, islice
from pathlib import Path
from threading import Lock
from types import NoneType
from typing import NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from sparsetopics.answers.proportions import ShareColumns, Shares, shares_of
from sparsetopics.base.errors import RunError, SourceError, naming_parameters
from sparsetopics.base.sealed_files import file_sha256
from sparsetopics.corpora.ingest_options import document_options, settled_tokenizer
from sparsetopics.corpora.memory_corpus import blocks_of_table
from sparsetopics.corpora.readers.options import ReadOptions, listed
from sparsetopics.corpora.store.document_rows import renumbered
from sparsetopics.corpora.text.tokenizer import TokenizerOptions, count_texts
from sparsetopics.model.statistics import tokens_of_documents
from sparsetopics.options.option import check_type, counts_from, path_of, quoted, shown
from sparsetopics.runs.run import AnyRun, check_folder, load_run
from sparsetopics.runs.run_files import SETTINGS_FILE

# What engines hand over: record batches, or a table or a column of Arrow or of Polars.
Rows: TypeAlias = Iterable[pa.RecordBatch] | pa.RecordBatch | pa.Table | pa.ChunkedArray
_AT_ONCE = 2_048  # texts: the weights of their words fit the cache of a processor
_READING = Lock()  # so that threads that begin together read a run once


@naming_parameters()
def infer_batches(
    run: str | Path, text: str = "text", *, top: int | None = None, tokenizer: str | None = None
) -> Callable[[Rows], Rows]:
    """Return a function that adds topics to Arrow record batches with texts.

    The function takes an iterable of record batches and returns an iterator of them. From a table
    of Arrow or Polars, or one record batch, it makes a table. From the texts alone, as an array, it
    makes the topics alone. So DuckDB, Polars, Spark, Ray Data and Hugging Face datasets can call
    it. It can be pickled, which stores the path of the run; each process reads the run once. Rows
    are answered in pieces, and memory does not depend on the number of batches.

    The rows get a column ``proportions`` (``responsibilities`` of a mixture) with one number for
    each topic, or with ``top`` a column ``topics`` with a list of the largest topics: structs of
    ``topic``, ``id`` and ``proportion`` (``responsibility``). The values are those that
    ``sparsetopics infer`` writes. A text without a known word has a null.

    Args:
        run: The folder of a run that was trained with documents.
        text: The name of the column with the texts.
        top: The number of topics to list for each text, the largest ones that it has.
        tokenizer: The MODULE:NAME of a function, which is needed if such a function cut the
            training texts.

    Raises OptionError for values that cannot be used, RunError if the folder is damaged or is not a
    run of documents. The returned function raises SourceError for rows that do not have the texts,
    VocabularyError for texts if a tokenizer is needed but not named, and RunError if the folder
    now contains another run.
    """
    path = path_of("run", run).absolute()
    check_type("text", text, str, "the name of a column")
    if top is not None:
        counts_from(1).check("top", top)
    check_type("tokenizer", tokenizer, (str, NoneType), "MODULE:NAME or None")
    check_folder(path)
    digest = file_sha256(path / SETTINGS_FILE)
    asked = (path, digest, text, None if top is None else int(top), tokenizer)
    _with_topics(asked, [])  # refuses what cannot be used
    return partial(_with_topics, asked)


# The path of a run, its digest, the column with the texts, ``top`` and ``tokenizer``.
_Asked = tuple[Path, str, str, int | None, str | None]


class _Inference(NamedTuple):
    """How the topics of texts are found."""

    columns: ShareColumns
    shares: Shares
    word_ids: Mapping[str, int]
    tokenizer: TokenizerOptions
    text: str  # name of the column

    def topics(self, texts: pa.Array | pa.ChunkedArray) -> Iterator[pa.Array]:
        """The topics of ``texts`` (n_texts,), in pieces."""
        read = ReadOptions(text_field=quoted("text", [self.text]))
        for block in blocks_of_table(pa.table({self.text: texts}), read):
            counted = count_texts(block, self.tokenizer)
            # Arrow's index_in would hash all words of the run again for each batch.
            own = [self.word_ids.get(word, -1) for word in counted.words.to_pylist()]
            documents = renumbered(counted, np.array(own, np.int32), len(self.word_ids))
            for start in range(0, documents.n_docs, _AT_ONCE):
                some = documents[start : start + _AT_ONCE]
                yield self.columns.values(self.shares(some), tokens_of_documents(some))

    def batches(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Add the topics to batches, and divide long ones."""
        for batch in batches if isinstance(batches, Iterable) else [batches]:
            if not isinstance(batch, pa.RecordBatch):
                problem = f"expected record batches of Arrow, but found {shown(batch)}"
                hint = "Pass an iterable of these, or a table or a column of pyarrow or polars."
                raise SourceError("rows", problem, hint)
            schema, start = self.with_topics(batch.schema), 0
            nothing = pa.nulls(0, self.columns.values_type)  # engines learn the columns from it
            for topics in self.topics(batch[self.text]) if len(batch) else [nothing]:
                rows = batch.slice(start, len(topics))
                yield pa.record_batch([*rows.columns, topics], schema)
                start += len(topics)

    def with_topics(self, schema: pa.Schema) -> pa.Schema:
        """Add the column to those of batches; SourceError for columns that do not fit."""
        name, kind = self.columns.values_name, self.columns.values_type
        if schema.names.count(self.text) != 1:
            problem = f"expected one column {self.text!r}, but found {listed(schema.names)}"
            raise SourceError("rows", problem, "Name another with text=.")
        if name in schema.names:
            raise SourceError("rows", f"there is already a column {name!r}", "Rename it.")
        return schema.append(pa.field(name, kind))


def _with_topics(asked: _Asked, rows: Rows) -> Rows:
    """The rows with their topics, in the form in which they came; a batch becomes a table."""
    polars = sys.modules.get("polars")
    if polars is not None and isinstance(rows, polars.DataFrame | polars.Series):
        found: Rows = polars.from_arrow(_with_topics(asked, rows.to_arrow()))
        return found
    with _READING:
        inference = _inference(asked)
    if isinstance(rows, pa.Array | pa.ChunkedArray):
        return pa.chunked_array(inference.topics(rows), inference.columns.values_type)
    if isinstance(rows, pa.Table | pa.RecordBatch):
        batches = rows.to_batches() if isinstance(rows, pa.Table) else [rows]
        return pa.Table.from_batches(inference.batches(batches), inference.with_topics(rows.schema))
    found_of = inference.batches(rows)
    first = [*islice(found_of, 1)]  # so that wrong rows are refused by the call
    return chain(first, found_of)


@lru_cache(maxsize=16)
def _inference(asked: _Asked) -> _Inference:
    path, digest, text, top, tokenizer = asked
    run, shares, word_ids = _read(path, digest)
    options = document_options({"tokenizer": tokenizer}, vocabulary=run.words)
    how = settled_tokenizer(options, run.words, lambda how: ())
    return _Inference(ShareColumns.of(run, top), shares, word_ids, how, text)


@lru_cache(maxsize=4)
def _read(path: Path, digest: str) -> tuple[AnyRun, Shares, Mapping[str, int]]:
    """A run, and what is made of it alone; RunError if its settings have another digest."""
    run = load_run(path)
    word_ids = {word: number for number, word in enumerate(run.words.words)}
    if file_sha256(path / SETTINGS_FILE) != digest:
        hint = "Call infer_batches again."
        raise RunError(str(path), "the folder now contains another run", hint)
    return run, shares_of(run.model), word_ids
