"""Texts and fields that a corpus keeps: what was there comes back, typed, wherever documents go."""

import csv
import datetime
import json
import random
import shutil
from dataclasses import replace
from itertools import chain

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sparsetopics import Corpus
from sparsetopics.base.errors import CorpusFormatError, OptionError, OutputError, SourceError
from sparsetopics.base.sealed_files import write_sealed
from sparsetopics.corpora.append import append
from sparsetopics.corpora.batching import hold_out
from sparsetopics.corpora.ingest import IngestOptions, ingest
from sparsetopics.corpora.readers import blocks
from sparsetopics.corpora.readers import jsonl as read_jsonl
from sparsetopics.corpora.readers.fields import FieldTypes, described, kept_fields, table_of_fields
from sparsetopics.corpora.readers.options import ReadOptions
from sparsetopics.corpora.sources import byte_stream
from sparsetopics.corpora.split import split_corpus
from sparsetopics.corpora.store import document_rows, parquet_files, unfinished
from sparsetopics.corpora.text.pruning import PruningOptions
from sparsetopics.corpora.validate import validate
from sparsetopics.options.workplace import Workplace
from worlds.collections_on_disk import documents_of

WORDS = ["owl", "cat", "dog", "bond", "stock", "price", "river", "lake"]
FORMATS = ("jsonl", "csv", "parquet", "arrow")
TYPES = {"text": "text", "section": "string", "date": "date", "score": "number", "zip": "string"}


def make_rows(n_docs, seed=0):
    """Records with gaps in every field; every tenth document has no words."""
    draw = random.Random(seed)
    return [
        {
            "id": f"d{n}",
            "label": draw.choice(["a", "b"]),
            "text": "" if n % 10 == 9 else " ".join(draw.choices(WORDS, k=9)) + ' "é", 1\n',
            "section": draw.choice(["news", "sport", "a\nb", None]),
            "date": draw.choice([None, f"20{draw.randrange(10, 24)}-0{draw.randrange(1, 9)}-11"]),
            "score": draw.choice([1.5, -0.25, 1e6, None]),
            "zip": f"0{n:04}",
        }
        for n in range(n_docs)
    ]


ROWS = make_rows(120)


def write(folder, kind, rows=ROWS, name="a"):
    path = folder / f"{name}.{kind}"
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
            file.write_table(table, max_chunksize=50)
    return path


def keeping(*keep, **options):
    read = ReadOptions(keep=keep, **options)
    return IngestOptions(read=read, pruning=PruningOptions(min_df=1, max_df=1.0))


def as_read(row):
    """A record as the corpus shows it."""
    date = row["date"] and datetime.datetime.fromisoformat(row["date"])
    return {**row, "date": date}


def kept_of(corpus):
    """Ids, labels and all fields of all documents, in order."""
    ids, labels = (list(chain.from_iterable(found)) for found in (corpus.ids(), corpus.labels()))
    tables = list(corpus.read_fields(list(corpus.fields)))
    assert [len(table) for table in tables] == [batch.n_docs for batch in corpus.batches()]
    rows = pa.concat_tables(tables).to_pylist()
    return [
        {"id": doc_id, "label": label, **row}
        for doc_id, label, row in zip(ids, labels, rows, strict=True)
    ]


def expected_of(rows):
    return [as_read(row) for row in rows if row["text"]]


@pytest.fixture(autouse=True)
def small_files(monkeypatch):
    """Many blocks, row groups and shards of a few documents."""
    monkeypatch.setattr(document_rows, "DOCS_PER_ROW_GROUP", 16)
    monkeypatch.setattr(document_rows.DocumentKind, "groups_per_shard", 2)
    monkeypatch.setattr(parquet_files, "_TEXTS_PER_GROUP", 4)
    for module in (blocks, byte_stream):
        monkeypatch.setattr(module, "BLOCK_BYTES", 2_000)


