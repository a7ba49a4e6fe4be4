"""The first sheet of an Excel workbook (.xlsx) with values: one document per row, under a row of
names."""

from __future__ import annotations

import datetime
import warnings
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import chain, dropwhile, islice, zip_longest
from threading import RLock
from typing import IO, TypeAlias

import numpy as np
import pyarrow as pa

from sparsetopics.base.errors import SourceError, needing, source_errors, warn_user
from sparsetopics.base.wording import listed
from sparsetopics.corpora.readers.blocks import PendingBlock
from sparsetopics.corpora.readers.options import ReadOptions, odd_record
from sparsetopics.corpora.readers.text_tables import table_blocks
from sparsetopics.corpora.sources.archives import check_members, zip_errors
from sparsetopics.corpora.sources.arrow_batches import pieces
from sparsetopics.corpora.sources.byte_stream import SourceFile, open_unpacked

Cell: TypeAlias = str | float | datetime.date | datetime.time | datetime.timedelta | None
_NumberedRow: TypeAlias = tuple[int, Sequence[str]]
_ROWS_AT_ONCE = 1_024
_MOST_BYTES = 1 << 28  # of the parts of a workbook, some of which are held in memory
_MOST_ROWS = 1 << 20  # as in Excel
_SILENCE = RLock()  # because all threads share the filters of warnings
# What cells show if their formulas fail; they count as empty.
_ERRORS = frozenset(("#NULL!", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#N/A"))


def read_xlsx(file: SourceFile, options: ReadOptions) -> Iterator[PendingBlock]:
    """Read a workbook. Whole numbers have no point, and dates are ISO dates.

    Warns of other sheets with values. Raises OptionError if openpyxl is not installed.
    """
    with open_unpacked(file.path) as stream:
        sheets = _filled_sheets(stream, str(file.path))
        for title, rows in islice(sheets.items(), 1):
            where = f"{file.path}, sheet {title!r}"
            if others := [repr(name) for name in sheets if name != title]:
                hint = "To read another sheet, save it as a file of its own."
                with _SILENCE:
                    warn_user(f"{where} was read, but not {listed(others)}. {hint}")
            number, row = next(rows)
            if options.header is not None:  # then this row is a document, too
                rows, number = chain([(number, row)], rows), number - 1
            header = options.header or row
            schema = pa.schema([(name, pa.string()) for name in header])
            read = partial(pieces, _batches(rows, header, where, options), np.inf)
            yield from table_blocks(schema, read, where, options, number + 1)


def _batches(
    rows: Iterator[_NumberedRow], header: Sequence[str], where: str, options: ReadOptions
) -> Iterator[pa.RecordBatch]:
    """The rows under the names of ``header``; SourceError for one that these do not fit."""
    while some := list(islice(rows, _ROWS_AT_ONCE)):
        for number, row in some:
            if len(row) > len(header) or options.header == (*row,):
                raise odd_record(row, len(header), f"{where}, row {number}", options)
        columns = zip_longest(header, *(row for _, row in some), fillvalue="")
        yield pa.RecordBatch.from_arrays([pa.array(c[1:]) for c in columns], list(header))


def _texts(row: Sequence[Cell]) -> Sequence[str]:
    """The cells as strings, without empty ones at the end."""
    texts = [*map(_as_text, row)]
    return texts[: max((number for number, text in enumerate(texts, 1) if text), default=0)]


def _as_text(cell: Cell) -> str:
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    if isinstance(cell, datetime.datetime):
        return (cell if cell.time() != datetime.time() else cell.date()).isoformat()
    return "" if cell is None or cell in _ERRORS else str(cell)


def _filled_sheets(stream: IO[bytes], where: str) -> Mapping[str, Iterator[_NumberedRow]]:
    """The rows of each sheet with values, from the first that is not blank; hidden sheets last."""
    with needing("excel", "format", "xlsx needs openpyxl, which is not installed"):
        from openpyxl import load_workbook
    _check_parts(stream, where)
    with _openpyxl_errors(where):
        book = load_workbook(stream, read_only=True, data_only=True, keep_links=False)
    filled = {}
    for sheet in sorted(book.worksheets, key=lambda sheet: sheet.sheet_state != "visible"):
        sheet.reset_dimensions()  # which other programs may have written wrongly
        cells = sheet.iter_rows(values_only=True)
        rows = dropwhile(lambda row: not row[1], enumerate(_rows(cells, where), 1))
        if first := next(rows, None):
            filled[sheet.title] = chain([first], rows)
    return filled


def _rows(cells: Iterator[Sequence[Cell]], where: str) -> Iterator[Sequence[str]]:
    """The rows of a sheet, as strings."""
    for _ in range(_MOST_ROWS // _ROWS_AT_ONCE + 1):
        with _openpyxl_errors(where):
            some = list(islice(cells, _ROWS_AT_ONCE))
        if not some:
            return
        yield from map(_texts, some)
    raise SourceError(where, f"expected at most {_MOST_ROWS:,} rows", "Save the sheet as .csv.")


@contextmanager
def _openpyxl_errors(where: str) -> Iterator[None]:
    """Raise SourceError for the errors of damaged workbooks, which are of many kinds, and silence
    the warnings of openpyxl, which are about styles, charts and the like."""
    with source_errors(where, Exception, "not an Excel workbook"), without_warnings():
        yield


@contextmanager
def without_warnings() -> Iterator[None]:
    """Silence the warnings of this thread, and of libraries that it calls."""
    with _SILENCE, warnings.catch_warnings(action="ignore"):
        yield


def _check_parts(stream: IO[bytes], where: str) -> None:
    """SourceError for a file that is no zip archive, or whose parts would take much memory."""
    if not zipfile.is_zipfile(stream):
        hint = "Save it as .xlsx, without a password, or give it the extension of its format."
        raise SourceError(where, "expected an Excel workbook (.xlsx), which is a zip archive", hint)
    with zip_errors(where), zipfile.ZipFile(stream) as archive:
        n_bytes = check_members(archive, where)
    if n_bytes > _MOST_BYTES:
        problem = f"expected at most {_MOST_BYTES:,} unpacked bytes, but found {n_bytes:,}"
        raise SourceError(where, problem, "Save the sheet as .csv.")
