"""The number of topics of an HDP, as documents that are kept out of training choose it.

Training begins with many topics and merges them as on a topic path. A judge, who scores every rung
on the validation documents, chooses one of them. Its topics are then polished: merges and deletes
that raise the collapsed criterion are made, at most a fifth of the topics at a time, as long as the
validation documents are predicted as well. The topics that are left are fitted on all documents.

Merges by the words' evidence alone leave a topic or two too many, or join two topics that differ.
The criterion of moves finds such errors, but left alone it removes far more topics than it should.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from sparsetopics.base.batches import DocumentBatch, FloatArray, Source
from sparsetopics.inference.course import Judge, make_model
from sparsetopics.inference.gradual_start import WordState, local_options
from sparsetopics.inference.laps import Laps
from sparsetopics.inference.moves.ledger import Ledger
from sparsetopics.inference.moves.standing import Standing, Tools
from sparsetopics.inference.moves.trimming import trim_topics
from sparsetopics.inference.smoothing import FEW_LEFT_OUT
from sparsetopics.inference.topic_path import Path, is_rung
from sparsetopics.inference.topics import TopicParameters, begin_with
from sparsetopics.inference.training_state import LapInfo, PathMemory
from sparsetopics.model.statistics import DocumentTerms
from sparsetopics.model.word_counts import PairCounts, WordCounts
from sparsetopics.options.table import DEFAULT_CRITERION
from sparsetopics.options.training import TrainingOptions

FIRST_LAPS = 2  # of the chosen topics, before they are polished
ROUNDS = 6  # of merges and deletes at most, with a lap after each
LARGEST_SHARE = 0.2  # of the topics may go in one round
SMALLEST = 0.02  # of the mean size; a smaller topic describes a few documents and predicts no other
POLISHING = ("merge", "delete")

WordLaps = Laps[WordState, DocumentBatch, WordCounts, PairCounts, DocumentTerms]


class ValidatedNumber(Path):
    """The course of an HDP down a path to the number of topics that the judge chooses."""

    def source_of(self, lap: int) -> Source[DocumentBatch]:
        is_last = lap > self.options.last_path_lap
        return self.setting.whole if is_last else self.setting.source

    def before_lap(self, lap: int) -> None:
        last = self.options.last_path_lap
        if lap <= last:
            super().before_lap(lap)
            return
        if lap == last + 1:
            self.settle()
        local = local_options(self.options, self.parameters.allocation.n_topics, lap)
        self.laps = replace(self.laps, source=self.source_of(lap), local=local)

    def settle(self) -> None:
        """Continue with the chosen topics, polished, before their first lap over all documents.

        What the memo holds of the present state and of the rungs is freed.
        """
        setting, options, judge = self.setting, self.options, self.setting.judge
        assert judge is not None, "of a path"
        self.state.discard()
        # Every lap is cold, so that documents find other topics for those that go.
        learner = setting.learner(self.parameters, replace(options, cold_every=1))
        laps = replace(self.laps, learner=learner)
        counts = self.memory.counts(judge.choose(), laps.source.n_columns)
        counts = polished(laps, counts, options, judge)
        self.memory.discard()
        self.memory = PathMemory()
        self.state, self.parameters = begun(laps, counts, setting.whole, options)

    def after_report(self, lap: int) -> None:
        """Keep the counts of a rung, which takes no documents in."""
        if is_rung(self.options, lap):
            self.reach(self.setting.source)
            counts = self.current.components.table[:, self.memory.lineage]
            self.memory = self.memory.kept(counts, self.setting.memo)

    def is_over(self, infos: list[LapInfo]) -> bool:
        return len(infos) >= self.options.n_laps


def begun(
    laps: WordLaps, counts: FloatArray, source: Source[DocumentBatch], options: TrainingOptions
) -> tuple[WordState, TopicParameters]:
    """The state of training that starts from the topics with these ``counts``."""
    own = replace(options, n_topics=counts.shape[1], lower_rungs=())
    first, parameters = begin_with(counts, source, own)
    return laps.learner.init(first), parameters


def polished(
    laps: WordLaps, counts: FloatArray, options: TrainingOptions, judge: Judge
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
        kept = partial(fitting.learner.kept, state)
        seen = laps.source, laps.executor, kept, FEW_LEFT_OUT
        if not judge.accepts(make_model(present, options, *seen)):
            break
        counts = present.components.table.copy()
        n_topics = counts.shape[1]
        if lap == ROUNDS:
            break
        fewest = n_topics - max(1, int(LARGEST_SHARE * n_topics))
        tools = Tools(fitting, DEFAULT_CRITERION, fewest=fewest)
        standing = Standing.of(state, parameters, ledger._replace(lap=lap), tools)
        standing, _ = trim_topics(standing.refreshed(), POLISHING)
        if standing.n_topics == n_topics:
            break
        ledger = standing.ledger
        state, parameters, _ = fitting.run(standing.state, standing.parameters)
    state.discard()
    sizes = counts.sum(axis=0)
    return counts[:, sizes >= SMALLEST * sizes.mean()]
