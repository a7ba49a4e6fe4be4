"""Looking at every byte of a corpus of vectors."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from sparsetopics.base.errors import CorpusFormatError
from sparsetopics.corpora.store.manifest import damaged_shards
from sparsetopics.corpora.store.vector_manifest import VectorManifest
from sparsetopics.corpora.store.vector_shards import StoredVectors
from sparsetopics.corpora.vectors import VectorCorpus


def vector_problems(folder: Path) -> list[str]:
    """All that is wrong with a corpus of vectors, one sentence each; empty if it is sound.

    Raises CorpusFormatError if the folder cannot be opened as one at all.
    """
    manifest = VectorManifest.load(folder)
    corpus = VectorCorpus.open(folder)
    damaged = damaged_shards(folder, manifest.shards)
    problems = list(damaged.values())
    projection = corpus.projection
    if projection is not None and projection.n_columns != corpus.n_columns:
        problems.append(
            f"{folder}: found a projection to {projection.n_columns} columns, "
            f"wanted {corpus.n_columns}."
        )
    for group in corpus.row_groups:
        assert isinstance(group, StoredVectors)  # what VectorCorpus.open makes
        if group.shard.path not in damaged:
            problems += _group_problems(group)
    return problems


def _group_problems(group: StoredVectors) -> Iterator[str]:
    """Of one row group; each kind of problem once, at its first row."""
    where = f"{group.shard.path}, row group {group.index}"
    try:
        values = group.read().values
        item_ids = group.read_item_ids()
        group.read_labels()
    except CorpusFormatError as error:
        yield str(error)
        return
    if None in item_ids:
        yield f"{where}, row {item_ids.index(None)}: found no item id, wanted one."  # type: ignore[arg-type]
    odd = np.argwhere(~np.isfinite(values))
    if len(odd):
        row, column = odd[0].tolist()
        yield (
            f"{where}, row {row}, column {column}: found {values[row, column]}, "
            "wanted a finite number."
        )
