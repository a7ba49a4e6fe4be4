"""Tables in files of four formats, which the extension tells; written piece by piece."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow.csv import CSVWriter
from pyarrow.parquet import ParquetWriter

from sparsetopics.base.outputs import Inputs, Output, output_file, written
from sparsetopics.base.wording import MOST_DECIMALS, decimals
from sparsetopics.options.option import check_extension, refuse

Tables = Iterable[pa.Table]
Opens = Callable[[Path, pa.Schema], pa.ipc.RecordBatchFileWriter]  # or another writer of Arrow
LABELS = {"id": pa.string(), "name": pa.string()}  # columns that say which topic it is
ERROR, ESTIMATES = "standard_error", ("mean", "difference", "correlation", "low", "high")
# Beginnings that spreadsheets, or the programs that read what these write, take for formulas. The
# last four are wide forms of the first four, which some spreadsheets treat alike.
_FORMULA = "^[=+@\t\r\n\uff1d\uff0b\uff0d\uff20-]"  # "-" is last, so that it makes no range


def table_output(
    path: Path | None, inputs: Inputs, *, overwrite: bool, spreadsheet_safe: bool
) -> Output | None:
    """Return the output for a table at ``path``, as ``output_file`` does; None without a path.

    OptionError unless the extension is a key of ``FORMATS``. ``spreadsheet_safe`` is refused for
    all but CSV.
    """
    if path is None:
        if spreadsheet_safe:
            refuse("spreadsheet-safe", "needs --out")
        return None
    output = output_file(path, overwrite=overwrite, inputs=inputs)
    check_extension("out", path, tuple(FORMATS))
    if spreadsheet_safe and path.suffix.lower() != ".csv":
        refuse("spreadsheet-safe", f"is for CSV, but the output is {path.name!r}")
    return output


def write_output(
    output: Output, schema: pa.Schema, tables: Tables, *, spreadsheet_safe: bool = False
) -> None:
    """Write tables to a ``table_output``, in the format of its extension."""
    with written(output) as path:
        suffix = output.path.suffix.lower()
        write_tables(path, suffix, schema, tables, spreadsheet_safe=spreadsheet_safe)


def write_tables(
    path: Path, suffix: str, schema: pa.Schema, tables: Tables, *, spreadsheet_safe: bool = False
) -> None:
    """Write tables of one ``schema`` in the format ``suffix``, a key of ``FORMATS``.

    Tables are taken one by one, and need not stay in memory. Lists of a fixed size become a column
    for each of their numbers in CSV: ``name_0``, ``name_1`` and so on; other lists, of words,
    become texts with spaces between the words. In Parquet, all lists have any size.
    CSV has numbers beside a ``standard_error`` with the decimals that it allows.
    With ``spreadsheet_safe``, CSV cells of text that begin like a formula get an apostrophe in
    front; numbers stay as they are.
    """
    safe = (_without_formulas,) if spreadsheet_safe else ()
    for change in (*CHANGES.get(suffix, ()), *safe):
        schema, tables = change(schema.empty_table()).schema, map(change, tables)
    FORMATS[suffix](path, schema, tables)


def _with_any_size(table: pa.Table) -> pa.Table:
    """The table with lists of any size, of which missing ones are empty.

    Arrow before 25 writes no missing list of a fixed size to Parquet.
    """
    for number, column in enumerate(table.columns):
        if pa.types.is_fixed_size_list(column.type):
            is_known = column.is_valid().to_numpy()
            ends = np.cumsum(is_known * column.type.list_size, dtype=np.int32)
            starts, flat = np.append(np.int32(0), ends), column.drop_null().combine_chunks()
            lists = pa.ListArray.from_arrays(starts, flat.flatten(), mask=pa.array(~is_known))
            table = table.set_column(number, table.column_names[number], lists)
    return table


def _rounded(table: pa.Table) -> pa.Table:
    """The table with estimates, their errors and intervals to two significant digits of the error,
    and to 15 decimals in rows without an error."""
    errors = table[ERROR].to_pylist() if ERROR in table.column_names else []
    digits = [decimals(error or 0.0, MOST_DECIMALS) for error in errors]
    for number, name in enumerate(table.column_names if errors else ()):
        if name in (*ESTIMATES, ERROR):
            pairs = zip(table[name].to_pylist(), digits, strict=True)
            own = [value and round(value, n) + 0.0 for value, n in pairs]  # None stays, but not −0
            table = table.set_column(number, name, pa.array(own, table[name].type))
    return table


def _flat(table: pa.Table) -> pa.Table:
    """The table with a column for each number of its lists of numbers, and with texts for lists of
    words."""
    columns: dict[str, pa.ChunkedArray | pa.Array] = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        if pa.types.is_list(column.type):
            columns[name] = pc.binary_join(column, " ")
        elif pa.types.is_fixed_size_list(column.type):
            for place in range(column.type.list_size):
                columns[f"{name}_{place}"] = pc.list_element(column, place)
        else:
            columns[name] = column
    return pa.table(columns)


def _without_formulas(table: pa.Table) -> pa.Table:
    """The table with an apostrophe in front of each text that begins like a formula."""
    for number, field in enumerate(table.schema):
        if pa.types.is_string(field.type):
            safe = pc.replace_substring_regex(table[number], _FORMULA, r"'\0")
            table = table.set_column(number, field, safe)
    return table


def _write_by(kind: Opens, path: Path, schema: pa.Schema, tables: Tables) -> None:
    with kind(path, schema) as writer:
        for table in tables:
            writer.write_table(table)


def _write_jsonl(path: Path, schema: pa.Schema, tables: Tables) -> None:
    keys = [json.dumps(name) for name in schema.names]
    with path.open("w", encoding="utf-8", newline="") as file:
        for table in tables:
            for cells in zip(*map(_as_json, table.columns), strict=True):
                pairs = zip(keys, cells, strict=True)
                file.write(f"{{{', '.join(f'{key}: {cell}' for key, cell in pairs)}}}\n")


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


#: What is done to tables before they are written, one after the other.
CHANGES: dict[str, Sequence[Callable[[pa.Table], pa.Table]]] = {
    ".parquet": (_with_any_size,),
    ".csv": (_rounded, _flat),
}
#: What writes tables in each format, by its extension. The format of Arrow is also that of Feather.
#: Arrow's CSV has every text in quotes and the shortest numbers that read back the same.
FORMATS: dict[str, Callable[[Path, pa.Schema, Tables], None]] = {
    ".parquet": partial(_write_by, partial(ParquetWriter, compression="zstd")),
    ".csv": partial(_write_by, CSVWriter),
    ".jsonl": _write_jsonl,
    ".arrow": partial(_write_by, pa.ipc.new_file),
}