@pytest.mark.parametrize("kind", FORMATS)
def test_all_fields_of_every_format_come_back(kind, tmp_path):
    summary = ingest([write(tmp_path, kind)], tmp_path / "corpus", keeping("all"))

    corpus = Corpus.open(tmp_path / "corpus")
    assert corpus.fields == summary.fields == TYPES
    assert kept_of(corpus) == expected_of(ROWS)
    assert corpus.n_skipped == 12
    assert len(list((tmp_path / "corpus").glob("texts-*.parquet"))) == 4 == summary.n_shards
    assert validate(tmp_path / "corpus") == []


@pytest.mark.parametrize("kind", FORMATS)
def test_only_what_is_named_is_kept_in_the_named_order(kind, tmp_path):
    ingest([write(tmp_path, kind)], tmp_path / "corpus", keeping("score:number", "section"))

    corpus = Corpus.open(tmp_path / "corpus")
    assert list(corpus.fields.items()) == [("score", "number"), ("section", "string")]
    own = kept_of(corpus)
    assert [row["score"] for row in own] == [row["score"] for row in ROWS if row["text"]]
    assert not list((tmp_path / "corpus").glob("texts-*"))


def test_nothing_is_kept_unless_asked(tmp_path):
    ingest([write(tmp_path, "jsonl")], tmp_path / "corpus", keeping())

    names = {path.name.partition("-")[0] for path in (tmp_path / "corpus").iterdir()}
    assert names == {"manifest.json", "shard", "vocabulary.parquet", "candidates.parquet"}
    assert "fields" not in json.loads((tmp_path / "corpus" / "manifest.json").read_text())
    corpus = Corpus.open(tmp_path / "corpus")
    assert corpus.fields == {}
    assert corpus.documents(["d3"]).column_names == ["id", "label"]


def test_plain_text_has_only_its_text(tmp_path):
    (tmp_path / "a.lines").write_text("the owl\n\nthe cat\n")

    ingest([tmp_path / "a.lines"], tmp_path / "corpus", keeping("all"))

    corpus = Corpus.open(tmp_path / "corpus")
    assert corpus.documents(["2", "0"])["text"].to_pylist() == ["the cat", "the owl"]
    with pytest.raises(OptionError, match=r"^keep: files of format lines have no field 'x'"):
        ingest([tmp_path / "a.lines"], tmp_path / "other", keeping("text", "x"))


def test_a_text_field_of_another_name_is_kept_as_text(tmp_path):
    rows = [{"body": "the owl", "title": "Owls"}]
    options = keeping("all", text_field="body")

    ingest([write(tmp_path, "jsonl", rows)], tmp_path / "corpus", options)

    assert Corpus.open(tmp_path / "corpus").documents(["0"]).to_pylist() == [
        {"id": "0", "label": None, "text": "the owl", "title": "Owls"}
    ]


# --- types ----------------------------------------------------------------------------------------
def told(values, asked="x"):
    """The type and the values of one field."""
    column = pa.array(values, pa.string())
    types = FieldTypes(kept_fields((asked,)))
    types._look_at("x", column)
    ids = pa.array([str(n) for n in range(len(values))])
    return types.types["x"], table_of_fields({"x": column}, types.types, ids)["x"].to_pylist()


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["1", "-2.5", "1e3", "", None], "number"),
        (["0", "-0.5E-2", "999999999999999"], "number"),
        (["1998", "2003"], "number"),
        (["2020-01", "1999-12-31", None], "date"),
        (["2020-01-01T10:00:00Z", "2020-01-01 10:00:00.5+02:00", "2020-01-01"], "date"),
        (["01067", "12345"], "string"),  # a postal code
        (["1234567890123456789"], "string"),  # would lose digits
        (["2020-02-30"], "string"),
        (["2020-01-01", "soon"], "string"),
        (["2020-01-01", "7"], "string"),
        (["nan", "1", "NA", "None"], "number"),
        (["n/a", "1"], "string"),
        (["NA", "", None], "string"),
        (["1e999"], "string"),
        (["1 000"], "string"),
        (["0101", "0202"], "string"),
        (["", None], "string"),
        ([], "string"),
    ],
)
def test_all_values_together_tell_the_type(values, kind):
    assert told(values)[0] == kind


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False) | st.none(), min_size=1))
def test_numbers_are_those_that_python_reads(numbers):
    values = [None if number is None else json.dumps(number) for number in numbers]

    assert told(values, "x:number")[1] == numbers


