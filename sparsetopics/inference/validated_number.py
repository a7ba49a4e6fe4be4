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
from typing import Protocol

from sparsetopics.base.batches import DocumentBatch, FloatArray, Source
from sparsetopics.inference.document_step import TopicGlobals
from sparsetopics.inference.gradual_start import WordState
from sparsetopics.inference.moves.ledger import Ledger
from sparsetopics.inference.moves.standing import Standing, Tools, refreshed
from sparsetopics.inference.moves.trimming import trim_topics
from sparsetopics.inference.topic_path import PathMemory, WordLaps
from sparsetopics.inference.topics import TopicParameters, begin_with
from sparsetopics.model.topic_posterior import TopicPosterior
from sparsetopics.options.table import DEFAULT_CRITERION
from sparsetopics.options.training import TrainingOptions

FIRST_LAPS = 2  # of the chosen topics, before they are polished
ROUNDS = 6  # of merges and deletes at most, with a lap after each
LARGEST_SHARE = 0.2  # of the topics may go in one round
SMALLEST = 0.02  # of the mean size; a smaller topic describes a few documents and predicts no other
POLISHING = ("merge", "delete")

Finish = Callable[[TopicGlobals], TopicPosterior]


class Judge(Protocol):
    """Scores models on documents that training does not see."""

    def choose(self) -> int:
        """The place of the rung to continue with, among those that were reached."""

    def accepts(self, model: TopicPosterior) -> bool:
        """Whether a model predicts as well as the best one since ``choose``."""


def settled(
    laps: WordLaps,
    state: WordState,
    memory: PathMemory,
    whole: Source[DocumentBatch],
    options: TrainingOptions,
    judge: Judge,
    finish: Finish,
) -> tuple[WordState, TopicParameters]:
    """The chosen topics, polished, before their first lap over the documents of ``whole``.

    What the memo holds of ``state`` and ``memory`` is freed. Each lap of ``laps`` must be cold, so
    that documents find other topics for those that go.
    """
    for kept in state.per_batch.values():
        kept.discard()
    counts = memory.counts(judge.choose(), laps.source.n_columns)
    counts = polished(laps, counts, options, judge, finish)
    memory.discard()
    return begun(laps, counts, whole, options)


def begun(
    laps: WordLaps, counts: FloatArray, source: Source[DocumentBatch], options: TrainingOptions
) -> tuple[WordState, TopicParameters]:
    """The state of training that starts from the topics with these ``counts``."""
    own = replace(options, n_topics=counts.shape[1], lower_rungs=())
    first, parameters = begin_with(counts, source, own)
    return laps.learner.init(first), parameters


def polished(
    laps: WordLaps, counts: FloatArray, options: TrainingOptions, judge: Judge, finish: Finish
) -> FloatArray:
    """``counts`` after rounds of merges and deletes, up to the first that the judge refuses.

    A round that was refused is not tried again: on the same evidence it would pass by luck. In the
    end, topics that are smaller than ``SMALLEST`` go.
    """
    fitting = replace(laps, on_documents=lambda n_done, n_docs: None)
    state, parameters = begun(fitting, counts, laps.source, options)
    for _ in range(FIRST_LAPS):
        state, parameters, _ = fitting.run(state, parameters)
    ledger = Ledger.new(counts.shape[1])
    for lap in range(ROUNDS + 1):
        present = parameters.with_components(fitting.learner.components(state))
        if not judge.accepts(finish(present)):
            break
        counts = present.components.table.copy()
        n_topics = counts.shape[1]
        if lap == ROUNDS:
            break
        fewest = n_topics - max(1, int(LARGEST_SHARE * n_topics))
        tools = Tools(fitting, DEFAULT_CRITERION, fewest=fewest)
        standing = refreshed(Standing.of(state, parameters, ledger._replace(lap=lap), tools))
        standing, _ = trim_topics(standing, POLISHING)
        if standing.n_topics == n_topics:
            break
        ledger = standing.ledger
        state, parameters, _ = fitting.run(standing.state, standing.parameters)
    for kept in state.per_batch.values():
        kept.discard()
    sizes = counts.sum(axis=0)
    return counts[:, sizes >= SMALLEST * sizes.mean()]
