"""The rungs of a topic path: models that training keeps on its way to fewer topics.

Training on a path merges topics before some laps (``gradual_start.narrowed``). After the last lap
with the number of topics of a rung, the rung gets a model. Documents that were kept out until then,
to score the topics on, are taken in first: they are visited twice, while all other documents keep
their topics. Training itself then continues without them.

An HDP goes down such a path to find its number of topics (``validated_number``). Its rungs take no
documents in; their counts are kept until one of them is chosen.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from scipy import sparse

from sparsetopics.base.batches import Arrays, DocumentBatch, FloatArray, IntArray, Source
from sparsetopics.base.soundness import check_ids, check_starts, require
from sparsetopics.inference.document_step import TopicGlobals
from sparsetopics.inference.gradual_start import WordState, wanted_number
from sparsetopics.inference.laps import Laps
from sparsetopics.inference.local_step import elbo
from sparsetopics.inference.topics import TopicParameters, order_by_weight
from sparsetopics.model.memo import Memo, StoredArrays
from sparsetopics.model.statistics import DocumentTerms
from sparsetopics.model.word_counts import PairCounts, WordCounts
from sparsetopics.options.training import TrainingOptions

NO_TOPICS: IntArray = np.zeros(0, np.int64)  # the lineage before the first rung
VISITS = 2  # of documents that a rung takes in: one cold, one from the topics then found

WordLaps = Laps[WordState, DocumentBatch, WordCounts, PairCounts, DocumentTerms]
M_co = TypeVar("M_co", covariant=True)


class PathMemory(NamedTuple):
    """What training remembers of the rungs behind it."""

    # (n_topics of the last rung,): the present topic of each topic of that rung.
    lineage: IntArray = NO_TOPICS
    rungs: tuple[StoredArrays, ...] = ()  # their counts, if one of them will be chosen

    def kept(self, counts: FloatArray, memo: Memo) -> PathMemory:
        """The memory with one more rung, of ``counts`` (n_words, n_topics)."""
        rows = sparse.csr_array(counts.astype(np.float32))
        parts = {"starts": rows.indptr, "topics": rows.indices, "counts": rows.data}
        arrays = {**parts, "n_topics": np.array([counts.shape[1]])}
        return self._replace(rungs=(*self.rungs, memo.keep(arrays)))

    def counts(self, place: int, n_words: int) -> FloatArray:
        """The counts of a rung, (n_words, n_topics)."""
        arrays = self.rungs[place].load(lambda found: check_rung(found, n_words))
        parts = (arrays["counts"], arrays["topics"], arrays["starts"])
        rows = sparse.csr_array(parts, shape=(n_words, int(arrays["n_topics"][0])))
        table: FloatArray = rows.toarray().astype(np.float64)
        return table

    def check(self, n_topics: int, n_words: int) -> None:
        """ValueError, or another built-in error, unless the memory is sound."""
        check_ids(self.lineage, n_topics, "a lineage of topics")
        for stored in self.rungs:
            check_rung(stored.load(lambda found: check_rung(found, n_words)), n_words)

    def discard(self) -> None:
        """Free what the memo holds."""
        for stored in self.rungs:
            stored.discard()


def check_rung(arrays: Arrays, n_words: int) -> None:
    """ValueError, or another built-in error, unless the arrays are the counts of a rung."""
    n_topics, counts = int(arrays["n_topics"][0]), arrays["counts"]
    require(0 < n_topics < 2**31, "a rung without topics")
    check_starts(arrays["starts"], n_words, len(counts), "counts of a rung")
    check_ids(arrays["topics"], n_topics, "topics of a rung")
    require(len(arrays["topics"]) == len(counts), "counts without topics")
    require(counts.dtype == np.float32, "counts of another type")
    require(
        bool((counts > 0.0).all() and np.isfinite(counts).all()), "counts that are not positive"
    )


class Rung(NamedTuple, Generic[M_co]):
    """A model that a path keeps, and how it came about."""

    model: M_co
    parents: IntArray  # (n_before,)  its topic for each topic of the rung before; empty at first
    elbo_per_token: float  # of all documents, nats


def is_rung(options: TrainingOptions, lap: int) -> bool:
    """Whether a model is kept after this lap, the last one with its number of topics."""
    if lap < options.first_laps or lap > options.last_path_lap:
        return False
    number = wanted_number(options, lap)
    is_last = lap == options.last_path_lap or wanted_number(options, lap + 1) < number
    return is_last and number in options.rungs


def reach_rung(
    laps: WordLaps,
    state: WordState,
    parameters: TopicParameters,
    memory: PathMemory,
    whole: Source[DocumentBatch],
    finish: Callable[[TopicGlobals], M_co],
    memo: Memo | None,
) -> tuple[Rung[M_co], PathMemory]:
    """The rung of the present topics, and the memory of the path with it.

    Before its model is made by ``finish``, the batches that ``whole`` has beyond the source of
    ``laps`` are taken in. ``state`` itself does not change. The ``memo`` keeps the rung's counts,
    if there is one.
    """
    new = np.arange(laps.source.n_batches, whole.n_batches)
    visits = replace(laps, source=whole, on_documents=lambda n_done, n_docs: None)
    for _ in range(VISITS if len(new) else 0):
        state, parameters, _ = visits.run(state, parameters, [new])
    current = parameters.with_components(laps.learner.components(state))
    bound = elbo(laps.learner.statistics(state), current) / whole.n_tokens
    order = order_by_weight(current.components.sizes)
    rung = Rung(finish(current), parents_of(memory.lineage, order), bound)
    for batch_id in new.tolist():  # the memo frees what it keeps of them
        state.per_batch[batch_id].discard()
    if memo is not None:
        memory = memory.kept(current.components.table[:, order], memo)
    return rung, memory._replace(lineage=order)


def parents_of(lineage: IntArray, order: IntArray) -> IntArray:
    """The numbers of the topics ``lineage`` in a model that has the topics in this ``order``."""
    number = np.empty(len(order), np.int64)
    number[order] = np.arange(len(order))
    return number[lineage]
