"""What estimators read: corpora, texts, arrays, sparse matrices, data frames and lists of rows.

The hints of errors quote scikit-learn's messages where its checks of estimators look for them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Sized
from itertools import chain
from types import NoneType
from typing import Any, TypeAlias, TypeGuard

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, sparray, spmatrix

from sparsetopics.base.batches import FloatArray
from sparsetopics.base.errors import ShapeError, VocabularyError, warn_user
from sparsetopics.corpora.batching import begin_alike, under
from sparsetopics.corpora.corpus import AnyCorpus, Corpus, VectorCorpus
from sparsetopics.corpora.memory_arrays import (
    ElementError,
    Numbers,
    check_utf8,
    csr_of,
    is_list,
    is_missing,
    numbers_of,
)
from sparsetopics.corpora.readers.blocks import ValueType, kept_type
from sparsetopics.corpora.readers.options import listed
from sparsetopics.corpora.text.vocabulary import Vocabulary
from sparsetopics.options.option import check_type, refuse

Data: TypeAlias = AnyCorpus | ArrayLike | sparray | spmatrix
GIVEN = "the given corpus"  # what pages call a corpus in memory
Names = NDArray[np.object_]


def first_rows(X: Data, estimator: str, *, vectors: bool) -> AnyCorpus:
    """Rows to fit, without documents that have no words. Texts are cut into words with the defaults
    of ``Corpus.from_texts``, and lists of words are taken as they are. Messages name the
    ``estimator``.

    Raises ShapeError unless they are finite real numbers (for documents: zero or more, and not all
    zero), and TypeError for objects that are not numbers.
    """
    if not vectors and _have_words(X):
        from sparsetopics.corpora.memory_corpus import corpus_of_texts

        return Corpus(**vars(corpus_of_texts(X)))
    corpus = _corpus_of(X, estimator, feature_names_of(X), vectors=vectors)
    if not corpus.row_groups:
        raise ShapeError("X", "has no count above zero")
    if vectors and corpus.sizes.n_docs == 1:
        raise ShapeError("X", "Found array with 1 sample(s) while a minimum of 2 is required")
    return corpus


def more_rows(
    X: Data, estimator: str, n_columns: int, fitted: Names | None, vocabulary: Vocabulary | None
) -> AnyCorpus:
    """Rows with the columns that were fitted, whose names are ``fitted`` if there were any. Texts
    are cut into words as those of the ``vocabulary`` were, which is None for vectors.

    Raises what ``first_rows`` raises, but accepts rows of which none has a word. Raises ShapeError
    or VocabularyError for other columns.
    """
    if vocabulary is not None and _have_words(X):
        from sparsetopics.corpora.memory_corpus import corpus_of_csr, every_text

        every = Corpus(**vars(every_text(X, vocabulary)))
        if not every.row_groups:
            return every
        ids = list(chain.from_iterable(every.doc_ids()))
        known = corpus_of_csr(every.to_csr(), vocabulary.words, ids, may_be_empty=True)
        return Corpus(**{**vars(known), "n_unknown_tokens": every.n_unknown_tokens})
    names = feature_names_of(X)
    if fitted is not None and names is not None:
        _check_names(fitted, names)
    corpus = _corpus_of(X, estimator, fitted, vectors=vocabulary is None)
    if isinstance(X, Corpus) and vocabulary is not None:
        if begin_alike(vocabulary, X.vocabulary):
            return under(X, vocabulary)
        if X.n_words == n_columns:
            problem = f"its {n_columns:,} words are not the {n_columns:,} words that were fitted"
            raise VocabularyError("X", problem)
    if corpus.width != n_columns:
        expects = f"{estimator} is expecting {n_columns} features as input"
        hint = "Make X with vocabulary=model.vocabulary_." if isinstance(X, Corpus) else ""
        raise ShapeError(estimator, f"X has {corpus.width} features, but {expects}", hint)
    # Names may be the fitted words, which may come from a corpus or a run folder.
    fitted_words = None if vocabulary is None else vocabulary.words
    are_words = names is not None and tuple(names) == fitted_words
    if (fitted is None) != (names is None) and not are_words:
        has = "does not have valid" if names is None else "has"
        was = "with" if names is None else "without"
        said = f"X {has} feature names, but {estimator} was fitted {was} feature names"
        warn_user(said, UserWarning)
    return corpus


def answers_for(
    X: Data, corpus: AnyCorpus, parts: Iterable[FloatArray], default: FloatArray | float
) -> FloatArray:
    """Results of the batches of ``more_rows``, one after the other, as one row for each row of X.

    ``default`` is the result of a row without words.
    """
    # The empty array gives the shape if there is no batch at all.
    found = np.concatenate([np.zeros((0, *np.shape(default))), *parts])
    if isinstance(X, Corpus) or not isinstance(corpus, Corpus):
        return found
    rows = np.empty((corpus.n_docs + corpus.n_skipped, *found.shape[1:]))
    rows[:] = default
    rows[corpus.kept] = found
    return rows


def _have_words(X: Data) -> TypeGuard[Sequence[str | Sequence[str] | None]]:
    """Whether X is a list, a Series or another column whose first value is a text, or a list
    of words or of other objects than numbers, such as the pairs of a bag of words."""
    if hasattr(X, "columns") or isinstance(X, str | bytes | Mapping):
        return False
    if getattr(X, "ndim", 1) != 1 or not (isinstance(X, Sized) and isinstance(X, Iterable)):
        return False
    values = (each.as_py() if isinstance(each, pa.Scalar) else each for each in X)
    full = (v for v in values if not (is_missing(v) or (is_list(v) and not len(v))))
    first = next(full, None)
    first = next(iter(first)) if is_list(first) else first
    return first is None or isinstance(first, str | bytes | tuple | list)


def _corpus_of(X: Data, estimator: str, names: Names | None, *, vectors: bool) -> AnyCorpus:
    """The rows of X; words are numbered unless there are ``names``."""
    wanted = VectorCorpus if vectors else Corpus
    if isinstance(X, wanted):
        return X
    if isinstance(X, Corpus | VectorCorpus):
        raise ShapeError("X", f"expected a {wanted.__name__}, but found a {type(X).__name__}")
    if vectors:
        return VectorCorpus.from_array(_vectors(X))
    from sparsetopics.corpora.memory_corpus import corpus_of_csr

    counts = _counts(X, estimator)
    n_words = counts.shape[1]
    digits = len(str(n_words - 1))
    words = [f"word{v:0{digits}d}" for v in range(n_words)] if names is None else names.tolist()
    return Corpus(**vars(corpus_of_csr(counts, words, may_be_empty=True)))


def has_no_rows(X: Data) -> bool:
    """Whether X is an array, a table or a list without rows."""
    shape = getattr(X, "shape", None)
    return is_list(X) and not len(X) if shape is None else 0 in shape[:1]


def check_fields_of(X: Data | None, fields: Mapping[str, str | None]) -> None:
    """OptionError for an option that names fields, unless X is a corpus: of a table, only the texts
    are read."""
    for option, field in fields.items():
        check_type(option, field, (str, NoneType), "a text or None")
        if not (field is None or X is None or isinstance(X, Corpus | VectorCorpus)):
            problem = f"needs a Corpus that keeps fields, but was given with a {type(X).__name__}"
            made = "Corpus.from_table(table, text_field=…, keep=[…], vocabulary=model.vocabulary_)"
            refuse(option, problem, f"Make one: {made}.")


def column_names_of(X: Any) -> Sequence[str]:  # whatever users pass
    """The names of the columns of a table; none for anything else. OptionError for a table that is
    not in memory."""
    if hasattr(X, "collect"):  # of polars or Spark
        refuse("X", f"is a {type(X).__name__}, which is not in memory yet", "Pass X.collect().")
    names = getattr(X, "column_names", getattr(X, "columns", None))
    return [] if names is None else list(names)


def column_of_texts(X: Any, name: str) -> Any:  # see ``column_names_of``
    """The column of this name; OptionError unless X is a table with one such column."""
    names = column_names_of(X)
    if names.count(name) != 1:
        refuse("text", f"expected one column {name!r} in X, but found {listed(names)}")
    # Columns of relations of DuckDB are relations too.
    return pa.table(X)[name] if hasattr(X, "fetch_arrow_table") else X[name]


def feature_names_of(X: Data) -> Names | None:
    """The column names of a data frame, if they are strings."""
    if isinstance(X, Corpus | VectorCorpus) or not hasattr(X, "columns"):
        return None
    names = np.asarray(X.columns, dtype=object)
    kinds = sorted({type(name).__name__ for name in names.tolist()})
    if "str" in kinds and len(kinds) > 1:
        hint = "Feature names are only supported if all input features have string names."
        raise ElementError("X", f"column names are of types {', '.join(kinds)}", hint)
    if kinds != ["str"]:
        return None
    check_utf8(names.tolist(), "X.columns[{}]".format)
    return names


def _check_names(fitted: Names, names: Names) -> None:
    if np.array_equal(fitted, names):
        return
    unseen, missing = sorted(set(names) - set(fitted)), sorted(set(fitted) - set(names))
    if unseen:
        problem = f"feature names unseen at fit time: {', '.join(unseen[:5])}"
    elif missing:
        problem = f"feature names seen at fit time, yet now missing: {', '.join(missing[:5])}"
    else:
        problem = "feature names must be in the same order as they were in fit"
    hint = "The feature names should match those that were passed during fit."
    raise ShapeError("X", problem, hint)


def _counts(X: ArrayLike | sparray | spmatrix, estimator: str) -> csr_array:
    """Finite numbers of zero or more, (n_rows, n_words), without stored zeros."""
    counts = csr_of(X, "X")
    _check_finite(counts.data, counts, "float32")
    if counts.nnz and counts.data.min() < 0:
        problem = f"counts must be zero or more, but found {counts.data[counts.data < 0][0]:g}"
        hint = f"Negative values in data passed to {estimator}."
        raise ShapeError(_place(counts, counts.data < 0), problem, hint)
    counts.data[counts.data.astype(np.float32) == 0] = 0  # a corpus holds float32
    counts.eliminate_zeros()
    return counts


def _vectors(X: ArrayLike | sparray | spmatrix) -> Numbers:
    """Finite numbers, (n_rows, n_columns)."""
    if isinstance(X, sparray | spmatrix):
        hint = "X.toarray() is dense."
        raise ShapeError("X", "Sparse data was passed, but dense data is required", hint)
    values = numbers_of(X, "X")
    _check_finite(values, values, kept_type(values.dtype))
    return values


def _check_finite(data: Numbers, X: csr_array | Numbers, kind: ValueType) -> None:
    """ShapeError unless ``data``, the numbers of X, are finite in this type."""
    largest = np.finfo(kind).max
    if data.dtype.kind != "f" or not data.size or max(data.max(), -data.min()) <= largest:
        return
    odd = ~(np.abs(data) <= largest)  # NaN compares false
    problem = f"Input X contains infinity or a value too large for dtype('{kind}')"
    if np.isnan(data[odd][0]):
        problem = "Input X contains NaN"
    raise ShapeError(_place(X, odd), problem)


def _place(X: csr_array | Numbers, odd: NDArray[np.bool_]) -> str:
    """Where the first odd value stands; ``odd`` has the shape of the values that X stores."""
    if isinstance(X, csr_array):
        first, pairs = np.flatnonzero(odd)[0], X.tocoo()
        return f"X, row {pairs.row[first]}, column {pairs.col[first]}"
    row, column = np.argwhere(odd)[0]
    return f"X, row {row}, column {column}"
