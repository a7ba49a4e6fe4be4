"""What estimators read: corpora, arrays, sparse matrices, data frames and lists of rows.

Hints have scikit-learn's words where its checks look for them.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from sparsetopics.base.batches import FloatArray
from sparsetopics.base.errors import ShapeError, VocabularyError
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.corpora.vectors import VectorCorpus
from sparsetopics.estimators.sklearn_protocol import Names

WIDEST = float(np.finfo(np.float32).max)


class Reader(Protocol):
    """The part of an estimator that says what it reads, and what it has read."""

    _reads_vectors: ClassVar[bool]
    n_features_in_: int


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Rows that were read, documents or items; of documents those without words are left out."""

    corpus: Corpus | VectorCorpus
    n_rows: int
    is_whole: bool = True  # no row is left out
    names: Names | None = None  # of the columns of a data frame

    @property
    def documents(self) -> Corpus:
        assert isinstance(self.corpus, Corpus), "read as documents"
        return self.corpus

    def placed(self, found: FloatArray, value: Any) -> FloatArray:
        """``found`` of the rows with words in their places, ``value`` for the others."""
        if self.is_whole:
            return found
        rows = np.empty((self.n_rows, *found.shape[1:]))
        rows[:] = value
        rows[[int(row) for ids in self.documents.doc_ids() for row in ids]] = found
        return rows


def first_rows(self: Reader, X: Any) -> Rows:
    """What to fit.

    Raises ShapeError for anything but rows of real numbers, of documents zero or more and not all
    zero, and TypeError for objects that are no numbers.
    """
    names = _names_of(X)
    rows = _read(self, X, names)
    if not len(rows.corpus.row_groups):
        raise ShapeError("X", found="no count above zero", wanted="at least one")
    if self._reads_vectors and rows.n_rows == 1:
        hint = "Found array with 1 sample(s) while a minimum of 2 is required."
        raise ShapeError("X", found="one item", wanted="at least 2, which differ", hint=hint)
    return replace(rows, names=names)


def remember_columns(self: Reader, rows: Rows) -> None:
    """Set ``n_features_in_`` and, of a data frame, ``feature_names_in_`` to what was fitted."""
    self.n_features_in_ = _width(rows.corpus)
    attributes = vars(self)
    attributes.pop("feature_names_in_", None)
    if rows.names is not None:
        attributes["feature_names_in_"] = rows.names


def more_rows(self: Reader, X: Any) -> Rows:
    """Rows with the columns that were fitted; ShapeError or VocabularyError if they are others."""
    names = _names_of(X)
    fitted: Names | None = getattr(self, "feature_names_in_", None)
    if fitted is not None and names is not None:
        _check_names(fitted, names)
    rows = _read(self, X, fitted)
    n_columns, name = _width(rows.corpus), type(self).__name__
    if n_columns != self.n_features_in_:
        kind = "columns" if self._reads_vectors else "words"
        raise ShapeError(
            "X",
            found=f"{n_columns} {kind}",
            wanted=f"the {self.n_features_in_} {kind} that were fitted",
            hint=f"X has {n_columns} features, but {name} is expecting {self.n_features_in_} "
            "features as input.",
        )
    if isinstance(X, Corpus):
        _check_words(self, X)
    elif (fitted is None) != (names is None) and not _are_words(self, names):
        has = "does not have valid" if names is None else "has"
        was = "with" if names is None else "without"
        warnings.warn(
            f"X {has} feature names, but {name} was fitted {was} feature names", stacklevel=4
        )
    return rows


def _width(corpus: Corpus | VectorCorpus) -> int:
    return corpus.n_words if isinstance(corpus, Corpus) else corpus.n_columns


def _are_words(self: Reader, names: Names | None) -> bool:
    """Whether columns have the names of the words that were fitted, as a corpus or long ago."""
    own = getattr(self, "vocabulary_", None)
    return own is not None and names is not None and tuple(names) == own.words


def _check_words(self: Reader, corpus: Corpus) -> None:
    own = getattr(self, "vocabulary_", None)
    if own is not None and own.fingerprint != corpus.vocabulary.fingerprint:
        raise VocabularyError(
            "X",
            found=f"another vocabulary ({corpus.n_words:,} words)",
            wanted=f"the {len(own):,} words that were fitted",
        )


def _check_names(fitted: Names, names: Names) -> None:
    if np.array_equal(fitted, names):
        return
    unseen, missing = sorted(set(names) - set(fitted)), sorted(set(fitted) - set(names))
    if unseen:
        found = f"feature names unseen at fit time ({', '.join(unseen[:5])})"
    elif missing:
        found = f"feature names seen at fit time missing ({', '.join(missing[:5])})"
    else:
        found = "feature names in another order"
    raise ShapeError(
        "X",
        found=found,
        wanted="those of fit, in their order",
        hint="The feature names should match those that were passed during fit.",
    )


