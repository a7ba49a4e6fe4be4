"""Which columns are read and kept, whatever else files and frames hold."""

import csv
import datetime
import json
import uuid
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from sparsetopics import Corpus, VectorCorpus
from sparsetopics.base.errors import OptionError, SourceError, SparsetopicsWarning
from sparsetopics.cli.main import main
from sparsetopics.corpora.ingest import ingest
from sparsetopics.corpora.ingest_options import document_options
from sparsetopics.corpora.readers.jsonl import read_jsonl
from sparsetopics.corpora.readers.options import ReadOptions
from sparsetopics.corpora.sources.byte_stream import SourceFile
from sparsetopics.corpora.store.unfinished import Spool
from sparsetopics.corpora.text.tokenizer import TokenizerOptions, count_texts
from sparsetopics.execution.executors import open_local_map
from sparsetopics.options.option import names_in, quoted
from sparsetopics.options.workplace import Workplace
from worlds.collections_on_disk import documents_of

FILES = ("csv", "jsonl", "parquet", "arrow")
FRAMES = ("table", "pandas", "polars", "datasets", "duckdb")
DOORS = (*FILES, *FRAMES)
WORDS = {"min_df": 1, "max_df": 1.0}
KEPT = ReadOptions(keep=("all",))
WARNED = pytest.warns(SparsetopicsWarning)


def written(folder, kind, rows):
    """The rows in a file of a format."""
    path = folder / f"a.{kind}"
    if kind == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif kind == "csv":
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, rows[0])
            writer.writeheader()
            writer.writerows(rows)
    elif kind == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    else:
        table = pa.Table.from_pylist(rows)
        with pa.ipc.new_file(path, table.schema) as file:
            file.write_table(table)
    return path


def frame_of(kind, rows):
    if kind == "table":
        return pa.Table.from_pylist(rows)
    library = pytest.importorskip(kind)
    if kind == "datasets":
        return library.Dataset.from_list(rows)
    if kind == "duckdb":
        return library.from_arrow(pa.Table.from_pylist(rows))
    return library.DataFrame(rows)


def made(door, tmp_path, rows, **options):
    """The corpus that a door makes of the rows."""
    if door in FRAMES:
        return Corpus.from_table(frame_of(door, rows), **options, **WORDS)
    given = {name.replace("_", "-"): value for name, value in options.items()}
    said = document_options({**given, "min-df": 1, "max-df": 1.0})
    ingest([written(tmp_path, door, rows)], tmp_path / "corpus", replace(said, overwrite=True))
    return Corpus.open(tmp_path / "corpus")


def values_of(corpus, name):
    return [value for table in corpus.read_fields([name]) for value in table[name].to_pylist()]


def run(*words, status=0):
    result = CliRunner().invoke(main, [str(word) for word in words])
    assert result.exit_code == status, result.output
    return result


ROWS = [
    {"id": "a", "label": "x", "text": "the owl", "title": "Owls", "n": 1},
    {"id": "b", "label": "y", "text": "the cat", "title": None, "n": 2},
    {"id": "c", "label": "y", "text": "", "title": "Dogs", "n": 3},
]


# --- several fields of text -----------------------------------------------------------------------
@pytest.mark.parametrize("door", DOORS)
def test_fields_of_text_are_joined_in_their_order(door, tmp_path):
    corpus = made(door, tmp_path, ROWS, text_field="title,text", keep=["text", "title"])

    assert documents_of(corpus) == {
        "a": {"owl": 1, "owls": 1, "the": 1},
        "b": {"cat": 1, "the": 1},
        "c": {"dogs": 1},
    }
    assert values_of(corpus, "text") == ["Owls\n\nthe owl", "the cat", "Dogs"]
    assert values_of(corpus, "title") == ["Owls", None, "Dogs"]


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("keep", [["body", "n"], ["text", "body", "n"]])
def test_the_name_of_the_text_field_means_the_texts(door, keep, tmp_path):
    rows = [{"body": row["text"], "n": row["n"]} for row in ROWS[:2]]

    corpus = made(door, tmp_path, rows, text_field="body", keep=keep)

    assert corpus.fields == {"text": "text", "n": "number"}
    assert values_of(corpus, "text") == ["the owl", "the cat"]


