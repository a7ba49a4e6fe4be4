"""Topic proportions of documents, or responsibilities of components for items, as Parquet."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sparsetopics.base.batches import DocumentBatch, FloatArray, VectorBatch
from sparsetopics.base.outputs import Output, written
from sparsetopics.corpora.corpus import Corpus, VectorCorpus
from sparsetopics.corpora.sources.arrow_files import arrow_numbers, arrow_strings
from sparsetopics.corpora.store.shards import AnyRowGroup
from sparsetopics.execution.executors import BroadcastMap, broadcast_map_here
from sparsetopics.inference.document_step import topic_proportions
from sparsetopics.inference.training import Model
from sparsetopics.model.mixture_posterior import MixturePosterior

Rows = DocumentBatch | VectorBatch
Shares = Callable[[Rows], FloatArray]  # (n_rows, n_topics); rows sum to one


def shares_of(model: Model, *, workers: int = 1) -> Shares:
    """A function that says how much each document or item of a batch is of each topic.

    For topics these are the proportions E[π_d], with topics at their posterior mean. A document
    without known words has those of the prior. For mixtures they are responsibilities. The function
    can be pickled.
    """
    if isinstance(model, MixturePosterior):
        return partial(_responsibilities, model)
    return partial(_proportions, model.topic_word_mean, model.doc_concentration, workers)


def write_shares(
    output: Output,
    model: Model,
    corpus: Corpus | VectorCorpus,
    *,
    workers: int = 1,
    broadcast: BroadcastMap = broadcast_map_here,
) -> int:
    """Write how much each document or item is of each topic or component; return the row count.

    Rows are in the order of ``corpus``, which must be like the training data. Columns are
    ``doc_id``, or ``item_id`` for vectors, and ``proportions``, or ``responsibilities`` for
    mixtures: ``n_topics`` numbers that sum to one. Raises OutputError.
    """
    groups: Sequence[AnyRowGroup] = corpus.row_groups
    shares = broadcast(_shares_in, groups, shares_of(model, workers=workers))
    column = "responsibilities" if isinstance(model, MixturePosterior) else "proportions"
    if isinstance(corpus, Corpus):
        columns, names = ("doc_id", column), corpus.doc_ids()
    else:
        columns, names = ("item_id", column), corpus.item_ids()
    return _write(output, columns, model.n_topics, names, shares)


def _shares_in(group: AnyRowGroup, shares: Shares) -> FloatArray:
    return shares(group.read())


def _responsibilities(model: MixturePosterior, batch: Rows) -> FloatArray:
    return model.responsibilities(batch.values)


def _proportions(
    topic_word: FloatArray, doc_concentration: FloatArray, workers: int, batch: Rows
) -> FloatArray:
    assert isinstance(batch, DocumentBatch), "topics are over words"
    return topic_proportions(batch, topic_word, doc_concentration, workers=workers)


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
