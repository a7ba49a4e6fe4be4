"""The base of all estimators: scikit-learn's ``BaseEstimator``, ``fit``, ``partial_fit``, ``save``.

Modules with compiled kernels are imported by the methods that need them: numba takes half a second
to import, and many an estimator is only made, cloned or printed.
"""

from __future__ import annotations

import inspect
import os
from abc import abstractmethod
from collections.abc import Sequence
from copy import copy
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils import Tags

from sparsetopics.base.errors import UnfittedError, naming_parameters
from sparsetopics.base.outputs import output_folder, written
from sparsetopics.base.own_folders import RUN
from sparsetopics.corpora.corpus import AnyCorpus, Corpus
from sparsetopics.corpora.text.vocabulary import Vocabulary
from sparsetopics.estimators.inputs import (
    Data,
    Names,
    column_names_of,
    column_of_texts,
    feature_names_of,
    first_rows,
    has_no_rows,
    more_rows,
)
from sparsetopics.options.option import MOST, Interval, check_type, path_of, refuse, shown
from sparsetopics.options.registry import LEARNERS, MODELS, imported
from sparsetopics.options.resolve import argument_for, from_arguments, resolve
from sparsetopics.options.table import MOST_WORKERS, StartName
from sparsetopics.options.training import TrainingOptions
from sparsetopics.runs.callbacks import LapEntry, OnLap

if TYPE_CHECKING:
    from sparsetopics.answers.topic_names import GivenNames
    from sparsetopics.inference.course import Model
    from sparsetopics.runs.run import AnyRun, TopicRun
    from sparsetopics.runs.run_files import CorpusFacts, Nested, Provenance
    from sparsetopics.runs.seen_documents import AnyLearned
    from sparsetopics.runs.session import Trained
    from sparsetopics.runs.topic_path_files import TopicPathFolder

# Names options in errors as the arguments of constructors.
naming_arguments = partial(naming_parameters, argument_for)


class NotYetFittedError(UnfittedError, NotFittedError):
    """Our error and scikit-learn's at once, so that code written for either catches it."""


