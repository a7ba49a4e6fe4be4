"""Files as people have them: other delimiters, no header, MALLET's lines, JSON over lines, nested
fields, text as bytes, packed by bzip2, workbooks; and files that are none of these."""

import bz2
import json
import pickle
import sys
import zipfile
from datetime import datetime
from itertools import chain

import gensim
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from sparsetopics import Corpus
from sparsetopics.base.errors import OptionError, SourceError, SparsetopicsWarning
from sparsetopics.cli.main import main
from sparsetopics.corpora.corpus import VectorCorpus
from sparsetopics.corpora.ingest import IngestOptions, ingest
from sparsetopics.corpora.ingest_vectors import VectorOptions, ingest_vectors
from sparsetopics.corpora.readers.formats import find_collection, kind_of_sources, place_of
from sparsetopics.corpora.readers.options import ReadOptions, VectorReadOptions
from sparsetopics.corpora.sources import byte_stream
from sparsetopics.options.workplace import Workplace
from worlds.workbooks import workbook

TEXTS = ["owls hunt, and mice hide", 'a "quiet" river', "fish; frogs | newts"]
ROWS = [(f"d{n}", "ab"[n % 2], text) for n, text in enumerate(TEXTS)]
NAMES = ("id", "label", "text")
OBJECTS = [dict(zip(NAMES, row, strict=True)) for row in ROWS]


def read(path, format_name=None, **options):
    """``(id, label, text)`` of each document and its kept fields."""
    read_options = ReadOptions(**options)
    collection = find_collection([path], format_name, read_options)
    rows = []
    for pending in collection.read(read_options):
        block = pending()
        every = (column.to_pylist() for column in (*block[:3], *block.fields.values()))
        rows += zip(*every, strict=True)
    return rows


def refused(path, *arguments, **options):
    with pytest.raises(SourceError) as caught:
        read(path, *arguments, **options)
    return str(caught.value)


def written(path, text):
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def table(delimiter, rows=(NAMES, *ROWS), before=""):
    """Rows as CSV writes them, each value in quotes."""
    lines = [delimiter.join('"' + v.replace('"', '""') + '"' for v in row) for row in rows]
    return before + "".join(f"{line}\n" for line in lines)


def said(*words, status=0):
    result = CliRunner().invoke(main, [str(word) for word in words])
    assert result.exit_code == status, result.output
    return result.stderr


# --- delimiters -----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("name", "delimiter"), [("a.tab", "\t"), ("a.tsv", "\t"), ("a.psv", "|"), ("a.CSV", ",")]
)
def test_the_extension_tells_the_delimiter(tmp_path, name, delimiter):
    assert read(written(tmp_path / name, table(delimiter))) == ROWS


@pytest.mark.parametrize(
    ("given", "delimiter"), [(";", ";"), ("|", "|"), ("tab", "\t"), (r"\t", "\t"), ("^", "^")]
)
def test_a_delimiter_can_be_given(tmp_path, given, delimiter):
    path = written(tmp_path / "a.csv", table(delimiter))

    assert read(path, delimiter=given) == ROWS
    assert Corpus.open(ingested(path, "--delimiter", given)).n_docs == 3


def ingested(path, *words, out="made"):
    """The corpus that the command makes beside a file."""
    said("ingest", path, "--out", path.parent / out, "--overwrite", *words)
    return path.parent / out


@pytest.mark.parametrize("line", ["sep=;\n", "sep=;\r\n", '"sep=;"\n', "SEP=;\n", "\ufeffsep=;\n"])
def test_a_first_line_may_tell_the_delimiter(tmp_path, line):
    path = written(tmp_path / "a.csv", table(";", before=line))

    assert read(path) == ROWS
    place = place_of(1, find_collection([path], None), ReadOptions())
    assert place == f"{path}, line 4"


def test_a_wrong_delimiter_is_told_with_the_option(tmp_path):
    path = written(tmp_path / "a.csv", "id|text\n1|owl\n")

    assert refused(path) == f"{path}: expected columns separated by ',', but found '|'. " + (
        "Use --delimiter '|'."
    )