ZONES = st.integers(-23 * 60, 23 * 60).map(
    lambda minutes: datetime.timezone(datetime.timedelta(minutes=minutes))
)


@given(
    st.lists(
        st.dates().map(lambda day: day.isoformat())
        | st.datetimes(min_value=datetime.datetime(2, 1, 1), timezones=st.none() | ZONES).map(
            lambda time: time.isoformat()
        ),
        min_size=1,
    )
)
def test_dates_are_those_that_python_reads(values):
    expected = [datetime.datetime.fromisoformat(value).replace(tzinfo=None) for value in values]

    assert told(values) == ("date", expected)


def test_a_year_or_a_month_is_its_first_day():
    expected = [datetime.datetime(1998, 1, 1), datetime.datetime(2003, 7, 1), None]

    assert told(["1998", "2003-07", ""], "x:date") == ("date", expected)


def test_digits_beyond_a_microsecond_are_cut():
    assert told(["2020-01-01T00:00:00.123456789"])[1][0].microsecond == 123456


@pytest.mark.parametrize(
    ("asked", "problem"),
    [
        ("section:number", "field 'section': expected a number, but found '(news|sport|a)"),
        ("section:date", "field 'section': expected a date, but found "),
    ],
)
def test_a_value_of_another_type_is_refused_with_its_document(asked, problem, tmp_path):
    with pytest.raises(SourceError, match=rf"a\.csv, line [23], {problem}"):
        ingest([write(tmp_path, "csv")], tmp_path / "corpus", keeping(asked))
    assert not (tmp_path / "corpus").exists()


@pytest.mark.parametrize("kind", FORMATS)
def test_a_type_that_is_none_is_said_to_be_so(kind, tmp_path):
    with pytest.raises(SourceError, match=r"There is no type 'datum'; use number, date or string"):
        ingest([write(tmp_path, kind)], tmp_path / "corpus", keeping("section:datum"))


def test_fields_without_a_name_are_shown_in_quotes():
    assert described({"text": "text", "": "string"}) == "text and '' (string)"


def test_a_type_takes_all_documents(tmp_path):
    rows = [{"text": "owl", "x": "1"} for _ in range(400)]
    rows[-1]["x"] = "one"

    ingest([write(tmp_path, "jsonl", rows)], tmp_path / "corpus", keeping("x"))

    assert Corpus.open(tmp_path / "corpus").fields == {"x": "string"}


# --- readers --------------------------------------------------------------------------------------
def test_irregular_lines_are_read_like_regular_ones(tmp_path):
    rows = [
        {"text": "the owl", "n": 3, "b": True},
        {"text": "the cat", "late": "x", "n": None},
        {"n": 2.5, "text": "the dog", "b": False},
    ]

    ingest([write(tmp_path, "jsonl", rows)], tmp_path / "corpus", keeping("all"))

    corpus = Corpus.open(tmp_path / "corpus")
    assert corpus.fields == {"text": "text", "n": "number", "b": "string", "late": "string"}
    assert corpus.documents(["2", "1", "0"]).select(["n", "b", "late"]).to_pylist() == [
        {"n": 2.5, "b": "false", "late": None},
        {"n": None, "b": None, "late": "x"},
        {"n": 3.0, "b": "true", "late": None},
    ]


VALUES = st.sampled_from([None, 1, -2, 0.5, 1e300, True, False, "", "x", "7", "2020-01-01"])
RECORDS = st.fixed_dictionaries(
    {"text": st.sampled_from(["an owl", "", None])},
    optional={"a": VALUES, "b": st.integers(-5, 5) | st.none(), "c": st.floats(-1, 1)},
)


