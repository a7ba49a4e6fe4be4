"""Numbers of Arrow as arrays of numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


def numbers_of(array: pa.Array) -> NDArray[Any]:
    """A read-only view of an array of numbers, none of them null.

    By DLPack: Arrow's own ``to_numpy`` imports pandas where it is installed, which takes longer
    than reading a small corpus.
    """
    numbers = np.from_dlpack(array)
    numbers.flags.writeable = False
    return numbers
