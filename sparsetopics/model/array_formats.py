"""How a posterior lies in a run folder: in ``model.safetensors`` and ``model.json``.

Each posterior says what it stores (``Stored``) and makes itself from what a ``StoredReader`` finds.
A digest does not stop somebody who edits a file, so the reader checks every shape and number.

Vectors lie there in columns, which other programs read, and in standard coordinates. Those have
``standard_`` before their names, and a model is made of them again: it must not lose digits to the
units of its columns, or to correlations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from typing import Any, NamedTuple, NotRequired, TypedDict

import numpy as np

from sparsetopics.base.array_files import read_tensors
from sparsetopics.base.batches import FloatArray
from sparsetopics.base.sealed_files import Json, PositiveSize, Refusal
from sparsetopics.model.coordinates import Coordinates

N_WORDS, N_COLUMNS, N_AXES = "n_words", "n_columns", "n_axes"
PRIOR = "prior_"  # before the names of the prior's own arrays and numbers
# Products of larger numbers, and quotients by smaller ones, leave the range of floats.
LARGEST_NUMBER = 1e100
_FLOAT32 = float(np.finfo(np.float32).max)


class ArrayFormat(NamedTuple):
    """What one array holds: float64 numbers between ``lower`` and ``upper``, both excluded."""

    axes: tuple[str, ...]  # the sizes in model.json that say how long each axis is
    upper: float = inf
    lower: float = 0.0
    in_columns: str = ""  # the method of ``Coordinates`` that turns such arrays into columns

    @property
    def standard(self) -> ArrayFormat:
        """The same along axes of standard coordinates."""
        return self._replace(axes=tuple(N_AXES if a == N_COLUMNS else a for a in self.axes))

    @property
    def values(self) -> str:
        """The numbers that are allowed, for messages."""
        if self.lower <= -1.0:
            return "finite numbers"
        if self.lower < 0.0:
            return "finite numbers of 0 or more"
        return "finite positive numbers" if self.upper == inf else f"numbers in (0, {self.upper:g})"


# Positive numbers: one for each component, one for each column, or a row for each component.
COMPONENTS = ArrayFormat(("n_topics",))
COLUMNS = ArrayFormat((N_COLUMNS,), in_columns="variances_of")
VECTORS = ArrayFormat(("n_topics", N_COLUMNS), in_columns="variances_of")
TOPIC_WORDS = ArrayFormat(("n_topics", N_WORDS))
# Any finite numbers.
MATRIX = ArrayFormat((N_COLUMNS, N_COLUMNS), inf, -inf, "covariances_of")
MATRICES = ArrayFormat(("n_topics", N_COLUMNS, N_COLUMNS), inf, -inf, "covariances_of")
MEANS = ArrayFormat(("n_topics", N_COLUMNS), _FLOAT32, -_FLOAT32, "points_of")
MEAN = ArrayFormat((N_COLUMNS,), _FLOAT32, -_FLOAT32)  # of the prior, in runs of earlier versions
POINT = ArrayFormat((N_COLUMNS,), lower=-inf)
WIDTHS = ArrayFormat((N_COLUMNS,), lower=-np.finfo(float).tiny)


class StoredAs(NamedTuple):
    """How the components of one likelihood, and their prior, lie in a run folder.

    Fields of the posterior keep their names. Fields of the prior have ``prior_`` before theirs.
    """

    posterior: type[NamedTuple]
    formats: tuple[ArrayFormat, ...]  # of the posterior's fields
    prior_arrays: Mapping[str, ArrayFormat]  # fields of the prior in model.safetensors
    prior_numbers: tuple[str, ...]  # fields of the prior in model.json, all positive

    @property
    def arrays(self) -> dict[str, ArrayFormat]:
        """All arrays of model.safetensors by their names there."""
        own = dict(zip(self.posterior._fields, self.formats, strict=True))
        return own | {PRIOR + name: form for name, form in self.prior_arrays.items()}


class Stored(NamedTuple):
    """What a posterior puts into a run folder."""

    settings: Mapping[str, str | float | bool]  # entries of model.json
    arrays: Mapping[str, FloatArray]


class ModelSettings(TypedDict):
    """What ``model.json`` says about a model, beside positive numbers."""

    model: str
    n_topics: PositiveSize
    n_words: NotRequired[PositiveSize]  # where data are words
    n_columns: NotRequired[PositiveSize]  # mixtures
    n_axes: NotRequired[PositiveSize]  # mixtures of vectors; earlier versions did not write it
    likelihood: NotRequired[str]  # mixtures
    at_modes: NotRequired[bool]  # mixtures whose parameters are points


@dataclass(frozen=True, slots=True, eq=False)
class StoredReader:
    """What a run folder holds of a posterior; every method refuses what training never writes."""

    settings_file: Path
    content: Mapping[str, Json]  # of the settings file
    settings: ModelSettings  # the part of it that is typed
    arrays_file: Path
    refusal: Refusal

    def refuse(self, name: str, problem: str) -> Exception:
        """The error for an entry of model.json."""
        return self.refusal.of(f"{self.settings_file}, {name}", problem)

    def numbers(self, names: Sequence[str]) -> dict[str, float]:
        """Entries of model.json that are positive numbers."""
        numbers: dict[str, float] = {}
        for name in names:
            number = self.content.get(name)
            if not (isinstance(number, float) and 1 / LARGEST_NUMBER < number < LARGEST_NUMBER):
                raise self.refuse(name, f"must be a positive number, but is {number!r}")
            numbers[name] = number
        return numbers

    def arrays(self, formats: Mapping[str, ArrayFormat]) -> dict[str, FloatArray]:
        """The arrays of ``formats``."""
        arrays, _ = read_tensors(self.arrays_file, tuple(formats), self.refusal)
        for name, form in formats.items():
            self._check_array(f"{self.arrays_file}, {name}", arrays[name], form)
        return arrays

    def _check_array(self, where: str, array: FloatArray, form: ArrayFormat) -> None:
        shape = tuple(map(self.size, form.axes))
        if array.shape != shape:
            raise self.refusal.of(where, f"expected shape {shape}, but found {array.shape}")
        lower, upper = max(form.lower, -LARGEST_NUMBER), min(form.upper, LARGEST_NUMBER)
        bad = ~((array > (lower or 1 / LARGEST_NUMBER)) & (array < upper))  # NaN is bad, too
        if bad.any():
            found = f"{array[bad][0]} among {int(bad.sum()):,} bad values"
            raise self.refusal.of(where, f"expected {form.values}, but found {found}")

    def size(self, name: str) -> int:
        """The length of an axis, which ``ModelSettings`` may or may not say."""
        size = self.content.get(name)
        if not isinstance(size, int):
            raise self.refuse(name, f"must be a whole number, but is {size!r}")
        return size


# --- vectors --------------------------------------------------------------------------------------
STANDARD, COORDINATES = "standard_", "coordinates_"
Formats = Mapping[str, ArrayFormat]
OWN: Formats = {"origin": POINT, "scales": COLUMNS, "widths": WIDTHS, "steps": WIDTHS}


def stored_vectors(
    arrays: Mapping[str, FloatArray], formats: Formats, coordinates: Coordinates
) -> dict[str, FloatArray]:
    """What is stored of the ``arrays`` of a posterior and its prior, and of their coordinates."""
    stored = {PRIOR + "mean": coordinates.origin, **arrays}
    for name, form in formats.items():
        if form.in_columns:
            stored[STANDARD + name] = arrays[name]
            stored[name] = getattr(coordinates, form.in_columns)(arrays[name])
    return stored | {COORDINATES + name: getattr(coordinates, name) for name in _own(formats)}


def read_vectors(reader: StoredReader, formats: Formats) -> dict[str, Any]:  # arrays, and axes
    """The arrays by name in standard coordinates, with ``prior_coordinates``.

    Raises the reader's error for arrays that ``stored_vectors`` never makes.
    """
    n_axes = reader.settings.get("n_axes")
    if n_axes is None:
        return _read_earlier(reader, formats)
    own = reader.arrays({COORDINATES + name: form for name, form in _own(formats).items()})
    coordinates = Coordinates(**{name: own[COORDINATES + name] for name in _own(formats)})
    if (problem := coordinates.problem) or coordinates.n_axes != n_axes:
        problem = problem or f"expected {n_axes:,} axes, but found {coordinates.n_axes:,}"
        raise reader.refusal.of(f"{reader.arrays_file}, coordinates", problem)
    names = {STANDARD + name if form.in_columns else name: name for name, form in formats.items()}
    found = reader.arrays({stored: formats[name].standard for stored, name in names.items()})
    arrays = {names[stored]: array for stored, array in found.items()}
    return {**arrays, PRIOR + "coordinates": coordinates}


def _own(formats: Formats) -> Formats:
    is_turned = any(form.in_columns == MATRIX.in_columns for form in formats.values())
    return {**OWN, "directions": MATRIX} if is_turned else OWN


def _read_earlier(reader: StoredReader, formats: Formats) -> dict[str, Any]:  # likewise
    """The same from a run of an earlier version, which measured items from the prior's mean."""
    found, origin = reader.arrays(formats), np.zeros(reader.size(N_COLUMNS))
    if "means" in found:
        (mean,) = reader.arrays({PRIOR + "mean": MEAN}).values()
        origin = mean.astype(np.float32).astype(np.float64)
        found["means"] = found["means"] - origin
    coordinates = Coordinates.shifted(origin)
    if "directions" in _own(formats):
        coordinates = replace(coordinates, directions=np.eye(len(origin)))
    return {**found, PRIOR + "coordinates": coordinates}
