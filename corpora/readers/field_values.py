"""What a value of a field is: a number, a date or a string.

This is the only place that decides it: for the fields that a corpus keeps, when their types are
told by their values, and for groups by fields and labels that are kept as strings.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

#: The text of a document is the only field of the type ``text``, and is called so.
FieldType: TypeAlias = Literal["text", "string", "number", "date"]

ARROW_TYPES: Mapping[FieldType, pa.DataType] = {
    "text": pa.string(),
    "string": pa.string(),
    "number": pa.float64(),
    "date": pa.timestamp("us"),  # UTC
}
# A number as JSON writes it, of at most 15 digits if it is whole: postal codes that begin with 0
# and the long ids of messages would not survive as float64, so they stay strings.
_NUMBER = r"^-?(0|[1-9][0-9]{0,14})(\.[0-9]+)?([eE][+-]?[0-9]+)?$"
_TIME = r"[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?(Z|[+-][0-9]{2}:?[0-9]{2})?"
_MONTH = rf"-[0-9]{{2}}(-[0-9]{{2}}({_TIME})?)?"
_LOOKS: Mapping[FieldType, str] = {"number": _NUMBER, "date": f"^[0-9]{{4}}{_MONTH}$"}
_DATE = rf"^[0-9]{{4}}({_MONTH})?$"  # a year alone is a date only where dates are asked for


def types_that_fit(values: pa.StringArray, among: Iterable[FieldType]) -> list[FieldType]:
    """Those types that all values, none of them null, look like and can be converted to.

    Without any, the values are strings.
    """
    alike = [kind for kind in among if _all(pc.match_substring_regex(values, _LOOKS[kind]))]
    return [kind for kind in alike if converted(values, kind) is not None]


def present(values: pa.StringArray) -> pa.StringArray:
    """The values, null for empty ones."""
    is_empty = pc.equal(pc.binary_length(values), 0)
    return pc.if_else(is_empty, pa.scalar(None, pa.string()), values)


def converted(values: pa.StringArray, kind: FieldType) -> pa.Array | None:
    """Strings as values of a type, null for empty ones; None if one of them is not of this type.

    Numbers are finite. Dates are years, months, days and times as ISO 8601 writes them, in UTC
    unless they say otherwise. A year or a month is its first day.
    """
    if kind == "text":
        return values
    values = present(values)
    try:
        return {"string": _as_they_are, "number": _as_numbers, "date": _as_dates}[kind](values)
    except pa.ArrowInvalid:
        return None


def misfit(values: pa.StringArray, kind: FieldType) -> int:
    """The row of the first value that is not of a type, though one of them is not."""
    return next(row for row in range(len(values)) if converted(values[row : row + 1], kind) is None)


def _as_they_are(values: pa.StringArray) -> pa.Array:
    return values


def _as_numbers(values: pa.StringArray) -> pa.Array:
    numbers = values.cast(pa.float64())
    if not np.isfinite(numbers.fill_null(0)).all():
        raise pa.ArrowInvalid("not finite")
    return numbers


def _as_dates(values: pa.StringArray) -> pa.Array:
    if not _all(pc.match_substring_regex(values, _DATE)):
        raise pa.ArrowInvalid("no date")
    for pattern, whole in (
        (r"^([0-9]{4})$", r"\1-01"),
        (r"^([0-9]{4}-[0-9]{2})$", r"\1-01"),
        (r"^([0-9-]{10})$", r"\1T00:00"),
        (r"(\.[0-9]{6})[0-9]+", r"\1"),  # microseconds
        (r"([T ][0-9:.]+)$", r"\1Z"),
    ):
        values = pc.replace_substring_regex(values, pattern, whole)
    return values.cast(pa.timestamp("us", "UTC")).cast(ARROW_TYPES["date"])


def _all(truths: pa.BooleanArray) -> bool:
    """Whether none is false."""
    return bool(pc.all(truths, min_count=0).as_py())
