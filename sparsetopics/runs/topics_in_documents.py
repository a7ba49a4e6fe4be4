"""What training documents tell of topics: how few hold half of one, how alike it is in two halves.

It is found in what the memoized learner keeps of each batch. A topic of few documents is often a
person's signature or a single thread; of each topic only the documents with most of it are
remembered. What differs less than a topic does between two halves may be chance.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Annotated, Any

import msgspec
import numpy as np
from msgspec import Meta
from scipy.sparse import coo_array

from sparsetopics.base.batches import FloatArray, IntArray
from sparsetopics.base.errors import SparsetopicsError, warn_user
from sparsetopics.corpora.batching import Batches, TrainingData
from sparsetopics.corpora.grouping import LABEL
from sparsetopics.corpora.store.shards import rows_by_group
from sparsetopics.inference.moves.standing import TopicUse
from sparsetopics.inference.topics import falling
from sparsetopics.model.assignments import Assignments
from sparsetopics.model.responsibilities import Responsibilities
from sparsetopics.model.word_counts import cut_rows

MOST = 50  # documents of a topic that are remembered
LEAST_SHARE = 0.5  # of these documents' tokens in the topic, of which a value must have more
LEAST_WITH_VALUE = 2  # documents; the title of a long one says nothing about others
TINY = 1e-300  # tokens of a topic that one half of the documents does not have

Columns = dict[str, list[str | None]]  # by name of the field
Kept = Callable[[int], tuple[Any, Responsibilities] | None]  # Any: the batches of a run
Largest = tuple[IntArray, IntArray, FloatArray]  # topics, rows of documents, N_dk: by falling N_dk


class FewDocuments(msgspec.Struct, frozen=True, omit_defaults=True):
    """The fewest training documents that hold half of a topic, and what most of that shares."""

    n_documents: Annotated[int, Meta(ge=1, le=MOST)]
    field: str | None = None  # ``label`` or a kept field; None if no value has most
    value: str = ""
    share: Annotated[float, Meta(ge=0.0, le=1.0)] = 0.0  # of the documents' tokens in the topic

    @property
    def mostly(self) -> dict[str, str | float] | None:
        """The field, its value and the value's share; None if no value has most."""
        if self.field is None:
            return None
        return {"field": self.field, "value": self.value, "share": self.share}


def few_documents(
    data: TrainingData, sizes: FloatArray, kept: Kept
) -> tuple[FewDocuments | None, ...]:
    """What is known of each topic, the largest first; None where more than ``MOST`` are needed.

    ``sizes`` (n_topics,) are numbers of tokens. Empty if the learner keeps nothing of batches. The
    same for any division into batches. Warns if labels and fields cannot be read any more.
    """
    assert isinstance(data.whole, Batches), "documents of corpora"
    topics, rows, masses = _largest(data.whole.rows, kept, len(sizes))
    if not len(rows):
        return ()
    halves = []
    for topic in falling(sizes):
        own = slice(*np.searchsorted(topics, [topic, topic + 1]))
        n_needed = 1 + int(np.searchsorted(masses[own].cumsum(), sizes[topic] / 2))
        is_few = 0 < n_needed <= own.stop - own.start
        halves.append(slice(own.start, own.start + n_needed) if is_few else None)
    wanted = np.unique(np.concatenate([rows[:0], *(rows[own] for own in halves if own)]))
    try:
        columns = _columns(data, wanted) if len(wanted) else {}
    except SparsetopicsError as error:
        warn_user(f"Topics of few documents are not compared with labels and fields: {error}")
        columns = {}
    return tuple(
        own and _described(np.searchsorted(wanted, rows[own]), masses[own], columns)
        for own in halves
    )


def _largest(batches: Sequence[IntArray], kept: Kept, n_topics: int) -> Largest:
    """The ``MOST`` largest N_dk of each topic, of equals those of the first documents."""
    found: Largest = np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0)
    for batch_id, rows in enumerate(batches):
        if (part := kept(batch_id)) is None:
            continue
        use = TopicUse.of(Assignments(*part), n_topics)
        topics = np.concatenate((found[0], use.topics))
        places = np.concatenate((found[1], rows[use.documents]))
        masses = np.concatenate((found[2], use.counts))
        order = np.lexsort((places, -masses, topics))
        ordered = topics[order]
        order = order[np.arange(len(order)) - np.searchsorted(ordered, ordered) < MOST]
        found = topics[order], places[order], masses[order]
    return found


def _columns(data: TrainingData, rows: IntArray) -> Columns:
    """Labels and kept strings of some rows (ascending); columns of the most values come first,
    since those say most."""
    fields = [name for name, kind in data.corpora[0].fields.items() if kind == "string"]
    columns: Columns = {name: [] for name in [LABEL, *fields]}
    groups = chain.from_iterable(corpus.row_groups for corpus in data.corpora)
    for group, own in rows_by_group(groups, rows):
        labels = group.read_labels() if len(own) else []
        columns[LABEL] += [labels[row] for row in own]
        if fields and len(own):  # reading any imports pandas, where it is installed
            kept = group.read_fields(fields, own)
            for name in fields:
                columns[name] += kept[name].to_pylist()
    return dict(sorted(columns.items(), key=lambda column: -len({*column[1]})))


def _described(places: IntArray, masses: FloatArray, columns: Columns) -> FewDocuments:
    """What documents at some places of the columns have in common, (n_documents,) each."""
    for name, values in columns.items():
        own = np.array([values[place] for place in places], object)
        for value in {*own} - {None}:  # at most one of which has most
            share = float(masses[own == value].sum() / masses.sum())
            if share > LEAST_SHARE and (own == value).sum() >= LEAST_WITH_VALUE:
                return FewDocuments(len(places), name, value, share)
    return FewDocuments(len(places))


def likeness_of_halves(counts: FloatArray, n_batches: int, kept: Kept) -> tuple[float, ...]:
    """The probability that each topic, the largest first, shares with itself between two halves.

    ``counts`` are the tokens, (n_words, n_topics), and one half is every second batch. Empty if the
    learner keeps nothing of batches; 0 for a topic that one half does not have.
    """
    half = np.zeros(counts.shape)
    for batch_id in range(0, n_batches, 2):
        if (part := kept(batch_id)) is None:
            return ()
        batch, found = part
        lengths = np.diff(found.starts)
        tokens = found.shares * np.repeat(batch.weights, lengths)
        half += coo_array((tokens, (np.repeat(batch.word_ids, lengths), found.topics)), half.shape)
    shared, sizes = np.zeros(counts.shape[1]), np.maximum(half.sum(axis=0), TINY)
    of_others = np.maximum(counts.sum(axis=0) - half.sum(axis=0), TINY)
    for rows in cut_rows(len(counts)):
        others = np.maximum(counts[rows] - half[rows], 0.0)
        shared += np.minimum(half[rows] / sizes, others / of_others).sum(axis=0)
    return tuple(shared[falling(counts.sum(axis=0))].tolist())