@pytest.mark.parametrize("door", DOORS)
def test_the_text_field_is_also_another_field_with_a_type(door, tmp_path):
    rows = [{"body": row["text"]} for row in ROWS[:2]]

    corpus = made(door, tmp_path, rows, text_field="body", keep=["text", "body:string"])

    assert corpus.fields == {"text": "text", "body": "string"}
    assert values_of(corpus, "body") == values_of(corpus, "text") == ["the owl", "the cat"]


@pytest.mark.parametrize("door", DOORS)
def test_each_field_of_text_must_exist_and_hold_text(door, tmp_path):
    with pytest.raises(SourceError, match="expected a field 'headline', but found 'id'"):
        made(door, tmp_path, ROWS, text_field="text,headline")
    if door != "csv":  # where all is text
        with pytest.raises(SourceError, match=r"strings? .*in field 'n', but found (a )?number"):
            made(door, tmp_path, ROWS, text_field="text,n")


@pytest.mark.parametrize("door", [door for door in DOORS if door != "csv"])
def test_a_list_of_words_is_not_joined_with_a_text(door, tmp_path):
    rows = [{"title": "Owls", "words": ["the", "owl"]}]

    hint = "Fields that are joined must all be strings"
    with pytest.raises(SourceError, match=rf"in field 'words', but found .*list.*{hint}"):
        made(door, tmp_path, rows, text_field="title,words")


@pytest.mark.parametrize("door", FRAMES)
def test_members_of_objects_and_bytes_are_read_from_frames(door, tmp_path):
    rows = [{"post": {"by": "ann", "body": "the owl"}, "raw": b"\xc3\xa9lan", "mixed": 1}]

    corpus = made(door, tmp_path, rows, text_field="post.body,raw", id_field="post.by")

    assert documents_of(corpus) == {"ann": {"the": 1, "owl": 1, "\xe9lan": 1}}
    with pytest.raises(SourceError, match=r"expected a field 'post\.title', but found 'post'"):
        made(door, tmp_path, rows, text_field="post.title")


def test_fields_of_text_are_not_kept_as_other_fields_unless_they_are_named(tmp_path):
    corpus = made("jsonl", tmp_path, ROWS, text_field="title,text", keep=["all"])

    assert corpus.fields == {"text": "text", "n": "number"}
    with pytest.raises(OptionError, match="text_field: names a field twice: title,title"):
        ReadOptions("title,title")


def test_lines_read_at_once_and_one_by_one_are_joined_alike(tmp_path):
    rows = [{"text": "the owl", "title": title} for title in ("Owls", "", None, "Big")]
    both = []
    for name, more in (("regular", []), ("odd", [{"text": None, "title": None, "x": [1]}])):
        (tmp_path / name).mkdir()
        path = written(tmp_path / name, "jsonl", [*rows, *more])
        options = document_options({"text-field": "title,text", "keep": ["text"], "min-df": 1})
        ingest([path], tmp_path / name / "c", options)
        both.append(values_of(Corpus.open(tmp_path / name / "c"), "text"))

    assert both[0] == both[1] == ["Owls\n\nthe owl", "the owl", "the owl", "Big\n\nthe owl"]


# --- names ----------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("said", "names"),
    [
        ("text", ("text",)),
        ("title, body", ("title", "body")),
        ('"Smith, John",text', ("Smith, John", "text")),
        ('text, "Smith, John":string', ("text", "Smith, John:string")),
        ('"a ""b"", c",d', ('a "b", c', "d")),
        ('6" disk,text', ('6" disk', "text")),
        ("a,", ("a", "")),
        ("a\nb,c", ("a\nb", "c")),
        ('"never closed,b', ('"never closed', "b")),
        ("", ("",)),
    ],
)
def test_lists_of_names_are_read_as_csv(said, names):
    assert names_in(said) == names


