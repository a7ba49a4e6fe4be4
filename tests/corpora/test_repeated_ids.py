"""Ids as their owners gave them: none is lost, none repeats unless told, and none is made twice."""

import csv
import io
import json
import os
import random
import tempfile
from dataclasses import replace

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from sparsetopics import Corpus
from sparsetopics.base.errors import SourceError
from sparsetopics.cli.main import main
from sparsetopics.corpora import repeated_ids
from sparsetopics.corpora.append import append
from sparsetopics.corpora.ingest import IngestOptions, ingest
from sparsetopics.corpora.readers.options import ReadOptions
from sparsetopics.corpora.sources import byte_stream
from sparsetopics.corpora.store import document_rows
from sparsetopics.corpora.store.document_rows import DocumentManifest
from sparsetopics.corpora.text.pruning import PruningOptions
from sparsetopics.corpora.validate import validate

TEXTS = ["owl\nand cat", "cat dog", "dog bond", "bond owl", "owl dog", "cat bond"]
EVERY_WORD = PruningOptions(min_df=1, max_df=1.0)
LONG = "1237850715927674884"  # 19 digits, which 64 bits of a float do not hold


def rows_of(ids, **fields):
    names = {"id": ids, "text": [TEXTS[n % len(TEXTS)] for n in range(len(ids))], **fields}
    return [dict(zip(names, row, strict=True)) for row in zip(*names.values(), strict=True)]


# --- readers, with the place of the document of a number ------------------------------------------
def write_csv(path, rows):
    out = io.StringIO()
    writer = csv.DictWriter(out, rows[0], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    path.write_text(out.getvalue().replace("\n", "\n\n", 1))  # a blank line, which counts


def csv_place(n):
    return f"line {3 + n + (n + len(TEXTS) - 1) // len(TEXTS)}"  # the first text has two lines


def write_jsonl(path, rows):
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))


def write_odd_jsonl(path, rows):
    """Blank lines, so that it is read line by line."""
    path.write_text("".join(f"\n{json.dumps(row)}\n" for row in rows))


def write_parquet(path, rows):
    pq.write_table(pa.Table.from_pylist(rows), path)


def write_arrow(path, rows):
    table = pa.Table.from_pylist(rows)
    with pa.ipc.new_file(path, table.schema) as out:
        out.write_table(table)


READERS = {
    "csv": (write_csv, "csv", csv_place),
    "jsonl": (write_jsonl, "jsonl", "line {}".format),
    "odd jsonl": (write_odd_jsonl, "jsonl", lambda n: f"line {2 * n + 2}"),
    "parquet": (write_parquet, "parquet", "row {}".format),
    "arrow": (write_arrow, "arrow", "row {}".format),
}
READERS["jsonl"] = (write_jsonl, "jsonl", lambda n: f"line {n + 1}")


@pytest.fixture(params=READERS)
def reader(request):
    return READERS[request.param]


@pytest.fixture
def write(tmp_path):
    """Writes records as lines of JSON, under a name."""

    def written(name, rows):
        write_jsonl(tmp_path / f"{name}.jsonl", rows)
        return tmp_path / f"{name}.jsonl"

    return written


@pytest.fixture
def small_blocks(monkeypatch):
    """Many blocks, row groups and shards, and few digests at once."""
    monkeypatch.setattr(byte_stream, "BLOCK_BYTES", 300)
    monkeypatch.setattr(document_rows, "DOCS_PER_ROW_GROUP", 4)
    monkeypatch.setattr(document_rows.DocumentKind, "groups_per_shard", 2)
    monkeypatch.setattr(repeated_ids, "_AT_ONCE", 7)


def options(duplicate_ids="refuse", keep=(), **others):
    others = {"pruning": EVERY_WORD} | others
    return IngestOptions(read=ReadOptions(duplicate_ids=duplicate_ids, keep=keep), **others)


def added(duplicate_ids="refuse"):
    return IngestOptions(read=ReadOptions(duplicate_ids=duplicate_ids))


