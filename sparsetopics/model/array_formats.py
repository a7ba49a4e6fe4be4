"""What the arrays of a run folder hold, as those say whose arrays they are."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import Any, NamedTuple

import numpy as np

N_WORDS = "n_words"
COMPONENTS, COLUMNS = ("n_topics",), ("n_columns",)
VECTORS, MATRIX = ("n_topics", "n_columns"), ("n_columns", "n_columns")
MATRICES = ("n_topics", "n_columns", "n_columns")
_FLOAT32 = float(np.finfo(np.float32).max)


class ArrayFormat(NamedTuple):
    """What one array holds: float64 numbers between ``lower`` and ``upper``, ends excluded."""

    axes: tuple[str, ...]  # entries of model.json that say how long each is
    upper: float = inf
    lower: float = 0.0

    @property
    def values(self) -> str:
        if self.lower <= -1.0:
            return "finite numbers"
        if self.lower < 0.0:
            return "finite numbers of 0 or more"
        return "finite positive numbers" if self.upper == inf else f"numbers in (0, {self.upper:g})"


MEANS = ArrayFormat(VECTORS, _FLOAT32, -_FLOAT32)
MEAN = ArrayFormat(COLUMNS, _FLOAT32, -_FLOAT32)


class StoredAs(NamedTuple):
    """How the components of one likelihood, and their prior, lie in a run folder.

    Fields of the posterior have their own names, those of the prior ``prior_`` before theirs.
    """

    posterior: type[Any]
    arrays: Mapping[str, ArrayFormat]  # of model.safetensors
    numbers: tuple[str, ...]  # of model.json, all positive
