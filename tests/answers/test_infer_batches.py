"""``infer_batches``: topics of texts in tables of other engines, the same as ``infer`` gives."""

import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import sparsetopics
from sparsetopics.answers import record_batches
from sparsetopics.base.errors import OptionError, RunError, SourceError, VocabularyError
from sparsetopics.cli.main import main
from sparsetopics.runs.run import load_run, run_in_memory, save_run

N_TEXTS = 40
SETTINGS = {"corpus": {"n_documents": 60, "fingerprint": "abc"}, "options": {}, "seed": 8}
ARROW = {"type": "arrow", "null_handling": "special"}  # of functions in DuckDB


@pytest.fixture
def texts(vocabulary):
    """Texts of known words, one without any, one that is null and one that is empty."""
    rng = np.random.default_rng(0)
    words = rng.choice(vocabulary.words, (N_TEXTS - 3, 9))
    return [*map(" ".join, words), "zebra of nowhere", None, ""]


@pytest.fixture
def table(texts):
    return pa.table({"id": range(100, 100 + N_TEXTS), "body": texts})


@pytest.fixture
def written(run_folder, texts, tmp_path):
    """What the command writes for the texts, by the number of topics to list."""

    def infer(top=None):
        out = tmp_path / f"{top}.parquet"
        arguments = ["infer", run_folder, "-", "--out", out, *(["--top", top] if top else [])]
        lines = "".join(f"{text or ''}\n" for text in texts)
        result = CliRunner().invoke(main, list(map(str, arguments)), input=lines)
        assert result.exit_code == 0, result.output
        return pq.read_table(out)

    return infer


def rows_of(table):
    """Documents, topics and shares of a table that ``--top`` made."""
    share = table.column_names[-1]
    columns = (table[name].to_pylist() for name in ("doc_id", "topic", share))
    return list(zip(*columns, strict=True))


def turned(model):
    """The model with its topics in the opposite order."""
    return replace(model, topic_word_posterior=model.topic_word_posterior[::-1].copy())


def bytes_of(column):
    """Which values are there, and the bytes of their numbers."""
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    numbers = array.drop_null().flatten()
    assert numbers.type == pa.float32()
    return array.is_valid().to_pylist(), numbers.to_numpy().tobytes()


def long(topics, name="proportion"):
    """Rows as ``infer --top`` has them, of a column of lists, without ids and names."""
    rows = []
    for number, own in enumerate(topics.to_pylist()):
        rows += [
            (str(number), each["topic"], each[name])
            for each in own or [{"topic": None, name: None}]
        ]
    return rows


def test_a_name_with_a_comma_is_one_column(run_folder, table):
    named = table.rename_columns(["id", 'a, "b"'])

    found = sparsetopics.infer_batches(run_folder, text='a, "b"')(named)

    assert found["proportions"] == sparsetopics.infer_batches(run_folder, "body")(table).column(2)


def test_batches_get_the_bytes_that_infer_writes(run_folder, table, written):
    answer = sparsetopics.infer_batches(run_folder, text="body")

    batches = answer(iter(table.to_batches(max_chunksize=7)))

    assert next(batches).schema.names == ["id", "body", "proportions"]
    found = pa.Table.from_batches(answer(table.to_batches(max_chunksize=7)))
    assert found.select(["id", "body"]) == table
    expected = written()["proportions"]
    assert found["proportions"].cast(expected.type) == expected
    assert bytes_of(found["proportions"]) == bytes_of(expected)
    assert found["proportions"].null_count == 3


def test_top_lists_what_infer_writes_as_rows(run_folder, table, written):
    answer = sparsetopics.infer_batches(run_folder, text="body", top=3)

    found = pa.Table.from_batches(answer(table.to_batches(max_chunksize=7)))

    expected = written(3)
    assert long(found["topics"]) == rows_of(expected)
    ids = dict(zip(*(expected[name].to_pylist() for name in ("topic", "id")), strict=True))
    listed = [each for own in found["topics"].to_pylist() for each in own or []]
    assert all(each["id"] == ids[each["topic"]] for each in listed)
    assert [*listed[0]] == ["topic", "id", "proportion"]