@pytest.mark.parametrize("name", ["a, b", '"x", y', "plain", ",", '""'])
def test_a_quoted_name_is_one_name(name):
    assert names_in(quoted("keep", [name, "b", "c"])) == (name, "b", "c")


@pytest.mark.parametrize("door", DOORS)
def test_fields_with_a_comma_can_be_named(door, tmp_path):
    rows = [{"body, en": row["text"], "who, when": row["title"]} for row in ROWS[:2]]

    corpus = made(door, tmp_path, rows, text_field=["body, en"], keep=["who, when:string"])

    assert corpus.fields == {"who, when": "string"}
    assert values_of(corpus, "who, when") == ["Owls", None]


def test_the_command_names_fields_with_a_comma_and_says_how(tmp_path):
    rows = [{"body, en": row["text"], "who, when": row["title"]} for row in ROWS]
    path = written(tmp_path, "csv", rows)
    common = ("ingest", path, "--out", tmp_path / "c", "--overwrite", "--quiet", "--text-field")

    run(*common, '"body, en"', "--keep", '"who, when":string,text')

    assert Corpus.open(tmp_path / "c").fields == {"who, when": "string", "text": "text"}
    said = run(*common, "body, en", status=1).stderr
    assert "expected a field 'body'" in said
    assert "Write names with commas, or with spaces around them, in quotes: '\"a, b\"'." in said


# --- all fields, as far as they can be kept -------------------------------------------------------
NESTED = [
    {"id": "a", "text": "the owl", "": 0, "n": 1, "tags": ["x"], "user": {"name": "u"}},
    {"id": "b", "text": "the cat", "": 1, "n": 2, "tags": None, "user": {"name": "v"}},
]


@pytest.mark.parametrize("door", ["jsonl", "parquet", "arrow", *FRAMES])
def test_all_keeps_what_can_be_kept_and_says_what_cannot(door, tmp_path):
    rows = NESTED
    if door == "duckdb":  # which has no columns without a name
        rows = [{name: value for name, value in row.items() if name} for row in rows]
    if door in FRAMES:
        with WARNED as said:
            corpus = made(door, tmp_path, rows, keep=["all"])
        said = "\n".join(str(each.message) for each in said)
    else:
        path = written(tmp_path, door, rows)
        made_by = ("ingest", path, "--out", tmp_path / "c", "--keep", "all", "--min-df", 1)
        said = run(*made_by, "--max-df", 1.0).stdout
        corpus = Corpus.open(tmp_path / "c")

    assert corpus.fields == {"text": "text", "n": "number"}
    assert values_of(corpus, "n") == [1, 2]
    (line,) = [line for line in said.splitlines() if "Left out" in line]
    assert "'tags' (holds lists or objects)" in line
    assert "'user' (holds lists or objects)" in line
    assert ("'' (has no name)" in line) == (door != "duckdb")


def test_all_of_csv_leaves_out_columns_without_a_name_or_with_one_name(tmp_path):
    (tmp_path / "a.csv").write_text(",text,x,x,y,id\n0,the owl,1,2,3,zoo\n1,the cat,1,2,3,zoo\n")
    common = ("ingest", tmp_path / "a.csv", "--overwrite", "--out", tmp_path / "c")

    said = run(*common, "--keep", "all", "--json", "--duplicate-ids", "keep")

    report = json.loads(said.stdout)
    assert report["fields"] == {"text": "text", "y": "number"}
    assert report["notes"] == {"x": "another field has the same name", "": "has no name"}
    said = run(*common, "--keep", "all", "--duplicate-ids", "keep").stdout
    assert "Left out 'x' (another field has the same name) and '' (has no name)." in said
    said = run(*common, "--keep", "all", "--text-field", "id", "--duplicate-ids", "keep").stdout
    assert "'text' (another field is the text) and '' (has no name)." in said


