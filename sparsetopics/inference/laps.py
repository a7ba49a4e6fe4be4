"""One pass over the batches of a collection: local steps, the learner's steps, the global steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from sparsetopics.base.batches import IntArray, Source
from sparsetopics.execution.executors import Executor
from sparsetopics.inference.batch_steps import StepsHere
from sparsetopics.inference.learners.learner import Learner, Remembering, Visit
from sparsetopics.inference.local_step import Globals, LocalInfo, LocalSteps
from sparsetopics.model.allocations.allocation import Allocation
from sparsetopics.model.document_topics import DocumentTopics
from sparsetopics.model.likelihoods.likelihood import Likelihood
from sparsetopics.model.statistics import Components, DocumentLengths, Statistics
from sparsetopics.options.training import LocalOptions

OnDocuments = Callable[[float, int], None]  # documents of the lap done so far, of all


class Prior(NamedTuple):
    """Global parameters beside the topics, as they stand."""

    allocation: Allocation
    likelihood: Likelihood

    def with_components(self, components: Components) -> Globals:
        return Globals(components, *self)

    def updated(self, terms: Any | None) -> Prior:
        """With topic weights at their optimum, unless no documents speak for them yet."""
        if terms is None:
            return self
        return self._replace(allocation=self.allocation.updated(terms))

    def learned(self, statistics: Statistics, lengths: DocumentLengths) -> Prior:
        """With the concentrations of the priors themselves at their optimum."""
        return Prior(
            self.allocation.learned(statistics.terms, lengths),
            self.likelihood.learned(statistics.components),
        )


class LapTally(NamedTuple):
    """What happened in a lap."""

    local: LocalInfo
    kept_old: int  # steps that kept the former responsibilities
    lengths: DocumentLengths


@dataclass(frozen=True, slots=True)
class Laps:
    """What every lap of a training run has in common."""

    source: Source
    learner: Learner[Any]
    local: LocalOptions
    executor: Executor
    on_documents: OnDocuments
    steps: LocalSteps | None = None  # None: in this process

    def run(
        self, state: Any, prior: Prior, rng: np.random.Generator
    ) -> tuple[Any, Prior, LapTally]:
        """Visit every batch once; the learner's state and the parameters after it."""
        learner, progress = self.learner, _Progress()
        kept_old = 0
        state = learner.start_lap(state)
        for batch_ids in learner.rounds(state, self.source.n_batches, rng):
            current = prior.with_components(learner.components(state))
            former = map(partial(self._former, state), batch_ids.tolist())
            visits = self._visits(batch_ids, current, former, progress)
            state, info = learner.step(state, visits, current)
            prior = prior.updated(learner.terms(state))
            kept_old += info.kept_old
        state = learner.end_lap(state)
        prior = prior.updated(learner.terms(state))
        tally = LapTally(LocalInfo(*progress.local.tolist()), kept_old, progress.lengths)
        return state, prior, tally

    def _former(self, state: Any, batch_id: int) -> DocumentTopics | None:
        if not isinstance(self.learner, Remembering):
            return None
        return self.learner.former(state, batch_id)

    def _visits(
        self,
        batch_ids: IntArray,
        current: Globals,
        former: Iterable[DocumentTopics | None],
        progress: _Progress,
    ) -> Iterator[Visit]:
        """The batches of a round, in their order."""
        steps = self.steps or StepsHere(self.source, self.local, self.executor)
        fitted = steps.fit_all(batch_ids, current, former)
        for batch_id, (documents, found) in zip(batch_ids.tolist(), fitted, strict=True):
            progress.local += np.array(found.info)
            progress.n_docs += documents.n_docs
            progress.lengths = progress.lengths.plus(DocumentLengths.of([documents]))
            self.on_documents(progress.n_docs, self.source.n_docs)
            yield Visit(
                batch_id,
                found.summary,
                documents,
                found.responsibilities,
                self.source.is_resident,
                found.doc_topics,
            )


class _Progress:
    """Sums over the visits of a lap."""

    def __init__(self) -> None:
        self.local = np.zeros(len(LocalInfo._fields), np.int64)
        self.n_docs = 0
        self.lengths = DocumentLengths.of([])
