"""What a fitted LDA or HDP says of documents.

These functions stand in the classes as methods: ``transform = topic_methods.transform``.
"""

from __future__ import annotations

from typing import Any, Protocol, TypeVar

import numpy as np

from sparsetopics.base.batches import FloatArray
from sparsetopics.base.errors import ShapeError
from sparsetopics.corpora.text.vocabulary import Vocabulary
from sparsetopics.estimators import fitting, sklearn_protocol
from sparsetopics.estimators.inputs import more_rows
from sparsetopics.evaluation.scores.completion import document_completion, unigram_probabilities
from sparsetopics.inference.new_documents import topic_proportions
from sparsetopics.model.topic_posterior import TopicModel
from sparsetopics.runs.callbacks import OnLap


class TopicEstimator(fitting.Estimator, Protocol):
    """LDA or HDP, as these methods see them."""

    model_: TopicModel
    components_: FloatArray
    vocabulary_: Vocabulary
    n_docs_: int


E = TypeVar("E", bound=TopicEstimator)


def show(self: TopicEstimator, vocabulary: Vocabulary | None) -> None:
    """Topics and their words, and how many documents they were learned from."""
    assert vocabulary is not None, "topics have words"
    self.components_, self.vocabulary_ = self.model_.topic_word_posterior, vocabulary
    self.n_docs_ = self._facts["n_documents"]


def transform(self: TopicEstimator, X: Any) -> Any:
    """Expected topic proportions E[π_d] of each document, (n_docs, n_components_).

    Deterministic, by the dense mean-field step: a row depends on its own document alone. What an
    HDP keeps for topics that it has not found is left out. A row without words gets the
    proportions of the prior. An array, unless ``set_output`` says otherwise. Raises UnfittedError
    before ``fit``, ShapeError or VocabularyError for other words than were fitted.
    """
    sklearn_protocol.check_fitted(self)
    rows, model = more_rows(self, X), self.model_
    found = [
        topic_proportions(
            batch, model.topic_word_mean, model.doc_concentration, workers=self.n_jobs
        )
        for batch in rows.documents.batches()
    ]
    prior = model.doc_concentration / model.doc_concentration.sum()
    whole = np.concatenate([np.zeros((0, model.n_topics)), *found])
    return sklearn_protocol.contained(self, rows.placed(whole, prior), X)


def fit_transform(
    self: TopicEstimator, X: Any, y: object = None, *, on_lap: OnLap | None = None
) -> Any:
    """``fit`` and ``transform`` of the same documents, (n_docs, n_components_); raises what they
    raise."""
    return transform(fitting.fit(self, X, on_lap=on_lap), X)


def score(self: TopicEstimator, X: Any, y: object = None) -> float:
    """Document-completion log-likelihood per token of held-out documents, in nats.

    Of 20 % of each document's word types, given the others (Hughes & Sudderth 2016, appendix E;
    Wang et al. 2011). Raises what ``transform`` raises, and ShapeError if no document has two
    words.
    """
    sklearn_protocol.check_fitted(self)
    documents, model = more_rows(self, X).documents, self.model_
    if not documents.n_docs:
        raise ShapeError("X", found="no count above zero", wanted="documents of two words or more")
    return document_completion(
        documents,
        model.topic_word_mean,
        model.doc_concentration,
        unigram_probabilities(self.vocabulary_.term_frequency),
        workers=self.n_jobs,
    ).log_likelihood_per_token