@pytest.mark.parametrize("door", DOORS)
def test_all_leaves_out_fields_with_the_names_of_ids_labels_and_texts(door, tmp_path):
    rows = [{"key": "a", "id": 1, "cat": "x", "label": "z", "body": "the owl", "text": "t", "n": 1}]
    fields = {"id_field": "key", "label_field": "cat", "text_field": "body"}

    if door in FRAMES:
        names = r"'text' \(another field is the text\)"
        with pytest.warns(SparsetopicsWarning, match=f"^Left out 'id' .* 'label' .*{names}"):
            corpus = made(door, tmp_path, rows, keep=["all"], **fields)
    else:
        corpus = made(door, tmp_path, rows, keep=["all"], **fields)

    assert corpus.fields == {"text": "text", "n": "number"}
    assert corpus.documents(["a"]).to_pylist() == [
        {"id": "a", "label": "x", "text": "the owl", "n": 1}
    ]


@pytest.mark.parametrize("door", ["parquet", "arrow", *FRAMES])
def test_bytes_that_are_no_text_are_left_out_of_all(door, tmp_path):
    rows = [{"text": "the owl", "raw": b"\xff\xfe", "n": 1}, {"text": "cats", "raw": b"", "n": 2}]

    if door in FRAMES:
        with pytest.warns(SparsetopicsWarning, match="'raw' .holds bytes that are not UTF-8"):
            corpus = made(door, tmp_path, rows, keep=["all"])
    else:
        corpus = made(door, tmp_path, rows, keep=["all"])

    assert corpus.fields == {"text": "text", "n": "number"}
    with pytest.raises(SourceError, match="row 0, field 'raw': byte 0xff is not UTF-8"):
        made(door, tmp_path, rows, keep=["raw"])


def test_intervals_of_time_are_left_out_of_all():
    duckdb = pytest.importorskip("duckdb")
    rows = duckdb.sql("SELECT 'the owl' AS text, INTERVAL 3 DAY AS wait, 1 AS n")

    with pytest.warns(SparsetopicsWarning, match="'wait' .holds intervals of time"):
        corpus = Corpus.from_table(rows, keep=["all"], **WORDS)

    assert corpus.fields == {"text": "text", "n": "number"}


def test_a_frame_with_two_columns_of_one_name_is_read():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame([["the owl", 1, 2, 3]], columns=["text", "x", "x", 7])

    with pytest.warns(SparsetopicsWarning, match=r"Left out 'x' \(another field has the same name"):
        corpus = Corpus.from_table(frame, keep=["all"], min_df=1)

    assert corpus.fields == {"text": "text", "7": "number"}
    with pytest.raises(SourceError, match="two fields are called 'x'"):
        Corpus.from_table(frame, keep=["x"])


@pytest.mark.parametrize("late", [1, 300])
def test_a_field_that_is_nested_somewhere_is_left_out_everywhere(late, tmp_path):
    rows = [{"text": "the owl", "x": "plain", "n": n} for n in range(400)]
    rows[late]["x"] = {"y": 1}
    rows[late]["z"] = [2]

    corpus = made("jsonl", tmp_path, rows, keep=["all"])

    assert corpus.fields == {"text": "text", "n": "number"}
    assert values_of(corpus, "n") == list(range(400))


def test_a_field_twice_in_a_line_is_left_out_of_all_but_refused_by_name(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"text": "the owl", "x": 1, "x": 2, "n": 3}\n')
    options = document_options({"keep": ["all"], "min-df": 1})

    summary = ingest([tmp_path / "a.jsonl"], tmp_path / "c", options)

    assert summary.fields == {"text": "text", "n": "number"}
    assert summary.notes == {"x": "another field has the same name"}
    with pytest.raises(SourceError, match="line 1: two fields are called 'x'"):
        ingest([tmp_path / "a.jsonl"], tmp_path / "d", document_options({"keep": ["x"]}))


@pytest.mark.parametrize("door", ["jsonl", "parquet", "arrow", *FRAMES])
def test_a_nested_field_that_is_named_is_refused(door, tmp_path):
    rows = [{"text": "the owl", "tags": ["x"]}]

    with pytest.raises(
        SourceError, match=r"field 'tags'.* (holds lists or objects|but found a list)"
    ):
        made(door, tmp_path, rows, keep=["tags"])