def test_tables_and_columns_are_answered_in_kind(run_folder, table):
    answer = sparsetopics.infer_batches(run_folder, text="body")
    whole = pa.Table.from_batches(answer(table.to_batches()))

    assert answer(table) == whole
    assert answer(table["body"]) == whole["proportions"]
    assert answer(table["body"].combine_chunks()) == whole["proportions"]


@pytest.mark.parametrize(
    "kind",
    [pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())],
    ids=str,
)
def test_every_kind_of_strings_will_do(run_folder, texts, kind):
    answer = sparsetopics.infer_batches(run_folder)
    plain = pa.array(texts)
    column = plain.dictionary_encode() if pa.types.is_dictionary(kind) else plain.cast(kind)

    assert answer(column) == answer(plain)


def test_rows_without_texts_are_answered_too(run_folder, table):
    answer = sparsetopics.infer_batches(run_folder, text="body", top=2)
    nothing = pa.RecordBatch.from_pylist([], table.schema)

    (found,) = answer([nothing])
    assert (found.num_rows, found.schema) == (0, answer(table).schema)
    assert answer(table.schema.empty_table()).schema == answer(table).schema
    assert len(answer(pa.array([], pa.string()))) == 0
    assert list(answer([])) == []


def test_long_batches_are_cut(run_folder, texts, monkeypatch):
    monkeypatch.setattr(record_batches, "_AT_ONCE", 16)
    batch = pa.record_batch({"text": texts})
    answer = sparsetopics.infer_batches(run_folder)

    assert [len(each) for each in answer([batch])] == [16, 16, 8]
    assert pa.Table.from_batches(answer([batch]))["proportions"] == answer(batch["text"])


def test_a_batch_is_taken_when_the_one_before_has_been_answered(run_folder, table):
    """However many there are, one is in memory."""
    taken = []

    def batches():
        for batch in table.to_batches(max_chunksize=10):
            taken.append(batch)
            yield batch

    answered = sparsetopics.infer_batches(run_folder, text="body")(batches())

    for number, _ in enumerate(answered, 1):
        assert len(taken) == number


# --- engines --------------------------------------------------------------------------------------
def test_duckdb_lists_the_topics_of_a_column(run_folder, table, written):
    duckdb = pytest.importorskip("duckdb")
    answer = sparsetopics.infer_batches(run_folder, top=3)
    kind = "STRUCT(topic BIGINT, id VARCHAR, proportion FLOAT)[]"
    with duckdb.connect() as base:
        base.register("posts", table)
        base.create_function("topics", answer, ["VARCHAR"], kind, **ARROW)
        lists = "SELECT id - 100 AS row, unnest(topics(body)) AS t FROM posts"
        rows = base.sql(f"SELECT row, t.topic, t.proportion FROM ({lists})").fetchall()

    expected = rows_of(written(3))
    assert sorted(rows) == sorted((int(i), k, x) for i, k, x in expected if k is not None)


def test_duckdb_has_the_bytes_of_infer_in_columns_and_in_streams(run_folder, table, written):
    duckdb = pytest.importorskip("duckdb")
    answer = sparsetopics.infer_batches(run_folder, text="body")
    with duckdb.connect() as base:
        base.register("posts", table)
        base.create_function("proportions", answer, ["VARCHAR"], "FLOAT[]", **ARROW)
        of_column = base.sql("SELECT proportions(body) AS p FROM posts ORDER BY id")
        in_column = bytes_of(of_column.to_arrow_table()["p"])
        stream = pa.RecordBatchReader.from_stream(base.sql("FROM posts ORDER BY id"))
        in_stream = bytes_of(pa.Table.from_batches(answer(stream))["proportions"])

    assert in_column == in_stream == bytes_of(written()["proportions"])


def test_polars_maps_frames_and_columns(run_folder, table, written):
    polars = pytest.importorskip("polars")
    answer = sparsetopics.infer_batches(run_folder, text="body")
    frame = polars.from_arrow(table).lazy()
    kind = polars.List(polars.Float32)

    mapped = frame.map_batches(answer, schema={**frame.collect_schema(), "proportions": kind})
    column = polars.col("body").map_batches(answer, return_dtype=kind).alias("p")

    found = mapped.collect()
    assert found.columns == ["id", "body", "proportions"]
    assert bytes_of(found["proportions"].to_arrow()) == bytes_of(written()["proportions"])
    with_column = frame.with_columns(column).collect()
    assert with_column["p"].equals(found["proportions"], check_names=False)


