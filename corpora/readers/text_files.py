"""Plain text (a document per file or per line) and CSV or TSV (a document per record)."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from functools import partial

import pyarrow as pa

from sparsetopics.base.errors import SourceError
from sparsetopics.base.wording import reason_of
from sparsetopics.corpora.readers.blocks import PendingBlock, TextBlock, text_block
from sparsetopics.corpora.readers.options import (
    Fields,
    ReadOptions,
    check_delimiter,
    delimiter_of,
    find_fields,
)
from sparsetopics.corpora.sources.byte_stream import (
    BLOCK_BYTES,
    LONGEST_TEXT,
    LineBlock,
    Place,
    SourceFile,
    absolute,
    line_blocks,
    n_bytes_of,
    open_bytes,
    read_utf8,
    reading,
)
from sparsetopics.corpora.sources.source_files import bare_suffix

_MOST_FILES = 4_096  # in one block
_FIRST_BYTES = 1 << 10  # that are looked at for lines; a packed file may unpack without end
_MANY_LINES = 10  # more than a short document would have


def read_text(files: Sequence[SourceFile], options: ReadOptions) -> Iterator[PendingBlock]:
    """Read each file as a document: its name is the id, the folder that it lies in the label."""
    # Workers open the files, because opening many small files takes most of the time.
    together: list[SourceFile] = []
    n_bytes = 0
    for file in files:
        together.append(file._replace(path=absolute(file.path)))
        with reading(file.path):
            n_bytes += n_bytes_of(file.path)
        if n_bytes >= BLOCK_BYTES or len(together) == _MOST_FILES:
            yield partial(_decode_files, together, options)
            together, n_bytes = [], 0
    if together:
        yield partial(_decode_files, together, options)


def doubts_about_text(files: Sequence[SourceFile]) -> Iterator[str]:
    """Sentences about files that are read as a document each, but perhaps are something else."""
    if len(files) == 1:
        path = files[0].path
        with reading(path), open_bytes(path) as stream:
            n_lines = stream.read(_FIRST_BYTES).rstrip().count(b"\n") + 1
        if n_lines >= _MANY_LINES:
            yield f"{path} is one document. If each of its lines is one, use --format lines."
        return
    for file in files:
        name = file.path.name
        if name.startswith(("vocab.", "vocabulary.")) or bare_suffix(file.path) == ".vocab":
            hint = "To leave it out, name the others by a pattern."
            yield f"{file.path} is read as a document. {hint}"


def _decode_files(files: list[SourceFile], options: ReadOptions) -> TextBlock:
    folders = [file.name.rpartition("/")[0] or None for file in files]
    return TextBlock(
        pa.array([file.name for file in files], pa.string()),
        pa.array(folders, pa.string()),
        pa.array([read_utf8(file.path, options.encoding_errors) for file in files], pa.string()),
    )


def read_lines(files: Sequence[SourceFile], options: ReadOptions) -> Iterator[PendingBlock]:
    """Read each line as a document without id and label; empty lines are empty documents."""
    for file in files:
        for block in line_blocks(file.path, options.encoding_errors):
            yield partial(_decode_lines, block)


def _decode_lines(block: LineBlock) -> TextBlock:
    texts = pa.array(block.data.decode().split("\n")[:-1], pa.string())
    nothing = pa.nulls(len(texts), pa.string())
    return TextBlock(nothing, nothing, texts)


Row = tuple[str | None, str | None, str]


def read_csv(files: Sequence[SourceFile], options: ReadOptions) -> Iterator[PendingBlock]:
    """Read records, which may span lines inside quotes and have as many fields as the header."""
    csv.field_size_limit(LONGEST_TEXT)  # the default is 128 KiB
    for file in files:
        rows: list[Row] = []
        n_characters = 0
        for row in _rows(file.path, options):
            rows.append(row)
            n_characters += len(row[2])
            if n_characters >= BLOCK_BYTES:
                yield partial(text_block, rows)
                rows, n_characters = [], 0
        if rows:
            yield partial(text_block, rows)


def _rows(path: Place, options: ReadOptions) -> Iterator[Row]:
    reader = csv.reader(_lines(path, options), delimiter=delimiter_of(path), strict=True)
    header = _next_record(reader, path)
    if header is None:
        return
    if options.text_field not in header:
        check_delimiter(header, path)
    fields = find_fields(header, options, str(path))
    while (record := _next_record(reader, path)) is not None:
        if not record:  # a blank line
            continue
        if len(record) != len(header):
            problem = f"expected {len(header)} fields, as in the header, but found {len(record)}"
            raise SourceError(f"{path}, line {reader.line_num}", problem)
        yield _pick(record, fields)


def _pick(record: list[str], fields: Fields) -> Row:
    doc_id = None if fields.doc_id is None else record[fields.doc_id]
    label = None if fields.label is None else record[fields.label]
    return doc_id, label, record[fields.text]


def _next_record(reader: Iterator[list[str]], path: Place) -> list[str] | None:
    try:
        return next(reader, None)
    except csv.Error as error:
        where = f"{path}, line {reader.line_num}"  # type: ignore[attr-defined]
        raise SourceError(
            where, f"not a CSV record ({reason_of(error)})", "Check the quotes."
        ) from error


def _lines(path: Place, options: ReadOptions) -> Iterator[str]:
    for block in line_blocks(path, options.encoding_errors):
        yield from io.StringIO(block.data.decode(), newline="")
