"""Looking at every byte of a corpus: checksums, totals, and what is promised of the rows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sparsetopics.base.batches import DocumentBatch
from sparsetopics.base.errors import CorpusFormatError
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.corpora.store.document_manifest import Manifest
from sparsetopics.corpora.store.manifest import VECTORS, damaged_shards, kind_of
from sparsetopics.corpora.store.shards import StoredRowGroup
from sparsetopics.corpora.store.validate_vectors import vector_problems
from sparsetopics.corpora.text.vocabulary import Vocabulary


def validate(folder: str | Path) -> list[str]:
    """All that is wrong with a corpus folder, one sentence each; empty if it is sound.

    Raises CorpusFormatError if the folder cannot be opened as a corpus at all.
    """
    folder = Path(folder)
    if kind_of(folder) == VECTORS:
        return vector_problems(folder)
    return _document_problems(folder)


def _document_problems(folder: Path) -> list[str]:
    manifest = Manifest.load(folder)
    corpus = Corpus.open(folder)
    problems = _vocabulary_problems(folder / manifest.vocabulary.file, corpus.vocabulary)
    damaged = damaged_shards(folder, manifest.shards)
    problems += damaged.values()
    for group in corpus.row_groups:
        assert isinstance(group, StoredRowGroup)  # what Corpus.open makes
        if group.shard.path not in damaged:
            problems += _group_problems(group)
    return problems


def _vocabulary_problems(path: Path, vocabulary: Vocabulary) -> list[str]:
    frequencies = vocabulary.term_frequency.tolist()
    keys = [(-n, word) for n, word in zip(frequencies, vocabulary.words, strict=True)]
    for row in range(1, len(keys)):
        if keys[row - 1] >= keys[row]:
            return [
                f"{path}, row {row}: found {vocabulary.words[row]!r} after "
                f"{vocabulary.words[row - 1]!r}, wanted falling term frequency, ties by word."
            ]
    return []


def _group_problems(group: StoredRowGroup) -> Iterator[str]:
    """Of one row group; each kind of problem once, at its first row."""
    where = f"{group.shard.path}, row group {group.index}"
    try:
        batch = group.read()
        doc_ids = group.read_doc_ids()
        group.read_labels()
    except CorpusFormatError as error:
        yield str(error)
        return
    if batch.n_tokens != group.n_tokens:
        yield f"{where}: found {batch.n_tokens:.12g} tokens, wanted {group.n_tokens:.12g}."
    if None in doc_ids:
        yield f"{where}, row {doc_ids.index(None)}: found no document id, wanted one."  # type: ignore[arg-type]
    for wanted, wrong in _broken_invariants(batch):
        if wrong.any():
            pair = int(np.argmax(wrong))
            row = int(np.searchsorted(batch.indptr, pair, side="right")) - 1
            yield (
                f"{where}, row {row}: found word {batch.word_ids[pair]} with count "
                f"{batch.word_counts[pair]}, wanted {wanted}."
            )
    empty = np.diff(batch.indptr) == 0
    if empty.any():
        yield f"{where}, row {int(np.argmax(empty))}: found no words, wanted at least one."


def _broken_invariants(
    batch: DocumentBatch,
) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    """What is wanted of each pair, and which pairs break it, (n_pairs,)."""
    starts = np.zeros(batch.n_pairs, np.bool_)
    starts[batch.indptr[:-1][np.diff(batch.indptr) > 0]] = True
    falling = np.diff(batch.word_ids, prepend=-1) <= 0
    yield "word ids sorted and unique", falling & ~starts
    yield "counts above zero", ~(np.isfinite(batch.word_counts) & (batch.word_counts > 0))
