"""``partial_fit``: documents or items that join those an estimator has learned from.

The memoized learner adds the summary of the new ones to the total of all seen before, which are not
visited again, so that their summaries stay as they are. The stochastic learner makes a step, for a
collection of as many as were seen. The number of topics stays: moves need all data at hand.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from sparsetopics.base.batches import Source
from sparsetopics.base.errors import OptionError
from sparsetopics.estimators import fitting
from sparsetopics.estimators.fitting import Learned
from sparsetopics.estimators.inputs import Rows, first_rows, more_rows, remember_columns
from sparsetopics.execution.executors import Executor, open_executor
from sparsetopics.inference.batch_steps import fit_batch
from sparsetopics.inference.bounds import elbo
from sparsetopics.inference.laps import Prior
from sparsetopics.inference.learners.learner import Visit
from sparsetopics.inference.learners.memoized import MemoizedLearner, MemoizedState
from sparsetopics.inference.learners.stochastic import StochasticLearner
from sparsetopics.inference.local_step import Globals
from sparsetopics.inference.training import Model, begin_training, make_model
from sparsetopics.model.allocations.hdp import HDPAllocation
from sparsetopics.model.memo import Memo
from sparsetopics.model.statistics import DocumentLengths, Statistics, scaled
from sparsetopics.options.registry import LEARNERS, imported
from sparsetopics.options.training import TrainingOptions
from sparsetopics.runs.sources import source_of
from sparsetopics.runs.stored_models import facts_of

VISITS = 5  # of each new document, by the memoized learner
E = TypeVar("E", bound=fitting.Estimator)
# What was learned before with what new data add to it.
TakesMore = Callable[[Learned, Source, TrainingOptions, Executor, Memo], Learned]


def partial_fit(self: E, X: Any, y: object = None) -> E:
    """Learn from X beside all that was learned before; ``y`` is not looked at.

    X as for ``fit``, the same columns every time. The first X decides what Gaussian priors are made
    from and where components start, so it should not be small. No moves are made: their number
    stays, and ``n_components`` is that of a first call. Same calls, same bits. Raises what ``fit``
    raises, and OptionError unless the learner is "memoized" or "stochastic", or for an estimator
    that was loaded: run folders keep what was learned, but not what learning goes on from.
    """
    options = fitting.checked_options(self)
    is_first = not hasattr(self, "model_")
    take_more = _taking_more(options)
    rows = first_rows(self, X) if is_first else more_rows(self, X)
    if not len(rows.corpus.row_groups):  # documents without words
        return self
    rng = np.random.default_rng(self.random_state)
    source = source_of(rows.corpus, options, 1, rng)
    before = _begin(source, options, rng) if is_first else _learned(self)
    with (
        tempfile.TemporaryDirectory(prefix="sparsetopics-") as scratch,
        open_executor(self.n_jobs) as executor,
    ):
        self._learned = take_more(before, source, options, executor, Memo(Path(scratch)))
    if is_first:
        remember_columns(self, rows)
        self.trace_, self._facts = [], {}
    _show(self, self._learned, rows, options)
    return self


def _show(self: fitting.Estimator, learned: Learned, rows: Rows, options: TrainingOptions) -> None:
    """The model of all data seen; words keep the frequencies they first came with."""
    model, entry = _model_of(learned, options)
    laps = self.trace_[-1]["lap"] if self.trace_ else 0
    vocabulary = getattr(self, "vocabulary_", None) or fitting.vocabulary_of(rows)
    facts = _added_facts(self._facts, facts_of(rows.corpus))
    fitting.show(self, model, [*self.trace_, {"lap": laps} | entry], facts, vocabulary)


def _taking_more(options: TrainingOptions) -> TakesMore:
    """What the learner does with more data; OptionError if it can do nothing."""
    where = options.learner_kind.takes_more
    if where is None:
        able = [name for name, kind in LEARNERS.items() if kind.takes_more is not None]
        raise OptionError(
            "learner",
            found=f"{options.learner} in partial_fit",
            wanted=" or ".join(able),
            hint="The others visit all data in every lap.",
        )
    take_more: TakesMore = imported(where)
    return take_more


def _learned(self: fitting.Estimator) -> Learned:
    found = getattr(self, "_learned", None)
    if isinstance(found, Learned):
        return found
    able = [name for name, kind in LEARNERS.items() if kind.passes_on]
    raise OptionError(
        type(self).__name__,
        found="no statistics to go on from",
        wanted=f"an estimator that was fitted here by one of the learners {', '.join(able)}",
        hint="Run folders hold none; a pickle does.",
    )


def _begin(source: Source, options: TrainingOptions, rng: np.random.Generator) -> Learned:
    start, prior = begin_training(source, options, rng, None)
    return Learned(start, prior, n_steps=0, is_start=True)


def added(
    before: Learned, source: Source, options: TrainingOptions, executor: Executor, memo: Memo
) -> Learned:
    """The total with the summaries of new data, which are visited several times.

    These visits are no laps, which begin a new sum of all batches: those of former data are gone.
    """
    learner = MemoizedLearner(memo, executor, options.keeps_better, False, keep_assignments=False)
    prior = before.prior
    if before.is_start:
        state = learner.init(before.statistics)
    else:  # copied: what was learned before stays, should this fail
        state = MemoizedState(None, before.statistics.accumulator(), {})
    for _ in range(VISITS):
        for batch_id in range(source.n_batches):
            current = prior.with_components(learner.components(state))
            visit = _visit(source, batch_id, current, options, executor)
            state, _ = learner.step(state, [visit], current)
            prior = prior.updated(learner.terms(state))
        state = state._replace(start=None)
        prior = prior.updated(learner.terms(state))
    return Learned(state.total, _with_lengths(prior, source), before.n_steps)


def stepped(
    before: Learned, source: Source, options: TrainingOptions, executor: Executor, memo: Memo
) -> Learned:
    """One step for each batch, after what was learned has grown to the collection's new size."""
    (components, terms), prior = before.statistics, before.prior
    n_docs = source.n_docs
    if not before.is_start:
        n_docs += round(terms.n_docs)
        growth = n_docs / terms.n_docs
        components, terms = components.scaled(growth), scaled(terms, growth)
    learner = StochasticLearner(n_docs, options.step_sizes)
    state = learner.init(Statistics(components, terms))
    if not before.is_start:
        state = state._replace(terms=terms, n_steps=before.n_steps)
    for batch_id in range(source.n_batches):
        current = prior.with_components(learner.components(state))
        visit = _visit(source, batch_id, current, options, executor)
        state, _ = learner.step(state, [visit], current)
        prior = prior.updated(learner.terms(state))
    return Learned(Statistics(state.components, state.terms), prior, state.n_steps)


