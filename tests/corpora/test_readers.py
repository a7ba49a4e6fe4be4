"""Every text format gives the same documents, and says where it is broken."""

import csv
import gzip
import json
from itertools import chain

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparsetopics.base.errors import OptionError, SourceError
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.corpora.ingest import ingest
from sparsetopics.corpora.ingest_vectors import ingest_vectors
from sparsetopics.corpora.readers import jsonl as read_jsonl
from sparsetopics.corpora.readers.formats import find_collection
from sparsetopics.corpora.readers.options import ReadOptions
from sparsetopics.corpora.sources import byte_stream

IDS = ["a", "b", "c"]
TEXTS = ["First document,\nof two lines", "Zweites Dokument: süß", "third \U0001d54f"]
LABELS = ["x", None, "y"]


def read(sources, options=None, format_name=None):
    """``(doc_id, label, text)`` of every document, and its kept fields."""
    collection = find_collection(sources, format_name)
    rows = []
    for pending in collection.format.read(collection.files, options or ReadOptions()):
        block = pending()
        every = (column.to_pylist() for column in (*block[:3], *block.fields.values()))
        rows += zip(*every, strict=True)
    return rows


def outcome(path, options=None):
    """The documents of a file, or the error."""
    try:
        return read([path], options)
    except SourceError as error:
        return str(error)


def written(path, data):
    data = data if isinstance(data, bytes) else data.encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def jsonl(path):
    rows = zip(IDS, LABELS, TEXTS, strict=True)
    lines = [json.dumps({"id": i, "label": label, "text": text}) for i, label, text in rows]
    return written(path, "\n".join(lines))


def table():
    return pa.table({"id": IDS, "text": TEXTS, "label": pa.array(LABELS, pa.string())})


def parquet(path):
    pq.write_table(table(), path)
    return path


def ipc_file(path):
    feather.write_feather(table(), path)
    return path


def ipc_stream(path):
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, table().schema) as stream:
        stream.write_table(table())
    return path


def parquet_gz(path):
    return written(path, parquet(path.with_suffix("")).read_bytes())


@pytest.mark.parametrize(
    ("write", "name"),
    [
        (jsonl, "a.jsonl"),
        (jsonl, "a.ndjson.gz"),
        (parquet, "a.parquet"),
        (parquet_gz, "a.parquet.gz"),
        (ipc_file, "a.feather"),
        (ipc_stream, "a.arrow"),
    ],
)
def test_every_format_gives_the_same_documents(write, name, tmp_path):
    assert read([write(tmp_path / name)]) == list(zip(IDS, LABELS, TEXTS, strict=True))


@pytest.mark.parametrize(("name", "mark"), [("a.csv", ","), ("a.tsv", "\t"), ("a.csv.gz", ",")])
def test_csv_with_quotes_and_line_breaks(name, mark, tmp_path):
    rows = [["id", "text", "label"], ["1", '"two\nlines, ""quoted"""', "x"], [], ["2", "", ""]]
    path = written(tmp_path / name, "\r\n".join(mark.join(row) for row in rows))

    assert read([path]) == [("1", "x", 'two\nlines, "quoted"'), ("2", "", "")]


def test_named_fields(tmp_path):
    line = {"key": 7, "body": "words", "topic": "x", "text": "no", "id": "no"}
    path = written(tmp_path / "a.jsonl", json.dumps(line))

    assert read([path], ReadOptions("body", "key", "topic")) == [("7", "x", "words")]


def test_json_lines_need_not_be_alike(tmp_path):
    lines = [
        '{"text": "one"}',
        "",
        '{"id": 5, "text": "two", "label": null, "x": {"text": 1, "text": 2}, "x": 3}',
        '{"id": "six", "text": "\\u00e9", "label": 1.5, "extra": {"deep": [1]}}',
        '{"text": "four", "label": true}',
    ]
    path = written(tmp_path / "a.jsonl", "\n".join(lines))

    assert read([path]) == [
        (None, None, "one"),
        ("5", None, "two"),
        ("six", "1.5", "é"),
        (None, "true", "four"),
    ]


