"""The first sheet of an Excel workbook (.xlsx): one document per row, under a row of names."""

from __future__ import annotations

import datetime
import io
import re
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import islice, zip_longest
from typing import TypeAlias
from xml.parsers import expat

import numpy as np
import pyarrow as pa

from sparsetopics.base.errors import SourceError, needing
from sparsetopics.base.wording import reason_of
from sparsetopics.corpora.readers.blocks import PendingBlock
from sparsetopics.corpora.readers.options import ReadOptions
from sparsetopics.corpora.readers.text_tables import table_blocks
from sparsetopics.corpora.sources.archives import check_packing, refuse_twice, zip_errors
from sparsetopics.corpora.sources.arrow_batches import Choose, Piece, pieces
from sparsetopics.corpora.sources.byte_stream import (
    BLOCK_BYTES,
    Place,
    SourceFile,
    open_unpacked,
    reading,
)

Cell: TypeAlias = str | float | datetime.date | datetime.time | datetime.timedelta
_ROWS_AT_ONCE = 1_024
_MOST_BYTES = 1 << 28  # of the parts of a workbook, and of the strings of all its cells
_MOST_CELLS = 1 << 24  # of the rectangle around all cells, which is held in memory
_LARGEST_EXACT = 1e15  # numbers of cells are floats
_LONGEST_NUMBER = 12  # digits
_CELL = re.compile("([A-Za-z]{0,9})([0-9]{0,9})")


def read_xlsx(files: Sequence[SourceFile], options: ReadOptions) -> Iterator[PendingBlock]:
    """Read workbooks. Whole numbers have no point, and dates are ISO dates.

    Raises OptionError if python-calamine is not installed.
    """
    for file in files:
        yield from table_blocks(partial(_pieces, file.path, options), str(file.path), options)


def _pieces(path: Place, options: ReadOptions, choose: Choose) -> Iterator[Piece]:
    return pieces(_batches(path, options, choose), np.inf)


def _batches(path: Place, options: ReadOptions, choose: Choose) -> Iterator[pa.RecordBatch]:
    """The columns to read, as strings."""
    rows = _rows(_repacked(path), str(path))
    header = options.header or tuple(map(_as_text, next(rows, [])))
    if not header:
        return
    schema = pa.schema([(name, pa.string()) for name in header])
    names = choose(schema).columns
    columns = [header.index(name) for name in names]
    while some := list(islice(rows, _ROWS_AT_ONCE)):
        if len(some[0]) != len(header):
            expected = f"{len(header)} columns, as --header names"
            raise SourceError(str(path), f"expected {expected}, but found {len(some[0])}")
        values = [pa.array([_as_text(row[n]) for row in some], pa.string()) for n in columns]
        yield pa.RecordBatch.from_arrays(values, list(names))


def _as_text(cell: Cell) -> str:
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < _LARGEST_EXACT:
        return str(int(cell))
    if isinstance(cell, datetime.datetime) and cell.time() == datetime.time():
        return cell.date().isoformat()
    return cell.isoformat() if isinstance(cell, datetime.datetime) else str(cell)


def _rows(workbook: io.BytesIO, where: str) -> Iterator[list[Cell]]:
    """The cells of the first sheet, in rows of the same length."""
    with needing("excel", "format", "xlsx needs python-calamine, which is not installed"):
        from python_calamine import CalamineError, CalamineWorkbook
    try:
        with CalamineWorkbook.from_object(workbook) as opened:
            yield from opened.get_sheet_by_index(0).iter_rows()
    except CalamineError as error:
        raise SourceError(where, f"not a workbook of Excel ({reason_of(error)})") from error


# --- workbooks that would take more memory than they should ---------------------------------------
def _repacked(path: Place) -> io.BytesIO:
    """The workbook without compression; SourceError if it is damaged or a bomb."""
    where, copied, n_bytes = str(path), io.BytesIO(), 0
    parts: list[_Part] = []
    with (
        reading(path),
        open_unpacked(path) as stream,
        zip_errors(where),
        zipfile.ZipFile(stream) as archive,
        zipfile.ZipFile(copied, "w") as copy,
    ):
        refuse_twice(archive.namelist(), where)
        for info in archive.infolist():
            check_packing(info, f"{where}/{info.filename}")
            parts.append(_Part(f"{where}/{info.filename}"))
            with archive.open(info) as member, copy.open(info.filename, "w") as copied_member:
                while data := member.read(BLOCK_BYTES):
                    n_bytes += len(data)
                    _refuse_above(_MOST_BYTES, n_bytes, "bytes of XML", where)
                    copied_member.write(data)
                    if info.filename.endswith(".xml"):
                        parts[-1].read(data)
    lengths = [*map(max, zip_longest(*(part.lengths for part in parts), fillvalue=0))]
    shown = sum((part.shown for part in parts), Counter[str]())
    n_shown = sum(
        n * lengths[int(place)]
        for place, n in shown.items()
        if place.isdecimal() and len(place) < _LONGEST_NUMBER and int(place) < len(lengths)
    )
    _refuse_above(_MOST_BYTES, n_shown, "characters in cells", where)
    copied.seek(0)
    return copied


def _refuse_above(most: int, n_found: int, noun: str, where: str) -> None:
    if n_found > most:
        problem = f"expected at most {most:,} {noun}, but found {n_found:,} or more"
        raise SourceError(where, problem, "Save the sheet as .csv.")


class _Part:
    """What a part of a workbook, an XML file, makes of little: the rectangle around the cells, and
    strings that are shared by cells."""

    def __init__(self, where: str) -> None:
        self.lengths: list[int] = []  # of the shared strings, in characters
        self.shown: Counter[str] = Counter()  # how many cells have each, by its number
        self._where = where
        self._row = self._column = self._n_rows = self._n_columns = 0
        self._is_shared = False
        self._text: list[str] = []
        self._parser = expat.ParserCreate()
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._text.append

    def read(self, data: bytes) -> None:
        """Go on; SourceError for what is no XML, and for cells that are too far apart."""
        try:
            self._parser.Parse(data)
        except expat.ExpatError as error:
            raise SourceError(self._where, f"not XML ({reason_of(error)})") from error
        _refuse_above(_MOST_CELLS, self._n_rows * self._n_columns, "cells", self._where)

    def _start(self, name: str, attributes: Mapping[str, str]) -> None:
        kind = name.rpartition(":")[2]
        if kind in ("row", "c"):
            self._place(kind, attributes.get("r", ""))
            self._is_shared = attributes.get("t") == "s"
        if kind in ("si", "v"):
            self._text.clear()

    def _place(self, kind: str, place: str) -> None:
        """Note where a row or a cell is; without ``place``, it follows the one before."""
        found = _CELL.fullmatch(place)
        if found is None:
            problem = f"expected a place such as A1, but found {place!r:.40}"
            raise SourceError(self._where, problem)
        column = 0
        for letter in found[1].upper():
            column = 26 * column + ord(letter) - ord("@")
        is_row = kind == "row"
        self._row = int(found[2]) if found[2] else self._row + is_row
        self._column = 0 if is_row else column or self._column + 1
        self._n_rows = max(self._n_rows, self._row)
        self._n_columns = max(self._n_columns, self._column)

    def _end(self, name: str) -> None:
        kind = name.rpartition(":")[2]
        if kind == "si":
            self.lengths.append(sum(map(len, self._text)))
        if kind == "v" and self._is_shared:
            self.shown["".join(self._text).strip()] += 1
