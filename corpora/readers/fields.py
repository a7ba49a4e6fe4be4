"""Fields of documents that a corpus keeps: which, and of what types.

Readers hand out the values as strings. Unless a user gives the type of a field, it follows from all
values of the field, so the types are known after a pass over the documents. This is the only place
that decides what a number, a date and a string are, also for groups by fields and labels that are
kept as strings.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from functools import lru_cache
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparsetopics.base.batches import IntArray
from sparsetopics.base.errors import OptionError, SourceError
from sparsetopics.base.wording import listed
from sparsetopics.corpora.readers.blocks import CountedBlock, Values
from sparsetopics.options.option import shown

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
_DOUBTFUL = r"^[+-]?(0[0-9]|[0-9]{16})"  # a number that may not survive
_TIME = r"[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?(Z|[+-][0-9]{2}:?[0-9]{2})?"
_MONTH = rf"-[0-9]{{2}}(-[0-9]{{2}}({_TIME})?)?"
_LOOKS: Mapping[FieldType, str] = {"number": _NUMBER, "date": f"^[0-9]{{4}}{_MONTH}$"}
_DATE = rf"^[0-9]{{4}}({_MONTH})?$"  # a year alone is a date only where dates are asked for

TEXT = "text"
ALL = "all"  # fields of a record
ALWAYS_KEPT = ("id", "label")
MOST_FIELDS = 1_000
_GIVEN_TYPES: Mapping[str, FieldType] = {"string": "string", "number": "number", "date": "date"}


class Kept(NamedTuple):
    """Which fields to keep."""

    types: Mapping[str, FieldType | None]  # of the fields that are named; None: not given
    is_all: bool  # whether to keep the others too

    @property
    def text(self) -> bool:
        """Whether to keep the texts."""
        return self.is_all or TEXT in self.types

    @property
    def named(self) -> list[str]:
        """The fields that are named, without the text."""
        return [name for name in self.types if name != TEXT]


@lru_cache(maxsize=100)
def kept_fields(keep: tuple[str, ...]) -> Kept:
    """What names such as ``text``, ``section`` and ``year:number`` ask for; OptionError for names
    that are given twice or cannot be kept."""
    types: dict[str, FieldType | None] = {}
    for said in keep:
        name, _, kind = said.rpartition(":")
        if kind not in _GIVEN_TYPES or not name:
            name, kind = said, ""
        if name in types:
            raise OptionError("keep", f"{shown(name)} is named twice")
        if not name or name in ALWAYS_KEPT or (name == TEXT and kind):
            always = "ids and labels are always kept"
            problem = always if name in ALWAYS_KEPT else f"{shown(said)} is no field to keep"
            raise OptionError("keep", problem, "Name fields such as text, section or year:number.")
        types[name] = "text" if name == TEXT else _GIVEN_TYPES.get(kind)
    is_all = ALL in types and types[ALL] is None
    if is_all:
        del types[ALL]
    return Kept(types, is_all)


def as_asked(fields: Mapping[str, FieldType]) -> tuple[str, ...]:
    """The names that ask for ``fields`` with their types."""
    return tuple(name if kind == TEXT else f"{name}:{kind}" for name, kind in fields.items())


def check_number_of_fields(n_fields: int, where: str) -> None:
    """SourceError for more fields than a corpus can keep."""
    if n_fields > MOST_FIELDS:
        problem = f"there are more than {MOST_FIELDS:,} fields to keep"
        raise SourceError(where, problem, "Name some of them with --keep.")


def described(fields: Mapping[str, FieldType]) -> str:
    """The fields for people: ``text, section (string) and date (date)``."""
    names = [
        name if kind == TEXT else f"{name if name.strip() else shown(name)} ({kind})"
        for name, kind in fields.items()
    ]
    return listed(names) if names else "none"


class FieldTypes:
    """Finds the types of the kept fields from their values, block by block."""

    def __init__(self, kept: Kept) -> None:
        self._kept = kept
        self._possible: dict[str, list[FieldType]] = {}  # best first
        self._has_values: set[str] = set()

    def watch(self, blocks: Iterable[CountedBlock]) -> Iterator[CountedBlock]:
        """The blocks; SourceError if there are more than a thousand fields."""
        for block in blocks:
            for name, values in block.fields.items():
                self._look_at(name, values)
            check_number_of_fields(len(self._possible), "documents")
            yield block

    def _look_at(self, name: str, values: pa.StringArray) -> None:
        possible = self._possible.setdefault(name, ["number", "date"])
        if name == TEXT or self._kept.types.get(name) is not None or not possible:
            return
        known = present(values).drop_null()
        if len(known):
            self._has_values.add(name)
            alike = (k for k in possible if _all(pc.match_substring_regex(known, _LOOKS[k])))
            fitting = [kind for kind in alike if converted(known, kind) is not None]
            self._possible[name] = fitting  # without any, the values are strings

    @property
    def types(self) -> dict[str, FieldType]:
        """The types: the text first, then the named fields, then the others as they appeared."""
        order = dict.fromkeys([*self._kept.types, *self._possible])
        if self._kept.text:
            order = {TEXT: None, **order}
        return {name: self._type_of(name) for name in order}

    def _type_of(self, name: str) -> FieldType:
        if name == TEXT:
            return "text"
        given = self._kept.types.get(name)
        if given is not None or name not in self._has_values:
            return given or "string"
        return (self._possible[name] or ["string"])[0]


class WrongValueError(SourceError):
    """A value of a document that is not of the type of its field."""

    def __init__(self, row: int, field: str, problem: str, hint: str) -> None:
        super().__init__(f"row {row}, field {field!r}", problem, hint)
        self.row, self.field, self.problem, self.hint = row, field, problem, hint

    def at(self, place: str) -> SourceError:
        """The error with the place of the document."""
        return SourceError(f"{place}, field {self.field!r}", self.problem, self.hint)


def table_of_fields(
    values: Values,
    types: Mapping[str, FieldType],
    rows: IntArray,  # (n_docs,) in their block, for errors
) -> pa.Table:
    """The fields of documents, (n_docs,) each, as columns of their types.

    A field without values is null. Raises WrongValueError for a value that is not of the type of
    its field.
    """
    columns = {}
    for name, kind in types.items():
        if name not in values:
            columns[name] = pa.nulls(len(rows), ARROW_TYPES[kind])
            continue
        columns[name] = converted(values[name], kind)
        if columns[name] is None:
            row = misfit(values[name], kind)
            problem = f"expected a {kind}, but found {shown(values[name][row].as_py())}"
            hint = f"Correct it, or make the corpus with --keep {name}:string."
            raise WrongValueError(int(rows[row]), name, problem, hint)
    return pa.table(columns)


# --- what values look like -----------------------------------------------------------------------
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
        if kind == "number":
            numbers = values.cast(pa.float64())
            are_finite = np.isfinite(numbers.fill_null(0)).all()
            return numbers if are_finite and _survive(values) else None
        return _as_dates(values) if kind == "date" else values
    except pa.ArrowInvalid:
        return None


def _survive(values: pa.StringArray) -> bool:
    """Whether numbers of 64 bits can stand for the strings: not for most ids of 19 digits, nor for
    codes that begin with 0."""
    doubtful = values.filter(pc.match_substring_regex(values, _DOUBTFUL)).to_pylist()
    return all(
        value.lstrip("+-")[0] != "0" and Decimal(repr(float(value))) == Decimal(value)
        for value in doubtful
    )


def misfit(values: pa.StringArray, kind: FieldType) -> int:
    """The row of the first value that is not of a type, though one of them is not."""
    return next(row for row in range(len(values)) if converted(values[row : row + 1], kind) is None)


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
