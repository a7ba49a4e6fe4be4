"""Dividing a corpus at random into one to train on and one to score on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sparsetopics.batches import IntArray
from sparsetopics.corpora.corpus import Corpus, RowGroup
from sparsetopics.corpora.document_manifest import Sizes, write_manifest
from sparsetopics.corpora.shards import DocumentRows, ShardWriter
from sparsetopics.errors import OptionError
from sparsetopics.staging import check_output, staged_folder


def split_corpus(
    path: str | Path,
    train: Path,
    held_out: Path,
    share: float,
    overwrite: bool,
    rng: np.random.Generator,
) -> tuple[Sizes, Sizes]:
    """Write two corpora with the vocabulary of the first; sizes of the training one come first.

    ``share`` of the documents, rounded, are held out; both keep the order of the corpus. Raises
    OptionError if one side would be empty.
    """
    corpus = Corpus.open(path)
    n_held_out = round(share * corpus.n_docs)
    if not 0 < n_held_out < corpus.n_docs:
        raise OptionError(
            "held_out",
            found=f"{share}, {n_held_out} of {corpus.n_docs} documents",
            wanted="a share that leaves documents on both sides",
        )
    if train.absolute() == held_out.absolute():
        raise OptionError("outputs", found=f"{train} twice", wanted="two different folders")
    check_output(held_out, overwrite=overwrite)
    is_held_out = np.zeros(corpus.n_docs, np.bool_)
    is_held_out[rng.permutation(corpus.n_docs)[:n_held_out]] = True
    with (
        staged_folder(train, overwrite=overwrite) as train_folder,
        staged_folder(held_out, overwrite=overwrite) as held_out_folder,
    ):
        return (
            _write_part(corpus, ~is_held_out, train_folder),
            _write_part(corpus, is_held_out, held_out_folder),
        )


def _write_part(
    corpus: Corpus,
    chosen: NDArray[np.bool_],  # (n_docs,)
    folder: Path,
) -> Sizes:
    with ShardWriter(folder) as writer:
        start = 0
        for group in corpus.row_groups:
            writer.append(_chosen_rows(group, np.flatnonzero(chosen[start : start + group.n_docs])))
            start += group.n_docs
        shards = writer.finish()
    return write_manifest(folder, corpus.vocabulary, shards, 0, 0).sizes


def _chosen_rows(group: RowGroup, rows: IntArray) -> DocumentRows:
    return DocumentRows(
        pa.array(group.read_doc_ids(), pa.string()).take(rows),
        pa.array(group.read_labels(), pa.string()).take(rows),
        group.read().take(rows),
    )
