"""Where the files of a collection hold ids, labels, texts and numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from sparsetopics.base.errors import OptionError, SourceError

DEFAULT_ID_FIELD = "id"
DEFAULT_LABEL_FIELD = "label"


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """Where documents are in their files, and how to treat bytes that are not UTF-8.

    Without ``id_field`` or ``label_field``, fields called ``id`` and ``label`` are used where
    they exist. A field that is named must exist.
    """

    text_field: str = "text"
    id_field: str | None = None
    label_field: str | None = None
    encoding_errors: str = "strict"  # "strict" or "replace"
    vocabulary_file: Path | None = None  # the words of a collection of counts

    def __post_init__(self) -> None:
        if self.encoding_errors not in ("strict", "replace"):
            raise OptionError(
                "encoding_errors", found=repr(self.encoding_errors), wanted="strict or replace"
            )


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

    def __post_init__(self) -> None:
        if self.columns is not None:
            _check_columns(self.columns)
        if self.patches is not None and self.patches < 2:
            raise OptionError("patches", found=f"{self.patches}", wanted="2 pixels or more")
        if self.stride is not None and self.stride < 1:
            raise OptionError("stride", found=f"{self.stride}", wanted="1 pixel or more")
        if self.stride is not None and self.patches is None:
            raise OptionError("stride", found="a stride without patches", wanted="both")


def _check_columns(columns: Sequence[str]) -> None:
    twice = [name for name in columns if columns.count(name) > 1]
    if not columns or "" in columns or twice:
        raise OptionError(
            "columns",
            found=f"{twice[0]!r} twice" if twice else "an empty name",
            wanted="names of columns, each once",
        )


class Fields(NamedTuple):
    """Positions of the columns of a table of documents; None where the table has none."""

    doc_id: int | None
    label: int | None
    text: int


def find_fields(names: Sequence[str], options: ReadOptions, where: str) -> Fields:
    """Look up the columns of a table of documents by their names.

    Raises SourceError if the text or a named column is missing, or if two columns share a name.
    """
    for field in (options.text_field, options.id_field, options.label_field):
        if field is not None and field not in names:
            raise missing_field(field, names, where)
    for field in fields_of(options):
        if names.count(field) > 1:
            raise repeated_field(field, where)
    positions = {name: position for position, name in enumerate(names)}
    doc_id, label, text = map(positions.get, fields_of(options))
    assert text is not None  # checked above
    return Fields(doc_id, label, text)


def fields_of(options: ReadOptions) -> tuple[str, str, str]:
    """The names of the fields that hold id, label and text."""
    return (
        options.id_field or DEFAULT_ID_FIELD,
        options.label_field or DEFAULT_LABEL_FIELD,
        options.text_field,
    )


def repeated_field(field: str, where: str) -> SourceError:
    """The error for a field that occurs twice, because it is unclear which one is meant."""
    return SourceError(
        where,
        found=f"two fields {field!r}",
        wanted="one",
        hint="Rename one of them, or name another with --text-field, --id-field or --label-field.",
    )


def missing_field(field: str, names: Sequence[str], where: str) -> SourceError:
    """The error for a field that is not among ``names``."""
    return SourceError(
        where,
        found=f"fields {', '.join(map(repr, names)) or '(none)'}",
        wanted=f"a field {field!r}",
        hint="Name another with --text-field, --id-field or --label-field.",
    )
