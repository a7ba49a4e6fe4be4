"""The number of topics of an HDP, as documents that are kept out of training choose it.

Training begins with many topics and merges them as on a topic path. A judge, who scores every rung
on the validation documents, chooses one of them. Its topics are then polished: merges and deletes
that raise the collapsed criterion are made, at most a fifth of the topics at a time, as long as the
validation documents are predicted as well. If few are left, rivals that begin with other documents
challenge them, and so do the topics without the largest. Those that predict better are fitted on
all documents. For reading, they are then joined to fewer, which are fitted in the last laps.

Merges by the words' evidence alone leave a topic or two too many, or join two topics that differ.
The criterion of moves finds such errors, but left alone it removes far more topics than it should.
Nor does it part topics again that the path has joined, such as two small ones before the halves of
a large one: only what does not begin with the topics of the path is free of its faults.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from sparsetopics.base.batches import DocumentBatch, FloatArray, Source
from sparsetopics.inference.course import Model, make_model
from sparsetopics.inference.gradual_start import DOCUMENTS_PER_TOPIC, local_options
from sparsetopics.inference.moves.ledger import Ledger
from sparsetopics.inference.moves.standing import Standing, Tools
from sparsetopics.inference.moves.trimming import trim_topics
from sparsetopics.inference.smoothing import FEW_LEFT_OUT
from sparsetopics.inference.theme_tree import groups_at, theme_tree
from sparsetopics.inference.topic_path import Path, is_rung
from sparsetopics.inference.topics import begin_topics, begin_with
from sparsetopics.inference.training_state import LapInfo, PathMemory
from sparsetopics.options.table import DEFAULT_CRITERION, LAST_LAPS

FIRST_LAPS = 2  # of chosen topics, before they are scored
FEW_TOPICS = 64  # of more, no single number is right; to look for it longer would cost too much
ROUNDS = 6  # of merges and deletes at most, with a lap after each
ROUNDS_OF_MANY = 1  # if there are more than ``FEW_TOPICS``
LARGEST_SHARE = 0.2  # of the topics may go in one round
SMALLEST = 0.02  # of the mean size; a smaller topic describes a few documents and predicts no other
RIVALS = 3  # at most
RIVAL_TOPICS = (3, 100)  # to begin with: times those that it challenges, and at least
RIVAL_LAPS = 8  # at most; they end when the criterion leaves the topics as they are
FORMING_LAPS = 3  # of a rival, before the first merges and deletes
CLEARLY = 2.0  # standard errors; a rival that wins by more may itself be improved upon
POLISHING = ("merge", "delete")


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
        if lap == last + LAST_LAPS + 1:  # for reading
            number = self.judge.number_to_read()
            self.merge(lambda counts, prior: groups_at(theme_tree(counts, prior), number))
        local = local_options(self.options, self.parameters.allocation.n_topics, lap)
        self.laps = replace(self.laps, source=self.source_of(lap), local=local)

    def settle(self) -> None:
        """Continue with the chosen topics, polished, before their first lap over all documents.

        What the memo holds of the present state and of the rungs is freed. The steps until then
        train other topics in the place of the present ones.
        """
        self.state.discard()
        # Every lap is cold, so that documents find other topics for those that go.
        usual = self.laps
        cold = self.setting.learner(self.parameters, replace(self.options, cold_every=1))
        self.laps = replace(usual, learner=cold, on_documents=lambda n_done, n_docs: None)
        counts = self.memory.counts(self.judge.choose(), usual.source.n_columns)
        if not self.setting.guidance:
            for step in (self.polished, self.challenged, self.without_shared):
                counts = step(counts)
        else:  # these steps could lose what a list asks for; the judge still sees the choice
            self._fit(counts)
            self.judge.accepts(self._model())
            self.state.discard()
        self.judge.settled(counts.shape[1])
        self.memory.discard()
        self.memory, self.laps = PathMemory(), usual
        self._begin_from(counts, self.setting.whole)

    def after_report(self, lap: int) -> None:
        """Keep the counts of a rung, which takes no documents in."""
        if is_rung(self.options, lap):
            self.reach(self.setting.source)
            counts = self.current.components.table[:, self.memory.lineage]
            self.memory = self.memory.kept(counts, self.setting.memo)

    def is_over(self, infos: list[LapInfo]) -> bool:
        return len(infos) >= self.options.n_laps

    def polished(self, counts: FloatArray) -> FloatArray:
        """``counts`` after rounds of merges and deletes, up to the first that the judge refuses.

        A round that was refused is not tried again: on the same evidence it would pass by luck. In
        the end, small topics go.
        """
        self._fit(counts)
        ledger = Ledger.new(counts.shape[1])
        n_rounds = ROUNDS if counts.shape[1] <= FEW_TOPICS else ROUNDS_OF_MANY
        for lap in range(n_rounds + 1):
            if not self.judge.accepts(self._model()):
                break
            if lap:  # before any move, the topics of the path are the better ones to continue with
                counts = self.current.components.table.copy()
            n_topics = counts.shape[1]
            if lap == n_rounds:
                break
            fewest = n_topics - max(1, int(LARGEST_SHARE * n_topics))
            ledger = self._trim(ledger._replace(lap=lap), fewest)
            if self.parameters.allocation.n_topics == n_topics:
                break
            self.make_lap()
        self.state.discard()
        return _without_small(counts)

    def challenged(self, counts: FloatArray) -> FloatArray:
        """``counts``, or those of the last rival that the judge prefers."""
        wins_by = math.inf
        for _ in range(RIVALS):
            if counts.shape[1] > FEW_TOPICS or wins_by <= CLEARLY:
                break
            self._grow_rival(counts.shape[1])
            wins_by = self.judge.prefers(self._model())
            if wins_by > 0.0:
                counts = _without_small(self.current.components.table)
            self.state.discard()
        return counts

    def without_shared(self, counts: FloatArray) -> FloatArray:
        """``counts`` without the largest topic, if the judge prefers that.

        Words of all topics may have become a topic of their own, which most documents use. No
        delete removes it, because other topics have to take up its words first.
        """
        if not 1 < counts.shape[1] <= FEW_TOPICS:
            return counts
        self._fit(np.delete(counts, counts.sum(axis=0).argmax(), axis=1))
        if self.judge.prefers(self._model()) > 0.0:
            counts = self.current.components.table
        self.state.discard()
        return counts

    def _model(self) -> Model:
        """The model that the judge scores, with a smoothing of its own."""
        seen = self.laps.source, self.laps.executor, self.kept_of
        return make_model(self.current, self.options, *seen, FEW_LEFT_OUT)

    def _begin_from(self, counts: FloatArray, source: Source[DocumentBatch]) -> None:
        """Begin with the topics that have these ``counts``."""
        own = replace(self.options, n_topics=counts.shape[1], lower_rungs=())
        first, self.parameters = begin_with(counts, source, own)
        self.state = self.laps.learner.init(first)

    def _fit(self, counts: FloatArray) -> None:
        """Make ``FIRST_LAPS`` that start from the topics with these ``counts``."""
        self._begin_from(counts, self.laps.source)
        for _ in range(FIRST_LAPS):
            self.make_lap()

    def _grow_rival(self, n_topics: int) -> None:
        """Begin with documents, which are then merged and deleted as the criterion says.

        There are more than ``n_topics`` at first, since no move adds any. Each round of moves has a
        lap after it.
        """
        times, least = RIVAL_TOPICS
        source = self.laps.source
        n_first = min(max(times * n_topics, least), source.n_docs // DOCUMENTS_PER_TOPIC)
        own = replace(self.options, n_topics=n_first, lower_rungs=())
        first, self.parameters = begin_topics(source, own, self.laps.rng, None)
        self.state, ledger = self.laps.learner.init(first), Ledger.new(n_first)
        for lap in range(1, RIVAL_LAPS + 1):
            self.make_lap()
            if FORMING_LAPS < lap < RIVAL_LAPS:
                before = self.parameters.allocation.n_topics
                ledger = self._trim(ledger._replace(lap=lap))
                if self.parameters.allocation.n_topics == before:
                    break

    def _trim(self, ledger: Ledger, fewest: int = 1) -> Ledger:
        """Make merges and deletes that raise the criterion; leave ``fewest`` topics at least."""
        tools = Tools(self.laps, DEFAULT_CRITERION, fewest=fewest)
        standing = Standing.of(self.state, self.parameters, ledger, tools)
        standing, _ = trim_topics(standing.refreshed(), POLISHING)
        self.state, self.parameters = standing.state, standing.parameters
        return standing.ledger


def _without_small(counts: FloatArray) -> FloatArray:
    """The topics, (n_words, n_topics), that are not smaller than ``SMALLEST``."""
    sizes = counts.sum(axis=0)
    return counts[:, sizes >= SMALLEST * sizes.mean()]