@pytest.mark.parametrize(
    "lines",
    [
        b'{"text": "a", "label": "x"}\n{"text": "b", "label": null}\n',
        b'{"text": "a"}\n{"text": "b", "id": 3}\n',
        b'{"text": "a", "id": 1}\n{"text": "b", "id": 1.5}\n{"text": "c", "id": 1.0}\n',
        b'{"text": "a", "id": 12345678901234567890}\n',
        b'{"text": "\\ud83d\\ude00 \\u0000"}\n{"text": "x"}\n',
        b'{"text": "a", "x": NaN}\n',
        b'{"text": "a"}\n{"text": "a", "x": 1, "x": 2}\n',
        b'{"text": "a"}\n{"text": null}\n{}\n{"text": "b"}\n',
    ],
)
def test_lines_read_at_once_are_as_lines_read_one_by_one(lines, tmp_path, monkeypatch):
    path = written(tmp_path / "a.jsonl", lines)
    at_once = read([path])

    monkeypatch.setattr(read_jsonl, "_decode_regular", lambda *_: None)

    assert read([path]) == at_once


JSON_KEYS = ['"text"', '"id"', '"label"', '"x"', '"\\u0069d"', '"te\\u0078t"', '"id" ']
JSON_VALUES = (
    r'"owl" "" "\ud83d\ude00" "\u0000" "\ud800" "\/" "é" "2024-01-01" 1 -0 1.5 1e3 01 NaN null true'
    r' 9223372036854775808 12345678901234567890 [1] {"text":1,"text":2} "\x"'
)
JSON_ENDS = [*[""] * 12, " ", "\r", "x", "{}", ","]


@st.composite
def json_lines(draw):
    """Lines that begin alike; some have one more member, or something behind them."""
    start = draw(st.sampled_from(['"text":"a"', '"id":1,"text":"a"', '"label":"b","text":""']))
    member = st.tuples(st.sampled_from(JSON_KEYS), st.sampled_from(JSON_VALUES.split(" ")))
    members = draw(st.lists(st.none() | member, min_size=1, max_size=4))
    inside = (f"{{{start}{',' + ':'.join(member) if member else ''}}}" for member in members)
    return "".join(f"{line}{draw(st.sampled_from(JSON_ENDS))}\n" for line in inside)


@settings(max_examples=150)
@given(lines=json_lines(), field=st.sampled_from([None, None, "id", "label"]))
def test_json_read_by_arrow_is_as_json_read_by_python(lines, field, tmp_path_factory):
    path = written(tmp_path_factory.mktemp("json") / "a.jsonl", lines)
    options = ReadOptions(id_field=field)
    by_arrow = outcome(path, options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(read_jsonl, "_decode_regular", lambda *_: None)

        assert outcome(path, options) == by_arrow


def test_an_id_may_be_spelled_with_an_escape(tmp_path):
    lines = '{"text": "one"}\n{"text": "two", "\\u0069d": 5}\n'

    assert read([written(tmp_path / "a.jsonl", lines)])[1] == ("5", None, "two")


def test_an_escaped_half_pair_is_refused_or_replaced(tmp_path):
    path = written(tmp_path / "a.jsonl", '{"text": "fine"}\n{"text": "half \\ud800"}\n')

    with pytest.raises(SourceError, match="line 2, field 'text': an escaped half"):
        read([path])
    assert read([path], ReadOptions(encoding_errors="replace"))[1] == (None, None, "half \ufffd")


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("not json", "not JSON"),
        (
            "[1, 2]",
            r"expected a JSON object, but found a list\. Write one .* use --format json\.$",
        ),
        ('{"text": "x}', r"not JSON \(unterminated string\)\.$"),
        (
            '{"text": 5}',
            "expected strings or lists of strings in field 'text', but found a number",
        ),
        (
            '{"text": {"a": 1, "a": 2}}',
            "expected strings or lists of strings in field 'text', but found an object",
        ),
        ('{"text": "x", "text": "y"}', "two fields are called 'text'"),
        ('{"text": null, "text": "y"}', "two fields are called 'text'"),
        ('{"text": "x", "id": 1, "\\u0069d": 1}', "two fields are called 'id'"),
        ('{"label": "x", "text": "x", "label": null}', "two fields are called 'label'"),
        (
            '{"text": "x", "label": ["y"]}',
            "expected .* a number in field 'label', but found a list",
        ),
        ('{"text": "x"} {"text": "y"}', "not JSON"),
    ],
)
@pytest.mark.parametrize("n_before", [0, 3])
def test_a_bad_json_line_is_named(tmp_path, line, problem, n_before, monkeypatch):
    monkeypatch.setattr(byte_stream, "BLOCK_BYTES", 40)  # the fourth line is in a later block
    path = written(tmp_path / "a.jsonl", '{"text": "fine"}\n' * n_before + line + "\n")

    with pytest.raises(SourceError, match=rf"line {n_before + 1}(, column \d+)?: {problem}"):
        read([path])


