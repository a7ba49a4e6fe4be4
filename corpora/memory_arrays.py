"""Arrays, sparse matrices and names that users' code passes, checked before anything reads them.

Compiled code trusts the arrays of a sparse matrix, so that one wrong number there would end the
process. The hints of errors quote scikit-learn's messages where its checks of estimators look for
them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Set, Sized
from typing import Any, TypeAlias, TypeGuard, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import bsr_array, coo_array, csc_array, csr_array, dia_array, sparray, spmatrix

from sparsetopics.base.batches import AnyArray, Vectors
from sparsetopics.base.errors import ShapeError
from sparsetopics.corpora.readers.blocks import LONGEST_NAME, as_floats, overlong
from sparsetopics.options.option import shown

Numbers = NDArray[np.floating] | NDArray[np.integer] | NDArray[np.bool_]
AnyMatrix: TypeAlias = sparray | spmatrix

T = TypeVar("T")

_TEXTS = (
    "Models of documents, such as LDA, take a list of texts or of lists of words, a column such as "
    "df['text'], or a Corpus, such as Corpus.from_tokens(lists); fit(df, text='text') reads tables."
)

_COMPRESSED = {"csr": csr_array, "csc": csc_array, "bsr": bsr_array}


class ElementError(ShapeError, TypeError):
    """Elements that are no numbers; a TypeError too, as in scikit-learn."""


def numbers_of(values: ArrayLike, where: str) -> Numbers:
    """A matrix of real numbers in the byte order of this machine; objects become float64.

    Raises ShapeError for anything else: no matrix, rows of different lengths, masked values, and
    elements that are no numbers, which is also a TypeError. Numbers may be NaN or infinite.
    """
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        place = np.argwhere(np.ma.getmaskarray(values))[0]
        raise ShapeError(_place(where, place), "is masked", "Replace it: filled(0), for example.")
    try:
        array = np.asarray(values)
    except (TypeError, ValueError, RuntimeError, OverflowError) as error:
        problem = f"expected rows of equally many numbers, but is {shown(values)}"
        raise ShapeError(where, problem) from error
    if array.ndim == 0:
        raise ShapeError(where, f"expected a matrix of numbers, but is {shown(values)}", _TEXTS)
    if array.dtype == object:
        array = _floats(array, where)
    check_numbers(array.dtype, where)
    check_shape(array.shape, where)
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def vectors_of(values: ArrayLike, where: str) -> Vectors:
    """A matrix of finite numbers as float32, if that is exact for their type, or else float64;
    raises what ``numbers_of`` raises."""
    array = numbers_of(values, where)
    vectors, odd = as_floats(array)
    if odd is not None:
        problem = f"expected a finite number, but found {array[odd]}"
        raise ShapeError(f"{where}, item {odd[0]}, column {odd[1]}", problem)
    return vectors


def _floats(objects: AnyArray, where: str) -> AnyArray:
    """Objects as float64; ShapeError for the first that is no number."""
    try:
        return objects.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as all_errors:
        for place, value in np.ndenumerate(objects):
            problem = f"expected a number, but is {shown(value)}"
            try:
                float(value)
            except (TypeError, ValueError, OverflowError) as error:
                kind = ElementError if isinstance(error, TypeError) else ShapeError
                is_words = is_list(value) or isinstance(value, str | bytes | Set)
                hint = _TEXTS if is_words else f"{error}."
                raise kind(_place(where, place), problem, hint) from error
        raise ShapeError(where, "expected numbers", f"{all_errors}.") from all_errors


def _place(where: str, place: Iterable[int]) -> str:
    """``X, row 3, column 5``"""
    names = ("row", "column")
    return ", ".join([where, *(f"{name} {n}" for name, n in zip(names, place, strict=False))])


def check_numbers(dtype: np.dtype[np.generic], where: str) -> None:
    """Raise ShapeError unless an array of this type has real numbers."""
    if dtype.kind in "fiub":
        return
    hint = "Complex data not supported." if dtype.kind == "c" else ""
    found, hint = ("texts", _TEXTS) if dtype.kind in "UST" else (f"type {dtype}", hint)
    raise ShapeError(where, f"expected real numbers, but found {found}", hint)


def check_shape(shape: tuple[int, ...], where: str) -> None:
    """Raise ShapeError unless it is that of a matrix with rows and columns."""
    if len(shape) != 2:
        problem = f"Expected 2D array, got {len(shape)}D array instead"
        raise ShapeError(where, problem, "Reshape your data.")
    for size, what in zip(shape, ("sample", "feature"), strict=True):
        if not size:
            found = f"Found array with 0 {what}(s) (shape={shape})"
            raise ShapeError(where, f"{found} while a minimum of 1 is required")


def csr_of(counts: AnyMatrix | ArrayLike, where: str) -> csr_array:
    """A new matrix of real numbers, sparse by row, from a sparse or dense one.

    Duplicates stay if rows had them, and are summed exactly in other formats. Raises what
    ``numbers_of`` raises, and ShapeError if the arrays of a sparse matrix do not fit together.
    """
    if isinstance(counts, sparray | spmatrix):
        check_shape(counts.shape, where)
        return csr_array(_sound(counts, where), copy=True)
    values = numbers_of(counts, where)
    # Sparse matrices cannot hold float16.
    return csr_array(values.astype(np.float32) if values.dtype == np.float16 else values)


def _sound(matrix: AnyMatrix, where: str) -> AnyMatrix:
    """The same numbers in arrays that fit together, in native byte order; ShapeError if they do
    not."""
    try:
        rows = _made_again(matrix, where).tocsr()
        rows.check_format(full_check=True)
    except ShapeError:
        raise
    except (TypeError, ValueError, AttributeError, IndexError, OverflowError) as error:
        problem = f"the arrays of the {matrix.format} matrix do not fit together ({error})"
        raise ShapeError(where, problem) from error
    check_numbers(rows.dtype, where)
    return rows


def _made_again(matrix: AnyMatrix, where: str) -> AnyMatrix:
    """The matrix made from its arrays, of which scipy checks all numbers."""
    shape = matrix.shape
    if matrix.format in _COMPRESSED:
        indices, indptr = _whole(matrix.indices, where), _whole(matrix.indptr, where)
        own = _native(matrix.data, where)
        data = own if matrix.format == "csr" else widened(own)
        made = _COMPRESSED[matrix.format]((data, indices, indptr), shape=shape)
        made.check_format(full_check=True)
        return made
    if matrix.format == "coo":
        coords = tuple(_whole(ids, where) for ids in matrix.coords)
        return coo_array((widened(_native(matrix.data, where)), coords), shape=shape)
    if matrix.format == "dia":
        return dia_array((_native(matrix.data, where), _whole(matrix.offsets, where)), shape=shape)
    return matrix  # dok and lil are dictionaries and lists, not read by compiled code


def _whole(numbers: AnyArray, where: str) -> AnyArray:
    """Row or column numbers; scipy would cut off fractions."""
    if not isinstance(numbers, np.ndarray) or numbers.dtype.kind not in "iu":
        raise ShapeError(where, f"row and column numbers must be whole, but found {shown(numbers)}")
    if numbers.size and int(numbers.max()) > np.iinfo(np.int64).max:
        raise ShapeError(where, f"row and column numbers are too large: {numbers.max()}")
    return _native(numbers, where)


def _native(numbers: AnyArray, where: str) -> AnyArray:
    """Numbers in the byte order of this machine."""
    if not isinstance(numbers, np.ndarray):
        raise ShapeError(where, f"expected an array of numbers, but found {shown(numbers)}")
    check_numbers(numbers.dtype, where)
    return numbers.astype(numbers.dtype.newbyteorder("="), copy=False)


def widened(numbers: AnyArray) -> AnyArray:
    """Numbers in a 64-bit type, whole if they were, so that sums of them are exact."""
    kind = numbers.dtype.kind
    if kind == "f" or numbers.dtype == np.uint64:
        return numbers.astype(np.float64)
    return numbers.astype(np.int64) if kind in "bui" else numbers


def strings_of(values: Iterable[str], where: str) -> list[str]:
    """Names that can be written as UTF-8; ShapeError for a single string and for other objects."""
    names = _elements(values, where)
    for number, name in enumerate(names):
        if not isinstance(name, str):
            raise ShapeError(f"{where}[{number}]", f"must be a string, but is {shown(name)}")
    check_utf8(names, f"{where}[{{}}]".format)
    return [str(name) for name in names]  # numpy's strings become Python's


def names_of(values: Iterable[Hashable], n_rows: int, where: str) -> list[str]:
    """Ids of rows as strings; ShapeError unless there is one for each row."""
    return ["None" if name is None else name for name in labels_of(values, n_rows, where)]


def labels_of(values: Iterable[Hashable], n_rows: int, where: str) -> list[str | None]:
    """Labels of rows as strings, None for those that are missing; ShapeError unless there is one
    for each row."""
    elements = _elements(values, where)
    if len(elements) != n_rows:
        raise ShapeError(where, f"expected {n_rows}, one for each row, but found {len(elements)}")
    for number, value in enumerate(elements):
        if not is_printable(value):
            problem = f"expected a name that can be printed, but found {shown(value)}"
            raise ShapeError(f"{where}[{number}]", problem)
    labels = [None if is_missing(value) else str(value) for value in elements]
    check_utf8(labels, f"{where}[{{}}]".format)
    if (odd := overlong(pa.array(labels, pa.string()))) >= 0:
        raise ShapeError(f"{where}[{odd}]", f"has more than {LONGEST_NAME:,} bytes")
    return labels


def is_missing(value: Hashable | Iterable[str]) -> bool:
    """Whether a value stands for none, as None, NaN and NA do in columns of pandas."""
    is_nan = isinstance(value, float) and value != value
    return value is None or is_nan or type(value).__name__ in ("NAType", "NaTType")


def is_printable(value: Hashable) -> bool:
    """Whether a value is a string, or prints more than its address."""
    try:
        return isinstance(value, str) or " at 0x" not in str(value)
    except Exception:  # any class may print itself, and may do so badly
        return False


def is_list(value: Any) -> TypeGuard[Collection[Any]]:  # whatever users pass
    """Whether a value is a list, a tuple, an array or another object with elements in order."""
    is_other = isinstance(value, str | bytes | Mapping | Set) or getattr(value, "ndim", 1) == 0
    return not is_other and isinstance(value, Sized) and isinstance(value, Iterable)


def _elements(values: Iterable[T], where: str) -> list[T]:
    """The elements of a list, or of another iterable with an order."""
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return list(values.to_pylist())
    try:
        if not isinstance(values, str | bytes | Mapping | set | frozenset):
            return list(values)
    except TypeError:  # no iterable, or an array of no dimension
        pass
    raise ShapeError(where, f"must be a list of strings, but is {shown(values)}")


def check_utf8(texts: Iterable[str | None], place: Callable[[int], str]) -> None:
    """Raise ShapeError for a text with half of a surrogate pair, which no file can hold."""
    for number, text in enumerate(texts):
        try:
            "" if text is None else text.encode()
        except UnicodeEncodeError as error:
            character = f"\\u{ord(error.object[error.start]):04x}"
            problem = f"character {error.start}, {character}, is half of a surrogate pair"
            hint = "Remove it: text.encode(errors='replace').decode(), for example."
            raise ShapeError(place(number), problem, hint) from error
