"""The table of options of ingest: every door has what its rows say, and means the same by it."""

import inspect
import json
from dataclasses import MISSING, fields
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner

from sparsetopics import Corpus
from sparsetopics.base.errors import OptionError
from sparsetopics.cli.ingest import command
from sparsetopics.cli.main import main
from sparsetopics.cli.shared_options import RowOption
from sparsetopics.corpora.ingest_options import (
    IngestOptions,
    VectorOptions,
    document_options,
    options_at,
    vector_options,
)
from sparsetopics.corpora.readers.options import ReadOptions, VectorReadOptions
from sparsetopics.corpora.text.pruning import PruningOptions
from sparsetopics.corpora.text.tokenizer import TokenizerOptions
from sparsetopics.corpora.text.tokens import PhraseOptions
from sparsetopics.options.ingest_table import (
    FROM_TABLE,
    FROM_TEXTS,
    FROM_TOKENS,
    INGEST,
    INGEST_OPTION,
)
from sparsetopics.options.workplace import Workplace
from worlds.collections_on_disk import make_texts, write_jsonl

HOLDERS = {
    "documents": {
        "": IngestOptions,
        "read": ReadOptions,
        "tokenizer": TokenizerOptions,
        "phrases": PhraseOptions,
        "pruning": PruningOptions,
        "where": Workplace,
    },
    "vectors": {"": VectorOptions, "read": VectorReadOptions, "where": Workplace},
}
# Defaults of the table that are None, because they depend on others, are the first of these.
USUAL = {
    "stop-words": frozenset(),
    "ngrams": 1,
    "remove": (),
    "phrase-threshold": 0.5,
    "lowercase": True,
    "workers": 1,
}
DOORS = {
    FROM_TEXTS: Corpus.from_texts,
    FROM_TOKENS: Corpus.from_tokens,
    FROM_TABLE: Corpus.from_table,
}
# A value of each option of Python: as a parameter, and as words of the command.
VALUES = {
    "stop_words": ("english", "--stop-words english"),
    "language": ("zh", "--language zh"),
    "min_df": (0.3, "--min-df 0.3"),
    "max_df": (0.3, "--max-df 0.3"),
    "max_words": (9, "--max-words 9"),
    "lemmas": ("en", "--lemmas en"),
    "ngrams": (2, "--ngrams 2"),
    "phrases": (True, "--phrases"),
    "phrase_threshold": (-0.5, "--phrases --phrase-threshold -0.5"),
    "token_pattern": ("[a-z]{4,}", "--token-pattern [a-z]{4,}"),
    "remove": (["urls", "mentions"], "--remove urls,mentions"),
    "normalize": ("nfkc", "--normalize nfkc"),
    "tokenizer": ("shlex:split", "--tokenizer shlex:split"),
    "lowercase": (False, "--no-lowercase"),
    "vocabulary": (None, "--vocabulary words"),
    "text_field": (["key", "body"], "--text-field key,body"),
    "id_field": ("key", "--id-field key"),
    "duplicate_ids": ("skip", "--duplicate-ids skip --id-field kind"),
    "label_field": ("kind", "--label-field kind"),
    "keep": (["text", "label", "id"], "--keep text,label,id"),
    "date_formats": ({"day": "%d/%m/%Y"}, "--keep day --date-format day=%d/%m/%Y"),
    "missing": (["b"], "--keep kind --missing b"),
}
BESIDE = {
    "phrase_threshold": {"phrases": True},
    "duplicate_ids": {"id_field": "kind"},
    "date_formats": {"keep": ["day"]},
    "missing": {"keep": ["kind"]},
}


def in_python(row):
    return row.argument or row.key