def ids_of(folder):
    return [name for names in Corpus.open(folder).ids() for name in names]


def bytes_of(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def run(*words, status=0):
    result = CliRunner().invoke(main, [str(word) for word in words])
    assert result.exit_code == status, result.output
    return result


# --- numbers that would not survive ---------------------------------------------------------------
@pytest.mark.parametrize("asked", ["user", "user:number"])
@pytest.mark.parametrize("value", [LONG, "00501", "-007", "1237850715927674884.5"])
def test_what_a_number_cannot_hold_is_refused_by_append(reader, asked, value, tmp_path):
    write_rows, kind, place = reader
    first, second = tmp_path / f"a.{kind}", tmp_path / f"b.{kind}"
    write_rows(first, rows_of(list("abc"), user=["1", "2.5", "3"]))
    write_rows(second, rows_of(list("defghijk"), user=[*"1234567", value]))
    ingest([first], tmp_path / "corpus", options(keep=(asked,)))
    before = bytes_of(tmp_path / "corpus")

    with pytest.raises(SourceError) as told:
        append([second], tmp_path / "corpus")

    wrong = f"{second}, {place(7)}, field 'user': expected a number, but found '{value}'. "
    assert str(told.value).startswith(wrong)
    assert bytes_of(tmp_path / "corpus") == before


@pytest.mark.parametrize("value", [LONG, "00501"])
def test_a_first_ingest_keeps_such_a_column_as_strings(reader, value, tmp_path):
    write_rows, kind, place = reader
    source = tmp_path / f"a.{kind}"
    write_rows(source, rows_of(list("abc"), user=["1", "2", value]))

    ingest([source], tmp_path / "corpus", options(keep=("user",)))

    corpus = Corpus.open(tmp_path / "corpus")
    assert corpus.fields == {"user": "string"}
    assert corpus.documents(["c"])["user"].to_pylist() == [value]
    with pytest.raises(SourceError, match=rf"{place(2)}, field 'user': .* '{value}'"):
        ingest([source], tmp_path / "other", options(keep=("user:number",)))


def test_numbers_that_survive_stay_numbers(write, tmp_path):
    own = ["0", "-0.5", "0.1", "1e300", "1000000000000000000", "-1234567890123456", "+5"]
    source = write("a", rows_of(list("abcdefg"), user=own))

    ingest([source], tmp_path / "corpus", options(keep=("user:number",)))

    (kept,) = Corpus.open(tmp_path / "corpus").read_fields(["user"])
    assert kept["user"].to_pylist() == [float(value) for value in own]


def test_a_table_in_memory_refuses_them_with_the_row():
    table = pa.table({"text": TEXTS, "user": ["", *"1234", LONG]})

    with pytest.raises(SourceError, match=rf"^table, row 5, field 'user': .* '{LONG}'"):
        Corpus.from_table(table, keep=["user:number"])


# --- ids that repeat ------------------------------------------------------------------------------
@pytest.mark.parametrize("with_words", [False, True], ids=["own words", "given words"])
def test_an_id_that_repeats_is_refused_with_both_places(reader, with_words, tmp_path, small_blocks):
    write_rows, kind, place = reader
    source, words = tmp_path / f"a.{kind}", {}
    if with_words:
        write_rows(tmp_path / f"w.{kind}", rows_of(list("abcdef")))
        ingest([tmp_path / f"w.{kind}"], tmp_path / "words", options())
        words = {"vocabulary": tmp_path / "words", "pruning": PruningOptions()}
    write_rows(source, rows_of([f"id {n}" for n in range(40)] + ["id 7", "id 2"]))

    with pytest.raises(SourceError) as told:
        ingest([source], tmp_path / "corpus", options(**words))

    found = str(told.value)
    assert found.startswith(f"{source}, {place(40)}: the id 'id 7' is also that of {source}, ")
    assert f", {place(7)}. Correct it, " in found
    assert sorted(path.name for path in tmp_path.iterdir() if "corpus" in path.name) == []


def test_an_id_of_the_corpus_is_refused_by_append(reader, tmp_path, small_blocks):
    write_rows, kind, place = reader
    first, second = tmp_path / f"a.{kind}", tmp_path / f"b.{kind}"
    write_rows(first, rows_of([f"{n}x" for n in range(30)]))
    write_rows(second, rows_of([f"{n}y" for n in range(20)] + ["17x"]))
    ingest([first], tmp_path / "corpus", options())
    before = bytes_of(tmp_path / "corpus")

    with pytest.raises(SourceError) as told:
        append([second], tmp_path / "corpus")

    assert str(told.value).startswith(
        f"{second}, {place(20)}: {tmp_path / 'corpus'} already has a document with the id '17x'. "
    )
    assert bytes_of(tmp_path / "corpus") == before


def test_skip_makes_a_repeated_append_harmless(reader, tmp_path, small_blocks):
    write_rows, kind, _ = reader
    first, second = tmp_path / f"a.{kind}", tmp_path / f"b.{kind}"
    write_rows(first, rows_of([f"{n}x" for n in range(30)]))
    write_rows(second, rows_of([f"{n}y" for n in range(20)] + ["17x", "3y", "z"]))
    ingest([first], tmp_path / "corpus", options())
    said = []

    n_added, _ = append([second], tmp_path / "corpus", added("skip"), say=said.append)

    assert n_added == 21
    assert said == [f"{tmp_path / 'corpus'}: left out 2 documents with an id that is taken."]
    assert ids_of(tmp_path / "corpus")[30:] == [f"{n}y" for n in range(20)] + ["z"]
    assert validate(tmp_path / "corpus") == []
    before = bytes_of(tmp_path / "corpus")
    os.utime(second, (0, 0))  # the same documents in another file
    again = run(
        *("ingest", second, "--append", tmp_path / "corpus", "--duplicate-ids", "skip", "--json")
    )
    assert "there were no documents to add." in again.stderr
    assert json.loads(again.stdout)["n_repeated"] == 23
    assert bytes_of(tmp_path / "corpus") == before


def test_skipped_documents_are_as_if_they_were_not_there(reader, tmp_path, small_blocks):
    write_rows, kind, _ = reader
    draw = random.Random(3)
    ids = [f"id {draw.randrange(40)}" for _ in range(80)]
    rows = rows_of(ids, user=[str(n) for n in range(80)])
    firsts = [row for n, row in enumerate(rows) if row["id"] not in ids[:n]]
    write_rows(tmp_path / f"all.{kind}", rows)
    write_rows(tmp_path / f"once.{kind}", firsts)
    limits = {"keep": ("all",), "pruning": PruningOptions(min_df=0.2)}

    ingest([tmp_path / f"all.{kind}"], tmp_path / "all", options("skip", **limits))
    ingest([tmp_path / f"once.{kind}"], tmp_path / "once", options(**limits))

    assert bytes_of(tmp_path / "all") == bytes_of(tmp_path / "once")
    given = {"vocabulary": tmp_path / "once", "pruning": PruningOptions()}
    ingest([tmp_path / f"all.{kind}"], tmp_path / "given", options("skip", **given))
    assert ids_of(tmp_path / "given") == ids_of(tmp_path / "once")


def test_a_wrong_value_behind_skipped_documents_has_its_place(write, tmp_path, small_blocks):
    ids = ["a", "b", "a", "a", "c", "b", "d"]
    source = write("a", rows_of(ids, user=[*"12x4x6", "007"]))

    with pytest.raises(SourceError, match=r"a\.jsonl, line 5, field 'user': .* found 'x'"):
        ingest([source], tmp_path / "corpus", options("skip", keep=("user:number",)))


def test_keep_is_the_old_way(write, tmp_path):
    source = write("a", rows_of(["a", "a", "b"]))
    ingest([source], tmp_path / "corpus", options("keep"))

    append([source], tmp_path / "corpus", added("keep"))

    assert ids_of(tmp_path / "corpus") == ["a", "a", "b"] * 2
    # An old repetition does not stop an append, and other ids are still compared.
    append([write("c", rows_of(["c"]))], tmp_path / "corpus")
    with pytest.raises(SourceError, match="already has a document with the id 'b'"):
        append([write("b", rows_of(["b"]))], tmp_path / "corpus")


def test_a_corpus_in_memory_does_the_same():
    ids = ["a", "b", "a", "c", "b", None]
    table = pa.table({"text": TEXTS, "id": ids})

    with pytest.raises(SourceError, match=r"^table, row 2: the id 'a' is also .*, row 0"):
        Corpus.from_table(table)

    assert [*Corpus.from_table(table, duplicate_ids="skip").ids()] == [["a", "b", "c", "no-id-3"]]
    assert [*Corpus.from_table(table, duplicate_ids="keep").ids()] == [[*ids[:5], "no-id-5"]]


@pytest.mark.parametrize("library", ["pandas", "polars", "datasets"])
def test_tables_of_other_libraries_do_the_same(library):
    maker = pytest.importorskip(library)
    columns = {"text": TEXTS, "id": ["a", "b", "c", "d", "e", "b"]}
    table = {
        "pandas": lambda: maker.DataFrame(columns),
        "polars": lambda: maker.DataFrame(columns),
        "datasets": lambda: maker.Dataset.from_dict(columns),
    }[library]()

    with pytest.raises(SourceError, match=r"^table, row 5: the id 'b' is also .*, row 1"):
        Corpus.from_table(table)
    assert [*Corpus.from_table(table, duplicate_ids="skip").ids()] == [[*"abcde"]]


@pytest.mark.parametrize("policy", ["refuse", "skip"])
@pytest.mark.parametrize("digest", ["all equal", "by length"])
def test_ids_of_equal_digests_are_compared_in_full(
    policy, digest, write, tmp_path, monkeypatch, small_blocks
):
    def keys(text, offsets):
        lengths = np.diff(offsets).astype(np.uint64)
        return lengths if digest == "by length" else np.full_like(lengths, 7)

    monkeypatch.setattr(repeated_ids, "key_strings", keys)
    draw = random.Random(1)
    first = [f"{n:x}" for n in range(0, 300, 3)]
    ids = [f"{draw.randrange(400):x}" for _ in range(150)]
    ingest([write("a", rows_of(first))], tmp_path / "corpus", options())
    taken = {*first}
    new = [name for name in ids if not (name in taken or taken.add(name))]

    if policy == "skip":
        append([write("b", rows_of(ids))], tmp_path / "corpus", added("skip"))
    else:
        append([write("b", rows_of(new))], tmp_path / "corpus")

    assert ids_of(tmp_path / "corpus") == first + new


def test_digests_take_sixteen_bytes_a_document_and_nothing_without_ids(
    write, tmp_path, monkeypatch, small_blocks
):
    sizes = []

    def counted(**where):
        file = tempfile.TemporaryFile(**where)  # noqa: SIM115
        close = file.close
        file.close = lambda: (sizes.append(file.seek(0, 2)), close())
        return file

    monkeypatch.setattr(repeated_ids, "TemporaryFile", counted)
    ingest([write("a", rows_of([f"{n}" for n in range(500)]))], tmp_path / "corpus", options())
    assert sum(sizes) <= 16 * 500
    sizes.clear()
    (tmp_path / "a.lines").write_text("owl\n" * 50)
    append([tmp_path / "a.lines"], tmp_path / "corpus")
    ingest([tmp_path / "a.lines"], tmp_path / "other", IngestOptions(pruning=EVERY_WORD))
    assert sizes == []


@pytest.mark.parametrize("seed", range(20))
def test_as_many_digests_repeat_as_in_a_plain_count(seed, monkeypatch):
    monkeypatch.setattr(repeated_ids, "_AT_ONCE", 4 + seed % 3)
    values = np.random.default_rng(seed).integers(0, 3 + 2 * seed, 60)
    ordered = np.sort(values)

    n_repeated = repeated_ids._keep_repeated(ordered)

    own, counts = np.unique(values, return_counts=True)
    assert ordered[:n_repeated].tolist() == own[counts > 1].tolist()


def test_files_of_one_name_in_several_folders_are_no_repeated_ids(tmp_path):
    for folder in "ab":
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "1.txt").write_text("owl cat")
    ingest([tmp_path / "a", tmp_path / "b"], tmp_path / "corpus", options())
    before = bytes_of(tmp_path / "corpus")

    append([tmp_path / "b"], tmp_path / "corpus", added("skip"))

    assert bytes_of(tmp_path / "corpus") == before


