"""Mixtures of vectors and of documents as estimators with ``fit``, ``predict`` and ``score``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import DensityMixin

from sparsetopics.base.batches import FloatArray, IntArray
from sparsetopics.estimators.fitted import FittedEstimator
from sparsetopics.estimators.inputs import Data, answers_for
from sparsetopics.options import table
from sparsetopics.options.option import NATURAL, counts_from, refuse
from sparsetopics.options.registry import MODELS
from sparsetopics.options.table import GradientName
from sparsetopics.options.training import TrainingOptions
from sparsetopics.runs.callbacks import OnLap

if TYPE_CHECKING:
    from sparsetopics.model.mixture_posterior import MixturePosterior


@dataclass(repr=False, eq=False)
class MixtureEstimator(DensityMixin, FittedEstimator):
    """What all mixtures share; an item is a vector or a document."""

    _: KW_ONLY
    top_concentration: float = table.DEFAULT_TOP_CONCENTRATION

    model_: MixturePosterior = field(init=False)

    def predict(self, X: Data) -> IntArray:
        """The component that each item most probably belongs to, (n_items,).

        Raises UnfittedError before ``fit``, and ShapeError or VocabularyError if the columns are
        not those that were fitted.
        """
        best: IntArray = self.predict_proba(X).argmax(axis=1)
        return best

    def predict_proba(self, X: Data) -> FloatArray:
        """The probability of each component for each item, (n_items, n_components_).

        Rows add up to one. They are deterministic, and each depends on its own item only. A
        document without words gets ``weights_``. Raises what ``predict`` raises.
        """
        corpus = self._more_rows(X)
        found = (self.model_.responsibilities(batch.values) for batch in corpus.batches())
        return answers_for(X, corpus, found, self.weights_)

    def fit_predict(
        self,
        X: Data,
        y: ArrayLike | None = None,
        *,
        text: str | None = None,
        on_lap: OnLap | None = None,
    ) -> IntArray:
        """``fit``, then ``predict`` of the same items, (n_items,); raises what they raise."""
        return self.fit(X, text=text, on_lap=on_lap).predict(X)

    def score_samples(self, X: Data) -> FloatArray:
        """The predictive log density of each item, (n_items,), in nats.

        It is that of a further item, given the training data: for vectors Student-t for each
        component (normal for "isotropic-gaussian"), and for Dirichlet processes also the share of
        components that are not known (Kurihara, Welling & Vlassis 2006). The probability of a
        document is that of its words in their order: it has no multinomial coefficient. Raises what
        ``predict`` raises.
        """
        corpus = self._more_rows(X)
        found = (self.model_.log_densities(batch.values) for batch in corpus.batches())
        return answers_for(X, corpus, found, 0.0)

    def score(self, X: Data, y: ArrayLike | None = None) -> float:
        """The mean of ``score_samples``, in nats per item; ``y`` is ignored.

        Raises what ``predict`` raises.
        """
        return float(self.score_samples(X).mean())

    def _set_arrays(self) -> None:
        self.weights_: FloatArray = self.model_.weights


@dataclass(repr=False, eq=False)
class VectorMixture(MixtureEstimator):
    """What mixtures of vectors share."""

    _: KW_ONLY
    likelihood: str = "gaussian"
    variance: float | None = None

    _reads_vectors: ClassVar[bool] = True

    def sample(self, n_samples: int = 1) -> tuple[FloatArray, IntArray]:
        """Draw items (n_samples, n_columns) and their components (n_samples,).

        Parameters are the posterior means. The same ``random_state`` gives the same items. Raises
        UnfittedError before ``fit``, and OptionError for fewer than one item.
        """
        self._check_fitted()
        counts_from(1).check("n_samples", n_samples)
        seed = self._drawn_seed()
        if seed is not None:
            NATURAL.check("random_state", seed)
        return self.model_.sample(int(n_samples), np.random.default_rng(seed))

    def training_options(self) -> TrainingOptions:
        """The options that ``sparsetopics train`` would have; raises OptionError."""
        options = super().training_options()
        if options.counts_words:
            hint = "For documents there are MultinomialMixture and DPMultinomialMixture."
            refuse("likelihood", f"must be for vectors, but is {options.likelihood_name}", hint)
        return options

    def _set_arrays(self) -> None:
        super()._set_arrays()
        self.means_, self.covariances_ = self.model_.normals


@dataclass(repr=False, eq=False)
class GaussianMixture(VectorMixture):
    """A finite mixture of Gaussians with conjugate priors (Bishop 2006, §10.2).

    The weights have the prior w ~ Dir(γ/K). The priors of the components are made from most items,
    and depend neither on units and offsets of columns nor, for "gaussian", on their correlations.
    Values that come in steps, such as whole numbers, are placed at random within their step in
    training. ``fit`` warns of columns that say nothing and of codes such as 9999. It raises
    OptionError if an argument is out of range or conflicts with another, and ShapeError for
    "gaussian" if there are fewer items than columns.

    Args:
        n_components: K, the number of components, 10 by default.
        likelihood: "gaussian" (full covariances), "diagonal-gaussian", "zero-mean-gaussian" or
            "isotropic-gaussian" (one known variance).
        variance: The variance of "isotropic-gaussian", in the unit of the columns squared. None
            makes it from the data.
        sparsity: The number of components that an item may belong to. None stands for 8, or all
            components if there are fewer.
        learner: "memoized" (Hughes & Sudderth 2013), "stochastic" (Hoffman et al. 2013) or "full".
        max_iter: The largest number of laps, 100 by default. A lap is a pass over all items.
            Training ends earlier if the bound and the number of components have settled.
        n_batches: The number of batches in a lap. None chooses it by the size of the corpus.
        forgetting_rate: κ of the learner "stochastic", from 0.5 to 1, 0.55 by default. Step t
            replaces the share (t + δ)^−κ of what was learned before.
        delay: δ of the learner "stochastic", 1 by default.
        fixed_rate: The share that every step of the learner "stochastic" replaces, in place of
            ``forgetting_rate`` and ``delay``.
        top_concentration: γ, 10 by default.
        start: How the first components are chosen: from "distant" (the default) or "random" items.
        n_jobs: The number of threads; -1 for one per core. It does not change the result.
        random_state: The seed. None takes a new one every time, and a RandomState draws one.

    Attributes:
        weights_: Posterior means of the weights, (n_components_,), in falling order.
        means_: Posterior means of the means, (n_components_, n_columns).
        covariances_: Posterior means of the covariances, (n_components_, n_columns, n_columns), or
            of the variances, (n_components_, n_columns), if columns are uncorrelated.
        n_components_: The number of components.
        n_features_in_: The number of columns.
        feature_names_in_: The names of the columns, if X was a data frame.
        n_iter_: The number of laps that were made.
        trace_: A list with one entry per lap; bounds are in nats per item.
        model_: The whole posterior.
    """

    n_components: int = MODELS["mixture"].n_topics
    _: KW_ONLY
    max_iter: int = MODELS["mixture"].laps

    _model_name: ClassVar[str] = "mixture"


@dataclass(repr=False, eq=False)
class DPGaussianMixture(VectorMixture):
    """A Dirichlet process mixture of Gaussians, which learns its number of components.

    Training starts from ``n_components`` components. It merges, deletes and adds components where
    that raises the ELBO, until the ELBO and the number have settled or ``max_iter`` laps are done
    (Blei & Jordan 2006; Hughes & Sudderth 2013).

    The learners "alternating" and "gradient" need ``likelihood="isotropic-gaussian"``. They keep
    single values instead of posteriors, and ``n_components`` is the largest number there may be.
    The learner "accelerated" grows from one component on a kd-tree (Kurihara, Welling & Vlassis
    2006).

    After ``fit`` it has the attributes of ``GaussianMixture``. All arguments that are not listed
    are those of ``GaussianMixture``. ``fit`` raises OptionError if one is out of range or conflicts
    with another.

    Args:
        n_components: The number of components that training starts from. None stands for 1, or for
            50 with the learners "alternating" and "gradient".
        learner: "memoized", "stochastic", "full", "alternating", "gradient" or "accelerated".
        gradient: The rule of the learner "gradient": "plain", "momentum" or "fisher" (the default;
            Lim 2020).
        step_size: The share of the gradient in each step of the learner "gradient", 0.1 by default.
        momentum: The share of each step that is added to the next, 0.9 by default, with
            ``gradient="momentum"``.
        moves: Some of "merge", "delete" and "birth". None stands for all of them with the memoized
            learner and for none with the others.
        tree_tolerance: The most that the tree of the learner "accelerated" may cost, in nats per
            value. If the tree cannot be fine enough, training continues on all items. 0 stands for
            all items from the start, None for 0.005.
        max_iter: The largest number of laps. None stands for 100, or for 1,000 components with the
            learner "accelerated".
    """

    _: KW_ONLY
    gradient: GradientName | None = None
    step_size: float | None = None
    momentum: float | None = None
    moves: Sequence[str] | None = None
    tree_tolerance: float | None = None

    _model_name: ClassVar[str] = "dp-mixture"


@dataclass(repr=False, eq=False)
class DocumentMixture(MixtureEstimator):
    """What mixtures of documents share."""

    _: KW_ONLY
    word_concentration: float = table.DEFAULT_WORD_CONCENTRATION

    _likelihood_name: ClassVar[str | None] = "multinomial"

    def _set_arrays(self) -> None:
        super()._set_arrays()
        self.components_: FloatArray = self.model_.topic_word_mean


@dataclass(repr=False, eq=False)
class MultinomialMixture(DocumentMixture):
    """A finite mixture of documents, each of which has one component.

    The weights have the prior w ~ Dir(γ/K), the words of a component the prior Dir(η). ``fit``
    raises OptionError if an argument is out of range or conflicts with another.

    Args:
        n_components: K, the number of components, 10 by default.
        sparsity: The number of components that a document may belong to. None stands for 8, or all
            components if there are fewer.
        learner: "memoized" (Hughes & Sudderth 2013), "stochastic" (Hoffman et al. 2013) or "full".
        max_iter: The largest number of laps, 100 by default. A lap is a pass over all documents.
            Training ends earlier if the bound and the number of components have settled.
        n_batches: The number of batches in a lap. None chooses it by the size of the corpus.
        forgetting_rate: κ of the learner "stochastic", from 0.5 to 1, 0.55 by default. Step t
            replaces the share (t + δ)^−κ of what was learned before.
        delay: δ of the learner "stochastic", 1 by default.
        fixed_rate: The share that every step of the learner "stochastic" replaces, in place of
            ``forgetting_rate`` and ``delay``.
        top_concentration: γ, 10 by default.
        word_concentration: η, 0.1 by default.
        start: How the first components are chosen: from "distant" (the default) or "random"
            documents.
        n_jobs: The number of threads; -1 for one per core. It does not change the result.
        random_state: The seed. None takes a new one every time, and a RandomState draws one.

    Attributes:
        weights_: Posterior means of the weights, (n_components_,), in falling order.
        components_: Posterior means of the word probabilities, (n_components_, n_words).
        vocabulary_: The words.
        n_components_: The number of components.
        n_features_in_: The number of words.
        feature_names_in_: The words, if X was a data frame.
        n_iter_: The number of laps that were made.
        trace_: A list with one entry per lap; bounds are in nats per token.
        model_: The whole posterior.
    """

    n_components: int = MODELS["mixture"].n_topics
    _: KW_ONLY
    max_iter: int = MODELS["mixture"].laps

    _model_name: ClassVar[str] = "mixture"


@dataclass(repr=False, eq=False)
class DPMultinomialMixture(DocumentMixture):
    """A Dirichlet process mixture of documents, which learns its number of components.

    Its moves are those of Hughes & Sudderth (2013). After ``fit`` it has the attributes of
    ``MultinomialMixture``, and all arguments that are not listed are those of
    ``MultinomialMixture``. ``fit`` raises OptionError if one is out of range or conflicts with
    another.

    Args:
        n_components: The number of components that training starts from, 1 by default.
        moves: Some of "merge", "delete" and "birth". None stands for all of them with the memoized
            learner and for none with the others.
    """

    n_components: int = MODELS["dp-mixture"].n_topics
    _: KW_ONLY
    max_iter: int = MODELS["dp-mixture"].laps
    moves: Sequence[str] | None = None

    _model_name: ClassVar[str] = "dp-mixture"
