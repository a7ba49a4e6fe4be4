"""Which columns of a table hold id, label and text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sparsetopics.corpora.sources import ReadOptions
from sparsetopics.errors import SourceError

DEFAULT_ID_FIELD = "id"
DEFAULT_LABEL_FIELD = "label"


class Fields(NamedTuple):
    """Positions of the columns; None where the table has none."""

    doc_id: int | None
    label: int | None
    text: int


def find_fields(names: Sequence[str], options: ReadOptions, where: str) -> Fields:
    """Look up the columns; SourceError if one that was named, or the text, is not there."""
    for field in (options.text_field, options.id_field, options.label_field):
        if field is not None and field not in names:
            raise no_field(field, names, where)
    positions = {name: position for position, name in enumerate(names)}
    return Fields(
        positions.get(options.id_field or DEFAULT_ID_FIELD),
        positions.get(options.label_field or DEFAULT_LABEL_FIELD),
        positions[options.text_field],
    )


def no_field(field: str, names: Sequence[str], where: str) -> SourceError:
    """The error for a field that is not among ``names``."""
    return SourceError(
        where,
        found=f"fields {', '.join(map(repr, names)) or '(none)'}",
        wanted=f"a field {field!r}",
        hint="Name another with --text-field, --id-field or --label-field.",
    )
