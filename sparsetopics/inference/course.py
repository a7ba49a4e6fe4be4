"""The course of a run: what happens to topics around its laps, and which lap is the last.

The training loop (``training``) makes laps, and asks a ``Course`` what to do before and after each
of them. A new course is a subclass and a line in ``COURSES``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any, Generic, NamedTuple, Protocol

import numpy as np

from sparsetopics.base.batches import IntArray, Source
from sparsetopics.base.soundness import check_close, require
from sparsetopics.execution.executors import Executor
from sparsetopics.inference.guided_start import Guidance
from sparsetopics.inference.laps import Laps, LapTally, OnDocuments
from sparsetopics.inference.learners.learner import Learner, LearnerInputs, S
from sparsetopics.inference.local_step import D, Globals, LocalSteps, Parameters, elbo
from sparsetopics.inference.moves.standing import MoveTally
from sparsetopics.inference.smoothing import LEFT_OUT, learned_smoothing, smoothing_of
from sparsetopics.inference.training_state import LapInfo, PathMemory, TrainingState, check_model
from sparsetopics.model.memo import Memo
from sparsetopics.model.mixture_posterior import MixturePosterior
from sparsetopics.model.responsibilities import Responsibilities
from sparsetopics.model.statistics import C, P, Statistics, T
from sparsetopics.model.topic_posterior import TopicPosterior
from sparsetopics.options.registry import imported
from sparsetopics.options.training import TrainingOptions

QUIET_LAPS = 3  # after which training has settled
QUIET_GAIN = 1e-3  # nats per token that a lap may add or lose once training has settled

Model = TopicPosterior | MixturePosterior

# The courses, as module:class. A run follows the first whose condition its options meet.
COURSES: dict[str, Callable[[TrainingOptions], bool]] = {
    "sparsetopics.inference.validated_number:ValidatedNumber": lambda own: own.is_validated,
    "sparsetopics.inference.topic_path:Path": lambda own: bool(own.lower_rungs),
    "sparsetopics.inference.gradual_start:GradualStart": lambda own: own.model_kind.narrows,
    "sparsetopics.inference.growth.grower:Grower": lambda own: own.learner_kind.grows,
    "sparsetopics.inference.mover:Mover": lambda own: own.makes_moves,
}


class Hooks(NamedTuple):
    """Functions that training calls. The second argument of ``on_lap`` makes the present model."""

    on_lap: Callable[[LapInfo, Callable[[], Model]], None] = lambda info, model: None
    on_documents: OnDocuments = lambda n_done, n_docs: None
    on_last_lap: Callable[[], None] = lambda: None  # after its ``on_lap``, before it is kept
    say: Callable[[str], None] = lambda sentence: None  # about a choice that training made


class Judge(Protocol):
    """Takes the rungs of a path, and scores models on documents that training does not see."""

    def reached(
        self, snapshot: Callable[[], Model], parents: IntArray, elbo_per_token: float
    ) -> None:
        """Called with each rung, after the ``on_lap`` of its lap; ``snapshot`` makes its model.

        ``parents`` (n_before,) has the topic of the model that each topic of the rung before has
        become part of. It is empty at the first rung. The ELBO is in nats, of all documents.
        """

    def choose(self) -> int:
        """The place of the rung to continue with, among those that were reached."""

    def accepts(self, model: Model) -> bool:
        """Whether a model predicts as well as the best one since ``choose``; the first always."""

    def prefers(self, rival: Model) -> float:
        """By how many standard errors a rival predicts better than the last model accepted.

        Otherwise zero. Very small errors count as somewhat larger. A rival that is preferred is
        accepted.
        """

    def settled(self, n_topics: int) -> None:
        """Called when the model last accepted is what training continues with.

        The ``n_topics`` that it then has may be fewer, without the smallest.
        """

    def number_to_read(self) -> int:
        """The fewest topics that are enough to read, at most as many as were recommended."""


class Setting(NamedTuple, Generic[S, D, C, P, T]):
    """What stays the same from lap to lap.

    Local steps are made by ``steps`` if given, and must be possible for all batches of ``whole``;
    everything else is done by the ``executor``.
    """

    source: Source[D]
    # The batches of ``source``, and after them those of documents that are kept out of laps: the
    # rungs of a topic path take them in, and so do the last laps of an HDP.
    whole: Source[D]
    options: TrainingOptions
    executor: Executor
    memo: Memo
    rng: np.random.Generator
    hooks: Hooks
    steps: LocalSteps[C, P, T, D] | None = None  # None: made in this process
    judge: Judge | None = None  # who gets the rungs of a run that has any
    guidance: Guidance = ()  # words of lists, for topics to begin with

    def learner(
        self, parameters: Parameters[C, P, T], options: TrainingOptions | None = None
    ) -> Learner[S, D, C, P, T]:
        """The learner that the options name, or one with other ``options``."""
        own, likelihood = options or self.options, parameters.likelihood
        make: Callable[[LearnerInputs[D, C, P]], Learner[S, D, C, P, T]]
        make = imported(f"{own.learner_kind.where}:make")
        return make(LearnerInputs(self.source, own, likelihood, self.memo, self.executor))


class Course(Generic[S, D, C, P, T]):
    """A course that leaves the topics alone and is over when laps have settled.

    It holds what training has learned so far. After it is made, it begins or resumes.
    """

    state: S  # the learner's
    parameters: Parameters[C, P, T]
    laps: Laps[S, D, C, P, T]

    def __init__(self, setting: Setting[S, D, C, P, T]) -> None:
        self.setting, self.options = setting, setting.options
        self.memory = PathMemory()  # of the rungs that were reached

    def first_number(self) -> int:
        """The number of topics to begin with."""
        return self.options.n_topics

    def source_of(self, lap: int) -> Source[D]:
        """The documents or items that a lap visits."""
        return self.setting.source

    def check_state(self, kept: TrainingState) -> None:
        """ValueError, or another built-in error, unless training can continue from a checkpoint.

        Its numbers are known to be finite, and it has the documents of batches in memory. The ELBO
        is computed again. If it is the one that was recorded, all that it depends on is finite.
        """
        source, n_laps = self.source_of(len(kept.laps)), len(kept.laps)
        kept.check(source.n_columns, self.setting.rng)
        bound = self.checked_elbo(kept.learner, kept.parameters, n_laps)
        check_close(bound / source.n_tokens, kept.laps[-1].elbo_per_token, "the ELBO")
        self.check(kept)

    def checked_elbo(self, state: S, parameters: Parameters[C, P, T], n_laps: int) -> float:
        """The ELBO in nats of a learner's ``state`` after ``n_laps`` laps.

        ValueError, or another built-in error, unless state and parameters are sound.
        """
        source, where = self.source_of(n_laps), self.options.learner_kind.where
        check_model(parameters, source, self.options, n_laps)
        kind, *_ = imported(f"{where}:STATES")
        require(type(state) is kind, "the state of another learner")
        learner = self.setting.learner(parameters)
        learner.check(state, parameters.nothing, source)
        current = parameters.with_components(learner.components(state))
        bound = elbo(learner.statistics(state), current)
        require(np.isfinite(bound), "the ELBO is not finite")
        return bound

    def check(self, kept: TrainingState) -> None:
        """ValueError, or another built-in error, unless the course can resume from its record.

        All else in the checkpoint is checked already.
        """
        require(kept.mover is None, "a record of moves")

    def begin(self, first: Statistics[C, T], parameters: Parameters[C, P, T]) -> None:
        """Begin with the statistics and parameters before the first lap."""
        self.prepare(parameters)
        self.state = self.laps.learner.init(first)

    def resume(self, kept: TrainingState) -> None:
        """Continue from a checkpoint."""
        self.prepare(kept.parameters)
        self.state, self.memory = kept.learner, kept.memory

    def prepare(self, parameters: Parameters[C, P, T]) -> None:
        """Make what laps need."""
        setting, learner = self.setting, self.setting.learner(parameters)
        self.laps = Laps(
            setting.source, learner, self.options.local_step, setting.executor,
            setting.hooks.on_documents, setting.rng, setting.steps,
        )  # fmt: skip
        self.parameters = parameters

    def make_lap(self) -> LapTally:
        """Visit every batch once; return what happened."""
        self.state, self.parameters, tally = self.laps.run(self.state, self.parameters)
        return tally

    def before_lap(self, lap: int) -> None:
        """Change the topics before a lap, numbered from 1, or what ``laps`` visit."""

    def after_lap(self, lap: int) -> tuple[Mapping[str, MoveTally], float | None]:
        """Make the moves of a lap.

        Returns their tallies by name, and the collapsed criterion in nats if they followed it.
        """
        return {}, None

    def after_report(self, lap: int) -> None:
        """Hand out what the topics of a lap are wanted for, once the lap is in the trace."""

    def is_over(self, infos: list[LapInfo]) -> bool:
        """Whether no lap follows those of ``infos``."""
        if len(infos) >= self.options.n_laps:
            return True
        return self.is_exhausted and has_settled(infos, self.quiet_gain)

    @property
    def is_exhausted(self) -> bool:
        """Whether nothing is left to try."""
        return True

    @property
    def quiet_gain(self) -> float:
        """Nats per token that a lap may add or lose once training has settled."""
        return QUIET_GAIN

    def record(self) -> tuple[object, ...] | None:
        """What a checkpoint must hold to continue after this lap, beside the ``memory``."""
        return None

    def kept(self, infos: list[LapInfo]) -> TrainingState:
        """What a checkpoint holds after the laps of ``infos``."""
        drawn, laps = self.setting.rng.bit_generator.state, tuple(infos)
        return TrainingState(self.state, self.parameters, self.record(), drawn, laps, self.memory)

    @property
    def current(self) -> Globals[C, P, T]:
        """The global parameters."""
        return self.parameters.with_components(self.laps.learner.components(self.state))

    def left_out(self, lap: int) -> int:
        """The number of documents that the smoothing of a model after a lap is learned from."""
        return LEFT_OUT

    def model(self, lap: int) -> Model:
        """The model after a lap."""
        seen = self.source_of(lap), self.setting.executor, self.kept_of, self.left_out(lap)
        return make_model(self.current, self.options, *seen, self.own_share(lap))

    def own_share(self, lap: int) -> float:
        """The share of a document's own counts that is left out in a lap."""
        return 0.0

    @property
    def statistics(self) -> Statistics[C, T]:
        """The statistics of the whole collection."""
        return self.laps.learner.statistics(self.state)

    @property
    def learned(self) -> Statistics[C, T]:
        """What the parameters follow from after a lap, and what learning can go on from."""
        terms = self.laps.learner.terms(self.state)
        assert terms is not None, "after a lap"
        return Statistics(self.current.components, terms)

    def kept_of(self, batch_id: int) -> tuple[D, Responsibilities] | None:
        """What the learner keeps of a batch (``Learner.kept``)."""
        return self.laps.learner.kept(self.state, batch_id)


