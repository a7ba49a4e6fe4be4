"""Mixtures of documents as objects with ``fit`` and ``predict``, as in scikit-learn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from sparsetopics.base.batches import FloatArray
from sparsetopics.corpora.text.vocabulary import Vocabulary
from sparsetopics.estimators import files as estimator_files
from sparsetopics.estimators import fitting, mixture_methods, partial_fits, sklearn_protocol
from sparsetopics.estimators.sklearn_protocol import Names
from sparsetopics.model.mixture_posterior import MixtureModel
from sparsetopics.options.training import (
    DEFAULT_LAPS,
    DEFAULT_TOP_CONCENTRATION,
    DEFAULT_TOPICS,
    DEFAULT_WORD_CONCENTRATION,
    LearnerName,
    MoveName,
    StartName,
    TopicPrior,
    TrainingOptions,
    chosen_moves,
    default_local,
)


class MultinomialMixture:
    """Every document has one component: w ~ Dir(γ/K), words of a component ~ Dir(η).

    γ is ``top_concentration``, η ``word_concentration``; ``sparsity`` is the number of components
    that a document may belong to. After ``fit``: ``weights_`` (n_components_,), ``components_``
    (n_components_, n_words), the posterior mean of word probabilities, in falling order of weight,
    ``vocabulary_`` and ``trace_``, one entry per lap, bounds in nats per token;
    ``n_components_``, ``n_features_in_``, ``feature_names_in_``, ``n_iter_`` and ``model_`` as in
    ``LDA``. Options out of range raise OptionError when ``fit`` is called.
    """

    _reads_vectors: ClassVar[bool] = False
    model_: MixtureModel
    vocabulary_: Vocabulary
    trace_: list[dict[str, Any]]
    n_components_: int
    n_features_in_: int
    feature_names_in_: Names
    n_iter_: int
    weights_: FloatArray
    components_: FloatArray
    _facts: Mapping[str, Any]
    _learned: fitting.Learned | None

    def __init__(
        self,
        n_components: int = DEFAULT_TOPICS["mixture"],
        *,
        sparsity: int | None = None,
        learner: LearnerName = "memoized",
        max_iter: int = DEFAULT_LAPS["mixture"],
        n_batches: int | None = None,
        top_concentration: float = DEFAULT_TOP_CONCENTRATION,
        word_concentration: float = DEFAULT_WORD_CONCENTRATION,
        start: StartName | None = None,
        n_jobs: int = 1,
        random_state: int | None = 0,
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

    fit = fitting.fit
    partial_fit = partial_fits.partial_fit
    predict = mixture_methods.predict
    predict_proba = mixture_methods.predict_proba
    fit_predict = mixture_methods.fit_predict
    score_samples = mixture_methods.score_samples
    score = mixture_methods.score
    save = estimator_files.save
    get_params = sklearn_protocol.get_params
    set_params = sklearn_protocol.set_params
    __repr__ = sklearn_protocol.represent
    __sklearn_tags__ = sklearn_protocol.tags
    _show = mixture_methods.show_documents

    def training_options(self) -> TrainingOptions:
        """The same options as the command line's; raises OptionError."""
        return TrainingOptions(
            n_topics=self.n_components,
            laps=self.max_iter,
            learner=self.learner,
            local=default_local("mixture", self.sparsity),
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

    Moves as in Hughes & Sudderth (2013); ``moves`` as in ``DPGaussianMixture``, all else as in
    ``MultinomialMixture``.
    """

    _reads_vectors: ClassVar[bool] = False
    model_: MixtureModel
    vocabulary_: Vocabulary
    trace_: list[dict[str, Any]]
    n_components_: int
    n_features_in_: int
    feature_names_in_: Names
    n_iter_: int
    weights_: FloatArray
    components_: FloatArray
    _facts: Mapping[str, Any]
    _learned: fitting.Learned | None

    def __init__(
        self,
        n_components: int = DEFAULT_TOPICS["dp-mixture"],
        *,
        sparsity: int | None = None,
        learner: LearnerName = "memoized",
        moves: Sequence[MoveName] | None = None,
        max_iter: int = DEFAULT_LAPS["dp-mixture"],
        n_batches: int | None = None,
        top_concentration: float = DEFAULT_TOP_CONCENTRATION,
        word_concentration: float = DEFAULT_WORD_CONCENTRATION,
        start: StartName | None = None,
        n_jobs: int = 1,
        random_state: int | None = 0,
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

    fit = fitting.fit
    partial_fit = partial_fits.partial_fit
    predict = mixture_methods.predict
    predict_proba = mixture_methods.predict_proba
    fit_predict = mixture_methods.fit_predict
    score_samples = mixture_methods.score_samples
    score = mixture_methods.score
    save = estimator_files.save
    get_params = sklearn_protocol.get_params
    set_params = sklearn_protocol.set_params
    __repr__ = sklearn_protocol.represent
    __sklearn_tags__ = sklearn_protocol.tags
    _show = mixture_methods.show_documents

    def training_options(self) -> TrainingOptions:
        """The same options as the command line's; raises OptionError."""
        return TrainingOptions(
            n_topics=self.n_components,
            laps=self.max_iter,
            learner=self.learner,
            local=default_local("dp-mixture", self.sparsity),
            prior=TopicPrior(
                word_concentration=self.word_concentration,
                top_concentration=self.top_concentration,
            ),
            start=self.start,
            model="dp-mixture",
            likelihood="multinomial",
            moves=chosen_moves(self.moves),
        )
