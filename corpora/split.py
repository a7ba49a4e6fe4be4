"""Dividing a corpus at random into one to train on and one to score on."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sparsetopics.base.batches import IntArray
from sparsetopics.base.errors import OptionError
from sparsetopics.base.outputs import output_folder, refuse_inputs, written_together
from sparsetopics.base.own_folders import CORPUS
from sparsetopics.corpora.corpus import Corpus, RowGroup
from sparsetopics.corpora.opening import open_corpus
from sparsetopics.corpora.store.document_manifest import Manifest, write_manifest
from sparsetopics.corpora.store.manifest import HasTotals
from sparsetopics.corpora.store.shards import DocumentRows, ShardWriter
from sparsetopics.corpora.store.vector_manifest import VectorManifest
from sparsetopics.corpora.store.vector_shards import VectorRows, table_of, vector_writer
from sparsetopics.corpora.vectors import VectorCorpus, VectorGroup


def split_corpus(
    path: str | Path,
    train: Path,
    held_out: Path,
    share: float,
    overwrite: bool,
    rng: np.random.Generator,
) -> tuple[HasTotals, HasTotals]:
    """Write two corpora with the vocabulary or projection of the first; the training one's
    manifest comes first.

    ``share`` of the documents or items, rounded, are held out; both keep the order of the corpus.
    The two appear together or not at all. Raises OptionError if one side would be empty, and
    OutputError if one of the two cannot be written.
    """
    refuse_inputs(held_out, [train])
    outputs = [
        output_folder(out, CORPUS, overwrite=overwrite, inputs=[Path(path)])
        for out in (train, held_out)
    ]
    corpus = open_corpus(path)
    n_rows, noun = _rows_of(corpus)
    n_held_out = round(share * n_rows)
    if not 0 < n_held_out < n_rows:
        raise OptionError(
            "held_out",
            found=f"{share}, {n_held_out} of {n_rows} {noun}",
            wanted=f"a share that leaves {noun} on both sides",
        )
    is_held_out = np.zeros(n_rows, np.bool_)
    is_held_out[rng.permutation(n_rows)[:n_held_out]] = True
    with written_together(outputs) as (train_folder, held_out_folder):
        return (
            _write_part(corpus, Path(path), ~is_held_out, train_folder),
            _write_part(corpus, Path(path), is_held_out, held_out_folder),
        )


def _rows_of(corpus: Corpus | VectorCorpus) -> tuple[int, str]:
    """How many rows there are, and what they are called."""
    if isinstance(corpus, VectorCorpus):
        return corpus.n_items, "items"
    return corpus.n_docs, "documents"


def _write_part(
    corpus: Corpus | VectorCorpus,
    path: Path,
    chosen: NDArray[np.bool_],  # (n_rows,)
    folder: Path,
) -> HasTotals:
    if isinstance(corpus, VectorCorpus):
        return _write_vectors(corpus, path, chosen, folder)
    return _write_documents(corpus, chosen, folder)


def _write_documents(corpus: Corpus, chosen: NDArray[np.bool_], folder: Path) -> Manifest:
    with ShardWriter(folder) as writer:
        start = 0
        for group in corpus.row_groups:
            writer.append(_documents(group, np.flatnonzero(chosen[start : start + group.n_docs])))
            start += group.n_docs
        shards = writer.finish()
    return write_manifest(folder, corpus.vocabulary, shards, 0, 0)


def _documents(group: RowGroup, rows: IntArray) -> DocumentRows:
    return DocumentRows(
        pa.array(group.read_doc_ids(), pa.string()).take(rows),
        pa.array(group.read_labels(), pa.string()).take(rows),
        group.read().take(rows),
    )


def _write_vectors(
    corpus: VectorCorpus, path: Path, chosen: NDArray[np.bool_], folder: Path
) -> VectorManifest:
    whole = VectorManifest.load(path)
    if whole.projection is not None:
        shutil.copyfile(path / whole.projection.file, folder / whole.projection.file)
    with vector_writer(folder, corpus.n_columns) as writer:
        start = 0
        for group in corpus.row_groups:
            rows = np.flatnonzero(chosen[start : start + group.n_items])
            writer.append(table_of(_items(group, rows)))
            start += group.n_items
        shards = writer.finish()
    manifest = VectorManifest(whole.n_columns, whole.columns, whole.made, whole.projection, shards)
    manifest.save(folder)
    return manifest


def _items(group: VectorGroup, rows: IntArray) -> VectorRows:
    return VectorRows(
        pa.array(group.read_item_ids(), pa.string()).take(rows),
        pa.array(group.read_labels(), pa.string()).take(rows),
        group.read().values[rows],
    )
