"""``ingest`` and ``corpus`` on the command line."""

import json
import sys

import pytest
from click.testing import CliRunner

from sparsetopics.cli.main import main
from sparsetopics.corpora.corpus import Corpus
from worlds.collections_on_disk import make_texts, write_jsonl

TOTALS = ["n_documents", "n_tokens", "n_pairs", "n_words", "n_shards", "n_skipped"]


def run(*arguments, status=0):
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exit_code == status, result.output
    return result


@pytest.fixture
def source(tmp_path):
    return write_jsonl(tmp_path / "news.jsonl.gz", make_texts(200))


@pytest.fixture
def corpus(source, tmp_path):
    run("ingest", source, "--out", tmp_path / "corpus", "--quiet")
    return tmp_path / "corpus"


def test_ingest_and_info_report_the_same_totals(source, tmp_path):
    made = json.loads(run("ingest", source, "--out", tmp_path / "corpus", "--json").stdout)
    info = json.loads(run("corpus", "info", tmp_path / "corpus", "--json").stdout)

    assert set(TOTALS) <= set(made)
    account = made.pop("account")
    assert account["n_kept"] == made["n_tokens"]
    assert len(account["skipped"]) == made["n_skipped"]
    assert made == info | {
        "read": [{"kind": "jsonl", "n_files": 1, "names": [source.name]}],
        "left_out": [],
        "notes": {},
        "n_repeated": 0,
        "n_new_words": 0,
        "new_words": [],
    }
    assert made["n_documents"] == Corpus.open(tmp_path / "corpus").n_docs


def test_people_read_a_sentence(source, tmp_path):
    result = run("ingest", source, "--out", tmp_path / "corpus", "--min-df", "30")

    assert " documents, " in result.stdout
    assert result.stderr == "Read 1 file as jsonl (news.jsonl.gz).\n"


def test_options_reach_the_corpus(source, tmp_path):
    stop_words = tmp_path / "stop.txt"
    stop_words.write_text("baco\nco")
    out = tmp_path / "corpus"
    run(
        *("ingest", source, "--out", out, "--no-lowercase", "--token-pattern", r"[A-Z]{2,}"),
        *("--stop-words", stop_words, "--min-df", "0.01", "--max-df", "150", "--max-words", "9"),
    )

    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["tokenizer"] == {"token_pattern": "[A-Z]{2,}", "lowercase": False, "rule": 2}
    corpus = Corpus.open(out)
    assert corpus.n_words == 9
    assert all(word.isupper() for word in corpus.vocabulary.words)


def test_several_lists_of_stop_words(source, tmp_path):
    lists = [tmp_path / "one.txt", tmp_path / "two.txt"]
    for path, word in zip(lists, ("baco", "co"), strict=True):
        path.write_text(word)
    said = [option for path in lists for option in ("--stop-words", path)]
    out = tmp_path / "corpus"

    run("ingest", source, "--out", out, *said, "--stop-words", "english")

    words = set(Corpus.open(out).vocabulary.words)
    assert words
    assert not words & {"baco", "co", "the"}


def test_several_lists_of_fields_to_keep(tmp_path):
    (tmp_path / "a.csv").write_text("text,year,date\nowl,3,2020-01-02\n")

    kept = ("--keep", "year, text", "--keep", "date")
    run("ingest", tmp_path / "a.csv", "--out", tmp_path / "c", *kept, "--min-df", 1)

    fields = {"year": "number", "text": "text", "date": "date"}
    assert Corpus.open(tmp_path / "c").fields == fields


def test_phrases_and_ngrams_are_kept_in_the_manifest(source, tmp_path):
    run("ingest", source, "--out", tmp_path / "a", "--phrases", "--phrase-threshold", "-1")
    run("ingest", source, "--out", tmp_path / "b", "--ngrams", "3", "--stop-words", "english")

    settings = [json.loads((tmp_path / n / "manifest.json").read_text())["tokenizer"] for n in "ab"]
    assert settings[0]["phrases"]
    assert settings[1]["ngrams"] == 3
    assert "the" in settings[1]["stop_words"]


