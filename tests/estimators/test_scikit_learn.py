"""The estimators among scikit-learn's own."""

import io
import os
import pickle
import subprocess
import sys

import joblib
import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from sparsetopics import (
    HDP,
    LDA,
    DPGaussianMixture,
    DPMultinomialMixture,
    GaussianMixture,
    MultinomialMixture,
)
from sparsetopics.base.errors import OptionError, UnfittedError

# Those that scikit-learn's checks meet as they meet the one before.
ALIKE = (
    HDP(2, max_iter=3, learner="stochastic"),
    DPGaussianMixture(likelihood="diagonal-gaussian", max_iter=6),
)
TOPIC_MODELS = (LDA(3, max_iter=6), HDP(3, max_iter=6), ALIKE[0])
VECTOR_MIXTURES = (
    GaussianMixture(2, max_iter=6),
    DPGaussianMixture(max_iter=6),
    ALIKE[1],
    DPGaussianMixture(5, likelihood="isotropic-gaussian", learner="gradient", max_iter=6),
    DPGaussianMixture(learner="accelerated", max_iter=6),
)
DOCUMENT_MIXTURES = (MultinomialMixture(2, max_iter=6), DPMultinomialMixture(max_iter=6))
ALL = (*TOPIC_MODELS, *VECTOR_MIXTURES, *DOCUMENT_MIXTURES)

TEXTS = [
    "cats chase mice and dogs chase cats",
    "mice fear cats",
    "dogs bark at cats",
    "stocks fell while bonds rose",
    "bonds and stocks rose",
    "stocks fell and fell",
] * 5


def expected_failures(estimator):
    """Checks that ask for something else than the estimator is; ours are below."""
    if isinstance(estimator, MultinomialMixture | DPMultinomialMixture):
        reason = "has predict_proba and reads sparse matrices, but is no classifier of 4 classes"
        names = ("check_estimator_sparse_array", "check_estimator_sparse_matrix")
        return dict.fromkeys(names, reason)
    if estimator.learner in ("gradient", "accelerated"):
        reason = "partial_fit is refused: these learners need all data in every lap"
        names = ("check_fit_score_takes_y", "check_n_features_in_after_fitting")
        return dict.fromkeys(names, reason)
    return {}


def named(case):
    """Of an estimator, or of a check of it."""
    return getattr(case, "func", case).__name__ if callable(case) else repr(case)


def checks():
    """But for that of the array API, which is skipped unless scipy was imported so: see below."""
    kinds = [each for each in ALL if each not in ALIKE]
    names, cases = parametrize_with_checks(kinds, expected_failed_checks=expected_failures).args
    return names, [case for case in cases if "array_api" not in repr(case)]


@pytest.mark.parametrize(*checks(), ids=named)
def test_scikit_learn_s_checks_pass(estimator, check):
    check(estimator)


def test_array_api_dispatch_changes_nothing():
    """The check that needs scipy to have been imported so; older scikit-learns do not have it."""
    code = (
        "from sklearn.utils.estimator_checks import estimator_checks_generator\n"
        "from sparsetopics import LDA, DPGaussianMixture, MultinomialMixture\n"
        "for kind in (LDA, DPGaussianMixture, MultinomialMixture):\n"
        "    for estimator, check in estimator_checks_generator(kind(2, max_iter=3)):\n"
        "        if 'array_api' in repr(check):\n"
        "            check(estimator)\n"
    )
    environment = os.environ | {"SCIPY_ARRAY_API": "1"}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)


@pytest.mark.parametrize("estimator", TOPIC_MODELS, ids=repr)
def test_they_work_after_a_vectorizer(estimator):
    pipeline = make_pipeline(CountVectorizer(), clone(estimator))

    proportions = pipeline.fit_transform(TEXTS)

    assert proportions.shape == (30, pipeline[-1].n_components_)
    np.testing.assert_allclose(proportions.sum(axis=1), 1.0)
    np.testing.assert_array_equal(pipeline.transform(TEXTS), proportions)
    assert np.isfinite(pipeline.score(TEXTS))
    assert pipeline[-1].n_features_in_ == len(pipeline[0].vocabulary_)
    unknown = pipeline.transform(["words never met"])
    np.testing.assert_allclose(unknown.sum(), 1.0)


@pytest.mark.parametrize("estimator", DOCUMENT_MIXTURES, ids=repr)
def test_mixtures_of_documents_work_after_a_vectorizer(estimator):
    pipeline = make_pipeline(CountVectorizer(dtype=np.float32), clone(estimator)).fit(TEXTS)

    shares = pipeline.predict_proba(TEXTS)
    kinds = pipeline.predict(TEXTS)

    assert shares.shape == (30, pipeline[-1].n_components_)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    np.testing.assert_array_equal(kinds, shares.argmax(axis=1))
    assert isinstance(estimator, DPMultinomialMixture) or kinds[0] == kinds[6] != kinds[3]
    np.testing.assert_array_equal(clone(pipeline).fit(TEXTS).predict(TEXTS), kinds)


@pytest.mark.parametrize("estimator", VECTOR_MIXTURES, ids=repr)
def test_mixtures_of_vectors_work_after_a_scaler(estimator):
    values = np.random.default_rng(0).normal(size=(60, 2)) * [1, 100]
    values[:30] += [8, 800]

    longer = clone(estimator).set_params(max_iter=30)  # births come after some laps
    kinds = make_pipeline(StandardScaler(), longer).fit_predict(values)

    assert kinds.shape == (60,)
    assert not set(kinds[:30]) & set(kinds[30:])