def test_datasets_map_it(run_folder, table, written, tmp_path):
    datasets = pytest.importorskip("datasets")
    answer = sparsetopics.infer_batches(run_folder, text="body")
    posts = datasets.Dataset(table).with_format("arrow")

    found = posts.map(answer, batched=True, batch_size=16)

    assert found.column_names == ["id", "body", "proportions"]
    proportions = found[:]["proportions"]
    assert bytes_of(proportions) == bytes_of(written()["proportions"])


def test_datasets_do_not_take_the_results_of_another_run_from_their_cache(
    run_folder, model, vocabulary
):
    hash_of = pytest.importorskip("datasets.fingerprint").Hasher.hash
    before = hash_of(sparsetopics.infer_batches(run_folder))

    assert hash_of(sparsetopics.infer_batches(run_folder)) == before
    save_run(run_folder, run_in_memory("run", turned(model), vocabulary, SETTINGS, []))
    assert hash_of(sparsetopics.infer_batches(run_folder)) != before


def test_categories_of_polars_are_texts(run_folder, texts):
    polars = pytest.importorskip("polars")
    answer = sparsetopics.infer_batches(run_folder)
    column = polars.Series("body", texts)

    assert answer(column.cast(polars.Categorical)).equals(answer(column))


# --- processes and threads ------------------------------------------------------------------------
def test_it_pickles_small_and_answers_in_another_process(run_folder, table, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    answer = sparsetopics.infer_batches(run_folder.name, text="body", top=2)
    pq.write_table(table, "posts.parquet")
    (tmp_path / "answer.pickle").write_bytes(pickle.dumps(answer))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    code = """
import pickle, sys
from pathlib import Path
import pyarrow.parquet as pq
answer = pickle.loads(Path("../answer.pickle").read_bytes())
pq.write_table(answer(pq.read_table("../posts.parquet")), "found.parquet")
"""
    subprocess.run([sys.executable, "-c", code], check=True, cwd=elsewhere)

    assert (tmp_path / "answer.pickle").stat().st_size < 1_000
    assert pq.read_table(elsewhere / "found.parquet") == answer(table)


def test_a_process_reads_the_run_once(run_folder, table, monkeypatch):
    read = []

    def loading(path):
        read.append(path)
        return load_run(path)

    monkeypatch.setattr(record_batches, "load_run", loading)
    answer = sparsetopics.infer_batches(run_folder, text="body")
    other = sparsetopics.infer_batches(str(run_folder), text="body", top=2)
    copies = [pickle.loads(pickle.dumps(each)) for each in (answer, other) * 4]

    with ThreadPoolExecutor(4) as pool:
        found = [*pool.map(lambda own: own(table), copies)]

    assert all(each == found[n % 2] for n, each in enumerate(found))
    assert read == [run_folder]


def test_threads_that_begin_together_read_a_run_once(run_folder, table, monkeypatch):
    read = []

    def loading(path):
        read.append(path)
        return load_run(path)

    answer = sparsetopics.infer_batches(run_folder, text="body")
    record_batches._read.cache_clear()  # as in a process that unpickles it
    record_batches._inference.cache_clear()
    monkeypatch.setattr(record_batches, "load_run", loading)

    with ThreadPoolExecutor(4) as pool:
        first, *others = pool.map(lambda _: answer(table), range(4))

    assert len(read) == 1
    assert all(each == first for each in others)


def test_a_run_that_was_replaced_is_not_used(run_folder, table, model, vocabulary):
    answer = sparsetopics.infer_batches(run_folder, text="body")
    before = answer(table)
    save_run(run_folder, run_in_memory("run", turned(model), vocabulary, SETTINGS, []))

    assert answer(table) == before  # this process holds the run
    assert sparsetopics.infer_batches(run_folder, text="body")(table) != before
    record_batches._read.cache_clear()
    record_batches._inference.cache_clear()
    with pytest.raises(RunError, match="the folder now contains another run"):
        answer(table)


# --- other runs -----------------------------------------------------------------------------------
def test_mixtures_have_responsibilities(tmp_path):
    mixture = sparsetopics.MultinomialMixture(2, max_iter=2)
    texts = ["cats chase mice", "stocks fell", "dogs chase cats", "bonds fell"]
    mixture.fit(sparsetopics.Corpus.from_texts(texts * 3)).save(tmp_path / "mixture")

    dense = sparsetopics.infer_batches(tmp_path / "mixture")(pa.table({"text": texts}))
    top = sparsetopics.infer_batches(tmp_path / "mixture", top=1)(pa.array(texts))

    assert bytes_of(dense["responsibilities"]) == bytes_of(mixture.infer(texts)["responsibilities"])
    assert long(top, "responsibility") == rows_of(mixture.infer(texts, top=1))


def test_a_tokenizer_must_be_named_again(tmp_path, monkeypatch):
    (tmp_path / "own_words.py").write_text("def cut(text):\n    return text.split('-')\n")
    monkeypatch.syspath_prepend(tmp_path)
    texts = ["a-b-c", "c-d", "a-d-d"] * 4
    corpus = sparsetopics.Corpus.from_texts(texts, tokenizer="own_words:cut")
    fitted = sparsetopics.LDA(2, max_iter=2).fit(corpus)
    fitted.save(tmp_path / "cut")

    with pytest.raises(VocabularyError, match="own_words:cut"):
        sparsetopics.infer_batches(tmp_path / "cut")(pa.array(texts))
    answer = sparsetopics.infer_batches(tmp_path / "cut", tokenizer="own_words:cut")
    expected = fitted.infer(texts, tokenizer="own_words:cut")["proportions"]
    assert bytes_of(answer(pa.array(texts))) == bytes_of(expected)


# --- what is refused ------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"text": 3}, OptionError, "text: must be the name of a column, but is 3"),
        ({"top": 0}, OptionError, "top: must be at least 1, but is 0"),
        ({"tokenizer": len}, OptionError, "tokenizer: must be MODULE:NAME or None"),
        ({"run": 3}, OptionError, "run: must be a path"),
        ({"run": "no-such-run"}, RunError, "expected a run folder, but found no such folder"),
    ],
)
def test_wrong_arguments_are_refused_at_once(run_folder, arguments, error, message):
    with pytest.raises(error, match=message):
        sparsetopics.infer_batches(**({"run": run_folder} | arguments))


