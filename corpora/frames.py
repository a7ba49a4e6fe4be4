"""Python values, alone and in data frames of pandas and polars, as Arrow arrays.

Columns of objects may hold anything, and Arrow refuses those that mix types. So each column is
converted by itself, and only if a corpus needs it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence, Set
from contextlib import suppress
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from sparsetopics.base.errors import SourceError, warn_user
from sparsetopics.base.wording import listed
from sparsetopics.corpora.memory_arrays import check_utf8, is_list, is_missing, is_printable
from sparsetopics.corpora.readers.blocks import word_lists
from sparsetopics.corpora.readers.options import ReadOptions, find_fields
from sparsetopics.corpora.sources.arrow_batches import AS_TEXT, in_words
from sparsetopics.options.option import shown

_NESTED = pa.list_(pa.null())

# A text or a list of words; None, NaN and NA are documents without words.
Document: TypeAlias = str | Iterable[str] | None


def documents_of(
    documents: Iterable[Document],
    place: Callable[[int], str],
    are_lists: bool | None = None,
    hint: str = "",
) -> pa.StringArray | pa.ListArray:
    """Texts, or lists of words as ``word_lists`` makes them, by default as the first document is.

    Raises SourceError for other objects, with the ``place`` of the first one.
    """
    found = [_settled(each) for each in documents]
    if are_lists is None:
        are_lists = is_list(next((each for each in found if each is not None), None))
    for number, each in enumerate(found):
        if not (each is None or (is_list(each) if are_lists else isinstance(each, str))):
            noun = "a list of words" if are_lists else "a string"
            own = hint if isinstance(each, str) or is_list(each) else ""
            raise SourceError(place(number), f"must be {noun} or None, but is {shown(each)}", own)
    if not are_lists:
        check_utf8(found, place)
        return pa.array(found, pa.string())
    lists = [[_settled(word) for word in (() if each is None else each)] for each in found]
    for number, words in enumerate(lists):
        for odd in (word for word in words if not isinstance(word, str | None)):
            is_pair = isinstance(odd, tuple | list) and len(odd) == 2
            bag = "Corpus.from_gensim(bow, dictionary) reads bags of words." if is_pair else ""
            problem = f"must hold words as strings, but holds {shown(odd)}"
            raise SourceError(place(number), problem, bag)
        check_utf8(words, partial("{}, word {}".format, place(number)))
    return word_lists(pa.array(lists, pa.list_(pa.string())))


def _settled(value: Any) -> Any:  # whatever users pass
    """None for a missing value, a list for a generator, and for a set a list in a fixed order."""
    if is_missing(value):
        return None
    in_order = sorted(value, key=str) if isinstance(value, Set) else value
    return list(in_order) if isinstance(value, Iterator) else in_order


def table_of_frame(frame: Any, options: ReadOptions, where: str) -> pa.Table:  # no type is shared
    """The frame as a table, in which columns that are not needed are null.

    Values of several types become strings, with a warning for a kept field. Raises SourceError for
    a column that is missing, and for a value that cannot be a string.
    """
    if hasattr(frame, "reset_index"):  # of pandas: levels of the index with a name are columns too
        frame = frame.reset_index(drop=not {None, *frame.columns}.isdisjoint(frame.index.names))
    names = [str(key) for key in frame.columns]
    asked = [*options.used, *options.kept.named]
    parents = {name: name.partition(".")[0] for name in asked if name not in names}
    nested = {name: names.index(own) for name, own in parents.items() if own in names}
    found = find_fields([*names, *nested], options, where)
    columns = [pa.nulls(len(frame))] * len(names)
    for n in {n for n in found.wanted if n < len(names)}.union(nested.values()):
        key, name = frame.columns[n], names[n]
        column = None if _are_mixed(frame[key]) else _by_arrow(frame[[key]])
        if column is None:
            values = [None if is_missing(value) else value for value in frame[key]]
            place = partial("{0}, row {2}, field {1!r}".format, where, name)
            if n in found.texts:
                column = documents_of(values, place)
            elif n in nested.values():
                problem = "a field of its objects has values of several types"
                raise SourceError(f"{where}, field {name!r}", problem, "Make it a column.")
            else:
                is_of_all = name in found.kept and name not in options.kept.types
                column = _plain(values, place, is_of_all=is_of_all)
                kinds = sorted({type(value).__name__ for value in values if value is not None})
                if name in found.kept and pa.types.is_string(column.type) and len(kinds) > 1:
                    said = f"holds values of types {listed(kinds)}; they were converted to strings"
                    warn_user(f"column {name!r} {said}")
        columns[n] = column
    return pa.Table.from_arrays(columns, names)


def _are_mixed(values: Any) -> bool:  # of a column of a frame, or a list
    """Whether values are objects that Arrow would convert in silence, to the type of the first one,
    or sets, whose elements it would take in an order that varies."""
    kind = str(getattr(values, "dtype", "object"))
    if kind != "object" or {*map(type, values)} <= {str, type(None)}:  # texts are many
        return kind == "Object"  # of polars, which would give Arrow their addresses
    kinds = {(type(v), getattr(v, "tzinfo", None)) for v in values if not is_missing(v)}
    types = {kind for kind, _ in kinds}
    are_numbers = bool not in types and all(issubclass(t, int | float | np.integer) for t in types)
    return any(issubclass(kind, Set) for kind in types) or (len(kinds) > 1 and not are_numbers)


def _by_arrow(table: Any) -> pa.ChunkedArray | None:  # a frame, or a list by its name
    """The first column of a table as Arrow has it; None if Arrow cannot hold its values."""
    # Numbers that are too large, halves of surrogate pairs and mixed types are refused.
    with suppress(pa.ArrowException, OverflowError, TypeError, ValueError):
        column = pa.table(table).column(0)
        # Other bytes are UUIDs, or addresses of polars' objects.
        if column.type in AS_TEXT or in_words(column.type) != "bytes":
            return column
    return None


def _plain(
    values: Sequence[Hashable], place: Callable[[int], str], *, is_of_all: bool
) -> pa.Array | pa.ChunkedArray:
    """Values of a column of any type but texts; as strings, if there are several types.

    Raises SourceError for values that cannot be strings; with ``is_of_all``, the column is marked
    as one that cannot be kept instead.
    """
    if not _are_mixed(values) and (column := _by_arrow({"": values})) is not None:
        return column
    for row, each in enumerate(values):
        is_nested = isinstance(each, Iterable) and not isinstance(each, str)
        if is_nested or not is_printable(each):
            if is_of_all:
                return pa.nulls(len(values), _NESTED)
            raise SourceError(place(row), f"expected a string or a number, but found {shown(each)}")
    strings = [None if value is None else str(value) for value in values]
    check_utf8(strings, place)
    return pa.array(strings, pa.string())
