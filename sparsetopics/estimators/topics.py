"""LDA and HDP as objects with ``fit``, ``transform`` and ``score``, in scikit-learn's names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from sparsetopics.base.batches import FloatArray
from sparsetopics.corpora.text.vocabulary import Vocabulary
from sparsetopics.estimators import files as estimator_files
from sparsetopics.estimators import fitting, partial_fits, sklearn_protocol, topic_methods
from sparsetopics.estimators.sklearn_protocol import Names
from sparsetopics.model.topic_posterior import TopicModel
from sparsetopics.options.training import (
    DEFAULT_DOC_CONCENTRATION,
    DEFAULT_LAPS,
    DEFAULT_TOP_CONCENTRATION,
    DEFAULT_TOPICS,
    DEFAULT_WORD_CONCENTRATION,
    Criterion,
    LearnerName,
    LocalOptions,
    LocalUpdate,
    MoveName,
    StartName,
    TopicPrior,
    TrainingOptions,
    chosen_moves,
)


class LDA:
    """Latent Dirichlet allocation (Blei, Ng & Jordan 2003) with L-sparse local steps (Hughes &
    Sudderth 2016).

    ``doc_concentration`` is the total Σ_k α_k, ``word_concentration`` the η of each word;
    ``sparsity`` is L, the topics that a word of a document may use. ``local_update`` "collapsed"
    is CVB0 (Asuncion et al. 2009). ``learner`` "memoized" (Hughes & Sudderth 2013), "stochastic"
    (Hoffman et al. 2013) or "full". ``max_iter`` are laps, passes over the documents. ``moves``
    ("regroup",) has the memoized learner split all topics and merge them back to as many, which
    stays where it raises ``criterion`` (as of ``HDP``); None stands for no moves. ``restarts`` are
    of a mean-field document; a topic leaves a document in which it has fewer tokens than
    ``minimum_mass`` and less than 2 %. In one of ``cold_every`` laps all topics are looked at for
    every document, in the others those that it had; None stands for 4 where the memoized learner
    has collapsed documents and no moves, else for 1. Options that are out of range or do not go
    together raise OptionError when ``fit`` is called.

    After ``fit``: ``components_`` (n_components_, n_words) is the topic-word posterior λ, topics in
    falling order of weight; ``n_components_`` their number; ``vocabulary_`` the words;
    ``n_features_in_`` how many, and ``feature_names_in_`` those of a data frame; ``n_docs_`` the
    documents; ``n_iter_`` the laps that were made and ``trace_`` a list with an entry for each,
    bounds in nats per token; ``model_`` the whole posterior.
    """

    _reads_vectors: ClassVar[bool] = False
    model_: TopicModel
    vocabulary_: Vocabulary
    trace_: list[dict[str, Any]]
    components_: FloatArray
    n_components_: int
    n_docs_: int
    n_features_in_: int
    feature_names_in_: Names
    n_iter_: int
    _facts: Mapping[str, Any]
    _learned: fitting.Learned | None

    def __init__(
        self,
        n_components: int = DEFAULT_TOPICS["lda"],
        *,
        sparsity: int | None = None,
        local_update: LocalUpdate = "collapsed",
        learner: LearnerName = "memoized",
        max_iter: int = DEFAULT_LAPS["lda"],
        n_batches: int | None = None,
        doc_concentration: float = DEFAULT_DOC_CONCENTRATION,
        word_concentration: float = DEFAULT_WORD_CONCENTRATION,
        learn_hyperparameters: bool = False,
        moves: Sequence[MoveName] | None = None,
        criterion: Criterion | None = None,
        start: StartName | None = None,
        restarts: int | None = None,
        minimum_mass: float | None = None,
        cold_every: int | None = None,
        n_jobs: int = 1,
        random_state: int | None = 0,
    ) -> None:
        self.n_components = n_components
        self.sparsity = sparsity
        self.local_update: LocalUpdate = local_update
        self.learner: LearnerName = learner
        self.max_iter = max_iter
        self.n_batches = n_batches
        self.doc_concentration = doc_concentration
        self.word_concentration = word_concentration
        self.learn_hyperparameters = learn_hyperparameters
        self.moves = moves
        self.criterion: Criterion | None = criterion
        self.start: StartName | None = start
        self.restarts = restarts
        self.minimum_mass = minimum_mass
        self.cold_every = cold_every
        self.n_jobs = n_jobs
        self.random_state = random_state

    fit = fitting.fit
    partial_fit = partial_fits.partial_fit
    transform = topic_methods.transform
    fit_transform = topic_methods.fit_transform
    score = topic_methods.score
    save = estimator_files.save
    set_output = sklearn_protocol.set_output
    get_feature_names_out = sklearn_protocol.get_feature_names_out
    get_params = sklearn_protocol.get_params
    set_params = sklearn_protocol.set_params
    __repr__ = sklearn_protocol.represent
    __sklearn_tags__ = sklearn_protocol.tags
    _show = topic_methods.show

    def training_options(self) -> TrainingOptions:
        """The same options as the command line's; raises OptionError."""
        return TrainingOptions(
            n_topics=self.n_components,
            laps=self.max_iter,
            learner=self.learner,
            local=LocalOptions(
                self.local_update,
                self.sparsity,
                restarts=self.restarts,
                minimum_mass=self.minimum_mass,
            ),
            prior=TopicPrior(self.doc_concentration, self.word_concentration),
            start=self.start,
            learn_hyperparameters=self.learn_hyperparameters,
            model="lda",
            moves=chosen_moves(self.moves, self.criterion),
            cold_every=self.cold_every,
        )