def course_of(options: TrainingOptions) -> Any:  # a kind of ``Course``; options say of which model
    """The class of the course that a run follows."""
    where = next((where for where, is_met in COURSES.items() if is_met(options)), None)
    return Course if where is None else imported(where)


def make_model(
    current: Globals[C, P, T],
    options: TrainingOptions,
    source: Source[D],
    executor: Executor,
    kept: Callable[[int], tuple[D, Responsibilities] | None] = lambda batch_id: None,
    left_out: int = LEFT_OUT,
    own_share: float = 0.0,
) -> Model:
    """The posterior as a model, topics in falling order of weight, with their smoothing.

    That is given, or learned from ``left_out`` documents (``learned_smoothing``); topics may lack
    an ``own_share`` of documents (``smoothing_of``).
    """
    finish: Callable[[Globals[C, P, T], TrainingOptions], Model]
    finish = imported(options.model_kind.finish)
    model = finish(current, options)
    if not isinstance(model, TopicPosterior):
        return model
    if not isinstance(options.smoothing, str):
        return replace(model, smoothing=float(options.smoothing))
    learned = learned_smoothing(current, source, kept, options.local_step, executor, left_out)
    usual = model.word_concentration
    return replace(model, smoothing=smoothing_of(learned, own_share) if learned else usual)


def has_settled(infos: list[LapInfo], quiet_gain: float) -> bool:
    """Whether the last ``QUIET_LAPS`` laps kept the number of topics and hardly changed the ELBO.

    A lap is quiet if it changes the ELBO by less than ``quiet_gain`` nats per token, up or down.
    """
    last = infos[-QUIET_LAPS - 1 :]
    return len(last) > QUIET_LAPS and all(
        after.n_topics == before.n_topics
        and abs(after.elbo_per_token - before.elbo_per_token) < quiet_gain
        for before, after in pairwise(last)
    )
