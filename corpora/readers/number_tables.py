"""Numeric columns of CSV, Parquet and Arrow IPC: one item per row."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from sparsetopics.base.batches import AnyArray
from sparsetopics.base.errors import SourceError
from sparsetopics.base.wording import quantity
from sparsetopics.corpora.readers.blocks import (
    PendingVectors,
    Rounded,
    VectorBlock,
    rounded_among,
    rows_per_block,
    vector_block,
)
from sparsetopics.corpora.readers.delimiters import check_separated, delimiter_of
from sparsetopics.corpora.readers.options import VectorReadOptions, listed
from sparsetopics.corpora.sources.arrow_batches import (
    OpenTable,
    arrow_errors,
    column_names,
    in_words,
)
from sparsetopics.corpora.sources.arrow_files import open_native
from sparsetopics.corpora.sources.byte_stream import BLOCK_BYTES, Place, SourceFile, reading
from sparsetopics.options.option import shown

_FIRST_BYTES = 16  # that a line such as sep=; may take
# What Arrow says of a value that is no number, and of a record with too few or too many.
_ODD_VALUE = re.compile(r"(?s)In CSV column #(\d+): Row #(\d+): .*: invalid value '(.*)'")
_ODD_RECORD = re.compile(r"CSV parse error: Row #(\d+): Expected (\d+) columns, got (\d+)")


class NumberFields(NamedTuple):
    """Names of the columns; None where the table has none."""

    item_id: str | None
    label: str | None
    values: tuple[str, ...]

    @property
    def all(self) -> list[str]:
        names = [name for name in (self.item_id, self.label) if name is not None]
        return list(dict.fromkeys([*names, *self.values]))


def read_csv_numbers(file: SourceFile, options: VectorReadOptions) -> Iterator[PendingVectors]:
    """Read records that have as many fields as the header line.

    Columns count as numeric if they are in the first 8 MiB; later values must be numbers too.
    """
    where = str(file.path)
    with _csv_errors(file.path, ()), open_native(file.path) as source:
        start = source.read(_FIRST_BYTES).decode(errors="replace")
        layout = delimiter_of(file.path, start, options.delimiter)
        source.seek(0)
        reader = _open_csv(source, layout, {}, options)
        schema = reader.schema
        if not any(map(_is_number, schema.types)):
            check_separated(column_names(schema, where), layout[0], file.path)
        fields = find_numbers(schema, options, where)
        # Arrow has decoded the first block, in which whole numbers are integers.
        rounded = rounded_among(_columns(reader.read_next_batch(), fields.values))
    strings = {name: pa.string() for name in (fields.item_id, fields.label) if name}
    types = strings | dict.fromkeys(fields.values, pa.float64())
    with _csv_errors(file.path, schema.names), open_native(file.path) as source:
        yield from _blocks(_open_csv(source, layout, types, options), fields, where, rounded)


def read_table_numbers(
    opened: OpenTable, file: SourceFile, options: VectorReadOptions
) -> Iterator[PendingVectors]:
    """Read the rows of a file of Parquet or Arrow IPC."""
    where = str(file.path)
    with opened(file.path) as (schema, read):
        fields = find_numbers(schema, options, where)
        pieces = read(fields.all, rows_per_block(8 * len(fields.all)))
        yield from _blocks((rows for rows, _ in pieces), fields, where, {})


def find_numbers(schema: pa.Schema, options: VectorReadOptions, where: str) -> NumberFields:
    """The named columns, or all numeric ones except id and label.

    A column of lists of numbers serves too if it is the only named one, or if there is no numeric
    column. Raises SourceError if a named column is missing or not numeric, or if none is left.
    """
    names = column_names(schema, where)
    if twice := [name for name, count in Counter(names).items() if count > 1]:
        called = f"are called {twice[0]!r}" if twice[0] else "have no name"
        raise SourceError(where, f"two columns {called}")
    for name in (options.id_field, options.label_field, *(options.columns or ())):
        if name is not None and name not in names:
            raise SourceError(where, f"expected a column {name!r}, but found {listed(names)}")
    item_id = options.id_field or ("id" if "id" in names else None)
    label = options.label_field or ("label" if "label" in names else None)
    for name in filter(None, (item_id, label)):
        if pa.types.is_nested(kind := schema.field(name).type):
            problem = f"expected strings or numbers in column {name!r}, but found {in_words(kind)}"
            raise SourceError(where, problem)
    numeric = [name for name in names if _is_number(schema.field(name).type)]
    if options.columns is None:
        values = tuple(name for name in numeric if name not in (item_id, label))
        lists = tuple(name for name in names if _is_list(schema.field(name).type))
        if not values and len(lists) != 1:
            raise SourceError(where, "there is no numeric column")
        return NumberFields(item_id, label, values or lists)
    for name in options.columns:
        alone = len(options.columns) == 1 and _is_list(schema.field(name).type)
        if name not in numeric and not alone:
            found = in_words(schema.field(name).type)
            problem = f"expected numbers in column {name!r}, but found {found}"
            raise SourceError(where, problem)
    return NumberFields(item_id, label, options.columns)


def _is_number(kind: pa.DataType) -> bool:
    of_numbers = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
    return any(is_kind(kind) for is_kind in of_numbers)


def _is_list(kind: pa.DataType) -> bool:
    of_lists = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    return any(is_kind(kind) for is_kind in of_lists) and _is_number(kind.value_type)


def _open_csv(
    stream: object,
    layout: tuple[str, int],  # from ``delimiter_of``
    types: dict[str, pa.DataType],
    options: VectorReadOptions,
) -> pa_csv.CSVStreamingReader:
    """Open the columns of ``types``, or all columns to see which are numeric."""
    delimiter, n_said = layout
    return pa_csv.open_csv(
        stream,
        read_options=pa_csv.ReadOptions(
            use_threads=False,
            block_size=BLOCK_BYTES,
            skip_rows=min(n_said, 1),
            column_names=list(options.header or ()),
        ),
        parse_options=pa_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        convert_options=pa_csv.ConvertOptions(
            column_types=types, include_columns=list(types), null_values=[""]
        ),
    )


@contextmanager
def _csv_errors(path: Place, names: Sequence[str]) -> Iterator[None]:
    """As ``arrow_errors``, with the record, where the header is record 1, and the column."""
    with reading(path):
        try:
            yield
        except pa.ArrowException as error:
            where, problem = str(path), "not CSV with a header line"
            if value := _ODD_VALUE.match(str(error)):
                name = dict(enumerate(names)).get(int(value[1]), value[1])
                where = f"{path}, record {value[2]}, column {name!r}"
                problem = f"expected a number, but found {shown(value[3])}"
            elif found := _ODD_RECORD.match(str(error)):
                where = f"{path}, record {found[1]}"
                expected = quantity(int(found[2]), "column")
                problem = f"expected {expected}, as in the header, but found {found[3]}"
            raise SourceError(where, problem) from error


def _blocks(
    batches: Iterator[pa.RecordBatch], fields: NumberFields, where: str, rounded: Rounded
) -> Iterator[PendingVectors]:
    first_item = 0
    for batch in batches:
        yield partial(_decode, batch, fields, where, first_item, rounded)
        first_item += len(batch)


def _decode(
    batch: pa.RecordBatch, fields: NumberFields, where: str, first_item: int, rounded: Rounded
) -> VectorBlock:
    with arrow_errors(Path(where)):
        batch = batch.select(fields.all)
        batch.validate(full=True)  # Arrow does not check what it reads from a damaged file
        nothing = pa.nulls(len(batch))
        named = (fields.item_id, fields.label)
        columns_of_names = (nothing if name is None else batch.column(name) for name in named)
        item_ids, labels = (column.cast(pa.string()) for column in columns_of_names)
    if _is_list(batch.schema.field(fields.values[0]).type):
        matrix = _matrix_of_lists(batch, fields.values[0], where, first_item)
        return vector_block(where, first_item, matrix, item_ids, labels)
    for name in fields.values:
        _refuse_nulls(batch.column(name), name, where, first_item)
    columns = _columns(batch, fields.values)
    matrix = np.stack([*columns.values()], axis=1)
    block = vector_block(where, first_item, matrix, item_ids, labels, fields.values)
    return block._replace(rounded={**rounded_among(columns), **rounded})


def _columns(batch: pa.RecordBatch, names: Sequence[str]) -> dict[str, AnyArray]:
    return {name: _numbers(batch.column(name)) for name in names}


def _numbers(column: pa.Array) -> AnyArray:
    """The numbers of a column without its nulls; decimals become float64."""
    if pa.types.is_decimal(column.type):
        column = column.cast(pa.float64(), safe=False)
    return column.drop_null().to_numpy()  # type: ignore[no-any-return]


def _matrix_of_lists(batch: pa.RecordBatch, name: str, where: str, first_item: int) -> AnyArray:
    column = batch.column(name)
    _refuse_nulls(column, name, where, first_item)
    lengths = pc.list_value_length(column).to_numpy(zero_copy_only=False)
    width = int(lengths[0])
    if width == 0 or (lengths != width).any():
        item = int(np.argmax((lengths != width) | (lengths == 0)))
        expected = f"{width} numbers, as in the first list" if width else "at least one number"
        problem = f"expected {expected}, but found {lengths[item]}"
        raise SourceError(f"{where}, item {first_item + item}, column {name!r}", problem)
    numbers = column.flatten()
    _refuse_nulls(numbers, name, where, first_item, width)
    return _numbers(numbers).reshape(-1, width)


def _refuse_nulls(values: pa.Array, name: str, where: str, first_item: int, width: int = 1) -> None:
    """SourceError at the first item that lacks one of its ``width`` values."""
    if values.null_count:
        place = int(np.argmax(values.is_null().to_numpy(zero_copy_only=False)))
        raise SourceError(
            f"{where}, item {first_item + place // width}, column {name!r}",
            "the value is missing",
            "Items are counted from 0.",
        )
