"""``fit`` of every estimator: data divided into batches, a model trained, its arrays shown.

These functions stand in the classes of estimators as methods: ``fit = fitting.fit``.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Protocol, TypeVar

import numpy as np

from sparsetopics.base.errors import OptionError
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.corpora.text.vocabulary import Vocabulary
from sparsetopics.estimators.inputs import Rows, first_rows, remember_columns
from sparsetopics.execution.executors import open_executor
from sparsetopics.inference.laps import Prior
from sparsetopics.inference.training import Hooks, LapInfo, Model, train
from sparsetopics.model.statistics import Statistics
from sparsetopics.options.training import TrainingOptions
from sparsetopics.runs.callbacks import OnLap
from sparsetopics.runs.sources import source_of
from sparsetopics.runs.stored_models import facts_of


class Learned(NamedTuple):
    """Where learning stands, for ``partial_fit`` to go on from."""

    statistics: Statistics  # of all data seen so far
    prior: Prior
    n_steps: int  # of the stochastic learner
    is_start: bool = False  # no data were seen: seeds stand for them


class Estimator(Protocol):
    """What all estimators have, and what they have when they are fitted."""

    _reads_vectors: ClassVar[bool]
    n_batches: int | None
    n_jobs: int
    random_state: int | None
    model_: Any  # Model
    trace_: list[dict[str, Any]]
    n_components_: int
    n_features_in_: int
    n_iter_: int
    _facts: Mapping[str, Any]  # of the data, as run folders have them
    _learned: Learned | None

    def training_options(self) -> TrainingOptions: ...

    def _show(self, vocabulary: Vocabulary | None) -> None:
        """Set what follows from ``model_`` and the words, where data have words."""
        ...


E = TypeVar("E", bound=Estimator)


def fit(self: E, X: Any, y: object = None, *, on_lap: OnLap | None = None) -> E:
    """Learn from X, and forget what was learned before; ``y`` is not looked at.

    X, (n_rows, n_columns): a corpus, an array, a data frame or a list of rows; where rows are
    documents also a sparse matrix, all counts of zero or more. ``on_lap`` is told of every lap
    (``callbacks.OnLap``). Raises OptionError for arguments of the constructor that are out of range
    or do not go together, ShapeError for any other X; the estimator then stays as it was.
    """
    options = checked_options(self)
    rows = first_rows(self, X)
    trace: list[dict[str, Any]] = []
    ends: list[tuple[Statistics, Prior]] = []

    def keep(info: LapInfo, _: object) -> None:
        trace.append(info._asdict())
        if on_lap is not None:
            on_lap(trace[-1])

    hooks = Hooks(keep, on_end=lambda statistics, prior: ends.append((statistics, prior)))
    rng = np.random.default_rng(self.random_state)
    source = source_of(rows.corpus, options, self.n_batches, rng)
    with (
        tempfile.TemporaryDirectory(prefix="sparsetopics-") as scratch,
        open_executor(self.n_jobs) as executor,
    ):
        model = train(source, options, Path(scratch), executor, rng, hooks=hooks)
    self._learned = None
    if options.learner_kind.passes_on:
        self._learned = Learned(*ends[0], n_steps=len(trace) * source.n_batches)
    remember_columns(self, rows)
    show(self, model, trace, facts_of(rows.corpus), vocabulary_of(rows))
    return self


def checked_options(self: Estimator) -> TrainingOptions:
    """The options of training; OptionError where they do not go together or with the estimator."""
    options = self.training_options()
    if self._reads_vectors and options.counts_words:
        raise OptionError(
            "likelihood",
            found=f"{options.likelihood_name} with {type(self).__name__}",
            wanted="one of vectors",
            hint="Of documents there are MultinomialMixture and DPMultinomialMixture.",
        )
    return options


def vocabulary_of(rows: Rows) -> Vocabulary | None:
    """The words of documents."""
    return rows.corpus.vocabulary if isinstance(rows.corpus, Corpus) else None


def show(
    self: Estimator,
    model: Model,
    trace: list[dict[str, Any]],
    facts: Mapping[str, Any],
    vocabulary: Vocabulary | None,
) -> None:
    """Make an estimator a fitted one; ``facts`` are those of the data."""
    self.model_, self.trace_ = model, trace
    self.n_components_, self._facts = model.n_topics, facts
    self.n_iter_ = max([0, *(entry.get("lap", 0) for entry in trace)])
    self._show(vocabulary)
