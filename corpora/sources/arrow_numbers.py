"""Numbers and strings between Arrow and numpy, without pandas.

Arrow's own ``array`` and ``to_numpy`` import pandas where it is installed, which takes longer than
reading a small corpus or writing a run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


def numbers_of(array: pa.Array) -> NDArray[Any]:
    """A read-only view of an array of numbers, none of them null."""
    numbers = np.from_dlpack(array)
    numbers.flags.writeable = False
    return numbers


def arrow_numbers(numbers: NDArray[Any]) -> pa.Array:
    """The same numbers, (n,)."""
    kind, own = pa.from_numpy_dtype(numbers.dtype), np.ascontiguousarray(numbers)
    return pa.Array.from_buffers(kind, len(own), [None, pa.py_buffer(own)])


def arrow_strings(texts: Sequence[str]) -> pa.Array:
    """The same strings, of two gibibytes at most."""
    encoded = [text.encode() for text in texts]
    ends = np.cumsum([0, *map(len, encoded)])
    if ends[-1] > np.iinfo(np.int32).max:
        raise pa.ArrowCapacityError(f"{ends[-1]:,} bytes of strings")
    buffers = pa.py_buffer(ends.astype(np.int32)), pa.py_buffer(b"".join(encoded))
    return pa.StringArray.from_buffers(len(encoded), *buffers)
