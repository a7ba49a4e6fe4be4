"""What a fitted mixture says of items, vectors or documents.

These functions stand in the classes as methods: ``predict = mixture_methods.predict``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np

from sparsetopics.base.batches import FloatArray, IntArray, Vectors
from sparsetopics.base.errors import OptionError
from sparsetopics.corpora.text.vocabulary import Vocabulary
from sparsetopics.estimators import fitting
from sparsetopics.estimators.inputs import Rows, more_rows
from sparsetopics.estimators.sklearn_protocol import check_fitted
from sparsetopics.model.mixture_posterior import MixtureModel
from sparsetopics.runs.callbacks import OnLap


class MixtureEstimator(fitting.Estimator, Protocol):
    """A mixture of vectors or documents, as these methods see it."""

    model_: MixtureModel
    weights_: FloatArray


class VectorMixture(MixtureEstimator, Protocol):
    """A mixture of vectors."""

    means_: FloatArray
    covariances_: FloatArray


class DocumentMixture(MixtureEstimator, Protocol):
    """A mixture of documents."""

    components_: FloatArray
    vocabulary_: Vocabulary


def show_vectors(self: VectorMixture, vocabulary: Vocabulary | None) -> None:
    """Weights, means and covariances, all posterior means."""
    self.weights_ = self.model_.weights
    self.means_, self.covariances_ = self.model_.normals


def show_documents(self: DocumentMixture, vocabulary: Vocabulary | None) -> None:
    """Weights and probabilities of words, posterior means."""
    assert vocabulary is not None, "documents have words"
    self.vocabulary_ = vocabulary
    self.weights_, self.components_ = self.model_.weights, self.model_.topic_word_mean


def predict(self: MixtureEstimator, X: Any) -> IntArray:
    """The component that each item most probably belongs to, (n_items,).

    Raises UnfittedError before ``fit``, ShapeError or VocabularyError for other columns than were
    fitted.
    """
    best: IntArray = predict_proba(self, X).argmax(axis=1)
    return best


def predict_proba(self: MixtureEstimator, X: Any) -> FloatArray:
    """Probability of each component for each item, (n_items, n_components_); rows add up to one.

    Deterministic: a row depends on its own item alone. A document without words gets the weights.
    Raises what ``predict`` raises.
    """
    rows = _known_rows(self, X)
    found = [self.model_.responsibilities(values) for values in _values(rows)]
    whole = np.concatenate([np.zeros((0, self.n_components_)), *found])
    return rows.placed(whole, self.weights_)


def fit_predict(
    self: MixtureEstimator, X: Any, y: object = None, *, on_lap: OnLap | None = None
) -> IntArray:
    """``fit`` and ``predict`` of the same items, (n_items,); raises what they raise."""
    return predict(fitting.fit(self, X, on_lap=on_lap), X)


def score_samples(self: MixtureEstimator, X: Any) -> FloatArray:
    """log p(x) of each item in nats, (n_items,), at the posterior means.

    Of a document's words in their order: the multinomial coefficient is left out. Raises what
    ``predict`` raises.
    """
    rows = _known_rows(self, X)
    found = [self.model_.log_densities(values) for values in _values(rows)]
    return rows.placed(np.concatenate([np.zeros(0), *found]), 0.0)


def score(self: MixtureEstimator, X: Any, y: object = None) -> float:
    """Mean of ``score_samples``, in nats; raises what ``predict`` raises."""
    return float(score_samples(self, X).mean())


def sample(self: MixtureEstimator, n_samples: int = 1) -> tuple[Vectors, IntArray]:
    """Items (n_samples, n_columns) and their components (n_samples,), at the posterior means.

    The same for the same ``random_state``. Raises UnfittedError before ``fit``, OptionError for
    less than one item.
    """
    check_fitted(self)
    if n_samples < 1:
        raise OptionError("samples", found=f"{n_samples}", wanted="at least 1")
    return self.model_.sample(n_samples, np.random.default_rng(self.random_state))


def _known_rows(self: MixtureEstimator, X: Any) -> Rows:
    check_fitted(self)
    return more_rows(self, X)


def _values(rows: Rows) -> Iterator[Any]:
    return (batch.values for batch in rows.corpus.batches())
