"""numpy's ``.npy`` and ``.npz``: the rows of a two-dimensional array are items.

Nothing is ever unpickled.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import IO

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sparsetopics.base.array_files import NpyHeader, read_exactly, read_npy_header
from sparsetopics.base.errors import SourceError, source_errors
from sparsetopics.corpora.readers.blocks import PendingVectors, rows_per_block, vector_block
from sparsetopics.corpora.readers.options import VectorReadOptions
from sparsetopics.corpora.sources.archives import check_members, zip_errors
from sparsetopics.corpora.sources.byte_stream import SourceFile, open_bytes, open_unpacked

_VALUES_NAME = "values"
_LABEL_NAMES = ("labels", "label", "y")
_ID_NAMES = ("item_ids", "ids", "id")


def read_npy(file: SourceFile, options: VectorReadOptions) -> Iterator[PendingVectors]:
    """Read a file of one array; items have no ids and no labels."""
    where = str(file.path)
    with open_bytes(file.path) as stream:
        for first, rows in _row_blocks(stream, where):
            nothing = pa.nulls(len(rows), pa.string())
            yield partial(vector_block, where, first, rows, nothing, nothing)


def read_npz(file: SourceFile, options: VectorReadOptions) -> Iterator[PendingVectors]:
    """Read a file of an array of values, with arrays of labels and ids if there are any."""
    where = str(file.path)
    with open_unpacked(file.path) as raw, zip_errors(where), zipfile.ZipFile(raw) as archive:
        check_members(archive, where)
        headers = _headers(archive, where)
        _check_named(headers, options, where)
        name = options.values_field or _values_name(headers, where)
        n_items = headers[name].shape[0]
        id_name = options.id_field or _usual_name(headers, _ID_NAMES)
        label_name = options.label_field or _usual_name(headers, _LABEL_NAMES)
        item_ids = _names(archive, id_name, n_items, where)
        labels = _names(archive, label_name, n_items, where)
        where = f"{where}, array {name!r}"
        with archive.open(f"{name}.npy") as stream:
            for first, rows in _row_blocks(stream, where):
                # Copies, because a slice would take all names along to another process
                named = [pa.concat_arrays([n.slice(first, len(rows))]) for n in (item_ids, labels)]
                yield partial(vector_block, where, first, rows, *named)


# Turns the errors of a damaged array into a SourceError.
_npy_errors = partial(
    source_errors,
    kinds=ValueError,
    problem="is not an .npy file, or a damaged one",
    hint="Copy or save it again.",
)


def _is_matrix(header: NpyHeader) -> bool:
    return len(header.shape) == 2 and header.shape[1] > 0 and header.dtype.kind in "fiub"


def _row_blocks(stream: IO[bytes], where: str) -> Iterator[tuple[int, NDArray[np.generic]]]:
    """The rows in blocks of about ``BLOCK_BYTES``, each with the number of its first row."""
    with _npy_errors(where):
        header = read_npy_header(stream)
        if header.dtype.hasobject:
            problem = "the array holds Python objects, which are never unpickled"
            raise SourceError(where, problem, "Save it again with a numeric dtype.")
        if not _is_matrix(header):
            expected = "real numbers of shape (n_items, n_columns)"
            raise SourceError(where, f"expected {expected}, but found {header}")
        n_rows, n_columns = header.shape
        step = rows_per_block(n_columns * max(4, header.dtype.itemsize))
        if header.is_fortran:  # stored column by column: all rows must be held
            data = read_exactly(stream, header.n_bytes)
            whole = np.frombuffer(data, header.dtype).reshape(n_columns, n_rows).T
            yield from ((first, whole[first : first + step]) for first in range(0, n_rows, step))
            return
        for first in range(0, n_rows, step):
            length = min(step, n_rows - first)
            data = read_exactly(stream, length * n_columns * header.dtype.itemsize)
            yield first, np.frombuffer(data, header.dtype).reshape(length, n_columns)


def _headers(archive: zipfile.ZipFile, where: str) -> dict[str, NpyHeader]:
    headers = {}
    for name in archive.namelist():
        if name.endswith(".npy"):
            with archive.open(name) as stream, _npy_errors(f"{where}, {name}"):
                headers[name.removesuffix(".npy")] = read_npy_header(stream)
    return headers


def _check_named(headers: Mapping[str, NpyHeader], options: VectorReadOptions, where: str) -> None:
    """SourceError if there is no array that the options name."""
    for chosen in (options.values_field, options.id_field, options.label_field):
        if chosen is not None and chosen not in headers:
            found = ", ".join(map(repr, headers)) or "none"
            raise SourceError(where, f"expected an array {chosen!r}, but found {found}")


def _values_name(headers: Mapping[str, NpyHeader], where: str) -> str:
    """``values`` or the only matrix."""
    if _VALUES_NAME in headers:
        return _VALUES_NAME
    matrices = [name for name, header in headers.items() if _is_matrix(header)]
    if len(matrices) != 1:
        found = ", ".join(f"{name!r} ({header})" for name, header in headers.items()) or "none"
        expected = f"an array {_VALUES_NAME!r}, or exactly one matrix of real numbers"
        hint = "Name one with --values-field."
        raise SourceError(where, f"expected {expected}, but found {found}", hint)
    return matrices[0]


def _usual_name(headers: Mapping[str, NpyHeader], usual: Sequence[str]) -> str | None:
    return next((name for name in usual if name in headers and len(headers[name].shape) == 1), None)


def _names(archive: zipfile.ZipFile, name: str | None, n_items: int, where: str) -> pa.StringArray:
    """The array as strings; nulls without a name."""
    if name is None:
        return pa.nulls(n_items, pa.string())
    where = f"{where}, array {name!r}"
    with archive.open(f"{name}.npy") as stream, _npy_errors(where):
        header = read_npy_header(stream)
        if header.shape != (n_items,) or header.dtype.kind not in "USiubf":
            raise SourceError(where, f"expected {n_items} strings or numbers, but found {header}")
        names = np.frombuffer(read_exactly(stream, header.n_bytes), header.dtype)
    if names.dtype.kind == "f" and np.isfinite(names).all() and (names == np.floor(names)).all():
        names = names.astype(np.int64)  # 3.0 is class 3
    if names.dtype.kind == "S":
        names = np.char.decode(names.astype(np.bytes_), "utf-8", "replace")
    return pa.array(names.astype(str).tolist(), pa.string())
