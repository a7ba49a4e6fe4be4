"""Which columns of a table hold id, label and text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sparsetopics.base.errors import SourceError
from sparsetopics.corpora.sources.sources import ReadOptions

DEFAULT_ID_FIELD = "id"
DEFAULT_LABEL_FIELD = "label"


class Fields(NamedTuple):
    """Positions of the columns; None where the table has none."""

    doc_id: int | None
    label: int | None
    text: int


def find_fields(names: Sequence[str], options: ReadOptions, where: str) -> Fields:
    """Look up the columns; SourceError if a named column or the text is missing, or if two columns
    have the same name."""
    for field in (options.text_field, options.id_field, options.label_field):
        if field is not None and field not in names:
            raise no_field(field, names, where)
    for field in fields_of(options):
        if names.count(field) > 1:
            raise two_fields(field, where)
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


def two_fields(field: str, where: str) -> SourceError:
    """The error for a field that occurs twice: it is unclear which one is meant."""
    return SourceError(
        where,
        found=f"two fields {field!r}",
        wanted="one",
        hint="Rename one of them, or name another with --text-field, --id-field or --label-field.",
    )


def no_field(field: str, names: Sequence[str], where: str) -> SourceError:
    """The error for a field that is not among ``names``."""
    return SourceError(
        where,
        found=f"fields {', '.join(map(repr, names)) or '(none)'}",
        wanted=f"a field {field!r}",
        hint="Name another with --text-field, --id-field or --label-field.",
    )