def test_plain_lines_have_no_ids(tmp_path):
    (tmp_path / "a.lines").write_text("owl cat\n")

    said = run(
        *("ingest", tmp_path / "a.lines", "--out", tmp_path / "c", "--duplicate-ids", "skip"),
        status=1,
    )

    assert (
        "duplicate-ids: is for text, mallet, jsonl, json, csv, xlsx, parquet or arrow, but the "
        "format is lines" in said.stderr
    )


# --- documents without an id ----------------------------------------------------------------------
@pytest.mark.parametrize("empty", [None, ""])
@pytest.mark.parametrize("with_words", [False, True], ids=["own words", "given words"])
def test_a_position_is_never_an_id_that_is_given(reader, empty, with_words, tmp_path):
    write_rows, kind, _ = reader
    source, words = tmp_path / f"a.{kind}", {}
    write_rows(source, rows_of(["1", empty, "5", empty, "3"]))
    if with_words:
        ingest([source], tmp_path / "words", options())
        words = {"vocabulary": tmp_path / "words", "pruning": PruningOptions()}

    ingest([source], tmp_path / "corpus", options(**words))

    assert ids_of(tmp_path / "corpus") == ["1", "no-id-1", "5", "no-id-3", "3"]


def test_an_id_that_looks_like_a_name_by_position_is_refused(write, tmp_path):
    source = write("b", rows_of(["5", "no-id-1"]))
    with pytest.raises(SourceError, match=r"b\.jsonl, line 2: the id begins with no-id-, as"):
        ingest([source], tmp_path / "other", options())

    ingest([source], tmp_path / "corpus", options("keep"))
    assert ids_of(tmp_path / "corpus") == ["5", "no-id-1"]


