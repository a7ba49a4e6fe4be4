"""Topic proportions of documents, or responsibilities of components for items, as Parquet."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sparsetopics.base.batches import FloatArray
from sparsetopics.base.outputs import Output, written
from sparsetopics.corpora.corpus import Corpus, RowGroup
from sparsetopics.corpora.sources.arrow_numbers import arrow_numbers, arrow_strings
from sparsetopics.corpora.vectors import VectorCorpus, VectorGroup
from sparsetopics.execution.executors import BroadcastMap, broadcast_map_here
from sparsetopics.inference.new_documents import topic_proportions
from sparsetopics.model.mixture_posterior import MixtureModel
from sparsetopics.model.topic_posterior import TopicModel


class Topics(NamedTuple):
    """What is inferred with."""

    words: FloatArray  # (n_topics, n_words)
    doc_concentration: FloatArray  # (n_topics,)
    workers: int


def write_shares(
    output: Output,
    model: TopicModel | MixtureModel,
    corpus: Corpus | VectorCorpus,
    *,
    workers: int = 1,
    broadcast: BroadcastMap = broadcast_map_here,
) -> int:
    """How much each document or item is of each topic or component; return how many there are.

    Streams, in the order of the corpus, which is like that of the training: ``doc_id`` or
    ``item_id``, and ``n_topics`` numbers that sum to one. Of topics these are ``proportions``,
    E[π_d] with topics at their posterior mean, of a document without known words the prior's; of
    mixtures ``responsibilities``. Raises OutputError.
    """
    groups: Sequence[Any] = corpus.row_groups
    if isinstance(model, TopicModel):
        topics = Topics(model.topic_word_mean, model.doc_concentration, workers)
        column, shares = "proportions", broadcast(_proportions, groups, topics)
    else:
        column, shares = "responsibilities", broadcast(_responsibilities, groups, model)
    if isinstance(corpus, Corpus):
        columns, names = ("doc_id", column), corpus.doc_ids()
    else:
        columns, names = ("item_id", column), corpus.item_ids()
    return _write(output, columns, model.n_topics, names, shares)


def _proportions(group: RowGroup, topics: Topics) -> FloatArray:
    words, doc_concentration, workers = topics
    return topic_proportions(group.read(), words, doc_concentration, workers=workers)


def _responsibilities(group: RowGroup | VectorGroup, model: MixtureModel) -> FloatArray:
    return model.responsibilities(group.read().values)


def _write(
    output: Output,
    columns: tuple[str, str],
    n_topics: int,
    names: Iterable[list[str]],
    shares: Iterable[FloatArray],  # (n_rows, n_topics) each
) -> int:
    kind = pa.list_(pa.float32(), n_topics)
    schema = pa.schema([(columns[0], pa.string()), (columns[1], kind)])
    n_rows = 0
    with (
        written(output) as scratch,
        pq.ParquetWriter(scratch, schema, compression="zstd") as writer,
    ):
        for own_names, own in zip(names, shares, strict=True):
            flat = arrow_numbers(own.astype(np.float32).ravel())
            rows = pa.FixedSizeListArray.from_arrays(flat, type=kind)
            writer.write_table(pa.table([arrow_strings(own_names), rows], schema=schema))
            n_rows += len(own)
    return n_rows