@pytest.mark.parametrize("value", ["", ";;", "a", '"', "\n", "é"])
def test_what_cannot_separate_columns_is_refused(value):
    with pytest.raises(OptionError, match=r"^delimiter: must be a character such as"):
        ReadOptions(delimiter=value)


def test_vectors_take_delimiters_and_names_too(tmp_path):
    for before, options in (("sep=;\nx;y\n", {}), ("", {"delimiter": ";", "header": ("x", "y")})):
        path = written(tmp_path / "a.csv", before + "1;2\n3;4.5\n")
        options = VectorOptions(read=VectorReadOptions(**options), overwrite=True)
        ingest_vectors([path], tmp_path / "v", options)

        corpus = VectorCorpus.open(tmp_path / "v")

        assert corpus.columns == ("x", "y")
        assert corpus.row_groups[0].read().values.tolist() == [[1, 2], [3, 4.5]]


# --- no header ------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["a.csv", "a.tsv"])
def test_columns_can_be_named(tmp_path, name):
    path = written(tmp_path / name, table("\t" if name == "a.tsv" else ",", ROWS))

    assert read(path, header=NAMES) == ROWS
    assert place_of(2, find_collection([path], None), ReadOptions(header=NAMES)).endswith("line 3")
    corpus = Corpus.open(ingested(path, "--header", "id,label,text"))
    assert [*chain.from_iterable(corpus.ids())] == ["d0", "d1", "d2"]


def test_names_come_from_a_config_file(tmp_path):
    path = written(tmp_path / "a.csv", table(";", ROWS))
    written(tmp_path / "o.toml", 'header = "id,label,text"\ndelimiter = ";"\n')

    assert Corpus.open(ingested(path, "--config", tmp_path / "o.toml")).n_docs == 3


def test_without_a_header_the_error_tells_the_option(tmp_path):
    path = written(tmp_path / "a.csv", table(",", ROWS))

    assert refused(path).endswith("If the file has no header, name its columns with --header.")


def test_a_record_with_more_fields_than_names_is_refused(tmp_path):
    path = written(tmp_path / "a.csv", table(",", ROWS))

    said = refused(path, header=("label", "text"))
    assert "line 1: expected 2 fields, as in --header, but found 3." in said


@pytest.mark.parametrize("name", ["a.csv", "a.xlsx"])
def test_a_header_that_the_file_has_already_is_refused(tmp_path, name):
    if name == "a.xlsx":
        pytest.importorskip("openpyxl")
    rows = [NAMES, *ROWS]
    path = written(tmp_path / name, table(",") if name == "a.csv" else workbook(rows))

    assert "the row repeats the names given by --header. " in refused(path, header=NAMES)


def test_lines_before_the_header_may_be_blank(tmp_path):
    path = written(tmp_path / "a.csv", table(",", before="\n\r\n"))

    assert read(path) == ROWS
    assert place_of(0, find_collection([path], None), ReadOptions()) == f"{path}, line 4"


@pytest.mark.parametrize("name", ["a, b", " text"])
def test_names_that_need_quotes_get_a_hint(tmp_path, name):
    path = written(tmp_path / "a.csv", table(",", [("text", name), ("owl", "cat")]))

    for options in ({"text_field": f"{name.strip()}!"}, {"keep": ("c",)}):
        said = refused(path, **options)
        assert "Write names with commas, or with spaces around them, in quotes: '\"a, b\"'." in said
    assert read(path, keep=(name,))[0][3] == "cat"


def test_names_are_for_tables(tmp_path):
    path = written(tmp_path / "a.jsonl", '{"text": "owl"}\n')

    with pytest.raises(OptionError, match=r"^header: is for csv or xlsx, but the format is "):
        read(path, header=NAMES)


