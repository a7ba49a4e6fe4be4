"""Data frames of pandas and polars as tables of Arrow, which hold the columns of a corpus only.

Columns of objects may hold anything, and Arrow refuses those that mix types. So each column is
converted by itself, and no other column is looked at.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

import pyarrow as pa

from sparsetopics.base.errors import SourceError, SparsetopicsWarning
from sparsetopics.base.wording import listed
from sparsetopics.corpora.memory_arrays import check_utf8, is_missing
from sparsetopics.corpora.readers.options import ReadOptions, find_fields
from sparsetopics.options.option import shown

# Numbers that Arrow cannot hold, halves of surrogate pairs and mixed types.
_REFUSALS = (pa.ArrowException, OverflowError, TypeError, ValueError)


def is_frame(table: Any) -> bool:  # whatever users pass
    """Whether a table is a data frame."""
    return hasattr(table, "columns") and hasattr(table, "to_dict")


def table_of_frame(
    frame: Any,  # see ``is_frame``
    options: ReadOptions,
    where: str,
    left_out: dict[str, str],
) -> pa.Table:
    """The columns of id, label, text and kept fields; those that ``all`` cannot keep are noted in
    ``left_out``, with the reason.

    Values of several types become strings, with a warning for a kept field. Raises SourceError for
    a column that is missing, and for a value that cannot be a string.
    """
    if hasattr(frame, "reset_index"):  # of pandas: levels of the index with a name are columns too
        is_unnamed = {None, *frame.columns}.intersection(frame.index.names)
        frame = frame.reset_index(drop=bool(is_unnamed))
    keys = list(frame.columns)
    names = [str(key) for key in keys]
    found = find_fields(names, options, where)
    left_out.update(found.unkept)
    columns = {}
    for position in sorted(found.wanted):
        name, key = names[position], keys[position]
        values = None
        # Polars hands out the addresses of objects.
        with suppress(*_REFUSALS):
            values = None if str(frame[key].dtype) == "Object" else pa.table(frame[[key]]).column(0)
        if values is None:
            is_kept = name in found.kept
            if is_kept and name not in options.kept.types and any(map(_is_nested, frame[key])):
                left_out[name] = "holds lists or objects"
                continue
            strings = [*_strings(frame[key], name, where, is_text=position in found.texts)]
            check_utf8(strings, f"{where}, field {name!r}, row ")
            values = pa.array(strings, pa.string())
            if is_kept:
                kinds = {type(value).__name__ for value in frame[key] if not is_missing(value)}
                said = f"column {name!r} holds {listed(sorted(kinds))}, which were read as strings"
                warnings.warn(said, SparsetopicsWarning, stacklevel=5)  # the call of ``from_table``
        columns[name] = values
    return pa.table(columns)


def _is_nested(value: Any) -> bool:  # whatever users pass
    return isinstance(value, Iterable) and not isinstance(value, str)


def _strings(values: Any, name: str, where: str, *, is_text: bool) -> Iterator[str | None]:
    """The values of a column as strings; SourceError for one that is no string or number."""
    for row, value in enumerate(values):
        if _is_nested(value) or (is_text and not (isinstance(value, str) or is_missing(value))):
            expected = "a string" if is_text else "a string or a number"
            place = f"{where}, row {row}, field {name!r}"
            raise SourceError(place, f"expected {expected}, but found {shown(value)}")
        yield None if is_missing(value) else str(value)
