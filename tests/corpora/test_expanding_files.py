"""Small files that stand for much data: one line says so, and they take little memory.

Their digests are right, as a stranger can make them. What merely looks alike is still read.
"""

import json
import re
import shutil
import subprocess
import sys
import tomllib
import tracemalloc

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from resealing import LONG, reseal, shared, with_column
from sparsetopics.base.errors import CorpusFormatError, OptionError, ShapeError, SourceError
from sparsetopics.base.safe_reading import read_toml
from sparsetopics.cli.main import main
from sparsetopics.corpora.corpus import Corpus, VectorCorpus
from sparsetopics.corpora.ingest import IngestOptions, ingest
from sparsetopics.corpora.ingest_vectors import ingest_vectors
from sparsetopics.corpora.readers.blocks import LONGEST_NAME
from sparsetopics.corpora.readers.options import ReadOptions
from sparsetopics.corpora.store import parquet_files, shards
from sparsetopics.corpora.text.pruning import PruningOptions
from sparsetopics.corpora.validate import validate
from sparsetopics.model.topic_posterior import TopicPosterior
from sparsetopics.runs.run import run_in_memory, save_run

N_DOCS = 4_000
MOST_MEMORY = 600_000_000  # bytes of a process


def make_corpus(folder, labels, **kept):
    """A corpus of a document for each label, with its fields."""
    columns = {"text": ["owl cat"] * len(labels), "label": labels, **kept}
    columns["id"] = [f"d{n}" for n in range(len(labels))]
    rows = (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))
    (folder / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    options = IngestOptions(read=ReadOptions(keep=[*kept]), pruning=PruningOptions(1, 1.0))
    ingest([folder / "a.jsonl"], folder / "corpus", options)
    return folder / "corpus"


def forge(corpus, stem, column, values, **options):
    """Exchange a column of a file of the corpus, and make the digests right."""
    path = corpus / f"{stem}.parquet"
    path.write_bytes(with_column(path.read_bytes(), column, values, **options))
    reseal(corpus)
    assert path.stat().st_size < 120_000


def lists_of(text, n_rows):
    return pa.ListArray.from_arrays(np.arange(n_rows + 1, dtype=np.int32), shared(text, n_rows))


def texts(n_bytes, kind=None):
    """As long a text in each row."""
    return pa.array([LONG[:n_bytes]] * N_DOCS, kind)


ONE = shared(LONG, N_DOCS)
PREVALENCE, INFER = "prevalence run {} --by", "infer run {} --out {}.csv"
VALIDATE = "corpus validate {}"
PLAIN = {"use_dictionary": False}
INCREMENTS = PLAIN | {"column_encoding": {"doc_id": "DELTA_BYTE_ARRAY"}}
#: A command, the file and column, what makes their values, and how they are written.
FORGED = {
    "field": (f"{PREVALENCE} section", "fields-00000", "section", lambda: ONE, {}),
    "long-field": (
        f"{PREVALENCE} section", "fields-00000", "section", lambda: shared(LONG * 750, N_DOCS), {}
    ),
    "label": (f"{PREVALENCE} label", "shard-00000", "label", lambda: ONE, {}),
    "ids": (INFER, "shard-00000", "doc_id", lambda: ONE, {}),
    "increments": (INFER, "shard-00000", "doc_id", lambda: texts(30_000), INCREMENTS),
    "lists": (VALIDATE, "shard-00000", "label", lambda: lists_of(LONG, N_DOCS), {}),
    "bytes": (
        VALIDATE, "shard-00000", "label", lambda: texts(30_000, pa.binary(30_000)), {}
    ),
    "words": (INFER, "shard-00000", "word_ids", lambda: ONE, {}),
    "texts": (VALIDATE, "texts-00000", "text", lambda: texts(30_000), PLAIN),
    "page": (
        VALIDATE, "texts-00000", "text",
        lambda: pa.array([LONG * 20] * 90 + [""] * (N_DOCS - 90)), PLAIN,
    ),
}  # fmt: skip
ENDLESS = {
    "topics.csv": "field larger than field limit",
    "topics.npy.vocab": "topics.npy.vocab has more than 67,108,864 bytes",
}
CHILD = """
import gc, json, resource, sys
from click.testing import CliRunner
from pathlib import Path
from sparsetopics.cli.main import main
for name, command in json.loads(sys.argv[1]).items():
    result = CliRunner().invoke(main, command.split())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> (sys.platform == "darwin") * 10
    if Path("/proc/self/status").exists():  # without that of the parent
        peak = int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0])
    print(json.dumps([name, [result.exit_code, result.stdout, result.stderr, peak]]))
    del result  # which holds what had been read
    gc.collect()
"""


def outcomes_of(commands, folder):
    """Status, output, messages and peak memory (KiB) of each command; the peaks are those of one
    process, and rise."""
    called = [sys.executable, "-c", CHILD, json.dumps(commands)]
    lines = subprocess.check_output(called, cwd=folder, text=True).splitlines()
    return dict(json.loads(line) for line in lines)


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("forged")
    labels = ["a", "b"] * (N_DOCS // 2)
    whole = make_corpus(folder, labels, section=labels, text=["owl cat"] * N_DOCS)
    (folder / "run").mkdir()
    model = TopicPosterior("lda", np.array([[9.0, 1.0], [1.0, 9.0]]), np.array([0.5, 0.5]), 0.1)
    vocabulary = Corpus.open(whole).vocabulary
    facts = {"n_documents": N_DOCS, "fingerprint": vocabulary.fingerprint}
    settings = {"corpus": facts, "options": {}, "seed": 7}
    save_run(folder / "run", run_in_memory("run", model, vocabulary, settings, []))
    commands = {}
    for name, (command, stem, column, make_values, options) in FORGED.items():
        shutil.copytree(whole, folder / name)
        forge(folder / name, stem, column, make_values(), **options)
        commands[name] = command.format(name, name)
    return outcomes_of(commands, folder)


@pytest.fixture(scope="module")
def outcomes_of_sources(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sources")
    make_corpus(folder, ["a"] * 3)
    return outcomes_of(of_topics(folder) | of_tables(folder), folder)


def of_tables(folder):
    """Commands that ingest small tables."""
    lists = pa.ListArray.from_arrays(pa.array([0, 40_000], pa.int32()), shared(LONG, 40_000))
    # Without Arrow's schema, nothing says that these are dictionaries.
    pq.write_table(pa.table({"text": lists}), folder / "long-word.parquet", store_schema=False)
    for column in ("text", "label"):
        columns = {"text": ["owl"] * 8000, column: ["owl cat " * 7_500] * 8000}
        path = folder / f"long-{column}.parquet"
        pq.write_table(pa.table(columns), path, compression="zstd")
    names = ("long-word", "long-text", "long-label")
    return {name: f"ingest {name}.parquet --out corpus-of --workers 1" for name in names}


def of_topics(folder):
    """Commands that read topics whose first line never ends; zeros take no space on disk."""
    np.save(folder / "topics.npy", np.ones((2, 2)))
    for name in ENDLESS:
        with (folder / name).open("wb") as file:
            file.truncate(3 << 30)
    return {name: f"evaluate {name.removesuffix('.vocab')} corpus" for name in ENDLESS}


@pytest.mark.parametrize("name", FORGED)
def test_what_expands_is_refused_in_one_line(name, outcomes):
    status, output, messages, peak = outcomes[name]

    assert status == 1
    assert messages.count("\n") == 1
    assert f"{FORGED[name][1]}.parquet: cannot be read (" in output + messages
    assert peak << 10 < MOST_MEMORY


def test_a_vocabulary_that_expands_is_refused(tmp_path):
    corpus = make_corpus(tmp_path, ["a"])
    numbers = np.ones(2_000, np.int64)
    columns = {"document_frequency": numbers, "term_frequency": numbers}
    words = [f"{LONG}{n}" for n in range(2_000)]
    path = corpus / "vocabulary.parquet"
    pq.write_table(pa.table({"word": words} | columns), path, compression="zstd", **PLAIN)
    reseal(corpus)

    with pytest.raises(CorpusFormatError, match=r"vocabulary\.parquet: .* bytes unpack to"):
        Corpus.open(corpus)


def test_a_long_word_that_a_list_repeats_is_refused_before_it_is_held(outcomes_of_sources):
    status, _, messages, peak = outcomes_of_sources["long-word"]
    assert status == 1
    assert re.search(r"long-word\.parquet: .*(unpack to|a row has 2,4)", messages.splitlines()[-1])
    assert peak << 10 < MOST_MEMORY


@pytest.mark.parametrize("column", ["text", "label"])
def test_a_small_table_that_expands_is_refused_before_it_is_held(column, outcomes_of_sources):
    status, _, messages, peak = outcomes_of_sources[f"long-{column}"]
    assert status == 1
    assert f"long-{column}.parquet" in messages.splitlines()[-1]
    assert "unpack to" in messages.splitlines()[-1]
    assert peak << 10 < MOST_MEMORY


@pytest.mark.parametrize(("name", "problem"), ENDLESS.items())
def test_topics_whose_first_line_never_ends_are_refused(name, problem, outcomes_of_sources):
    status, _, messages, peak = outcomes_of_sources[name]
    assert status == 1
    assert messages.count("\n") == 1
    assert problem in messages
    assert peak << 10 < MOST_MEMORY


@pytest.mark.parametrize("kept", [True, False])
def test_what_could_not_be_read_again_is_not_written(kept, tmp_path, monkeypatch):
    """Labels and fields may be long, and repeat, but not both."""
    monkeypatch.setattr(parquet_files, "MOST_TOGETHER", 1 << 20)
    labels = ["a"] * 100
    names = {"labels": labels, "section": [LONG] * 100} if kept else {"labels": [LONG] * 100}

    with pytest.raises(SourceError, match="documents: 100 rows repeat strings of 6,0"):
        make_corpus(tmp_path, **names)

    assert [path.name for path in tmp_path.iterdir()] == ["a.jsonl"]


# --- what looks alike -----------------------------------------------------------------------------
def test_what_many_rows_share_is_read_up_to_a_hundred_mebibytes(tmp_path):
    n_docs = 3_000
    sections = [f"{n % 3} {LONG[:8_000]}" for n in range(n_docs)]
    labels = [f"{n % 2} {LONG[:8_000]}" for n in range(n_docs)]
    corpus = Corpus.open(make_corpus(tmp_path, labels, section=sections))

    (group,) = corpus.row_groups
    assert group.read_labels() == labels
    assert group.read_fields(["section"])["section"].to_pylist() == sections
    assert validate(tmp_path / "corpus") == []


def test_labels_of_documents_are_the_same_objects(tmp_path):
    """Commands hold the labels of all documents, and a label may occur in most of them."""
    corpus = Corpus.open(make_corpus(tmp_path, ["a b", "c", "a b", None, "c", "a b"]))

    (labels,) = corpus.labels()

    assert labels == ["a b", "c", "a b", None, "c", "a b"]
    assert len({id(label) for label in labels}) == 3


@pytest.mark.parametrize("column", ["label", "section"])
def test_a_few_long_strings_among_many_rows_are_no_bomb(column, tmp_path):
    """Each row could be as long, but only a few are."""
    n_docs = 3_000
    values = [LONG if n % 500 == 7 else f"v{n % 20}" for n in range(n_docs)]
    labels = values if column == "label" else ["a"] * n_docs
    sections = values if column == "section" else ["a"] * n_docs
    corpus = Corpus.open(make_corpus(tmp_path, labels, section=sections))

    (group,) = corpus.row_groups
    assert group.read_labels() == labels
    assert group.read_fields(["section"])["section"].to_pylist() == sections


def test_much_is_read_from_a_file_that_is_long_enough(tmp_path, monkeypatch):
    """The limits are for what takes little space on disk."""
    monkeypatch.setattr(parquet_files, "MOST_TOGETHER", 1 << 12)
    monkeypatch.setattr(shards, "_MOST_IDS", 1 << 10)
    rng = np.random.default_rng(0)
    names = [rng.bytes(100).hex() for _ in range(200)]
    corpus = Corpus.open(make_corpus(tmp_path, names, section=names))

    (group,) = corpus.row_groups
    assert group.read_labels() == group.read_fields(["section"])["section"].to_pylist() == names


def test_ids_have_a_lower_limit(tmp_path):
    """Commands make several copies of them, and no two should be equal."""
    corpus = make_corpus(tmp_path, ["a"] * 200)
    forge(corpus, "shard-00000", "doc_id", shared(LONG, 200))
    assert len(Corpus.open(corpus).row_groups[0].read_ids()) == 200

    other = tmp_path / "more"
    other.mkdir()
    corpus = make_corpus(other, ["a"] * 400)
    forge(corpus, "shard-00000", "doc_id", shared(LONG, 400))
    with pytest.raises(CorpusFormatError, match=r"bytes unpack to [\d,]+ or more"):
        Corpus.open(corpus).row_groups[0].read_ids()


def test_rows_of_several_batches_are_all_read_and_no_more(tmp_path, monkeypatch):
    monkeypatch.setattr(parquet_files, "MOST_TOGETHER", 3_000)
    labels = [f"label {n}" for n in range(100)]
    corpus = Corpus.open(make_corpus(tmp_path, labels, section=labels))

    (group,) = corpus.row_groups
    assert group.read_ids() == [f"d{n}" for n in range(100)]
    assert group.read_labels() == labels
    assert group.read_fields(["section"], np.array([3, 98]))["section"].to_pylist() == [
        "label 3",
        "label 98",
    ]
    assert group.read_fields(["section"], np.array([], np.int64)).num_rows == 0


def test_rows_beyond_those_of_the_manifest_are_not_read(tmp_path):
    corpus = make_corpus(tmp_path, ["a"] * 5, section=["b"] * 5)
    path = corpus / "fields-00000.parquet"
    pq.write_table(pa.table({"section": shared("b", 30_000_000)}), path, store_schema=False)
    reseal(corpus)
    before = pa.default_memory_pool().max_memory()

    with pytest.raises(CorpusFormatError, match="expected 5 rows, but found 10"):
        Corpus.open(corpus).row_groups[0].read_fields(["section"])

    assert pa.default_memory_pool().max_memory() <= before + (1 << 24)


# --- ids and labels -------------------------------------------------------------------------------
LONGEST, TOO_LONG = "é" * (LONGEST_NAME // 2), "é" * (LONGEST_NAME // 2) + "x"


def jsonl(path, name, column):
    rows = [{"text": "owl", "id": f"a{n}", "label": "b"} for n in range(5)]
    rows[3][column] = name
    path.write_text("\n".join(map(json.dumps, rows)))


def odd_jsonl(path, name, column):
    """Numbers and strings, and an empty line, so that it is read line by line."""
    jsonl(path, name, column)
    path.write_text(path.read_text() + '\n\n{"text": "owl", "id": 1, "label": 2}')


def csv(path, name, column):
    rows = [[f"a{n}", "b", '"owl\ncat"', "1"] for n in range(5)]
    rows[3][column == "label"] = name
    path.write_text("\n".join(map(",".join, [["id", "label", "text", "x"], *rows])))


def table(name, column):
    columns = {"id": [*"acdef"], "label": ["b"] * 5, "text": ["owl"] * 5, "x": [0.5] * 5}
    columns[column][3] = name
    return pa.table(columns)


def parquet(path, name, column):
    pq.write_table(table(name, column), path)


def arrow(path, name, column):
    with pa.ipc.new_file(path, table(name, column).schema) as out:
        out.write_table(table(name, column))


def npz(path, name, column):
    columns = table(name, column).to_pydict()
    np.savez(path, values=np.ones((5, 1)), id=columns["id"], label=columns["label"])


READERS = {
    "a.jsonl": (jsonl, ingest, "line 4"),
    "odd.jsonl": (odd_jsonl, ingest, "line 4"),
    "a.csv": (csv, ingest, "line 8"),
    "a.parquet": (parquet, ingest, "row 3"),
    "a.arrow": (arrow, ingest, "row 3"),
    "v.csv": (csv, ingest_vectors, "item 3"),
    "v.parquet": (parquet, ingest_vectors, "item 3"),
    "v.arrow": (arrow, ingest_vectors, "item 3"),
    "v.npz": (npz, ingest_vectors, "array 'values', item 3"),
}


@pytest.mark.parametrize("column", ["id", "label"])
@pytest.mark.parametrize("file", READERS)
def test_an_id_or_a_label_has_at_most_64_kibibytes(file, column, tmp_path):
    write, make, place = READERS[file]
    write(tmp_path / file, LONGEST, column)
    make([tmp_path / file], tmp_path / "corpus")
    write(tmp_path / file, TOO_LONG, column)

    problem = f"{file}, {place}: the {column} has more than 65,536 bytes. "
    message = re.escape(f"{problem}Name another field with --{column}-field.")
    with pytest.raises(SourceError, match=rf"^[^\n]*{message}$"):
        make([tmp_path / file], tmp_path / "other")

    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize("column", ["id", "label"])
def test_ids_and_labels_in_memory_have_the_same_limit(column):
    with pytest.raises(SourceError, match=rf"table, row 3: the {column} has more than 65,536"):
        Corpus.from_table(table(TOO_LONG, column))
    names = {"item_ids" if column == "id" else "labels": ["a", TOO_LONG]}
    with pytest.raises(ShapeError, match=r"(item_ids|labels)\[1\]: has more than 65,536 bytes"):
        VectorCorpus.from_array(np.ones((2, 3)), **names)
    with pytest.raises(ShapeError, match=r"doc_ids\[0\]: has more than 65,536 bytes"):
        Corpus.from_csr(np.ones((2, 1)), ["owl"], [TOO_LONG, "a"])


@pytest.mark.parametrize("column", ["doc_id", "label"])
def test_a_stored_id_or_label_that_is_too_long_is_damage(column, tmp_path):
    corpus = make_corpus(tmp_path, ["a"] * 3)
    forge(corpus, "shard-00000", column, pa.array(["a", TOO_LONG, "b"]))

    (problem,) = validate(corpus)

    assert f"row group 0: row 1: the {column} has more than 65,536 bytes. Ingest again" in problem


# --- TOML -----------------------------------------------------------------------------------------
def dotted(n_bytes):
    return "a." * (n_bytes // 2) + "a = 1"


DEEP = {
    "dots": f"x = 1\n{dotted(40_000)}",
    "more-dots": f"x = 1\n{dotted(80_000)}",
    "quoted": "x = 1\n" + '"a" . ' * 21 + "a = 1",
    "literal": "x = 1\n" + "'a'." * 21 + "a = 1",
    "header": f"\n[{dotted(40_000)[:-4]}]",
    "headers": "\n" + "[" * 50 + "a" + "]" * 50,
    "inline": f"\nx = {{{dotted(40_000)}}}",
    "arrays": "\nx = " + "[" * 3_000 + "]" * 3_000,
    "tables": "\nx = " + "{a = " * 21 + "1" + "}" * 21,
    "after-quotes": f'x = ["""\n""", {{{dotted(100)}}}, """\n"""]',
    "after-four-quotes": f'x = ["""a\n"""", {{{dotted(100)}}}, \'\']',
    "after-five-literals": f"x = ['''a\n''''', {{{dotted(100)}}}]",
    "after-an-escape": f'x = ["a\\"",\n{{{dotted(100)}}}]',
}


@pytest.mark.parametrize("name", DEEP)
def test_keys_and_brackets_nested_deeply_are_refused_before_they_are_parsed(name, tmp_path):
    path = tmp_path / "a.toml"
    path.write_text(DEEP[name])
    tracemalloc.start()

    with pytest.raises(OptionError) as caught:
        read_toml(path)

    assert tracemalloc.get_traced_memory()[1] < 4 << 20
    tracemalloc.stop()
    problem = "cannot be read: line 2 nests keys or brackets more than 20 deep."
    assert str(caught.value) == f"{path}: {problem}"


@pytest.mark.parametrize("command", ["train corpus --out x --config", "topics run --names"])
@pytest.mark.parametrize("n_bytes", [40_000, 80_000])
def test_both_commands_that_read_toml_refuse_a_deep_key(
    command, n_bytes, run_folder, tmp_path, monkeypatch
):
    monkeypatch.chdir(run_folder.parent)
    (tmp_path / "a.toml").write_text(dotted(n_bytes))

    result = CliRunner().invoke(main, [*command.split(), str(tmp_path / "a.toml")])

    assert result.exit_code == 1
    assert (
        "a.toml: cannot be read: line 1 nests keys or brackets more than 20 deep." in result.stderr
    )
    assert result.stderr.count("\n") == 1


DOTS, BRACKETS = "a." * 30, "[{" * 30
FLAT = [
    f"x = '{DOTS}{BRACKETS}'\n'{DOTS}' = 1",
    f'x = "{DOTS}\\"{BRACKETS}\\\\"\n"{BRACKETS}" = 1',
    f"x = '''{DOTS}\n'{BRACKETS}''\n''{DOTS}'''''\ny = 1",
    f'x = """{DOTS}\n"{BRACKETS}""\\"""\\\n""{DOTS}"""""\ny = 1',
    f"# {DOTS} {BRACKETS} \"'\nx = 1 # ''' {DOTS}",
    "\n".join(f"x{n} = {n}.5\n[a.b{n}]" for n in range(100)),
    "x = [" + ", ".join(f"{n}.5" for n in range(100)) + "]",
    "x = [" + ", ".join("[1, {a = [2]}]" for _ in range(100)) + "]",
    ".".join("a" * 20) + " = 1",
    "x = " + "[" * 20 + "]" * 20,
]


@pytest.mark.parametrize("text", FLAT)
@pytest.mark.parametrize("line_break", ["\n", "\r\n"])
def test_what_is_not_nested_deeply_is_read(text, line_break, tmp_path):
    path = tmp_path / "a.toml"
    path.write_bytes(text.replace("\n", line_break).encode())

    assert read_toml(path) == tomllib.loads(text)


def test_a_long_file_of_quotes_takes_no_time(tmp_path):
    """A pattern that looks for the end of each string anew would take hours."""
    for text in ('\\"""\n' * 200_000, '"""' + '\\"' * 500_000, "'''\n''" * 150_000):
        (tmp_path / "a.toml").write_text(text)
        with pytest.raises(OptionError, match="is not valid TOML"):
            read_toml(tmp_path / "a.toml")