def _visit(
    source: Source, batch_id: int, current: Globals, options: TrainingOptions, executor: Executor
) -> Visit:
    documents = source.read(batch_id)
    found = fit_batch(documents, current, options.local_step, executor)
    return Visit(batch_id, found.summary, documents, found.responsibilities)


def _with_lengths(prior: Prior, source: Source) -> Prior:
    """An HDP whose α was learned knows how long all documents are."""
    allocation = prior.allocation
    if not isinstance(allocation, HDPAllocation) or allocation.lengths is None:
        return prior
    new = DocumentLengths.of(source.read(batch_id) for batch_id in range(source.n_batches))
    return prior._replace(allocation=replace(allocation, lengths=allocation.lengths.plus(new)))


def _model_of(learned: Learned, options: TrainingOptions) -> tuple[Model, dict[str, Any]]:
    """The model, and what the trace says of it; the ELBO needs the statistics of all data seen."""
    statistics, prior, *_ = learned
    current = prior.with_components(statistics.components)
    model = make_model(current, options)
    entry: dict[str, Any] = {"n_topics": model.n_topics, "n_docs": round(statistics.terms.n_docs)}
    if options.learner_kind.knows_all:
        entry["elbo_per_token"] = elbo(statistics, current) / statistics.terms.n_tokens
    return model, entry


def _added_facts(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Those of all data, whose numbers add up."""
    return {
        name: old.get(name, 0) + value if name.startswith("n_") else old.get(name, value)
        for name, value in new.items()
    }
