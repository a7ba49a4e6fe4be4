"""``sparsetopics evaluate``: scores of training data, and texts to count coherence in."""

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from printed_tables import table_of
from sparsetopics import LDA, Corpus, OptionError, SourceError, load
from sparsetopics.base.errors import SparsetopicsWarning
from sparsetopics.cli.main import main
from worlds.collections_on_disk import make_texts, write_jsonl

TEXTS = [" ".join(text.split()) for text in make_texts(80)]


def run(*arguments, status=0):
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exit_code == status, result.output
    return result


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A corpus, other documents with its words, and runs of topics and of two mixtures."""
    folder = tmp_path_factory.mktemp("world")
    write_jsonl(folder / "a.jsonl", TEXTS)
    write_jsonl(folder / "b.jsonl", make_texts(30, 1))
    np.save(folder / "v.npy", np.random.default_rng(0).normal(size=(60, 3)))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        run("ingest", "a.jsonl", "--out", "news", "--quiet")
        run("ingest", "b.jsonl", "--out", "more", "--vocabulary", "news", "--quiet")
        run("ingest", "v.npy", "--out", "vectors", "--quiet")
        train = ("--laps", 2, "--quiet", "--topics", 3)
        run("train", "news", *train, "--out", "run")
        run("train", "more", *train, "--out", "other")
        words = ("--likelihood", "multinomial")
        run("train", "news", *train, "--model", "mixture", *words, "--out", "mixture")
        run("train", "vectors", *train, "--model", "mixture", "--out", "gaussians")
    return folder


@pytest.fixture(autouse=True)
def in_world(world, monkeypatch):
    monkeypatch.chdir(world)


# --- several runs ---------------------------------------------------------------------------------
def test_several_runs_have_paired_differences_from_the_best():
    run("train", "news", "--model", "lda", "--laps", 2, "--topics", 2, "--quiet", "--out", "two")
    runs = ("run", "two")

    records = json.loads(run("evaluate", *runs, "more", "--json").stdout)
    rows = table_of(run("evaluate", *runs, "more").stdout)

    scores = [record["log_likelihood_per_token"] for record in records]
    best, worse = int(np.argmax(scores)), int(np.argmin(scores))
    found = records[worse]
    assert found["difference_from_best"] == pytest.approx(scores[worse] - scores[best])
    assert 0 < found["difference_standard_error"] < found["standard_error"]
    assert records[best]["difference_from_best"] is None
    assert records[best]["difference_standard_error"] is None
    printed = {name: row["difference"] for name, row in rows.items()}
    assert printed[str(runs[best])] == "-"
    assert float(printed[str(runs[worse])]) == pytest.approx(
        found["difference_from_best"], abs=6e-5
    )


def test_one_run_has_no_difference():
    (record,) = json.loads(run("evaluate", "run", "more", "--json").stdout)

    assert "difference_from_best" not in record
    assert "difference" not in run("evaluate", "run", "more").stdout


def test_runs_that_know_different_words_have_no_differences(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_jsonl(tmp_path / "few.jsonl", ["owls hunt mice", "cats hunt mice"] * 9)
    write_jsonl(tmp_path / "many.jsonl", TEXTS)
    run("ingest", "few.jsonl", "--out", "growing", "--quiet")
    run("train", "growing", "--topics", 2, "--laps", 2, "--quiet", "--out", "before")
    run("ingest", "many.jsonl", "--append", "growing", "--grow-vocabulary", "--quiet",
        "--duplicate-ids", "keep")  # fmt: skip
    run("train", "growing", "--topics", 2, "--laps", 2, "--quiet", "--out", "after")

    found = run("evaluate", "before", "after", "growing", "--report", "page.html", "--json")

    assert "so their scores are of different tokens." in found.stderr
    assert not any("difference_from_best" in record for record in json.loads(found.stdout))
    assert "difference from best" not in Path("page.html").read_text()
    best = json.loads(run("documents", "before", "growing", "--json").stdout)
    assert all(set(row["words"]) <= {"owls", "cats", "hunt", "mice"} for row in best)


def test_runs_of_vectors_have_differences_per_item(tmp_path):
    run("train", "vectors", "--model", "mixture", "--topics", 1, "--laps", 2, "--quiet", "--out",
        tmp_path / "one")  # fmt: skip
    records = json.loads(run("evaluate", "gaussians", tmp_path / "one", "vectors", "--json").stdout)

    scores = [record["log_likelihood_per_item"] for record in records]
    differences = [record["difference_from_best"] or 0.0 for record in records]
    assert differences == pytest.approx([score - max(scores) for score in scores])


# --- in-sample ------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("trained", "corpus", "heads"),
    [
        ("run", "news", ["in-sample"]),
        ("mixture", "news", ["in-sample/item", "in-sample"]),
        ("gaussians", "vectors", ["in-sample/item"]),
    ],
)
def test_scores_of_the_training_corpus_are_called_in_sample(trained, corpus, heads):
    printed = run("evaluate", trained, corpus)
    (record,) = json.loads(run("evaluate", trained, corpus, "--json").stdout)

    own = "was trained with this corpus: its scores are in-sample, not those of new data."
    assert printed.stderr == f"{trained} {own}\n"
    for head in heads:
        assert head in printed.stdout.split()
    assert "log-lik" not in printed.stdout
    assert record["in_sample"] is True
    assert "log_likelihood_per_token" in record or "log_likelihood_per_item" in record


def test_of_two_runs_only_one_may_have_been_trained_with_the_corpus():
    printed = run("evaluate", "run", "other", "news")
    records = json.loads(run("evaluate", "run", "other", "news", "--json").stdout)

    head, own, other = (line.split() for line in printed.stdout.splitlines()[:3])
    assert head[:4] == ["run", "model", "log-lik/token", "in-sample"]
    assert own[2] == "-"
    assert float(own[3]) == pytest.approx(records[0]["log_likelihood_per_token"], abs=6e-5)
    assert float(other[2]) == pytest.approx(records[1]["log_likelihood_per_token"], abs=6e-5)
    assert other[3] == "-"
    assert [record["in_sample"] for record in records] == [True, False]


def test_held_out_scores_have_the_columns_that_they_had():
    printed = run("evaluate", "run", "more")

    assert printed.stderr == ""
    assert "log-lik/token" in printed.stdout
    assert "in-sample" not in printed.stdout


def test_a_run_without_a_fingerprint_and_a_matrix_say_nothing(world, tmp_path):
    model = load("run")
    model._run().settings["corpus"].pop("fingerprint")
    model.save(tmp_path / "old")
    np.save(tmp_path / "m.npy", model.components_)

    records = json.loads(
        run("evaluate", tmp_path / "old", tmp_path / "m.npy", "news", "--json").stdout
    )

    assert [record["in_sample"] for record in records] == [None, None]


@pytest.mark.parametrize("form", ["folder", "memory", "matrix", "texts"])
def test_an_estimator_knows_what_it_was_fitted_with(form, tmp_path):
    forms = {
        "folder": lambda: Corpus.open("news"),
        "memory": lambda: Corpus.from_texts(TEXTS),
        "matrix": lambda: Corpus.from_texts(TEXTS).to_csr(),
        "texts": lambda: TEXTS,
    }
    model = LDA(3, max_iter=2).fit(forms[form]())

    with pytest.warns(SparsetopicsWarning, match="^LDA was trained with this corpus: ") as warned:
        assert model.evaluate(forms[form]())["in_sample"] is True
    assert warned[0].filename == __file__
    if form != "matrix":
        assert model.evaluate(TEXTS[1:])["in_sample"] is (None if form == "folder" else False)
    if form == "folder":
        model.save(tmp_path / "run")
        (record,) = json.loads(run("evaluate", tmp_path / "run", "news", "--json").stdout)
        assert record["in_sample"] is True


def test_of_several_data_nothing_is_known():
    model = LDA(2).partial_fit(TEXTS).partial_fit(TEXTS[:40])

    assert model.evaluate(TEXTS)["in_sample"] is None


def test_how_rows_are_divided_plays_no_part():
    texts = ["owls hunt mice", "", "cats chase mice"] * 4_000
    with pytest.warns(SparsetopicsWarning, match="Skipped 4,000"):
        model = LDA(2, max_iter=1).fit(texts)

    with pytest.warns(SparsetopicsWarning, match="trained with this corpus"):
        model.evaluate(Corpus.from_texts(filter(None, texts)).to_csr())


# --- texts ----------------------------------------------------------------------------------------
def coherence(*arguments):
    (record,) = json.loads(run("evaluate", "run", "more", "--json", *arguments).stdout)
    return record["c_v"], record["c_npmi"]


@pytest.fixture
def plain(tmp_path):
    """The texts, one on each line, in a file of no known extension."""
    path = tmp_path / "texts.log"
    path.write_text("".join(f"{text}\n" for text in TEXTS))
    return path


def test_the_format_of_texts_may_be_named(plain):
    expected = coherence("--texts", "a.jsonl")

    assert None not in expected
    assert coherence("--texts", plain, "--format", "lines") == expected
    assert (
        ".log is not a known" in run("evaluate", "run", "more", "--texts", plain, status=1).stderr
    )


def test_the_options_of_reading_are_those_of_ingest(tmp_path, plain):
    rows = [{"body": text} for text in TEXTS]
    (tmp_path / "b.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "bad.lines").write_bytes(plain.read_bytes() + b"\xff\xff\n")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "linked.lines").symlink_to(tmp_path / "bad.lines")
    expected = coherence("--texts", "a.jsonl")

    assert coherence("--texts", tmp_path / "b.jsonl", "--text-field", "body") == expected
    bad = ("--texts", tmp_path / "bad.lines", "--encoding-errors")
    assert coherence(*bad, "replace") == expected
    assert "bad.lines" in run("evaluate", "run", "more", *bad, "strict", status=1).stderr
    linked = ("--texts", tmp_path / "folder", "--follow-links", "--encoding-errors", "replace")
    assert coherence(*linked) == expected
    for name, value in (("--format", "lines"), ("--encoding-errors", "replace")):
        refused = run("evaluate", "run", "more", name, value, status=1).stderr
        assert refused == f"Error: {name}: needs --texts.\n"


def test_evaluate_says_how_many_texts_it_read(tmp_path):
    (tmp_path / "few.lines").write_text("\n".join([*TEXTS, "zzz", ""]) + "\n")

    printed = run("evaluate", "run", "more", "--texts", tmp_path / "few.lines").stdout

    assert "82 texts read for c_v" in " ".join(printed.split())
    assert "texts read" not in run("evaluate", "run", "more").stdout


@pytest.mark.parametrize("form", [list, iter, np.array])
def test_python_counts_coherence_in_texts_too(form):
    model, heldout = load("run"), Corpus.open("more")
    expected = coherence("--texts", "a.jsonl")

    found = model.evaluate(heldout, texts=form(TEXTS))

    assert (found["c_v"], found["c_npmi"]) == expected
    assert model.evaluate(heldout)["c_v"] is None


def test_python_refuses_what_are_no_texts():
    model, heldout = load("run"), Corpus.open("more")

    with pytest.raises(SourceError, match="texts: must be a list of texts or word lists, but is "):
        model.evaluate(heldout, texts="owls")
    with pytest.raises(OptionError, match=r"texts: is for topic models, but MultinomialMixture is"):
        load("mixture").evaluate(heldout, texts=TEXTS)


def test_the_page_says_which_scores_are_in_sample(tmp_path):
    for runs, corpus in ((("run", "other"), "news"), (("gaussians", "gaussians"), "vectors")):
        run("evaluate", *runs, corpus, "--report", tmp_path / f"{corpus}.html")

        page = (tmp_path / f"{corpus}.html").read_text()
        assert "std. error, in-sample" in page
        assert ">in-sample</th>" in page
    run("evaluate", "run", "more", "--report", tmp_path / "more.html")
    assert "in-sample" not in (tmp_path / "more.html").read_text()
    run("evaluate", "run", "news", "--report", tmp_path / "own.html")
    assert " training documents of " in (tmp_path / "own.html").read_text()
