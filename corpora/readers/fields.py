"""Fields of documents that a corpus keeps: which, and of what types.

Readers hand out the values as strings. Unless a user gives the type of a field, it follows from all
values of the field, so the types are known after a pass over the documents. This is the only place
that decides what a number and a string are, also for groups by fields and labels that are kept as
strings; ``dates`` decides what a date is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache, partial
from itertools import islice
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparsetopics.base.batches import IntArray
from sparsetopics.base.errors import OptionError, SourceError
from sparsetopics.base.wording import listed, quantity
from sparsetopics.corpora.readers import dates
from sparsetopics.corpora.readers.blocks import CountedBlock, Values
from sparsetopics.options.option import refuse, shown

#: The text of a document is the only field of the type ``text``, and is called so.
FieldType: TypeAlias = Literal["text", "string", "number", "date"]

ARROW_TYPES: Mapping[FieldType, pa.DataType] = {
    "text": pa.string(),
    "string": pa.string(),
    "number": pa.float64(),
    "date": dates.DATE,
}
# A number as JSON writes it, of at most 15 digits if it is whole: postal codes that begin with 0
# and the long ids of messages would not survive as float64, so they stay strings.
# Floats of 16 digits end in .0 in most files.
_NUMBER = r"^-?((0|[1-9][0-9]{0,14})(\.[0-9]+)?([eE][+-]?[0-9]+)?|[1-9][0-9]{15}\.0)$"
_DOUBTFUL = r"^[+-]?(0[0-9]|[0-9]{16})"  # a number that may not survive
_YEAR_BYTES = len("1990.0")  # at most; years are dates only where dates are asked for
_DRESSED = (  # numbers, some with a currency or percent sign, decimal comma or thousands separators
    rf"{_NUMBER}|^[-+(]?([$€£¥] ?-?[0-9][0-9.,' ]*|[0-9][0-9.,' ]* ?[%$€£¥]|[0-9]+,[0-9]+|"
    r"[0-9]{1,3}([,.' \x{a0}\x{202f}][0-9]{3})+([.,][0-9]+)?)\)?$"
)
#: What stands for a missing number or date besides an empty string: NA, and what pandas writes.
MISSING = ("NA", "NaN", "nan", "NaT", "<NA>", "None")
_FOUND: Sequence[FieldType] = ("number", "date")  # types that follow from values
_USUAL = [how for how in dates.PROPOSED if how != dates.EXCEL]  # formats to look for
_DIGIT = "[0-9]"
_MOST_ODD = 3  # different values that are remembered
_FIRST = 10  # values of a block that are enough to see that a column is of another type
_FEW = 0.2  # of all values

TEXT = "text"
OTHER_TEXT = "text "  # key of a left-out field that is called text but is not the text
ALL = "all"  # fields of a record
ALWAYS_KEPT = ("id", "label")
MOST_FIELDS = 1_000
_GIVEN_TYPES: Mapping[str, FieldType] = {"string": "string", "number": "number", "date": "date"}


@dataclass(frozen=True, slots=True)
class ValueRules:
    """How the strings of readers become the values of fields."""

    date_formats: Mapping[str, str] = field(default_factory=dict)  # of fields; default: dates.PLAIN
    missing: tuple[str, ...] = ()  # what stands for no value, besides MISSING

    def settled(self, types: Mapping[str, FieldType]) -> ValueRules:
        """The rules with the format of each field of dates, and of no other field."""
        formats = {
            n: self.date_formats.get(n, dates.PLAIN) for n, kind in types.items() if kind == "date"
        }
        return ValueRules(formats, self.missing)


NO_RULES = ValueRules()


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
    that are given twice or cannot be kept. Ids and labels, which are always kept, may be named."""
    types: dict[str, FieldType | None] = {}
    for said in keep:
        name, _, kind = said.rpartition(":")
        if kind not in _GIVEN_TYPES or not name:
            name, kind = said, ""
        if name in types:
            raise OptionError("keep", f"{shown(name)} is named twice")
        is_usual = name in (*ALWAYS_KEPT, TEXT)
        if not name or (is_usual and kind):
            problem = f"{shown(name)} is always a string" if is_usual else "a field has no name"
            raise OptionError("keep", problem, "Name fields such as text, section or year:number.")
        types[name] = "text" if name == TEXT else _GIVEN_TYPES.get(kind)
    is_all = ALL in types and types[ALL] is None
    without = {*ALWAYS_KEPT, ALL} if is_all else {*ALWAYS_KEPT}
    return Kept({name: kind for name, kind in types.items() if name not in without}, is_all)


