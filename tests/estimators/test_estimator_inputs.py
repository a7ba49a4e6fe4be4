"""What estimators read, and what they refuse to."""

import warnings
from functools import cache

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
from sparsetopics.base.errors import (
    OptionError,
    ShapeError,
    SourceError,
    SparsetopicsError,
    VocabularyError,
)

COUNTS = np.random.default_rng(0).poisson(0.8, (40, 12))
NAMES = [f"column{v}" for v in range(12)]


@cache
def expected():
    return LDA(3, max_iter=3).fit(sparse.csr_array(COUNTS))


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

    np.testing.assert_array_equal(model.components_, expected().components_)
    np.testing.assert_array_equal(model.transform(given), expected().transform(COUNTS))
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
        expected().get_feature_names_out(NAMES[:1])


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
    with pytest.raises(
        ShapeError, match=r"in the same order as .*should match those that were passed"
    ):
        use(frame[NAMES[::-1]])
    with pytest.raises(ShapeError, match="unseen at fit time: other0, other1"):
        use(frame.rename(columns={"column0": "other0", "column1": "other1"}))
    with pytest.raises(
        ShapeError, match="names seen at fit time, yet now missing: column10, column11"
    ):
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

    np.testing.assert_array_equal(found, expected().transform(COUNTS))


@pytest.mark.parametrize("kind", [LDA, DPMultinomialMixture])
def test_a_corpus_of_other_words_is_refused(kind):
    model = kind(2, max_iter=2).fit(Corpus.from_csr(COUNTS, NAMES))
    use = model.transform if hasattr(model, "transform") else model.predict

    with pytest.raises(
        VocabularyError, match=r"X: its 12 words are not the 12 words that were fitted\."
    ):
        use(Corpus.from_csr(COUNTS, NAMES[::-1]))


@pytest.mark.parametrize("kind", [LDA, MultinomialMixture])
def test_rows_without_words_alone_are_answered(kind):
    model = kind(2, max_iter=2).fit(COUNTS)
    empty = sparse.csr_array((3, 12))

    if kind is LDA:
        np.testing.assert_allclose(model.transform(empty), 0.5)
        with pytest.raises(ShapeError, match="X: has no count above zero"):
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
        (np.nan, "row 3, column 5: Input X contains NaN"),
        (np.inf, "row 3, column 5: Input X contains infinity"),
        (1e39, "row 3, column 5: Input X contains .* or a value too large"),
        (
            -2.0,
            "row 3, column 5: counts must be zero or more, but found -2. Negative values in data",
        ),
    ],
)
def test_odd_counts_are_shown(container, value, message):
    with pytest.raises(ShapeError, match=message) as caught:
        LDA(2).fit(container(changed(3, 5, value)))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (COUNTS[0], "X: Expected 2D array, got 1D array instead. Reshape your data"),
        (COUNTS[None], "got 3D array"),
        (COUNTS[:0], r"X: Found array with 0 sample\(s\) \(shape=\(0, 12\)\) while a minimum of 1"),
        (COUNTS[:, :0], r"X: Found array with 0 feature\(s\) \(shape=\(40, 0\)\)"),
        (sparse.csr_array((0, 12)), r"X: Found array with 0 sample\(s\) \(shape=\(0, 12\)\)"),
        (COUNTS * 1j, "Complex data not supported"),
        (sparse.csr_array(COUNTS * 1j), "Complex data not supported"),
        (
            np.array([["a", "b"]]),
            r"X: expected real numbers, but found texts\. .* such as df\['text'\], "
            r"or a Corpus, such as .*from_tokens\(lists\); fit\(df, text='text'\) reads tables\.",
        ),
        (np.zeros((4, 3)), "X: has no count above zero."),
        (VectorCorpus.from_array(np.eye(3)), "X: expected a Corpus, but found a VectorCorpus."),
    ],
)
@pytest.mark.parametrize("kind", [LDA, MultinomialMixture])
def test_what_are_no_documents_is_refused(kind, rows, message):
    with pytest.raises(ShapeError, match=message) as caught:
        kind(2).fit(rows)
    assert "\n" not in str(caught.value)