@dataclass(repr=False, eq=False)
class Estimator(BaseEstimator):
    """The arguments and methods that all estimators share.

    Subclasses are dataclasses too. Their fields are the arguments of the constructor, which
    scikit-learn reads from its signature, and nothing else may be a field.
    """

    n_components: int | None = None
    _: KW_ONLY  # all other arguments are given by name
    sparsity: int | None = None
    learner: str = "memoized"
    max_iter: int | None = None
    n_batches: int | None = None
    forgetting_rate: float | None = None
    delay: float | None = None
    fixed_rate: float | None = None
    start: StartName | None = None
    n_jobs: int | None = 1
    random_state: int | RandomState | None = 0

    _model_name: ClassVar[str]
    _likelihood_name: ClassVar[str | None] = None  # where it is not an argument
    _reads_vectors: ClassVar[bool] = False
    _own_arguments: ClassVar[tuple[str, ...]] = ()  # that are no options of ``train``
    _folder_kind = RUN

    @naming_arguments()
    def fit(
        self,
        X: Data,
        y: ArrayLike | None = None,
        *,
        text: str | None = None,
        on_lap: OnLap | None = None,
    ) -> Self:
        """Learn from X and forget what was learned before.

        Args:
            X: Rows, (n_rows, n_columns): a corpus, an array, a data frame or a list of rows. Where
                rows are documents, also a sparse matrix, whose counts must be zero or more, or a
                list or column of texts or of lists of words.
            y: Ignored.
            text: The column that holds the texts, if X is a table. Other methods then read the same
                column of tables.
            on_lap: Called with the entry of ``trace_`` after every lap (``runs.callbacks.OnLap``).

        Raises OptionError if an argument of the constructor is out of range or conflicts with
        another, ShapeError for any other X, and CorpusError if documents are kept out and none of
        them has two words. The estimator then stays as it was.
        """
        from sparsetopics.estimators.learning import learn, learned_of

        options = self.training_options()
        if on_lap is not None and not callable(on_lap):
            refuse("on_lap", f"must be a function of a lap's entry, but is {shown(on_lap)}")
        corpus, seed = self._first_rows(X, text), self._drawn_seed()
        found = learn(
            corpus,
            options,
            share=getattr(self, "validation_share", 0.0),
            n_batches=self.n_batches,
            n_jobs=self._n_threads,
            seed=seed,
            on_lap=on_lap,
        )
        self._learned: AnyLearned | None = learned_of(found, options)
        self._remember(X, text)
        self._set_trained(found, corpus, seed)
        return self

    @naming_arguments()
    def partial_fit(self, X: Data, y: ArrayLike | None = None, *, text: str | None = None) -> Self:
        """Learn from X in addition to everything learned before.

        X and ``text`` are as for ``fit``, with the same columns in every call; ``y`` is ignored. An
        X without rows changes nothing. The first X determines the priors of Gaussians and where
        components start, so it should not be small.
        No moves are made: the number of components stays, and is ``n_components`` if the first
        call is ``partial_fit``. Marks of topics of few documents, and in how many runs topics were
        found, are forgotten, since earlier documents are not visited again. The same calls give the
        same bits.

        Raises what ``fit`` raises. Raises OptionError unless the learner is "memoized" or
        "stochastic", and for a mixture that was loaded: its run folder holds what was learned,
        but not the statistics that learning continues from. Runs of earlier releases, and those of
        a topic path, do not hold them either.
        """
        from sparsetopics.estimators.learning import learn_more, learned_of, taking_more
        from sparsetopics.runs.data import added_facts, facts_of

        options = self.training_options()
        take_more = taking_more(options)
        is_first = not hasattr(self, "model_")
        if has_no_rows(X):
            return self
        corpus = self._first_rows(X, text) if is_first else self._more_rows(X, text)
        if not corpus.row_groups:  # documents without words
            return self
        before = None if is_first else self._statistics()
        seed = self._drawn_seed()
        found = learn_more(before, take_more, corpus, options, n_jobs=self._n_threads, seed=seed)
        self._learned = learned_of(found, options)
        if is_first:
            self._remember(X, text)
            self._set_trained(found, corpus, seed)
            return self
        run, (entry,), kept = self._fitted, found.trace, found.kept
        entry["lap"] = self.n_iter_
        if run.vocabulary is not None:
            kept["topics"] = run.carried(found.model)
        if lists := run.settings.get("guide"):
            kept["guide"] = lists
        found = found._replace(trace=[*run.trace, entry])
        facts = added_facts(run.settings["corpus"], facts_of(corpus))
        # Words keep the frequencies that they first came with.
        run = self._made(found, facts, run.vocabulary, run.settings.get("seed"))
        self._set_run(run, run.trace)
        return self

    @naming_parameters()
    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write a run folder, which ``load`` and the commands read; either all of it or nothing.

        Raises UnfittedError before ``fit``. Raises OutputError if ``path`` exists, unless
        ``overwrite``, or if it cannot be written.
        """
        self._check_fitted()
        folder = path_of("path", path)
        check_type("overwrite", overwrite, bool, "true or false")
        with written(output_folder(folder, self._folder_kind, overwrite=overwrite)) as scratch:
            self._save_to(scratch)

    def _save_to(self, scratch: Path) -> None:
        from sparsetopics.runs.run import save_run

        save_run(scratch, self._fitted)

    @naming_arguments()
    def training_options(self) -> TrainingOptions:
        """The options that ``sparsetopics train`` would have; raises OptionError."""
        own = {
            name: value.item() if isinstance(value, np.generic) else value
            for name, value in self.get_params().items()
            if not isinstance(value, RandomState) and name not in self._own_arguments
        }
        arguments = {"likelihood": self._likelihood_name} | own | {"n_jobs": self._n_threads}
        return resolve(self._model_name, from_arguments(arguments))

    def _options_of_fit(self) -> TrainingOptions:
        """The options without lists of words: their file may have changed since they were read."""
        has_lists = "guide" in self.get_params()
        return (copy(self).set_params(guide=None) if has_lists else self).training_options()

    def set_params(self, **params: object) -> Self:
        """Change arguments of the constructor; raises OptionError for an unknown name."""
        known = inspect.signature(type(self)).parameters
        for name in params:
            if name not in known:
                problem = f"Invalid parameter {name!r} for estimator {type(self).__name__}"
                refuse(type(self).__name__, problem, f"Valid parameters: {', '.join(known)}.")
        super().set_params(**params)
        return self

    def __sklearn_tags__(self) -> Tags:
        """Tell scikit-learn what X may be."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = not self._reads_vectors
        tags.input_tags.positive_only = not self._reads_vectors
        return tags

    def _set_run(self, run: AnyRun, trace: Sequence[LapEntry]) -> None:
        """Set the fitted attributes to what a run holds; ``trace`` may have laps after those."""
        self._fitted: AnyRun = replace(run, path=Path(type(self).__name__))
        self.model_: Model = run.model
        self.trace_: list[LapEntry] = [*trace]
        self.n_components_: int = run.model.n_topics
        self.n_features_in_: int = run.model.n_columns
        # ``partial_fit`` adds entries to the trace, but makes no laps.
        self.n_iter_ = max((int(entry.get("lap") or 0) for entry in trace), default=0)
        if run.vocabulary is not None:
            self.vocabulary_: Vocabulary = run.vocabulary
        self._set_arrays()

    def _set_trained(self, found: Trained, corpus: AnyCorpus, seed: int | None) -> None:
        """Set the fitted attributes after ``fit``."""
        from sparsetopics.runs.data import facts_of

        words = corpus.vocabulary if isinstance(corpus, Corpus) else None
        self._set_run(self._made(found, facts_of(corpus), words, seed), found.trace)

    def _made(
        self, found: Trained, facts: CorpusFacts, vocabulary: Vocabulary | None, seed: int | None
    ) -> AnyRun:
        """What was trained, as a run; ``vocabulary`` is None if rows are vectors."""
        from sparsetopics.runs.run import run_in_memory

        provenance: Provenance = {
            "corpus": facts,
            "options": self._recorded_options(found.model),
            "seed": int(seed) if isinstance(seed, Integral) else None,
            **found.kept,
        }
        return run_in_memory("", found.model, vocabulary, provenance, found.trace)

    def _recorded_options(self, model: Model) -> Nested:
        """The options as the run folder of a model keeps them."""
        from sparsetopics.runs.run import option_record

        batches = None if self.n_batches is None else int(self.n_batches)  # may be numpy's
        return {**option_record(self._options_of_fit()), "batches": batches}

    def _run(self, names: GivenNames | None = None) -> AnyRun:
        """The model as a run; UnfittedError before ``fit``."""
        from sparsetopics.answers.topic_names import with_names

        self._check_fitted()
        return self._fitted if names is None else with_names(self._fitted, names)

    def _run_of_words(self, names: GivenNames | None = None) -> AnyRun:
        """The model as a run; OptionError for components of vectors."""
        run = self._run(names)
        if run.vocabulary is None:
            problem = "has components of vectors, which have no words"
            refuse(type(self).__name__, problem, "See weights_, means_ and covariances_.")
        return run

    def _run_of_topics(self, names: GivenNames | None = None) -> TopicRun:
        """The model as a run; OptionError for a mixture."""
        from sparsetopics.model.topic_posterior import TopicPosterior

        run = self._run(names).of(TopicPosterior)
        if run is None:
            problem = "is a mixture, which has responsibilities instead of proportions"
            refuse(type(self).__name__, problem, "predict_proba returns them.")
        return run

    def _topic_path(self) -> TopicPathFolder | None:
        """The topic path that the model belongs to, if any."""
        return None

    @abstractmethod
    def _set_arrays(self) -> None:
        """Set the fitted attributes that follow from ``model_``."""

    def _check_fitted(self) -> None:
        if not hasattr(self, "model_"):
            raise NotYetFittedError(type(self).__name__, "is not fitted yet", "Call fit first.")

    def _statistics(self) -> AnyLearned:
        """What learning continues from; OptionError if there is nothing."""
        learned: AnyLearned | None = getattr(self, "_learned", None)
        seen, goes_on = self._fitted.settings.get("seen"), MODELS[self._model_name].goes_on
        if seen is not None and goes_on is not None:
            learned = imported(goes_on)(self.model_, seen)
        if learned is None:
            able = ", ".join(name for name, kind in LEARNERS.items() if kind.passes_on)
            problem = f"has no statistics to continue from; learners that keep them: {able}"
            hint = "A run folder of a mixture, a topic path or an earlier release lacks them."
            refuse(type(self).__name__, problem, hint)
        return learned

    @property
    def _n_threads(self) -> int:
        """``n_jobs``, where -1 stands for a thread per core."""
        if self.n_jobs is None:  # as scikit-learn has it
            return 1
        if isinstance(self.n_jobs, Integral) and self.n_jobs == -1:
            return os.cpu_count() or 1
        takes = Interval(1, MOST_WORKERS, whole=True)
        takes.check("n_jobs", self.n_jobs, "-1 stands for a thread per core.")
        return int(self.n_jobs)  # which may be numpy's

    def _drawn_seed(self) -> int | None:
        """The seed of a fit; a RandomState draws it."""
        if isinstance(self.random_state, RandomState):
            return int(self.random_state.randint(MOST))
        return self.random_state

    @naming_parameters()
    def _first_rows(self, X: Data, text: str | None) -> AnyCorpus:
        if text is not None and self._reads_vectors:
            refuse("text", f"is for documents, but {type(self).__name__} learns from vectors")
        X = X if text is None else column_of_texts(X, text)
        return first_rows(X, type(self).__name__, vectors=self._reads_vectors)

    @naming_parameters()
    def _more_rows(self, X: Data, text: str | None = None) -> AnyCorpus:
        """Rows with the fitted columns; raises ShapeError or VocabularyError for other columns, and
        UnfittedError before ``fit``."""
        words, X = self._run().vocabulary, self._texts_of(X, text)
        names: Names | None = getattr(self, "feature_names_in_", None)
        return more_rows(X, type(self).__name__, self.n_features_in_, names, words)

    def _documents_of(self, X: Data) -> Corpus:
        """``_more_rows``, of words."""
        corpus = self._more_rows(X)
        assert isinstance(corpus, Corpus), "read as documents"
        return corpus

    def _texts_of(self, X: Any, text: str | None = None) -> Any:  # whatever users pass
        """The column of X that was fitted, if X is a table and texts were fitted."""
        text = text or getattr(self, "_text", None)
        return column_of_texts(X, text) if text is not None and column_names_of(X) else X

    def _remember(self, X: Data, text: str | None) -> None:
        """Set the names of the fitted columns, and keep the column of texts."""
        self._text = text
        # Only an estimator that was fitted with a data frame may have this attribute.
        self.__dict__.pop("feature_names_in_", None)
        names = None if text is not None else feature_names_of(X)
        if names is not None:
            self.feature_names_in_: Names = names


def other_runs(models: Sequence[Estimator]) -> list[AnyRun]:
    """Other models as runs; OptionError for anything else."""
    check_type("runs", models, (list, tuple), "a list of fitted models")
    for model in models:
        check_type("runs", model, Estimator, "a list of fitted models")
    return [model._run() for model in models]