@pytest.mark.parametrize("door", [*DOORS, "lines", "texts"])
def test_ids_and_labels_may_be_named(door, tmp_path):
    names = ["text", "label", "id"]
    if door == "texts":
        corpus = Corpus.from_texts(["the owl", "the cat"], keep=names, **WORDS)
    elif door == "lines":
        (tmp_path / "a.lines").write_text("the owl\nthe cat\n")
        ingest([tmp_path / "a.lines"], tmp_path / "c", document_options({"keep": names}))
        corpus = Corpus.open(tmp_path / "c")
    else:
        corpus = made(door, tmp_path, ROWS[:2], keep=names)

    assert corpus.fields == {"text": "text"}
    table = corpus.documents(corpus.documents(next(iter(corpus.ids())))["id"].to_pylist())
    assert table.column_names == ["id", "label", "text"]
    if door not in ("lines", "texts"):
        assert table.to_pylist() == [
            {n: row[n] for n in ("id", "label", "text")} for row in ROWS[:2]
        ]


# --- frames ---------------------------------------------------------------------------------------
MIXED = [1, "two", 3.5, None]
TEXTS = ["the owl", "the cat", "the dog", "the fox"]


def mixed_frame(library, **columns):
    """A frame with columns of objects."""
    module = pytest.importorskip(library)
    if library == "pandas":
        return module.DataFrame({n: module.Series(v, dtype=object) for n, v in columns.items()})
    return module.DataFrame(
        {
            n: module.Series(v, dtype=None if n == "text" else module.Object)
            for n, v in columns.items()
        }
    )


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_mixed_column_elsewhere_is_no_error(library):
    frame = mixed_frame(library, text=TEXTS, odd=[object(), {1}, "x", 2**80])

    corpus = Corpus.from_table(frame, keep=["text"], **WORDS)

    assert values_of(corpus, "text") == TEXTS


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("keep", ["mix", "all"])
def test_mixed_values_of_a_kept_column_become_strings_with_a_message(library, keep):
    frame = mixed_frame(library, text=TEXTS, mix=MIXED)
    kinds = "values of types float, int and str"

    with pytest.warns(SparsetopicsWarning, match=f"^column 'mix' holds {kinds}; they were") as all_:
        corpus = Corpus.from_table(frame, keep=[keep], **WORDS)

    assert corpus.fields["mix"] == "string"
    assert values_of(corpus, "mix") == ["1", "two", "3.5", None]
    assert all(each.filename == __file__ for each in all_)


