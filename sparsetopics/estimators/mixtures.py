"""Mixtures of Gaussians as objects with ``fit``, ``predict`` and ``sample``, as in scikit-learn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from sparsetopics.base.batches import FloatArray
from sparsetopics.estimators import files as estimator_files
from sparsetopics.estimators import fitting, mixture_methods, partial_fits, sklearn_protocol
from sparsetopics.estimators.sklearn_protocol import Names
from sparsetopics.model.mixture_posterior import MixtureModel
from sparsetopics.options.training import (
    DEFAULT_LAPS,
    DEFAULT_TOP_CONCENTRATION,
    DEFAULT_TOPICS,
    GradientName,
    GradientOptions,
    LearnerName,
    LikelihoodName,
    MoveName,
    StartName,
    TopicPrior,
    TrainingOptions,
    chosen_moves,
    default_local,
    default_topics,
)


class GaussianMixture:
    """A finite mixture: w ~ Dir(γ/K), ``top_concentration`` γ, with conjugate priors whose scale
    is made from the data (Bishop 2006, §10.2).

    ``likelihood``: "gaussian" (full covariances), "diagonal-gaussian", "zero-mean-gaussian"
    or "isotropic-gaussian", whose ``variance`` is known: given, or made from the data.
    ``sparsity`` is the number of components that an item may belong to. After ``fit``:
    ``weights_`` (n_components_,), ``means_`` (n_components_, n_columns) and ``covariances_``
    (n_components_, n_columns, n_columns), posterior means in falling order of weight, and
    ``trace_``, one entry per lap, bounds in nats per item; ``n_components_``, ``n_features_in_``,
    ``feature_names_in_``, ``n_iter_`` and ``model_`` as in ``LDA``. Options out of range raise
    OptionError when ``fit`` is called.
    """

    _reads_vectors: ClassVar[bool] = True
    model_: MixtureModel
    trace_: list[dict[str, Any]]
    n_components_: int
    n_features_in_: int
    feature_names_in_: Names
    n_iter_: int
    weights_: FloatArray
    means_: FloatArray
    covariances_: FloatArray
    _facts: Mapping[str, Any]
    _learned: fitting.Learned | None

    def __init__(
        self,
        n_components: int = DEFAULT_TOPICS["mixture"],
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
        random_state: int | None = 0,
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

    fit = fitting.fit
    partial_fit = partial_fits.partial_fit
    predict = mixture_methods.predict
    predict_proba = mixture_methods.predict_proba
    fit_predict = mixture_methods.fit_predict
    score_samples = mixture_methods.score_samples
    score = mixture_methods.score
    sample = mixture_methods.sample
    save = estimator_files.save
    get_params = sklearn_protocol.get_params
    set_params = sklearn_protocol.set_params
    __repr__ = sklearn_protocol.represent
    __sklearn_tags__ = sklearn_protocol.tags
    _show = mixture_methods.show_vectors

    def training_options(self) -> TrainingOptions:
        """The same options as the command line's; raises OptionError."""
        return TrainingOptions(
            n_topics=self.n_components,
            laps=self.max_iter,
            learner=self.learner,
            local=default_local("mixture", self.sparsity),
            prior=TopicPrior(top_concentration=self.top_concentration),
            start=self.start,
            model="mixture",
            likelihood=self.likelihood,
            variance=self.variance,
        )


class DPGaussianMixture:
    """A Dirichlet process mixture (Blei & Jordan 2006; Hughes & Sudderth 2013), which learns how
    many components there are.

    Training starts from ``n_components`` and merges, deletes and adds components where that raises
    the ELBO, until bound and number have settled or ``max_iter`` laps are done. ``moves`` are some
    of "merge", "delete" and "birth"; None stands for all of them with the memoized learner and for
    none with the others.

    With ``likelihood="isotropic-gaussian"`` the learners "alternating" and "gradient" take
    ``n_components`` for the most there may be and move single values instead of posteriors;
    ``gradient`` is "plain", "momentum" or "fisher" (the default; Lim 2020). The learner
    "accelerated" grows from one component on a kd-tree (Kurihara, Welling & Vlassis 2006), the
    finer the smaller ``tree_tolerance``, nats per number (0: no tree).
    ``n_components`` None stands for one component, or 50 of "alternating" and "gradient";
    ``max_iter`` None for 100 laps, or 1,000 components of "accelerated". All else as in
    ``GaussianMixture``.
    """

    _reads_vectors: ClassVar[bool] = True
    model_: MixtureModel
    trace_: list[dict[str, Any]]
    n_components_: int
    n_features_in_: int
    feature_names_in_: Names
    n_iter_: int
    weights_: FloatArray
    means_: FloatArray
    covariances_: FloatArray
    _facts: Mapping[str, Any]
    _learned: fitting.Learned | None

    def __init__(
        self,
        n_components: int | None = None,
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
        random_state: int | None = 0,
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

    fit = fitting.fit
    partial_fit = partial_fits.partial_fit
    predict = mixture_methods.predict
    predict_proba = mixture_methods.predict_proba
    fit_predict = mixture_methods.fit_predict
    score_samples = mixture_methods.score_samples
    score = mixture_methods.score
    sample = mixture_methods.sample
    save = estimator_files.save
    get_params = sklearn_protocol.get_params
    set_params = sklearn_protocol.set_params
    __repr__ = sklearn_protocol.represent
    __sklearn_tags__ = sklearn_protocol.tags
    _show = mixture_methods.show_vectors

    def training_options(self) -> TrainingOptions:
        """The same options as the command line's; raises OptionError."""
        usual = default_topics("dp-mixture", self.learner)
        return TrainingOptions(
            n_topics=usual if self.n_components is None else self.n_components,
            laps=self.max_iter,
            learner=self.learner,
            local=default_local("dp-mixture", self.sparsity),
            prior=TopicPrior(top_concentration=self.top_concentration),
            start=self.start,
            model="dp-mixture",
            likelihood=self.likelihood,
            variance=self.variance,
            gradient=None if self.gradient is None else GradientOptions(self.gradient),
            moves=chosen_moves(self.moves),
            tree_tolerance=self.tree_tolerance,
        )