def _names_of(X: Any) -> Names | None:
    """The column names of a data frame, if they are strings."""
    if isinstance(X, Corpus | VectorCorpus) or not hasattr(X, "columns"):
        return None
    names = np.asarray(X.columns, dtype=object)
    kinds = sorted({type(name).__name__ for name in names.tolist()})
    if "str" in kinds and len(kinds) > 1:
        raise TypeError(
            "X: found column names of types "
            f"{', '.join(kinds)}, wanted strings. Feature names are only supported if all input "
            "features have string names."
        )
    return names if kinds == ["str"] else None


def _read(self: Reader, X: Any, names: Names | None) -> Rows:
    wanted = VectorCorpus if self._reads_vectors else Corpus
    if isinstance(X, wanted):
        n_rows = X.n_docs if isinstance(X, Corpus) else X.n_items
        return Rows(X, n_rows)
    if isinstance(X, Corpus | VectorCorpus):
        raise ShapeError("X", found=type(X).__name__, wanted=wanted.__name__)
    if self._reads_vectors:
        values = _vectors(X)
        return Rows(VectorCorpus.from_array(values), len(values))
    return _documents(_counts(X, type(self).__name__), names)


def _documents(counts: csr_array, names: Names | None) -> Rows:
    n_rows, n_words = counts.shape
    digits = len(str(n_words - 1))
    words = [f"word{v:0{digits}d}" for v in range(n_words)] if names is None else names.tolist()
    if not counts.nnz:
        return Rows(_without_documents(words), n_rows, is_whole=False)
    corpus = Corpus.from_csr(counts, words)
    return Rows(corpus, n_rows, is_whole=corpus.n_docs == n_rows)


def _without_documents(words: list[str]) -> Corpus:
    """Of words that occur nowhere."""
    one = Corpus.from_csr(np.ones((1, len(words))), words)
    return Corpus(one.vocabulary, ())


def _counts(X: Any, name: str) -> csr_array:
    """Real numbers of zero or more, none of them stored zeros."""
    if issparse(X):
        _check_kind(X.dtype)
        _check_shape(X.shape)
        small = X.dtype.kind in "bui" and X.dtype.itemsize < 8  # duplicates are going to be summed
        counts = csr_array(X.astype(np.int64) if small else X, copy=True)
    else:
        values = _dense(X)
        counts = csr_array(values.astype(np.float32) if values.dtype == np.float16 else values)
    _check_finite(counts)
    if counts.nnz and counts.data.min() < 0:
        raise ShapeError(
            _place(counts, counts.data < 0),
            found=f"{counts.data[counts.data < 0][0]:g}",
            wanted="counts of zero or more",
            hint=f"Negative values in data passed to {name}.",
        )
    counts.eliminate_zeros()
    return counts


def _vectors(X: Any) -> NDArray[Any]:
    if issparse(X):
        raise ShapeError(
            "X",
            found="a sparse matrix",
            wanted="an array",
            hint="Sparse data was passed, but dense data is required: X.toarray() is dense.",
        )
    values = _dense(X)
    _check_finite(values)
    return values


def _dense(X: Any) -> NDArray[Any]:
    values = np.asarray(X)
    if values.dtype == object:
        values = values.astype(np.float64)
    _check_kind(values.dtype)
    _check_shape(values.shape)
    return values


def _check_kind(dtype: np.dtype[Any]) -> None:
    if dtype.kind not in "fiub":
        hint = "Complex data not supported." if dtype.kind == "c" else ""
        if dtype.kind == "U":
            hint = "Texts become rows of counts by Corpus.from_texts."
        raise ShapeError("X", found=f"type {dtype}", wanted="real numbers", hint=hint)


def _check_shape(shape: tuple[int, ...]) -> None:
    if len(shape) != 2:
        hint = f"Expected 2D array, got {len(shape)}D array instead. Reshape your data."
        raise ShapeError("X", found=f"shape {shape}", wanted="rows and columns", hint=hint)
    for size, what in zip(shape, ("sample", "feature"), strict=True):
        if not size:
            hint = f"Found array with 0 {what}(s) (shape={shape}) while a minimum of 1 is required."
            raise ShapeError("X", found=f"no {what}s", wanted="at least one", hint=hint)


def _check_finite(values: csr_array | NDArray[Any]) -> None:
    data: Any = values.data if issparse(values) else values
    if data.dtype.kind != "f" or not data.size or max(data.max(), -data.min()) <= WIDEST:
        return
    odd = ~(np.abs(data) <= WIDEST)
    first = data[odd][0]
    hint = "Input X contains infinity or a value too large for dtype('float32')."
    raise ShapeError(
        _place(values, odd),
        found=f"{first:g}",
        wanted="a finite number within float32",
        hint="Input X contains NaN." if np.isnan(first) else hint,
    )


def _place(values: Any, odd: NDArray[np.bool_]) -> str:
    """Where the first odd value of a sparse matrix or an array stands."""
    if issparse(values):
        first, pairs = np.flatnonzero(odd)[0], values.tocoo()
        return f"X, row {pairs.row[first]}, column {pairs.col[first]}"
    row, column = np.argwhere(odd)[0]
    return f"X, row {row}, column {column}"
