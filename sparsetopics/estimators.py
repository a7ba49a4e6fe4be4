"""LDA as an object with ``fit``, ``transform`` and ``score``, in scikit-learn's names."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from sparsetopics.batches import DocumentBatch, FloatArray
from sparsetopics.corpora.batching import plan_batches
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.corpora.vocabulary import Vocabulary
from sparsetopics.errors import OptionError, ShapeError
from sparsetopics.evaluation.completion import document_completion, unigram_probabilities
from sparsetopics.executors import open_executor
from sparsetopics.inference import topic_proportions
from sparsetopics.model import TopicModel
from sparsetopics.options import (
    TopicPrior,
    LearnerName,
    LocalOptions,
    LocalUpdate,
    StartName,
    TrainingOptions,
)
from sparsetopics.runs import load_run, save_run
from sparsetopics.staging import staged_folder
from sparsetopics.training import Hooks, LapInfo, train


class LDA:
    """Latent Dirichlet allocation with L-sparse local steps.

    ``doc_concentration`` is the total Σ_k α_k. After ``fit``: ``components_`` (n_topics, n_words)
    is the topic-word posterior λ, ``n_components_`` the number of topics, ``trace_`` a list with
    one entry per lap. Options out of range raise OptionError when ``fit`` is called.
    """

    def __init__(
        self,
        n_components: int = 100,
        *,
        sparsity: int | None = None,
        local_update: LocalUpdate = "collapsed",
        learner: LearnerName = "memoized",
        max_iter: int = 20,
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
        corpus = _as_corpus(X)
        rng = np.random.default_rng(self.random_state)
        source = plan_batches(corpus, self.n_batches, rng)
        trace: list[LapInfo] = []
        hooks = Hooks(on_lap=lambda info, model: trace.append(info))
        with (
            tempfile.TemporaryDirectory(prefix="sparsetopics-") as scratch,
            open_executor(self.n_jobs) as executor,
        ):
            model = train(source, self._options(), Path(scratch), executor, rng, hooks=hooks)
        self._settle(model, corpus.vocabulary, [info._asdict() for info in trace])
        self.n_docs_ = corpus.n_docs
        return self

    def transform(self, X: Any) -> FloatArray:
        """Expected topic proportions of each document, (n_docs, n_topics); deterministic.

        An empty row of a matrix gets those of the prior.
        """
        corpus = self._known_words(X)
        found = np.concatenate([self._proportions(batch) for batch in corpus.batches()])
        if isinstance(X, Corpus):
            return found
        prior = self.model_.doc_concentration
        proportions: FloatArray = np.tile(prior / prior.sum(), (X.shape[0], 1))
        proportions[[int(row) for doc_ids in corpus.doc_ids() for row in doc_ids]] = found
        return proportions

    def fit_transform(self, X: Any, y: object = None) -> FloatArray:
        return self.fit(X).transform(X)

    def score(self, X: Any, y: object = None) -> float:
        """Document-completion log-likelihood per token of held-out documents, in nats."""
        self._check_fitted()
        return document_completion(
            self._known_words(X),
            self.model_.topic_word_mean,
            self.model_.doc_concentration,
            unigram_probabilities(self.vocabulary_.term_frequency),
            workers=self.n_jobs,
        ).log_likelihood_per_token

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write a run folder that ``sparsetopics`` commands and ``load`` read. OutputError."""
        self._check_fitted()
        settings = {
            "corpus": {"n_documents": self.n_docs_},
            "options": asdict(self._options()),
            "seed": self.random_state,
        }
        with staged_folder(Path(path), overwrite=overwrite) as folder:
            save_run(folder, self.model_, self.vocabulary_, settings, self.trace_)

    def _options(self) -> TrainingOptions:
        return TrainingOptions(
            n_topics=self.n_components,
            laps=self.max_iter,
            learner=self.learner,
            local=LocalOptions(
                update=self.local_update,
                sparsity=self.sparsity,
                restarts=self.restarts,
            ),
            prior=TopicPrior(self.doc_concentration, self.word_concentration),
            start=self.start,
            learn_hyperparameters=self.learn_hyperparameters,
        )

    def _settle(
        self, model: TopicModel, vocabulary: Vocabulary, trace: Sequence[Mapping[str, Any]]
    ) -> None:
        self.model_ = model
        self.vocabulary_ = vocabulary
        self.trace_ = list(trace)
        self.components_ = model.topic_word_posterior
        self.n_components_ = model.n_topics

    def _proportions(self, batch: DocumentBatch) -> FloatArray:
        return topic_proportions(
            batch,
            self.model_.topic_word_mean,
            self.model_.doc_concentration,
            workers=self.n_jobs,
        )

    def _known_words(self, X: Any) -> Corpus:
        self._check_fitted()
        corpus = _as_corpus(X)
        if corpus.n_words != self.model_.n_words:
            raise ShapeError(
                "documents",
                found=f"{corpus.n_words} words",
                wanted=f"the {self.model_.n_words} words of the fitted topics",
            )
        return corpus

    def _check_fitted(self) -> None:
        if not hasattr(self, "model_"):
            raise OptionError(
                "LDA", found="no topics yet", wanted="a fitted model", hint="Call fit."
            )


def load(path: str | Path) -> LDA:
    """A fitted estimator from a run folder; RunError if it is damaged."""
    run = load_run(Path(path))
    model = run.model
    estimator = LDA(
        model.n_topics,
        doc_concentration=float(model.doc_concentration.sum()),
        word_concentration=model.word_concentration,
    )
    estimator._settle(model, run.vocabulary, run.trace)
    estimator.n_docs_ = run.n_training_documents
    return estimator


def _as_corpus(X: Any) -> Corpus:
    if isinstance(X, Corpus):
        return X
    width = X.shape[1]
    digits = len(str(width - 1))
    return Corpus.from_csr(X, [f"word{index:0{digits}d}" for index in range(width)])
