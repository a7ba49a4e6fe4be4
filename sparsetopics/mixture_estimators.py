"""Mixtures of Gaussians as objects with ``fit``, ``predict`` and ``sample``, as in scikit-learn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from sparsetopics import fitting
from sparsetopics.batches import FloatArray, IntArray, Source, Vectors
from sparsetopics.corpora.vector_batching import plan_vector_batches
from sparsetopics.corpora.vectors import VectorCorpus
from sparsetopics.errors import OptionError, ShapeError
from sparsetopics.mixture_model import MixtureModel
from sparsetopics.options import (
    DEFAULT_LAPS,
    DEFAULT_TOP_CONCENTRATION,
    GradientName,
    GradientOptions,
    LearnerName,
    LikelihoodName,
    LocalOptions,
    MoveName,
    StartName,
    TopicPrior,
    TrainingOptions,
)
from sparsetopics.trained_runs import move_options


class GaussianMixture:
    """A finite mixture: w ~ Dir(γ/K), ``top_concentration`` γ.

    ``likelihood``: "gaussian" (full covariances), "diagonal-gaussian", "zero-mean-gaussian"
    or "isotropic-gaussian", whose ``variance`` is known: given, or made from the data.
    ``sparsity`` is the number of components that an item may belong to. After ``fit``:
    ``weights_`` (n_components_,), ``means_``, ``covariances_`` (posterior means, in falling order
    of weight) and ``trace_``, one entry per lap. Options out of range raise OptionError when
    ``fit`` is called.
    """

    model_: MixtureModel
    trace_: list[dict[str, Any]]
    n_components_: int
    weights_: FloatArray
    means_: FloatArray
    covariances_: FloatArray

    def __init__(
        self,
        n_components: int = 10,
        *,
        likelihood: LikelihoodName = "gaussian",
        variance: float | None = None,
        sparsity: int | None = None,
        learner: LearnerName = "memoized",
        max_iter: int = DEFAULT_LAPS["mixture"],
        n_batches: int | None = None,
        top_concentration: float = DEFAULT_TOP_CONCENTRATION,
        start: StartName | None = None,
        n_jobs: int = 1,
        random_state: int = 0,
    ) -> None:
        self.n_components = n_components
        self.likelihood: LikelihoodName = likelihood
        self.variance = variance
        self.sparsity = sparsity
        self.learner: LearnerName = learner
        self.max_iter = max_iter
        self.n_batches = n_batches
        self.top_concentration = top_concentration
        self.start: StartName | None = start
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: object = None) -> GaussianMixture:
        """Learn from a VectorCorpus or an array (n_items, n_columns)."""
        _fit(self, X)
        return self

    def predict(self, X: Any) -> IntArray:
        """The component that each item most probably belongs to, (n_items,)."""
        return _predict(self, X)

    def predict_proba(self, X: Any) -> FloatArray:
        """Probability of each component for each item, (n_items, n_components_)."""
        return _predict_proba(self, X)

    def score_samples(self, X: Any) -> FloatArray:
        """Log density of each item in nats, (n_items,), at the posterior means."""
        return _score_samples(self, X)

    def score(self, X: Any, y: object = None) -> float:
        """Mean of ``score_samples``."""
        return float(self.score_samples(X).mean())

    def sample(self, n_samples: int = 1) -> tuple[Vectors, IntArray]:
        """Items (n_samples, n_columns) and their components; the same for the same state."""
        return _sample(self, n_samples)

    def training_options(self) -> TrainingOptions:
        """The same options as the command line's; raises OptionError."""
        return TrainingOptions(
            n_topics=self.n_components,
            laps=self.max_iter,
            learner=self.learner,
            local=LocalOptions("mean-field", self.sparsity, restarts=0),
            prior=TopicPrior(top_concentration=self.top_concentration),
            start=self.start,
            model="mixture",
            likelihood=self.likelihood,
            variance=self.variance,
        )


