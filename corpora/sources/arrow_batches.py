"""Rows of Parquet and Arrow IPC files in pieces that stay small even if values repeat.

A few bytes may claim that a million rows hold the same long string. Readers turn such columns into
plain strings. So rows are measured as plain strings, and cut, before anything is expanded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import IO, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from sparsetopics.base.errors import SourceError, source_errors
from sparsetopics.corpora.sources.archives import MOST_UNPACKED
from sparsetopics.corpora.sources.arrow_files import numbers_of, open_native, open_parquet
from sparsetopics.corpora.sources.byte_stream import BLOCK_BYTES, LONGEST_TEXT, Place, reading
from sparsetopics.corpora.sources.ipc_sizes import check_ipc_sizes, is_ipc_file
from sparsetopics.corpora.sources.parquet_sizes import check_ratio, check_sizes, longest_shared

MOST_DECODED = 1 << 26  # bytes of a batch that Arrow decodes from Parquet
_MOST_VALUES = 128 << 20  # bytes of values that a small file may expand to: blocks are held
_BYTES_OF_ROW = 32  # per row besides its values: offsets, an id
_BYTES_OF_NUMBER = 8
# Text that a program wrote without saying that it is text.
AS_TEXT = {
    pa.binary(): pa.string(),
    pa.large_binary(): pa.large_string(),
    pa.binary_view(): pa.string_view(),
}
_AS_BYTES = {text: as_bytes for as_bytes, text in AS_TEXT.items()}

#: Consecutive rows, which are valid except that UTF-8 is unchecked, and their bytes as plain
#: strings and numbers.
Piece: TypeAlias = tuple[pa.RecordBatch, int]
#: Reads columns of a table, in batches of so many rows, or fewer if these are long.
Read: TypeAlias = Callable[[Sequence[str], int], Iterator[Piece]]
#: Opens a file, with the schema of its table; SourceError if it is damaged or a bomb.
OpenTable: TypeAlias = Callable[[Place], AbstractContextManager[tuple[pa.Schema, Read]]]


@contextmanager
def open_parquet_table(path: Place) -> Iterator[tuple[pa.Schema, Read]]:
    """Open a Parquet file, as an ``OpenTable``."""
    with arrow_errors(path), open_native(path) as source, open_parquet(source) as table:

        def read(columns: Sequence[str], n_rows: int) -> Iterator[Piece]:
            # Words of lists stay encoded, because the lists may repeat a long word at no cost.
            lists = [n for n in columns if is_list_of_texts(type_of(table.schema_arrow, n))]
            paths = [table.schema.column(n).path for n in range(len(table.schema))] if lists else []
            encoded = [path for path in paths if path.startswith(tuple(f"{n}." for n in lists))]
            with open_parquet(source, dictionary_columns=encoded) as own:
                batches = parquet_batches(source, own, columns, n_rows)
                yield from pieces(batches, source.size(), columns)

        yield table.schema_arrow, read


def parquet_batches(
    source: IO[bytes], table: pq.ParquetFile, columns: Sequence[str], n_rows: int
) -> Iterator[pa.RecordBatch]:
    """Columns of an open file, in batches of at most ``n_rows`` that Arrow can decode in bounded
    memory.

    Raises ValueError for a file that unpacks to too much.
    """
    shared = check_sizes(source)
    schema, n_bytes = table.schema_arrow, 1  # upper bound per row
    for name in columns:
        if (kind := type_of(schema, name)) is None:
            raise ValueError(f"two columns are called {name!r}")
        width = _width(kind)
        column = name if name in schema.names else name.partition(".")[0]
        n_bytes += longest_shared(source, shared.get(column, ())) if width is None else width
    n_rows = max(1, min(n_rows, MOST_DECODED // n_bytes))
    names = list(columns)
    for group in range(table.num_row_groups):  # encoded words of lists cannot cross them in Arrow
        yield from table.iter_batches(n_rows, [group], names, use_threads=False)


@contextmanager
def open_ipc_table(path: Place) -> Iterator[tuple[pa.Schema, Read]]:
    """Open an Arrow IPC file or stream, as an ``OpenTable``, in the batches that it has."""
    with arrow_errors(path), open_native(path) as source:
        check_ipc_sizes(source)
        if is_ipc_file(source):
            reader = pa.ipc.open_file(source)
            batches = (reader.get_batch(index) for index in range(reader.num_record_batches))
        else:
            source.seek(0)
            batches = reader = pa.ipc.open_stream(source)
        yield reader.schema, lambda columns, _: pieces(batches, source.size(), columns)


def type_of(schema: pa.Schema, name: str) -> pa.DataType | None:
    """The type of a column, with strings in place of bytes; None if there is no such column.

    ``user.name`` may be a column, or the field ``name`` of the structs in column ``user``.
    """
    column, *way = [name] if name in schema.names else name.split(".")
    if schema.get_field_index(column) < 0:  # it is missing, or there are two
        return None
    kind = schema.field(column).type
    for part in way:
        if not pa.types.is_struct(kind) or kind.get_field_index(part) < 0:
            return None
        kind = kind.field(part).type
    return AS_TEXT.get(kind, kind)


def _selected(batch: pa.RecordBatch, names: Sequence[str]) -> pa.RecordBatch:
    """The chosen columns, as ``type_of`` has them; unchecked."""
    columns = []
    for name in names:
        column, *way = [name] if name in batch.schema.names else name.split(".")
        array = batch.column(column)
        if way:
            array.validate()  # also the lengths of what structs hold
            array = pc.struct_field(array, way)
        as_text = AS_TEXT.get(array.type)
        columns.append(array if as_text is None else array.view(as_text))
    return pa.RecordBatch.from_arrays(columns, list(names))


def pieces(
    batches: Iterable[pa.RecordBatch], n_packed: float, columns: Sequence[str]
) -> Iterator[Piece]:
    """Some columns of all batches, in pieces of about ``BLOCK_BYTES``.

    ``n_packed`` is the size of the file; infinite for a table in memory, which may be of any size.
    Raises ValueError for a damaged column, a row of more than ``LONGEST_TEXT``, and rows that
    expand to more than 250 times the size of the file and have either more than ``_MOST_VALUES``
    or, for offsets and ids alone, more than a gibibyte.
    """
    n_rows = n_bytes = 0
    for whole in batches:
        batch = _selected(whole, columns)
        n_rows += len(batch)
        check_ratio(_BYTES_OF_ROW * n_rows, n_packed, MOST_UNPACKED)
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            _check_column(name, column)
        sizes = sum(map(_bytes_of, batch.columns), np.zeros(len(batch), np.int64))
        n_bytes += int(sizes.sum())
        check_ratio(n_bytes, n_packed, _MOST_VALUES)
        if sizes.max(initial=0) > LONGEST_TEXT:
            raise ValueError(f"a row has {sizes.max():,} bytes, more than {LONGEST_TEXT:,}")
        yield from _cut(batch, _BYTES_OF_ROW + sizes)


def _cut(batch: pa.RecordBatch, sizes: NDArray[np.int64]) -> Iterator[Piece]:
    ends = np.cumsum(sizes)
    if len(batch) and ends[-1] <= 2 * BLOCK_BYTES:  # not worth a short piece
        yield batch, int(ends[-1])
        return
    start = n_before = 0
    while start < len(batch):
        stop = max(start + 1, int(np.searchsorted(ends, n_before + BLOCK_BYTES, side="right")))
        n_bytes = int(ends[stop - 1]) - n_before
        yield batch.slice(start, stop - start), n_bytes
        start, n_before = stop, n_before + n_bytes


def _check_column(name: str, column: pa.Array) -> None:
    """Validate a column, since Arrow follows offsets from a damaged file unchecked."""
    try:
        if pa.types.is_dictionary(column.type):
            column = pa.DictionaryArray.from_arrays(column.indices, _as_bytes(column.dictionary))
        _as_bytes(column).validate(full=True)
    except (pa.ArrowException, IndexError) as error:
        raise ValueError(f"column {name!r} is damaged") from error


def _as_bytes(array: pa.Array) -> pa.Array:
    """Strings as bytes, since text that is not UTF-8 does not yet count as damage."""
    return array.view(_AS_BYTES.get(array.type, array.type))


def _bytes_of(array: pa.Array) -> NDArray[np.int64]:
    """Bytes that each row takes as a plain string, list or number, (n_rows,)."""
    kind = array.type
    if isinstance(array, pa.ExtensionArray):
        return _bytes_of(array.storage)
    width = _width(kind)
    if width is not None or not len(array):
        return np.full(len(array), width or 0, np.int64)
    if pa.types.is_dictionary(kind):
        values = np.append(_bytes_of(array.dictionary), 0)  # the last for nulls
        return values[numbers_of(array.indices.cast(pa.int64()).fill_null(-1), np.int64)]
    if pa.types.is_string_view(kind) or pa.types.is_binary_view(kind):
        # Each view has 16 bytes and begins with the length
        lengths = np.frombuffer(array.buffers()[1], np.int32)[::4]
        own = lengths[array.offset : array.offset + len(array)]
        return np.maximum(own, 0).astype(np.int64)  # the length of a null may be anything
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        ends = np.asarray(array.offsets, np.int64)
        if not is_text(kind.value_type):
            return np.diff(ends) * _BYTES_OF_NUMBER
        whole = np.concatenate(([0], np.cumsum(_BYTES_OF_NUMBER + _bytes_of(array.values))))
        return np.diff(whole[ends])
    if kind in (*AS_TEXT, *_AS_BYTES):
        return np.asarray(pc.binary_length(array).fill_null(0), np.int64)
    return np.zeros(len(array), np.int64)  # no reader uses this type


def is_text(kind: pa.DataType) -> bool:
    """Whether the values are strings."""
    if pa.types.is_dictionary(kind):
        return is_text(kind.value_type)
    return kind in (pa.string(), pa.large_string(), pa.string_view(), pa.null())


def is_list_of_texts(kind: pa.DataType) -> bool:
    """Whether the values are lists of strings, of any length."""
    return (pa.types.is_list(kind) or pa.types.is_large_list(kind)) and is_text(kind.value_type)


def in_words(kind: pa.DataType) -> str:
    """What a column of a type holds, for messages."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    words = {
        "lists or objects": pa.types.is_nested,
        "intervals of time": pa.types.is_interval,
        "dates or times": pa.types.is_temporal,
        "true and false": pa.types.is_boolean,
        "numbers": lambda kind: pa.types.is_primitive(kind) or pa.types.is_decimal(kind),
        "no values": pa.types.is_null,
        "strings": lambda kind: kind in (pa.string(), pa.large_string(), pa.string_view()),
    }
    return next((word for word, fits in words.items() if fits(kind)), "bytes")


def _width(kind: pa.DataType) -> int | None:
    """Bytes of a value of a type whose values are all of one size; None for others."""
    types = pa.types
    if types.is_fixed_size_list(kind):
        return _BYTES_OF_NUMBER * int(kind.list_size)
    if types.is_null(kind):
        return 0
    if types.is_primitive(kind) or types.is_decimal(kind) or types.is_fixed_size_binary(kind):
        return max(_BYTES_OF_NUMBER, int(kind.bit_width) // 8)
    return None


@contextmanager
def arrow_errors(path: Place) -> Iterator[None]:
    """Turn the errors of a damaged file into a SourceError."""
    kinds, problem = (pa.ArrowException, ValueError), "not a valid Parquet or Arrow IPC file"
    with reading(path), source_errors(str(path), kinds, problem):
        yield


def column_names(schema: pa.Schema, where: str) -> list[str]:
    """The names of the columns; SourceError if they are not UTF-8."""
    try:
        return schema.names  # type: ignore[no-any-return]
    except UnicodeDecodeError as error:
        raise SourceError(where, "names of columns are not UTF-8") from error