def test_a_function_gets_the_text_as_it_is(source, tmp_path, monkeypatch):
    monkeypatch.setattr("os.getcwd", lambda: str(tmp_path))
    monkeypatch.setattr("sys.path", list(sys.path))
    (tmp_path / "my_capitals.py").write_text(
        "def cut(text):\n    return text[:1]\\\n        .split()"
    )
    out = tmp_path / "corpus"

    run("ingest", source, "--out", out, "--tokenizer", "my_capitals:cut", "--max-df", "1.0")

    words = Corpus.open(out).vocabulary.words
    assert any(word.isupper() for word in words)
    assert any(word.islower() for word in words)


def test_append_tells_what_is_new(corpus, source, tmp_path):
    n_before = Corpus.open(corpus).n_docs
    said = ("ingest", source, "--append", corpus, "--duplicate-ids", "keep")

    told = json.loads(run(*said, "--json").stdout)

    assert told["n_added"] == n_before
    assert told["n_documents"] == Corpus.open(corpus).n_docs == 2 * n_before
    source.touch()  # as if it were another file; the same one is not added again
    sentence = run(*said).stdout
    assert f"{3 * n_before} documents, {n_before} of them new, " in sentence


@pytest.mark.filterwarnings("default")
def test_append_says_what_is_left_out_and_what_has_no_label(tmp_path):
    (tmp_path / "a.csv").write_text("text,venue\nowl,ACL\nowl,\n")
    (tmp_path / "b.csv").write_text("text,venue\nowl cat,ACL\ncat,ACL\n")
    out, options = tmp_path / "c", ("--label-field", "venue")
    run("ingest", tmp_path / "a.csv", "--out", out, *options, "--min-df", 1)

    told = run("ingest", tmp_path / "b.csv", "--append", out)
    again = run("ingest", tmp_path / "b.csv", "--append", out, *options)

    assert "Skipped 1 document without a known word: 3.\n" in told.stdout
    assert "Read 3 tokens and kept 1, but not 2 that the vocabulary lacks.\n" in again.stdout
    problem = "1 of 1 new document without a label, but the corpus has labels."
    read = "Read 1 file as csv (b.csv).\n"
    assert told.stderr == f"Warning: {out}: {problem} --label-field names their field.\n{read}"
    assert again.stderr == read


def test_one_of_out_and_append(corpus, source, tmp_path):
    both = ("--out", tmp_path / "x", "--append", corpus)

    assert "Give either --out or --append" in run("ingest", source, status=2).stderr
    assert run("ingest", source, *both, status=1).stderr == (
        "Error: --append: cannot be combined with --out.\n"
    )


def test_append_is_for_documents(corpus, tmp_path):
    (tmp_path / "a.npy").write_bytes(b"x")

    result = run("ingest", tmp_path / "a.npy", "--append", corpus, status=1)

    assert "--append: is for documents, but the sources hold vectors." in result.stderr


def test_held_out_text_takes_over_the_tokeniser(source, tmp_path):
    run("ingest", source, "--out", tmp_path / "train", "--token-pattern", "[a-z]{5,}")
    run("ingest", source, "--out", tmp_path / "heldout", "--vocabulary", tmp_path / "train")

    train, heldout = (
        json.loads((tmp_path / name / "manifest.json").read_text()) for name in ("train", "heldout")
    )
    assert heldout["tokenizer_hash"] == train["tokenizer_hash"]
    assert heldout["vocabulary"]["fingerprint"] == train["vocabulary"]["fingerprint"]


def test_validate_is_silent_about_a_sound_corpus_and_loud_about_others(corpus):
    assert "sound" in run("corpus", "validate", corpus).stdout
    path = corpus / "shard-00000.parquet"
    path.write_bytes(path.read_bytes()[:-1] + b"?")

    result = run("corpus", "validate", corpus, status=1)

    assert "shard-00000.parquet: expected SHA-256" in result.stdout
    assert result.stderr.startswith(f"Error: {corpus}: has 1 problem.")
    assert json.loads(run("corpus", "validate", corpus, "--json", status=1).stdout)["n_problems"]


