"""Where the files of a collection hold ids, labels, texts and numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from sparsetopics.base.errors import OptionError, SourceError
from sparsetopics.base.wording import quantity, without_middle
from sparsetopics.corpora.readers.blocks import TextBlock, joined
from sparsetopics.corpora.readers.dates import check_format
from sparsetopics.corpora.readers.delimiters import check_delimiter
from sparsetopics.corpora.readers.fields import (
    ALWAYS_KEPT,
    OTHER_TEXT,
    TEXT,
    Kept,
    ValueRules,
    check_number_of_fields,
    kept_fields,
    unkept,
)
from sparsetopics.corpora.sources.encodings import UTF_8, Decoding, check_encoding
from sparsetopics.options.ingest_table import INGEST_OPTION
from sparsetopics.options.option import check_values, names_in, refuse, shown

_FOR_VECTORS = "All columns hold numbers. To read them as vectors, use --kind vectors."
_LONGEST_NAME = 40  # characters of the name of a field in messages


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """Where documents are in their files, and how to decode their bytes.

    ``text_field`` names the field of the text, or several to join, as ``names_in`` reads them.
    Without ``id_field`` or ``label_field``, fields called ``id`` and ``label`` are used where they
    exist. A field that is named must exist. ``keep`` names the fields that the corpus keeps.
    A type may follow the name (``year:number``); otherwise it follows from the values. ``text`` is
    the text, as is the name of ``text_field`` if it is one field, and ``all`` stands for every
    field that can be kept. ``duplicate_ids`` says what happens to a document with the id of an
    earlier one. ``date_format`` says how kept fields write dates (``date=%d/%m/%Y``), and
    ``missing`` which of their values stand for a missing one.
    """

    text_field: str = "text"
    id_field: str | None = None
    label_field: str | None = None
    encoding: str | None = None  # None: UTF-8, UTF-16 and UTF-32 are recognised
    encoding_errors: str = "strict"  # "strict" or "replace"
    vocabulary_file: Path | None = None  # the words of a collection of counts
    keep: Sequence[str] = ()
    duplicate_ids: str = "refuse"  # or "skip" or "keep"
    date_format: Collection[str] = frozenset()
    missing: frozenset[str] = frozenset()
    delimiter: str | None = None  # of CSV; None: by the name of the file, or its first line
    header: tuple[str, ...] | None = None  # names of columns, for files without a header

    def __post_init__(self) -> None:
        check_values(INGEST_OPTION, "read", self)
        check_encoding(self.encoding or UTF_8)
        check_delimiter(self.delimiter)
        formats, types = self.rules.date_formats, self.kept.types
        for name, how in formats.items():
            if not name or len(formats) < len(self.date_format):
                problem = "must be FIELD=FORMAT, such as date=%d/%m/%Y, once per field"
                refuse("date-format", problem)
            check_format("date-format", how)
            if types.get(name) not in ("date", None):
                refuse("date-format", f"{shown(name)} is kept as a {types[name]}")
        if len({*self.text_fields}) < len(self.text_fields):
            refuse("text_field", f"names a field twice: {self.text_field}")

    @property
    def text_fields(self) -> tuple[str, ...]:
        """The fields that hold the text, in the order in which they are joined."""
        return names_in(self.text_field)

    @property
    def used(self) -> tuple[str, ...]:
        """The names of the fields that hold id, label and text, of which there may be several."""
        return self.id_field or "id", self.label_field or "label", *self.text_fields

    @property
    def kept(self) -> Kept:
        """What ``keep`` asks for."""
        names = (TEXT if (name,) == self.text_fields else name for name in self.keep)
        return kept_fields(tuple(dict.fromkeys(names)))

    @property
    def decoding(self) -> Decoding:
        """How bytes become text."""
        return Decoding(self.encoding, self.encoding_errors)

    @property
    def rules(self) -> ValueRules:
        """How values of kept fields are read."""
        formats = dict(pair.rpartition("=")[::2] for pair in self.date_format)
        return ValueRules(formats, tuple(sorted(self.missing)))


@dataclass(frozen=True, slots=True)
class VectorReadOptions:
    """Where the numbers are in their files, and how images become items.

    ``columns`` names the columns of a table that hold the values (default: all numeric ones);
    ``values_field`` names an array of an ``.npz``. Without ``id_field`` and ``label_field``, the
    usual names are used where they exist. A column or array that is named must exist. With
    ``patches``, an image gives one item for each square of that many pixels, taken every ``stride``
    pixels (default: side by side) and less its mean. Otherwise, a whole image is one item.
    """

    columns: tuple[str, ...] | None = None
    values_field: str | None = None
    id_field: str | None = None
    label_field: str | None = None
    patches: int | None = None  # side, pixels
    stride: int | None = None  # pixels
    delimiter: str | None = None  # of CSV, as in ``ReadOptions``
    header: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        check_values(INGEST_OPTION, "read", self)
        check_delimiter(self.delimiter)
        if self.columns is not None and (not self.columns or "" in self.columns):
            raise OptionError("columns", "the names must not be empty")
        if self.stride is not None and self.patches is None:
            raise OptionError("stride", "needs --patches")


class Fields(NamedTuple):
    """Positions of the columns of a table of documents; None where the table has none."""

    doc_id: int | None
    label: int | None
    texts: tuple[int, ...]
    kept: Mapping[str, int]  # other fields to keep
    unkept: Mapping[str, str]  # those that ``all`` cannot keep, and why
    n_columns: int

    @property
    def wanted(self) -> set[int]:
        """All of them."""
        found = {self.doc_id, self.label, *self.texts, *self.kept.values()}
        return {position for position in found if position is not None}

    def block(self, column: Callable[[int | None], pa.StringArray]) -> TextBlock:
        """The documents; ``column`` gives the values of a field, and nulls for None."""
        fields = {name: column(position) for name, position in self.kept.items()}
        ids, label = column(self.doc_id), column(self.label)
        fields |= {name: unkept(len(ids), why) for name, why in self.unkept.items()}
        return TextBlock(ids, label, joined([*map(column, self.texts)]), fields)


def find_fields(
    names: Sequence[str], options: ReadOptions, where: str, numeric: Collection[str] = ()
) -> Fields:
    """Look up the columns of a table of documents by their names; ``numeric`` ones hold numbers.

    Raises SourceError if the text or a named column is missing, if two columns share a name, or if
    there are too many.
    """
    has_vectors = set() < {*names} - {*options.used[:2]} <= {*numeric}
    chosen = [(options.id_field, "id_field"), (options.label_field, "label_field")]
    texts = [(name, "text_field") for name in options.text_fields]
    for field, option in [*texts, *chosen, *((name, "keep") for name in options.kept.named)]:
        if field is not None and field not in names:
            hint = _FOR_VECTORS if has_vectors and option == "text_field" else ""
            raise missing_field(field, names, where, option, hint)
    kept, left_out = kept_among(names, options, where)
    positions = {name: position for position, name in enumerate(names)}
    doc_id, label = map(positions.get, options.used[:2])
    text = tuple(positions[name] for name in options.text_fields)
    own = {name: positions[name] for name in kept}
    return Fields(doc_id, label, text, own, left_out, len(names))


def kept_among(
    names: Sequence[str], options: ReadOptions, where: str
) -> tuple[list[str], dict[str, str]]:
    """The fields to keep besides the text, of a record that has the fields ``names``, and those
    that ``all`` cannot keep, each with the reason.

    SourceError for too many, and if a used field occurs twice: it is unclear which is meant.
    """
    kept, used = options.kept, options.used
    repeated = [name for name, count in Counter(names).items() if count > 1]
    chosen = [name for name in kept.named if name in names]
    left_out: dict[str, str] = {}
    if kept.is_all:
        others = [name for name in dict.fromkeys(names) if name not in (*chosen, *used)]
        left_out = {name: "another field has the same name" for name in others if name in repeated}
        taken = (name for name in (*ALWAYS_KEPT, TEXT) if name in others)
        left_out |= {name: f"another field is the {name}" for name in taken}
        left_out |= {name: "has no name" for name in others if not name}
        chosen += [name for name in others if name not in left_out]
        left_out = {OTHER_TEXT if name == TEXT else name: why for name, why in left_out.items()}
    with_options = zip_longest(used, ("id_field", "label_field"), fillvalue="text_field")
    for name, option in [*with_options, *((name, "keep") for name in chosen)]:
        if name in repeated:
            hint = f"Rename one of them, or name another with {_as_typed(option)}."
            raise SourceError(where, f"two fields are called {name!r}", hint)
    for name in chosen:
        # JSON may escape half of a surrogate pair.
        if name.encode(errors="replace").decode() != name:
            problem = f"the name of the field {name!a} is not text"
            raise SourceError(where, problem, "Rename it, or name the fields to keep.")
    check_number_of_fields(len(chosen), where)
    return chosen, left_out


def missing_field(
    field: str, names: Sequence[str], where: str, option: str, hint: str = ""
) -> SourceError:
    """The error for a field, chosen by ``option``, that is not among ``names``."""
    hint = hint or f"Name another with {_as_typed(option)}."
    name, _, kind = field.rpartition(":")
    if option == "keep" and name in names:
        hint = f"There is no type {shown(kind)}; use number, date or string."
    elif any("," in name or name != name.strip() for name in names):
        hint += " Write names with commas, or with spaces around them, in quotes: '\"a, b\"'."
    return SourceError(where, f"expected a field {field!r}, but found {listed(names)}", hint)


def odd_record(
    record: Sequence[str], n_columns: int, where: str, options: ReadOptions
) -> SourceError:
    """The error for a record that does not fit the header, or that repeats the given header."""
    if options.header == (*record,):
        problem = "the row repeats the names given by --header"
        return SourceError(where, problem, "Leave out --header.")
    expected = f"{quantity(n_columns, 'field')}, as in {'--' if options.header else 'the '}header"
    return SourceError(where, f"expected {expected}, but found {len(record)}")


def no_text(field: str, found: str, options: ReadOptions, where: str) -> SourceError:
    """The error for a field of the text that holds something else."""
    is_alone = len(options.text_fields) == 1
    expected = "strings or lists of strings" if is_alone else "strings"
    hint = "" if is_alone else "Fields that are joined must all be strings."
    return SourceError(where, f"expected {expected} in field {field!r}, but found {found}", hint)


def _as_typed(option: str) -> str:
    return f"--{option.replace('_', '-')}"


def listed(names: Sequence[str]) -> str:
    """The names of fields for a message; long ones are cut."""
    return ", ".join(repr(without_middle(name, _LONGEST_NAME)) for name in names) or "none"