# --- MALLET's lines -------------------------------------------------------------------------------
def labelled(n_lines=12):
    return "".join(f"doc{n}\ten  {TEXTS[n % 3]}\n" for n in range(n_lines))


def test_lines_of_mallet_have_ids_and_labels(tmp_path):
    lines = labelled(3) + "\nlast en\n"
    path = written(tmp_path / "a.txt", lines)

    rows = read(path, "mallet")

    returns = written(tmp_path / "b.txt", lines.replace("\n", "\r\n"))
    assert read(returns, "mallet") == rows
    assert [text for *_, text in read(returns, "lines")] == lines.splitlines()

    assert rows == [*((f"doc{n}", "en", TEXTS[n]) for n in range(3)), ("last", "en", None)]
    assert place_of(3, find_collection([path], "mallet"), ReadOptions()) == f"{path}, line 5"


def test_ids_of_mallet_may_not_repeat(tmp_path):
    path = written(tmp_path / "a.txt", "a en owl\na en cat\n")

    with pytest.raises(SourceError, match=r"line 2: the id 'a' is also that of .*line 1"):
        ingest([path], tmp_path / "c", IngestOptions(format="mallet"))


@pytest.mark.parametrize("name", ["a.txt", "a.lines"])
def test_lines_of_mallet_are_recognised(tmp_path, name):
    path = written(tmp_path / name, labelled())

    assert (
        f"{path}: each line seems to begin with an id and a label. If so, use --format mallet.\n"
        in (said("ingest", path, "--out", tmp_path / "c"))
    )
    assert "mallet" not in said("ingest", path, "--out", tmp_path / "d", "--format", "mallet")[:-60]


# --- one document a line --------------------------------------------------------------------------
LONG = "The river bank was quiet all day, " * 20


def test_long_lines_are_seen_as_documents(tmp_path):
    path = written(tmp_path / "a.txt", f"{LONG}\n" * 12)

    told = "each file is one document. If each line is a document, use --format lines.\n"
    assert f"{path}: {told}" in said("ingest", path, "--out", tmp_path / "c")


def test_paragraphs_of_one_file_are_not_told(tmp_path):
    path = written(tmp_path / "a.txt", f"{LONG}\n\n" * 12)

    assert "--format lines" not in said("ingest", path, "--out", tmp_path / "c")


@pytest.mark.parametrize(
    ("content", "is_told"),
    [
        (f"{LONG}\n" * 12, True),
        ("The river bank\nwas quiet all day.\n" * 12, False),  # wrapped
        (f"{LONG}\n\n" * 12, False),  # paragraphs
        (f"{LONG}\n" * 3, False),  # few
    ],
)
def test_a_folder_of_files_with_long_lines_is_told(tmp_path, content, is_told):
    folder = tmp_path / "in"
    folder.mkdir()
    for name in "abc":
        written(folder / f"{name}.txt", content)

    lines = said("ingest", folder, "--out", tmp_path / "c")

    told = f"{folder / 'a.txt'} and 2 more files: each file is one document. If each line is a"
    assert (told in lines) == is_told


