"""Text columns of Parquet and Arrow IPC (file or stream): one document per row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from sparsetopics.base.errors import SourceError
from sparsetopics.corpora.readers.blocks import PendingBlock, TextBlock, checked
from sparsetopics.corpora.readers.options import ReadOptions, find_fields
from sparsetopics.corpora.sources.arrow_batches import (
    Choose,
    Piece,
    Wanted,
    column_names,
    ipc_pieces,
    parquet_pieces,
)
from sparsetopics.corpora.sources.byte_stream import BLOCK_BYTES, Place, SourceFile

_ROWS_AT_ONCE = 1_024


def _read(
    pieces_of: Callable[[Place, Choose], Iterator[Piece]],
    files: Sequence[SourceFile],
    options: ReadOptions,
) -> Iterator[PendingBlock]:
    for file in files:
        where = str(file.path)
        choose = partial(text_columns, options=options, where=where)
        yield from table_blocks(pieces_of(file.path, choose), where, options)


read_parquet = partial(_read, parquet_pieces)
read_ipc = partial(_read, ipc_pieces)


def text_columns(schema: pa.Schema, options: ReadOptions, where: str) -> Wanted:
    """The columns of id, label and text that exist."""
    names = column_names(schema, where)
    positions = find_fields(names, options, where)
    for name in positions.kept:
        if not _is_kept(schema.field(name).type):
            problem = f"field {name!r} holds {schema.field(name).type}, which cannot be kept"
            raise SourceError(where, problem, "Name other fields with --keep.")
    return Wanted([names[position] for position in sorted(positions.wanted)], _ROWS_AT_ONCE)


def table_blocks(
    pieces: Iterable[Piece], where: str, options: ReadOptions
) -> Iterator[Callable[[], TextBlock]]:
    """Join pieces into blocks of about ``BLOCK_BYTES``."""
    together: list[pa.RecordBatch] = []
    n_bytes = first_row = 0
    for piece in pieces:
        if together and n_bytes + piece.n_bytes > BLOCK_BYTES:
            table = pa.Table.from_batches(together)
            yield partial(_decode, table, where, first_row, options)
            first_row += len(table)
            together, n_bytes = [], 0
        together.append(piece.rows)
        n_bytes += piece.n_bytes
    if together:
        yield partial(_decode, pa.Table.from_batches(together), where, first_row, options)


def _decode(table: pa.Table, where: str, first_row: int, options: ReadOptions) -> TextBlock:
    fields = find_fields(column_names(table.schema, where), options, where)
    text_type = table.schema.field(fields.text).type
    if not _is_text(text_type):
        expected = f"strings in field {options.text_field!r}"
        raise SourceError(where, f"expected {expected}, but found {text_type}")

    def column(position: int | None) -> pa.StringArray:
        if position is None:
            return pa.nulls(len(table), pa.string())
        return _strings(table.column(position), where, first_row, options)

    kept = {name: column(position) for name, position in fields.kept.items()}
    found = TextBlock(column(fields.doc_id), column(fields.label), column(fields.text), kept)
    return checked(found, lambda row: f"{where}, row {first_row + row}")


def _is_kept(kind: pa.DataType) -> bool:
    """Whether the values can be kept: strings, numbers, dates, times, true and false."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return _is_text(kind) or pa.types.is_primitive(kind) or pa.types.is_decimal(kind)


def _is_text(kind: pa.DataType) -> bool:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return kind in (pa.string(), pa.large_string(), pa.string_view(), pa.null())


def _strings(
    column: pa.ChunkedArray, where: str, first_row: int, options: ReadOptions
) -> pa.StringArray:
    """The column as strings of valid UTF-8, which Arrow itself does not check."""
    if pa.types.is_timestamp(column.type):  # to the microsecond, with the offset of its zone
        column = column.cast(pa.timestamp("us", column.type.tz), safe=False)
    if pa.types.is_floating(column.type):
        column = pc.if_else(pc.is_nan(column), None, column)  # as in columns of pandas
    try:
        strings = column.cast(pa.string()).combine_chunks()
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid) as error:
        problem = f"expected strings or numbers as ids and labels, but found {column.type}"
        raise SourceError(where, problem) from error
    try:
        strings.validate(full=True)
        return strings
    except pa.ArrowInvalid:
        return pa.array(_decoded(strings, where, first_row, options), pa.string())


def _decoded(
    strings: pa.StringArray, where: str, first_row: int, options: ReadOptions
) -> Iterator[str | None]:
    """The strings, of which one is not UTF-8."""
    for row, value in enumerate(strings.cast(pa.binary()).to_pylist(), first_row):
        try:
            yield None if value is None else value.decode(errors=options.encoding_errors)
        except UnicodeDecodeError as error:
            problem = f"byte 0x{value[error.start]:02x} is not UTF-8"
            hint = "Write the column as UTF-8, or use --encoding-errors replace."
            raise SourceError(f"{where}, row {row}", problem, hint) from error