def test_what_are_no_vectors_is_refused():
    for rows, message in (
        (sparse.csr_array(COUNTS), "X: Sparse data was passed, but dense data is required."),
        (Corpus.from_csr(COUNTS, NAMES), "X: expected a VectorCorpus, but found a Corpus."),
        (COUNTS[:1], r"1 sample\(s\) while a minimum of 2 is required"),
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
    np.testing.assert_array_equal(model.transform(COUNTS), expected().transform(COUNTS))


def csr(**arrays):
    """A sound matrix of two rows and three columns with some arrays replaced, unnoticed."""
    return with_arrays(sparse.csr_array(np.array([[1, 2, 0], [0, 0, 3]])), arrays)


def with_arrays(matrix, arrays):
    for name, array in arrays.items():
        setattr(matrix, name, array)
    return matrix


def made_as(form, **arrays):
    return with_arrays(csr().asformat(form), arrays)


MALFORMED = {
    "an id beyond the width": csr(indices=np.array([0, 1, 7])),
    "an id below zero": csr(indices=np.array([0, 1, -1])),
    "starts that fall": csr(indptr=np.array([0, 3, 2])),
    "starts beyond the entries": csr(indptr=np.array([0, 2, 9])),
    "too few starts": csr(indptr=np.array([0, 3])),
    "a first start above zero": csr(indptr=np.array([1, 2, 3])),
    "a start below zero": csr(indptr=np.array([0, -2, 3])),
    "too few ids": csr(indices=np.array([0, 1])),
    "too few counts": csr(data=np.array([1.0, 2.0])),
    "ids with fractions": csr(indices=np.array([0.5, 1, 2])),
    "starts with fractions": csr(indptr=np.array([0, 2.5, 3])),
    "ids of objects": csr(indices=np.array([0, 1, None])),
    "ids as a matrix": csr(indices=np.array([[0, 1, 2]])),
    "ids beyond 64 bits": csr(indices=np.array([0, 1, 2**64 - 1], np.uint64)),
    "no ids": csr(indices=None),
    "counts of objects": csr(data=np.array([1, "a", None], object)),
    "counts of text": csr(data=np.array(["1", "2", "3"])),
    "counts as a list": csr(data=[1, 2, 3]),
    "csc, an id beyond": made_as("csc", indices=np.array([0, 0, 9])),
    "csc, starts beyond": made_as("csc", indptr=np.array([0, 1, 2, 9])),
    "csc, too few ids": made_as("csc", indices=np.array([0, 0])),
    "bsr, an id beyond": made_as("bsr", indices=np.array([0, 1, 99])),
    "bsr, starts beyond": made_as("bsr", indptr=np.array([0, 2, 99])),
    "coo, an id beyond": made_as("coo", coords=(np.array([0, 0, 9]), np.array([0, 1, 2]))),
    "coo, an id below zero": made_as("coo", coords=(np.array([0, 0, -1]), np.array([0, 1, 2]))),
    "coo, ids of other lengths": made_as("coo", coords=(np.array([0, 0]), np.array([0, 1, 2]))),
    "coo, too few counts": made_as("coo", data=np.array([1])),
}


@pytest.mark.parametrize("what", MALFORMED)
def test_a_malformed_matrix_is_refused_before_compiled_code_reads_it(what):
    matrix, model = MALFORMED[what], LDA(2, max_iter=1).fit(COUNTS[:, :3])

    for use in (LDA(1).fit, MultinomialMixture(1).fit, model.transform, model.partial_fit):
        with pytest.raises(ShapeError, match=r"^X: ") as caught:
            use(matrix)
        assert "\n" not in str(caught.value)
    with pytest.raises(ShapeError, match=r"^counts: "):
        Corpus.from_csr(matrix, ["a", "b", "c"])


def test_ids_beyond_the_words_are_refused():
    with pytest.raises(ShapeError, match=r"words: expected 3 different words, .* found 2 words"):
        Corpus.from_csr(csr(), ["a", "b"])


def read_only(counts):
    matrix = sparse.csr_array(counts)
    for array in (matrix.data, matrix.indices, matrix.indptr):
        array.flags.writeable = False
    return matrix


def swapped(counts):
    """Every array of the matrix in the other byte order."""
    matrix = sparse.csr_array(counts)
    for name in ("data", "indices", "indptr"):
        array = getattr(matrix, name)
        setattr(matrix, name, array.astype(array.dtype.newbyteorder(">")))
    return matrix


UNUSUAL = {
    "big-endian": lambda counts: counts.astype(">i8"),
    "big-endian float32": lambda counts: counts.astype(">f4"),
    "big-endian csr": swapped,
    "read-only csr": read_only,
    "masked nowhere": lambda counts: np.ma.array(counts, mask=False),
    "bsr": sparse.bsr_array,
    "dok": sparse.dok_array,
    "coo": sparse.coo_array,
}


@pytest.mark.parametrize("form", UNUSUAL)
def test_unusual_matrices_are_read_as_any_other(form):
    given = UNUSUAL[form](COUNTS)

    np.testing.assert_array_equal(LDA(3, max_iter=3).fit(given).components_, expected().components_)
    corpus = Corpus.from_csr(given, NAMES)
    assert corpus.n_tokens == COUNTS.sum()
    if not sparse.issparse(given):
        assert VectorCorpus.from_array(given).n_items == 40


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([[1, 2], [3]], r"X: expected rows of equally many numbers, but is \[\[1, 2\], \[3\]\]\.$"),
        (np.array([[1, 2], [3, "a"]], object), "X, row 1, column 1: expected a number, but is 'a'"),
        (np.array([[1, [2]]], object), r"X, row 0, column 1: expected a number, but is \[2\]"),
        (
            np.array([[10**400, 1]], object),
            "X, row 0, column 0: expected a number, but is 10,000",
        ),
        (np.ma.array([[1, 2]], mask=[[0, 1]]), "X, row 0, column 1: is masked. Replace it"),
        (
            np.array([["one text", "another"]]),
            r"take a list of texts or of lists of words, a column such as df\['text'\], or a C",
        ),
        ((words for words in [["owl"], ["cat"]]), "but is <generator.* a list of texts or of list"),
        ([{"owl", "cat"}, {"dog"}], "expected a number, but is {.* a list of texts or of lists"),
        (None, "X: expected a matrix of numbers, but is None"),
        ({"a": [1]}, "X: expected a matrix of numbers, but is {'a': "),
    ],
)
@pytest.mark.parametrize("kind", [LDA, GaussianMixture])
def test_elements_that_are_no_numbers_are_shown(kind, values, message):
    with pytest.raises(ShapeError, match=message) as caught:
        kind(1).fit(values)
    assert "\n" not in str(caught.value)