@pytest.mark.parametrize(
    ("lines", "found"),
    [('{"body": "x"}', "'body'"), ("\n{}\n{}", "none")],
)
def test_a_text_field_that_no_line_has_is_named(lines, found, tmp_path):
    path = written(tmp_path / "a.jsonl", lines)

    with pytest.raises(SourceError, match=rf"line \d: expected a field 'text', but found {found}"):
        read([path])


def nulls_of_table(path):
    texts = pa.table({"text": ["one word", None, "one"], "id": IDS})
    write = pq.write_table if path.suffix == ".parquet" else feather.write_feather
    write(texts, path)


WITHOUT_TEXT = {
    "a.csv": lambda path: written(path, "id,text\na,one word\nb,\nc,one\n"),
    "a.jsonl": lambda path: written(
        path,
        '{"id": "a", "text": "one word"}\n{"id": "b", "text": null}\n{"id": "c", "text": "one"}',
    ),
    "lacking.jsonl": lambda path: written(
        path, '{"id": "b"}\n{"id": "a", "text": "one word"}\n{"id": "c", "text": "one"}'
    ),
    "a.parquet": nulls_of_table,
    "a.feather": nulls_of_table,
}


@pytest.mark.parametrize("name", WITHOUT_TEXT)
def test_a_document_without_text_is_an_empty_one_in_every_format(name, tmp_path):
    WITHOUT_TEXT[name](tmp_path / name)

    summary = ingest([tmp_path / name], tmp_path / "corpus")

    assert (summary.n_documents, summary.n_skipped, summary.n_tokens) == (2, 1, 3)
    assert next(Corpus.open(tmp_path / "corpus").doc_ids()) == ["a", "c"]


@pytest.mark.filterwarnings("ignore:Skipped", "ignore:.*letters do not belong to any word")
def test_a_document_without_text_is_an_empty_one_in_memory():
    of_table = Corpus.from_table(pa.table({"text": ["one word", None, "one"]}))
    of_texts = Corpus.from_texts(["one word", None, "one"])

    for corpus in (of_table, of_texts):
        assert (corpus.n_docs, corpus.n_skipped, corpus.n_tokens) == (2, 1, 3)
    with pytest.raises(SourceError, match="no words in 2 documents"):
        Corpus.from_table(pa.table({"text": pa.nulls(2)}))


def two_columns(name):
    columns = {"text": "word", "id": "a", "label": "x"} | {"other": "y"}
    names = [*columns, name]
    return names, [columns[each] for each in names]


@pytest.mark.parametrize("field", ["text", "id", "label"])
@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.parquet", "a.arrows"])
def test_two_columns_of_one_name_are_refused_if_they_are_read(name, field, tmp_path):
    path = tmp_path / name
    for twice, refused in ((field, True), ("other", False)):
        names, row = two_columns(twice)
        table = pa.Table.from_arrays([pa.array([value]) for value in row], names)
        if path.suffix == ".parquet":
            pq.write_table(table, path)
        elif path.suffix == ".arrows":
            with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as out:
                out.write_table(table)
        else:
            mark = "\t" if path.suffix == ".tsv" else ","
            written(path, f"{mark.join(names)}\n{mark.join(row)}\n")
        if refused:
            with pytest.raises(SourceError, match=f"{name}: two fields are called '{field}'"):
                read([path])
        else:
            assert read([path]) == [("a", "x", "word")]


