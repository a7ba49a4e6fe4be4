"""Parquet and Arrow IPC (file or stream): one document per row."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

import pyarrow as pa

from sparsetopics.corpora.arrow_files import open_native, open_parquet
from sparsetopics.corpora.blocks import PendingBlock, TextBlock
from sparsetopics.corpora.byte_stream import BLOCK_BYTES, reading
from sparsetopics.corpora.fields import find_fields
from sparsetopics.corpora.parquet_sizes import check_sizes
from sparsetopics.corpora.places import Place
from sparsetopics.corpora.sources import ReadOptions, SourceFile
from sparsetopics.errors import SourceError

_ROWS_AT_ONCE = 1_024
_MOST_DECODED = 1 << 28  # bytes of rows
_ARROW_FILE_MAGIC = b"ARROW1"


def read_parquet(files: Sequence[SourceFile], options: ReadOptions) -> Iterator[PendingBlock]:
    for file in files:
        with (
            arrow_errors(file.path),
            open_native(file.path) as source,
            open_parquet(source) as table,
        ):
            names = column_names(table.schema_arrow, str(file.path))
            positions = find_fields(names, options, str(file.path))
            columns = [names[position] for position in positions if position is not None]
            n_rows = rows_at_once(check_sizes(source))
            batches = table.iter_batches(n_rows, columns=columns, use_threads=False)
            yield from table_blocks(batches, str(file.path), options)


def rows_at_once(n_bytes: int) -> int:
    """Each row may hold a whole dictionary of so many bytes."""
    return max(1, min(_ROWS_AT_ONCE, _MOST_DECODED // max(n_bytes, 1)))


def read_ipc(files: Sequence[SourceFile], options: ReadOptions) -> Iterator[PendingBlock]:
    for file in files:
        with arrow_errors(file.path), open_native(file.path) as source:
            yield from table_blocks(ipc_batches(source), str(file.path), options)


def ipc_batches(source: pa.NativeFile) -> Iterator[pa.RecordBatch]:
    """The record batches of an IPC file or stream."""
    is_file = source.read(len(_ARROW_FILE_MAGIC)) == _ARROW_FILE_MAGIC
    source.seek(0)
    if is_file:
        reader = pa.ipc.open_file(source)
        yield from (reader.get_batch(index) for index in range(reader.num_record_batches))
    else:
        yield from pa.ipc.open_stream(source)


@contextmanager
def arrow_errors(path: Place) -> Iterator[None]:
    """Turn the errors of a damaged file into a SourceError."""
    with reading(path):
        try:
            yield
        except (pa.ArrowException, ValueError) as error:
            raise SourceError(
                str(path),
                found=(str(error).splitlines() or [type(error).__name__])[0],
                wanted="a whole Parquet or Arrow IPC file",
            ) from error


def column_names(schema: pa.Schema, where: str) -> list[str]:
    """The names of the columns; SourceError if they are no text."""
    try:
        return schema.names  # type: ignore[no-any-return]
    except UnicodeDecodeError as error:
        raise SourceError(
            where, found="names of columns that are not UTF-8", wanted="UTF-8 text"
        ) from error


def table_blocks(
    batches: Iterator[pa.RecordBatch], where: str, options: ReadOptions
) -> Iterator[Callable[[], TextBlock]]:
    """Record batches put together to blocks of a good size."""
    together: list[pa.RecordBatch] = []
    n_bytes = first_row = 0
    for batch in batches:
        together.append(batch)
        n_bytes += batch.nbytes
        if n_bytes >= BLOCK_BYTES:
            table = pa.Table.from_batches(together)
            yield partial(_decode, table, where, first_row, options)
            first_row += len(table)
            together, n_bytes = [], 0
    if together:
        yield partial(_decode, pa.Table.from_batches(together), where, first_row, options)


def _decode(table: pa.Table, where: str, first_row: int, options: ReadOptions) -> TextBlock:
    fields = find_fields(column_names(table.schema, where), options, where)
    text_type = table.schema.field(fields.text).type
    if not _is_text(text_type):
        raise SourceError(
            where, found=f"{text_type} in field {options.text_field!r}", wanted="strings"
        )
    return TextBlock(
        *(
            pa.nulls(len(table), pa.string())
            if position is None
            else _strings(table.column(position), where, first_row, options)
            for position in fields
        )
    )


def _is_text(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        return _is_text(kind.value_type)
    return bool(
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    )


def _strings(
    column: pa.ChunkedArray, where: str, first_row: int, options: ReadOptions
) -> pa.StringArray:
    """The column as strings of valid UTF-8, which Arrow itself does not promise."""
    _check_buffers(column, where)
    try:
        strings = column.cast(pa.string()).combine_chunks()
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid) as error:
        raise SourceError(
            where, found=f"an id or label of type {column.type}", wanted="strings or numbers"
        ) from error
    try:
        strings.validate(full=True)
    except pa.ArrowInvalid:
        strings = pa.array(
            [
                _text(value, f"{where}, row {row}", options)
                for row, value in enumerate(strings.cast(pa.binary()).to_pylist(), first_row)
            ],
            pa.string(),
        )
    return strings


def _check_buffers(column: pa.ChunkedArray, where: str) -> None:
    """Arrow reads where a damaged file points without a look."""
    try:
        for chunk in column.chunks:
            if pa.types.is_dictionary(chunk.type):
                as_bytes = _as_bytes(chunk.dictionary)
                as_bytes.validate(full=True)
                chunk = pa.DictionaryArray.from_arrays(chunk.indices, as_bytes)
            _as_bytes(chunk).validate(full=True)
    except (pa.ArrowException, IndexError) as error:
        raise SourceError(
            where,
            found=f"a damaged column ({str(error).splitlines()[0]})",
            wanted="a whole Parquet or Arrow IPC file",
        ) from error


def _as_bytes(array: pa.Array) -> pa.Array:
    """Strings as bytes: what is not UTF-8 is not damaged yet."""
    if pa.types.is_string(array.type):
        return array.view(pa.binary())
    return array.view(pa.large_binary()) if pa.types.is_large_string(array.type) else array


def _text(value: bytes | None, where: str, options: ReadOptions) -> str | None:
    if value is None:
        return None
    try:
        return value.decode(errors=options.encoding_errors)
    except UnicodeDecodeError as error:
        raise SourceError(
            where,
            found=f"byte 0x{value[error.start]:02x} that is not UTF-8",
            wanted="UTF-8 text",
            hint="Use --encoding-errors replace.",
        ) from error