# --- JSON -----------------------------------------------------------------------------------------
LAYOUTS = {
    "array": json.dumps(OBJECTS),
    "pretty array": json.dumps(OBJECTS, indent=2),
    "pretty objects": "\n".join(json.dumps(row, indent=4) for row in OBJECTS),
    "objects": "".join(map(json.dumps, OBJECTS)),
    "lines": "\r\n".join(map(json.dumps, OBJECTS)),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("size", [7, 64, 1 << 20])
def test_json_is_read_as_it_is(tmp_path, monkeypatch, layout, size):
    monkeypatch.setattr(byte_stream, "BLOCK_BYTES", size)
    path = written(tmp_path / "a.json", LAYOUTS[layout])

    assert read(path) == ROWS
    assert read(written(tmp_path / "a.data", LAYOUTS[layout]), "json") == ROWS


def test_braces_and_quotes_in_strings_are_no_objects(tmp_path):
    texts = ['{"text": "no"}', 'a \\" } [', "\\", "\n{\n"]
    path = written(tmp_path / "a.json", json.dumps([{"text": text} for text in texts], indent=1))

    assert [text for _, _, text in read(path)] == texts


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('[\n{"text": "a"}\n', "line 2: the file ends before the array is closed."),
        ("[\n", "line 1: the file ends before the array is closed."),
        ('[{"text": "a"},\n{"text": "b"', "line 2: the file ends before an object is closed."),
        ('[{"text": "a"}\n{"text": "b"}]', 'line 2: {next}, but found \'{{"text"'),
        ('[{"text": "a"},,\n {"text": "b"}]', 'line 1: {next}, but found \',, {{"text"'),
        ('[{"text": "a"},\n]', "line 1: {next}, but found ', ]'"),
        ('[{"text": "a"},\n "b c"]', "line 1: {next}, but found ', \"b c\"]'"),
        ('[,{"text": "a"}]', "line 1: expected an object or an array of objects, but found '[,{{"),
        ("\n[1, 2]", "line 2: expected an object or an array of objects, but found '[1, 2]'"),
        ('{"text": "a"}\n]', "line 2: expected an object, but found ']'"),
        ('{"text": "a"}\nx {"text": "b"}', "line 2: expected an object, but found 'x {{"),
        ('{"text": "a"}, {"text": "b"}', "line 1: expected an object, but found ', {{"),
        ('[{"text": "a"}, {"text": b}]', "object 2, column 10: not JSON (expecting value)"),
        ('{\r\n"text":\r\n b}', "object 1, its line 3, column 2: not JSON (expecting value)"),
        ('[{"text": "a"}, {"text": 3}]', "object 2: expected"),
    ],
)
@pytest.mark.parametrize("size", [3, 1 << 20])
def test_json_that_is_not_whole_is_refused(tmp_path, monkeypatch, content, message, size):
    path = written(tmp_path / "a.json", content)
    monkeypatch.setattr(byte_stream, "BLOCK_BYTES", size)

    what = "expected a comma and an object, or the end of the array"
    assert refused(path).startswith(f"{path}, {message.format(next=what)}")


def test_json_lines_over_several_lines_get_a_hint(tmp_path):
    for layout in ("pretty array", "pretty objects", "array"):
        path = written(tmp_path / "a.jsonl", LAYOUTS[layout])

        assert refused(path).endswith(
            "If the file is an array, or if objects span several lines, use --format json."
        )


def test_an_object_is_found_again(tmp_path):
    path = written(tmp_path / "a.json", LAYOUTS["pretty array"])

    assert place_of(2, find_collection([path], None), ReadOptions()) == f"{path}, object 3"


def test_settings_beside_documents_are_left_out(tmp_path):
    written(tmp_path / "a.txt", "owl and cat")
    written(tmp_path / "settings.json", "{}")

    collection = find_collection([tmp_path], None)

    assert [file.name for file in collection.files] == ["a.txt"]
    assert collection.account.left_out[0].names == ("settings.json",)


def test_settings_beside_vectors_make_no_documents(tmp_path):
    np.save(tmp_path / "a.npy", np.eye(3))
    written(tmp_path / "settings.json", "{}")

    assert kind_of_sources([tmp_path], None, wants_vectors=False) == "vectors"
    assert kind_of_sources([tmp_path], "json", wants_vectors=False) == "documents"


# --- nested fields --------------------------------------------------------------------------------
NESTED = [
    {"meta": {"id": row[0], "more": {"label": row[1]}}, "post": {"body": row[2]}} for row in ROWS
]
WHERE = {"id_field": "meta.id", "label_field": "meta.more.label", "text_field": "post.body"}


def nested(path):
    lines = "".join(f"{json.dumps(row)}\n" for row in NESTED)
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(NESTED), path)
    elif path.suffix == ".arrow":
        rows = pa.Table.from_pylist(NESTED)
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, rows.schema) as file:
            file.write_table(rows)
    else:
        written(path, lines if path.suffix == ".jsonl" else json.dumps(NESTED, indent=1))
    return path


