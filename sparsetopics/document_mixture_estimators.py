"""Mixtures of documents as objects with ``fit`` and ``predict``, as in scikit-learn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from sparsetopics import fitting
from sparsetopics.batches import FloatArray, IntArray, Source
from sparsetopics.corpora.batching import plan_batches
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.corpora.vocabulary import Vocabulary
from sparsetopics.document_items import DocumentItemSource
from sparsetopics.errors import OptionError, ShapeError
from sparsetopics.mixture_model import MixtureModel
from sparsetopics.options import (
    DEFAULT_LAPS,
    DEFAULT_TOP_CONCENTRATION,
    LearnerName,
    LocalOptions,
    MoveName,
    StartName,
    TopicPrior,
    TrainingOptions,
)
from sparsetopics.trained_runs import move_options


class MultinomialMixture:
    """Every document has one component: w ~ Dir(γ/K), words of a component ~ Dir(η).

    γ is ``top_concentration``, η ``word_concentration``; ``sparsity`` is the number of components
    that a document may belong to. After ``fit``: ``weights_`` (n_components_,), ``components_``
    (n_components_, n_words), the posterior mean of word probabilities, in falling order of weight,
    ``vocabulary_`` and ``trace_``, one entry per lap. Options out of range raise OptionError when
    ``fit`` is called.
    """

    model_: MixtureModel
    vocabulary_: Vocabulary
    trace_: list[dict[str, Any]]
    n_components_: int
    weights_: FloatArray
    components_: FloatArray

    def __init__(
        self,
        n_components: int = 10,
        *,
        sparsity: int | None = None,
        learner: LearnerName = "memoized",
        max_iter: int = DEFAULT_LAPS["mixture"],
        n_batches: int | None = None,
        top_concentration: float = DEFAULT_TOP_CONCENTRATION,
        word_concentration: float = 0.1,
        start: StartName | None = None,
        n_jobs: int = 1,
        random_state: int = 0,
    ) -> None:
        self.n_components = n_components
        self.sparsity = sparsity
        self.learner: LearnerName = learner
        self.max_iter = max_iter
        self.n_batches = n_batches
        self.top_concentration = top_concentration
        self.word_concentration = word_concentration
        self.start: StartName | None = start
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: object = None) -> MultinomialMixture:
        """Learn from a Corpus, or from a sparse matrix of counts (n_docs, n_words)."""
        _fit(self, X)
        return self

    def predict(self, X: Any) -> IntArray:
        """The component that each document most probably belongs to, (n_docs,)."""
        return _predict(self, X)

    def predict_proba(self, X: Any) -> FloatArray:
        """Probability of each component for each document, (n_docs, n_components_)."""
        return _predict_proba(self, X)

    def score_samples(self, X: Any) -> FloatArray:
        """Log probability of each document in nats, (n_docs,), at the posterior means.

        Of its words in their order: the multinomial coefficient is left out.
        """
        return _score_samples(self, X)

    def score(self, X: Any, y: object = None) -> float:
        """Mean of ``score_samples``."""
        return float(self.score_samples(X).mean())

    def training_options(self) -> TrainingOptions:
        """The same options as the command line's; raises OptionError."""
        return TrainingOptions(
            n_topics=self.n_components,
            laps=self.max_iter,
            learner=self.learner,
            local=LocalOptions("mean-field", self.sparsity, restarts=0),
            prior=TopicPrior(
                word_concentration=self.word_concentration,
                top_concentration=self.top_concentration,
            ),
            start=self.start,
            model="mixture",
            likelihood="multinomial",
        )


