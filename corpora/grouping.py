"""Documents divided into groups: by the names in a column, by periods of time, by bins of numbers.

A column is a kept field or the label. It is read one row group at a time, so groups are discovered
as they come.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparsetopics.base.batches import IntArray
from sparsetopics.base.errors import OptionError
from sparsetopics.base.wording import listed
from sparsetopics.corpora.readers.fields import TEXT, FieldType, converted, proposal
from sparsetopics.corpora.store.shards import AnyRowGroup
from sparsetopics.options.option import refuse, shown

LABEL = "label"
PERIODS = ("day", "week", "month", "quarter", "year")
LONGEST_DATE = len("2024-05-31")  # the time of the day that may follow is not used

Start = date | float  # of a period, or of a bin of numbers


class GroupKey(NamedTuple):
    """What the documents of a group have in common; None for what they are not divided by."""

    name: str | None
    start: Start | None


class LocalGroups(NamedTuple):
    """The groups of some documents."""

    codes: IntArray  # (n_docs,)  −1: a document without a value
    keys: list[GroupKey]
    are_whole: bool  # the numbers that they are divided by, if they are


@dataclass(frozen=True, slots=True)
class Over:
    """A column of dates or numbers, and what its values are divided into."""

    column: str
    period: str | None = None  # of PERIODS; None for numbers
    width: float | None = None  # of bins; None for each value of its own
    are_whole: bool = False  # all values, so that a bin has a largest one

    @classmethod
    def parse(cls, text: str) -> Over:
        """``date:month``, ``age:10`` or ``year``; OptionError for anything else."""
        column, colon, unit = text.rpartition(":")
        if not colon:
            return cls(text)
        if unit in PERIODS:
            return cls(column, period=unit)
        try:
            width = float(unit)
        except ValueError:
            width = math.nan
        if not column or not (0.0 < width < math.inf):
            wanted = f"a field and one of {', '.join(PERIODS)} or the width of bins"
            refuse("over", f"expected {wanted}, but found {shown(text)}")
        return cls(column, width=width)

    def check(self, kind: FieldType) -> None:
        """OptionError if values of this type cannot be divided in this way."""
        column = shown(self.column)
        if kind == "number" and self.period not in (None, "year"):
            hint = f"Use {self.column}:10 for bins of 10, or --keep {self.column}:date."
            refuse("over", f"{column} has numbers, which have no {self.period}", hint)
        if kind == "date" and self.width is not None:
            hint = f"Use one of {listed([f'{self.column}:{period}' for period in PERIODS], 'or')}."
            refuse("over", f"{column} has dates, which have no bins", hint)

    def end(self, start: Start) -> Start:
        """Where a period or bin ends, which is not part of it; of a single value, that value."""
        if not isinstance(start, date):
            return start if self.width is None else start + self.width
        period = self.period or "day"
        after = pc.ceil_temporal(pa.scalar(start), unit=period, ceil_is_strictly_greater=True)
        try:
            found: date = after.as_py()
        except (ValueError, OverflowError):  # of the last period that Python knows
            return date.max
        return found

    def middle(self, first: Start, last: Start) -> Start:
        """The middle of several periods or bins that follow each other."""
        end = self.end(last)
        if isinstance(first, date):
            return first if not isinstance(end, date) else first + (end - first) / 2
        return first if isinstance(end, date) else (first + end) / 2

    def named(self, start: Start) -> str:
        """A period or bin as people write it: 2024-05, 2024-Q2, 2024, 2024-05-31, 10–20."""
        return self.span(start, start)

    def span(self, first: Start, last: Start) -> str:
        """Several periods or bins that follow each other, as people write them: 1963–1970."""
        ends = [self._point(first), self._point(last)]
        if not isinstance(last, date) and self.width is not None:
            is_counted = self.are_whole and self.width.is_integer()
            ends[1] = f"{last + self.width - is_counted:g}"
        dash = "–" if len(ends[0]) < len("2024-05") else " to "
        return dash.join(dict.fromkeys(ends))

    def _point(self, start: Start) -> str:
        if not isinstance(start, date):
            return f"{start:g}"
        day = start.isoformat()
        if self.period == "quarter":
            return f"{day[:4]}-Q{(start.month + 2) // 3}"
        return day[: {"month": 7, "year": 4}.get(self.period or "", LONGEST_DATE)]


@dataclass(frozen=True, slots=True)
class Grouping:
    """How documents are divided; with both a name and periods, into groups of the same two."""

    by: str | None = None  # a column
    over: Over | None = None

    @classmethod
    def parse(cls, by: str | None, over: str | None) -> Grouping:
        """The grouping that two options describe; OptionError for one that is wrong.

        Whether documents have the columns is for ``check`` to say.
        """
        return cls(by, None if over is None else Over.parse(over))

    @property
    def columns(self) -> dict[str, str]:
        """The columns that documents are divided by, under the names of their options."""
        given = {"by": self.by, "over": self.over.column if self.over else None}
        return {option: column for option, column in given.items() if column is not None}

    def named(self, name: str | None, start: Start | None) -> str:
        """A group as people write it; empty if documents are not divided."""
        period = None if self.over is None or start is None else self.over.named(start)
        return " ".join(part for part in (name, period) if part is not None)

    def check(self, fields: Mapping[str, FieldType]) -> None:
        """OptionError unless documents with labels and kept ``fields`` can be divided so."""
        for option, column in self.columns.items():
            check_field(option, column, fields)
        if self.over is not None:
            self.over.check(fields.get(self.over.column, "string"))

    def of(self, rows: AnyRowGroup) -> LocalGroups:
        """The groups of documents or items that have the columns; OptionError for values that
        cannot be divided."""
        name_codes = start_codes = np.zeros(rows.n_docs, np.int64)
        names: list[str | None] = [None]
        starts: list[Start | None] = [None]
        are_whole = False
        if self.by is not None:
            name_codes, found_names = _numbered(_names(read_column(rows, self.by)))
            names = found_names.to_pylist()
        if self.over is not None:
            values = read_column(rows, self.over.column)
            start_codes, found_starts = _numbered(_starts(values, self.over))
            are_whole = self.over.width is not None and _are_whole(values, self.over)
            try:
                starts = found_starts.to_pylist()
            except (ValueError, OverflowError) as error:
                raise OptionError("over", "expected dates between the years 1 and 9999") from error
        known = (name_codes >= 0) & (start_codes >= 0)
        pairs = name_codes[known] * len(starts) + start_codes[known]
        found, inverse = np.unique(pairs, return_inverse=True)
        codes = np.full(rows.n_docs, -1, np.int64)
        codes[known] = inverse
        places = (divmod(pair, len(starts)) for pair in found.tolist())
        keys = [GroupKey(names[name], starts[start]) for name, start in places]
        return LocalGroups(codes, keys, are_whole)


def check_field(option: str, column: str, fields: Mapping[str, FieldType]) -> None:
    """OptionError unless documents with labels and kept ``fields`` have values in ``column``."""
    known = [name for name, kind in {LABEL: "string", **fields}.items() if kind != TEXT]
    if column not in known:
        problem = f"the corpus has no field {shown(column)}"
        if column in fields:
            problem = f"the texts in {shown(column)} are no groups"
        more = "Pass others to --keep when you make the corpus."
        refuse(option, problem, f"It has {listed([*map(shown, known)])}. {more}")


def read_column(rows: AnyRowGroup, column: str) -> pa.Array:
    """The values of a column, aligned with the rows."""
    if column == LABEL:
        return pa.array(rows.read_labels(), pa.string())
    return rows.read_fields([column])[column].combine_chunks()


def _names(values: pa.Array) -> pa.Array:
    """Values as people write them: 3, 4.5, 2024-05-31, 2024-05-31 18:30:00."""
    names = values.cast(pa.string())
    if pa.types.is_temporal(values.type):
        names = pc.replace_substring_regex(names, r"( 00:00:00)?\.000000$", "")
    return names


def _numbered(values: pa.Array) -> tuple[IntArray, pa.Array]:
    """The number of each value, −1 for none, and the values, in the order of the first ones."""
    encoded = values.dictionary_encode()
    numbers = pc.fill_null(encoded.indices, -1).to_numpy(zero_copy_only=False)
    return numbers.astype(np.int64), encoded.dictionary


def _starts(values: pa.Array, over: Over) -> pa.Array:
    """The beginning of the period or bin of each value; null for a missing value."""
    if over.period is not None or pa.types.is_temporal(values.type):
        if pa.types.is_floating(values.type):  # years, if all are whole
            values = pc.utf8_lpad(values.cast(pa.string()), 4, "0")
        dates = _typed(values, "date", over, "dates such as 2024-05-31")
        return pc.floor_temporal(dates, unit=over.period or "day").cast(pa.date32())
    needed = f"Dates need a period, such as {over.column}:month."
    hint = needed if over.width is None else f"A width is for numbers. {needed}"
    numbers = _typed(values, "number", over, "numbers", hint)
    if over.width is None:
        return numbers
    return pc.multiply(pc.floor(pc.divide(numbers, over.width)), over.width)


def _are_whole(values: pa.Array, over: Over) -> bool:
    numbers = _typed(values, "number", over, "numbers").drop_null()
    return bool(numbers.equals(pc.floor(numbers)))


def _typed(values: pa.Array, kind: FieldType, over: Over, wanted: str, hint: str = "") -> pa.Array:
    """Strings as values of a type, and other values as they are; OptionError names one that is of
    another type."""
    if not pa.types.is_string(values.type):
        return values
    found = converted(values, kind)
    if isinstance(found, int):
        odd = shown(values[found].as_py())
        if kind == "date" and over.column != LABEL and (how := proposal(over.column, values)):
            hint = f"Make the corpus again with {how}."
        refuse("over", f"expected {wanted} in {shown(over.column)}, but found {odd}", hint)
    return found
