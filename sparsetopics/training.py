"""The training loop: laps over the batches of a collection, until it has settled."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sparsetopics.allocations.allocation import Allocation
from sparsetopics.allocations.hdp import HDPAllocation
from sparsetopics.allocations.lda import LDAAllocation
from sparsetopics.batches import BatchSource, FloatArray, IntArray
from sparsetopics.bounds import elbo
from sparsetopics.errors import OptionError
from sparsetopics.executors import Executor
from sparsetopics.hyperparameters import learn_word_concentration
from sparsetopics.learners.full import FullLearner
from sparsetopics.learners.learner import Learner, Visit
from sparsetopics.learners.memoized import MemoizedLearner
from sparsetopics.learners.stochastic import StochasticLearner
from sparsetopics.local_step import LocalInfo, TopicGlobals, fit_documents
from sparsetopics.memo import Memo
from sparsetopics.model import TopicModel
from sparsetopics.moves.ledger import Ledger
from sparsetopics.moves.phase import MOVES, make_moves
from sparsetopics.moves.standing import MoveTally, Tools
from sparsetopics.options import TrainingOptions
from sparsetopics.starts import SEED_SHARES, distant_documents, random_documents
from sparsetopics.statistics import DocumentTerms, Statistics


class LapInfo(NamedTuple):
    """How training stands after a lap."""

    lap: int  # from 1
    seconds: float  # since training began
    elbo_per_token: float  # whole data, nats
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
    reorders_accepted: int
    doc_concentration: float  # total α
    word_concentration: float  # η
    top_concentration: float | None  # γ, of the HDP


OnLap = Callable[[LapInfo, Callable[[], TopicModel]], None]
OnDocuments = Callable[[float, int], None]  # documents of the lap done so far, of all


FIRST_MOVES = 4  # lap


class Hooks(NamedTuple):
    """Whom to tell; the second argument of ``on_lap`` makes the model as it stands."""

    on_lap: OnLap = lambda info, model: None
    on_documents: OnDocuments = lambda n_done, n_docs: None


def train(
    source: BatchSource,
    options: TrainingOptions,
    scratch: Path,
    executor: Executor,
    rng: np.random.Generator,
    *,
    hooks: Hooks = Hooks(),  # noqa: B008 - immutable
    start: TopicModel | None = None,
) -> TopicModel:
    """Learn topics; the same bits for the same ``source``, ``options`` and ``rng``.

    ``scratch`` is a folder for memoized summaries that outgrow memory. Training goes on from
    ``start`` if it is given, otherwise from seed documents. Raises OptionError if ``start`` has
    another number of topics or words.
    """
    counts, prior = _start(source, options, rng, start)
    learner = _learner(source, options, scratch, executor)
    state = learner.init(counts)
    ledger = Ledger.new(options.n_topics)
    began = time.perf_counter()
    for lap in range(1, options.n_laps + 1):
        state = learner.start_lap(state)
        tally = _Tally(np.zeros(3, np.int64), 0)
        for batch_ids in learner.rounds(state, source.n_batches, rng):
            current = prior.with_counts(learner.word_topic_counts(state))
            visits = _local_steps(source, batch_ids, current, options, executor, tally, hooks)
            state, info = learner.step(state, visits, current)
            prior = prior.updated(learner.document_terms(state))
            tally.kept_old += info.kept_old
        state = learner.end_lap(state)
        prior = prior.updated(learner.document_terms(state))
        tallies = {}
        if lap >= FIRST_MOVES and options.active_moves.names:
            tools = Tools(options.local, executor, rng)
            moved = make_moves(
                state, prior.allocation, prior.word_concentration, ledger._replace(lap=lap),
                options.active_moves.names, tools,
            )  # fmt: skip
            state, ledger, tallies = moved.state, moved.ledger, moved.tallies
            prior = prior._replace(allocation=moved.allocation)
        if options.learn_hyperparameters:
            prior = prior.learned(learner.statistics(state))
        current = prior.with_counts(learner.word_topic_counts(state))
        bound = elbo(learner.statistics(state), current) / source.n_tokens
        report = _report(lap, time.perf_counter() - began, bound, current, tally, source.n_docs, tallies)
        hooks.on_lap(report, partial(make_model, current))
    return make_model(current)


class Prior(NamedTuple):
    """Global parameters beside the topics, as they stand."""

    allocation: Allocation
    word_concentration: float

    def with_counts(self, counts: FloatArray) -> TopicGlobals:
        return TopicGlobals(counts, counts.sum(axis=0), *self)

    def updated(self, terms: DocumentTerms | None) -> Prior:
        """With topic weights at their optimum, unless no documents speak for them yet."""
        if terms is None:
            return self
        return self._replace(allocation=self.allocation.updated(terms))

    def learned(self, statistics: Statistics) -> Prior:
        return Prior(
            self.allocation.learned(statistics.terms),
            learn_word_concentration(self.word_concentration, statistics.word_topic_counts),
        )


def make_model(current: TopicGlobals) -> TopicModel:
    """The posterior as a model, topics in falling order of weight (ties in their own order)."""
    order = np.argsort(-current.topic_counts, kind="stable")
    posterior = current.word_topic_counts.T[order] + current.word_concentration
    allocation = current.allocation.reordered(order)
    sticks = allocation.sticks if isinstance(allocation, HDPAllocation) else None
    return TopicModel(
        "lda" if sticks is None else "hdp",
        posterior,
        allocation.doc_concentration,
        current.word_concentration,
        sticks,
    )


@dataclass(slots=True)
class _Tally:
    """Sums over a lap for its report."""

    local: IntArray  # the fields of LocalInfo
    kept_old: int
    n_docs: float = 0.0


def _learner(
    source: BatchSource, options: TrainingOptions, scratch: Path, executor: Executor
) -> Learner[Any]:
    keep_better = options.local.update == "mean-field"
    if options.learner == "full":
        return FullLearner(keep_better)
    if options.learner == "stochastic":
        return StochasticLearner(source.n_docs, options.step_sizes)
    return MemoizedLearner(
        Memo(scratch),
        executor,
        keep_better,
        whole_first_lap=keep_better,
        keep_assignments=bool(options.active_moves.names),
    )


def _start(
    source: BatchSource,
    options: TrainingOptions,
    rng: np.random.Generator,
    start: TopicModel | None,
) -> tuple[FloatArray, Prior]:
    prior = Prior(_allocation(source, options), options.prior.word_concentration)
    if start is None:
        draw = random_documents if options.start_name == "random" else distant_documents
        return draw(source, options.n_topics, SEED_SHARES[options.local.update], rng), prior
    wanted = (options.n_topics, source.n_words)
    if start.topic_word_posterior.shape != wanted:
        raise OptionError(
            "start",
            found=f"a model of {start.n_topics} topics over {start.n_words} words",
            wanted=f"{wanted[0]} topics over {wanted[1]} words",
        )
    counts = np.maximum(start.topic_word_posterior.T - start.word_concentration, 0.0)
    return np.ascontiguousarray(counts), prior


def _allocation(source: BatchSource, options: TrainingOptions) -> Allocation:
    alpha = options.prior.doc_concentration
    if options.model == "lda":
        return LDAAllocation.symmetric(options.n_topics, alpha)
    return HDPAllocation.even(options.n_topics, source.n_docs, options.prior.gamma, alpha)


def _local_steps(
    source: BatchSource,
    batch_ids: IntArray,
    current: TopicGlobals,
    options: TrainingOptions,
    executor: Executor,
    tally: _Tally,
    hooks: Hooks,
) -> Iterator[Visit]:
    """The batches of a round, local steps made when each is asked for."""
    for batch_id in batch_ids.tolist():
        documents = source.read(batch_id)
        found = fit_documents(documents, current, options.local, executor)
        tally.local += np.array(found.info)
        tally.n_docs += documents.n_docs
        hooks.on_documents(tally.n_docs, source.n_docs)
        yield Visit(batch_id, found.summary, documents, found.responsibilities)


def _report(
    lap: int, seconds: float, bound: float, current: TopicGlobals, tally: _Tally, n_docs: int,
    tallies: Mapping[str, MoveTally],
) -> LapInfo:
    local = LocalInfo(*tally.local.tolist())
    none = MoveTally(0, 0)
    merges, deletes, births, reorders = (tallies.get(name, none) for name in MOVES)
    return LapInfo(
        lap=lap,
        seconds=seconds,
        elbo_per_token=bound,
        n_topics=len(current.topic_counts),
        active_topics=int(np.sum(current.topic_counts >= 1.0)),
        restarts_proposed=local.restarts_proposed,
        restarts_accepted=local.restarts_accepted,
        batches_kept_old=tally.kept_old,
        local_iterations_per_document=local.iterations / n_docs,
        merges_proposed=merges.proposed,
        merges_accepted=merges.accepted,
        deletes_proposed=deletes.proposed,
        deletes_accepted=deletes.accepted,
        births_proposed=births.proposed,
        births_accepted=births.accepted,
        reorders_accepted=reorders.accepted,
        doc_concentration=float(current.doc_concentration.sum()),
        word_concentration=current.word_concentration,
        top_concentration=None,
    )