@settings(max_examples=25)
@given(rows=st.lists(RECORDS, min_size=1, max_size=6), n_first=st.integers(1, 7))
@example(rows=[{"text": "an owl", "b": 1}, {"text": "an owl", "a": None}], n_first=1)
def test_lines_read_by_arrow_and_one_by_one_are_the_same(rows, n_first):
    options = ReadOptions(keep=("all",))
    data = "".join(json.dumps(row) + "\n" for row in rows).encode()
    block = byte_stream.LineBlock("a.jsonl", 2, data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(read_jsonl, "_FIRST_LINES", n_first)
        at_once = read_jsonl.decode(block, options)

    expected = read_jsonl._decode_each(block, options)

    assert at_once[:3] == expected[:3]
    blocks = []
    for found in (at_once, expected):
        types = FieldTypes(options.kept)
        for name, column in found.fields.items():
            types._look_at(name, column)
        blocks.append(
            table_of_fields({"text": found.texts, **found.fields}, types.types, found.ids)
        )
    assert blocks[0].to_pylist() == [
        {name: row.get(name) for name in blocks[0].column_names} for row in blocks[1].to_pylist()
    ]


def test_columns_of_tables_have_the_types_of_their_values(tmp_path):
    day = datetime.datetime(2020, 5, 6, 7, 8, 9, 250_000)
    berlin = pa.timestamp("ns", "Europe/Berlin")
    table = pa.table(
        {
            "text": ["the owl", "the cat"],
            "whole": pa.array([1, None], pa.int16()),
            "real": [0.1, float("nan")],
            "day": pa.array([datetime.date(2020, 1, 2), None]),
            "time": pa.array([day, None], berlin),
            "kind": pa.array(["a", None]).dictionary_encode(),
            "yes": [True, None],
        }
    )
    pq.write_table(table, tmp_path / "a.parquet")

    ingest([tmp_path / "a.parquet"], tmp_path / "corpus", keeping("all"))

    first, second = Corpus.open(tmp_path / "corpus").documents(["0", "1"]).to_pylist()
    assert first == {
        **{"id": "0", "label": None, "text": "the owl", "whole": 1.0, "real": 0.1},
        **{
            "day": datetime.datetime(2020, 1, 2),
            "time": day.replace(hour=9),
            "kind": "a",
            "yes": "true",
        },
    }
    assert set(second.values()) == {"1", None, "the cat"}


@pytest.mark.parametrize(
    ("kind", "keep", "rows", "problem"),
    [
        ("jsonl", ["sectoin"], ROWS, "line 1: expected a field 'sectoin', but found 'id', 'label'"),
        ("csv", ["sectoin"], ROWS, "expected a field 'sectoin', but found 'id', 'label'"),
        ("parquet", ["sectoin"], ROWS, "expected a field 'sectoin', but found 'id', 'label'"),
        ("jsonl", ["x"], [{"text": "owl", "x": [1]}], "expected a string or a number in field 'x'"),
        (
            "parquet",
            ["x"],
            [{"text": "owl", "x": [1]}],
            "field 'x' holds lists or objects, which cannot be kept",
        ),
        ("csv", ["all"], [{"text": "o"} | {f"f{n}": 1 for n in range(1001)}], "more than 1,000"),
    ],
)
def test_fields_that_cannot_be_kept_are_refused(kind, keep, rows, problem, tmp_path):
    options = keeping(*keep)

    with pytest.raises(SourceError, match=problem):
        ingest([write(tmp_path, kind, rows)], tmp_path / "corpus", options)


def test_a_field_twice_in_a_file_is_refused(tmp_path):
    (tmp_path / "a.csv").write_text("text,x,x\nowl,1,2\n")
    (tmp_path / "a.jsonl").write_text('{"text": "owl", "x": 1, "x": 2}\n')

    for name in ("a.csv", "a.jsonl"):
        with pytest.raises(SourceError, match="two fields are called 'x'"):
            ingest([tmp_path / name], tmp_path / "corpus", keeping("x"))


@pytest.mark.parametrize(
    ("keep", "problem"),
    [
        (["text", "text"], "keep: names a field twice: text, text"),
        (["x:date", "x"], "'x' is named twice"),
        (["id:number"], "'id' is always a string"),
        (["text:number"], "'text' is always a string"),
        ([""], "a field has no name"),
        (["a", 3], "must be"),
        ("text", "must be a list of names"),
    ],
)
def test_odd_lists_of_fields_are_refused(keep, problem):
    with pytest.raises(OptionError, match=problem):
        ReadOptions(keep=keep if isinstance(keep, str) else tuple(keep))


def test_a_name_may_hold_a_colon(tmp_path):
    rows = [{"text": "owl", "dc:date": "2020-01-01"}]

    ingest([write(tmp_path, "jsonl", rows)], tmp_path / "c", keeping("dc:date:string"))

    assert Corpus.open(tmp_path / "c").fields == {"dc:date": "string"}


def test_counts_have_no_texts_to_keep(tmp_path):
    (tmp_path / "a.ldac").write_text("1 0:1\n")

    with pytest.raises(OptionError, match=r"^keep: is for text, lines, .* the format is lda-c"):
        ingest([tmp_path / "a.ldac"], tmp_path / "corpus", keeping("text"))


# --- documents go on ------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def ingested(tmp_path_factory):
    """Where the corpus is that tests have copies of."""
    return tmp_path_factory.mktemp("ingested") / "whole"


@pytest.fixture
def whole(ingested, tmp_path):
    """A corpus with all fields, beside its source."""
    source = write(tmp_path, "jsonl")
    if not ingested.exists():
        ingest([source], ingested, keeping("all"))
    return shutil.copytree(ingested, tmp_path / "whole")


def files_of(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_both_parts_of_a_split_keep_them(whole, tmp_path):
    parts = tmp_path / "train", tmp_path / "heldout"
    split_corpus(whole, *parts, 0.2, False, np.random.default_rng(0))

    rows = [kept_of(Corpus.open(part)) for part in parts]
    expected = expected_of(ROWS)
    assert sorted(chain(*rows), key=lambda row: int(row["id"][1:])) == expected
    assert [row for row in expected if row in rows[1]] == rows[1]
    assert all(validate(part) == [] for part in parts)


def test_validation_documents_keep_them(whole):
    corpus = Corpus.open(whole)

    parts = hold_out(corpus, 30, np.random.default_rng(0))

    rows = [kept_of(part) for part in parts]
    assert len(rows[1]) == 30
    assert sorted(chain(*rows), key=lambda row: int(row["id"][1:])) == kept_of(corpus)
    one = rows[0][40]["id"]
    assert parts[0].documents([one]).to_pylist() == corpus.documents([one]).to_pylist()


def test_an_append_keeps_the_fields_of_the_corpus(whole, tmp_path):
    more = make_rows(50, seed=1)
    for row in more:
        row["id"] += "-more"
        row["extra"] = 1
    types = Corpus.open(whole).fields

    append([write(tmp_path, "csv", more, "more")], whole, IngestOptions(where=Workplace(workers=2)))

    longer = Corpus.open(whole)
    assert longer.fields == types
    for row in more:
        del row["extra"]
    assert kept_of(longer) == expected_of(ROWS) + expected_of(more)
    assert validate(whole) == []


@pytest.mark.parametrize(
    ("rows", "error", "problem"),
    [
        ([{"text": "owl"}], SourceError, "expected a field 'section', but found 'text'"),
        (
            [{**ROWS[0], "id": "new", "score": "high"}],
            SourceError,
            "field 'score': expected a number, but found 'high'",
        ),
    ],
)
def test_an_append_without_these_fields_is_refused(rows, error, problem, whole, tmp_path):
    before = files_of(whole)

    with pytest.raises(error, match=problem):
        append([write(tmp_path, "jsonl", rows, "more")], whole)
    assert files_of(whole) == before


def test_an_append_of_plain_text_is_refused(whole, tmp_path):
    (tmp_path / "a.lines").write_text("owl\n")

    with pytest.raises(
        OptionError, match=r"^append: the corpus keeps text, section, .* lines file"
    ):
        append([tmp_path / "a.lines"], whole)
    with pytest.raises(OptionError, match=r"^keep: cannot be combined with --append"):
        append([tmp_path / "a.jsonl"], whole, IngestOptions(read=ReadOptions(keep=("text",))))


def test_under_a_given_vocabulary_they_are_kept_too(whole, tmp_path):
    read = ReadOptions(keep=("text", "score"))

    ingest([tmp_path / "a.jsonl"], tmp_path / "new", IngestOptions(read=read, vocabulary=whole))

    new, old = Corpus.open(tmp_path / "new"), Corpus.open(whole)
    assert new.fields == {"text": "text", "score": "number"}
    assert documents_of(new) == documents_of(old)
    assert [row["text"] for row in kept_of(new)] == [row["text"] for row in kept_of(old)]
    assert new.n_unknown_tokens == 0


@pytest.mark.parametrize("kind", ["jsonl", "csv"])
def test_any_number_of_workers_writes_the_same_bytes(kind, tmp_path):
    path = write(tmp_path, kind)
    for workers in (1, 3):
        options = replace(keeping("all"), where=Workplace(workers=workers))
        ingest([path], tmp_path / f"by-{workers}", options)

    assert files_of(tmp_path / "by-1") == files_of(tmp_path / "by-3")


@pytest.mark.parametrize("n_blocks", [1, 4])
def test_an_interrupted_ingest_continues_to_the_same_bytes(n_blocks, whole, tmp_path, monkeypatch):
    plain, calls = unfinished._write, []

    def stopping(placed):
        calls.append(placed)
        if len(calls) > n_blocks:
            raise KeyboardInterrupt
        return plain(placed)

    with monkeypatch.context() as patch:
        patch.setattr(unfinished, "_write", stopping)
        with pytest.raises(KeyboardInterrupt):
            ingest([tmp_path / "a.jsonl"], tmp_path / "again", keeping("all"))
    said = []

    ingest([tmp_path / "a.jsonl"], tmp_path / "again", keeping("all"), say=said.append)

    assert "continuing" in said[0]
    assert files_of(tmp_path / "again") == files_of(whole)


# --- reading --------------------------------------------------------------------------------------
def test_documents_come_in_the_order_asked(whole):
    corpus = Corpus.open(whole)
    ids = ["d77", "d0", "d118", "d77"]

    found = corpus.documents(ids)

    assert found.column_names == ["id", "label", *TYPES]
    assert found.to_pylist() == [as_read(ROWS[int(name[1:])]) for name in ids]
    assert corpus.documents([]).num_rows == 0
    with pytest.raises(OptionError, match=r"^ids: no document has the id 'd9'"):  # it has no words
        corpus.documents(["d1", "d9"])


def test_of_documents_with_one_id_the_first_is_meant():
    table = pa.table({"text": ["the owl", "the cat"], "id": ["a", "a"]})

    corpus = Corpus.from_table(table, keep=["text"], duplicate_ids="keep")

    assert corpus.documents(["a"])["text"].to_pylist() == ["the owl"]


def test_texts_are_read_only_for_texts(whole):
    for path in whole.glob("texts-*"):
        path.write_bytes(bytes(path.stat().st_size))
    corpus = Corpus.open(whole)

    assert sum(len(table) for table in corpus.read_fields(["section", "date"])) == 108
    with pytest.raises(CorpusFormatError, match=r"texts-00000\.parquet: expected SHA-256"):
        corpus.documents(["d0"])


@pytest.mark.filterwarnings("ignore:Skipped", "ignore:.*letters do not belong to any word")
def test_an_unknown_field_is_named_with_those_that_there_are(whole):
    corpus = Corpus.open(whole)

    for read in (corpus.read_fields, corpus.row_groups[0].read_fields):
        with pytest.raises(
            OptionError, match=r"^field: the corpus keeps no field 'x'\. It keeps te"
        ):
            read(["x"])
    with pytest.raises(OptionError, match=r"Ingest again with --keep"):
        Corpus.from_texts(["an owl"]).read_fields(["text"])


# --- in memory ------------------------------------------------------------------------------------
@pytest.mark.filterwarnings("ignore:Skipped")
def test_a_table_in_memory_keeps_what_files_keep(whole):
    corpus = Corpus.from_table(pa.Table.from_pylist(ROWS), keep=["all"], min_df=1, max_df=1.0)

    assert corpus.fields == TYPES
    assert kept_of(corpus) == kept_of(Corpus.open(whole))


@pytest.mark.filterwarnings("ignore:Skipped")
def test_a_data_frame_keeps_its_columns():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(ROWS)
    frame["date"] = pandas.to_datetime(frame["date"])

    corpus = Corpus.from_table(frame, keep=["text", "date", "score"], min_df=1, max_df=1.0)

    assert corpus.fields == {"text": "text", "date": "date", "score": "number"}
    expected = [
        {name: row[name] for name in ("id", "label", "text", "date", "score")}
        for row in expected_of(ROWS)
    ]
    assert kept_of(corpus) == expected


@pytest.mark.filterwarnings("ignore:Skipped")
def test_texts_in_memory_are_kept_if_asked():
    assert Corpus.from_texts(["the owl", "", "the cat"], keep=["text"]).documents(["2"])[
        "text"
    ].to_pylist() == ["the cat"]
    with pytest.raises(OptionError, match=r"^keep: texts have no field 'section'"):
        Corpus.from_texts(["the owl"], keep=["section"])


@pytest.mark.filterwarnings("ignore:Skipped")
def test_a_saved_corpus_is_the_one_in_memory(whole, tmp_path):
    in_memory = Corpus.from_table(pa.Table.from_pylist(ROWS), keep=["all"], min_df=1, max_df=1.0)

    for name, corpus in (("a", in_memory), ("b", Corpus.open(whole))):
        corpus.save(tmp_path / name)

        saved = Corpus.open(tmp_path / name)
        assert documents_of(saved) == documents_of(corpus)
        assert kept_of(saved) == kept_of(corpus)
        assert (saved.n_skipped, saved.fields) == (12, TYPES)
        assert saved.fingerprint == corpus.fingerprint
        assert validate(tmp_path / name) == []
    totals = ("candidates.parquet", "manifest.json")  # which a copy in memory does not have
    kept = {name: data for name, data in files_of(whole).items() if name not in totals}
    saved = files_of(tmp_path / "b")
    assert {name: saved[name] for name in kept} == kept


def test_a_corpus_is_not_saved_over_itself_or_others(whole, tmp_path):
    corpus = Corpus.open(whole)

    with pytest.raises(OutputError, match="input"):
        corpus.save(whole, overwrite=True)
    corpus.save(tmp_path / "copy")
    with pytest.raises(OutputError, match="exists"):
        corpus.save(tmp_path / "copy")
    corpus.save(tmp_path / "copy", overwrite=True)
    assert validate(tmp_path / "copy") == []


def test_the_matrix_has_the_counts(whole):
    corpus = Corpus.open(whole)

    matrix = corpus.to_csr()

    words = corpus.vocabulary.words
    found = [
        {words[column]: int(row[column]) for column in np.flatnonzero(row)}
        for row in matrix.toarray()
    ]
    assert found == list(documents_of(corpus).values())
    again = Corpus.from_csr(matrix, words)
    assert (again.to_csr() != matrix).nnz == 0


# --- damage ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("stem", ["texts", "fields"])
def test_damage_is_found(stem, whole):
    path = whole / f"{stem}-00001.parquet"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)

    (problem,) = validate(whole)
    assert f"{stem}-00001.parquet: expected SHA-256" in problem
    path.unlink()
    with pytest.raises(CorpusFormatError, match=rf"{stem}-00001\.parquet: the file is missing"):
        Corpus.open(whole)


def forged(whole, stem, table, **options):
    """The corpus with another file, listed as if ingest had written it."""
    path = whole / f"{stem}-00000.parquet"
    pq.write_table(table, path, **options)
    manifest = json.loads((whole / "manifest.json").read_text())
    entry = document_rows.FileEntry.of(path).to_json()
    manifest["shards"][0][stem] = entry
    del manifest["sha256"]
    write_sealed(whole / "manifest.json", manifest)
    return whole


STRINGS = pa.array(["x"] * 32)


@pytest.mark.parametrize(
    ("stem", "columns", "problem"),
    [
        ("texts", {"text": pa.array(range(32))}, "expected a text (string), but found int64"),
        ("texts", {"text": STRINGS[:31]}, "expected 16 rows, but found 15"),
        ("texts", {"other": STRINGS}, "cannot be read"),
        ("texts", {"text": STRINGS.cast(pa.binary())}, "expected a text (string), but found bin"),
        ("fields", {"score": pa.array([np.inf] * 32)}, "column 'score': some numbers are not fin"),
        (
            "fields",
            {"date": pa.array([0] * 32, pa.date32())},
            "expected a date (timestamp[us]), bu",
        ),
    ],
)
def test_files_of_strangers_are_checked(stem, columns, problem, whole):
    if stem == "fields":
        kinds = {"section": pa.string(), "date": pa.timestamp("us"), "score": pa.float64()}
        own = {name: pa.nulls(32, kind) for name, kind in (kinds | {"zip": pa.string()}).items()}
        columns = own | columns
    size = 4 if stem == "texts" else 16
    folder = forged(whole, stem, pa.table(columns), row_group_size=size, store_schema=False)

    problems = validate(folder)

    assert problems
    assert any(part in problem_ for problem_ in problems for part in problem.split("|")), problems
    with pytest.raises(CorpusFormatError):
        list(Corpus.open(folder).read_fields(list(TYPES)))


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"fields": {"text": "string"}}, "field 'text' cannot be of type string"),
        ({"fields": {"section": "text"}}, "field 'section' cannot be of type text"),
        ({"fields": {"section": "string"}}, "does not have the files of the fields"),
        ({"fields": {}}, "does not have the files of the fields"),
        ({"fields": {"": "string"}}, "expected a string of length >= 1"),
        ({"fields": {"section": "list"}}, "invalid value"),
        ({"fields": {f"f{n}": "string" for n in range(1001)}}, "1,001 fields are more than 1,000"),
        ({"fields": 7}, "expected a JSON object"),
    ],
)
def test_manifests_of_strangers_are_checked(change, problem, whole):
    manifest = json.loads((whole / "manifest.json").read_text()) | change
    del manifest["sha256"]
    write_sealed(whole / "manifest.json", manifest)

    with pytest.raises(CorpusFormatError, match=problem):
        Corpus.open(whole)