NOON = datetime.datetime(2024, 1, 2, 12, 5)
IN_THE_WEST = datetime.timezone(datetime.timedelta(hours=-5))


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize(
    ("mixed", "kept"),
    [
        ([NOON.date(), NOON], ["2024-01-02", "2024-01-02 12:05:00"]),
        ([NOON.date(), 5], ["2024-01-02", "5"]),
        ([NOON, 5], ["2024-01-02 12:05:00", "5"]),
        ([datetime.timedelta(hours=1), 3], ["1:00:00", "3"]),
        ([1.5, True], ["1.5", "True"]),
        ([np.float16(0.75), 1], ["0.75", "1"]),
        ([np.longdouble(0.5), 1], ["0.5", "1"]),
    ],
)
def test_no_value_of_a_mixed_column_is_changed(library, mixed, kept):
    frame = mixed_frame(library, text=TEXTS, id=[*mixed, "c", "d"], mix=[*mixed, None, None])

    with WARNED:
        corpus = Corpus.from_table(frame, keep=["mix:string"], **WORDS)

    assert list(next(iter(corpus.ids()))) == [*kept, "c", "d"]
    assert values_of(corpus, "mix") == [*kept, None, None]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_times_in_several_zones_keep_the_days_that_they_show(library):
    times = [NOON.replace(tzinfo=IN_THE_WEST), NOON.replace(tzinfo=datetime.UTC, hour=3)]
    frame = mixed_frame(library, text=TEXTS, when=[*times, None, None])

    corpus = Corpus.from_table(frame, keep=["when"], **WORDS)

    assert [str(each)[:10] for each in values_of(corpus, "when")[:2]] == ["2024-01-02"] * 2


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_durations_are_numbers_of_seconds(unit):
    took = pa.array([1, 90, None, 3], pa.duration("s")).cast(pa.duration(unit))

    corpus = Corpus.from_table(pa.table({"text": TEXTS, "took": took}), keep=["took"], **WORDS)

    assert values_of(corpus, "took") == [1.0, 90.0, None, 3.0]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_objects_become_strings_as_they_print_themselves(library):
    names = [uuid.UUID(int=n) for n in range(4)]
    days = [datetime.date(2024, 1, n) for n in range(1, 5)]
    frame = mixed_frame(library, text=TEXTS, id=names, label=["x", 1, None, 2**70], day=days)

    corpus = Corpus.from_table(frame, keep=["day"], **WORDS)

    assert list(next(iter(corpus.ids()))) == [*map(str, names)]
    assert list(next(iter(corpus.labels()))) == ["x", "1", None, str(2**70)]
    assert [value.date() for value in values_of(corpus, "day")] == days


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        (
            {"text": TEXTS, "x": [1, "a", ["b"], 2]},
            {"keep": ["x"]},
            r"^table, row 2, field 'x': expected a string or a number, but found \['b'\]\.$",
        ),
        (
            {"text": TEXTS, "id": ["a", {"b": 1}, 2, 3]},
            {},
            r"^table, row 1, field 'id': expected a string or a number, but found {'b': 1}\.$",
        ),
        (
            {"text": TEXTS, "body": ["one", 2, None, "four"]},
            {"text_field": "body"},
            r"^table, row 1, field 'body': must be a string or None, but is 2\.$",
        ),
        (
            {"text": TEXTS, "x": ["one", 2, "\ud800", "four"]},
            {"keep": ["x"]},
            r"^table, row 2, field 'x': character 0, .ud800, is half of a surrogate pair",
        ),
        (
            {"text": TEXTS, "words": [["a"], None, ["b", 3], ["c"]]},
            {"text_field": "words"},
            r"^table, row 2, field 'words': must hold words as strings, but holds 3\.$",
        ),
        (
            {"text": TEXTS, "words": [["a"], ("b",), "c d", ["c"]]},
            {"text_field": "words"},
            r"^table, row 2, field 'words': must be a list of words or None, but is 'c d'\.$",
        ),
        (
            {"text": TEXTS, "post": [{"by": "ann"}, {"by": 3}, None, {"by": "eve"}]},
            {"id_field": "post.by"},
            r"^table, field 'post': a field of its objects has values of several types\.",
        ),
        (
            {"text": TEXTS, "x": [1, 2, object(), 3]},
            {"keep": ["x"]},
            r"^table, row 2, field 'x': expected a string or a number, but found <object object",
        ),
        (
            {"text": TEXTS, "id": ["a", object(), "c", "d"]},
            {},
            r"^table, row 1, field 'id': expected a string or a number, but found <object object",
        ),
    ],
)
def test_an_odd_value_is_named_by_row_and_column(library, columns, options, message):
    with pytest.raises(SourceError if "ud800" not in message else Exception, match=message):
        Corpus.from_table(mixed_frame(library, **columns), **options, **WORDS)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_nested_objects_are_left_out_of_all(library):
    for odd in (["b"], object()):
        frame = mixed_frame(library, text=TEXTS, x=[1, "a", odd, np.zeros(2)])

        with pytest.warns(SparsetopicsWarning, match=r"Left out 'x' \(holds lists or objects\)"):
            corpus = Corpus.from_table(frame, keep=["all"], **WORDS)

        assert corpus.fields == {"text": "text"}


