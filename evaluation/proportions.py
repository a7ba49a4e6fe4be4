"""Topic proportions of documents, as a Parquet file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sparsetopics.batches import DocumentBatch
from sparsetopics.inference import topic_proportions
from sparsetopics.model import TopicModel
from sparsetopics.staging import staged_file


class NamedDocuments(Protocol):
    """The part of a corpus that inference reads: documents and, aligned, their names."""

    def batches(self) -> Iterator[DocumentBatch]: ...

    def doc_ids(self) -> Iterator[list[str]]: ...


def write_proportions(
    path: Path, model: TopicModel, documents: NamedDocuments, *, overwrite: bool, workers: int = 1
) -> int:
    """Infer E[π_d] of every document with the topics at their posterior mean; return how many.

    Streams: writes ``doc_id`` and ``proportions``, a list of ``n_topics`` numbers that sum to one,
    in the order of the documents. A document without known words gets the prior's proportions.
    Raises OutputError.
    """
    schema = pa.schema(
        {"doc_id": pa.string(), "proportions": pa.list_(pa.float32(), model.n_topics)}
    )
    topic_word, n_docs = model.topic_word_mean, 0
    with (
        staged_file(path, overwrite=overwrite) as scratch,
        pq.ParquetWriter(scratch, schema, compression="zstd") as writer,
    ):
        for batch, names in zip(documents.batches(), documents.doc_ids(), strict=True):
            proportions = topic_proportions(
                batch, topic_word, model.doc_concentration, workers=workers
            )
            flat = pa.array(proportions.astype(np.float32).ravel())
            rows = pa.FixedSizeListArray.from_arrays(flat, type=schema.field("proportions").type)
            writer.write_table(pa.table([pa.array(names, pa.string()), rows], schema=schema))
            n_docs += batch.n_docs
    return n_docs