@pytest.mark.parametrize("n_before", [0, 3, 200])
def test_a_name_of_a_field_that_is_no_text_is_refused(tmp_path, n_before):
    lines = ['{"text": "the owl"}'] * n_before + ['{"text": "the owl", "ta\\ud800g": "x"}']
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    options = IngestOptions(read=ReadOptions(keep=("all",)))
    with pytest.raises(SourceError, match=r"the name of the field 'ta\\ud800g' is not text"):
        ingest([tmp_path / "a.jsonl"], tmp_path / "out", options)


@pytest.mark.parametrize("keep", ["u", "u:string"])
def test_whole_numbers_of_json_keep_their_digits_beside_a_float(tmp_path, keep):
    numbers = ["1.5", "1237850715927674884", "1237850715927674885", "20240531183000.0"]
    lines = [f'{{"text": "the owl", "u": {number}}}' for number in numbers]
    (tmp_path / "a.jsonl").write_text("\n".join(lines))

    ingest([tmp_path / "a.jsonl"], tmp_path / "c", IngestOptions(read=ReadOptions(keep=(keep,))))

    corpus = Corpus.open(tmp_path / "c")
    (table,) = corpus.read_fields(["u"])
    assert corpus.fields == {"u": "string"}
    assert table["u"].to_pylist() == numbers