def test_columns_of_pandas_may_be_nullable():
    pandas = pytest.importorskip("pandas")
    columns = {name: pandas.array(COUNTS[:, n], "Int64") for n, name in enumerate(NAMES)}
    frame = pandas.DataFrame(columns)

    found = LDA(3, max_iter=3).fit(frame)

    np.testing.assert_array_equal(found.components_, expected().components_)
    frame.loc[4, "column2"] = pandas.NA
    with pytest.raises(ShapeError, match="X, row 4, column 2: expected a number, but is <NA>"):
        LDA(3).fit(frame)


def test_a_column_name_that_utf8_cannot_hold_is_refused():
    pandas = pytest.importorskip("pandas")
    names = pandas.Index(["a", "\ud800"], dtype=object)

    with pytest.raises(ShapeError, match=r"X.columns\[1\]: .* is half of a surrogate pair"):
        LDA(1).fit(pandas.DataFrame([[1, 2], [3, 4]], columns=names))


def test_counts_that_vanish_in_float32_are_no_counts():
    with pytest.raises(ShapeError, match="X: has no count above zero"):
        LDA(1).fit(np.full((2, 2), 1e-320))


def texts_as(kind):
    texts = ["the cat sat", "the dog ran", None]
    if kind in ("pandas", "categorical", "object"):
        pandas = pytest.importorskip("pandas")
        series = pandas.Series(texts, index=[7, 8, 9], dtype="object" if kind == "object" else None)
        return series.astype("category") if kind == "categorical" else series
    if kind == "polars":
        return pytest.importorskip("polars").Series(texts)
    arrow = pytest.importorskip("pyarrow")
    return {
        "tuple": tuple(texts),
        "generator": (text for text in texts),
        "numpy": np.array(texts, object),
        "not a number": [*texts[:2], float("nan")],
        "arrow": arrow.array(texts),
        "chunks of arrow": arrow.chunked_array([texts[:1], texts[1:]]),
        "values": dict(enumerate(texts)).values(),
    }[kind]


