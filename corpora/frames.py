"""Data frames of pandas and polars as tables of Arrow.

Columns of objects may hold anything, and Arrow refuses those that mix types. So each column is
converted by itself, and only if a corpus needs it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from contextlib import suppress
from typing import Any

import pyarrow as pa

from sparsetopics.base.errors import SourceError, warn_user
from sparsetopics.base.wording import listed
from sparsetopics.corpora.memory_arrays import check_utf8, is_missing
from sparsetopics.corpora.readers.options import ReadOptions, fields_of, find_fields
from sparsetopics.corpora.sources.arrow_batches import AS_TEXT, in_words
from sparsetopics.options.option import shown

_NESTED = pa.list_(pa.null())


def is_frame(table: Any) -> bool:  # whatever users pass
    """Whether a table is a data frame."""
    return hasattr(table, "columns") and hasattr(table, "to_dict")


def table_of_frame(frame: Any, options: ReadOptions, where: str) -> pa.Table:  # see ``is_frame``
    """The frame, where columns that are not needed are null.

    Values of several types become strings, with a warning for a kept field. Raises SourceError for
    a column that is missing, and for a value that cannot be a string.
    """
    if hasattr(frame, "reset_index"):  # of pandas: levels of the index with a name are columns too
        is_unnamed = {None, *frame.columns}.intersection(frame.index.names)
        frame = frame.reset_index(drop=bool(is_unnamed))
    names = [str(key) for key in frame.columns]
    asked = [*fields_of(options), *options.kept.named]
    parents = {name: name.partition(".")[0] for name in asked if name not in names}
    nested = {name: names.index(own) for name, own in parents.items() if own in names}
    found = find_fields([*names, *nested], options, where)
    columns = [pa.nulls(len(frame))] * len(names)
    for n in {n for n in found.wanted if n < len(names)}.union(nested.values()):
        key, name = frame.columns[n], names[n]
        # Numbers that Arrow cannot hold, halves of surrogate pairs and mixed types are refused.
        with suppress(pa.ArrowException, OverflowError, TypeError, ValueError):
            columns[n] = pa.table(frame[[key]]).column(0)
            kind = columns[n].type
            # Other bytes are UUIDs, or addresses of polars' objects.
            if kind in AS_TEXT or in_words(kind) != "bytes":
                continue
        values = [None if is_missing(value) else value for value in frame[key]]
        if name in found.kept and name not in options.kept.types and any(map(_is_nested, values)):
            columns[n] = pa.nulls(len(frame), _NESTED)
            continue
        columns[n] = _strings(values, name, where, is_text=n in found.texts)
        if name in found.kept:
            kinds = sorted({type(value).__name__ for value in values if value is not None})
            warn_user(f"column {name!r} holds {listed(kinds)}, which were read as strings")
    return pa.Table.from_arrays(columns, names)


def _is_nested(value: Hashable) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, str)


def _strings(values: Sequence[Hashable], name: str, where: str, *, is_text: bool) -> pa.StringArray:
    """Values of a column as strings; SourceError for one that is no string or, perhaps, number."""
    for row, value in enumerate(values):
        if _is_nested(value) or (is_text and not isinstance(value, str | None)):
            expected = "a string" if is_text else "a string or a number"
            place = f"{where}, row {row}, field {name!r}"
            raise SourceError(place, f"expected {expected}, but found {shown(value)}")
    strings = [None if value is None else str(value) for value in values]
    check_utf8(strings, f"{where}, field {name!r}, row ")
    return pa.array(strings, pa.string())
