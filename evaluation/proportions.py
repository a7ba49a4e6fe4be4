"""Topic proportions of documents, or responsibilities of components for items, as Parquet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sparsetopics.batches import DocumentBatch, FloatArray, VectorBatch
from sparsetopics.corpora.arrow_numbers import arrow_numbers, arrow_strings
from sparsetopics.executors import Spread, spread_here
from sparsetopics.inference import topic_proportions
from sparsetopics.mixture_model import MixtureModel
from sparsetopics.model import TopicModel
from sparsetopics.staging import staged_file

RESPONSIBILITIES = "responsibilities"


class DocumentGroup(Protocol):
    """Consecutive documents of a corpus."""

    def read(self) -> DocumentBatch: ...


class ItemGroup(Protocol):
    """The same of vectors."""

    def read(self) -> VectorBatch: ...


class NamedDocuments(Protocol):
    """The part of a corpus that inference reads: documents and, aligned, their names."""

    @property
    def row_groups(self) -> Sequence[DocumentGroup]: ...

    def doc_ids(self) -> Iterator[list[str]]: ...


class NamedItems(Protocol):
    """The same of vectors."""

    @property
    def row_groups(self) -> Sequence[ItemGroup]: ...

    def item_ids(self) -> Iterator[list[str]]: ...


class Topics(NamedTuple):
    """What is inferred with."""

    words: FloatArray  # (n_topics, n_words)
    doc_concentration: FloatArray  # (n_topics,)
    workers: int


def write_proportions(
    path: Path,
    model: TopicModel,
    documents: NamedDocuments,
    *,
    overwrite: bool,
    workers: int = 1,
    spread: Spread = spread_here,
) -> int:
    """Infer E[π_d] of every document with the topics at their posterior mean; return how many.

    Streams: writes ``doc_id`` and ``proportions``, a list of ``n_topics`` numbers that sum to one,
    in the order of the documents. A document without known words gets the prior's proportions.
    Raises OutputError.
    """
    topics = Topics(model.topic_word_mean, model.doc_concentration, workers)
    shares = spread(_proportions, documents.row_groups, topics)
    columns = "doc_id", "proportions"
    return _write(path, columns, model.n_topics, documents.doc_ids(), shares, overwrite=overwrite)


def _proportions(group: DocumentGroup, topics: Topics) -> FloatArray:
    words, doc_concentration, workers = topics
    return topic_proportions(group.read(), words, doc_concentration, workers=workers)


def write_responsibilities(
    path: Path,
    model: MixtureModel,
    items: NamedItems,
    *,
    overwrite: bool,
    spread: Spread = spread_here,
) -> int:
    """The probability of each component for every item; return how many items.

    Streams: writes ``item_id`` and ``responsibilities``, a list of ``n_topics`` numbers that sum to
    one, in the order of the items. Raises OutputError.
    """
    shares = spread(_responsibilities, items.row_groups, model)
    columns = "item_id", RESPONSIBILITIES
    return _write(path, columns, model.n_topics, items.item_ids(), shares, overwrite=overwrite)


def write_document_responsibilities(
    path: Path,
    model: MixtureModel,
    documents: NamedDocuments,
    *,
    overwrite: bool,
    spread: Spread = spread_here,
) -> int:
    """As ``write_responsibilities`` with ``doc_id``, of a mixture of documents."""
    shares = spread(_responsibilities, documents.row_groups, model)
    columns = "doc_id", RESPONSIBILITIES
    return _write(path, columns, model.n_topics, documents.doc_ids(), shares, overwrite=overwrite)


def _responsibilities(group: DocumentGroup | ItemGroup, model: MixtureModel) -> FloatArray:
    return model.responsibilities(group.read().values)


def _write(
    path: Path,
    columns: tuple[str, str],
    n_topics: int,
    names: Iterable[list[str]],
    shares: Iterable[FloatArray],  # (n_rows, n_topics) each
    *,
    overwrite: bool,
) -> int:
    kind = pa.list_(pa.float32(), n_topics)
    schema = pa.schema([(columns[0], pa.string()), (columns[1], kind)])
    n_rows = 0
    with (
        staged_file(path, overwrite=overwrite) as scratch,
        pq.ParquetWriter(scratch, schema, compression="zstd") as writer,
    ):
        for own_names, own in zip(names, shares, strict=True):
            flat = arrow_numbers(own.astype(np.float32).ravel())
            rows = pa.FixedSizeListArray.from_arrays(flat, type=kind)
            writer.write_table(pa.table([arrow_strings(own_names), rows], schema=schema))
            n_rows += len(own)
    return n_rows
