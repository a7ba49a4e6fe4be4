"""How estimators learn: all data at once for ``fit``, data that come later for ``partial_fit``.

With later data the memoized learner adds their summary to the total of all data seen before. The
earlier data are not visited again, so their summaries stay as they are. The stochastic learner
makes a step, for a collection as large as all data seen. The number of topics stays, because moves
need all data at hand.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Generic, NamedTuple

import numpy as np

from sparsetopics.base.batches import Batch, Source, StoredBatch
from sparsetopics.corpora.corpus import Corpus, VectorCorpus
from sparsetopics.corpora.holding_out import divide
from sparsetopics.execution.executors import Executor, open_executor
from sparsetopics.inference.laps import fit_batch
from sparsetopics.inference.learners.learner import Learner, S, Visit
from sparsetopics.inference.learners.memoized import MemoizedLearner, MemoizedState
from sparsetopics.inference.learners.stochastic import StochasticLearner
from sparsetopics.inference.local_step import Parameters, elbo
from sparsetopics.inference.topic_path import Rung
from sparsetopics.inference.training import Hooks, Model, make_model, train
from sparsetopics.inference.training_state import LapInfo
from sparsetopics.model.allocations.hdp import HDPAllocation
from sparsetopics.model.memo import Memo
from sparsetopics.model.statistics import (
    B,
    BatchSums,
    C,
    DocumentLengths,
    DocumentTerms,
    P,
    Statistics,
    T,
    Terms,
    scaled,
)
from sparsetopics.model.topic_posterior import TopicPosterior
from sparsetopics.model.word_counts import PairCounts, WordCounts
from sparsetopics.options.option import refuse
from sparsetopics.options.registry import LEARNERS, MODELS, imported
from sparsetopics.options.training import TrainingOptions
from sparsetopics.runs.callbacks import LapEntry, OnLap
from sparsetopics.runs.checkpoints import HELDOUT_SCORE
from sparsetopics.runs.data import AnyComponents, source_of, validation_rng
from sparsetopics.runs.plan import lowered, with_validation
from sparsetopics.runs.topic_path import RungRecorder, RungScorer, tree_of
from sparsetopics.runs.topic_path_files import Scores, TopicTree

VISITS = 5  # of each new document, by the memoized learner


class Learned(NamedTuple, Generic[C, P, T]):
    """What ``partial_fit`` continues from."""

    statistics: Statistics[C, T]  # of all data seen so far
    prior: Parameters[C, P, T]
    n_steps: int  # made by the stochastic learner
    is_start: bool = False  # no data were seen: the statistics are those of seeds


AnyHooks = Hooks[AnyComponents, BatchSums, Terms]
AnyParameters = Parameters[AnyComponents, BatchSums, Terms]
AnyLearned = Learned[AnyComponents, BatchSums, Terms]  # only the options say of which model
# Takes what was learned, new data, where to compute and where to keep summaries of batches.
TakesMore = Callable[[AnyLearned, Source[StoredBatch], TrainingOptions, Executor, Memo], AnyLearned]


class Fit(NamedTuple):
    """What training on all data ends with."""

    model: Model
    trace: list[LapEntry]  # one entry per lap
    learned: AnyLearned | None  # None if the learner leaves no statistics to continue from
    scores: Scores | None = None  # how the number of topics was validated, if it was


def learn(
    corpus: Corpus | VectorCorpus,
    options: TrainingOptions,
    *,
    share: float | None,
    n_batches: int | None,
    n_jobs: int,
    seed: int | None,
    on_lap: OnLap | None,
) -> Fit:
    """Train a model on all data at once; raises OptionError for too many batches or no jobs.

    ``share`` of the documents validates the number of topics of an HDP (``with_validation``).
    """
    trace: list[LapEntry] = []
    ends: list[tuple[Statistics[AnyComponents, Terms], AnyParameters]] = []

    def keep(info: LapInfo, snapshot: Callable[[], Model]) -> None:
        trace.append(info.entry())
        if recorder is not None:
            recorder.score(info, snapshot)
        if on_lap is not None:
            on_lap(trace[-1])

    hooks: AnyHooks = Hooks(keep, on_end=lambda *end: ends.append(end))
    rng = np.random.default_rng(seed)
    if isinstance(corpus, Corpus):
        options, share = with_validation(options, share, corpus.n_docs)
    source, whole, recorder = _divided(corpus, options, share or 0.0, n_batches, n_jobs, rng)
    if recorder is not None:
        remember = recorder.record
        hooks = hooks._replace(on_rung=lambda rung: remember(rung, len(trace)))
    with _workplace(n_jobs) as (executor, scratch):
        model = train(
            source, options, scratch, executor, rng, hooks=hooks, whole=whole, judge=recorder
        )
    learned = None
    if options.learner_kind.passes_on:
        learned = Learned(*ends[0], n_steps=len(trace) * whole.n_batches)
    return Fit(model, trace, learned, None if recorder is None else recorder.scores)


def _divided(
    corpus: Corpus | VectorCorpus,
    options: TrainingOptions,
    share: float,
    n_batches: int | None,
    n_jobs: int,
    rng: np.random.Generator,
) -> tuple[Source[StoredBatch], Source[StoredBatch], RungRecorder | None]:
    """The data to train on, the same with the validation documents, and who scores the rungs."""
    if not (options.lower_rungs and share and isinstance(corpus, Corpus)):
        source = source_of(corpus, options, n_batches, rng)
        return source, source, RungRecorder(options, None, []) if options.lower_rungs else None
    parts = divide(corpus, n_batches, share, rng, chosen_by=validation_rng(options))
    scorer = RungScorer.of_validation(parts.validation, n_jobs)
    scorer.check()
    return parts.source, parts.whole, RungRecorder(options, scorer, [])


class PathFit(NamedTuple):
    """What training on a topic path ends with."""

    scores: Scores
    tree: TopicTree
    models: dict[int, TopicPosterior]  # by their numbers of topics, the largest first
    trace: list[LapEntry]  # one entry per lap


def learn_path(
    corpus: Corpus,
    options: TrainingOptions,
    *,
    share: float,
    n_batches: int | None,
    n_jobs: int,
    seed: int | None,
    on_lap: OnLap | None,
) -> PathFit:
    """Train a topic path, with a ``share`` of the documents kept out to score its rungs on.

    It may begin with fewer topics than the options say (``lowered``). Raises what ``learn`` raises,
    and CorpusError if no document can be scored.
    """
    trace: list[LapEntry] = []
    models: dict[int, TopicPosterior] = {}
    options = lowered(options, share, corpus.n_docs)
    rng = np.random.default_rng(seed)
    source, whole, recorder = _divided(corpus, options, share, n_batches, n_jobs, rng)
    assert recorder is not None, "a path has rungs"

    def keep(info: LapInfo, snapshot: Callable[[], Model]) -> None:
        trace.append(info.entry() | {HELDOUT_SCORE: recorder.score(info, snapshot)})
        if on_lap is not None:
            on_lap(trace[-1])

    def keep_rung(rung: Rung[Model]) -> None:
        assert isinstance(rung.model, TopicPosterior), "a path has topics"
        recorder.record(rung, len(trace))
        models[rung.model.n_topics] = rung.model

    hooks: Hooks[WordCounts, PairCounts, DocumentTerms] = Hooks(keep, on_rung=keep_rung)
    with _workplace(n_jobs) as (executor, scratch):
        train(source, options, scratch, executor, rng, hooks=hooks, whole=whole)
    tree = tree_of(recorder.rungs, models.__getitem__, corpus.vocabulary)
    return PathFit(recorder.scores, tree, models, trace)


@contextmanager
def _workplace(n_jobs: int) -> Iterator[tuple[Executor, Path]]:
    """Threads to work with, and a folder for summaries that outgrow memory."""
    with (
        tempfile.TemporaryDirectory(prefix="sparsetopics-") as scratch,
        open_executor(n_jobs) as executor,
    ):
        yield executor, Path(scratch)


def taking_more(options: TrainingOptions) -> TakesMore:
    """How the learner takes more data; OptionError if it cannot."""
    where = options.learner_kind.takes_more
    if where is None:
        able = [name for name, kind in LEARNERS.items() if kind.takes_more is not None]
        problem = f"must be {' or '.join(able)} for partial_fit, but is {options.learner}"
        refuse("learner", problem, "The others visit all data in every lap.")
    take_more: TakesMore = imported(where)
    return take_more


def learn_more(
    before: AnyLearned | None,
    take_more: TakesMore,
    corpus: Corpus | VectorCorpus,
    options: TrainingOptions,
    *,
    n_jobs: int,
    seed: int | None,
) -> tuple[AnyLearned, Model, LapEntry]:
    """Learn from more data, the first ones if ``before`` is None; ``before`` stays as it is.

    Also returns the model of all data seen, and what the trace records about it.
    """
    rng = np.random.default_rng(seed)
    source = source_of(corpus, options, 1, rng)
    if before is None:
        start, prior = imported(MODELS[options.model].begin)(source, options, rng, None)
        before = Learned(start, prior, n_steps=0, is_start=True)
    with _workplace(n_jobs) as (executor, scratch):
        learned = take_more(before, source, options, executor, Memo(scratch))
    current = learned.prior.with_components(learned.statistics.components)
    model, terms = make_model(current, options), learned.statistics.terms
    entry: LapEntry = {"n_topics": model.n_topics, "n_docs": round(terms.n_docs)}
    if options.learner_kind.knows_all:  # the bound needs the statistics of all data seen
        entry["elbo_per_token"] = elbo(learned.statistics, current) / terms.n_tokens
    return learned, model, entry


def memoize_more(
    before: Learned[C, P, T],
    source: Source[B],
    options: TrainingOptions,
    executor: Executor,
    memo: Memo,
) -> Learned[C, P, T]:
    """Add the summaries of new data, which are visited several times, to the total."""
    learner: MemoizedLearner[B, C, P, T] = MemoizedLearner(
        memo, executor, options.keeps_better, False, keep_assignments=False
    )
    prior = before.prior
    if before.is_start:
        state = learner.init(before.statistics)
    else:  # a copy, since steps change it in place, and ``before`` must survive a failure
        state = MemoizedState(None, before.statistics.accumulator(), {})
    # These visits are not laps, which would begin a new sum over all batches: those of the earlier
    # data are gone.
    for _ in range(VISITS):
        state, prior = _visit_all(learner, state, prior, source, options, executor)
        state = state._replace(start=None)
        prior = prior.updated(learner.terms(state))
    return Learned(state.total, _with_lengths(prior, source), before.n_steps)


def step_more(
    before: Learned[C, P, T],
    source: Source[B],
    options: TrainingOptions,
    executor: Executor,
    memo: Memo,
) -> Learned[C, P, T]:
    """Make a stochastic step for each batch, as if the collection had all data seen so far."""
    (components, terms), prior = before.statistics, before.prior
    n_docs = source.n_docs
    if not before.is_start:
        n_docs += round(terms.n_docs)
        growth = n_docs / terms.n_docs
        components, terms = components.scaled(growth), scaled(terms, growth)
    learner: StochasticLearner[B, C, P, T] = StochasticLearner(n_docs, options.step_sizes)
    state = learner.init(Statistics(components, terms))
    if not before.is_start:
        state = state._replace(terms=terms, n_steps=before.n_steps)
    state, prior = _visit_all(learner, state, prior, source, options, executor)
    assert state.terms is not None, "after a step"
    return Learned(Statistics(state.components, state.terms), prior, state.n_steps)


def _visit_all(
    learner: Learner[S, B, C, P, T],
    state: S,
    prior: Parameters[C, P, T],
    source: Source[B],
    options: TrainingOptions,
    executor: Executor,
) -> tuple[S, Parameters[C, P, T]]:
    """Visit each batch once, in order; the arrays of ``state`` may be overwritten."""
    for batch_id in range(source.n_batches):
        current = prior.with_components(learner.components(state))
        documents = source.read(batch_id)
        found = fit_batch(documents, current, options.local_step, executor)
        visit = Visit(batch_id, found.summary, documents, found.responsibilities)
        state, _ = learner.step_in_place(state, [visit], current)
        prior = prior.updated(learner.terms(state))
    return state, prior


def _with_lengths(prior: Parameters[C, P, T], source: Source[Batch]) -> Parameters[C, P, T]:
    """Add the lengths of new documents for an HDP whose α was learned, which depends on them."""
    allocation = prior.allocation
    if not isinstance(allocation, HDPAllocation) or allocation.lengths is None:
        return prior
    new = DocumentLengths.of(source.read(batch_id) for batch_id in range(source.n_batches))
    return prior._replace(allocation=replace(allocation, lengths=allocation.lengths.plus(new)))
