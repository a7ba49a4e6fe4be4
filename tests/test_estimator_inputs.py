"""What estimators read, and what they refuse to."""

import warnings

import numpy as np
import pytest
from scipy import sparse

from sparsetopics import (
    HDP,
    LDA,
    Corpus,
    DPMultinomialMixture,
    GaussianMixture,
    MultinomialMixture,
    VectorCorpus,
)
from sparsetopics.base.errors import OptionError, ShapeError, VocabularyError

COUNTS = np.random.default_rng(0).poisson(0.8, (40, 12))
EXPECTED = LDA(3, max_iter=3).fit(sparse.csr_array(COUNTS))
NAMES = [f"column{v}" for v in range(12)]


def wide_indices(counts):
    matrix = sparse.csr_array(counts)
    matrix.indices, matrix.indptr = (
        array.astype(np.int64) for array in (matrix.indices, matrix.indptr)
    )
    return matrix


def with_stored_zeros(counts):
    matrix = sparse.csr_array(counts + 1)
    matrix.data -= 1
    return matrix


def unsorted_and_twice(counts):
    """Every count as ones at the same place, in an order of their own."""
    rows, columns = np.nonzero(counts)
    times = counts[rows, columns]
    order = np.random.default_rng(0).permutation(times.sum())
    ones = np.ones(times.sum(), np.int8)
    where = np.repeat(rows, times)[order], np.repeat(columns, times)[order]
    return sparse.coo_array((ones, where), shape=counts.shape)


FORMS = {
    "a list": lambda counts: counts.tolist(),
    "int8": lambda counts: counts.astype(np.int8),
    "float16": lambda counts: counts.astype(np.float16),
    "objects": lambda counts: counts.astype(object),
    "by column": np.asfortranarray,
    "csr_matrix of uint8": lambda counts: sparse.csr_matrix(counts.astype(np.uint8)),
    "csc of float32": lambda counts: sparse.csc_array(counts.astype(np.float32)),
    "lil": sparse.lil_array,
    "64-bit indices": wide_indices,
    "stored zeros": with_stored_zeros,
    "duplicates": unsorted_and_twice,
}


@pytest.mark.parametrize("form", FORMS)
def test_counts_are_the_same_in_any_form(form):
    given = FORMS[form](COUNTS)

    model = LDA(3, max_iter=3).fit(given)

    np.testing.assert_array_equal(model.components_, EXPECTED.components_)
    np.testing.assert_array_equal(model.transform(given), EXPECTED.transform(COUNTS))
    assert model.n_features_in_ == 12
    assert not hasattr(model, "feature_names_in_")


def test_many_duplicates_do_not_overflow():
    """Of small integers, which would if they were summed as they are."""
    ones = sparse.coo_array((np.ones(300, np.uint8), (np.zeros(300, int), np.zeros(300, int))))
    truth = sparse.coo_array((np.ones(300, bool), (np.zeros(300, int), np.zeros(300, int))))

    for counts in (ones, truth):
        assert LDA(1, max_iter=1).fit(counts).components_[0, 0] == pytest.approx(300.1)


@pytest.mark.parametrize("form", ["csr", "coo"])
def test_what_is_given_stays_as_it_is(form):
    given = with_stored_zeros(COUNTS) if form == "csr" else unsorted_and_twice(COUNTS)
    before = given.copy()

    LDA(2, max_iter=1).fit(given).transform(given)

    np.testing.assert_array_equal(given.data, before.data)
    np.testing.assert_array_equal(given.toarray(), before.toarray())


def test_names_of_features_are_asked_for_by_those_that_were_fitted():
    pandas = pytest.importorskip("pandas")
    model = LDA(2, max_iter=1).fit(pandas.DataFrame(COUNTS, columns=NAMES))

    assert model.get_feature_names_out(NAMES).tolist() == ["lda0", "lda1"]
    for names in (NAMES[:1], NAMES[::-1]):
        with pytest.raises(ShapeError, match="input_features is not equal to feature_names_in_"):
            model.get_feature_names_out(names)
    with pytest.raises(ShapeError, match=r"equal to number of features \(12\), got 1"):
        EXPECTED.get_feature_names_out(NAMES[:1])


@pytest.mark.parametrize("kind", [LDA, HDP, MultinomialMixture, GaussianMixture])
def test_names_of_data_frames_are_kept_and_compared(kind):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(COUNTS, columns=NAMES)
    model = kind(2, max_iter=2).fit(frame)
    use = model.transform if hasattr(model, "transform") else model.predict

    assert model.feature_names_in_.tolist() == NAMES
    assert model.feature_names_in_.dtype == object
    if kind is not GaussianMixture:
        assert model.vocabulary_.words == tuple(NAMES)
    use(frame)
    with pytest.raises(ShapeError, match=r"another order.*should match those that were passed"):
        use(frame[NAMES[::-1]])
    with pytest.raises(ShapeError, match=r"unseen at fit time \(other0, other1\)"):
        use(frame.rename(columns={"column0": "other0", "column1": "other1"}))
    with pytest.raises(ShapeError, match=r"names seen at fit time missing \(column10, column11\)"):
        use(frame[NAMES[:10]])
    with pytest.warns(UserWarning, match="X does not have valid feature names, but"):
        use(COUNTS)
    model.fit(COUNTS)
    assert not hasattr(model, "feature_names_in_")
    with pytest.warns(UserWarning, match="X has feature names, but .* was fitted without"):
        use(frame)


