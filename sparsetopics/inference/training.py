"""The training loop: laps over the batches of a collection, until it has settled."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Mapping
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, Protocol, cast

import numpy as np

from sparsetopics.base.batches import Source
from sparsetopics.execution.executors import Executor
from sparsetopics.inference.bounds import elbo
from sparsetopics.inference.growth.begin import begin_growth
from sparsetopics.inference.growth.grower import Grower
from sparsetopics.inference.laps import Laps, LapTally, OnDocuments, Prior
from sparsetopics.inference.learners.learner import Learner, LearnerModule, Setting
from sparsetopics.inference.local_step import Globals, LocalSteps
from sparsetopics.inference.moves.ledger import Ledger
from sparsetopics.inference.moves.mover import Moved, Mover
from sparsetopics.inference.moves.standing import MoveTally
from sparsetopics.model.likelihoods.moments import Moments
from sparsetopics.model.memo import Memo
from sparsetopics.model.mixture_posterior import MixturePosterior
from sparsetopics.model.statistics import Statistics
from sparsetopics.model.topic_posterior import TopicPosterior
from sparsetopics.options.registry import LEARNERS, MODELS, MOVES, imported
from sparsetopics.options.training import TrainingOptions


class LapInfo(NamedTuple):
    """How training stands after a lap."""

    lap: int  # from 1
    seconds: float  # since training began
    elbo_per_token: float  # whole data, nats
    criterion_per_token: float | None  # the collapsed criterion, where moves followed it
    n_topics: int
    active_topics: int  # holding at least one token
    restarts_proposed: int
    restarts_accepted: int
    batches_kept_old: int  # whose former responsibilities were better
    local_iterations_per_document: float
    merges_proposed: int
    merges_accepted: int
    deletes_proposed: int
    deletes_accepted: int
    births_proposed: int
    births_accepted: int
    regroups_proposed: int
    regroups_accepted: int
    reorders_accepted: int
    doc_concentration: float | None  # total α, of topic models
    word_concentration: float | None  # η, where data are words
    top_concentration: float | None  # γ, of the HDP


Model = TopicPosterior | MixturePosterior
Start = TopicPosterior | None  # to go on from
Begin = Callable[[Any, TrainingOptions, np.random.Generator, Start], tuple[Statistics, Prior]]
Finish = Callable[[Globals, TrainingOptions], Model]
AfterLap = Callable[[LapInfo, Callable[[], Model]], None]
QUIET_LAPS = 3
QUIET_GAIN = 1e-3  # nats per token


class Hooks(NamedTuple):
    """Whom to tell; the second argument of ``on_lap`` makes the model as it stands."""

    on_lap: AfterLap = lambda info, model: None
    on_documents: OnDocuments = lambda n_done, n_docs: None
    on_end: Callable[[Statistics, Prior], None] = lambda statistics, prior: None  # to go on from


class Progress(NamedTuple):
    """All that the next lap needs beside data and options: a checkpoint is exactly this."""

    learner: Any  # its state
    prior: Prior
    mover: Any  # its record; None where topics stay
    rng: Mapping[str, Any]  # of the bit generator
    course: tuple[LapInfo, ...]  # of all laps so far


class Keeper(Protocol):
    """Keeps progress where a later process finds it."""

    def resume(
        self, source: Source, memo: Memo, check: Callable[[Progress], None]
    ) -> Progress | None:
        """The progress that was kept last, if any; the memo takes the arrays of batches.

        ``check`` raises ValueError, or another built-in error, if training cannot continue from it.
        """
        ...

    def keep(self, progress: Progress, memo: Memo) -> None:
        """After a lap."""
        ...


def train(
    source: Source,
    options: TrainingOptions,
    scratch: Path,
    executor: Executor,
    rng: np.random.Generator,
    *,
    hooks: Hooks = Hooks(),  # noqa: B008 - immutable
    start: Start = None,
    keeper: Keeper | None = None,
    steps: LocalSteps | None = None,
) -> Model:
    """Learn topics or components; the same bits for the same ``source``, ``options`` and ``rng``.

    ``scratch`` is a folder for memoized summaries that outgrow memory. Local steps are made by
    ``steps``, or by the ``executor`` as all the rest is. Training goes on from what
    the ``keeper`` has kept, if there is any; else from ``start`` if it is given, otherwise from
    seed documents. Raises OptionError if ``start`` has another number of topics or words.
    """
    memo = Memo(scratch, versioned=keeper is not None)

    def check(progress: Progress) -> None:
        from sparsetopics.inference.progress import check_progress

        learner = _learner(source, options, progress.prior, memo, executor)
        check_progress(progress, learner, source, options, rng)

    kept = None if keeper is None else keeper.resume(source, memo, check)
    if kept is None:
        begin, prior = begin_training(source, options, rng, start)
        learner = _learner(source, options, prior, memo, executor)
        state, course = learner.init(begin), []
        del begin  # its tables are large
    else:
        prior, state, course = kept.prior, kept.learner, list(kept.course)
        learner = _learner(source, options, prior, memo, executor)
    laps = Laps(source, learner, options.local_step, executor, hooks.on_documents, steps)
    mover = _mover(laps, options, prior)
    if mover is not None:
        laps = mover.laps
    if kept is not None:
        if mover is not None:
            mover.restore(kept.mover)
        rng.bit_generator.state = kept.rng
    began = time.perf_counter() - (course[-1].seconds if course else 0.0)
    while not _is_over(course, mover, options):
        lap = len(course) + 1
        state, prior, tally = laps.run(state, prior, rng)
        moved = Moved(state, prior, {}, None)
        if mover is not None and lap >= mover.first_lap:
            moved = mover.move(state, prior, lap, rng)
            state, prior = moved.state, moved.prior
        if options.learn_hyperparameters:
            prior = prior.learned(learner.statistics(state), tally.lengths)
        current = prior.with_components(learner.components(state))
        bound = elbo(learner.statistics(state), current) / source.n_tokens
        seconds = time.perf_counter() - began
        course.append(_report(lap, seconds, bound, current, tally, moved, source))
        hooks.on_lap(course[-1], partial(make_model, current, options))
        if keeper is not None:
            record = None if mover is None else mover.record()
            rng_state = rng.bit_generator.state
            keeper.keep(Progress(state, prior, record, rng_state, tuple(course)), memo)
    hooks.on_end(Statistics(learner.components(state), learner.terms(state)), prior)
    return make_model(prior.with_components(learner.components(state)), options)


def _is_over(course: list[LapInfo], mover: Mover | Grower | None, options: TrainingOptions) -> bool:
    if len(course) >= options.n_laps:
        return True
    is_done = mover is None or mover.is_exhausted
    return options.model != "lda" and is_done and has_settled(course)


def has_settled(course: list[LapInfo]) -> bool:
    """Whether in each of the last ``QUIET_LAPS`` laps the topics stayed and the ELBO hardly moved.

    Hardly is by less than ``QUIET_GAIN`` nats per token, up or down.
    """
    last = course[-QUIET_LAPS - 1 :]
    if len(last) <= QUIET_LAPS:
        return False
    return all(
        after.n_topics == before.n_topics
        and abs(after.elbo_per_token - before.elbo_per_token) < QUIET_GAIN
        for before, after in pairwise(last)
    )


def begin_training(
    source: Source, options: TrainingOptions, rng: np.random.Generator, start: Start
) -> tuple[Statistics, Prior]:
    """Components that stand for data not seen so far, and the prior."""
    begin: Begin = imported(MODELS[options.model].begin)
    return begin(source, options, rng, start)


def make_model(current: Globals, options: TrainingOptions) -> Model:
    """The posterior as a model, topics in falling order of weight."""
    finish: Finish = imported(MODELS[options.model].finish)
    return finish(current, options)


def _mover(laps: Laps, options: TrainingOptions, prior: Prior) -> Mover | Grower | None:
    """What changes the number of topics after a lap."""
    if options.grows:
        return begin_growth(laps, cast(Moments, prior.likelihood.zeros(1)), options)
    if not options.active_moves.names:
        return None
    return Mover(laps, options.active_moves, Ledger.new(prior.allocation.n_topics), options.n_laps)


def _learner(
    source: Source, options: TrainingOptions, prior: Prior, memo: Memo, executor: Executor
) -> Learner[Any]:
    module = cast(LearnerModule, importlib.import_module(LEARNERS[options.learner].where))
    return module.make(Setting(source, options, prior.likelihood, memo, executor))


def _report(
    lap: int,
    seconds: float,
    bound: float,
    current: Globals,
    tally: LapTally,
    moved: Moved,
    source: Source,
) -> LapInfo:
    merges, deletes, births, regroups = (
        _tally(moved, name) for name in ("merges", "deletes", "births", "regroups")
    )
    reordered = moved.tallies.get("reorder")
    return LapInfo(
        lap=lap,
        seconds=seconds,
        elbo_per_token=bound,
        criterion_per_token=None if moved.score is None else moved.score / source.n_tokens,
        n_topics=current.allocation.n_topics,
        active_topics=int(np.sum(current.components.sizes >= 1.0)),
        restarts_proposed=tally.local.restarts_proposed,
        restarts_accepted=tally.local.restarts_accepted,
        batches_kept_old=tally.kept_old,
        local_iterations_per_document=tally.local.iterations / source.n_docs,
        merges_proposed=merges.proposed,
        merges_accepted=merges.accepted,
        deletes_proposed=deletes.proposed,
        deletes_accepted=deletes.accepted,
        births_proposed=births.proposed,
        births_accepted=births.accepted,
        regroups_proposed=regroups.proposed,
        regroups_accepted=regroups.accepted,
        reorders_accepted=0 if reordered is None else reordered.accepted,
        doc_concentration=current.allocation.total_concentration,
        word_concentration=current.likelihood.word_concentration,
        top_concentration=current.allocation.top_concentration,
    )


def _tally(moved: Moved, counted: str) -> MoveTally:
    """Of all moves that the trace counts as one kind."""
    own = [
        tally
        for name, tally in moved.tallies.items()
        if name in MOVES and MOVES[name].counted == counted
    ]
    return MoveTally(sum(each.proposed for each in own), sum(each.accepted for each in own))
