"""Fields of documents that a corpus keeps: which, and of what types.

Readers hand out the values as strings. Unless a user gives the type of a field, it follows from all
values of the field (``field_values``), so the types are known after a pass over the documents.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

import pyarrow as pa

from sparsetopics.base.errors import OptionError, SourceError
from sparsetopics.base.wording import listed
from sparsetopics.corpora.readers.blocks import CountedBlock, Values
from sparsetopics.corpora.readers.field_values import (
    ARROW_TYPES,
    FieldType,
    converted,
    misfit,
    present,
    types_that_fit,
)
from sparsetopics.options.option import shown

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
            self._possible[name] = types_that_fit(known, possible)

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


def table_of_fields(
    values: Values, types: Mapping[str, FieldType], ids: pa.StringArray
) -> pa.Table:
    """The fields of documents, (n_docs,) each, as columns of their types.

    A field without values is null. Raises SourceError, with an id of ``ids``, for a value that is
    not of the type of its field.
    """
    columns = {}
    for name, kind in types.items():
        if name not in values:
            columns[name] = pa.nulls(len(ids), ARROW_TYPES[kind])
            continue
        columns[name] = converted(values[name], kind)
        if columns[name] is None:
            row = misfit(values[name], kind)
            where = f"document {ids[row].as_py()!r}, field {name!r}"
            problem = f"expected a {kind}, but found {shown(values[name][row].as_py())}"
            raise SourceError(where, problem, f"Correct it, or keep the field as {name}:string.")
    return pa.table(columns)