def test_names_that_are_no_strings_are_no_names():
    pandas = pytest.importorskip("pandas")

    model = LDA(2, max_iter=2).fit(pandas.DataFrame(COUNTS))

    assert not hasattr(model, "feature_names_in_")
    mixed = pandas.DataFrame(COUNTS, columns=[0, *NAMES[1:]])
    with pytest.raises(TypeError, match="only supported if all input features have string names"):
        LDA(2).fit(mixed)


def test_a_data_frame_may_follow_the_corpus_of_its_words():
    pandas = pytest.importorskip("pandas")
    model = LDA(3, max_iter=3).fit(Corpus.from_csr(COUNTS, NAMES))

    found = model.transform(pandas.DataFrame(COUNTS, columns=NAMES))

    np.testing.assert_array_equal(found, EXPECTED.transform(COUNTS))


@pytest.mark.parametrize("kind", [LDA, DPMultinomialMixture])
def test_a_corpus_of_other_words_is_refused(kind):
    model = kind(2, max_iter=2).fit(Corpus.from_csr(COUNTS, NAMES))
    use = model.transform if hasattr(model, "transform") else model.predict

    with pytest.raises(VocabularyError, match=r"another vocabulary \(12 words\), wanted the 12"):
        use(Corpus.from_csr(COUNTS, NAMES[::-1]))


@pytest.mark.parametrize("kind", [LDA, MultinomialMixture])
def test_rows_without_words_alone_are_answered(kind):
    model = kind(2, max_iter=2).fit(COUNTS)
    empty = sparse.csr_array((3, 12))

    if kind is LDA:
        np.testing.assert_allclose(model.transform(empty), 0.5)
        with pytest.raises(ShapeError, match="X: found no count above zero"):
            model.score(empty)
    else:
        np.testing.assert_allclose(model.predict_proba(empty), np.tile(model.weights_, (3, 1)))
        assert model.score(empty) == 0.0


def changed(row, column, value):
    values = COUNTS.astype(float)
    values[row, column] = value
    return values


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.nan, "row 3, column 5: found nan, wanted a finite .*Input X contains NaN"),
        (np.inf, "row 3, column 5: found inf, .*Input X contains infinity"),
        (1e39, r"row 3, column 5: found 1e\+39, .*a value too large"),
        (-2.0, "row 3, column 5: found -2, wanted counts of zero.*Negative values in data"),
    ],
)
def test_odd_counts_are_shown(container, value, message):
    with pytest.raises(ShapeError, match=message) as caught:
        LDA(2).fit(container(changed(3, 5, value)))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (COUNTS[0], r"shape \(12,\).*Expected 2D array, got 1D array instead. Reshape your data"),
        (COUNTS[None], "got 3D array"),
        (COUNTS[:0], r"no samples.*0 sample\(s\) \(shape=\(0, 12\)\) while a minimum of 1"),
        (COUNTS[:, :0], r"no features.*0 feature\(s\) \(shape=\(40, 0\)\)"),
        (sparse.csr_array((0, 12)), "found no samples, wanted at least one"),
        (COUNTS * 1j, "Complex data not supported"),
        (sparse.csr_array(COUNTS * 1j), "Complex data not supported"),
        ([["a", "b"]], "wanted real numbers. Corpus.from_texts makes rows of counts from texts"),
        (np.zeros((4, 3)), "X: found no count above zero, wanted at least one"),
        (VectorCorpus.from_array(np.eye(3)), "X: found VectorCorpus, wanted Corpus"),
    ],
)
@pytest.mark.parametrize("kind", [LDA, MultinomialMixture])
def test_what_are_no_documents_is_refused(kind, rows, message):
    with pytest.raises(ShapeError, match=message) as caught:
        kind(2).fit(rows)
    assert "\n" not in str(caught.value)


def test_what_are_no_vectors_is_refused():
    for rows, message in (
        (sparse.csr_array(COUNTS), "found a sparse matrix, wanted an array"),
        (Corpus.from_csr(COUNTS, NAMES), "X: found Corpus, wanted VectorCorpus"),
        (COUNTS[:1], "one item, wanted at least 2.*1 sample"),
    ):
        with pytest.raises(ShapeError, match=message):
            GaussianMixture(1).fit(rows)


def test_a_failed_fit_warns_of_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ShapeError):
            LDA(2).fit(changed(0, 0, np.nan))


@pytest.mark.parametrize(
    "use",
    [
        lambda model: model.fit(changed(0, 0, np.nan)),
        lambda model: model.fit(COUNTS[:, :5], on_lap=lambda entry: 1 / 0),
        lambda model: model.set_params(sparsity=9).fit(COUNTS[:, :5]),
    ],
)
def test_an_estimator_that_cannot_be_fitted_stays_as_it_was(use):
    model = LDA(3, max_iter=3).fit(COUNTS)

    with pytest.raises((ShapeError, OptionError, ZeroDivisionError)):
        use(model)

    assert model.n_features_in_ == 12
    np.testing.assert_array_equal(model.transform(COUNTS), EXPECTED.transform(COUNTS))
