"""Extreme collections and options: finite models, or a sentence that says why not; never NaN."""

import itertools

import numpy as np
import pytest

from sparsetopics import (
    HDP,
    LDA,
    DPGaussianMixture,
    DPMultinomialMixture,
    GaussianMixture,
    MultinomialMixture,
)
from sparsetopics.base.errors import ShapeError, SparsetopicsError

UPDATES = ("collapsed", "mean-field")
GAUSSIANS = ("gaussian", "zero-mean-gaussian", "diagonal-gaussian", "isotropic-gaussian")
MOST = 2**31 - 1


def some_counts(n_docs=24, n_words=12):
    counts = np.random.default_rng(5).poisson(1.0, (n_docs, n_words))
    counts[:, 0] += 1
    return counts


def with_rows(counts, rows, values):
    changed = counts.copy()
    changed[rows] = values
    return changed


DOCUMENTS = {
    "counts up to 2^31": some_counts() * (MOST // 8),
    "one count of 2^31": with_rows(some_counts().astype(np.int64), 3, MOST),
    "documents of one word": np.eye(12, dtype=int)[np.arange(24) % 12],
    "one word": np.arange(1, 21)[:, None],
    "empty documents": with_rows(some_counts(), [0, 7], 0),
    "the same document": np.tile(some_counts(1), (20, 1)),
    "one document": some_counts(1),
    "a document of a million words": with_rows(some_counts(), 0, 90_000),
    "counts of 1e-30": some_counts().astype(np.float32) * 1e-30,
    "fractions": some_counts() * 0.3,
}

VECTORS = {
    "the same item": np.tile([[0.3, -1.0, 2.0]], (30, 1)),
    "a constant column": np.c_[np.random.default_rng(0).normal(size=(40, 2)), np.ones(40)],
    "two items": np.array([[0.0, 1.0, 2.0], [1.0, 1.0, 0.0]]),
    "1e30": np.random.default_rng(1).normal(size=(40, 3)) * 1e30,
    "1e-15": np.random.default_rng(2).normal(size=(40, 3)) * 1e-15,
    "far from zero": np.random.default_rng(3).normal(size=(40, 3)) + 1e6,
    "an outlier": np.r_[np.random.default_rng(4).normal(size=(40, 3)), np.full((1, 3), 1e12)],
    "columns of other scales": np.random.default_rng(6).normal(size=(40, 3)) * [1e-18, 1, 1e18],
    "the largest float32": np.random.default_rng(7).random((10, 2)) * 3e38,
    "more columns than items": np.random.default_rng(8).normal(size=(5, 40)),
}
REFUSED = {  # by some likelihoods
    *("the same item", "a constant column", "two items"),
    *("the largest float32", "more columns than items"),
}


def assert_finite(*arrays):
    for array in arrays:
        assert np.isfinite(np.asarray(array, float)).all()


def assert_topics_finite(model, documents):
    model.fit(documents)
    bounds = [entry["elbo_per_token"] for entry in model.trace_]
    assert_finite(model.components_, model.transform(documents), bounds)


@pytest.mark.filterwarnings("ignore:There are more:sparsetopics.base.errors.SparsetopicsWarning")
@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("name", DOCUMENTS)
def test_topics_of_extreme_documents_are_finite(name, update):
    documents = DOCUMENTS[name]
    for n_topics in (1, 40):
        assert_topics_finite(LDA(n_topics, local_update=update, max_iter=3), documents)
    assert_topics_finite(HDP(6, local_update=update, max_iter=6), documents)


@pytest.mark.parametrize(
    ("alpha", "eta", "update", "learn"),
    [
        (alpha, eta, update, (alpha == eta) == (update == "collapsed"))
        for alpha, eta, update in itertools.product([1e-6, 1e3], [1e-6, 1e3], UPDATES)
    ],
)
def test_topics_of_extreme_priors_are_finite(alpha, eta, update, learn):
    given = {
        "doc_concentration": alpha,
        "word_concentration": eta,
        "local_update": update,
        "learn_hyperparameters": learn,
    }
    for name in ("counts up to 2^31", "documents of one word", "the same document"):
        assert_topics_finite(LDA(4, max_iter=3, **given), DOCUMENTS[name])
        assert_topics_finite(HDP(4, max_iter=6, **given), DOCUMENTS[name])


@pytest.mark.parametrize("estimator", [MultinomialMixture, DPMultinomialMixture])
@pytest.mark.parametrize("name", DOCUMENTS)
def test_mixtures_of_extreme_documents_are_finite(name, estimator):
    documents = DOCUMENTS[name]
    try:
        model = estimator(4, max_iter=5).fit(documents)
    except SparsetopicsError:
        assert name == "one document"  # too few for four components
        return
    assert_finite(model.weights_, model.components_, model.predict_proba(documents))


@pytest.mark.filterwarnings("ignore:The .* columns vary in")
@pytest.mark.parametrize("likelihood", GAUSSIANS)
@pytest.mark.parametrize("name", VECTORS)
def test_mixtures_of_extreme_items_are_finite_or_refused(name, likelihood):
    items = VECTORS[name]
    for estimator in (GaussianMixture, DPGaussianMixture):
        try:
            model = estimator(3, likelihood=likelihood, max_iter=6).fit(items)
        except SparsetopicsError:
            assert name in REFUSED
            continue
        assert_finite(model.weights_, model.covariances_, model.predict_proba(items))


@pytest.mark.parametrize("count", [2.0**32, 1e30, np.inf, np.nan])
def test_counts_beyond_32_bits_are_refused(count):
    documents = some_counts().astype(float)
    documents[2, 5] = count
    with pytest.raises(ShapeError, match=r"row 2, column 5"):
        LDA(3).fit(documents)
