"""``sparsetopics documents``: what it prints, with texts that mean harm and on a terminal."""

import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from sparsetopics import LDA, Corpus, MultinomialMixture, OptionError
from sparsetopics.cli import printing
from sparsetopics.cli.main import main
from sparsetopics.evaluation.report.report import write_run_report
from sparsetopics.runs.run import load_run

WORDS = {"sport": "ball goal team match", "law": "court judge appeal crime"}
EVIL = "\x1b]0;owned\x07 \u202egnp.exe\u2066 \x9b2J <script>alert(1)</script> & \u2028 "


def called(*arguments, **others):
    return CliRunner().invoke(main, [str(argument) for argument in arguments], **others)


def told(*arguments):
    """What the command prints with ``--json``."""
    result = called("documents", *arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def text_of(number, rng):
    own, other = list(WORDS)[:: 1 if number % 2 == 0 else -1]
    words = [*rng.choice(WORDS[own].split(), 12), *rng.choice(WORDS[other].split(), number % 5)]
    return f"{EVIL}{' '.join(words).capitalize()}. {EVIL * 40}"


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A corpus with texts, one without, and runs."""
    folder, rng = tmp_path_factory.mktemp("documents"), np.random.default_rng(0)
    rows = [
        {"id": f"d{n}", "text": text_of(n, rng), "label": "AB"[n % 2], "section": f"s{n % 3}"}
        for n in range(60)
    ]
    source = folder / "texts.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for words in (
            ("ingest", "texts.jsonl", "--keep", "text,section", "--max-df", 0.95, "--out", "kept"),
            ("ingest", "texts.jsonl", "--vocabulary", "kept", "--out", "plain"),
            ("train", "kept", "--model", "lda", "--topics", 2, "--laps", 10, "--out", "run"),
            ("train", "kept", "--model", "mixture", "--likelihood", "multinomial", "--topics", 2,
             "--laps", 10, "--out", "mixture"),
        ):  # fmt: skip
            made = called(*words, "--quiet")
            assert made.exit_code == 0, made.output
        np.save("values.npy", rng.normal(size=(40, 3)))
        assert called("ingest", "values.npy", "--out", "vectors", "--quiet").exit_code == 0
        vectors = ("train", "vectors", "--model", "mixture", "--topics", 2, "--out", "of-vectors")
        assert called(*vectors, "--quiet").exit_code == 0
    return folder


@pytest.fixture(autouse=True)
def here(world, monkeypatch):
    monkeypatch.chdir(world)


def ids_of(run, n_each):
    return [topic.id for topic in load_run(Path(run)).topics for _ in range(n_each)]


@pytest.mark.parametrize("run", ["run", "mixture"])
def test_each_topic_has_documents_of_its_words(run):
    rows = told(run, "kept", "--n", 3)

    share = "proportion" if run == "run" else "responsibility"
    keys = ["topic", "id", "name", "doc_id", "label", share, "n_tokens", "words", "text"]
    assert [list(row) for row in rows] == [keys] * 6
    assert [row["topic"] for row in rows] == [0, 0, 0, 1, 1, 1]
    assert [row["id"] for row in rows] == ids_of(run, 3)
    for row in rows:
        own = WORDS["sport" if int(row["doc_id"][1:]) % 2 == 0 else "law"].split()
        assert set(row["words"]) <= set(own)
        assert row["text"].startswith(EVIL)
        assert row[share] > 0.6
    assert len({(row["topic"], row["label"]) for row in rows}) == 2


def test_without_texts_words_are_printed():
    rows = told("run", "plain", "--topic", 1, "--n", 2)
    lines = called("documents", "run", "plain", "--topic", 1, "--n", 2).stdout.splitlines()

    assert [row["text"] for row in rows] == [None, None]
    assert lines[0] == f"Topic 1 ({rows[0]['id']}): {rows[0]['name']}"
    assert lines[2].split() == rows[0]["words"]
    assert f"{rows[0]['doc_id']} ({rows[0]['label']}), {rows[0]['n_tokens']} tokens" in lines[1]


def test_fields_that_are_kept_make_groups():
    rows = told("run", "kept", "--by", "section", "--topic", 0, "--n", 3)

    assert sorted(row["group"] for row in rows) == ["s0", "s1", "s2"]


def test_topics_are_printed_in_the_order_given_and_with_given_names(world):
    topic = load_run(world / "run").topics[1].id
    (world / "names.toml").write_text(f'{topic} = "The other"')
    options = ("--topic", topic, "--topic", 0, "--topic", 1, "--names", "names.toml", "--n", 1)

    rows = told("run", "plain", *options)

    assert [row["topic"] for row in rows] == [1, 0]
    assert rows[0]["name"] == "The other"


def test_no_line_obeys_a_text():
    result = called("documents", "run", "kept", "--n", 2)

    for line in result.stdout.splitlines():
        assert line.isprintable()
        assert len(line) <= printing.WIDTH
    assert "\\x1b]0;owned\\x07 \\u202egnp.exe" in result.stdout


def test_words_are_bold_on_a_terminal_only(monkeypatch):
    command = partial(called, "documents", "run", "kept", "--topic", 0, "--n", 1, color=True)
    plain = command().stdout
    assert "\x1b" not in plain

    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr(printing, "_is_terminal", lambda: True)
    shown = command().stdout
    monkeypatch.setenv("NO_COLOR", "1")

    word = told("run", "kept", "--topic", 0, "--n", 1)[0]["words"][0]
    assert f"\x1b[1m{word}\x1b[0m" in shown.lower()
    assert shown.replace("\x1b[1m", "").replace("\x1b[0m", "") == plain
    assert command().stdout == plain


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("run", "kept", "--topic", 2), "--topic: there is no topic '2': the model has 2 topics."),
        (("run", "kept", "--topic", -1), "--topic: there is no topic '-1': the model has 2"),
        (("run", "kept", "--topic", "bbbbbbbb"), "--topic: there is no topic 'bbbbbbbb'"),
        (("run", "kept", "--topic", "٣"), "--topic: there is no topic '٣'"),
        (("run", "kept", "--topic", "9" * 5_000), "--topic: there is no topic '999"),
        (("run", "kept", "--topic", "\x1b[31m"), "--topic: there is no topic '\\x1b[31m'"),
        (("run", "kept", "--n", 0), "--n: must be from 1 to 100, but is 0"),
        (("run", "kept", "--by", "text"), "--by: the texts in 'text' are no groups"),
        (("run", "kept", "--by", "nothing"), "--by: the corpus has no field 'nothing'"),
        (("of-vectors", "vectors"), "expected a run that was trained with documents"),
        (("run", "vectors"), "vectors"),
        (("kept", "run"), "run"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(arguments, problem):
    result = called("documents", *arguments)

    assert result.exit_code == 1
    assert problem in result.stderr
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""


# --- in Python and on pages -----------------------------------------------------------------------
@pytest.mark.parametrize("kind", [LDA, MultinomialMixture])
def test_estimators_answer_as_the_command_does(kind, tmp_path):
    corpus = Corpus.open("kept")
    model = kind(2, max_iter=5).fit(corpus)
    model.save(tmp_path / "run")

    table = model.documents(1, corpus, n=4, by="section")

    options = ("--topic", 1, "--n", 4, "--by", "section")
    assert table.to_pylist() == told(tmp_path / "run", "kept", *options)
    assert model.documents(1, corpus, 1, names={1: "Other"})["name"].to_pylist() == ["Other"]
    by_id = model.documents(table["id"][0].as_py(), corpus, n=4, by="section")
    assert by_id == table
    for topic in (2, -1, 1.0, None, "bbbbbbbb"):
        with pytest.raises(OptionError, match="topic: there is no topic"):
            model.documents(topic, corpus)


def test_pages_show_the_documents_of_the_command_with_their_texts(world):
    write_run_report(world / "kept.html", [world / "run"], world / "kept")
    write_run_report(world / "plain.html", [world / "run"], world / "plain")
    page, plain = ((world / f"{name}.html").read_text("utf-8") for name in ("kept", "plain"))

    for row in told("run", "kept", "--n", 3):
        assert f'<strong class="name">{row["doc_id"]}</strong>' in page
        assert f"<mark>{row['words'][0]}</mark>" in page.lower()
    assert "This page holds the beginnings of their texts." in page
    assert "\\u202egnp.exe\\u2066" in page
    assert "\u202e" not in page
    assert "<script>alert(1)" not in page
    assert "beginnings of their texts" not in plain
    assert "<mark>" not in plain
