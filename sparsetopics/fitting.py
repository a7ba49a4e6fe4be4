"""What the estimators share: fit, transform, score and save, for any kind of topic model."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from sparsetopics.batches import FloatArray, Source
from sparsetopics.corpora.batching import plan_batches
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.corpora.vocabulary import Vocabulary
from sparsetopics.errors import OptionError, ShapeError
from sparsetopics.evaluation.completion import document_completion, unigram_probabilities
from sparsetopics.executors import open_executor
from sparsetopics.inference import topic_proportions
from sparsetopics.model import TopicModel
from sparsetopics.options import TrainingOptions
from sparsetopics.runs import save_run
from sparsetopics.staging import staged_folder
from sparsetopics.trained_runs import option_record
from sparsetopics.training import Hooks, Model, train


class TopicEstimator(Protocol):
    """The part of an estimator that the functions here read, and write when it is fitted."""

    n_batches: int | None
    n_jobs: int
    random_state: int
    model_: TopicModel
    vocabulary_: Vocabulary
    trace_: list[dict[str, Any]]
    components_: FloatArray
    n_components_: int
    n_docs_: int

    def training_options(self) -> TrainingOptions: ...


def fit(estimator: TopicEstimator, X: Any) -> None:
    """Learn topics from a Corpus, or from a sparse matrix of counts (n_docs, n_words)."""
    corpus, options = as_corpus(X), estimator.training_options()

    def divide(rng: np.random.Generator) -> Source:
        return plan_batches(corpus, estimator.n_batches, rng)

    model, trace = trained(divide, options, estimator.n_jobs, estimator.random_state)
    assert isinstance(model, TopicModel), "documents have topics"
    settle(estimator, model, corpus.vocabulary, trace, corpus.n_docs)


def trained(
    divide: Callable[[np.random.Generator], Source],
    options: TrainingOptions,
    workers: int,
    seed: int,
) -> tuple[Model, list[dict[str, Any]]]:
    """A model of the collection that ``divide`` makes batches of, and the trace of its laps."""
    rng = np.random.default_rng(seed)
    source = divide(rng)
    trace: list[dict[str, Any]] = []
    hooks = Hooks(on_lap=lambda info, model: trace.append(info._asdict()))
    with (
        tempfile.TemporaryDirectory(prefix="sparsetopics-") as scratch,
        open_executor(workers) as executor,
    ):
        model = train(source, options, Path(scratch), executor, rng, hooks=hooks)
    return model, trace


def settle(
    estimator: TopicEstimator,
    model: TopicModel,
    vocabulary: Vocabulary,
    trace: Sequence[Mapping[str, Any]],
    n_docs: int,
) -> None:
    """Make an estimator a fitted one."""
    estimator.model_ = model
    estimator.vocabulary_ = vocabulary
    estimator.trace_ = [dict(entry) for entry in trace]
    estimator.components_ = model.topic_word_posterior
    estimator.n_components_ = model.n_topics
    estimator.n_docs_ = n_docs


def transform(estimator: TopicEstimator, X: Any) -> FloatArray:
    """Expected topic proportions of each document, (n_docs, n_topics); deterministic.

    An empty row of a matrix gets those of the prior.
    """
    corpus, model = _known_words(estimator, X), estimator.model_
    found = np.concatenate(
        [
            topic_proportions(
                batch, model.topic_word_mean, model.doc_concentration, workers=estimator.n_jobs
            )
            for batch in corpus.batches()
        ]
    )
    prior = model.doc_concentration
    return with_empty_rows(found, prior / prior.sum(), corpus, X)


def with_empty_rows(found: FloatArray, value: Any, corpus: Corpus, X: Any) -> FloatArray:
    """Rows ``found`` of the ``corpus`` of ``X``, with ``value`` for rows that hold no word."""
    if isinstance(X, Corpus):
        return found
    rows = np.empty((X.shape[0], *found.shape[1:]))
    rows[:] = value
    rows[[int(row) for doc_ids in corpus.doc_ids() for row in doc_ids]] = found
    return rows


def score(estimator: TopicEstimator, X: Any) -> float:
    """Document-completion log-likelihood per token of held-out documents, in nats."""
    corpus, model = _known_words(estimator, X), estimator.model_
    return document_completion(
        corpus,
        model.topic_word_mean,
        model.doc_concentration,
        unigram_probabilities(estimator.vocabulary_.term_frequency),
        workers=estimator.n_jobs,
    ).log_likelihood_per_token


def save(estimator: TopicEstimator, path: Path, *, overwrite: bool) -> None:
    """Write a run folder that the command line and ``load`` read. Raises OutputError."""
    _check_fitted(estimator)
    settings = {
        "corpus": {"n_documents": estimator.n_docs_},
        "options": option_record(estimator.training_options()),
        "seed": estimator.random_state,
    }
    with staged_folder(path, overwrite=overwrite) as folder:
        save_run(folder, estimator.model_, estimator.vocabulary_, settings, estimator.trace_)


def _known_words(estimator: TopicEstimator, X: Any) -> Corpus:
    _check_fitted(estimator)
    corpus, model = as_corpus(X), estimator.model_
    if corpus.n_words != model.n_words:
        raise ShapeError(
            "documents",
            found=f"{corpus.n_words} words",
            wanted=f"the {model.n_words} words of the fitted topics",
        )
    return corpus


def _check_fitted(estimator: TopicEstimator) -> None:
    if not hasattr(estimator, "model_"):
        name = type(estimator).__name__
        raise OptionError(name, found="no topics yet", wanted="a fitted model", hint="Call fit.")


def as_corpus(X: Any) -> Corpus:
    """A corpus as it is, or one of a sparse matrix of counts (n_docs, n_words)."""
    if isinstance(X, Corpus):
        return X
    width = X.shape[1]
    digits = len(str(width - 1))
    return Corpus.from_csr(X, [f"word{index:0{digits}d}" for index in range(width)])