def test_runs_of_vectors_are_refused(tmp_path):
    values = np.random.default_rng(0).normal(size=(40, 2))
    sparsetopics.GaussianMixture(2, max_iter=2).fit(values).save(tmp_path / "vectors")

    with pytest.raises(RunError, match="expected a run that was trained with documents"):
        sparsetopics.infer_batches(tmp_path / "vectors")


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (pa.table({"id": [1]}), "expected one column 'text', but found 'id'. Name another with"),
        (pa.table([["a"], ["b"]], ["text", "text"]), "expected one column 'text', but found 'te"),
        (pa.table({"text": ["a"], "proportions": [1]}), "there is already a column 'proportions'"),
        (
            pa.table({"text": [1]}),
            "expected strings or lists of strings in field 'text'",
        ),
        ([{"text": "a"}], "rows: expected record batches of Arrow, but found"),
        ({"text": ["a"]}, "rows: expected record batches of Arrow, but found 'text'"),
        (None, "rows: expected record batches of Arrow, but found None. Pass an iterable"),
        ("text", "rows: expected record batches of Arrow, but found 't'"),
        (iter([3]), "rows: expected record batches of Arrow, but found 3"),
        (pa.table({"id": [1]}).to_batches(), "expected one column 'text', but found 'id'"),
    ],
)
def test_rows_that_have_no_texts_are_refused_by_the_call(run_folder, rows, message):
    answer = sparsetopics.infer_batches(run_folder)

    with pytest.raises(SourceError, match=message):
        answer(rows)


def test_rows_of_other_libraries_are_refused_by_the_call(run_folder):
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    datasets = pytest.importorskip("datasets")
    answer, columns = sparsetopics.infer_batches(run_folder), {"text": ["a"]}

    for ask in (
        lambda: answer(pandas.DataFrame(columns)),
        lambda: answer(polars.LazyFrame(columns)),
        lambda: datasets.Dataset.from_dict(columns).map(answer, batched=True),
    ):
        with pytest.raises(SourceError, match="rows: expected record batches of Arrow, but found"):
            ask()


def test_one_batch_becomes_a_table(run_folder, table):
    answer = sparsetopics.infer_batches(run_folder, text="body")

    assert answer(table.to_batches()[0]) == answer(table)