def as_asked(fields: Mapping[str, FieldType]) -> tuple[str, ...]:
    """The names that ask for ``fields`` with their types."""
    return tuple(name if kind == TEXT else f"{name}:{kind}" for name, kind in fields.items())


def check_number_of_fields(n_fields: int, where: str) -> None:
    """SourceError for more fields than a corpus can keep."""
    if n_fields > MOST_FIELDS:
        problem = f"there are more than {MOST_FIELDS:,} fields to keep"
        raise SourceError(where, problem, "Name some of them with --keep.")


def described(fields: Mapping[str, FieldType], notes: Mapping[str, str] = {}) -> str:
    """The fields for people: ``text, section (string) and date (date)``, with ``notes`` about how
    some of them got their types."""
    names = []
    for name, kind in fields.items():
        known = ", ".join(filter(None, (kind, notes.get(name))))
        own = name if name.strip() else shown(name)
        names.append(name if kind == TEXT else f"{own} ({known})")
    return listed(names) if names else "none"


class _Clues:
    """What the values of one field tell about its type."""

    def __init__(self, formats: Sequence[str] = _USUAL) -> None:
        self.n_values = 0
        self.n_with_digits = 0
        self.words: set[str] = set()  # values without a digit
        # Values that are not of a type, in the order of their first rows, with the number of
        # documents that have them; no entry for a type that many values do not fit. Of formats of
        # dates, these are values with a digit, and no format is left after more than a few words.
        self.odd: dict[str, Counter[str]] = {kind: Counter() for kind in (*_FOUND, *formats)}
        self.rows: dict[str, int] = {}  # the first of each odd value
        self.are_dressed = True  # numbers, all of them, perhaps with separators and signs
        self.some_dressed = False  # with separators and signs

    def look_at(self, values: pa.StringArray, missing: Sequence[str], first_row: int) -> None:
        """Add values. Those that fit are not looked at one by one."""
        if not self.odd and not self.are_dressed:
            return  # more values would change nothing
        known = _known(values, missing)
        first = known[:_FIRST].drop_null().unique()
        for kind in [*self.odd]:
            if len([*_misfits(first, partial(_fits, kind=kind))]) > _MOST_ODD:
                del self.odd[kind]
        failing = [kind for kind in self.odd if kind not in _FOUND or not _fits(known, kind)]
        self.n_values += len(known) - known.null_count
        if "number" in failing or "number" not in self.odd:
            self.are_dressed = self.are_dressed and _all(pc.match_substring_regex(known, _DRESSED))
            self.some_dressed |= not _all(pc.match_substring_regex(known, _NUMBER))
        if failing:
            self._count_odd(known, failing, first_row)

    def _count_odd(self, known: pa.StringArray, failing: Sequence[str], first_row: int) -> None:
        counts = pc.value_counts(known.drop_null())
        distinct = counts.field("values")
        has_digits = pc.match_substring_regex(distinct, _DIGIT)
        self.n_with_digits += pc.sum(counts.field("counts").filter(has_digits)).as_py() or 0
        self.words.update(distinct.filter(pc.invert(has_digits)).to_pylist())
        for kind in failing:
            odd = self.odd[kind]
            for n in islice(_misfits(distinct, partial(_fits, kind=kind)), _MOST_ODD + 1):
                value, count = counts[n].as_py().values()
                odd[value] += count
                self.rows.setdefault(value, first_row + pc.index(known, value).as_py())
            is_format = kind not in _FOUND
            n_values = self.n_with_digits if is_format else self.n_values
            is_settled = len(self.words) > _MOST_ODD if is_format else not odd
            if is_settled or len(odd) > _MOST_ODD or odd.total() > _FEW * n_values:
                del self.odd[kind]

    @property
    def kind(self) -> FieldType:
        known = _FOUND if self.n_values else ()
        return next((kind for kind in known if not self.odd.get(kind, True)), "string")

    def proposal(self, name: str) -> tuple[str, Counter[str]]:
        """The options that read the field as dates, such as ``--date-format 'day=%d/%m/%Y'
        --missing 'n/a'``, and the values with a digit that they leave out; "" if there are none."""
        formats = {how: odd for how, odd in self.odd.items() if how not in _FOUND}
        if not self.n_with_digits or not formats:
            return "", Counter()
        odd = min(formats.values(), key=Counter.total)
        best = [repr(f"{name}={how}") for how, own in formats.items() if own == odd]
        missing = (f"--missing {value!r}" for value in [*odd, *sorted(self.words)])
        return " ".join([f"--date-format {listed(best, 'or')}", *missing]), odd

    def note(self, name: str) -> str:
        """Why the field is not of another type; "" if there is nothing to say."""
        proposed, odd = self.proposal(name)
        if proposed:
            return f"readable as dates{self._where(' but for', odd)} with {proposed}"
        if not self.n_values or self.kind != "string":
            return ""
        if self.odd:  # a type that only a few values do not fit
            return self._where("because of", next(iter(self.odd.values())))
        if self.are_dressed and self.some_dressed:
            return "because separators, currency and percent signs are not read as parts of numbers"
        return ""

    def _where(self, why: str, odd: Counter[str]) -> str:
        """Name the first of some values, and its row; "" for none."""
        if not odd:
            return ""
        value, others = next(iter(odd)), quantity(odd.total() - 1, "other value")
        more = f" and {others}" if odd.total() > 1 else ""
        return f"{why} {shown(value)} in row {self.rows[value]:,}{more}"


