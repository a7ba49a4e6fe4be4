"""Topic proportions of documents, or responsibilities of components for items, as tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparsetopics.answers.table_files import LABELS
from sparsetopics.answers.topic_names import labels_of
from sparsetopics.base.batches import BLOCK_PAIRS, DocumentBatch, FloatArray, IntArray, VectorBatch
from sparsetopics.base.wording import plural
from sparsetopics.corpora.corpus import AnyCorpus
from sparsetopics.corpora.sources.arrow_files import arrow_numbers, arrow_strings
from sparsetopics.corpora.store.shards import AnyRowGroup
from sparsetopics.execution.executors import ALONE, Crew
from sparsetopics.inference.course import Model
from sparsetopics.inference.document_step import DENSE_STEP, topic_proportions
from sparsetopics.model.mixture_posterior import MixturePosterior
from sparsetopics.model.statistics import tokens_of_documents
from sparsetopics.model.topic_posterior import TopicPosterior
from sparsetopics.options.option import refuse
from sparsetopics.options.registry import MODELS, imported
from sparsetopics.runs.run import AnyRun

# A text has a topic if it has this many tokens of it: local steps tell no smaller numbers apart.
LEAST_TOKENS = DENSE_STEP.tolerance

Rows = DocumentBatch | VectorBatch
Shares = Callable[[Rows], FloatArray]  # (n_rows, n_topics); rows sum to one
SharesOf = Callable[[Model, int], Shares]  # of a kind of model, with this number of threads


def shares_of(model: Model, *, workers: int = 1) -> Shares:
    """A function that says how much each document or item of a batch is of each topic.

    The function can be pickled.
    """
    of_kind: SharesOf = imported(MODELS[model.name].shares)
    return of_kind(model, workers)


def proportions_of(model: TopicPosterior, workers: int) -> Shares:
    """The proportions E[π_d], with topics at their posterior mean.

    A document without known words has those of the prior.
    """
    # Stored word by word, because each batch takes the columns of its words.
    topic_word = np.asfortranarray(model.topic_word_mean)
    return partial(proportions_under, topic_word, model.doc_concentration, workers)


def responsibilities_of(model: MixturePosterior, workers: int) -> Shares:
    """The probabilities of components."""
    return partial(_responsibilities, model)


def proportions_under(
    topic_word: FloatArray, doc_concentration: FloatArray, workers: int, batch: Rows
) -> FloatArray:
    """The proportions of a batch of documents, for topics (n_topics, n_words) without a model."""
    assert isinstance(batch, DocumentBatch), "topics are over words"
    return topic_proportions(batch, topic_word, doc_concentration, workers=workers)


def share_tables(
    run: AnyRun, corpus: AnyCorpus, top: int | None = None, tokens: bool = False, crew: Crew = ALONE
) -> tuple[pa.Schema, Iterator[pa.Table]]:
    """Return how much each document or item is of each topic or component: columns, and tables.

    There is a table for each row group of ``corpus``, which must be like the training data, with
    rows in the same order. Columns are those of ``ShareColumns``. Tables are made when they are
    needed; a cluster makes a few ahead.

    With ``tokens``, there is a row for each word of each document, as
    ``sparsetopics infer --tokens`` says. The share of topic k in word v of document d is
    r_dvk = π_dk φ_kv / Σ_j π_dj φ_jv, where π_d are the proportions E[π_d]. Raises OptionError for
    tokens of a mixture, and with ``top``.
    """
    groups: Sequence[AnyRowGroup] = corpus.row_groups
    columns, shares = ShareColumns.of(run, top), shares_of(run.model, workers=crew.threads)
    if not tokens:
        return columns.schema, crew.map(partial(_table_of, columns, shares), groups)
    if top is not None:
        refuse("tokens", "cannot be combined with --top", "Give one of them.")
    if not isinstance(run.model, TopicPosterior):
        problem = "is for topic models, but the model is a mixture"
        refuse("tokens", problem, "Its components have whole documents, not single words.")
    text, number, share = pa.string(), pa.int64(), pa.float32()
    count = number if isinstance(corpus.sizes.n_tokens, int) else pa.float64()
    types = {"doc_id": text, "word": text, "count": count, "topic": number, "id": text}
    schema = pa.schema(types | {"share": share})
    known, ids = arrow_strings(run.words.shown), arrow_strings([own.id for own in run.topics])
    word_topic = np.ascontiguousarray(run.model.topic_word_mean.T)
    return schema, crew.map(partial(_tokens_of, schema, known, ids, word_topic, shares), groups)


class ShareColumns(NamedTuple):
    """What the columns of a table of shares are called, and what they hold.

    Without ``top``, each document or item has one row, with a list of ``n_topics`` numbers that sum
    to one. With ``top``, it has a row for its largest topic and for others among the ``top``
    largest of which it has ``LEAST_TOKENS`` or more. Larger shares come first, ties go to the lower
    topic. A text without a known word has one row, with nulls.
    """

    share: str  # proportion, or responsibility for mixtures
    prior: FloatArray  # (n_topics,)  tokens that a share has without any data
    top: int | None
    labels: Sequence[tuple[str, str]]  # (n_topics,)  id and name; none for vectors

    @classmethod
    def of(cls, run: AnyRun, top: int | None) -> ShareColumns:
        """The columns for the data of ``run``."""
        model, labels = run.model, () if run.vocabulary is None else labels_of(run)
        no_prior = np.zeros(model.n_topics)
        prior = model.doc_concentration if isinstance(model, TopicPosterior) else no_prior
        return cls(MODELS[model.name].share, prior, top, labels)

    @property
    def schema(self) -> pa.Schema:
        """Names and types of the columns."""
        row_id = ("doc_id" if self.labels else "item_id", pa.string())
        if self.top is None:
            return pa.schema([row_id, (self.values_name, pa.list_(pa.float32(), len(self.prior)))])
        topic, *_, share = self.values_type.value_type
        labels = LABELS.items() if self.labels else ()
        return pa.schema([row_id, topic, *labels, share])

    @property
    def values_name(self) -> str:
        """The name of a column of ``values``."""
        return plural(self.share) if self.top is None else "topics"

    @property
    def values_type(self) -> pa.DataType:
        """The type of ``values``: lists without a fixed size, as Spark has no others."""
        if self.top is None:
            return pa.list_(pa.float32())
        fields = {"topic": pa.int64(), "id": pa.string(), self.share: pa.float32()}
        return pa.list_(pa.struct(fields))

    def table(self, ids: Sequence[str], shares: FloatArray, sizes: FloatArray) -> pa.Table:
        """The rows of ``ids`` (n_rows,) with ``shares`` (n_rows, n_topics).

        ``sizes`` (n_rows,) are the tokens of each document, zero without a known word.
        """
        names = arrow_strings(ids)
        if self.top is None:
            lists = self.values(shares, sizes).cast(self.schema.types[1])
            return pa.table([names, lists], schema=self.schema)
        rows, topics, values = self._largest(shares, sizes)
        labels = (arrow_strings(own).take(topics) for own in zip(*self.labels, strict=True))
        is_known = pc.greater(arrow_numbers(sizes[rows]), 0)
        columns = (pc.if_else(is_known, own, None) for own in (topics, *labels, values))
        return pa.table([names.take(arrow_numbers(rows)), *columns], schema=self.schema)

    def values(self, shares: FloatArray, sizes: FloatArray) -> pa.Array:
        """One value for each document, (n_docs,): a list of numbers, or with ``top`` of structs;
        null without a known word."""
        n_rows, n_topics = shares.shape
        if self.top is None:
            items = arrow_numbers(shares.astype(np.float32).ravel())
            starts = np.arange(n_rows + 1) * n_topics
        else:
            rows, topics, largest = self._largest(shares, sizes)
            ids = arrow_strings([topic_id for topic_id, _ in self.labels]).take(topics)
            fields = [*self.values_type.value_type]
            items = pa.StructArray.from_arrays([topics, ids, largest], fields=fields)
            starts = np.searchsorted(rows, np.arange(n_rows + 1))
        offsets, is_unknown = starts.astype(np.int32), pc.equal(arrow_numbers(sizes), 0)
        return pa.ListArray.from_arrays(
            arrow_numbers(offsets), items, self.values_type, mask=is_unknown
        )

    def _largest(
        self, shares: FloatArray, sizes: FloatArray
    ) -> tuple[IntArray, pa.Array, pa.Array]:
        """The row, the topic and the share of each topic that is listed."""
        # Ties go to the lower topic.
        numbers = shares.astype(np.float32)
        topics = np.argsort(-numbers, axis=1, kind="stable")[:, : self.top]
        tokens = shares * (self.prior.sum() + sizes)[:, np.newaxis] - self.prior
        is_shown = np.take_along_axis(tokens, topics, axis=1) >= LEAST_TOKENS
        is_shown[:, 0] = True
        rows, places = np.nonzero(is_shown)
        chosen = topics[rows, places]
        return rows, arrow_numbers(chosen), arrow_numbers(numbers[rows, chosen])


def _table_of(columns: ShareColumns, shares: Shares, group: AnyRowGroup) -> pa.Table:
    batch = group.read()
    return columns.table(group.read_ids(), shares(batch), tokens_of_documents(batch))


def _tokens_of(
    schema: pa.Schema,
    words: pa.Array,
    topic_ids: pa.Array,
    word_topic: FloatArray,
    shares: Shares,
    group: AnyRowGroup,
) -> pa.Table:
    """A row for each pair of document and word; ties go to the lower topic."""
    batch = group.read()
    assert isinstance(batch, DocumentBatch), "topics are over words"
    proportions, counts = shares(batch), arrow_numbers(batch.word_counts)
    documents = batch.documents
    topics, best = np.empty(batch.n_pairs, np.int64), np.empty(batch.n_pairs, np.float32)
    for start in range(0, batch.n_pairs, BLOCK_PAIRS):  # all pairs at once would take much memory
        some = slice(start, start + BLOCK_PAIRS)
        joint = proportions[documents[some]] * word_topic[batch.word_ids[some]]
        topics[some] = joint.argmax(axis=1)
        best[some] = joint.max(axis=1) / joint.sum(axis=1)
    ids = arrow_strings(group.read_ids()).take(arrow_numbers(documents))
    own = [ids, words.take(arrow_numbers(batch.word_ids)), counts.cast(schema.field("count").type)]
    found = arrow_numbers(topics)
    return pa.table([*own, found, topic_ids.take(found), arrow_numbers(best)], schema=schema)


def _responsibilities(model: MixturePosterior, batch: Rows) -> FloatArray:
    return model.responsibilities(batch.values)
