"""MultinomialMixture and DPMultinomialMixture as objects."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.special import logsumexp

from sparsetopics import (
    Corpus,
    DPMultinomialMixture,
    GaussianMixture,
    MultinomialMixture,
    VectorCorpus,
)
from sparsetopics.base.errors import OptionError, ShapeError, UnfittedError
from sparsetopics.measures.clustering import score_clustering
from worlds.document_mixtures import draw_documents

DRAWN = draw_documents(0, 300, n_tokens=60)
COUNTS = csr_array(DRAWN.counts)
KINDS = (MultinomialMixture, DPMultinomialMixture)


@pytest.fixture(scope="module")
def fitted():
    return DPMultinomialMixture().fit(COUNTS)


def test_the_kinds_of_documents_are_found(fitted):
    assert fitted.n_components_ == 4
    assert score_clustering(DRAWN.kinds, fitted.predict(COUNTS)).hungarian_accuracy > 0.95
    assert (np.diff(fitted.weights_) <= 0).all()
    np.testing.assert_allclose(fitted.components_.sum(axis=1), 1.0)
    assert fitted.components_.shape == (4, 30)
    assert len(fitted.vocabulary_) == 30
    assert fitted.trace_[-1]["n_topics"] == 4


def test_probabilities_and_scores_follow_from_weights_and_components(fitted):
    """And from the weight that the process leaves to components without documents."""
    weights = fitted.model_.mixture.weights
    np.testing.assert_allclose(fitted.weights_, weights / weights.sum())
    components = np.vstack([fitted.components_, np.full((1, 30), 1 / 30)])
    logs = COUNTS @ np.log(components).T
    expected = logsumexp(logs, b=np.append(weights, 1.0 - weights.sum()), axis=1)

    np.testing.assert_allclose(fitted.predict_proba(COUNTS).sum(axis=1), 1.0)
    np.testing.assert_allclose(fitted.score_samples(COUNTS), expected, rtol=1e-4)
    assert fitted.score(COUNTS) == pytest.approx(fitted.score_samples(COUNTS).mean())


@pytest.mark.parametrize("kind", KINDS)
def test_rows_without_words_keep_their_place(kind):
    counts = DRAWN.counts.copy()
    counts[[0, 7]] = 0

    model = kind(3, max_iter=5).fit(csr_array(counts))

    shares, scores = model.predict_proba(csr_array(counts)), model.score_samples(csr_array(counts))
    np.testing.assert_allclose(shares[[0, 7]], np.tile(model.weights_, (2, 1)))
    np.testing.assert_array_equal(scores[[0, 7]], 0.0)
    others = np.setdiff1d(np.arange(300), [0, 7])
    np.testing.assert_allclose(scores[others], model.score_samples(csr_array(counts[others])))


@pytest.mark.parametrize("kind", KINDS)
def test_options_reach_the_training(kind):
    model = kind(6, max_iter=3, word_concentration=0.7, top_concentration=2.0, sparsity=2)

    options = model.training_options()

    assert (options.prior.word_concentration, options.prior.gamma) == (0.7, 2.0)
    assert (options.n_topics, options.n_laps, options.local.sparsity) == (6, 3, 2)
    assert model.fit(COUNTS).model_.likelihood.word_concentration == 0.7
    assert len(model.trace_) == 3


def test_what_does_not_fit_is_refused(fitted):
    words = [f"word{number}" for number in range(5)]
    with pytest.raises(ShapeError, match=r"^DPMultinomialMixture: X has 5 features, but .* 30"):
        fitted.predict(Corpus.from_csr(COUNTS[:, :5], words))
    with pytest.raises(UnfittedError, match="MultinomialMixture: is not fitted yet"):
        MultinomialMixture().predict(COUNTS)
    with pytest.raises(OptionError, match="likelihood: must be for vectors, but is multinomial"):
        GaussianMixture(2, likelihood="multinomial").fit(VectorCorpus.from_array(np.eye(3)))
    with pytest.raises(OptionError, match="moves: must be none with learner full"):
        DPMultinomialMixture(learner="full", moves=["merge"]).fit(COUNTS)
