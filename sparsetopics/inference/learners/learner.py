"""What the training loop needs of a learner, which turns summaries into global parameters.

A module that ``registry.LEARNERS`` names has ``make``, which takes ``LearnerInputs`` and returns a
``Learner``, and ``STATES``: the class of its state, then others in it that checkpoints may hold.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from sparsetopics.base.batches import Batch, IntArray, Source
from sparsetopics.execution.executors import Executor
from sparsetopics.inference.local_step import D, Globals
from sparsetopics.model.likelihoods.likelihood import Likelihood
from sparsetopics.model.memo import Memo
from sparsetopics.model.responsibilities import DocumentTopics, Responsibilities
from sparsetopics.model.statistics import C, P, Statistics, Summary, T
from sparsetopics.options.training import TrainingOptions

S = TypeVar("S")  # the state of a learner


class Visit(NamedTuple, Generic[D, P, T]):
    """One batch after its local step."""

    batch_id: int
    summary: Summary[P, T]
    documents: D  # the batch as it was read
    responsibilities: Responsibilities
    is_resident: bool = False  # whether the batch stays in memory anyway
    doc_topics: DocumentTopics | None = None  # None for items


class LearnerInputs(NamedTuple, Generic[D, C, P]):
    """What a learner is made from."""

    source: Source[D]
    options: TrainingOptions
    likelihood: Likelihood[C, P]
    memo: Memo
    executor: Executor


class Learner(ABC, Generic[S, D, C, P, T]):
    """Turns the summaries of batches into what the global parameters follow from.

    A learner holds settings only. What it has learned is its state, an immutable value that a
    checkpoint can hold, apart from the arrays that ``start_lap`` makes for ``step_in_place``.
    """

    batches_per_round: int | None = None  # None: all

    @abstractmethod
    def init(self, start: Statistics[C, T]) -> S:
        """The state before training; ``start`` has components that stand for unseen data."""

    def rounds(self, state: S, n_batches: int, rng: np.random.Generator) -> list[IntArray]:
        """Divide a lap into rounds of batches, each fitted under the same parameters.

        A round has ``batches_per_round`` batches in random order, the last perhaps fewer.
        """
        if self.batches_per_round is None:
            return [np.arange(n_batches)]
        cuts = np.arange(self.batches_per_round, n_batches, self.batches_per_round)
        return np.split(rng.permutation(n_batches), cuts)

    def start_lap(self, state: S) -> S:
        """Called before the first step of a lap; copies what its steps change in place."""
        return state

    @abstractmethod
    def step_in_place(
        self, state: S, visits: Iterable[Visit[D, P, T]], current: Globals[C, P, T]
    ) -> tuple[S, bool]:
        """Take in a round of batches, and return the new state, which replaces ``state``.

        Also returns whether a batch keeps its former responsibilities, which were better.
        Arrays of ``state`` may be overwritten, since copying them for each batch would take longer
        than the batch. Each visit may be computed only when it is asked for.
        """

    def end_lap(self, state: S) -> S:
        """Called after the last step of a lap."""
        return state

    def former(self, state: S, batch_id: int) -> DocumentTopics | None:
        """The topics that the documents of a batch begin with, or None for a cold start."""
        return None

    def kept(self, state: S, batch_id: int) -> tuple[D, Responsibilities] | None:
        """The documents of a batch and what they put into the components, if that is kept."""
        return None

    @abstractmethod
    def components(self, state: S) -> C:
        """The components that the posterior follows from."""

    @abstractmethod
    def terms(self, state: S) -> T | None:
        """The terms that the weights follow from; None as long as a start stands for data."""

    @abstractmethod
    def statistics(self, state: S) -> Statistics[C, T]:
        """The statistics of the whole collection."""

    @abstractmethod
    def check(self, state: S, nothing: Statistics[C, T], source: Source[Batch]) -> None:
        """ValueError unless a ``state`` read from a file could result from a lap over ``source``.

        ``nothing`` has the statistics of no data, for the same number of topics. Kernels trust the
        state, so all indices must be checked here or when they are loaded.
        """