def test_a_field_that_was_named_must_be_there(tmp_path):
    path = written(tmp_path / "a.jsonl", '{"text": "x", "key": 1}\n{"text": "x"}\n')

    with pytest.raises(SourceError, match="line 2: expected a field 'key', but found 'text'"):
        read([path], ReadOptions(id_field="key"))


def test_text_files_and_folders(tmp_path):
    folder = tmp_path / "docs"
    (folder / "sub").mkdir(parents=True)
    (folder / ".hidden").mkdir()
    written(folder / "b.txt", "two")
    written(folder / "sub" / "a.txt.gz", "one\r\n")
    written(folder / ".hidden" / "x.txt", "no")
    written(folder / "notes.md", "no")

    assert read([folder]) == [("b.txt", None, "two"), ("sub/a.txt.gz", "sub", "one\r\n")]
    assert read([folder / "*.txt"]) == [("b.txt", None, "two")]
    assert read([folder / "**" / "*.gz"]) == [("a.txt.gz", None, "one\r\n")]


def test_a_folder_of_files_without_extension_needs_a_format(tmp_path):
    written(tmp_path / "49960", "a post")

    with pytest.raises(SourceError, match="none of 1 file has a known format"):
        read([tmp_path])
    assert read([tmp_path], format_name="text") == [("49960", None, "a post")]


def test_lines_are_documents(tmp_path, monkeypatch):
    monkeypatch.setattr(byte_stream, "BLOCK_BYTES", 5)
    path = written(tmp_path / "a.cor", "one two\n\nthree\u2028four\nfive")

    texts = [text for _, _, text in read([path], format_name="lines")]

    assert texts == ["one two", "", "three\u2028four", "five"]


def test_running_numbers_go_on_through_blocks_and_files(tmp_path, monkeypatch):
    monkeypatch.setattr(byte_stream, "BLOCK_BYTES", 5)
    for name in ("a.lines", "b.lines.gz"):
        written(tmp_path / name, "some words\nmore words\n\nlast words\n")

    ingest([tmp_path / "*.lines*"], tmp_path / "corpus")

    (doc_ids,) = Corpus.open(tmp_path / "corpus").doc_ids()
    assert doc_ids == ["0", "1", "3", "4", "5", "7"]


def test_a_byte_order_mark_is_no_text(tmp_path):
    assert read([written(tmp_path / "a.txt", b"\xef\xbb\xbfword")])[0][2] == "word"
    assert read([written(tmp_path / "a.csv", b"\xef\xbb\xbftext\nword")])[0][2] == "word"


BAD_LINES = {
    "a.jsonl": b'{"text": "fine"}\n{"text": "caf\xe9"}\n',
    "a.csv": b"text\ncaf\xe9\n",
    "a.txt": b"fine\ncaf\xe9\n",
    "a.lines.gz": b"fine\ncaf\xe9\n",
}


@pytest.mark.parametrize("name", BAD_LINES)
def test_bytes_that_are_not_utf8(name, tmp_path):
    path = written(tmp_path / name, BAD_LINES[name])

    with pytest.raises(
        SourceError,
        match=r"line 2: expected UTF-8 text, but found byte 0xe9.*--encoding-errors replace",
    ):
        read([path])
    assert read([path], ReadOptions(encoding_errors="replace"))[-1][2].rstrip()[-4:] == "caf\ufffd"


def test_a_parquet_string_that_is_not_utf8(tmp_path):
    texts = pa.array([b"fine", None, b"caf\xe9"], pa.binary()).view(pa.string())
    pq.write_table(pa.table({"text": texts}), tmp_path / "a.parquet")

    with pytest.raises(SourceError, match="row 2, field 'text': byte 0xe9 is not UTF-8"):
        read([tmp_path / "a.parquet"])
    rows = read([tmp_path / "a.parquet"], ReadOptions(encoding_errors="replace"))
    assert [text for _, _, text in rows] == ["fine", None, "caf\ufffd"]