def test_positions_alone_are_numbers(write, tmp_path):
    source = write("a", rows_of([None] * 4))

    ingest([source], tmp_path / "corpus", options())
    append([source], tmp_path / "corpus")

    assert ids_of(tmp_path / "corpus") == [str(n) for n in range(8)]


def test_a_later_file_with_ids_changes_the_names_of_an_earlier_one(write, tmp_path):
    sources = [write("a", rows_of([None, None])), write("b", rows_of(["0", "1", None]))]

    ingest(sources, tmp_path / "corpus", options())

    assert ids_of(tmp_path / "corpus") == ["no-id-0", "no-id-1", "0", "1", "no-id-4"]
    given = {"vocabulary": tmp_path / "corpus", "pruning": PruningOptions()}
    with pytest.raises(SourceError, match=r"b\.jsonl, line 1: the document has an id, but .* none"):
        ingest(sources, tmp_path / "other", options(**given))
    ingest(sources[::-1], tmp_path / "reversed", options(**given))
    assert ids_of(tmp_path / "reversed") == ["0", "1", "no-id-2", "no-id-3", "no-id-4"]


@pytest.mark.filterwarnings("ignore:.*no document has an id")
@pytest.mark.parametrize("is_old", [False, True])
def test_positions_of_an_append_avoid_the_ids_of_the_corpus(is_old, write, tmp_path):
    nobody = write("nobody", rows_of([None] * 3))
    ingest([write("a", rows_of(["7", "3", "5"]))], tmp_path / "corpus", options())
    if is_old:  # its manifest has no mark
        marked = DocumentManifest.load(tmp_path / "corpus")
        msgspec.structs.replace(marked, has_ids=False).save(tmp_path / "corpus")
        assert "has_ids" not in (tmp_path / "corpus" / "manifest.json").read_text()

    append([nobody], tmp_path / "corpus")

    assert ids_of(tmp_path / "corpus") == ["7", "3", "5", "no-id-3", "no-id-4", "no-id-5"]


