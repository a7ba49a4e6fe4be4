"""JSON lines: one object per line, one document per object."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.json as pj

from sparsetopics.corpora.blocks import PendingBlock, TextBlock
from sparsetopics.corpora.byte_stream import LineBlock, line_blocks
from sparsetopics.corpora.fields import DEFAULT_ID_FIELD, DEFAULT_LABEL_FIELD, no_field
from sparsetopics.corpora.sources import ReadOptions, SourceFile
from sparsetopics.errors import SourceError
from sparsetopics.small_files import parse_json


def read_jsonl(files: Sequence[SourceFile], options: ReadOptions) -> Iterator[PendingBlock]:
    for file in files:
        for block in line_blocks(file.path, options.encoding_errors):
            yield partial(_decode, block, options)


def _decode(block: LineBlock, options: ReadOptions) -> TextBlock:
    """The documents of a block: by Arrow where the lines are regular, else one by one."""
    decoded = _decode_regular(block, options)
    return _decode_each(block, options) if decoded is None else decoded


def _decode_regular(block: LineBlock, options: ReadOptions) -> TextBlock | None:
    """All lines at once; None if any is not what the first one promises."""
    types = _field_types(block.data, options)
    if types is None:
        return None
    try:
        table = pj.read_json(
            pa.BufferReader(block.data),
            pj.ReadOptions(use_threads=False, block_size=len(block.data) + 1),
            pj.ParseOptions(
                explicit_schema=pa.schema(list(types.items())), unexpected_field_behavior="ignore"
            ),
        )
        table.validate(full=True)  # an escaped half of a surrogate pair gives bytes of no text
    except pa.ArrowInvalid:
        return None
    needed = [options.text_field, options.id_field, options.label_field]
    lacking = [f for f in needed if f and (f not in types or table[f].null_count)]
    if lacking or table.num_rows != block.data.count(b"\n"):
        return None
    return TextBlock(
        *(
            table[field].combine_chunks().cast(pa.string())
            if field in types
            else pa.nulls(table.num_rows, pa.string())
            for field in (_id_field(options), _label_field(options), options.text_field)
        )
    )


def _id_field(options: ReadOptions) -> str:
    return options.id_field or DEFAULT_ID_FIELD


def _label_field(options: ReadOptions) -> str:
    return options.label_field or DEFAULT_LABEL_FIELD


def _field_types(data: bytes, options: ReadOptions) -> dict[str, pa.DataType] | None:
    """Arrow types of the wanted fields by the first line; None if only a close look can tell."""
    try:
        first = parse_json(data[: data.index(b"\n")])
    except ValueError:
        return None
    if not isinstance(first, dict) or type(first.get(options.text_field)) is not str:
        return None
    types = {options.text_field: pa.string()}
    for field in (_id_field(options), _label_field(options)):
        if type(first.get(field)) in (str, int):
            types[field] = pa.string() if isinstance(first[field], str) else pa.int64()
        elif json.dumps(field).encode() in data:  # odd here, or first seen in a later line
            return None
    return types


def _decode_each(block: LineBlock, options: ReadOptions) -> TextBlock:
    """Line by line; raises SourceError at the first line that is no document."""
    rows = []
    for number, line in enumerate(block.data.split(b"\n"), start=block.first_line):
        if line.strip():
            rows.append(_decode_line(line, f"{block.source}, line {number}", options))
    columns = zip(*rows, strict=True) if rows else ((), (), ())
    return TextBlock(*(pa.array(column, pa.string()) for column in columns))


def _decode_line(
    line: bytes, where: str, options: ReadOptions
) -> tuple[str | None, str | None, str]:
    try:
        record = parse_json(line)
    except ValueError as error:
        raise SourceError(where, found=f"no JSON ({error})", wanted="one object a line") from error
    if not isinstance(record, dict):
        raise SourceError(where, found=f"JSON {_kind(record)}", wanted="an object")
    for field in (options.text_field, options.id_field, options.label_field):
        if field is not None and field not in record:
            raise no_field(field, list(record), where)
    text = record[options.text_field]
    if not isinstance(text, str):
        raise SourceError(
            where, found=f"{_kind(text)} in field {options.text_field!r}", wanted="a string"
        )
    doc_id = _name_of(record, _id_field(options), where, options)
    label = _name_of(record, _label_field(options), where, options)
    return doc_id, label, _encodable(text, where, options)


def _name_of(record: dict[str, Any], field: str, where: str, options: ReadOptions) -> str | None:
    """An id or label as text; null and a missing field are None."""
    value = record.get(field)
    if isinstance(value, dict | list):
        raise SourceError(
            where, found=f"{_kind(value)} in field {field!r}", wanted="a string or a number"
        )
    if value is None:
        return None
    return _encodable(value, where, options) if isinstance(value, str) else json.dumps(value)


def _encodable(text: str, where: str, options: ReadOptions) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        if options.encoding_errors == "replace":
            return text.encode(errors="replace").decode()
        raise SourceError(
            where,
            found="an escaped half of a surrogate pair",
            wanted="characters of Unicode",
            hint="Use --encoding-errors replace.",
        ) from error
    return text


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a string", bool: "a boolean"}
    return "null" if value is None else names.get(type(value), "a number")