def test_other_string_types_of_arrow(tmp_path):
    texts = pa.array(["one", "two", "one"]).dictionary_encode()
    pq.write_table(pa.table({"text": texts, "id": [1, 2, 3]}), tmp_path / "a.parquet")

    assert read([tmp_path / "a.parquet"]) == [
        ("1", None, "one"),
        ("2", None, "two"),
        ("3", None, "one"),
    ]


def test_a_column_that_is_no_text(tmp_path):
    pq.write_table(pa.table({"text": [1, 2]}), tmp_path / "a.parquet")

    expected = "expected strings or lists of strings in field 'text', but found numbers"
    with pytest.raises(SourceError, match=expected):
        read([tmp_path / "a.parquet"])


@pytest.mark.parametrize("name", ["a.csv", "a.parquet", "a.arrow"])
def test_a_missing_column_is_named(name, tmp_path):
    writers = {"a.csv": lambda p: written(p, "id,body\n1,x\n"), "a.parquet": parquet}
    path = writers.get(name, ipc_stream)(tmp_path / name)

    with pytest.raises(SourceError, match="expected a field 'content'"):
        read([path], ReadOptions("content"))


@pytest.mark.parametrize(
    ("record", "problem"),
    [
        ("1,x,y", "line 3: expected 2 fields, as in the header, but found 3"),
        ("1", "line 3: expected 2 fields, as in the header, but found 1"),
        ('1,"open', r"line 3: not a CSV record \(unexpected end of data"),
        ('1,"x"y', r"line 3: not a CSV record \(',' expected"),
        ('1,"o\n\np', r"line 3: not a CSV record \(unexpected end of data at line 5\)"),
        ('"1\n2","o\np', r"line 4: not a CSV record \(unexpected end of data at line 5\)"),
        ('1,"o\r\np\rq"r', r"line 3: not a CSV record \(',' expected .* at line 5\)\. Check the"),
        ('1,"o\np",q', r"line 3: expected 2 fields, as in the header, but found 3"),
        (f'1,"{"o" * 9}{"NL" * 1_000}"', r"line 3: not a CSV record \(more than 1,000 lines at"),
        (f'1,"{"NL" * 9_000}', r"line 3: not a CSV record \(more than 1,000 lines at line 1002\)"),
        (f'"{"NL" * 500}",{"o" * 9}\n2,"{"NL" * 998}"\n3,"', r"line 1503: .* \(unexpected end"),
    ],
)
def test_a_bad_csv_record_is_named(record, problem, tmp_path):
    record = record.replace("NL", "\n")
    path = written(tmp_path / "a.csv", f"id,text\n0,fine\n{record}\n")

    with pytest.raises(SourceError, match=problem):
        read([path])


def test_a_record_may_have_a_thousand_lines(tmp_path, monkeypatch):
    monkeypatch.setattr(byte_stream, "BLOCK_BYTES", 100)  # most of its lines are in later blocks
    text = "\n" * 999
    path = written(tmp_path / "a.csv", f'id,text\n0,"{text}"\n1,"{text}"\n')

    assert read([path]) == [("0", None, text), ("1", None, text)]


def test_csv_blocks_lose_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(byte_stream, "BLOCK_BYTES", 30)
    rows = [f"{n},{'word ' * n}" for n in range(20)]
    path = written(tmp_path / "a.csv", "\n".join(["id,text", *rows]))

    assert [doc_id for doc_id, _, _ in read([path])] == [str(n) for n in range(20)]


CSV_PIECES = ["id", "text", "wörd", ",", ",", '"', '""', "\n", "\r", "\r\n", "\a", " ", "\t"]