@pytest.mark.filterwarnings("ignore:.*no document has an id")
def test_an_id_that_a_position_has_taken_is_never_skipped(write, tmp_path):
    ingest([write("a", rows_of([None] * 3))], tmp_path / "corpus", options())
    source = write("b", rows_of(["x", "2"]))

    for policy in ("refuse", "skip"):
        with pytest.raises(SourceError, match=r"line 2: .* the id '2', which is its position"):
            append([source], tmp_path / "corpus", added(policy))

    append([write("c", rows_of(["x", "9"]))], tmp_path / "corpus")
    append([write("d", rows_of([None] * 6))], tmp_path / "corpus")
    names = ids_of(tmp_path / "corpus")
    assert len(names) == len({*names}) == 11


def test_a_saved_corpus_knows_that_it_has_ids(write, tmp_path):
    without = replace(options(), candidates=False)
    ingest([write("a", rows_of(["0", "1", "2"]))], tmp_path / "corpus", without)

    Corpus.open(tmp_path / "corpus").save(tmp_path / "saved")

    assert DocumentManifest.load(tmp_path / "saved").has_ids
    assert bytes_of(tmp_path / "saved") == bytes_of(tmp_path / "corpus")


# --- an append of no documents --------------------------------------------------------------------
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("policy", ["refuse", "keep", "skip"])
def test_an_append_whose_ids_are_in_another_field_is_noticed(policy, write, tmp_path):
    corpus = tmp_path / "corpus"
    ingest([write("a", rows_of(["1x", "2x"]))], corpus, options())
    renamed = [{"doc_id": row["id"], "text": row["text"]} for row in rows_of(["1x", "3x"])]
    new, before = write("b", renamed), bytes_of(corpus)
    said = ("ingest", new, "--append", corpus, "--duplicate-ids", policy)
    remark = "no document has an id, but the corpus has ids. --id-field names their field.\n"

    if policy == "skip":
        assert run(*said, status=1).stderr.endswith(f"Error: {new}: {remark}")
        assert bytes_of(corpus) == before
        run(*said, "--id-field", "doc_id")
        assert ids_of(corpus) == ["1x", "2x", "3x"]
    else:
        assert f"Warning: {corpus}: {remark}" in run(*said).stderr
        assert ids_of(corpus) == ["1x", "2x", "no-id-2", "no-id-3"]


@pytest.mark.parametrize(
    "kind", ["csv", "csv without a header", "jsonl", "lines", "parquet", "arrow"]
)
def test_an_append_of_no_documents_says_so(kind, write, tmp_path):
    ingest([write("a", rows_of([None] * 3))], tmp_path / "corpus", options())
    before = bytes_of(tmp_path / "corpus")
    source = tmp_path / f"empty.{kind.partition(' ')[0]}"
    source.write_text("id,text\n" if kind == "csv" else "")
    if kind in ("parquet", "arrow"):
        table = pa.table({"text": pa.array([], pa.string())})
        with pa.ipc.new_file(source, table.schema) as out:
            out.write_table(table)
        if kind == "parquet":
            pq.write_table(table, source)

    said = run("ingest", source, "--append", tmp_path / "corpus", "--json")

    assert "corpus: there were no documents to add." in said.stderr
    record = json.loads(said.stdout)
    assert (record["n_added"], record["n_documents"], record["account"]) == (0, 3, None)
    assert bytes_of(tmp_path / "corpus") == before
