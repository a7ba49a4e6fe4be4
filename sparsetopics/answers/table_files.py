"""Tables in files of four formats, which the extension tells; written piece by piece."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow.csv import CSVWriter
from pyarrow.parquet import ParquetWriter

from sparsetopics.options.option import check_extension, refuse

WriteTable = Callable[[pa.Table], None]
# Beginnings that spreadsheets, or the programs that read what these write, take for formulas. The
# last four are wide forms of the first four, which some spreadsheets treat alike.
_FORMULA = "^[=+@\t\r\n\uff1d\uff0b\uff0d\uff20-]"  # "-" is last, so that it makes no range


def table_format(path: Path, *, spreadsheet_safe: bool = False) -> str:
    """Return the extension of an output, a key of ``FORMATS``; OptionError for any other.

    ``spreadsheet_safe`` is refused for all but CSV.
    """
    check_extension("out", path, tuple(FORMATS))
    suffix = path.suffix.lower()
    if spreadsheet_safe and suffix != ".csv":
        refuse("spreadsheet-safe", f"is for CSV, but the output is {path.name!r}")
    return suffix


def write_tables(
    path: Path,
    suffix: str,
    schema: pa.Schema,
    tables: Iterable[pa.Table],
    *,
    spreadsheet_safe: bool = False,
) -> None:
    """Write tables of one ``schema`` in the format ``suffix``, a key of ``FORMATS``.

    Tables are taken one by one, and need not stay in memory. Lists of a fixed size become a column
    for each of their numbers in CSV: ``name_0``, ``name_1`` and so on; other lists, of words,
    become texts with spaces between the words.
    With ``spreadsheet_safe``, CSV cells of text that begin like a formula get an apostrophe in
    front; numbers stay as they are.
    """
    opened = (
        _open_csv(path, schema, safe=True) if spreadsheet_safe else FORMATS[suffix](path, schema)
    )
    with opened as write:
        for table in tables:
            write(table)


@contextmanager
def _open_parquet(path: Path, schema: pa.Schema) -> Iterator[WriteTable]:
    with ParquetWriter(path, schema, compression="zstd") as writer:
        yield writer.write_table


@contextmanager
def _open_arrow(path: Path, schema: pa.Schema) -> Iterator[WriteTable]:
    """The format of Arrow files, which is also that of Feather."""
    with pa.ipc.new_file(path, schema) as writer:
        yield writer.write_table


@contextmanager
def _open_csv(path: Path, schema: pa.Schema, safe: bool = False) -> Iterator[WriteTable]:
    def write(table: pa.Table) -> None:
        flat = _flat(table)
        writer.write_table(_without_formulas(flat) if safe else flat)

    # Arrow encloses every text in quotes and writes the shortest number that reads back the same.
    with CSVWriter(path, _flat(schema.empty_table()).schema) as writer:
        yield write


def _flat(table: pa.Table) -> pa.Table:
    """The table with a column for each number of its lists of numbers, and with texts for lists of
    words."""
    columns: dict[str, pa.ChunkedArray | pa.Array] = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        if pa.types.is_list(column.type):
            columns[name] = pc.binary_join(column, " ")
            continue
        if not pa.types.is_fixed_size_list(column.type):
            columns[name] = column
            continue
        for place in range(column.type.list_size):
            columns[f"{name}_{place}"] = pc.list_element(column, place)
    return pa.table(columns)


def _without_formulas(table: pa.Table) -> pa.Table:
    """The table with an apostrophe in front of each text that begins like a formula."""
    for number, field in enumerate(table.schema):
        if pa.types.is_string(field.type):
            safe = pc.replace_substring_regex(table[number], _FORMULA, r"'\0")
            table = table.set_column(number, field, safe)
    return table


@contextmanager
def _open_jsonl(path: Path, schema: pa.Schema) -> Iterator[WriteTable]:
    keys = [json.dumps(name) for name in schema.names]

    def write(table: pa.Table) -> None:
        for cells in zip(*map(_as_json, table.columns), strict=True):
            pairs = zip(keys, cells, strict=True)
            file.write(f"{{{', '.join(f'{key}: {cell}' for key, cell in pairs)}}}\n")

    with path.open("w", encoding="utf-8", newline="") as file:
        yield write


def _as_json(column: pa.ChunkedArray | pa.Array) -> list[str]:
    """Each cell as JSON, with the shortest numbers that read back the same."""
    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_list(kind):
        return [json.dumps(value) for value in column.to_pylist()]
    if column.null_count:
        known = iter(_as_json(column.drop_null()))
        return [next(known) if valid else "null" for valid in column.is_valid().to_pylist()]
    if pa.types.is_temporal(kind):
        return [f'"{text}"' for text in column.cast(pa.string()).to_pylist()]
    if pa.types.is_fixed_size_list(column.type):
        size = column.type.list_size
        numbers = _as_json(column.combine_chunks().flatten())
        starts = range(0, len(numbers), size)
        return [f"[{', '.join(numbers[start : start + size])}]" for start in starts]
    texts: list[str] = column.cast(pa.string()).to_pylist()
    return texts


#: How each format is written, by its extension.
FORMATS: dict[str, Callable[[Path, pa.Schema], AbstractContextManager[WriteTable]]] = {
    ".parquet": _open_parquet,
    ".csv": _open_csv,
    ".jsonl": _open_jsonl,
    ".arrow": _open_arrow,
}