@given(
    header=st.sampled_from(["id,text\n", '"text",x,label\r\n', "text\r", "x,id,label\n", "\n"]),
    pieces=st.lists(st.sampled_from(CSV_PIECES), max_size=24),
    block_bytes=st.integers(4, 40),
)
def test_csv_read_by_kernels_is_as_csv_read_by_python(
    header, pieces, block_bytes, tmp_path_factory
):
    path = written(tmp_path_factory.mktemp("csv") / "a.csv", header + "".join(pieces))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(byte_stream, "BLOCK_BYTES", block_bytes)
        by_kernels = outcome(path, ReadOptions(keep=("all",)))

    assert isinstance(by_kernels, str) or by_kernels == by_python(path)
    assert isinstance(by_kernels, list) or by_python(path) is None


def by_python(path):
    """The documents of a CSV file as ``csv`` reads them; None if they are no such file."""
    data = path.read_bytes()
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.reader(chain(file, [] if data[-1:] == b"\n" else ["\n"]), strict=True)
        try:
            header, *rows = [*filter(None, reader)] or [["text"]]
        except (csv.Error, ValueError):
            return None
    if "text" not in header or any(len(row) != len(header) for row in rows):
        return None
    found = [{"id": None, "label": None} | dict(zip(header, row, strict=True)) for row in rows]
    others = [name for name in header if name not in ("id", "label", "text")]
    return [(r["id"], r["label"], r["text"], *(r[name] for name in others)) for r in found]


@pytest.mark.parametrize("name", ["a.jsonl.gz", "a.csv.gz", "a.txt.gz", "a.parquet.gz"])
@pytest.mark.parametrize("damage", ["cut", "flip", "other"])
def test_a_damaged_gzip_file_is_named(name, damage, tmp_path):
    path = written(tmp_path / name, '{"text": "some words"}\n' * 500)
    data = bytearray(path.read_bytes())
    if damage == "flip":
        data[-6] ^= 1  # in the checksum
    path.write_bytes({"cut": data[:-20], "flip": data, "other": b"plain"}[damage])

    with pytest.raises(SourceError, match=rf"{name}: damaged or truncated gzip data"):
        read([path])


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow", "a.feather"])
def test_a_truncated_table_is_named(name, tmp_path):
    path = {"a.parquet": parquet, "a.arrow": ipc_stream}.get(name, ipc_file)(tmp_path / name)
    path.write_bytes(path.read_bytes()[:-30])

    with pytest.raises(SourceError, match=f"{name}: not a valid Parquet or Arrow IPC file"):
        read([path])


@pytest.mark.parametrize("text", [pa.string(), pa.large_string(), "dictionary"])
def test_a_table_whose_offsets_lead_nowhere_is_named(text, tmp_path):
    """Arrow would read there without a look."""
    offsets = pa.array([0, 4, 2_000_000_000, 8], pa.int64() if text == pa.large_string() else None)
    if text != pa.large_string():
        offsets = offsets.cast(pa.int32())
    buffers = [None, offsets.buffers()[1], pa.py_buffer(b"fourfour")]
    kind = pa.string() if text == "dictionary" else text
    column = pa.Array.from_buffers(kind, 3, buffers)
    if text == "dictionary":
        column = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2]), column)
    with pa.OSFile(str(tmp_path / "a.arrows"), "wb") as sink:
        table = pa.record_batch([column], names=["text"])
        with pa.ipc.new_stream(sink, table.schema) as stream:
            stream.write_batch(table)

    with pytest.raises(SourceError, match=r"a\.arrows: .*column 'text' is damaged\)"):
        read([tmp_path / "a.arrows"])


def test_names_of_columns_that_are_no_text(tmp_path):
    path = ipc_stream(tmp_path / "a.arrows")
    path.write_bytes(path.read_bytes().replace(b"label", b"lab\xffl"))

    with pytest.raises(SourceError, match="names of columns are not UTF-8"):
        read([path])


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.txt", "a.lines", "a.jsonl.gz"])
def test_an_empty_file_holds_no_documents(name, tmp_path):
    path = written(tmp_path / name, b"")

    with pytest.raises(SourceError, match=r"no words in|no documents"):
        ingest([path], tmp_path / "corpus")
    assert not (tmp_path / "corpus").exists()


