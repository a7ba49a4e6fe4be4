"""CSV and TSV with a header line: one document per record."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from functools import partial

import pyarrow as pa

from sparsetopics.base.errors import SourceError
from sparsetopics.corpora.readers.blocks import PendingBlock, TextBlock
from sparsetopics.corpora.readers.fields import Fields, find_fields
from sparsetopics.corpora.sources.byte_stream import BLOCK_BYTES, LONGEST_TEXT, line_blocks
from sparsetopics.corpora.sources.places import Place
from sparsetopics.corpora.sources.sources import ReadOptions, SourceFile, bare_suffix

Row = tuple[str | None, str | None, str]


def read_csv(files: Sequence[SourceFile], options: ReadOptions) -> Iterator[PendingBlock]:
    """Records may span lines inside quotes; every record has as many fields as the header."""
    csv.field_size_limit(LONGEST_TEXT)  # 128 KiB unless told
    for file in files:
        rows: list[Row] = []
        n_characters = 0
        for row in _rows(file.path, options):
            rows.append(row)
            n_characters += len(row[2])
            if n_characters >= BLOCK_BYTES:
                yield partial(_as_block, rows)
                rows, n_characters = [], 0
        if rows:
            yield partial(_as_block, rows)


def _as_block(rows: list[Row]) -> TextBlock:
    return TextBlock(*(pa.array(column, pa.string()) for column in zip(*rows, strict=True)))


def _rows(path: Place, options: ReadOptions) -> Iterator[Row]:
    delimiter = "\t" if bare_suffix(path) == ".tsv" else ","
    reader = csv.reader(_lines(path, options), delimiter=delimiter, strict=True)
    header = _next_record(reader, path)
    if header is None:
        return
    fields = find_fields(header, options, str(path))
    while (record := _next_record(reader, path)) is not None:
        if not record:  # a blank line
            continue
        if len(record) != len(header):
            raise SourceError(
                f"{path}, line {reader.line_num}",
                found=f"{len(record)} fields",
                wanted=f"{len(header)}, as in the header",
            )
        yield _pick(record, fields)


def _pick(record: list[str], fields: Fields) -> Row:
    doc_id = None if fields.doc_id is None else record[fields.doc_id]
    label = None if fields.label is None else record[fields.label]
    return doc_id, label, record[fields.text]


def _next_record(reader: Iterator[list[str]], path: Place) -> list[str] | None:
    try:
        return next(reader, None)
    except csv.Error as error:
        line = reader.line_num  # type: ignore[attr-defined]
        raise SourceError(
            f"{path}, line {line}", found=str(error), wanted="a record of CSV", hint="Check quotes."
        ) from error


def _lines(path: Place, options: ReadOptions) -> Iterator[str]:
    for block in line_blocks(path, options.encoding_errors):
        yield from io.StringIO(block.data.decode(), newline="")