@pytest.mark.parametrize("name", ["a.jsonl", "a.json", "a.parquet", "a.arrow"])
def test_dots_lead_to_nested_fields(tmp_path, name):
    path = nested(tmp_path / name)

    assert read(path, **WHERE) == ROWS
    kept = read(path, text_field="post.body", keep=("meta.id",))
    assert [row[3] for row in kept] == ["d0", "d1", "d2"]
    assert "a field 'meta.no'" in refused(path, **WHERE | {"id_field": "meta.no"})


@pytest.mark.parametrize("make", [pa.Table.from_pylist, pd.DataFrame], ids=["arrow", "pandas"])
def test_dots_lead_into_structs_of_tables(make):
    corpus = Corpus.from_table(make(NESTED), **WHERE, keep=["meta.more.label"])

    assert [*chain.from_iterable(corpus.ids())] == ["d0", "d1", "d2"]
    assert [*chain.from_iterable(corpus.labels())] == ["a", "b", "a"]
    assert corpus.fields == {"meta.more.label": "string"}


def test_a_name_with_a_dot_comes_first(tmp_path):
    row = {"a.b": "owl cat", "a": {"b": "no"}}
    lines = written(tmp_path / "a.jsonl", json.dumps(row))
    pq.write_table(pa.Table.from_pylist([row]), tmp_path / "a.parquet")

    for path in (lines, tmp_path / "a.parquet"):
        assert [text for *_, text in read(path, text_field="a.b")] == ["owl cat"]


def test_a_struct_that_is_there_twice_has_no_members(tmp_path):
    users = pa.array([{"name": "ann"}])
    rows = pa.table([pa.array(["owl"]), users, users], ["text", "user", "user"])
    pq.write_table(rows, tmp_path / "a.parquet")

    assert "expected a field 'user.name'" in refused(tmp_path / "a.parquet", id_field="user.name")


@pytest.mark.parametrize(
    "row", ['"user": {"name": "a", "name": "b"}', '"user": {"name": "a"}, "user": {"name": "b"}']
)
@pytest.mark.parametrize("options", [{"id_field": "user.name"}, {"keep": ("user.name",)}])
def test_nested_fields_that_are_there_twice_are_refused(tmp_path, row, options):
    path = written(tmp_path / "a.jsonl", f'{{"text": "owl", {row}}}')

    assert "line 1: two fields are called 'user.name'" in refused(path, **options)
    assert read(path) == [(None, None, "owl")]


def test_missing_structs_have_no_members(tmp_path):
    rows = [{"text": "owl", "user": {"name": "ann"}}, {"text": "cat", "user": None}]
    lines = written(tmp_path / "a.jsonl", "".join(f"{json.dumps(row)}\n" for row in rows))
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "a.parquet")

    for path in (lines, tmp_path / "a.parquet"):
        assert [row[3] for row in read(path, keep=("user.name",))] == ["ann", None]


# --- text as bytes --------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary(), pa.binary_view()])
@pytest.mark.parametrize("name", ["a.parquet", "a.arrow", "table"])
def test_bytes_may_be_text(tmp_path, name, kind):
    if name == "a.parquet" and kind == pa.binary_view():
        pytest.skip("Parquet has no views")
    texts = ["élan owl", None, "cat"]
    rows = pa.table(
        {n: pa.array([t and t.encode() for t in texts]).cast(kind) for n in ("text", "label", "x")}
    )
    if name == "table":
        rows = rows.slice(0, 1)
        corpus = Corpus.from_table(rows, keep=["text", "x"])
        assert [t.to_pydict() for t in corpus.read_fields(["text", "x"])] == [
            {"text": ["élan owl"], "x": ["élan owl"]}
        ]
        return
    path = tmp_path / name
    if name == "a.parquet":
        pq.write_table(rows, path)
    else:
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, rows.schema) as file:
            file.write_table(rows)

    assert read(path, keep=("x",)) == [(None, t, t, t) for t in texts]


