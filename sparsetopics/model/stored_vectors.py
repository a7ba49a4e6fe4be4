"""How a posterior of vectors lies in a run folder: in columns, and in standard coordinates.

Other programs read the arrays in columns. Those in standard coordinates, which have ``standard_``
before their names, are what a model is made of again: it must not lose digits to the units of its
columns, or to correlations.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from sparsetopics.base.batches import FloatArray
from sparsetopics.model.array_formats import (
    COLUMNS,
    MATRIX,
    MEAN,
    N_COLUMNS,
    POINT,
    PRIOR,
    WIDTHS,
    ArrayFormat,
    StoredReader,
)
from sparsetopics.model.coordinates import Coordinates

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


def read_vectors(reader: StoredReader, formats: Formats) -> dict[str, Any]:
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


def _read_earlier(reader: StoredReader, formats: Formats) -> dict[str, Any]:
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