def unkept(n_docs: int, why: str) -> pa.DictionaryArray:
    """What stands in a block for a field that ``all`` cannot keep: no values, but the reason."""
    return pa.DictionaryArray.from_arrays(pa.nulls(n_docs, pa.int8()), pa.array([why]))


def said_of_unkept(fields: Mapping[str, FieldType], notes: Mapping[str, str]) -> str:
    """A sentence that says which fields in ``notes`` are not kept, and why; "" for none."""
    names = [f"{shown(name.rstrip())} ({why})" for name, why in notes.items() if name not in fields]
    return f"Left out {listed(names)}." if names else ""


class FieldTypes:
    """Finds the types of the kept fields from their values, block by block."""

    def __init__(self, kept: Kept, rules: ValueRules = NO_RULES) -> None:
        self._kept = kept
        self._rules = rules
        self._clues: dict[str, _Clues] = {}
        self._unkept: dict[str, str] = {}  # fields that some documents cannot keep, and why
        self._n_rows = 0

    def watch(self, blocks: Iterable[CountedBlock]) -> Iterator[CountedBlock]:
        """The blocks; SourceError if there are more than a thousand fields."""
        for block in blocks:
            for name, values in block.fields.items():
                self._look_at(name, values)
            self._n_rows += len(block.ids)
            check_number_of_fields(len(self._clues), "documents")
            yield block

    def _look_at(self, name: str, values: pa.StringArray) -> None:
        if pa.types.is_dictionary(values.type):
            self._unkept.setdefault(name, values.dictionary[0].as_py())
            return
        clues = self._clues.setdefault(name, _Clues())
        if self._given(name) is None:
            clues.look_at(values, self._rules.missing, self._n_rows)

    def _given(self, name: str) -> FieldType | None:
        if name == TEXT:
            return "text"
        return "date" if name in self._rules.date_formats else self._kept.types.get(name)

    @property
    def types(self) -> dict[str, FieldType]:
        """The types: the text first, then the named fields, then the others as they appeared;
        OptionError for a format of a field that is not kept."""
        for name in self._rules.date_formats.keys() - self._clues.keys():
            refuse("date-format", f"no field {shown(name)} is kept", "Check the name, and --keep.")
        first = [TEXT] if self._kept.text else []
        order = dict.fromkeys([*first, *self._kept.types, *self._clues])
        found = [name for name in order if name not in self._unkept]
        return {name: self._given(name) or self._clues.get(name, _Clues()).kind for name in found}

    @property
    def notes(self) -> dict[str, str]:
        """Why fields are not numbers or dates, although people may expect it, or why ``all`` left
        them out."""
        notes = {name: clues.note(name) for name, clues in self._clues.items()} | self._unkept
        return {name: note for name, note in notes.items() if note}

    @property
    def doubts(self) -> list[str]:
        """The notes as sentences, for users of Python."""
        types, notes = self.types, self.notes
        kept = [f"{n} is kept as a {types[n]}, {note}" for n, note in notes.items() if n in types]
        said = [*kept, said_of_unkept(types, notes)]
        return [each.replace("--date-format", "date_formats") for each in said if each]


def proposal(name: str, values: pa.StringArray, missing: Sequence[str] = ()) -> str:
    """The options that read a field with these values as dates; "" if there are none."""
    clues = _Clues(list(dates.PROPOSED))
    clues.look_at(values, missing, 0)
    return clues.proposal(name)[0]


class WrongValueError(SourceError):
    """A value of a document that is not of the type of its field."""

    row = 0  # of the document in its block