def test_bytes_that_are_no_text_are_refused(tmp_path):
    pq.write_table(pa.table({"text": [b"owl", b"\xff\xfe"]}), tmp_path / "a.parquet")

    assert "row 1, field 'text': byte 0xff is not UTF-8" in refused(tmp_path / "a.parquet")


# --- counts, packed files -------------------------------------------------------------------------
@pytest.mark.parametrize("words", ["pets.vocab", "vocab.pets.txt", "vocab.txt"])
@pytest.mark.parametrize("name", ["pets.uci", "docword.pets.txt", "pets.uci.bz2"])
def test_words_lie_beside_counts(tmp_path, words, name):
    data = b"2\n3\n3\n1 1 1\n1 2 1\n2 3 2\n"
    written(tmp_path / name, bz2.compress(data) if name.endswith(".bz2") else data)
    written(tmp_path / words, "owl\ncat\ndog\n")

    assert {*Corpus.open(ingested(tmp_path / name)).vocabulary.words} == {"owl", "cat", "dog"}


@pytest.mark.parametrize("name", ["a.jsonl", "a.json", "a.csv", "a.parquet"])
def test_bzip2_is_unpacked(tmp_path, name):
    plain = tmp_path / name
    if name == "a.parquet":
        pq.write_table(pa.Table.from_pylist(OBJECTS), plain)
    else:
        written(plain, table(",") if name == "a.csv" else LAYOUTS["lines"])
    data = plain.read_bytes()
    half = len(data) // 2
    packed = written(
        tmp_path / f"{name}.bz2", bz2.compress(data[:half]) + bz2.compress(data[half:])
    )

    assert read(packed) == read(plain) == ROWS


@pytest.mark.parametrize("rest", [b"junk", b"B" + bz2.compress(b"owl\n")[1:9] + b"!"])
def test_what_follows_bzip2_is_not_lost(tmp_path, rest):
    whole = bz2.compress(b"text\nowls\n") + bz2.compress(b"cats\n")
    assert [row[2] for row in read(written(tmp_path / "a.csv.bz2", whole))] == ["owls", "cats"]

    damaged = written(tmp_path / "b.csv.bz2", whole + rest)
    assert "damaged or truncated bzip2 data" in refused(damaged)


@pytest.mark.parametrize("damage", ["cut", "changed", "other"])
def test_damaged_bzip2_is_refused(tmp_path, damage):
    data = bz2.compress(table(",").encode() * 50)
    damaged = {
        "cut": data[:-9],
        "changed": data[:40] + bytes([data[40] ^ 255]) + data[41:],
        "other": b"id,text\n",
    }
    path = written(tmp_path / "a.csv.bz2", damaged[damage])

    assert refused(path).startswith(f"{path}: damaged or truncated bzip2 data (")


def test_a_bomb_of_bzip2_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("sparsetopics.corpora.sources.archives.MOST_UNPACKED", 1 << 20)
    path = written(tmp_path / "a.lines.bz2", bz2.compress(b"owl " * (1 << 19)))

    assert "unpack to" in refused(path)


# --- workbooks ------------------------------------------------------------------------------------
SHEET = [
    ("id", "text", "day", "n", "seen"),
    (7, "owls &amp; cats", datetime(2024, 5, 31), 1.5, True),
    (8, "dogs", datetime(2024, 6, 1, 18, 30), None, False),
]
KEPT = ("day", "n", "seen")
OF_SHEET = [
    ("7", None, "owls & cats", "2024-05-31", "1.5", "true"),
    ("8", None, "dogs", "2024-06-01T18:30:00", "", "false"),
]