def test_an_empty_folder(tmp_path):
    with pytest.raises(SourceError, match="holds no files"):
        read([tmp_path])


def test_a_missing_path(tmp_path):
    with pytest.raises(SourceError, match=r"gone.jsonl: no file or folder has this name"):
        read([tmp_path / "gone.jsonl"])


def test_no_source_at_all():
    with pytest.raises(SourceError, match="sources: expected at least one"):
        read([])


def test_an_unknown_extension_lists_the_known_ones(tmp_path):
    with pytest.raises(
        SourceError,
        match=r"a\.xyz: \.xyz is not a known format of documents\. Convert it, or name its format "
        r"with --format: text, lines, mallet, jsonl, .*uci\.$",
    ):
        read([written(tmp_path / "a.xyz", "x")])
    with pytest.raises(SourceError, match=r"the file name has no extension.* Name the format with"):
        read([written(tmp_path / "a", "x")])


def test_an_unknown_format_lists_the_known_ones(tmp_path):
    with pytest.raises(OptionError, match=r"must be one of text, lines, mallet, .*, but is 'owls'"):
        read([written(tmp_path / "a.txt", "x")], format_name="owls")


def test_files_of_two_formats_are_refused(tmp_path):
    paths = [written(tmp_path / "a.txt", "x"), jsonl(tmp_path / "b.jsonl")]

    with pytest.raises(SourceError, match=r"has format jsonl, but .* has format text"):
        read(paths)


def test_a_wrong_error_policy_is_refused():
    with pytest.raises(OptionError, match="must be one of strict, replace"):
        ReadOptions(encoding_errors="ignore")


@pytest.mark.parametrize(
    ("options", "option"),
    [
        (ReadOptions("gone"), "--text-field"),
        (ReadOptions(id_field="gone"), "--id-field"),
        (ReadOptions(label_field="gone"), "--label-field"),
    ],
)
@pytest.mark.parametrize("name", ["a.csv", "a.jsonl"])
def test_the_hint_names_the_option_of_the_missing_field(name, options, option, tmp_path):
    text = "text\nowl\n" if name == "a.csv" else '{"text": "owl"}\n'

    more = "( If the file has no header, name its columns with --header.)?"
    with pytest.raises(SourceError, match=rf"'text'\. Name another with {option}\.{more}$"):
        read([written(tmp_path / name, text)], options)


@pytest.mark.parametrize(
    ("option", "line"),
    [("text", "text,text"), ("id", "text,id,id"), ("label", "text,label,label")],
)
def test_the_hint_names_the_option_of_a_repeated_field(option, line, tmp_path):
    with pytest.raises(SourceError, match=rf"name another with --{option}-field\.$"):
        read([written(tmp_path / "a.csv", f"{line}\n")])


@pytest.mark.parametrize(
    ("name", "header", "found"),
    [
        ("a.csv", "id;text", r"separated by ',', but found ';'\. Use --delimiter ';'"),
        ("a.csv", "id\ttext", r"separated by ',', but found tabs\. Use --delimiter tab"),
        ("a.tsv", "id,text", r"separated by tabs, but found ','\. Use --delimiter ','"),
    ],
)
def test_columns_that_are_separated_otherwise(name, header, found, tmp_path):
    path = written(tmp_path / name, f"{header}\n1{header[2]}owl\n")

    with pytest.raises(SourceError, match=f"expected columns {found}"):
        read([path])
    with pytest.raises(SourceError, match=f"expected columns {found}"):
        ingest_vectors([path], tmp_path / "out")
    assert read([path], ReadOptions(f'"{header}"')) == [(None, None, f"1{header[2]}owl")]


def test_long_names_of_fields_are_cut(tmp_path):
    path = written(tmp_path / "a.csv", f"{'long ' * 100},b\n1,2\n")

    with pytest.raises(SourceError, match=r"found 'long long.{31}', 'b'"):
        read([path])