def test_split_makes_two_corpora(corpus, tmp_path):
    parts = ("--out-train", tmp_path / "a", "--out-heldout", tmp_path / "b")

    rows = json.loads(
        run("corpus", "split", corpus, "--held-out-share", "0.25", *parts, "--json").stdout
    )

    assert [row["n_documents"] for row in rows] == [
        Corpus.open(tmp_path / name).n_docs for name in "ab"
    ]
    assert "documents" in run("corpus", "split", corpus, *parts, "--overwrite").stdout


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        (("gone.jsonl",), "no file or folder has this name"),
        (("SOURCE", "--format", "xml"), "must be one of text, lines, mallet"),
        (
            ("SOURCE", "--stop-words", "german"),
            "--stop-words: must be english, none, the code of a language or a file, but is "
            "'german'. A code is de for German, for example; a file has one word per line.",
        ),
        (("SOURCE", "--min-df", "500"), "Relax --min-df"),
        (
            ("SOURCE", "--max-df", "1.5"),
            "--max-df: must be from 0.0 to 1.0 or a whole number, but is 1.5",
        ),
        (("SOURCE", "--max-words", "0"), "--max-words: must be at least 1, but is 0"),
        (
            ("SOURCE", "--workers", "0"),
            "--workers: must be from 1 to 4,096, but is 0.",
        ),
        (("SOURCE", "--token-pattern", "["), "--token-pattern: '[' is not a regular expression"),
        (("SOURCE", "--vocabulary", "no-corpus"), "no-corpus"),
        (
            ("SOURCE", "--tokenizer", "no_such_module:f"),
            "--tokenizer: 'no_such_module:f' cannot be imported",
        ),
        (("SOURCE", "--tokenizer", "a:b", "--token-pattern", "x"), "function cannot be combined"),
        (("SOURCE", "--ngrams", "0"), "--ngrams: must be from 1 to 5, but is 0"),
        (("SOURCE", "--ngrams", "2", "--phrases"), "--ngrams: cannot be combined with --phrases."),
        (
            ("SOURCE", "--phrases", "--phrase-threshold", "2"),
            "--phrase-threshold: must be from -1 to 1, but is 2.0.",
        ),
        (("SOURCE", "--phrase-threshold", "0.2"), "--phrase-threshold: needs --phrases."),
        *(
            (
                ("SOURCE", "--vocabulary", "x", option, value),
                f"{option}: cannot be combined with --vocabulary, whose words are used unchanged.",
            )
            for option, value in (
                *(("--min-df", "3"), ("--max-df", "0.5"), ("--max-words", "9")),
                ("--stop-words", "english"),
            )
        ),
        (
            ("SOURCE", "--vocabulary", "SOURCE"),
            "--vocabulary: must be the folder of a corpus or a run, but ",
        ),
        (
            ("SOURCE", "--vocabulary-file", "SOURCE"),
            "--vocabulary-file: is for lda-c, matrix-market or uci, but the format is jsonl. "
            "Text takes no list of words; --vocabulary takes those of a corpus or a run.",
        ),
        (
            ("SOURCE", "--text-field", "body"),
            "line 1: expected a field 'body', but found 'id', 'text', 'label'",
        ),
    ],
)
def test_bad_input_is_one_line_and_status_one(source, tmp_path, arguments, found):
    arguments = [source if argument == "SOURCE" else argument for argument in arguments]

    result = run("ingest", *arguments, "--out", tmp_path / "out", "--quiet", status=1)

    assert result.stderr.startswith("Error: ")
    assert found in result.stderr
    assert result.stderr.count("\n") == 1
    assert sorted(tmp_path.iterdir()) == [source]


def test_a_limit_that_is_no_number_is_refused(source, tmp_path):
    result = run("ingest", source, "--out", tmp_path / "x", "--min-df", "few", status=1)

    assert result.stderr == (
        "Error: --min-df: must be a share such as 0.5 or a count such as 5, but is 'few'.\n"
    )