def test_numbers_and_times_that_only_a_library_knows_are_kept_without_a_warning():
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    days = pandas.period_range("2024-01", periods=4, freq="M")
    few = pandas.Series(pandas.arrays.SparseArray([0, 1, 0, 0]))
    large = polars.Series([1, 2, 3, 4], dtype=polars.Int128)
    frames = (
        pandas.DataFrame({"text": TEXTS, "few": few, "day": days}),
        polars.DataFrame({"text": TEXTS, "large": large}),
    )

    kept = [Corpus.from_table(frame, keep=["all"], **WORDS).fields for frame in frames]

    assert kept == [
        {"text": "text", "few": "number", "day": "date"},
        {"text": "text", "large": "number"},
    ]


def test_the_index_of_a_frame_is_no_column_unless_it_has_a_name():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"text": TEXTS}, index=[5, "b", 7, "d"])
    dated = frame.set_index(pandas.Index([f"2024-01-0{n}" for n in range(1, 5)], name="day"))

    mixed = Corpus.from_table(frame, keep=["all"], **WORDS)
    corpus = Corpus.from_table(dated, keep=["all"], **WORDS)

    assert mixed.fields == {"text": "text"}
    assert list(next(iter(mixed.ids()))) == ["5", "b", "7", "d"]
    assert corpus.fields == {"text": "text", "day": "date"}
    assert list(frame.columns) == ["text"]


# --- dictionary types -----------------------------------------------------------------------------
VALUES = {
    "string": (pa.array(["x", "y"]), ["x", "y", "x", None]),
    "large": (pa.array(["x", "y"], pa.large_string()), ["x", "y", "x", None]),
    "view": (pa.array(["x", "y"], pa.string_view()), ["x", "y", "x", None]),
    "number": (pa.array([1.5, np.nan]), [1.5, None, 1.5, None]),
    "time": (
        pa.array(
            [datetime.datetime(2024, 1, 2), datetime.datetime(2024, 1, 3)], pa.timestamp("ns")
        ),
        [datetime.datetime(2024, 1, n) if n else None for n in (2, 3, 2, 0)],
    ),
    "bool": (pa.array([True, False]), ["true", "false", "true", None]),
}


@pytest.mark.parametrize("door", ["arrow", "table"])
@pytest.mark.parametrize("kind", VALUES)
def test_dictionary_types_are_decoded_first(door, kind, tmp_path):
    values, expected = VALUES[kind]
    column = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0, None], pa.int16()), values)
    table = pa.table({"text": TEXTS, "x": column, "label": column})
    if door == "table":
        corpus = Corpus.from_table(table, keep=["x"], **WORDS)
    else:
        with pa.ipc.new_file(tmp_path / "a.arrow", table.schema) as file:
            file.write_table(table)
        options = document_options({"keep": ["x"], "min-df": 1, "max-df": 1.0})
        ingest([tmp_path / "a.arrow"], tmp_path / "c", options)
        corpus = Corpus.open(tmp_path / "c")

    assert values_of(corpus, "x") == expected
    (labels,) = corpus.labels()
    assert [label is None for label in labels] == [value is None for value in expected]


def test_categories_of_frames_are_decoded():
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    mixed = pandas.DataFrame({"text": TEXTS, "x": pandas.Categorical([1, "a", 1, None])})
    years = pandas.DataFrame({"text": TEXTS, "x": pandas.Categorical([1999, 2000, 1999, None])})
    other = polars.DataFrame({"text": TEXTS, "x": ["a", "b", "a", None]})

    with pytest.warns(SparsetopicsWarning, match="^column 'x' holds values of types int and str"):
        assert values_of(Corpus.from_table(mixed, keep=["x"], **WORDS), "x") == [
            "1",
            "a",
            "1",
            None,
        ]
    assert values_of(Corpus.from_table(years, keep=["x"], **WORDS), "x") == [1999, 2000, 1999, None]
    for kind in (polars.Categorical, polars.Enum(["a", "b"])):
        frame = other.with_columns(
            polars.col("x").cast(kind), polars.col("text").cast(polars.Categorical)
        )
        corpus = Corpus.from_table(frame, keep=["text", "x"], **WORDS)
        assert values_of(corpus, "x") == ["a", "b", "a", None]
        assert values_of(corpus, "text") == TEXTS