class HDP:
    """Hierarchical Dirichlet process topics (Teh et al. 2006): learns how many there are.

    Training starts from ``n_components`` topics and merges, deletes and adds topics where that
    raises ``criterion``, until bound and number have settled or ``max_iter`` laps are done.
    ``moves`` are some of "merge", "delete" and "birth"; None stands for all of them with the
    memoized learner and for none with the others, which keep their number of topics, as
    ``partial_fit`` does. ``criterion`` is "collapsed" (the default) or "bound", the ELBO. The
    posterior and its bound are those of Hughes, Kim & Sudderth (2015). ``doc_concentration`` is
    the total α, ``top_concentration`` γ, all else as in ``LDA``. Options out of range raise
    OptionError when ``fit`` is called. After ``fit`` it has what ``LDA`` has.
    """

    _reads_vectors: ClassVar[bool] = False
    model_: TopicModel
    vocabulary_: Vocabulary
    trace_: list[dict[str, Any]]
    components_: FloatArray
    n_components_: int
    n_docs_: int
    n_features_in_: int
    feature_names_in_: Names
    n_iter_: int
    _facts: Mapping[str, Any]
    _learned: fitting.Learned | None

    def __init__(
        self,
        n_components: int = DEFAULT_TOPICS["hdp"],
        *,
        sparsity: int | None = None,
        local_update: LocalUpdate = "collapsed",
        learner: LearnerName = "memoized",
        max_iter: int = DEFAULT_LAPS["hdp"],
        n_batches: int | None = None,
        doc_concentration: float = DEFAULT_DOC_CONCENTRATION,
        top_concentration: float = DEFAULT_TOP_CONCENTRATION,
        word_concentration: float = DEFAULT_WORD_CONCENTRATION,
        learn_hyperparameters: bool = False,
        moves: Sequence[MoveName] | None = None,
        criterion: Criterion | None = None,
        start: StartName | None = None,
        restarts: int | None = None,
        minimum_mass: float | None = None,
        cold_every: int | None = None,
        n_jobs: int = 1,
        random_state: int | None = 0,
    ) -> None:
        self.n_components = n_components
        self.sparsity = sparsity
        self.local_update: LocalUpdate = local_update
        self.learner: LearnerName = learner
        self.max_iter = max_iter
        self.n_batches = n_batches
        self.doc_concentration = doc_concentration
        self.top_concentration = top_concentration
        self.word_concentration = word_concentration
        self.learn_hyperparameters = learn_hyperparameters
        self.moves = moves
        self.criterion: Criterion | None = criterion
        self.start: StartName | None = start
        self.restarts = restarts
        self.minimum_mass = minimum_mass
        self.cold_every = cold_every
        self.n_jobs = n_jobs
        self.random_state = random_state

    fit = fitting.fit
    partial_fit = partial_fits.partial_fit
    transform = topic_methods.transform
    fit_transform = topic_methods.fit_transform
    score = topic_methods.score
    save = estimator_files.save
    set_output = sklearn_protocol.set_output
    get_feature_names_out = sklearn_protocol.get_feature_names_out
    get_params = sklearn_protocol.get_params
    set_params = sklearn_protocol.set_params
    __repr__ = sklearn_protocol.represent
    __sklearn_tags__ = sklearn_protocol.tags
    _show = topic_methods.show

    def training_options(self) -> TrainingOptions:
        """The same options as the command line's; raises OptionError."""
        return TrainingOptions(
            n_topics=self.n_components,
            laps=self.max_iter,
            learner=self.learner,
            local=LocalOptions(
                self.local_update,
                self.sparsity,
                restarts=self.restarts,
                minimum_mass=self.minimum_mass,
            ),
            prior=TopicPrior(
                self.doc_concentration, self.word_concentration, self.top_concentration
            ),
            start=self.start,
            learn_hyperparameters=self.learn_hyperparameters,
            model="hdp",
            moves=chosen_moves(self.moves, self.criterion),
            cold_every=self.cold_every,
        )
