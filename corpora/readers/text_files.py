"""Plain text (a document per file or per line) and CSV or TSV (a document per record)."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial
from itertools import chain, islice
from typing import NoReturn

import numpy as np
import pyarrow as pa

from sparsetopics.base.errors import SourceError
from sparsetopics.base.wording import reason_of
from sparsetopics.corpora.readers.blocks import PendingBlock, TextBlock, overlong, text_block
from sparsetopics.corpora.readers.options import (
    Fields,
    ReadOptions,
    check_delimiter,
    delimiter_of,
    find_fields,
)
from sparsetopics.corpora.readers.records import (
    MOST_LINES,
    copy_fields,
    count_line_breaks,
    find_fields_of_records,
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
_MOST_COLUMNS = 1 << 16  # among which a quote that does not close is looked for
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
        pa.array([read_utf8(file.path, options.decoding) for file in files], pa.string()),
    )


def read_lines(files: Sequence[SourceFile], options: ReadOptions) -> Iterator[PendingBlock]:
    """Read each line as a document without id and label; empty lines are empty documents."""
    for file in files:
        for block in line_blocks(file.path, options.decoding):
            yield partial(_decode_lines, block)


def _decode_lines(block: LineBlock) -> TextBlock:
    texts = pa.array(block.data.decode().split("\n")[:-1], pa.string())
    nothing = pa.nulls(len(texts), pa.string())
    return TextBlock(nothing, nothing, texts)


def read_csv(files: Sequence[SourceFile], options: ReadOptions) -> Iterator[PendingBlock]:
    """Read records, which may span lines inside quotes and have as many fields as the header.

    Kernels read them; ``csv`` says what is wrong with the first odd record.
    """
    csv.field_size_limit(LONGEST_TEXT)  # the default is 128 KiB
    for file in files:
        with closing(line_blocks(file.path, options.decoding)) as lines:
            blocks = (block.data for block in lines)
            first = io.StringIO(next(blocks, b"").decode(), newline="")
            for header, n_lines in islice(csv_rows(first, file.path, 0), 1):
                if not {*options.text_fields}.issubset(header):
                    check_delimiter(header, file.path)
                fields = find_fields(header, options, str(file.path))
                rest = first.read().encode()
                yield from _read_records(file.path, fields, rest, blocks, n_lines)


def _read_records(
    path: Place, fields: Fields, rest: bytes, blocks: Iterator[bytes], n_lines: int
) -> Iterator[PendingBlock]:
    """The records in ``rest`` and ``blocks``, which follow after ``n_lines`` lines."""
    for block in chain([b""], blocks):
        rest += block
        found, n_read, n_lines_read, is_odd = _columns(path, fields, rest)
        if max(overlong(found.ids), overlong(found.labels)) >= 0:
            break
        if len(found.texts):
            yield partial(TextBlock, *found)
        n_lines += n_lines_read
        rest = rest[n_read:]
        if is_odd or len(rest) > LONGEST_TEXT:
            break
    if rest:
        _refuse(path, fields, text_lines(chain([rest], blocks)), n_lines)


def _columns(path: Place, fields: Fields, data: bytes) -> tuple[TextBlock, int, int, bool]:
    """The documents of whole records; how many bytes and lines they take, and whether an odd one
    follows."""
    text = np.frombuffer(bytearray(data), np.uint8)  # writable, so that kernels compile once
    rows = np.full(fields.n_columns, -1, np.int64)
    wanted = sorted(fields.wanted)
    rows[wanted] = range(len(wanted))
    n_lines = count_line_breaks(text)
    spans = np.empty((len(wanted), n_lines, 2), np.int32)
    delimiter = ord(delimiter_of(path))
    n_records, n_read, is_odd, _ = find_fields_of_records(text, delimiter, rows, spans)

    def column(field: int | None) -> pa.StringArray:
        if field is None:
            return pa.nulls(n_records, pa.string())
        copied = copy_fields(text, spans[rows[field], :n_records])
        return pa.StringArray.from_buffers(n_records, *map(pa.py_buffer, copied))

    n_left = count_line_breaks(text[n_read:])
    return fields.block(column), n_read, n_lines - n_left, is_odd or n_left > MOST_LINES


def _refuse(path: Place, fields: Fields, lines: Iterable[str], n_lines: int) -> NoReturn:
    """Raise the SourceError of the first odd record."""
    number = n_lines
    for record, number in csv_rows(lines, path, n_lines):
        where = f"{path}, line {number}"
        if record and len(record) != fields.n_columns:
            expected = f"{fields.n_columns} fields, as in the header"
            raise SourceError(where, f"expected {expected}, but found {len(record)}")
        if record:
            doc_id, label = (None if f is None else record[f] for f in fields[:2])
            text_block([(where, doc_id, label, "")], {})
    raise SourceError(f"{path}, line {number}", "not a CSV record", "Check the quotes.")


def text_lines(blocks: Iterable[bytes]) -> Iterator[str]:
    """Lines with their breaks, as ``csv`` wants them."""
    texts = (io.StringIO(data.decode(), newline="") for data in blocks)
    return chain.from_iterable(texts)


def csv_rows(lines: Iterable[str], path: Place, n_lines: int) -> Iterator[tuple[list[str], int]]:
    """The records after ``n_lines`` lines, each with the number of its last line.

    SourceError at the line where a quote opens that is not closed well.
    """
    delimiter = delimiter_of(path)
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
            yield record, n_lines + reader.line_num
            own.clear()
    except csv.Error as error:
        last = n_lines + reader.line_num
        first = last - len(own) + 1 + _n_lines_before_last_field("".join(own), delimiter)
        reason = reason_of(error) + (f" at line {last}" if first < last else "")
        hint = f"Check the quote that opens in line {first}."
        raise SourceError(f"{path}, line {first}", f"not a CSV record ({reason})", hint) from error


def _n_lines_before_last_field(record: str, delimiter: str) -> int:
    """The number of lines of a record that is not complete, before the field where it ends."""
    text = np.frombuffer(bytearray(record.encode()), np.uint8)
    rows, spans = np.full(_MOST_COLUMNS, -1, np.int64), np.empty((0, 0, 2), np.int32)
    *_, n_before = find_fields_of_records(text, ord(delimiter), rows, spans)
    return count_line_breaks(text[:n_before])
