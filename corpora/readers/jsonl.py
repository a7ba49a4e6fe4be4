"""JSON lines, and JSON as programs write it: one document per object.

Programs write an array of objects, or objects one after the other, over lines.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

from sparsetopics.base.errors import SourceError
from sparsetopics.base.sealed_files import Json
from sparsetopics.base.wording import excerpt, reason_of
from sparsetopics.corpora.readers.blocks import (
    BETWEEN,
    Row,
    TextBlock,
    checked,
    joined,
    text_block,
    word_lists,
)
from sparsetopics.corpora.readers.fields import check_number_of_fields, unkept
from sparsetopics.corpora.readers.options import ReadOptions, kept_among, missing_field, no_text
from sparsetopics.corpora.readers.text_files import line_reader
from sparsetopics.corpora.sources.byte_stream import LineBlock, Place, check_length, line_blocks
from sparsetopics.corpora.sources.encodings import Decoding

# Floats as text differ between Arrow and json, but stand for the same numbers.
_ARROW_TYPES = {
    str: pa.string(),
    int: pa.int64(),
    float: pa.float64(),
    bool: pa.bool_(),
    type(None): pa.null(),  # Arrow refuses anything but null: first seen in a later line
}
_EXPONENTS = 1e10  # Arrow writes such floats with exponents; whole numbers have lost digits
_JSON_HINT = "If the file is an array, or if objects span several lines, use --format json."
_MISSING: dict[str, Json] = {}  # in place of a nested field
_TWICE: dict[str, Json] = {}  # in place of the values of a field that occurs twice
_FIRST_LINES = 100  # that are looked at for the types of fields


def decode(block: LineBlock, options: ReadOptions) -> TextBlock:
    """The documents of a block: by Arrow where the lines are regular, else one by one.

    A null or missing text is an empty document. If no object in the first block has the field,
    raises SourceError for a wrong name.
    """
    return _decode_regular(block, options) or _decode_each(block, options)


def _decode_regular(block: LineBlock, options: ReadOptions) -> TextBlock | None:
    """All lines at once; None if any differs in form from the first."""
    if (types := _field_types(block, options)) is None:
        return None
    unexpected = "error" if options.kept.is_all else "ignore"
    try:
        table = pj.read_json(
            pa.BufferReader(block.data),
            pj.ReadOptions(use_threads=False, block_size=len(block.data) + 1),
            pj.ParseOptions(
                explicit_schema=pa.schema(list(types.items())), unexpected_field_behavior=unexpected
            ),
        )
        table.validate(full=True)  # an escaped half of a surrogate pair gives bytes of no text
    except pa.ArrowInvalid:  # for example a field given twice
        return None
    lacking = [f for f in (options.id_field, options.label_field) if f and table[f].null_count]
    if lacking or table.num_rows != block.data.count(b"\n"):
        return None
    floats = [table[name] for name, kind in types.items() if kind == pa.float64()]
    if any((pc.max(pc.abs(column)).as_py() or 0) >= _EXPONENTS for column in floats):
        return None
    columns = {
        name: word_lists(column) if pa.types.is_list(column.type) else column.cast(pa.string())
        for name in types
        if (column := table[name].combine_chunks())
    }
    kept, _ = kept_among(list(types), options, block.source)
    ids, labels, *texts = (columns[name] for name in options.used)
    fields = {name: columns[name] for name in kept}
    return checked(TextBlock(ids, labels, joined(texts), fields, block.place), block.place)


def _field_types(block: LineBlock, options: ReadOptions) -> dict[str, pa.DataType] | None:
    """Arrow types of the wanted fields by the first lines; None if every line must be looked at."""
    n_lines = _FIRST_LINES if options.keep else 1
    lines = block.data.split(b"\n", n_lines)[:n_lines]
    try:
        records = [_record(line, block.source, options) for line in lines if line]
    except SourceError:  # which is raised again with the place
        return None
    first = records[0] if records else {}
    kept = _kept_types(records, options, block.source)
    texts = [first.get(name) for name in options.text_fields]
    words, *others = texts
    are_lists = not others and isinstance(words, list) and all(isinstance(w, str) for w in words)
    if kept is None or not (are_lists or all(isinstance(text, str) for text in texts)):
        return None
    text_type = pa.list_(pa.string()) if are_lists else pa.string()
    types = dict.fromkeys(options.text_fields, text_type)
    for field in options.used[:2]:
        kind = type(first.get(field))
        # Arrow refuses anything but null: odd here, or first seen in a later line.
        types[field] = _ARROW_TYPES[kind] if kind in (str, int) else pa.null()
    return types | kept


def _kept_types(
    records: Sequence[dict[str, Json]], options: ReadOptions, where: str
) -> dict[str, pa.DataType] | None:
    """Arrow types of the fields to keep by some records; None if Arrow cannot read them."""
    names = dict.fromkeys(name for record in records for name in record)
    kept, left_out = kept_among(list(names), options, where)
    if left_out or not names.keys() >= {*options.kept.named}:
        return None
    types = {}
    for name in kept:
        kinds = {type(record.get(name)) for record in records} - {type(None)}
        if kinds == {int, float}:
            kinds = {float}
        kind = kinds.pop() if kinds else type(None)
        if kinds or kind not in _ARROW_TYPES:
            return None
        types[name] = _ARROW_TYPES[kind]
    return types


def _decode_each(block: LineBlock, options: ReadOptions) -> TextBlock:
    """Line by line; raises SourceError at the first line that is no document."""
    rows: list[Row] = []
    kept: list[dict[str, str | None]] = []
    left_out: dict[str, str] = {}  # fields that some line cannot keep, and why
    misnamed: dict[str, SourceError] = {}  # the errors for fields that no line has
    for number, line in enumerate(block.data.split(b"\n")):
        if not line.strip():
            continue
        where = block.place(number)
        record = _record(line, where, options)
        _lift_in_place(record, (*options.used, *options.kept.named))
        if not rows:
            wanted = [(name, "text_field") for name in options.text_fields]
            wanted += [(name, "keep") for name in options.kept.named]
            misnamed = {n: missing_field(n, list(record), where, option) for n, option in wanted}
        misnamed = {name: error for name, error in misnamed.items() if name not in record}
        twice = [name for name, value in record.items() if value is _TWICE]
        names, odd = kept_among([*record, *twice], options, where)
        rows.append(_row(record, where, options))
        of_all = (name for name in names if name not in options.kept.types)
        nested = (name for name in of_all if isinstance(record[name], dict | list))
        left_out |= odd | dict.fromkeys(nested, "holds lists or objects")
        own = (name for name in names if name not in left_out)
        kept.append({name: _string_of(record, name, where, options) for name in own})
    if misnamed and block.first_line == 1:
        raise next(iter(misnamed.values()))
    fields = dict.fromkeys(name for values in kept for name in values if name not in left_out)
    check_number_of_fields(len(fields), block.source)
    found = text_block(rows, {name: [values.get(name) for values in kept] for name in fields})
    markers = {name: unkept(len(rows), why) for name, why in left_out.items()}
    return found._replace(fields={**found.fields, **markers})


def _record(line: bytes, where: str, options: ReadOptions) -> dict[str, Json]:
    """The object in a line; SourceError if there is none."""
    try:
        record: Json = _DECODER.decode(line.decode().rstrip())
    except json.JSONDecodeError as error:
        said = error.msg.removesuffix(" at").removesuffix(" starting")
        problem = f"not JSON ({said[0].lower()}{said[1:]})"
        hint = _JSON_HINT if error.pos >= len(error.doc) else ""
        *lines, before = error.doc[: error.pos].split("\r")  # of an object in a JSON file
        own_line = f", its line {len(lines) + 1}" if lines else ""
        raise SourceError(f"{where}{own_line}, column {len(before) + 1}", problem, hint) from error
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else reason_of(error)
        raise SourceError(where, f"not JSON ({reason})") from error
    if not isinstance(record, dict):
        problem = f"expected a JSON object, but found {_kind(record)}"
        raise SourceError(where, problem, f"Write one object per line. {_JSON_HINT}")
    return record


def _lift_in_place(record: dict[str, Json], names: Iterable[str]) -> None:
    """Add fields such as ``user.name`` that lie in other objects."""
    for name in names:
        if "." in name and name not in record:
            place: Json = record
            for part in name.split("."):
                if place is not _TWICE:
                    place = place.get(part, _MISSING) if isinstance(place, dict) else _MISSING
            if place is not _MISSING:
                record[name] = place


def _object(members: list[tuple[str, Json]]) -> dict[str, Json]:
    record = dict(members)
    if len(record) < len(members):
        counts = Counter(name for name, _ in members)
        record |= {name: _TWICE for name, count in counts.items() if count > 1}
    return record


_DECODER = json.JSONDecoder(object_pairs_hook=_object)


def _row(record: dict[str, Json], where: str, options: ReadOptions) -> Row:
    for field, option in ((options.id_field, "id_field"), (options.label_field, "label_field")):
        if field is not None and field not in record:
            raise missing_field(field, list(record), where, option)
    id_field, label_field, *text_fields = options.used
    texts = [_text_of(record, field, where, options) for field in text_fields]
    doc_id = _string_of(record, id_field, where, options)
    label = _string_of(record, label_field, where, options)
    text = BETWEEN.join(text for text in texts if text and isinstance(text, str)) or texts[0]
    return where, doc_id, label, text


def _text_of(
    record: dict[str, Json], field: str, where: str, options: ReadOptions
) -> str | list[str] | None:
    text, place = record.get(field), f"{where}, field {field!r}"
    if len(options.text_fields) == 1 and isinstance(text, list):
        if odd := [word for word in text if not isinstance(word, str | None)]:
            raise SourceError(place, f"expected words as strings, but found {_kind(odd[0])}")
        return [_encodable(word or "", place, options) for word in text]  # null is no word
    if text is not None and not isinstance(text, str):
        raise no_text(field, _kind(text), options, where)
    return None if text is None else _encodable(text, place, options)


def _string_of(record: dict[str, Json], field: str, where: str, options: ReadOptions) -> str | None:
    """The value of a field as a string; None for null and a missing field."""
    value = record.get(field)
    if isinstance(value, dict | list):
        expected = f"a string or a number in field {field!r}"
        raise SourceError(where, f"expected {expected}, but found {_kind(value)}")
    if not isinstance(value, str):
        return None if value is None else json.dumps(value)
    return _encodable(value, f"{where}, field {field!r}", options)


def _encodable(text: str, where: str, options: ReadOptions) -> str:
    repaired = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if repaired != text and options.encoding_errors != "replace":
        problem = "an escaped half of a surrogate pair is not a character"
        raise SourceError(where, problem, "Write both, or use --encoding-errors replace.")
    return repaired


def _kind(value: Json) -> str:
    names = {dict: "an object", list: "a list", str: "a string", bool: "a boolean"}
    return "null" if value is None else names.get(type(value), "a number")


read_jsonl = line_reader(decode)


# --- objects over several lines -------------------------------------------------------------------
# Strings, which may hold braces, and braces. A string that is cut off ends where the data do.
_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)|[{}]', re.DOTALL)
_LONGEST_SHOWN = 40  # characters
# What may stand before the first object, and what is expected after it.
_EXPECTED = {b"": "an object", b"[": "a comma and an object, or the end of the array"}


def object_blocks(path: Place, decoding: Decoding | None) -> Iterator[LineBlock]:
    """The objects of a file that are in no other as lines of JSON, in which ``\\r`` stands for the
    breaks of lines; SourceError for anything else beside them."""
    rest, line, n_objects = b"", 1, 0
    layout: bytes | None = None  # what stands before the first object
    for block in line_blocks(path, decoding, end=b"}"):
        data, objects, end = rest + block.data, [], 0
        for start, stop in _objects(data):
            between = data[end:start].strip()
            if layout is None and between in _EXPECTED:
                layout = between
            elif between != (b"," if layout else layout):
                raise _unexpected(data[end:], path, line + data.count(b"\n", 0, end), layout)
            one_line = data[start:stop].replace(b"\r\n", b"\r").replace(b"\n", b"\r")
            objects.append(one_line + b"\n")
            end = stop
        rest = data[end:]
        line += data.count(b"\n", 0, end)
        check_length(len(rest), path, "object")
        if objects:
            yield LineBlock(str(path), n_objects + 1, b"".join(objects), "object")
        n_objects += len(objects)
    if b"".join(rest.split()) not in ((b"", b"[]") if layout is None else (layout and b"]",)):
        raise _unexpected(rest, path, line, layout, at_end=True)


def _objects(data: bytes) -> Iterator[tuple[int, int]]:
    """Where each object that is in no other begins and ends."""
    depth = start = 0
    for token in _TOKEN.finditer(data):
        if token[0] == b"{":
            start = start if depth else token.start()
            depth += 1
        elif token[0] == b"}" and depth:
            depth -= 1
            if not depth:
                yield start, token.end()


def _unexpected(
    found: bytes, path: Place, line: int, layout: bytes | None, *, at_end: bool = False
) -> SourceError:
    """The error for what was ``found`` after the last object, from ``line`` on."""
    is_open = at_end and b"{" in found
    start = found.index(b"{" if is_open else found.strip()[:1])
    where = "{}, line {}".format(path, line + found.count(b"\n", 0, start))
    found = found.strip()
    if is_open or (at_end and layout != b"" and not found.strip(b"[,")):
        problem = f"the file ends before {'an object' if is_open else 'the array'} is closed"
        return SourceError(where, problem, "Copy or download it again.")
    expected = "an object or an array of objects" if layout is None else _EXPECTED[layout]
    shown = excerpt(found.decode(errors="replace"), _LONGEST_SHOWN)
    return SourceError(where, f"expected {expected}, but found {shown!r}")


read_json = line_reader(decode, object_blocks)