def test_the_first_sheet_of_a_workbook_is_a_table(tmp_path):
    pytest.importorskip("openpyxl")
    path = written(tmp_path / "a.xlsx", workbook(SHEET))

    assert read(path, keep=KEPT) == OF_SHEET
    assert read(written(tmp_path / "b.xlsx.bz2", bz2.compress(path.read_bytes())), keep=KEPT)
    headless = written(tmp_path / "c.xlsx", workbook(SHEET[1:]))
    assert read(headless, keep=KEPT, header=SHEET[0]) == OF_SHEET
    corpus = Corpus.open(ingested(path, "--keep", "day,n"))
    assert corpus.fields == {"day": "date", "n": "number"}


def test_threads_that_read_workbooks_do_not_disturb_each_other(tmp_path):
    pytest.importorskip("openpyxl")
    (tmp_path / "in").mkdir()
    for n in range(30):  # without a style, of which openpyxl warns
        written(tmp_path / "in" / f"{n}.xlsx", workbook([("id", "text"), (str(n), "the owl")]))

    ingest([tmp_path / "in"], tmp_path / "c", IngestOptions(where=Workplace(workers=3)))

    assert len(next(Corpus.open(tmp_path / "c").doc_ids())) == 30


def test_a_sheet_without_the_field_is_refused(tmp_path):
    pytest.importorskip("openpyxl")
    path = written(tmp_path / "a.xlsx", workbook([("a", "b"), (1, 2)]))

    sheet = f"{path}, sheet 'a'"
    assert refused(path).startswith(f"{sheet}: expected a field 'text', but found 'a', 'b'.")
    wide = refused(path, header=("text",))
    assert f"{sheet}, row 1: expected 1 field, as in --header, but found 2." in wide


