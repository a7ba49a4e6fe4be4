"""The first sheet of an Excel workbook (.xlsx): one document per row, under a row of names."""

from __future__ import annotations

import datetime
import warnings
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import dropwhile, islice, zip_longest
from threading import Lock
from typing import IO, TypeAlias

import numpy as np
import pyarrow as pa

from sparsetopics.base.errors import SourceError, needing, source_errors
from sparsetopics.base.wording import quantity
from sparsetopics.corpora.readers.blocks import PendingBlock
from sparsetopics.corpora.readers.options import ReadOptions
from sparsetopics.corpora.readers.text_tables import table_blocks
from sparsetopics.corpora.sources.archives import check_members, zip_errors
from sparsetopics.corpora.sources.arrow_batches import pieces
from sparsetopics.corpora.sources.byte_stream import Place, SourceFile, open_unpacked, reading

Cell: TypeAlias = str | float | datetime.date | datetime.time | datetime.timedelta | None
_ROWS_AT_ONCE = 1_024
_MOST_BYTES = 1 << 28  # of the parts of a workbook, some of which are held in memory
_MOST_ROWS = 1 << 20  # that Excel has
_SILENCE = Lock()  # since what is done with warnings is the same for all threads
# What cells show whose formulas fail: no value.
_ERRORS = frozenset(("#NULL!", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#N/A"))
_LARGEST_EXACT = 1e15  # beyond it, floats are no numbers of documents


def read_xlsx(file: SourceFile, options: ReadOptions) -> Iterator[PendingBlock]:
    """Read a workbook. Whole numbers have no point, and dates are ISO dates.

    Raises OptionError if openpyxl is not installed.
    """
    pieces_of = partial(pieces, _batches(file.path, options), np.inf)
    return table_blocks(pieces_of, str(file.path), options)


def _batches(path: Place, options: ReadOptions) -> Iterator[pa.RecordBatch]:
    """The rows under the header, as strings."""
    where = str(path)
    with reading(path), open_unpacked(path) as stream:
        numbered = enumerate(map(_texts, _rows(stream, where)), 1)
        rows = dropwhile(lambda row: not row[1], numbered)
        _, header = (0, options.header) if options.header else next(rows, (0, ()))
        while numbers_and_rows := list(islice(rows, _ROWS_AT_ONCE)):
            numbers, some = zip(*numbers_and_rows, strict=True)
            wide = next((n for n, row in enumerate(some) if len(row) > len(header)), None)
            if wide is not None:
                source = "--header" if options.header else "its first row"
                expected = f"{quantity(len(header), 'column')}, as {source} names"
                place = f"{where}, row {numbers[wide]} of the sheet"
                hint = "Name all columns, in the first row that is not empty or with --header."
                raise SourceError(place, f"expected {expected}, but found {len(some[wide])}", hint)
            columns = [pa.array(c[1:]) for c in zip_longest(header, *some, fillvalue="")]
            yield pa.RecordBatch.from_arrays(columns, list(header))


def _texts(row: Sequence[Cell]) -> Sequence[str]:
    """The cells as strings, without empty ones at the end."""
    texts = [*map(_as_text, row)]
    while texts and not texts[-1]:
        texts.pop()
    return texts


def _as_text(cell: Cell) -> str:
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < _LARGEST_EXACT:
        return str(int(cell))
    if isinstance(cell, datetime.datetime):
        return (cell if cell.time() != datetime.time() else cell.date()).isoformat()
    return "" if cell is None or cell in _ERRORS else str(cell)


def _rows(stream: IO[bytes], where: str) -> Iterator[Sequence[Cell]]:
    """The rows of the first sheet."""
    with needing("excel", "format", "xlsx needs openpyxl, which is not installed"):
        from openpyxl import load_workbook
    _check_parts(stream, where)
    n_rows = 0
    # Damaged workbooks raise errors of many kinds.
    with source_errors(where, Exception, "not an Excel workbook"):
        with _silence():
            book = load_workbook(stream, read_only=True, data_only=True, keep_links=False)
            sheet = book.worksheets[0]
            sheet.reset_dimensions()  # which other programs may have written wrongly
            rows = sheet.iter_rows(values_only=True)
        while n_rows <= _MOST_ROWS:
            with _silence():
                some = list(islice(rows, _ROWS_AT_ONCE))
            if not some:
                return
            n_rows += len(some)
            yield from some
    raise SourceError(where, f"expected at most {_MOST_ROWS:,} rows", "Save the sheet as .csv.")


@contextmanager
def _silence() -> Iterator[None]:
    """No warnings of openpyxl, which are about styles, charts and the like."""
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
        problem = f"expected at most {_MOST_BYTES:,} bytes of XML, but found {n_bytes:,}"
        raise SourceError(where, problem, "Save the sheet as .csv.")
