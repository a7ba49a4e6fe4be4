"""The documents of a corpus that represent topics, with their texts if the corpus keeps them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import accumulate, chain
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from scipy.sparse import csr_array

from sparsetopics.answers.proportions import Shares, shares_of
from sparsetopics.answers.topic_names import chosen_topics
from sparsetopics.base.batches import DocumentBatch, FloatArray, IntArray
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.corpora.grouping import LABEL, Grouping
from sparsetopics.corpora.lookup import read_rows, spread_rows
from sparsetopics.corpora.readers.fields import TEXT
from sparsetopics.corpora.store.shards import RowGroup, rows_by_group
from sparsetopics.execution.executors import OrderedMap, broadcast_map_here
from sparsetopics.measures.representatives import (
    Candidate,
    choose,
    choose_from_batch,
    core_words,
    leading_words,
)
from sparsetopics.options.registry import MODELS
from sparsetopics.options.table import REPRESENTATIVES
from sparsetopics.runs.run import AnyRun

N_WORDS = 8  # of a document
_Some = slice | IntArray  # rows of a row group
SPARE = 2  # documents kept for each that is wanted, as some may turn out to be near-duplicates


class RepresentativeDocument(NamedTuple):
    """A document of a topic."""

    doc_id: str
    label: str | None
    group: str | None
    share: float  # of the topic in the document
    n_tokens: float
    words: list[str]  # of the core of the topic, those that give it most tokens first
    text: str | None  # None if the corpus does not keep it


class TopicsToShow(NamedTuple):
    """Topics, how much documents are of them, and which of them to represent."""

    shares: Shares
    topic_word: FloatArray  # (n_all_topics, n_words)
    words: Sequence[str]  # (n_words,)
    chosen: Sequence[int]
    share_name: str = "proportion"

    @classmethod
    def of_run(
        cls, run: AnyRun, given: Sequence[int | str] = (), *, workers: int = 1
    ) -> TopicsToShow:
        """Some topics of a run by their numbers or ids, or all that have any data.

        Raises OptionError for a topic that is not there, RunError for components of vectors.
        """
        words, model = run.words.shown, run.model  # first: components of vectors have no words
        chosen, shares = chosen_topics(run, given), shares_of(model, workers=workers)
        return cls(shares, model.topic_word_mean, words, chosen, MODELS[model.name].share)


class Representatives(NamedTuple):
    """Documents of each topic, best first, and the size of the search."""

    topics: TopicsToShow
    by: str  # the column of the groups
    of_topics: list[list[RepresentativeDocument]]  # (n_chosen,)
    n_seen: int  # documents that were searched
    n_docs: int  # in the corpus

    def table(self, labels: Sequence[tuple[str, str]]) -> pa.Table:
        """Return a row for each topic and document, the best first.

        ``labels`` are the id and name of each topic of the run.

        Columns: topic, id, name, doc_id, label; group, if it is not the label; proportion, or
        responsibility for mixtures; n_tokens, words, text (null if it is not kept).
        """
        share = self.topics.share_name
        rows = [
            {"topic": topic, "id": labels[topic][0], "name": labels[topic][1]}
            | {share: each.share, **each._asdict()}
            for topic, own in zip(self.topics.chosen, self.of_topics, strict=True)
            for each in own
        ]
        # Sizes are whole numbers unless counts are weights.
        is_whole = all(each.n_tokens.is_integer() for own in self.of_topics for each in own)
        texts = ["id", "name", "doc_id", "label", *([] if self.by == LABEL else ["group"])]
        columns = {"topic": pa.int64(), **dict.fromkeys(texts, pa.string()), share: pa.float64()}
        columns["n_tokens"] = pa.int64() if is_whole else pa.float64()
        columns |= {"words": pa.list_(pa.string()), "text": pa.string()}
        return pa.Table.from_pylist(rows, pa.schema(columns))


def representatives(
    topics: TopicsToShow,
    corpus: Corpus,
    n: int,
    *,
    by: str = LABEL,
    most: int | None = None,
    broadcast: OrderedMap = broadcast_map_here,
) -> Representatives:
    """Return the ``n`` documents of ``corpus`` that represent each topic best.

    ``measures.representatives`` says which these are. The groups that take turns are those
    of the label or of the kept field ``by``. At most ``most`` documents are searched, spread evenly
    over the corpus; by default all are. The words of ``corpus`` must be those of the topics. The
    result is the same for any number of workers. Memory does not grow with the number of documents,
    and only the texts of the documents in the result are read. Raises OptionError for a field that
    the corpus lacks.
    """
    REPRESENTATIVES.check("n", n)
    grouping = Grouping(by)
    grouping.check(corpus.fields)
    core = core_words(topics.topic_word, topics.chosen)
    shares, chosen, n_kept = topics.shares, topics.chosen, n * SPARE
    task = partial(_choose_from_part, shares, chosen, core, n_kept, grouping)
    rows_of: Mapping[int, _Some] = dict.fromkeys(range(len(corpus.row_groups)), slice(None))
    n_seen = corpus.n_docs
    if most is not None:
        rows_of = spread = spread_rows(corpus.row_groups, most)
        n_seen = sum(map(len, spread.values()))
    firsts = list(accumulate((group.n_docs for group in corpus.row_groups), initial=0))
    parts = [(firsts[number], corpus.row_groups[number], own) for number, own in rows_of.items()]
    best: list[list[Candidate]] = [[] for _ in topics.chosen]
    for found in broadcast(task, parts):
        best = [choose([*own, *more], n_kept) for own, more in zip(best, found, strict=True)]
    best = [own[:n] for own in best]
    names = _read_names(best, corpus)
    of_topics = [
        _described(topic, own, topics, core.indices[slice(*core.indptr[k : k + 2])], names)
        for k, (topic, own) in enumerate(zip(topics.chosen, best, strict=True))
    ]
    return Representatives(topics, by, of_topics, n_seen, corpus.n_docs)


def _choose_from_part(
    shares_of_batch: Shares,
    topics: Sequence[int],
    core: csr_array,
    n_kept: int,
    grouping: Grouping,
    part: tuple[int, RowGroup[DocumentBatch], _Some],  # documents before a row group, and its rows
) -> list[list[Candidate]]:
    first, group, rows = part
    batch = group.read()[rows]
    # Under the words of a run that a corpus has outgrown, documents may be empty.
    has_words = np.diff(batch.indptr) > 0
    batch = batch.take(np.flatnonzero(has_words))
    codes, keys, _ = grouping.of(group)
    names = [*(key.name for key in keys), None]  # the code −1, of no value, is the last one's
    groups = [names[code] for code in codes[rows][has_words].tolist()]
    places = (first + np.arange(group.n_docs)[rows][has_words]).tolist()
    return choose_from_batch(batch, shares_of_batch(batch), groups, topics, core, n_kept, places)


def _read_names(
    chosen: Sequence[Sequence[Candidate]], corpus: Corpus
) -> dict[int, dict[str, str | None]]:
    """Id, label and, if the corpus keeps it, text of the chosen documents, by their places."""
    fields = [TEXT] if TEXT in corpus.fields else []
    places = np.array(sorted({each.place for own in chosen for each in own}), np.int64)
    parts = rows_by_group(corpus.row_groups, places)
    tables = [read_rows(group, rows, fields) for group, rows in parts if len(rows)]
    found = chain.from_iterable(table.to_pylist() for table in tables)
    return dict(zip(places.tolist(), found, strict=True))


def _described(
    topic: int,
    chosen: Sequence[Candidate],
    topics: TopicsToShow,
    core: IntArray,  # words of the topic
    names: Mapping[int, dict[str, str | None]],
) -> list[RepresentativeDocument]:
    if not chosen:
        return []
    # A document has the same shares alone as in its batch.
    shares = topics.shares(DocumentBatch.joined([each.words for each in chosen]))
    documents = []
    for each, row in zip(chosen, shares, strict=True):
        ids = leading_words(each.words, row, topics.topic_word, topic, core, N_WORDS)
        words, own = [topics.words[word] for word in ids.tolist()], names[each.place]
        facts = str(own["id"]), own["label"], each.group, each.share, each.words.n_tokens
        documents.append(RepresentativeDocument(*facts, words, own.get(TEXT)))
    return documents
