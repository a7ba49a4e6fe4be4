"""LDA and HDP as objects with ``fit``, ``transform`` and ``score``, in scikit-learn's names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from sparsetopics import fitting
from sparsetopics.batches import FloatArray
from sparsetopics.corpora.vocabulary import Vocabulary
from sparsetopics.model import TopicModel
from sparsetopics.options import (
    DEFAULT_LAPS,
    DEFAULT_TOP_CONCENTRATION,
    Criterion,
    LearnerName,
    LocalOptions,
    LocalUpdate,
    ModelName,
    MoveName,
    StartName,
    TopicPrior,
    TrainingOptions,
)
from sparsetopics.runs import load_run
from sparsetopics.trained_runs import move_options


class LDA:
    """Latent Dirichlet allocation with L-sparse local steps.

    ``doc_concentration`` is the total Σ_k α_k. After ``fit``: ``components_`` (n_topics, n_words)
    is the topic-word posterior λ, ``n_components_`` the number of topics, ``trace_`` a list with
    one entry per lap. Options out of range raise OptionError when ``fit`` is called.
    """

    model_: TopicModel
    vocabulary_: Vocabulary
    trace_: list[dict[str, Any]]
    components_: FloatArray
    n_components_: int
    n_docs_: int

    def __init__(
        self,
        n_components: int = 100,
        *,
        sparsity: int | None = None,
        local_update: LocalUpdate = "collapsed",
        learner: LearnerName = "memoized",
        max_iter: int = DEFAULT_LAPS["lda"],
        n_batches: int | None = None,
        doc_concentration: float = 0.5,
        word_concentration: float = 0.1,
        learn_hyperparameters: bool = False,
        start: StartName | None = None,
        restarts: int | None = None,
        n_jobs: int = 1,
        random_state: int = 0,
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
        self.start: StartName | None = start
        self.restarts = restarts
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: object = None) -> LDA:
        """Learn topics from a Corpus, or from a sparse matrix of counts (n_docs, n_words)."""
        fitting.fit(self, X)
        return self

    def transform(self, X: Any) -> FloatArray:
        """Expected topic proportions of each document, (n_docs, n_topics); deterministic.

        An empty row of a matrix gets those of the prior.
        """
        return fitting.transform(self, X)

    def fit_transform(self, X: Any, y: object = None) -> FloatArray:
        return self.fit(X).transform(X)

    def score(self, X: Any, y: object = None) -> float:
        """Document-completion log-likelihood per token of held-out documents, in nats."""
        return fitting.score(self, X)

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write a run folder that ``sparsetopics`` commands and ``load`` read. OutputError."""
        fitting.save(self, Path(path), overwrite=overwrite)

    def training_options(self) -> TrainingOptions:
        """The same options as the command line's; raises OptionError."""
        return TrainingOptions(
            n_topics=self.n_components,
            laps=self.max_iter,
            learner=self.learner,
            local=LocalOptions(self.local_update, self.sparsity, restarts=self.restarts),
            prior=TopicPrior(self.doc_concentration, self.word_concentration),
            start=self.start,
            learn_hyperparameters=self.learn_hyperparameters,
            model="lda",
        )


class HDP:
    """Hierarchical Dirichlet process topics: learns how many there are.

    Training starts from ``n_components`` topics and merges, deletes and adds topics where that
    raises ``criterion``, until bound and number have settled or ``max_iter`` laps are done.
    ``moves`` are some of "merge", "delete" and "birth"; None stands for all of them with the
    memoized learner and for none with the others, which keep their number of topics.
    ``doc_concentration`` is the total α, ``top_concentration`` γ. After ``fit``:
    ``components_`` (n_topics, n_words) is the topic-word posterior λ, ``n_components_`` the
    number of topics, ``trace_`` a list with one entry per lap. Options out of range raise
    OptionError when ``fit`` is called.
    """

    model_: TopicModel
    vocabulary_: Vocabulary
    trace_: list[dict[str, Any]]
    components_: FloatArray
    n_components_: int
    n_docs_: int

    def __init__(
        self,
        n_components: int = 100,
        *,
        sparsity: int | None = None,
        local_update: LocalUpdate = "collapsed",
        learner: LearnerName = "memoized",
        max_iter: int = DEFAULT_LAPS["hdp"],
        n_batches: int | None = None,
        doc_concentration: float = 0.5,
        top_concentration: float = DEFAULT_TOP_CONCENTRATION,
        word_concentration: float = 0.1,
        learn_hyperparameters: bool = False,
        moves: Sequence[MoveName] | None = None,
        criterion: Criterion | None = None,
        start: StartName | None = None,
        restarts: int | None = None,
        n_jobs: int = 1,
        random_state: int = 0,
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
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: object = None) -> HDP:
        """Learn topics from a Corpus, or from a sparse matrix of counts (n_docs, n_words)."""
        fitting.fit(self, X)
        return self

    def transform(self, X: Any) -> FloatArray:
        """Expected topic proportions of each document, (n_docs, n_topics); deterministic.

        Among the topics that were found: what the HDP keeps for others is left out. An empty row
        of a matrix gets the proportions of the prior.
        """
        return fitting.transform(self, X)

    def fit_transform(self, X: Any, y: object = None) -> FloatArray:
        return self.fit(X).transform(X)

    def score(self, X: Any, y: object = None) -> float:
        """Document-completion log-likelihood per token of held-out documents, in nats."""
        return fitting.score(self, X)

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write a run folder that ``sparsetopics`` commands and ``load`` read. OutputError."""
        fitting.save(self, Path(path), overwrite=overwrite)

    def training_options(self) -> TrainingOptions:
        """The same options as the command line's; raises OptionError."""
        return TrainingOptions(
            n_topics=self.n_components,
            laps=self.max_iter,
            learner=self.learner,
            local=LocalOptions(self.local_update, self.sparsity, restarts=self.restarts),
            prior=TopicPrior(
                self.doc_concentration, self.word_concentration, self.top_concentration
            ),
            start=self.start,
            learn_hyperparameters=self.learn_hyperparameters,
            model="hdp",
            moves=move_options(self.moves, self.criterion),
        )


def load(path: str | Path) -> LDA | HDP:
    """A fitted estimator from a run folder; RunError if it is damaged."""
    run = load_run(Path(path))
    estimator = UNFITTED[run.model.name](run.model)
    fitting.settle(estimator, run.model, run.vocabulary, run.trace, run.n_training_documents)
    return estimator


def _lda(model: TopicModel) -> LDA:
    return LDA(
        model.n_topics,
        doc_concentration=float(model.doc_concentration.sum()),
        word_concentration=model.word_concentration,
    )


def _hdp(model: TopicModel) -> HDP:
    assert model.sticks is not None  # as load_run made it
    return HDP(
        model.n_topics,
        doc_concentration=model.sticks.doc_concentration,
        top_concentration=model.sticks.top_concentration,
        word_concentration=model.word_concentration,
    )


UNFITTED: dict[ModelName, Callable[[TopicModel], LDA | HDP]] = {"lda": _lda, "hdp": _hdp}
