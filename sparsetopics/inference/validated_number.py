"""The number of topics of an HDP, as documents that are kept out of training choose it.

Training begins with many topics and merges them as on a topic path. A judge, who scores every rung
on the validation documents, chooses one of them. Its topics are then polished: merges and deletes
that raise the collapsed criterion are made, at most a fifth of the topics at a time, as long as the
validation documents are predicted as well. The topics that are left are fitted on all documents.

Merges by the words' evidence alone leave a topic or two too many, or join two topics that differ.
The criterion of moves finds such errors, but left alone it removes far more topics than it should.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple, Protocol, cast

import numpy as np
from scipy import sparse

from sparsetopics.base.batches import Arrays, DocumentBatch, FloatArray, IntArray, Source
from sparsetopics.base.soundness import check_ids, check_starts, require
from sparsetopics.inference.document_step import TopicGlobals
from sparsetopics.inference.gradual_start import WordState
from sparsetopics.inference.learners.memoized import MemoizedLearner
from sparsetopics.inference.moves.ledger import Ledger
from sparsetopics.inference.moves.standing import Standing, Tools, refreshed
from sparsetopics.inference.moves.trimming import trim_topics
from sparsetopics.inference.topic_path import NO_TOPICS, WordLaps
from sparsetopics.inference.topics import TopicParameters, begin_with
from sparsetopics.model.memo import Memo, StoredArrays
from sparsetopics.model.statistics import DocumentTerms
from sparsetopics.model.topic_posterior import TopicPosterior
from sparsetopics.model.word_counts import PairCounts, WordCounts
from sparsetopics.options.table import DEFAULT_CRITERION
from sparsetopics.options.training import TrainingOptions

FIRST_LAPS = 2  # of the chosen topics, before they are polished
ROUNDS = 6  # of merges and deletes at most, with a lap after each
LARGEST_SHARE = 0.2  # of the topics may go in one round
POLISHING = ("merge", "delete")

WordLearner = MemoizedLearner[DocumentBatch, WordCounts, PairCounts, DocumentTerms]
Finish = Callable[[TopicGlobals], TopicPosterior]


class Judge(Protocol):
    """Scores models on documents that training does not see."""

    def choose(self) -> int:
        """The place of the rung to continue with, among those that were reached."""

    def accepts(self, model: TopicPosterior) -> bool:
        """Whether a model predicts as well as the best one since ``choose``."""


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


def settled(
    laps: WordLaps,
    memory: PathMemory,
    whole: Source[DocumentBatch],
    options: TrainingOptions,
    judge: Judge,
    finish: Finish,
) -> tuple[WordState, TopicParameters]:
    """The chosen topics, polished, before their first lap over the documents of ``whole``."""
    counts = memory.counts(judge.choose(), laps.source.n_columns)
    counts = polished(laps, counts, options, judge, finish)
    own = replace(options, n_topics=counts.shape[1], lower_rungs=())
    first, parameters = begin_with(counts, whole, own)
    return laps.learner.init(first), parameters


def polished(
    laps: WordLaps, counts: FloatArray, options: TrainingOptions, judge: Judge, finish: Finish
) -> FloatArray:
    """``counts`` after rounds of merges and deletes, up to the first that the judge refuses.

    A round that was refused is not tried again: on the same evidence it would pass by luck.
    """
    learner = cast("WordLearner", laps.learner)
    own = replace(options, n_topics=counts.shape[1], lower_rungs=())
    first, parameters = begin_with(counts, laps.source, own)
    # Deletes let documents find other topics, so each lap is cold.
    fitting = replace(
        laps, learner=replace(learner, cold_every=1), on_documents=lambda n_done, n_docs: None
    )
    state = fitting.learner.init(first)
    for _ in range(FIRST_LAPS):
        state, parameters, _ = fitting.run(state, parameters)
    ledger = Ledger.new(counts.shape[1])
    for lap in range(ROUNDS + 1):
        present = parameters.with_components(fitting.learner.components(state))
        if not judge.accepts(finish(present)):
            break
        counts = present.components.table.copy()
        n_topics = counts.shape[1]
        fewest = n_topics - max(1, int(LARGEST_SHARE * n_topics))
        tools = Tools(fitting, DEFAULT_CRITERION, fewest=fewest)
        standing = refreshed(Standing.of(state, parameters, ledger._replace(lap=lap), tools))
        standing, _ = trim_topics(standing, POLISHING)
        if standing.n_topics == n_topics or lap == ROUNDS:
            break
        ledger = standing.ledger
        state, parameters, _ = fitting.run(standing.state, standing.parameters)
    for kept in state.per_batch.values():
        kept.discard()
    return counts
