"""Text columns of Parquet and Arrow IPC (file or stream): one document per row."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from sparsetopics.base.errors import SourceError
from sparsetopics.corpora.readers.blocks import TextBlock, checked, grouped, word_lists
from sparsetopics.corpora.readers.fields import unkept
from sparsetopics.corpora.readers.options import Fields, ReadOptions, find_fields, no_text
from sparsetopics.corpora.sources.arrow_batches import (
    OpenTable,
    Piece,
    column_names,
    in_words,
    is_list_of_texts,
    is_text,
    type_of,
)
from sparsetopics.corpora.sources.byte_stream import SourceFile

IN_MEMORY = "table"  # for errors, instead of the name of a file
_ROWS_AT_ONCE = 1_024
_NEVER_KEPT = ("lists or objects", "intervals of time", "bytes")


def read_table(
    opened: OpenTable, file: SourceFile, options: ReadOptions
) -> Iterator[Callable[[], TextBlock]]:
    """Read the rows of a file of Parquet or Arrow IPC."""
    with opened(file.path) as (schema, read):
        where = str(file.path)
        yield from table_blocks(schema, lambda names: read(names, _ROWS_AT_ONCE), where, options)


def table_blocks(
    schema: pa.Schema,
    pieces_of: Callable[[Sequence[str]], Iterator[Piece]],
    where: str,
    options: ReadOptions,
    first_row: int = 0,
) -> Iterator[Callable[[], TextBlock]]:
    """The documents of a table, in blocks of about ``BLOCK_BYTES``; ``pieces_of`` reads columns of
    it. Messages count its rows from ``first_row``."""
    names = column_names(schema, where)
    asked = dict.fromkeys([*options.used, *options.kept.named])
    names += [name for name in asked if name not in names and type_of(schema, name) is not None]
    fields = _fields_of(schema, names, where, options)
    wanted = [names[position] for position in sorted(fields.wanted)]
    for rows in grouped(pieces_of(wanted)):
        table = pa.Table.from_batches(rows)
        yield partial(_decoded, where, options, fields, names, table, first_row)
        first_row += len(table)


def _fields_of(schema: pa.Schema, names: Sequence[str], where: str, options: ReadOptions) -> Fields:
    """The positions among ``names`` of id, label, text and fields that can be kept."""
    numeric = {field.name for field in schema if in_words(field.type) == "numbers"}
    found = find_fields(names, options, where, () if where == IN_MEMORY else numeric)
    for name in (names[position] for position in found.texts):
        kind = type_of(schema, name)
        is_word_list = len(found.texts) == 1 and is_list_of_texts(kind)
        if not (is_word_list or is_text(kind)):
            raise no_text(name, in_words(kind), options, where)
    words = {name: in_words(type_of(schema, name)) for name in found.kept}
    odd = {name: f"holds {what}" for name, what in words.items() if what in _NEVER_KEPT}
    for name in odd.keys() & options.kept.types:
        problem = f"field {name!r} {odd[name]}, which cannot be kept"
        raise SourceError(where, problem, "Name other fields with --keep.")
    kept = {name: position for name, position in found.kept.items() if name not in odd}
    return found._replace(kept=kept, unkept={**found.unkept, **odd})


def _decoded(
    where: str,
    options: ReadOptions,
    fields: Fields,
    names: Sequence[str],
    table: pa.Table,
    first_row: int,
) -> TextBlock:
    """The documents in the rows of a table, which follow ``first_row`` others."""

    def column(position: int | None) -> pa.StringArray:
        if position is None:
            return pa.nulls(len(table), pa.string())
        name = names[position]
        values = _plain(table.column(name))
        if position in fields.texts and not is_text(values.type):
            return word_lists(values.combine_chunks())
        try:
            return _strings(values, name, where, first_row, options)
        except SourceError:
            if name not in fields.kept or name in options.kept.types:
                raise
            return unkept(len(table), "holds bytes that are not UTF-8")

    def place(row: int) -> str:
        return f"{where}, row {first_row + row}"

    return checked(fields.block(column)._replace(place=place), place)


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The values themselves, if the column stores them as indices of a dictionary."""
    if not pa.types.is_dictionary(column.type):
        return column
    kind = column.type.value_type
    kind = pa.large_string() if pa.types.is_string_view(kind) else kind  # for ``take``
    chunks = [chunk.dictionary.cast(kind).take(chunk.indices) for chunk in column.chunks]
    return pa.chunked_array(chunks, kind)


def _strings(
    column: pa.ChunkedArray, name: str, where: str, first_row: int, options: ReadOptions
) -> pa.StringArray:
    """The column as strings of valid UTF-8, which Arrow itself does not check."""
    if pa.types.is_timestamp(column.type):  # to the microsecond, with the offset of its zone
        column = column.cast(pa.timestamp("us", column.type.tz), safe=False)
    if pa.types.is_duration(column.type):  # in seconds, whatever their unit
        column = pc.divide(column.cast(pa.duration("us"), safe=False).cast(pa.int64()), 1e6)
    if pa.types.is_floating(column.type):
        column = pc.if_else(pc.is_nan(column), None, column)  # as in columns of pandas
    try:
        strings = column.cast(pa.string()).combine_chunks()
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid) as error:
        found = in_words(column.type)
        problem = f"expected strings or numbers in field {name!r}, but found {found}"
        raise SourceError(where, problem) from error
    try:
        strings.validate(full=True)
        return strings
    except pa.ArrowInvalid:
        return pa.array(_repaired(strings, name, where, first_row, options), pa.string())


def _repaired(
    strings: pa.StringArray, name: str, where: str, first_row: int, options: ReadOptions
) -> Iterator[str | None]:
    """The strings, of which one is not UTF-8."""
    for row, value in enumerate(strings.cast(pa.binary()).to_pylist(), first_row):
        try:
            yield None if value is None else value.decode(errors=options.encoding_errors)
        except UnicodeDecodeError as error:
            problem = f"byte 0x{value[error.start]:02x} is not UTF-8"
            hint = "Write the column as UTF-8, or use --encoding-errors replace."
            hint = "Write the column as UTF-8." if where == IN_MEMORY else hint
            raise SourceError(f"{where}, row {row}, field {name!r}", problem, hint) from error