# --- errors ---------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("column", "found"),
    [
        (pa.array([[1]]), "lists or objects"),
        (pa.array([{"a": 1}]), "lists or objects"),
        (pa.array([1]), "numbers"),
        (pa.array([1.5]), "numbers"),
        (pa.array([True]), "true and false"),
        (pa.array([datetime.date(2024, 1, 1)]), "dates or times"),
        (pa.array([1]).dictionary_encode(), "numbers"),
        (pa.array([b"x"], pa.binary(1)), "bytes"),
    ],
)
def test_the_type_of_a_column_is_said_in_words(column, found):
    expected = "expected strings or lists of strings in field 'text'"
    with pytest.raises(SourceError, match=f"^table: {expected}, but found {found}"):
        Corpus.from_table(pa.table({"text": column}))


@pytest.mark.parametrize("field", ["id", "label"])
def test_an_id_that_is_none_is_named_with_its_column(field):
    table = pa.table({"text": ["the owl"], field: pa.array([[1]])})

    with pytest.raises(
        SourceError,
        match=rf"^table: expected strings or numbers in field '{field}', but found lists",
    ):
        Corpus.from_table(table)


def test_bytes_that_are_no_text_are_named_by_row_and_column(tmp_path):
    texts = pa.array([b"fine", b"caf\xe9"]).view(pa.string())
    table = pa.table({"text": ["the owl", "the cat"], "x": texts})

    with pytest.raises(SourceError, match=r"^table, row 1, field 'x': byte 0xe9 is not UTF-8"):
        Corpus.from_table(table, keep=["x"])


@pytest.mark.parametrize("field", ["id", "label"])
def test_a_column_of_vectors_that_names_nothing_is_named(field, tmp_path):
    pq.write_table(pa.table({field: [[1]], "v": [1.5]}), tmp_path / "a.parquet")
    common = ("ingest", tmp_path / "a.parquet", "--kind", "vectors", "--out", tmp_path / "c")

    said = run(*common, status=1).stderr

    assert f"expected strings or numbers in column '{field}', but found lists or objects." in said


def test_what_is_left_out_survives_the_spool(tmp_path):
    rows = [{"id": f"d{n % 300}", "text": "the owl", "tags": [n], "n": n} for n in range(400)]
    common = {"keep": ["all"], "min-df": 1, "max-df": 1.0}
    options = document_options({**common, "duplicate-ids": "skip"})

    summary = ingest([written(tmp_path, "jsonl", rows)], tmp_path / "c", options)

    assert summary.notes == {"tags": "holds lists or objects"}
    assert values_of(Corpus.open(tmp_path / "c"), "n") == list(range(300))
    (block,) = [pending() for pending in read_jsonl(SourceFile(tmp_path / "a.jsonl", "a"), KEPT)]
    spool = Spool(tmp_path, "")
    with open_local_map(Workplace()) as here:
        counted = [count_texts(block, TokenizerOptions(), keep_texts=True)]
        (kept,) = spool.keep(lambda n_blocks: counted, here)
    assert spool.block(0).fields["tags"].equals(kept.fields["tags"])


def test_columns_of_vectors_and_files_of_options_name_commas_alike(tmp_path):
    (tmp_path / "a.csv").write_text('"x, y",z,text\n1,2,the owl\n3,4,the cat\n')
    (tmp_path / "o.toml").write_text("keep = ['\"x, y\"', 'z']\n")
    common = ("ingest", tmp_path / "a.csv", "--quiet", "--out")

    run(*common, tmp_path / "v", "--columns", '"x, y",z')
    run(*common, tmp_path / "d", "--config", tmp_path / "o.toml")

    assert VectorCorpus.open(tmp_path / "v").columns == ("x, y", "z")
    assert list(Corpus.open(tmp_path / "d").fields) == ["x, y", "z"]