def test_grid_search_takes_the_better_number_of_topics():
    counts = CountVectorizer().fit_transform(TEXTS)

    search = GridSearchCV(LDA(max_iter=20), {"n_components": [1, 2]}, cv=3).fit(counts)

    assert search.best_params_ == {"n_components": 2}
    assert search.best_score_ == max(search.cv_results_["mean_test_score"])
    assert search.transform(counts).shape == (30, 2)


def test_grid_search_takes_the_better_number_of_components():
    values = np.random.default_rng(0).normal(size=(90, 2))
    values[:45] += 9

    search = GridSearchCV(
        make_pipeline(StandardScaler(), GaussianMixture()),
        {"gaussianmixture__n_components": [1, 2]},
    ).fit(np.random.default_rng(1).permutation(values))

    assert search.best_params_ == {"gaussianmixture__n_components": 2}


@pytest.mark.parametrize("estimator", ALL, ids=repr)
def test_joblib_keeps_every_bit(estimator):
    values = np.random.default_rng(0).poisson(3.0, size=(40, 4)).astype(float)
    fitted = clone(estimator).fit(values)
    file = io.BytesIO()
    joblib.dump(fitted, file)
    file.seek(0)

    again = joblib.load(file)

    use = "transform" if hasattr(fitted, "transform") else "predict_proba"
    np.testing.assert_array_equal(getattr(again, use)(values), getattr(fitted, use)(values))
    assert repr(again) == repr(fitted)
    if estimator.learner in ("memoized", "stochastic"):
        again.partial_fit(values)
        fitted.partial_fit(values)
        np.testing.assert_array_equal(getattr(again, use)(values), getattr(fitted, use)(values))


def test_set_output_names_rows_and_columns():
    pandas = pytest.importorskip("pandas")
    counts = pandas.DataFrame(
        CountVectorizer().fit_transform(TEXTS).toarray(), index=[f"text{n}" for n in range(30)]
    )
    counts.columns = [f"w{column}" for column in counts.columns]
    model = LDA(3, max_iter=4).set_output(transform="pandas")

    found = model.fit_transform(counts)

    assert isinstance(found, pandas.DataFrame)
    assert list(found.columns) == list(model.get_feature_names_out()) == ["lda0", "lda1", "lda2"]
    assert list(found.index) == list(counts.index)
    np.testing.assert_array_equal(
        model.set_output(transform="default").transform(counts), found.to_numpy()
    )
    np.testing.assert_array_equal(clone(model).fit_transform(counts), found.to_numpy())
    with pytest.raises(
        OptionError, match="transform: must be one of default, pandas, polars, but is 'excel'"
    ):
        model.set_output(transform="excel")


def test_the_container_of_all_transformers_is_obeyed():
    pandas = pytest.importorskip("pandas")
    counts = CountVectorizer().fit_transform(TEXTS)
    union = FeatureUnion([("topics", LDA(2, max_iter=2)), ("more", HDP(3, moves=(), max_iter=2))])

    with config_context(transform_output="pandas"):
        found = union.fit_transform(counts)

    assert isinstance(found, pandas.DataFrame)
    expected = ["topics__lda0", "topics__lda1", *(f"more__hdp{k}" for k in range(3))]
    assert list(found.columns) == expected == list(union.get_feature_names_out())
    with config_context(transform_output="pandas"):
        plain = LDA(2, max_iter=2).fit(counts).set_output(transform="default").transform(counts)
    assert isinstance(plain, np.ndarray)


@pytest.mark.parametrize("estimator", ALL, ids=repr)
def test_before_fit_the_error_is_scikit_learn_s_too(estimator):
    use = "transform" if hasattr(estimator, "transform") else "predict"

    with pytest.raises(NotFittedError) as caught:
        getattr(estimator, use)([[1.0, 2.0]])

    assert isinstance(caught.value, UnfittedError)
    assert "\n" not in str(caught.value)


def test_parameters_are_those_of_the_constructor():
    model = LDA(7, learner="full", random_state=None)

    assert repr(model) == "LDA(learner='full', n_components=7, random_state=None)"
    assert LDA(**model.get_params()).get_params() == model.get_params()
    assert model.set_params(n_components=3, sparsity=2) is model
    assert (model.n_components, model.sparsity) == (3, 2)
    with pytest.raises(OptionError, match=r"LDA: Invalid parameter 'topics' .* parameters: n_comp"):
        model.set_params(topics=3)


def test_only_the_estimators_import_scikit_learn():
    code = """
import sys
import sparsetopics
from sparsetopics import Corpus, OptionError, VectorCorpus
from sparsetopics.cli.main import main; main(["--help"], standalone_mode=False)
import sparsetopics.runs.train, sparsetopics.runs.resume, sparsetopics.cli.train
assert "sklearn" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_numba_waits_for_the_first_fit():
    """It takes half a second, and estimators are often only made or cloned."""
    code = (
        "from sparsetopics import HDP, GaussianMixture\n"
        "from sklearn.base import clone\n"
        "print(clone(HDP(3)), clone(GaussianMixture(likelihood='diagonal-gaussian')))\n"
        "import sys; assert 'numba' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_arguments_of_another_estimator_are_none_of_ours():
    """Names with two underscores are those of estimators within estimators, which we have not."""
    with pytest.raises(OptionError, match="LDA: Invalid parameter 'n_components__x'"):
        LDA().set_params(n_components__x=3)


def test_an_unfitted_error_survives_a_pickle():
    """It has both bases, and comes back from the processes of joblib."""
    with pytest.raises(NotFittedError) as caught:
        GaussianMixture().sample()

    again = pickle.loads(pickle.dumps(caught.value))

    assert (type(again), str(again)) == (type(caught.value), str(caught.value))
