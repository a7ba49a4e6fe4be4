"""The training loop: laps over the batches of a collection, until the course of the run is over."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from sparsetopics.base.batches import Source
from sparsetopics.execution.executors import Executor
from sparsetopics.inference.course import Course, Hooks, Model, Setting, course_of
from sparsetopics.inference.laps import LapTally
from sparsetopics.inference.learners.learner import S
from sparsetopics.inference.local_step import D, LocalSteps, Parameters, elbo
from sparsetopics.inference.mixtures import warn_of_one_component
from sparsetopics.inference.moves.standing import MoveTally
from sparsetopics.inference.training_state import Keeper, LapInfo
from sparsetopics.model.memo import Memo
from sparsetopics.model.statistics import C, P, Statistics, T, in_use
from sparsetopics.model.topic_posterior import TopicPosterior
from sparsetopics.options.option import refuse
from sparsetopics.options.registry import MOVE_COUNTS, MOVES, imported
from sparsetopics.options.training import TrainingOptions

Start = TopicPosterior | None  # a model to start from
Begin = Callable[
    [Source[D], TrainingOptions, np.random.Generator, Start],
    tuple[Statistics[C, T], Parameters[C, P, T]],
]


def train(
    source: Source[D],
    options: TrainingOptions,
    scratch: Path,
    executor: Executor,
    rng: np.random.Generator,
    *,
    hooks: Hooks = Hooks(),  # noqa: B008 - immutable
    start: Start = None,
    keeper: Keeper | None = None,
    steps: LocalSteps[C, P, T, D] | None = None,
) -> Model:
    """Learn topics or components; the same bits for the same ``source``, ``options`` and ``rng``.

    ``scratch`` is a folder for memoized summaries that outgrow memory. See ``follow`` and
    ``course.Setting`` for the other arguments.
    """
    memo = Memo(scratch, versioned=keeper is not None)
    setting = Setting(source, source, options, executor, memo, rng, hooks, steps)
    return follow(course_of(options)(setting), start, keeper)


def follow(course: Course[S, D, C, P, T], start: Start, keeper: Keeper | None) -> Model:
    """Run laps until the course is over; return the model that they end with.

    Training continues from the state that the ``keeper`` has, if any. Otherwise it begins with the
    model ``start``, or with seed documents or items, and some topics with the words of lists.
    Raises OptionError if ``start`` has another number of topics or words.
    """
    setting, options, rng = course.setting, course.options, course.setting.rng
    hooks, memo = setting.hooks, setting.memo
    kept = keeper.resume(setting.whole, memo, course.check_state) if keeper else None
    infos: list[LapInfo] = []
    if kept is None:
        begin: Begin[D, C, T, P] = imported(options.model_kind.begin)
        n_topics = course.first_number() if start is None else options.n_topics
        course.begin(*begin(setting.source, replace(options, n_topics=n_topics), rng, start))
    else:
        course.resume(kept)
        rng.bit_generator.state, infos = kept.rng, list(kept.laps)
    began = time.perf_counter() - (infos[-1].seconds if infos else 0.0)
    is_over = course.is_over(infos)
    while not is_over:
        lap = len(infos) + 1
        course.before_lap(lap)
        tally = course.make_lap()
        moves, score = course.after_lap(lap)
        if options.learn_hyperparameters:
            course.parameters = course.parameters.learned(course.statistics, tally.lengths)
        infos.append(_report(course, lap, began, tally, moves, score))
        hooks.on_lap(infos[-1], partial(course.model, lap))
        course.after_report(lap)
        is_over = course.is_over(infos)
        if is_over:
            hooks.on_last_lap()
        if keeper is not None:
            keeper.keep(course.kept(infos), memo)
    if options.learner_kind.at_modes:
        warn_of_one_component(course.current)
    return course.model(len(infos))


def _report(
    course: Course[S, D, C, P, T],
    lap: int,
    began: float,  # by the clock
    tally: LapTally,
    moves: Mapping[str, MoveTally],
    score: float | None,
) -> LapInfo:
    """How training stands after a lap; OptionError if the ELBO is not finite."""
    current, source = course.current, course.laps.source
    bound = elbo(course.statistics, current)
    if not np.isfinite(bound):
        hint = "Choose options such as --alpha, --gamma and --eta nearer to their defaults."
        refuse("training", f"the ELBO is {bound} after lap {lap}", hint)
    return LapInfo(
        lap=lap,
        seconds=time.perf_counter() - began,
        elbo_per_token=bound / source.n_tokens,
        criterion_per_token=None if score is None else score / source.n_tokens,
        n_topics=current.allocation.n_topics,
        active_topics=int(in_use(current.components.sizes).sum()),
        restarts_proposed=tally.local.restarts_proposed,
        restarts_accepted=tally.local.restarts_accepted,
        batches_kept_old=tally.kept_old,
        local_iterations_per_document=tally.local.iterations / source.n_docs,
        moves={counted: _counted(moves, counted) for counted in MOVE_COUNTS},
        reorders_accepted=moves.get("reorder", MoveTally(0, 0)).accepted,
        doc_concentration=current.allocation.total_concentration,
        word_concentration=current.likelihood.word_concentration,
        top_concentration=current.allocation.top_concentration,
    )


def _counted(moves: Mapping[str, MoveTally], counted: str) -> MoveTally:
    """Add up the moves that the trace counts as one kind."""
    names = [name for name, kind in MOVES.items() if kind.counted == counted]
    own = [moves[name] for name in names if name in moves]
    return MoveTally(sum(each.proposed for each in own), sum(each.accepted for each in own))