def table_of_fields(
    values: Values,
    types: Mapping[str, FieldType],
    rows: IntArray,  # (n_docs,) in their block, for errors
    rules: ValueRules = NO_RULES,
) -> pa.Table:
    """The fields of documents, (n_docs,) each, as columns of their types.

    A field without values is null. Raises WrongValueError for a value that is not of the type of
    its field.
    """
    columns = {}
    for name, kind in types.items():
        column = values.get(name, pa.nulls(len(rows), pa.string()))
        how = rules.date_formats.get(name, dates.PLAIN)
        columns[name] = found = converted(column, kind, how, rules.missing)
        if isinstance(found, int):
            value, is_plain = column[found].as_py(), how in (dates.PLAIN, dates.UTC)
            wanted = kind if is_plain else f"{kind} of the format {shown(how)}"
            problem = f"expected a {wanted}, but found {shown(value)}"
            hint = f"Correct it, or use --keep {name}:string, or --missing {value!r} for no value."
            if kind == "date" and is_plain and (how := proposal(name, column, rules.missing)):
                hint = f"Correct it, or make the corpus with {how}."
            error = WrongValueError(f"field {name!r}", problem, hint)
            error.row = int(rows[found])
            raise error
    return pa.table(columns)


# --- what values look like -----------------------------------------------------------------------
def _present(values: pa.StringArray, missing: Sequence[str]) -> pa.StringArray:
    """The values, null for empty ones and for those that are ``missing``."""
    is_missing = pc.is_in(values, pa.array(["", *missing]))
    return pc.if_else(is_missing, pa.scalar(None, pa.string()), values)


def _known(values: pa.StringArray, missing: Sequence[str]) -> pa.StringArray:
    """Values that may be numbers or dates, without spaces around them, null for missing ones."""
    return _present(pc.utf8_trim_whitespace(values), [*MISSING, *missing])


def converted(
    values: pa.StringArray, kind: FieldType, how: str = dates.PLAIN, missing: Sequence[str] = ()
) -> pa.Array | int:
    """Strings as values of a type, null for missing ones; or the row of the first string that is
    not of this type.

    Numbers are finite. Dates are read as ``as_dates`` reads them, ``how`` is their format.
    """
    if kind == "text":
        return values
    if kind == "string":
        return _present(values, missing)
    known = _known(values, missing)
    if (found := _parsed(known, kind, how)) is not None:
        return found
    return next(_misfits(known, lambda part: _parsed(part, kind, how) is not None), 0)


def _parsed(values: pa.StringArray, kind: FieldType, how: str = dates.PLAIN) -> pa.Array | None:
    """Known strings as numbers or dates; None if one of them is not of that type."""
    try:
        if kind == "date":
            return dates.as_dates(values, how)
        numbers = values.cast(pa.float64())
        return numbers if np.isfinite(numbers.fill_null(0)).all() and _survive(values) else None
    except pa.ArrowInvalid:
        return None


def _survive(values: pa.StringArray) -> bool:
    """Whether 64-bit numbers keep all that the strings say, which they do not for most ids of 19
    digits and for codes that begin with 0."""
    doubtful = values.filter(pc.match_substring_regex(values, _DOUBTFUL)).to_pylist()
    return all(
        value.lstrip("+-")[0] != "0" and Decimal(repr(float(value))) == Decimal(value)
        for value in doubtful
    )


def _fits(values: pa.StringArray, kind: str) -> bool:
    """Whether all known values are of a type that the user did not ask for, or all with a digit of
    a format of dates."""
    if kind not in _FOUND:
        return dates.are_proposed(values.filter(pc.match_substring_regex(values, _DIGIT)), kind)
    if kind == "number":
        is_alike = pc.match_substring_regex(values, _NUMBER)
        return _all(is_alike) and _parsed(values, "number") is not None
    is_alike = pc.greater(pc.binary_length(values), _YEAR_BYTES)
    return _all(is_alike) and _parsed(values, "date") is not None


def _misfits(values: pa.StringArray, fit: Callable[[pa.StringArray], bool]) -> Iterator[int]:
    """The rows of the values that do not ``fit``, found by halving, since most values do."""
    if fit(values):
        return
    if len(values) == 1:
        yield 0
        return
    middle = len(values) // 2
    yield from _misfits(values[:middle], fit)
    yield from (middle + row for row in _misfits(values[middle:], fit))


def _all(truths: pa.BooleanArray) -> bool:
    """Whether none is false."""
    return bool(pc.all(truths, min_count=0).as_py())
