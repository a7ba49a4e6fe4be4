"""Matrix Market files of weights, dense or sparse, read whole.

scipy's reader crashes the process if a file holds fewer or more numbers than its header says.
"""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import IO

import numpy as np

from sparsetopics.base.batches import FloatArray

MOST_ENTRIES = 2**26  # of a matrix, however few of them the file lists
_LARGEST_RATIO = 250  # entries per byte of the file; a larger matrix is refused
_BANNER = re.compile(
    rb"%%MatrixMarket\s+matrix\s+(?:(coordinate)|array)\s+(?:integer|real|double|(pattern))"
    rb"\s+general\s*",
    re.IGNORECASE,
)
_LONGEST_LINE = 4_096  # bytes, in the header


def read_matrix_market(path: Path) -> FloatArray:
    """Return the matrix, with zeros for entries that a sparse file omits.

    Raises ValueError for a damaged file.
    """
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
    return numbers.reshape(n_columns, n_rows).T  # stored column by column


def _shape(file: IO[bytes], n_sizes: int) -> tuple[int, ...]:
    line = b"%"
    while line.startswith(b"%") or (line and not line.strip()):
        line = file.readline(_LONGEST_LINE)
    sizes = line.split()
    if len(sizes) != n_sizes or not all(re.fullmatch(rb"\d{1,15}", size) for size in sizes):
        raise ValueError(f"sizes {line[:60]!r}")
    return tuple(map(int, sizes))


def _check_size(shape: tuple[int, ...], n_bytes: int) -> None:
    """Raise ValueError for sizes that a file of ``n_bytes`` cannot mean, before allocating them."""
    n_rows, n_columns, *n_listed = shape
    n_entries = n_rows * n_columns
    most = max(MOST_ENTRIES, _LARGEST_RATIO * n_bytes) if n_listed else n_bytes
    if not 0 < n_entries <= most or any(n > n_bytes for n in n_listed):
        raise ValueError(f"{n_rows} x {n_columns} numbers in {n_bytes:,} bytes")


def _numbers(file: IO[bytes]) -> FloatArray:
    """Read the lines after the header, (n_lines, numbers per line)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about an empty file, which the caller refuses
        numbers: FloatArray = np.loadtxt(file, np.float64, comments="%", ndmin=2)
    return numbers


def _of_entries(numbers: FloatArray, shape: tuple[int, ...], *, is_pattern: bool) -> FloatArray:
    n_rows, n_columns, n_entries = shape
    matrix = np.zeros((n_rows, n_columns))
    if n_entries == 0 and not numbers.size:
        return matrix
    if numbers.shape != (n_entries, 2 if is_pattern else 3):
        raise ValueError(f"{len(numbers):,} entries, where the header says {n_entries:,}")
    places = numbers[:, :2]
    if not ((places >= 1) & (places <= (n_rows, n_columns)) & (places == np.floor(places))).all():
        raise ValueError("a row or column that is not there")
    rows, columns = (places.astype(np.int64) - 1).T
    # Entries listed twice add up.
    np.add.at(matrix, (rows, columns), 1.0 if is_pattern else numbers[:, 2])
    return matrix