class DPGaussianMixture:
    """A Dirichlet process mixture, which learns how many components there are.

    Training starts from ``n_components`` and merges, deletes and adds components where that raises
    the ELBO, until bound and number have settled or ``max_iter`` laps are done. ``moves`` are some
    of "merge", "delete" and "birth"; None stands for all of them with the memoized learner and for
    none with the others.

    With ``likelihood="isotropic-gaussian"`` the learners "alternating" and "gradient" take
    ``n_components`` for the most there may be and move single values instead of posteriors;
    ``gradient`` is "plain", "momentum" or "fisher" (the default). The learner "accelerated" grows
    from one component on a kd-tree, the finer the smaller ``tree_tolerance`` (0: no tree).
    ``max_iter`` None stands for 100 laps, or 1,000 components of that learner. All else as in
    ``GaussianMixture``.
    """

    model_: MixtureModel
    trace_: list[dict[str, Any]]
    n_components_: int
    weights_: FloatArray
    means_: FloatArray
    covariances_: FloatArray

    def __init__(
        self,
        n_components: int = 1,
        *,
        likelihood: LikelihoodName = "gaussian",
        variance: float | None = None,
        sparsity: int | None = None,
        learner: LearnerName = "memoized",
        gradient: GradientName | None = None,
        moves: Sequence[MoveName] | None = None,
        tree_tolerance: float | None = None,
        max_iter: int | None = None,
        n_batches: int | None = None,
        top_concentration: float = DEFAULT_TOP_CONCENTRATION,
        start: StartName | None = None,
        n_jobs: int = 1,
        random_state: int = 0,
    ) -> None:
        self.n_components = n_components
        self.likelihood: LikelihoodName = likelihood
        self.variance = variance
        self.sparsity = sparsity
        self.learner: LearnerName = learner
        self.gradient: GradientName | None = gradient
        self.moves = moves
        self.tree_tolerance = tree_tolerance
        self.max_iter = max_iter
        self.n_batches = n_batches
        self.top_concentration = top_concentration
        self.start: StartName | None = start
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: object = None) -> DPGaussianMixture:
        """Learn from a VectorCorpus or an array (n_items, n_columns)."""
        _fit(self, X)
        return self

    def predict(self, X: Any) -> IntArray:
        """The component that each item most probably belongs to, (n_items,)."""
        return _predict(self, X)

    def predict_proba(self, X: Any) -> FloatArray:
        """Probability of each component for each item, (n_items, n_components_)."""
        return _predict_proba(self, X)

    def score_samples(self, X: Any) -> FloatArray:
        """Log density of each item in nats, (n_items,), at the posterior means."""
        return _score_samples(self, X)

    def score(self, X: Any, y: object = None) -> float:
        """Mean of ``score_samples``."""
        return float(self.score_samples(X).mean())

    def sample(self, n_samples: int = 1) -> tuple[Vectors, IntArray]:
        """Items (n_samples, n_columns) and their components; the same for the same state."""
        return _sample(self, n_samples)

    def training_options(self) -> TrainingOptions:
        """The same options as the command line's; raises OptionError."""
        return TrainingOptions(
            n_topics=self.n_components,
            laps=self.max_iter,
            learner=self.learner,
            local=LocalOptions("mean-field", self.sparsity, restarts=0),
            prior=TopicPrior(top_concentration=self.top_concentration),
            start=self.start,
            model="dp-mixture",
            likelihood=self.likelihood,
            variance=self.variance,
            gradient=None if self.gradient is None else GradientOptions(self.gradient),
            moves=move_options(None if self.moves is None else tuple(self.moves), None),
            tree_tolerance=self.tree_tolerance,
        )


class _Estimator(Protocol):
    """The part of an estimator that the functions here read, and write when it is fitted."""

    n_batches: int | None
    n_jobs: int
    random_state: int
    model_: MixtureModel
    trace_: list[dict[str, Any]]
    n_components_: int
    weights_: FloatArray
    means_: FloatArray
    covariances_: FloatArray

    def training_options(self) -> TrainingOptions: ...


def _fit(estimator: _Estimator, X: Any) -> None:
    options = estimator.training_options()
    if options.counts_words:
        raise OptionError(
            "likelihood",
            found=f"{options.likelihood_name} with {type(estimator).__name__}",
            wanted="one of vectors",
            hint="Of documents there are MultinomialMixture and DPMultinomialMixture.",
        )
    corpus = _as_corpus(X)

    def divide(rng: np.random.Generator) -> Source:
        return plan_vector_batches(corpus, estimator.n_batches, rng)

    model, trace = fitting.trained(divide, options, estimator.n_jobs, estimator.random_state)
    assert isinstance(model, MixtureModel), "vectors have components"
    estimator.model_, estimator.trace_ = model, trace
    estimator.n_components_, estimator.weights_ = model.n_topics, model.weights
    estimator.means_, estimator.covariances_ = model.normals


def _predict(estimator: _Estimator, X: Any) -> IntArray:
    parts = [model_of.argmax(axis=1) for model_of in _responsibilities(estimator, X)]
    return np.concatenate(parts)


def _predict_proba(estimator: _Estimator, X: Any) -> FloatArray:
    return np.concatenate(_responsibilities(estimator, X))


def _responsibilities(estimator: _Estimator, X: Any) -> list[FloatArray]:
    corpus = _known_columns(estimator, X)
    return [estimator.model_.responsibilities(batch.values) for batch in corpus.batches()]


def _score_samples(estimator: _Estimator, X: Any) -> FloatArray:
    corpus = _known_columns(estimator, X)
    parts = [estimator.model_.log_densities(batch.values) for batch in corpus.batches()]
    return np.concatenate(parts)


def _sample(estimator: _Estimator, n_items: int) -> tuple[Vectors, IntArray]:
    _check_fitted(estimator)
    if n_items < 1:
        raise OptionError("samples", found=f"{n_items}", wanted="at least 1")
    return estimator.model_.sample(n_items, np.random.default_rng(estimator.random_state))


def _known_columns(estimator: _Estimator, X: Any) -> VectorCorpus:
    _check_fitted(estimator)
    corpus, model = _as_corpus(X), estimator.model_
    if corpus.n_columns != model.n_columns:
        raise ShapeError(
            "items",
            found=f"{corpus.n_columns} columns",
            wanted=f"the {model.n_columns} columns of the fitted components",
        )
    return corpus


def _check_fitted(estimator: _Estimator) -> None:
    if not hasattr(estimator, "model_"):
        raise OptionError(
            type(estimator).__name__, found="an estimator that is not fitted", wanted="fit first"
        )


def _as_corpus(X: Any) -> VectorCorpus:
    return X if isinstance(X, VectorCorpus) else VectorCorpus.from_array(X)
