"""The training loop: laps over the batches of a collection, until the model has settled."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, Generic, NamedTuple, Protocol, cast

import numpy as np

from sparsetopics.base.batches import IntArray, Source
from sparsetopics.execution.executors import Executor
from sparsetopics.inference.gradual_start import (
    first_number,
    local_options,
    narrowed,
    wanted_number,
)
from sparsetopics.inference.growth.grower import begin_growth
from sparsetopics.inference.laps import QUIET_GAIN, Laps, LapTally, OnDocuments
from sparsetopics.inference.learners.learner import Learner, LearnerInputs, S
from sparsetopics.inference.local_step import D, Globals, LocalSteps, Parameters, elbo
from sparsetopics.inference.moves.ledger import Ledger
from sparsetopics.inference.moves.phase import Mover
from sparsetopics.inference.moves.standing import Moved, MoveTally
from sparsetopics.inference.topic_path import PathMemory, Rung, is_rung, reach_rung
from sparsetopics.inference.training_state import (
    AnyState,
    Keeper,
    LapInfo,
    TrainingState,
    check_training_state,
)
from sparsetopics.inference.validated_number import Judge, settled
from sparsetopics.model.memo import Memo
from sparsetopics.model.mixture_posterior import MixturePosterior
from sparsetopics.model.statistics import C, P, Statistics, T, in_use
from sparsetopics.model.topic_posterior import TopicPosterior
from sparsetopics.options.option import refuse
from sparsetopics.options.registry import LEARNERS, MODELS, MOVE_COUNTS, MOVES, imported
from sparsetopics.options.training import TrainingOptions

QUIET_LAPS = 3  # after which training has settled

Model = TopicPosterior | MixturePosterior
Start = TopicPosterior | None  # a model to start from
Begin = Callable[
    [Source[D], TrainingOptions, np.random.Generator, Start],
    tuple[Statistics[C, T], Parameters[C, P, T]],
]
Finish = Callable[[Globals[C, P, T], TrainingOptions], Model]
AfterLap = Callable[[LapInfo, Callable[[], Model]], None]


class Hooks(NamedTuple, Generic[C, P, T]):
    """Functions that training calls. The second argument of ``on_lap`` makes the present model."""

    on_lap: AfterLap = lambda info, model: None
    on_documents: OnDocuments = lambda n_done, n_docs: None
    on_last_lap: Callable[[], None] = lambda: None  # after its ``on_lap``, before it is kept
    say: Callable[[str], None] = lambda sentence: None  # about a choice that training made
    on_rung: Callable[[Rung[Model]], None] = lambda rung: None  # after the ``on_lap`` of its lap
    on_end: Callable[[Statistics[C, T], Parameters[C, P, T]], None] = lambda *end: None


class TopicMover(Protocol[S, D, C, P, T]):
    """Changes the number of topics after a lap: a ``Mover`` or a ``Grower``."""

    laps: Laps[S, D, C, P, T]

    @property
    def first_lap(self) -> int: ...

    @property
    def is_exhausted(self) -> bool:
        """Whether it has nothing left to try."""

    @property
    def quiet_gain(self) -> float:
        """Nats per token that a lap may add or lose once training has settled."""

    def move(self, state: S, parameters: Parameters[C, P, T], lap: int) -> Moved[S, C, P, T]:
        """Make the moves of a lap."""

    def record(self) -> tuple[object, ...]:
        """What a checkpoint must hold to continue after this lap."""

    def restore(self, record: Any) -> None:  # what its own ``record`` returned
        """Continue from a record, in place."""


def train(
    source: Source[D],
    options: TrainingOptions,
    scratch: Path,
    executor: Executor,
    rng: np.random.Generator,
    *,
    hooks: Hooks[C, P, T] = Hooks(),  # noqa: B008 - immutable
    start: Start = None,
    keeper: Keeper | None = None,
    steps: LocalSteps[D, C, P, T] | None = None,
    whole: Source[D] | None = None,
    judge: Judge | None = None,
) -> Model:
    """Learn topics or components; the same bits for the same ``source``, ``options`` and ``rng``.

    ``scratch`` is a folder for memoized summaries that outgrow memory. Local steps are made by
    ``steps`` if given, everything else by the ``executor``. Training continues from the state that
    the ``keeper`` has, if any. Otherwise it begins with the model ``start``, or with seed documents
    or items. Raises OptionError if ``start`` has another number of topics or words.

    On a topic path, ``whole`` has the batches of ``source`` and after them those of documents that
    only rungs take in; ``steps`` must be able to fit all of these. An HDP with such a path needs a
    ``judge`` who chooses a rung; its last laps are over ``whole``.
    """
    memo = Memo(scratch, versioned=keeper is not None)
    learners = importlib.import_module(LEARNERS[options.learner].where)
    training = _Training(
        source, whole or source, options, executor, memo, rng, hooks, steps, judge, learners.make
    )
    return training.run(imported(MODELS[options.model].begin), start, keeper)


@dataclass(frozen=True, slots=True)
class _Training(Generic[S, D, C, P, T]):
    """What stays the same from lap to lap."""

    source: Source[D]
    whole: Source[D]
    options: TrainingOptions
    executor: Executor
    memo: Memo
    rng: np.random.Generator
    hooks: Hooks[C, P, T]
    steps: LocalSteps[D, C, P, T] | None
    judge: Judge | None  # of an HDP whose number of topics is validated
    make_learner: Callable[[LearnerInputs[D, C, P]], Learner[S, D, C, P, T]]

    def run(self, begin: Begin[D, C, T, P], start: Start, keeper: Keeper | None) -> Model:
        """Run laps until training is over."""
        source, options, hooks, rng = self.source, self.options, self.hooks, self.rng
        kept = None if keeper is None else keeper.resume(self.whole, self.memo, self._check)
        if kept is None:
            first, parameters = begin(source, self._first_options(start), rng, start)
            learner = self._learner(parameters)
            state, infos, memory = learner.init(first), [], PathMemory()
            del first  # its tables are large
        else:
            parameters, state, infos = kept.parameters, kept.learner, list(kept.laps)
            memory = kept.memory
            learner = self._learner(parameters)
            rng.bit_generator.state = kept.rng
        laps = Laps(
            source, learner, options.local_step, self.executor, hooks.on_documents, rng, self.steps
        )
        mover = _mover(laps, options, parameters, hooks.say)
        if mover is not None and kept is not None:
            mover.restore(kept.mover)
        began = time.perf_counter() - (infos[-1].seconds if infos else 0.0)
        is_over = _is_over(infos, mover, options)
        while not is_over:
            lap = len(infos) + 1
            laps = laps if mover is None else mover.laps
            if options.is_validated and lap > options.last_path_lap:
                if lap == options.last_path_lap + 1:
                    state, parameters, memory = self._settled(laps, state, parameters, memory)
                laps = replace(laps, source=self.whole)
            state, parameters, memory = self._narrowed(state, parameters, memory, lap)
            local = local_options(options, parameters.allocation.n_topics)
            state, parameters, tally = replace(laps, local=local).run(state, parameters)
            moved = Moved(state, parameters, {}, None)
            if mover is not None and lap >= mover.first_lap:
                moved = mover.move(state, parameters, lap)
                state, parameters = moved.state, moved.parameters
            if options.learn_hyperparameters:
                parameters = parameters.learned(learner.statistics(state), tally.lengths)
            current = parameters.with_components(learner.components(state))
            bound = _bound(learner.statistics(state), current, lap) / laps.source.n_tokens
            seconds = time.perf_counter() - began
            infos.append(_report(lap, seconds, bound, current, tally, moved, laps.source))
            hooks.on_lap(infos[-1], partial(make_model, current, options))
            del current, moved  # not to keep their tables in the next lap
            if is_rung(options, lap):
                memory = self._keep_rung(laps, state, parameters, memory)
            is_over = _is_over(infos, mover, options)
            if is_over:
                hooks.on_last_lap()
            if keeper is not None:
                record = None if mover is None else mover.record()
                now = TrainingState(
                    state, parameters, record, rng.bit_generator.state, tuple(infos), memory
                )
                keeper.keep(now, self.memo)
        components, terms = learner.components(state), learner.terms(state)
        assert terms is not None, "after a lap"
        hooks.on_end(Statistics(components, terms), parameters)
        return make_model(parameters.with_components(components), options)

    def _first_options(self, start: Start) -> TrainingOptions:
        """The options with the number of topics to begin with."""
        if start is not None or not self.options.starts_gradually:
            return self.options
        number = first_number(self.options, self.source, self.hooks.say)
        return replace(self.options, n_topics=number)

    def _narrowed(
        self, state: S, parameters: Parameters[C, P, T], memory: PathMemory, lap: int
    ) -> tuple[S, Parameters[C, P, T], PathMemory]:
        """Merge topics if there are more than wanted in this lap."""
        options, wanted = self.options, wanted_number(self.options, lap)
        is_merged = options.model_kind.narrows or (
            options.is_validated and lap <= options.last_path_lap
        )
        if not is_merged or parameters.allocation.n_topics <= wanted:
            return state, parameters, memory
        # No type can tell that the data are documents.
        narrow = cast("Callable[..., tuple[S, Parameters[C, P, T], IntArray]]", narrowed)
        state, parameters, new_topics = narrow(state, parameters, wanted)
        return state, parameters, memory._replace(lineage=new_topics[memory.lineage])

    def _settled(
        self,
        laps: Laps[S, D, C, P, T],
        state: S,
        parameters: Parameters[C, P, T],
        memory: PathMemory,
    ) -> tuple[S, Parameters[C, P, T], PathMemory]:
        """The topics of the HDP that the judge chooses, before the laps over all documents."""
        # No type can tell that the data are documents.
        settle = cast("Callable[..., tuple[S, Parameters[C, P, T]]]", settled)
        options, finish = self.options, partial(make_model, options=self.options)
        cold = replace(laps, learner=self._learner(parameters, replace(options, cold_every=1)))
        state, parameters = settle(cold, state, memory, self.whole, options, self.judge, finish)
        return state, parameters, PathMemory()

    def _keep_rung(
        self,
        laps: Laps[S, D, C, P, T],
        state: S,
        parameters: Parameters[C, P, T],
        memory: PathMemory,
    ) -> PathMemory:
        """Hand out the model of a rung, and remember the present topics in the order of its own."""
        # No type can tell that the data are documents.
        reach = cast("Callable[..., tuple[Rung[Model], PathMemory]]", reach_rung)
        finish = partial(make_model, options=self.options)
        is_validated = self.options.is_validated
        whole, memo = (self.source, self.memo) if is_validated else (self.whole, None)
        rung, memory = reach(laps, state, parameters, memory, whole, finish, memo)
        self.hooks.on_rung(rung)
        return memory

    def _learner(
        self, parameters: Parameters[C, P, T], options: TrainingOptions | None = None
    ) -> Learner[S, D, C, P, T]:
        likelihood, memo = parameters.likelihood, self.memo
        own = options or self.options
        inputs = LearnerInputs(self.source, own, likelihood, memo, self.executor)
        return self.make_learner(inputs)

    def _check(self, kept: AnyState) -> None:
        learner = self._learner(kept.parameters)
        options = self.options
        is_last = options.is_validated and len(kept.laps) > options.last_path_lap
        source = self.whole if is_last else self.source
        check_training_state(kept, learner, source, options, self.rng)


def _bound(statistics: Statistics[C, T], current: Globals[C, P, T], lap: int) -> float:
    """The ELBO, in nats; OptionError if it is not finite."""
    bound = elbo(statistics, current)
    if not np.isfinite(bound):
        hint = "Choose options such as --alpha, --gamma and --eta nearer to their defaults."
        refuse("training", f"the ELBO is {bound} after lap {lap}", hint)
    return bound


def _is_over(
    infos: list[LapInfo], mover: TopicMover[S, D, C, P, T] | None, options: TrainingOptions
) -> bool:
    if options.model_kind.narrows:  # it has too many topics if it is resumed with fewer laps
        return len(infos) >= options.n_laps and infos[-1].n_topics <= wanted_number(
            options, options.n_laps
        )
    if options.is_validated or len(infos) >= options.n_laps:
        return len(infos) >= options.n_laps
    if mover is not None and not mover.is_exhausted:
        return False
    return has_settled(infos, QUIET_GAIN if mover is None else mover.quiet_gain)


def has_settled(infos: list[LapInfo], quiet_gain: float) -> bool:
    """Whether the last ``QUIET_LAPS`` laps kept the number of topics and hardly changed the ELBO.

    A lap is quiet if it changes the ELBO by less than ``quiet_gain`` nats per token, up or down.
    """
    last = infos[-QUIET_LAPS - 1 :]
    if len(last) <= QUIET_LAPS:
        return False
    return all(
        after.n_topics == before.n_topics
        and abs(after.elbo_per_token - before.elbo_per_token) < quiet_gain
        for before, after in pairwise(last)
    )


def make_model(current: Globals[C, P, T], options: TrainingOptions) -> Model:
    """The posterior as a model, topics in falling order of weight."""
    finish: Finish[C, P, T] = imported(MODELS[options.model].finish)
    return finish(current, options)


def _mover(
    laps: Laps[S, D, C, P, T],
    options: TrainingOptions,
    parameters: Parameters[C, P, T],
    say: Callable[[str], None],
) -> TopicMover[S, D, C, P, T] | None:
    """What changes the number of topics after a lap, if anything does."""
    # The options say what the state and the components are; no type can.
    if options.grows:
        grow = cast("Callable[..., TopicMover[S, D, C, P, T]]", begin_growth)
        return grow(laps, parameters.likelihood.zeros(1), options, say)
    if not options.makes_moves:
        return None
    ledger = Ledger.new(parameters.allocation.n_topics)
    move = cast("Callable[..., TopicMover[S, D, C, P, T]]", Mover)
    return move(laps, options.active_moves, ledger, options.n_laps)


def _report(
    lap: int,
    seconds: float,
    bound: float,
    current: Globals[C, P, T],
    tally: LapTally,
    moved: Moved[S, C, P, T],
    source: Source[D],
) -> LapInfo:
    reordered = moved.tallies.get("reorder")
    return LapInfo(
        lap=lap,
        seconds=seconds,
        elbo_per_token=bound,
        criterion_per_token=None if moved.score is None else moved.score / source.n_tokens,
        n_topics=current.allocation.n_topics,
        active_topics=int(in_use(current.components.sizes).sum()),
        restarts_proposed=tally.local.restarts_proposed,
        restarts_accepted=tally.local.restarts_accepted,
        batches_kept_old=tally.kept_old,
        local_iterations_per_document=tally.local.iterations / source.n_docs,
        moves={counted: _counted(moved, counted) for counted in MOVE_COUNTS},
        reorders_accepted=0 if reordered is None else reordered.accepted,
        doc_concentration=current.allocation.total_concentration,
        word_concentration=current.likelihood.word_concentration,
        top_concentration=current.allocation.top_concentration,
    )


def _counted(moved: Moved[S, C, P, T], counted: str) -> MoveTally:
    """Add up the moves that the trace counts as one kind."""
    names = [name for name, kind in MOVES.items() if kind.counted == counted]
    own = [moved.tallies[name] for name in names if name in moved.tallies]
    return MoveTally(sum(each.proposed for each in own), sum(each.accepted for each in own))
