"""Checking every byte of a corpus: checksums, totals, and what is promised about the rows."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np

from sparsetopics.base.batches import DocumentBatch, Vectors
from sparsetopics.base.errors import CorpusFormatError
from sparsetopics.base.wording import quantity
from sparsetopics.corpora.corpus import Corpus, VectorCorpus, load_any_manifest, open_corpus
from sparsetopics.corpora.store.document_rows import DocumentManifest
from sparsetopics.corpora.store.manifest import DAMAGE, Sizes, files_of
from sparsetopics.corpora.store.parquet_files import columns_by_stem
from sparsetopics.corpora.store.shards import RowBatch, StoredRowGroup
from sparsetopics.corpora.text.pruning import read_candidates
from sparsetopics.corpora.text.vocabulary import FILE_NAME as VOCABULARY_FILE


def validate(folder: str | Path) -> list[str]:
    """All problems of a corpus folder, one sentence each; empty if it is sound.

    Raises CorpusFormatError if the folder cannot be opened as a corpus at all.
    """
    folder = Path(folder)
    manifest = load_any_manifest(folder)
    corpus = open_corpus(folder)
    if isinstance(corpus, Corpus):
        problems = list(_vocabulary_problems(folder, corpus))
    else:
        problems = list(_projection_problems(folder, corpus))
    if isinstance(manifest, DocumentManifest) and manifest.candidates is not None:
        try:
            read_candidates(folder, manifest.candidates)
        except CorpusFormatError as error:
            problems.append(str(error))
    damaged: dict[Path, str] = {}
    for file in files_of(manifest.shards):
        try:
            file.check(folder, DAMAGE)
        except CorpusFormatError as error:
            damaged[folder / file.file] = str(error)
    problems += damaged.values()
    for group in corpus.row_groups:
        assert isinstance(group, StoredRowGroup)  # what open_corpus makes
        if group.shard.path not in damaged:
            problems += _group_problems(group)
        problems += _field_problems(group, corpus.fields, damaged)
    return problems


def _vocabulary_problems(folder: Path, corpus: Corpus) -> Iterator[str]:
    words, grown = corpus.vocabulary.words, corpus.vocabulary.grown
    frequencies = corpus.vocabulary.term_frequency.tolist()
    keys = [(-n, word) for n, word in zip(frequencies, words, strict=True)]
    for row, (former, key) in enumerate(pairwise(keys), start=1):
        if former >= key and row not in grown:  # words are in order among those added at once
            where = f"{folder / VOCABULARY_FILE}, row {row}"
            found = f"{key[1]!r} after {former[1]!r}"
            yield f"{where}: expected falling term frequency, ties by word, but found {found}."
            return


def _projection_problems(folder: Path, corpus: VectorCorpus) -> Iterator[str]:
    n_columns = corpus.projection.n_columns if corpus.projection else corpus.n_columns
    if n_columns != corpus.n_columns:
        expected = quantity(corpus.n_columns, "column")
        yield f"{folder}: expected {expected}, but its projection has {n_columns}."


def _group_problems(group: StoredRowGroup[RowBatch]) -> Iterator[str]:
    """The problems of one row group: each kind of problem once, at its first row."""
    where = f"{group.shard.path}, row group {group.index}"
    try:
        batch = group.read()
        ids: list[str | None] = [*group.read_ids()]
        group.read_labels()
    except CorpusFormatError as error:
        yield str(error)
        return
    if None in ids:
        noun = group.kind.id_column.replace("doc_id", "document id").replace("_", " ")
        yield f"{where}, row {ids.index(None)}: the {noun} is missing."
    if isinstance(batch, DocumentBatch):
        yield from _document_problems(batch, group.sizes, where)
    else:
        yield from _value_problems(batch.values, where)


def _field_problems(
    group: StoredRowGroup[RowBatch], fields: Iterable[str], damaged: Container[Path]
) -> Iterator[str]:
    """The problems of the kept fields of one row group, one for each file at most."""
    for stem, names in columns_by_stem(fields).items():
        if group.beside[stem].path not in damaged:
            try:
                group.read_fields(names)
            except CorpusFormatError as error:
                yield str(error)


def _document_problems(batch: DocumentBatch, sizes: Sizes, where: str) -> Iterator[str]:
    if batch.n_tokens != sizes.n_tokens:
        yield f"{where}: expected {sizes.n_tokens:.12g} tokens, but found {batch.n_tokens:.12g}."
    starts = np.zeros(batch.n_pairs, np.bool_)
    starts[batch.indptr[:-1][np.diff(batch.indptr) > 0]] = True
    falling = np.diff(batch.word_ids, prepend=-1) <= 0
    is_positive = np.isfinite(batch.word_counts) & (batch.word_counts > 0)
    for expected, wrong in (
        ("word ids sorted and unique", falling & ~starts),
        ("counts above zero", ~is_positive),
    ):
        if wrong.any():
            pair = int(np.argmax(wrong))
            row = int(np.searchsorted(batch.indptr, pair, side="right")) - 1
            yield (
                f"{where}, row {row}: expected {expected}, but found word {batch.word_ids[pair]} "
                f"with count {batch.word_counts[pair]}."
            )
    empty = np.diff(batch.indptr) == 0
    if empty.any():
        yield f"{where}, row {int(np.argmax(empty))}: the document has no words."


def _value_problems(values: Vectors, where: str) -> Iterator[str]:
    odd = np.argwhere(~np.isfinite(values))
    if len(odd):
        row, column = odd[0].tolist()
        found = values[row, column]
        yield f"{where}, row {row}, column {column}: expected a finite number, but found {found}."