def test_the_first_sheet_that_shows_values_is_read_and_named(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book, path = openpyxl.Workbook(), tmp_path / "a.xlsx"
    for state, rows in (("hidden", ["a"]), ("visible", []), ("visible", ["text", "owl", "owl"])):
        sheet = book.create_sheet(f"{state} {len(rows)}")
        sheet.sheet_state = state
        for row in rows:
            sheet.append([row])
    book.save(path)

    with pytest.warns(SparsetopicsWarning, match=r"sheet 'visible 3' was read, but not 'hidden 1'"):
        assert [row[2] for row in read(path)] == ["owl", "owl"]

    collection = find_collection([path], None)
    assert place_of(1, collection, ReadOptions()) == f"{path}, sheet 'visible 3', row 3"


@pytest.mark.parametrize(
    ("rows", "more", "message"),
    [
        (SHEET, '<c r="XFD9"><v>1</v></c>', "expected 5 fields, as in the header, but found 16384"),
        (SHEET, '</row><row r="2000000000"><c><v>1</v></c>', "expected at most 1,048,576 rows"),
        (SHEET, '<c r="1A"><v>1</v></c>', "not an Excel workbook"),
        (SHEET, "<c>", "not an Excel workbook"),
    ],
)
def test_odd_workbooks_are_refused(tmp_path, rows, more, message):
    pytest.importorskip("openpyxl")
    path = written(tmp_path / "a.xlsx", workbook(rows, more))

    assert message in refused(path)


def test_blank_rows_and_cells_and_failed_formulas_of_a_sheet_are_no_values(tmp_path):
    pytest.importorskip("openpyxl")
    rows = [(None,), ("text", "n", "x"), *[("owls", 1)] * 1_200, ("cats", "#N/A"), ("dogs",)]
    path = written(tmp_path / "a.xlsx", workbook(rows))

    found = read(path, keep=("n",))
    assert [row[2:] for row in found[1_199:]] == [("owls", "1"), ("cats", ""), ("dogs", "")]
    named = read(written(tmp_path / "b.xlsx", workbook(rows[2:])), header=("text", "n", "x"))
    assert len(named) == 1_202


def test_whole_numbers_of_a_sheet_have_all_digits_that_it_stores(tmp_path):
    pytest.importorskip("openpyxl")
    rows = [("text", "id"), ("owls", 12345678901234567), ("cats", 1e16), ("dogs", -3.0)]

    found = read(written(tmp_path / "a.xlsx", workbook(rows)))

    assert [row[0] for row in found] == ["12345678901234567", "10000000000000000", "-3"]


@pytest.mark.parametrize("data", [b"text\nowls\n", b"\xd0\xcf\x11\xe0" + bytes(600)])
def test_a_file_that_is_no_workbook_is_told(tmp_path, data):
    pytest.importorskip("openpyxl")
    path = written(tmp_path / "a.xlsx", data)

    assert f"{path}: expected an Excel workbook (.xlsx), which is a zip archive. " in refused(path)


def test_a_bomb_of_a_workbook_is_refused(tmp_path, monkeypatch):
    pytest.importorskip("openpyxl")
    monkeypatch.setattr("sparsetopics.corpora.readers.excel._MOST_BYTES", 1 << 22)
    path = written(tmp_path / "a.xlsx", workbook([("text",), (" " * (1 << 22),)]))

    assert "expected at most 4,194,304 unpacked bytes" in refused(path)


@pytest.mark.parametrize("name", ["no.xlsx", "empty.xlsx", "csv.xlsx"])
def test_other_files_are_no_workbooks(tmp_path, name):
    pytest.importorskip("openpyxl")
    path = written(tmp_path / name, "id,text\n")
    if name != "csv.xlsx":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("a.xml" if name == "no.xlsx" else "a.txt", "<a/>")

    assert "\n" not in refused(path)


def test_the_error_tells_how_to_install_what_reads_workbooks(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    path = written(tmp_path / "a.xlsx", workbook(SHEET))

    with pytest.raises(OptionError, match=r"openpyxl.*pip install 'sparsetopics\[excel\]'"):
        read(path)


# --- other files ----------------------------------------------------------------------------------
def dictionary(path):
    gensim.corpora.Dictionary([["owl", "cat"]]).save(str(path))
    return path


def word_document(path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr("word/document.xml", "<w/>")
    return path


OTHERS = {
    "a.dict": (
        dictionary,
        "a pickled dictionary of gensim. In Python, save it with dictionary.sav",
    ),
    "a.pkl": (
        lambda path: written(path, pickle.dumps(TEXTS)),
        "a Python pickle. It could run code",
    ),
    "a.pdf": (lambda path: written(path, b"%PDF-1.7\n"), "a PDF document. Convert it to text, for"),
    "a.docx": (word_document, "a Word document. Save it as plain text (.txt), for example with"),
    "a.xls": (
        lambda path: written(path, b"\xd0\xcf\x11\xe0" + bytes(9)),
        "an Office document. Save it as .xlsx",
    ),
}


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("suffix", ["", ".txt", ".csv", ".jsonl"])
def test_other_files_are_named_with_what_to_do(tmp_path, name, suffix):
    make, message = OTHERS[name]
    path = make(tmp_path / f"{name}{suffix}")

    with pytest.raises(SourceError, match=r"the file is ") as caught:
        read(path)

    assert f"the file is {message}" in str(caught.value)


def test_a_pickled_dictionary_holds_no_words_to_read(tmp_path):
    written(tmp_path / "a.uci", b"2\n3\n3\n1 1 1\n1 2 1\n2 3 2\n")
    words = dictionary(tmp_path / "words.pkl")

    message = refused(tmp_path / "a.uci", vocabulary_file=words)

    assert message.startswith(f"{words}: expected text, but the file is a pickled dictionary of")


def test_numbers_in_csv_are_the_same_with_any_delimiter(tmp_path):
    values = np.arange(6.0).reshape(3, 2)
    for name, delimiter in (("a.csv", ","), ("a.tab", "\t"), ("a.psv", "|")):
        lines = [delimiter.join(map(str, row)) for row in (["x", "y"], *values.tolist())]
        written(tmp_path / name, "\n".join(lines))
        ingest_vectors([tmp_path / name], tmp_path / "v", VectorOptions(overwrite=True))

        assert (
            VectorCorpus.open(tmp_path / "v").row_groups[0].read().values.tolist()
            == values.tolist()
        )
