"""How estimators learn: all data at once for ``fit``, data that come later for ``partial_fit``.

With later data the memoized learner adds their summary to the total of all data seen before. The
earlier data are not visited again, so their summaries stay as they are. The stochastic learner
makes a step, for a collection as large as all data seen. The number of topics stays, because moves
need all data at hand.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from sparsetopics.base.batches import Source, StoredBatch
from sparsetopics.corpora.corpus import AnyCorpus
from sparsetopics.execution.executors import Executor
from sparsetopics.inference.course import Model, make_model
from sparsetopics.inference.laps import fit_batch
from sparsetopics.inference.learners.learner import Learner, S, Visit
from sparsetopics.inference.learners.memoized import MemoizedLearner, MemoizedState
from sparsetopics.inference.learners.stochastic import StochasticLearner
from sparsetopics.inference.local_step import Parameters, elbo
from sparsetopics.inference.training import Start
from sparsetopics.model.allocations.hdp import HDPAllocation
from sparsetopics.model.likelihoods.vector_likelihood import VectorLikelihood
from sparsetopics.model.memo import Memo
from sparsetopics.model.statistics import B, C, DocumentLengths, P, Statistics, T, scaled
from sparsetopics.model.topic_posterior import TopicPosterior
from sparsetopics.options.option import refuse
from sparsetopics.options.registry import LEARNERS, MODELS, imported
from sparsetopics.options.training import TrainingOptions
from sparsetopics.runs.callbacks import LapEntry, OnLap, RunHooks
from sparsetopics.runs.consensus import consensus_of, each_run, seeds_of
from sparsetopics.runs.data import divided, source_of
from sparsetopics.runs.guidance import lists_for, tell_of
from sparsetopics.runs.plan import lowered, with_validation
from sparsetopics.runs.run import TopicRun, run_in_memory
from sparsetopics.runs.run_files import Provenance
from sparsetopics.runs.seen_documents import AnyLearned, Learned, seen_in
from sparsetopics.runs.session import Trained, run_session, workshop
from sparsetopics.runs.topic_path import RungScorer, keep_no_model

VISITS = 5  # of each new document, by the memoized learner


# Takes what was learned, new data, where to compute and where to keep summaries of batches.
TakesMore = Callable[[AnyLearned, Source[StoredBatch], TrainingOptions, Executor, Memo], AnyLearned]


def learn(
    corpus: AnyCorpus,
    options: TrainingOptions,
    *,
    share: float | None,
    n_batches: int | None,
    n_jobs: int,
    seed: int | None,
    on_lap: OnLap | None,
) -> Trained:
    """Train on all data at once.

    A ``share`` of the documents is kept out to score the rungs of a topic path, or to validate the
    number of topics of an HDP (``with_validation``). Raises OptionError for too many batches or no
    jobs, and CorpusError if no document can be scored.
    """
    models: dict[int, TopicPosterior] = {}
    hooks = RunHooks(on_lap or (lambda entry: None))
    n_rows = corpus.sizes.n_docs
    options, share = with_validation(options, share, n_rows)
    options = lowered(options, share, n_rows)
    tell_of(lists := lists_for(options, corpus), hooks.say)

    def keep(snapshot: Callable[[], Model], elbo_per_token: float) -> None:
        model = snapshot()
        assert isinstance(model, TopicPosterior), "a path has topics"
        models[model.n_topics] = model

    keep_rung = keep if options.is_topic_path else keep_no_model

    def once(
        start: Start, options: TrainingOptions, seed: int | None = seed, n_threads: int = n_jobs,
        hooks: RunHooks = hooks,
    ) -> Trained:  # fmt: skip
        rng = np.random.default_rng(seed)
        data = divided(corpus, options, share, n_batches, rng)
        scorer = RungScorer.of_validation(data.validation, n_threads)
        with workshop(n_threads) as where:
            return run_session(
                data, options, rng, *where, hooks, scorer=scorer, keep_rung=keep_rung,
                start=start, lists=lists,
            )  # fmt: skip

    seeds = seeds_of(seed, options.n_runs)

    def member(number: int, n_threads: int, hooks: RunHooks) -> TopicRun:
        found = once(None, replace(options, n_runs=1), seeds[number], n_threads, hooks)
        facts: Provenance = {"corpus": {}, "options": {}, "seed": seeds[number], **found.kept}
        run = run_in_memory("", found.model, None, facts, found.trace).of(TopicPosterior)
        assert run is not None, "mixtures have one run"
        return run

    if options.n_runs == 1:
        found = once(None, options)
    else:
        found = consensus_of(each_run(member, options.n_runs, n_jobs, hooks), options, once)
    return found._replace(models=models)


def learned_of(found: Trained, options: TrainingOptions) -> AnyLearned | None:
    """What ``partial_fit`` of a mixture goes on from. None for topics, whose model has it, and if
    the learner does not pass it on."""
    is_needed = options.learner_kind.passes_on and options.model_kind.of_items
    return found.learned if is_needed else None


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
    corpus: AnyCorpus,
    options: TrainingOptions,
    *,
    n_jobs: int,
    seed: int | None,
) -> Trained:
    """Learn from more data, the first ones if ``before`` is None; ``before`` stays as it is.

    The trace has one entry, about the model of all data seen.
    """
    if options.guide and before is None:
        refuse("guide", "works only with fit: partial_fit does not merge topics")
    rng = np.random.default_rng(seed)
    known = before.prior.likelihood if before is not None else None
    coordinates = known.coordinates if isinstance(known, VectorLikelihood) else None
    source = source_of(corpus, options, 1, rng, coordinates=coordinates)
    if before is None:
        start, prior = imported(MODELS[options.model].begin)(source, options, rng, None)
        before = Learned(start, prior, is_start=True)
    with workshop(n_jobs) as (executor, scratch):
        learned = take_more(before, source, options, executor, Memo(scratch))
        current = learned.prior.with_components(learned.statistics.components)
        model = make_model(current, options, source, executor)
    terms = learned.statistics.terms
    entry: LapEntry = {"n_topics": model.n_topics, "n_docs": round(terms.n_docs)}
    if options.learner_kind.knows_all:  # the bound needs the statistics of all data seen
        entry["elbo_per_token"] = elbo(learned.statistics, current) / terms.n_tokens
    trace: list[LapEntry] = [{"lap": 0, **entry} if before.is_start else entry]
    return Trained(model, trace, (), seen_in(learned), learned, {})


def memoize_more(
    old: Learned[C, P, T], new: Source[B], options: TrainingOptions, executor: Executor, memo: Memo
) -> Learned[C, P, T]:
    """Add the summaries of new data, which are visited several times, to the total."""
    learner: MemoizedLearner[B, C, P, T] = MemoizedLearner(
        memo, executor, options.keeps_better, keep_assignments=False
    )
    prior = old.prior
    if old.is_start:
        state = learner.init(old.statistics)
    else:  # a copy, since steps change it in place, and ``old`` must survive a failure
        state = MemoizedState(None, old.statistics.accumulator(), {})
    documents = new.read(0)
    # These visits are not laps, which would begin a new sum over all batches: those of the earlier
    # data are gone.
    for _ in range(VISITS):
        state, prior = _visit(learner, state, prior, documents, options, executor)
        state = state._replace(start=None)
        prior = prior.updated(learner.terms(state))
    allocation = prior.allocation
    if isinstance(allocation, HDPAllocation) and allocation.lengths is not None:
        # The α of an HDP that learns it depends on the lengths of all documents.
        lengths = allocation.lengths.plus(DocumentLengths.of([documents]))
        prior = prior._replace(allocation=replace(allocation, lengths=lengths))
    return Learned(state.total, prior, old.n_steps)


def step_more(
    old: Learned[C, P, T], new: Source[B], options: TrainingOptions, executor: Executor, memo: Memo
) -> Learned[C, P, T]:
    """Make a stochastic step, as if the collection had all data seen so far."""
    (components, terms), prior = old.statistics, old.prior
    n_docs = new.n_docs
    if not old.is_start:
        n_docs += round(terms.n_docs)
        growth = n_docs / terms.n_docs
        components, terms = components.scaled(growth), scaled(terms, growth)
    learner: StochasticLearner[B, C, P, T] = StochasticLearner(n_docs, options.step_sizes)
    state = learner.init(Statistics(components, terms))
    if not old.is_start:
        state = state._replace(terms=terms, n_steps=old.n_steps)
    state, prior = _visit(learner, state, prior, new.read(0), options, executor)
    assert state.terms is not None, "after a step"
    return Learned(Statistics(state.components, state.terms), prior, state.n_steps)


def _visit(
    learner: Learner[S, B, C, P, T],
    state: S,
    prior: Parameters[C, P, T],
    documents: B,
    options: TrainingOptions,
    executor: Executor,
) -> tuple[S, Parameters[C, P, T]]:
    """Visit the only batch of new data; the arrays of ``state`` may be overwritten."""
    current = prior.with_components(learner.components(state))
    found = fit_batch(documents, current, options.local_step, executor)
    visit = Visit(0, found.summary, documents, found.responsibilities)
    state, _ = learner.step_in_place(state, [visit], current)
    return state, prior.updated(learner.terms(state))
