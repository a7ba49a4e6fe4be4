"""Matrix Market files of weights, dense or sparse, read whole.

scipy's reader dies, with the process, of files whose numbers are not as many as the head says.
"""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import IO

import numpy as np

from sparsetopics.base.batches import FloatArray

MOST_ENTRIES = 2**26  # of a matrix, however few of them the file tells
_LARGEST_RATIO = 250  # of entries to bytes beyond that
_BANNER = re.compile(
    rb"%%MatrixMarket\s+matrix\s+(?:(coordinate)|array)\s+(?:integer|real|double|(pattern))"
    rb"\s+general\s*",
    re.IGNORECASE,
)
_LONGEST_LINE = 4_096  # bytes, of the head


def read_matrix_market(path: Path) -> FloatArray:
    """The matrix, zeros where a sparse one tells nothing; ValueError for what is damaged."""
    with path.open("rb") as file:
        banner = file.readline(_LONGEST_LINE)
        kind = _BANNER.fullmatch(banner)
        if kind is None:
            raise ValueError(f"the first line {banner[:60]!r}")
        is_sparse, is_pattern = kind[1] is not None, kind[2] is not None
        shape = _shape(file, 3 if is_sparse else 2)
        _check_size(shape, path.stat().st_size)
        numbers = _numbers(file)
    if is_sparse:
        return _of_entries(numbers, shape, is_pattern=is_pattern)
    n_rows, n_columns = shape
    if is_pattern or numbers.shape != (n_rows * n_columns, 1):
        raise ValueError(f"numbers of shape {numbers.shape} for {n_rows} x {n_columns} of them")
    return numbers.reshape(n_columns, n_rows).T  # they come column by column


def _shape(file: IO[bytes], n_sizes: int) -> tuple[int, ...]:
    line = b"%"
    while line.startswith(b"%") or (line and not line.strip()):
        line = file.readline(_LONGEST_LINE)
    sizes = line.split()
    if len(sizes) != n_sizes or not all(re.fullmatch(rb"\d{1,15}", size) for size in sizes):
        raise ValueError(f"sizes {line[:60]!r}")
    return tuple(map(int, sizes))


def _check_size(shape: tuple[int, ...], n_bytes: int) -> None:
    """Before there is room made for it."""
    n_rows, n_columns, *told = shape
    n_entries = n_rows * n_columns
    most = max(MOST_ENTRIES, _LARGEST_RATIO * n_bytes) if told else n_bytes
    if not 0 < n_entries <= most or any(n_told > n_bytes for n_told in told):
        raise ValueError(f"{n_rows} x {n_columns} numbers in {n_bytes:,} bytes")


def _numbers(file: IO[bytes]) -> FloatArray:
    """The lines after the head, (n_lines, numbers in each)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that there is nothing, which the caller sees
        numbers: FloatArray = np.loadtxt(file, np.float64, comments="%", ndmin=2)
    return numbers


def _of_entries(numbers: FloatArray, shape: tuple[int, ...], *, is_pattern: bool) -> FloatArray:
    n_rows, n_columns, n_told = shape
    matrix = np.zeros((n_rows, n_columns))
    if n_told == 0 and not numbers.size:
        return matrix
    if numbers.shape != (n_told, 2 if is_pattern else 3):
        raise ValueError(f"{len(numbers):,} entries, where the head says {n_told:,}")
    places = numbers[:, :2]
    if not ((places >= 1) & (places <= (n_rows, n_columns)) & (places == np.floor(places))).all():
        raise ValueError("a row or column that is not there")
    rows, columns = (places.astype(np.int64) - 1).T
    np.add.at(matrix, (rows, columns), 1.0 if is_pattern else numbers[:, 2])
    return matrix
