"""Laps: one pass over the batches, with local steps, the learner's steps and global steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from operator import add
from typing import Generic, cast

import numpy as np

from sparsetopics.base.batches import IntArray, Source
from sparsetopics.execution.executors import Executor
from sparsetopics.inference.document_step import fit_documents
from sparsetopics.inference.item_step import fit_items
from sparsetopics.inference.learners.learner import Learner, S, Visit
from sparsetopics.inference.local_step import (
    NOTHING,
    D,
    Former,
    Globals,
    LocalInfo,
    LocalResult,
    LocalSteps,
    Parameters,
)
from sparsetopics.model.allocations.allocation import is_of_documents
from sparsetopics.model.statistics import C, DocumentLengths, P, T
from sparsetopics.options.table import OWN_SHARES
from sparsetopics.options.training import LocalOptions

OnDocuments = Callable[[float, int], None]  # documents of the lap done so far, and in all


@dataclass(slots=True)
class LapTally:
    """What happened in a lap, added up in place."""

    local: LocalInfo = field(default_factory=LocalInfo)
    kept_old: int = 0  # steps that kept the former responsibilities
    lengths: DocumentLengths = field(default_factory=lambda: DocumentLengths.of([]))


@dataclass(frozen=True, slots=True)
class Laps(Generic[S, D, C, P, T]):
    """What all laps of a training run have in common."""

    source: Source[D]
    learner: Learner[S, D, C, P, T]
    local: LocalOptions
    executor: Executor
    on_documents: OnDocuments
    rng: np.random.Generator  # the one of the run
    steps: LocalSteps[C, P, T, D] | None = None  # None: made in this process

    def run(
        self, state: S, parameters: Parameters[C, P, T], rounds: Sequence[IntArray] | None = None
    ) -> tuple[S, Parameters[C, P, T], LapTally]:
        """Visit every batch once; return the learner's state and the parameters after it.

        ``rounds`` has the only batches to visit; without it, the learner chooses the rounds.
        """
        learner, tally = self.learner, LapTally()
        state = learner.start_lap(state)
        if rounds is None:
            rounds = learner.rounds(state, self.source.n_batches, self.rng)
        for batch_ids in rounds:
            current = parameters.with_components(learner.components(state))
            former = map(partial(self._former, state), batch_ids.tolist())
            visits = self._visits(batch_ids, current, former, tally)
            state, kept_old = learner.step_in_place(state, visits, current)
            parameters = parameters.updated(learner.terms(state))
            tally.kept_old += kept_old
        state = learner.end_lap(state)
        parameters = parameters.updated(learner.terms(state))
        return state, parameters, tally

    def _former(self, state: S, batch_id: int) -> Former:
        wanted = OWN_SHARES[self.local.own_counts] > 0.0
        kept = self.learner.kept(state, batch_id) if wanted else None
        return self.learner.former(state, batch_id), None if kept is None else kept[1]

    def _visits(
        self,
        batch_ids: IntArray,
        current: Globals[C, P, T],
        former: Iterable[Former],
        tally: LapTally,
    ) -> Iterator[Visit[D, P, T]]:
        """Fit the batches of a round, in their order."""
        fit_all = self.steps or partial(fit_here, self.source, self.executor)
        fitted = fit_all(batch_ids, current, self.local, former)
        is_resident = self.source.is_resident
        for batch_id, (documents, found) in zip(batch_ids.tolist(), fitted, strict=True):
            summary, responsibilities, info, doc_topics = found
            tally.local = LocalInfo(*map(add, tally.local, info))
            tally.lengths = tally.lengths.plus(DocumentLengths.of([documents]))
            self.on_documents(tally.lengths.n_docs.sum(), self.source.n_docs)
            yield Visit(batch_id, summary, documents, responsibilities, is_resident, doc_topics)


def fit_here(
    source: Source[D],
    executor: Executor,
    batch_ids: IntArray,
    current: Globals[C, P, T],
    options: LocalOptions,
    former: Iterable[Former],
) -> Iterator[tuple[D, LocalResult[P, T]]]:
    """``LocalSteps`` in this process: each batch when it is asked for, by all workers."""
    for batch_id, left in zip(batch_ids.tolist(), former, strict=True):
        documents = source.read(batch_id)
        yield documents, fit_batch(documents, current, options, executor, left)


def fit_batch(
    batch: D,
    current: Globals[C, P, T],
    options: LocalOptions,
    executor: Executor,
    former: Former = NOTHING,
) -> LocalResult[P, T]:
    """Make the local step of a batch.

    ``former`` is what the last visit of the batch left. Items have no use for it, because their
    step is exact from any start.
    """
    of_documents = is_of_documents(current.allocation)
    # The allocation says what the batch is; no type can.
    fit = cast("FitBatch[D, C, P, T]", fit_documents if of_documents else fit_items)
    return fit(batch, current, options, executor, former)


FitBatch = Callable[[D, Globals[C, P, T], LocalOptions, Executor, Former], LocalResult[P, T]]