def run(*words, status=0):
    result = CliRunner().invoke(main, [str(word) for word in words])
    assert result.exit_code == status, result.output
    return result


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Texts of a table, in a file and as a list, lists of their words, and a corpus with words."""
    folder = tmp_path_factory.mktemp("world")
    first = ("The New York owls", "A \ufb01ne", "Some ftp://owl.org")
    texts = [f"{first[n % 3]} {text} CAT" for n, text in enumerate(make_texts(120))]
    names = {
        "body": texts,
        "key": [f"k{n}" for n in range(120)],
        "kind": ["a", "b"] * 60,
        "day": ["3/4/2024"] * 120,
    }
    rows = [dict(zip(names, row, strict=True)) for row in zip(*names.values(), strict=True)]
    rows = [{"text": text, **row} for text, row in zip(reversed(texts), rows, strict=True)]
    (folder / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    lists = [{"text": row["text"].split()} for row in rows]
    (folder / "lists.jsonl").write_text("".join(json.dumps(row) + "\n" for row in lists))
    write_jsonl(folder / "words.jsonl", make_texts(120, 1))
    run("ingest", folder / "words.jsonl", "--out", folder / "words", "--quiet")
    return folder, rows


# --- rows -----------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", HOLDERS)
def test_a_row_names_a_field_and_its_default(kind):
    for row in INGEST_OPTION.values():
        if row.is_for(kind) and row.name != "phrases":
            holder = HOLDERS[kind][row.part]
            (field,) = [each for each in fields(holder) if each.name == row.field]
            usual = USUAL.get(row.name, row.default)
            assert field.default == usual or field.default is MISSING, row.name


def test_the_command_has_the_rows_in_their_order_and_all_have_help():
    rows = [each.row for each in command.params if isinstance(each, RowOption)]

    assert rows == [row for row in INGEST_OPTION.values() if row.is_at(INGEST)]
    assert all(row.help.endswith(".") and row.section for row in rows)


@pytest.mark.parametrize("door", DOORS)
def test_parameters_of_python_are_the_rows_of_the_door(door):
    rows = {in_python(row): row for row in INGEST_OPTION.values() if row.is_at(door)}
    listed = inspect.signature(DOORS[door]).parameters.values()

    given = {each.name: each.default for each in listed if each.kind is each.KEYWORD_ONLY}

    assert given == {key: row.default for key, row in rows.items()}


def test_each_needed_option_is_in_the_table():
    for row in INGEST_OPTION.values():
        assert not row.needs or row.needs in INGEST_OPTION
        if row.needs:
            make = document_options if row.is_for("documents") else vector_options
            given = {row.name: True if row.takes is bool else 0}
            with pytest.raises(OptionError, match=f"^{row.name}: needs --{row.needs}"):
                make(given)


def test_nothing_given_is_the_default():
    assert document_options({}) == IngestOptions()
    assert vector_options({}) == VectorOptions()
    for door, function in DOORS.items():
        own = {each.name: None for each in inspect.signature(function).parameters.values()}
        assert options_at(door, own) == IngestOptions()


def test_a_value_that_is_none_of_the_kind_is_refused_at_every_door():
    for row in INGEST_OPTION.values():
        if row.name != "vocabulary":
            make = document_options if row.is_for("documents") else vector_options
            with pytest.raises(OptionError, match=f"^{row.name}: "):
                make({row.name: (3,)})


# --- doors ----------------------------------------------------------------------------------------
def content(corpus):
    """Ids, labels, counts and kept fields of a corpus."""
    words = corpus.vocabulary
    rows = zip(corpus.ids(), corpus.labels(), corpus.read_fields(list(corpus.fields)), strict=True)
    return (
        (words.words, json.dumps(words.tokenizer), words.document_frequency.tolist()),
        [(ids, labels, table.to_pylist()) for ids, labels, table in rows],
        corpus.to_csr().toarray().tolist(),
    )


@pytest.mark.filterwarnings("ignore:Skipped", "ignore:.*letters do not belong to any word")
@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("key", VALUES)
def test_an_option_means_the_same_at_every_door(world, tmp_path, monkeypatch, door, key):
    folder, rows = world
    monkeypatch.chdir(folder)
    if not next(row for row in INGEST_OPTION.values() if in_python(row) == key).is_at(door):
        with pytest.raises(TypeError):
            DOORS[door]([], **{key: VALUES[key][0]})
        return
    value, words = VALUES[key]
    value = Corpus.open("words").vocabulary if key == "vocabulary" else value
    source = "lists.jsonl" if door == FROM_TOKENS else "a.jsonl"
    run("ingest", source, "--out", tmp_path / "c", "--quiet", *words.split())
    data = pa.Table.from_pylist(rows) if door == FROM_TABLE else [row["text"] for row in rows]
    data = [text.split() for text in data] if door == FROM_TOKENS else data

    found = content(DOORS[door](data, **{key: value}, **BESIDE.get(key, {})))

    assert found == content(Corpus.open(tmp_path / "c"))
    assert found != content(DOORS[door](data))


def test_every_option_of_python_is_tried():
    rows = [row for row in INGEST_OPTION.values() if any(map(row.is_at, DOORS))]

    assert {in_python(row) for row in rows} == VALUES.keys()


# --- files of options -----------------------------------------------------------------------------
def test_options_come_from_a_file_and_the_command_line_comes_first(world, tmp_path):
    folder, _ = world
    (tmp_path / "own.toml").write_text(
        'stop-words = ["english"]\nkeep = ["text", "kind"]\nmin-df = 2\nmax-df = 0.9\n'
        "lowercase = false\nphrases = true\nphrase-threshold = 0.3\nquiet = true\n"
        'text-field = "body"\n'
    )
    said = ("ingest", folder / "a.jsonl", "--out", tmp_path / "c", "--json")

    run(*said, "--config", tmp_path / "own.toml", "--no-phrases", "--min-df", 0.5)

    corpus = Corpus.open(tmp_path / "c")
    assert corpus.fields == {"text": "text", "kind": "string"}
    assert (corpus.vocabulary.document_frequency >= 60).all()
    assert not corpus.vocabulary.tokenizer["lowercase"]
    assert "phrases" not in corpus.vocabulary.tokenizer
    assert "the" not in corpus.vocabulary.words


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("keep = 3", "own.toml, keep: must be a list of strings, but is 3."),
        ('keep = ["text", 3]', "own.toml, keep: must be a list of strings, but is "),
        ('stop-words = "english"', "own.toml, stop-words: must be a list of strings, but is 'en"),
        ('min-df = "2"', "own.toml, min-df: must be a number, but is '2'."),
        ("max-df = 1.5", "own.toml, max-df: must be from 0.0 to 1.0 or a whole number, but is 1.5"),
        ('tokenizer = "os:system"', "own.toml, tokenizer: give --tokenizer on the command line, "),
        ('scheduler = "tcp://x:1"', "own.toml, scheduler: give --scheduler on the command line, "),
        ("mindf = 2", "own.toml, mindf: ingest has no such option. Did you mean min-df?"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_in_one_line(world, tmp_path, monkeypatch, line, message):
    folder, _ = world
    monkeypatch.chdir(tmp_path)
    Path("own.toml").write_text(f"{line}\n")

    said = run("ingest", folder / "a.jsonl", "--out", "c", "--config", "own.toml", status=1).stderr

    assert said.startswith(f"Error: {message}")
    assert said.count("\n") == 1
    assert not Path("c").exists()


def test_options_for_vectors_reach_the_corpus(tmp_path):
    np.save(tmp_path / "a.npy", np.random.default_rng(0).normal(size=(50, 4)))
    given = {"pca": np.int64(2), "whiten": True, "seed": 3}

    options = vector_options(given, overwrite=True)

    assert options == VectorOptions(pca=2, whiten=True, seed=3, overwrite=True)
    assert type(options.pca) is int
