"""What the training loop asks of a learner."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, Protocol, TypeVar, runtime_checkable

import numpy as np

from sparsetopics.base.batches import IntArray, Source
from sparsetopics.execution.executors import Executor
from sparsetopics.inference.local_step import Globals
from sparsetopics.model.document_topics import DocumentTopics
from sparsetopics.model.likelihoods.likelihood import Likelihood
from sparsetopics.model.memo import Memo
from sparsetopics.model.responsibilities import Responsibilities
from sparsetopics.model.statistics import Components, Statistics, Summary
from sparsetopics.options.training import TrainingOptions


class Visit(NamedTuple):
    """One batch after its local steps."""

    batch_id: int
    summary: Summary
    documents: Any  # the batch as it was read
    responsibilities: Responsibilities
    is_resident: bool = False  # whether the batch stays in memory anyway
    doc_topics: DocumentTopics | None = None  # of documents that share topics


class StepInfo(NamedTuple):
    """What a step tells people; nothing here feeds the next step."""

    kept_old: bool = False  # the former responsibilities were better, and stay
    step_size: float | None = None  # of the stochastic learner


State = TypeVar("State")


class Setting(NamedTuple):
    """What a learner is made for and from."""

    source: Source
    options: TrainingOptions
    likelihood: Likelihood
    memo: Memo
    executor: Executor


def cut_rounds(order: IntArray, batches_per_round: int) -> list[IntArray]:
    """The batches of ``order`` in rounds of as many, but for the last."""
    return np.split(order, np.arange(batches_per_round, len(order), batches_per_round))


class Learner(Protocol[State]):
    """Decides how summaries of batches become what global parameters are made from.

    ``step`` is a function of its arguments and changes none of them. A round is a set of batches
    processed under the same global parameters; ``step`` takes them all in one update.
    """

    def init(self, start: Statistics) -> State:
        """``start``: components that stand for data not seen so far, and no terms."""
        ...

    def rounds(self, state: State, n_batches: int, rng: np.random.Generator) -> list[IntArray]: ...

    def step(
        self, state: State, visits: Iterable[Visit], current: Globals
    ) -> tuple[State, StepInfo]: ...

    def end_lap(self, state: State) -> State: ...

    def start_lap(self, state: State) -> State:
        """Before the first step of a lap; steps change in place only what is made here."""
        ...

    def components(self, state: State) -> Components:
        """What the posterior is made from."""
        ...

    def terms(self, state: State) -> Any | None:
        """What weights are made from; None as long as a start stands for data."""
        ...

    def statistics(self, state: State) -> Statistics: ...

    def check(self, state: State, nothing: Statistics, source: Source) -> None:
        """ValueError unless a ``state`` read from a file could result from a lap over ``source``.

        ``nothing`` has the statistics of no data, for the same number of topics. Kernels trust the
        state, so all indices must be checked here or when they are loaded.
        """
        ...


@runtime_checkable
class Remembering(Protocol):
    """A learner that knows where documents stood at their last visit."""

    def former(self, state: Any, batch_id: int) -> DocumentTopics | None:
        """What the documents of a batch begin with; None: they start cold."""
        ...


class LearnerModule(Protocol):
    """What a module has that ``kinds.LEARNERS`` names."""

    STATES: tuple[type[Any], ...]  # classes of its states, for checkpoints

    def make(self, setting: Setting) -> Learner[Any]: ...