class DPMultinomialMixture:
    """A Dirichlet process mixture, which learns how many components there are.

    ``moves`` as in ``DPGaussianMixture``, all else as in ``MultinomialMixture``.
    """

    model_: MixtureModel
    vocabulary_: Vocabulary
    trace_: list[dict[str, Any]]
    n_components_: int
    weights_: FloatArray
    components_: FloatArray

    def __init__(
        self,
        n_components: int = 1,
        *,
        sparsity: int | None = None,
        learner: LearnerName = "memoized",
        moves: Sequence[MoveName] | None = None,
        max_iter: int = DEFAULT_LAPS["dp-mixture"],
        n_batches: int | None = None,
        top_concentration: float = DEFAULT_TOP_CONCENTRATION,
        word_concentration: float = 0.1,
        start: StartName | None = None,
        n_jobs: int = 1,
        random_state: int = 0,
    ) -> None:
        self.n_components = n_components
        self.sparsity = sparsity
        self.learner: LearnerName = learner
        self.moves = moves
        self.max_iter = max_iter
        self.n_batches = n_batches
        self.top_concentration = top_concentration
        self.word_concentration = word_concentration
        self.start: StartName | None = start
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: object = None) -> DPMultinomialMixture:
        """Learn from a Corpus, or from a sparse matrix of counts (n_docs, n_words)."""
        _fit(self, X)
        return self

    def predict(self, X: Any) -> IntArray:
        """The component that each document most probably belongs to, (n_docs,)."""
        return _predict(self, X)

    def predict_proba(self, X: Any) -> FloatArray:
        """Probability of each component for each document, (n_docs, n_components_)."""
        return _predict_proba(self, X)

    def score_samples(self, X: Any) -> FloatArray:
        """Log probability of each document in nats, as in ``MultinomialMixture``, (n_docs,)."""
        return _score_samples(self, X)

    def score(self, X: Any, y: object = None) -> float:
        """Mean of ``score_samples``."""
        return float(self.score_samples(X).mean())

    def training_options(self) -> TrainingOptions:
        """The same options as the command line's; raises OptionError."""
        return TrainingOptions(
            n_topics=self.n_components,
            laps=self.max_iter,
            learner=self.learner,
            local=LocalOptions("mean-field", self.sparsity, restarts=0),
            prior=TopicPrior(
                word_concentration=self.word_concentration,
                top_concentration=self.top_concentration,
            ),
            start=self.start,
            model="dp-mixture",
            likelihood="multinomial",
            moves=move_options(None if self.moves is None else tuple(self.moves), None),
        )


class _Estimator(Protocol):
    """The part of an estimator that the functions here read, and write when it is fitted."""

    n_batches: int | None
    n_jobs: int
    random_state: int
    model_: MixtureModel
    vocabulary_: Vocabulary
    trace_: list[dict[str, Any]]
    n_components_: int
    weights_: FloatArray
    components_: FloatArray

    def training_options(self) -> TrainingOptions: ...


def _fit(estimator: _Estimator, X: Any) -> None:
    corpus, options = fitting.as_corpus(X), estimator.training_options()

    def divide(rng: np.random.Generator) -> Source:
        return DocumentItemSource(plan_batches(corpus, estimator.n_batches, rng))

    model, trace = fitting.trained(divide, options, estimator.n_jobs, estimator.random_state)
    assert isinstance(model, MixtureModel), "items have components"
    estimator.model_, estimator.trace_ = model, trace
    estimator.vocabulary_ = corpus.vocabulary
    estimator.n_components_, estimator.weights_ = model.n_topics, model.weights
    estimator.components_ = model.word_probabilities


def _predict(estimator: _Estimator, X: Any) -> IntArray:
    best: IntArray = _predict_proba(estimator, X).argmax(axis=1)
    return best


def _predict_proba(estimator: _Estimator, X: Any) -> FloatArray:
    """A row without words gets the weights."""
    corpus, model = _known_words(estimator, X), estimator.model_
    found = np.concatenate([model.responsibilities(batch) for batch in corpus.batches()])
    return fitting.with_empty_rows(found, model.weights, corpus, X)


def _score_samples(estimator: _Estimator, X: Any) -> FloatArray:
    corpus, model = _known_words(estimator, X), estimator.model_
    found = np.concatenate([model.log_densities(batch) for batch in corpus.batches()])
    return fitting.with_empty_rows(found, 0.0, corpus, X)


def _known_words(estimator: _Estimator, X: Any) -> Corpus:
    if not hasattr(estimator, "model_"):
        name = type(estimator).__name__
        raise OptionError(name, found="an estimator that is not fitted", wanted="fit first")
    corpus = fitting.as_corpus(X)
    if corpus.n_words != estimator.model_.n_columns:
        raise ShapeError(
            "documents",
            found=f"{corpus.n_words} words",
            wanted=f"the {estimator.model_.n_columns} words of the fitted components",
        )
    return corpus
