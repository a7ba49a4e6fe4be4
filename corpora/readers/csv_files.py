"""CSV, TSV and their relatives: a document per record, columns separated by one character."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial
from itertools import chain, islice
from typing import NoReturn

import numpy as np
import pyarrow as pa

from sparsetopics.base.errors import SourceError
from sparsetopics.base.wording import reason_of
from sparsetopics.corpora.readers.blocks import PendingBlock, TextBlock, overlong, text_block
from sparsetopics.corpora.readers.delimiters import check_separated, delimiter_of
from sparsetopics.corpora.readers.options import Fields, ReadOptions, find_fields, odd_record
from sparsetopics.corpora.readers.records import (
    MOST_LINES,
    copy_fields,
    count_line_breaks,
    find_fields_of_records,
)
from sparsetopics.corpora.sources.byte_stream import (
    LONGEST_TEXT,
    LineBlock,
    Place,
    SourceFile,
    line_blocks,
)

_NUMBER = re.compile(r"\s*[+-]?\.?\d[\d.]*(e[+-]?\d+)?\s*$", re.IGNORECASE)
_MOST_COLUMNS = 1 << 16  # in which to look for a quote that does not close


def read_csv(file: SourceFile, options: ReadOptions) -> Iterator[PendingBlock]:
    """Read records, which may span lines inside quotes and have as many fields as the header.

    Kernels read them; ``csv`` says what is wrong with the first odd record.
    """
    csv.field_size_limit(LONGEST_TEXT)  # the default is 128 KiB
    with closing(line_blocks(file.path, options.decoding)) as lines:
        first, delimiter, n_lines = _beginning(lines, file.path, options)
        header: Sequence[str] | None = options.header
        if header is None:
            header, _ = next(_csv_rows(first, file.path, n_lines, delimiter), (None, 0))
            if header is None:
                return
        below = first.tell()
        record = next(filter(None, csv.reader(first, delimiter=delimiter)), [])
        if options.header == (*record,):
            raise odd_record(record, len(record), str(file.path), options)
        first.seek(below)
        fields = _fields_of(header, record, delimiter, file.path, options)
        rest, n_records = b"", 0
        for data in chain([first.read().encode()], (block.data for block in lines)):
            rest += data
            found, n_read, is_odd = _columns(delimiter, fields, rest)
            if max(overlong(found.ids), overlong(found.labels)) >= 0:
                break
            if len(found.texts):
                place = partial(_place_of_record, file.path, options, n_records)
                yield partial(TextBlock, *found[:-1], place)
                n_records += len(found.texts)
            rest = rest[n_read:]
            if is_odd or len(rest) > LONGEST_TEXT:
                break
        if rest:
            _refuse(file.path, fields, options)


def placed_records(
    path: Place, options: ReadOptions
) -> Generator[tuple[list[str], int], None, None]:
    """The records, the header among them, each with the number of its first line.

    SourceError at the line where a quote opens that is not closed well.
    """
    with closing(line_blocks(path, options.decoding)) as blocks:
        first, delimiter, n_lines = _beginning(blocks, path, options)
        texts = (io.StringIO(block.data.decode(), newline="") for block in blocks)
        yield from _csv_rows(chain(first, chain.from_iterable(texts)), path, n_lines, delimiter)


def _place_of_record(path: Place, options: ReadOptions, n_before: int, row: int) -> str:
    """The first line of a record of a block that follows ``n_before`` others; reads the file."""
    with closing(placed_records(path, options)) as records:
        own = islice(records, n_before + row + (options.header is None), None)
        return f"{path}, line {next(own)[1]}"


def _beginning(
    lines: Iterator[LineBlock], path: Place, options: ReadOptions
) -> tuple[io.StringIO, str, int]:
    """The lines of the first block with records, what separates columns, and how many lines
    precede them."""
    with_records = (block for block in lines if block.data.strip(b"\r\n"))
    block = next(with_records, LineBlock(str(path), 1, b""))
    text = block.data.decode()
    delimiter, n_said = delimiter_of(path, text, options.delimiter)
    return io.StringIO(text[n_said:], newline=""), delimiter, block.first_line - 1 + min(n_said, 1)


def _fields_of(
    header: Sequence[str], record: list[str], delimiter: str, path: Place, options: ReadOptions
) -> Fields:
    """The columns to read, of which the first ``record`` below the header shows the numeric ones.

    SourceError if that header is no header, perhaps because another character separates columns.
    """
    numeric = {name for name, value in zip(header, record, strict=False) if _NUMBER.match(value)}
    try:
        return find_fields(header, options, str(path), numeric)
    except SourceError as error:
        check_separated(header, delimiter, path)
        if options.header is not None or {*options.text_fields}.issubset(header):
            raise
        problem, _, hint = error.text.partition(". ")
        hint += " If the file has no header, name its columns with --header."
        raise SourceError(error.where, problem, hint) from None


def _columns(delimiter: str, fields: Fields, data: bytes) -> tuple[TextBlock, int, bool]:
    """The documents of whole records, how many bytes they take, and whether an odd one follows."""
    text = np.frombuffer(bytearray(data), np.uint8)  # writable, so that kernels compile once
    rows = np.full(fields.n_columns, -1, np.int64)
    wanted = sorted(fields.wanted)
    rows[wanted] = range(len(wanted))
    spans = np.empty((len(wanted), count_line_breaks(text), 2), np.int32)
    n_records, n_read, is_odd, _ = find_fields_of_records(text, ord(delimiter), rows, spans)

    def column(field: int | None) -> pa.StringArray:
        if field is None:
            return pa.nulls(n_records, pa.string())
        copied = copy_fields(text, spans[rows[field], :n_records])
        return pa.StringArray.from_buffers(n_records, *map(pa.py_buffer, copied))

    is_odd = is_odd or count_line_breaks(text[n_read:]) > MOST_LINES
    return fields.block(column), n_read, is_odd


def _refuse(path: Place, fields: Fields, options: ReadOptions) -> NoReturn:
    """Raise the SourceError of the first odd record."""
    where = str(path)
    with closing(placed_records(path, options)) as records:
        for record, line in records:
            where = f"{path}, line {line}"
            if len(record) != fields.n_columns:
                raise odd_record(record, fields.n_columns, where, options)
            doc_id, label = (None if f is None else record[f] for f in fields[:2])
            text_block([(where, doc_id, label, "")], {})
    raise SourceError(where, "not a CSV record", "Check the quotes.")


def _csv_rows(
    lines: Iterable[str], path: Place, n_lines: int, delimiter: str
) -> Iterator[tuple[list[str], int]]:
    """The records after ``n_lines`` lines, as ``placed_records`` has them."""
    own: list[str] = []  # the lines of the record that is being read

    def noted(lines: Iterable[str]) -> Iterator[str]:
        for line in lines:
            if len(own) == MOST_LINES:
                raise csv.Error(f"more than {MOST_LINES:,} lines")
            own.append(line)
            yield line

    reader = csv.reader(noted(lines), delimiter=delimiter, strict=True)
    try:
        for record in reader:
            if record:
                yield record, n_lines + reader.line_num - len(own) + 1
            own.clear()
    except csv.Error as error:
        last = n_lines + reader.line_num
        text = np.frombuffer(bytearray("".join(own).encode()), np.uint8)
        rows, spans = np.full(_MOST_COLUMNS, -1, np.int64), np.empty((0, 0, 2), np.int32)
        *_, n_before = find_fields_of_records(text, ord(delimiter), rows, spans)
        first = last - len(own) + 1 + count_line_breaks(text[:n_before])
        reason = reason_of(error) + (f" at line {last}" if first < last else "")
        hint = f"Check the quote that opens in line {first}."
        raise SourceError(f"{path}, line {first}", f"not a CSV record ({reason})", hint) from error