@pytest.mark.filterwarnings("ignore:Skipped")
@pytest.mark.parametrize(
    "kind",
    [
        "pandas",
        "categorical",
        "object",
        "polars",
        "tuple",
        "generator",
        "numpy",
        "not a number",
        "arrow",
        "chunks of arrow",
        "values",
    ],
)
def test_texts_may_come_in_any_sequence(kind):
    expected = Corpus.from_texts(["the cat sat", "the dog ran", None])

    found = Corpus.from_texts(texts_as(kind))

    assert found.vocabulary.words == expected.vocabulary.words
    assert (found.n_docs, found.n_skipped) == (2, 1)


@pytest.mark.parametrize("names", ["words", "doc_ids"])
def test_names_may_come_in_a_series(names):
    pandas = pytest.importorskip("pandas")
    given = {"words": list("abc"), "doc_ids": ["first", "second"]}
    series = pandas.Series(given[names], index=range(5, 5 + len(given[names])))

    found = Corpus.from_csr(csr(), **(given | {names: series}))

    assert found.vocabulary.words == ("a", "b", "c")
    assert list(found.doc_ids()) == [["first", "second"]]


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["fine", "half \ud83d of one"], r"texts\[1\]: character 5, \\ud83d, is half of a surr"),
        (
            {"a": "text"},
            "must be a list of texts or word lists, but is {'a': 'text'}. Pass one of its columns",
        ),
        (b"bytes", "must be a list of texts or word lists, but is b'bytes'"),
        (np.array("one"), "texts: must be a list of texts or word lists, but is array"),
        ([b"bytes"], r"texts\[0\]: must be a string or None, but is b'bytes'"),
        ([["nested"]], r"texts\[0\]: must be a string or None, but is \['nested'\]"),
    ],
)
def test_what_are_no_texts_is_a_value_error_of_ours(texts, message):
    with pytest.raises(ValueError, match=message) as caught:
        Corpus.from_texts(texts)
    assert isinstance(caught.value, SparsetopicsError)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_data_frame_is_no_list_of_texts(library):
    frame = pytest.importorskip(library).DataFrame({"text": ["one", "two"]})
    model = LDA(2, max_iter=2).fit(["one two", "two three"])

    for ask in (Corpus.from_texts, model.infer):
        with pytest.raises(
            SourceError, match=r"but is an object of type DataFrame\. Pass one of its columns, such"
        ):
            ask(frame)


@pytest.mark.parametrize("n_jobs", [-1, 2])
def test_any_number_of_threads_gives_the_same_bits(n_jobs):
    values = np.random.default_rng(1).normal(size=(40, 3))
    topics = LDA(3, max_iter=3, n_jobs=n_jobs).fit(COUNTS)
    mixture = GaussianMixture(2, max_iter=3, n_jobs=n_jobs).fit(values)
    alone = GaussianMixture(2, max_iter=3).fit(values)

    np.testing.assert_array_equal(topics.transform(COUNTS), expected().transform(COUNTS))
    assert topics.score(COUNTS) == expected().score(COUNTS)
    np.testing.assert_array_equal(mixture.predict_proba(values), alone.predict_proba(values))
    np.testing.assert_array_equal(mixture.predict(values), alone.predict(values))
    assert mixture.score(values) == alone.score(values)
