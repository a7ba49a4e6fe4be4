"""``sparsetopics compare``: several models on one division, scored as ``evaluate`` scores them."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from printed_tables import table_of
from sparsetopics.base.errors import OptionError
from sparsetopics.cli.main import main
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.corpora.ingest import IngestOptions, ingest
from sparsetopics.evaluation.comparison import compare as comparison
from sparsetopics.evaluation.comparison.compare import ModelSpec, parse_models
from worlds.clumped_mixtures import draw_clumps
from worlds.collections_on_disk import make_texts, write_jsonl
from worlds.vectors_on_disk import ingested


def run(*arguments, status=0):
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exit_code == status, result.output
    return result


def compare(corpus, models, out, *more, status=0):
    return run("compare", corpus, "--models", models, "--out", out, "--laps", 2, *more,
               status=status)  # fmt: skip


@pytest.fixture(scope="module")
def corpora(tmp_path_factory):
    """Documents, others of the same words, others of other words, and vectors."""
    folder = tmp_path_factory.mktemp("corpora")
    ingest([write_jsonl(folder / "a.jsonl", make_texts(80))], folder / "news", IngestOptions())
    same_words = IngestOptions(vocabulary=folder / "news")
    ingest([write_jsonl(folder / "b.jsonl", make_texts(30, 1))], folder / "more", same_words)
    ingest(
        [write_jsonl(folder / "c.jsonl", make_texts(9, 2, 9))], folder / "other", IngestOptions()
    )
    clumps = draw_clumps(0)
    np.savez(folder / "v.npz", values=clumps.values, labels=clumps.kinds.astype(str))
    ingested([folder / "v.npz"], folder / "vectors")
    return folder


def test_every_model_is_trained_and_scored_on_the_same_division(corpora, tmp_path):
    out = tmp_path / "out"

    printed = compare(corpora / "news", "lda:4,hdp:3,mixture:2", out, "--json")

    assert "Holding out 10 % of " in printed.stderr
    made = json.loads(printed.stdout)
    assert made["report"] == str(out / "report.html")
    names = ["lda-4", "hdp-3", "mixture-2"]
    assert [record["name"] for record in made["models"]] == names
    folders = {path.name for path in out.iterdir()}
    assert folders == {*names, "train", "heldout", "report.html"}
    lda, hdp, mixture = made["models"]
    gap = lda["log_likelihood_per_token"] - hdp["log_likelihood_per_token"]
    differences = [record["difference_from_best"] for record in (lda, hdp, mixture)]
    assert differences == pytest.approx([gap, None, None] if gap < 0 else [None, -gap, None])
    errors = [record["difference_standard_error"] for record in (lda, hdp, mixture)]
    assert [error is None for error in errors] == [each is None for each in differences]
    assert (lda["model"], lda["n_topics"], lda["laps"]) == ("lda", 4, 2)
    assert mixture["likelihood"] == "multinomial"
    for record in (lda, mixture):
        arguments = ["evaluate", record["run"], out / "heldout", "--json"]
        if record is lda:
            arguments += ["--coherence-corpus", out / "train"]
        (again,) = json.loads(run(*arguments).stdout)
        assert {key: record[key] for key in again} == again
    page = (out / "report.html").read_text()
    for shown in ("Comparison of 3 models", "Mixtures of documents", "training seconds", *names):
        assert shown in page


def test_the_division_is_that_of_corpus_split(corpora, tmp_path):
    share = ("--held-out-share", 0.25)
    compare(corpora / "news", "lda:2", tmp_path / "out", "--seed", 3, *share, "--quiet")
    parts = ("--out-train", tmp_path / "a", "--out-heldout", tmp_path / "b")
    run("corpus", "split", corpora / "news", *share, "--seed", 3, *parts)

    for made, split in (("train", "a"), ("heldout", "b")):
        found, wanted = Corpus.open(tmp_path / "out" / made), Corpus.open(tmp_path / split)
        assert list(found.doc_ids()) == list(wanted.doc_ids())


def test_a_run_is_what_train_makes(corpora, tmp_path):
    compare(corpora / "news", "hdp:3", tmp_path / "out", "--seed", 5, "--quiet")
    train = tmp_path / "out" / "train"

    run("train", train, "--model", "hdp", "--topics", 3, "--laps", 2, "--seed", 5, "--quiet",
        "--out", tmp_path / "again")  # fmt: skip

    file = "model.safetensors"
    assert (tmp_path / "again" / file).read_bytes() == (tmp_path / "out/hdp-3" / file).read_bytes()


def test_held_out_data_may_be_given_and_scored_every_lap(corpora, tmp_path):
    out = tmp_path / "out"

    printed = compare(corpora / "news", "lda:2,lda:3", out, "--heldout", corpora / "more",
                      "--every-lap")  # fmt: skip

    assert {path.name for path in out.iterdir()} == {"lda-2", "lda-3", "report.html"}
    page = (out / "report.html").read_text()
    assert "held-out log-likelihood per token" in page
    assert "Comparison of 2 topic models" in page
    rows = table_of(printed.stdout)
    assert list(rows) == ["lda-2", "lda-3"]
    assert list(rows["lda-2"])[:4] == ["run", "model", "log-lik/token", "std.err"]
    *_, title, difference, _, ending = printed.stdout.splitlines()
    scores = {name: float(row["log-lik/token"]) for name, row in rows.items()}
    best = max(scores, key=scores.get)
    (worse,) = set(scores) - {best}
    unit = "nats per token, and their standard errors:"
    assert title == f"Paired differences from {best}, in {unit}"
    name, mean, _, error = difference.split()
    assert name == worse
    assert float(mean) == pytest.approx(scores[worse] - scores[best], abs=2e-4)
    assert float(error) > 0
    assert ending == f"Wrote {out / 'report.html'}."
    assert "Training lda-3.\n" in printed.stderr


def test_mixtures_of_vectors_compare_too(corpora, tmp_path):
    made = json.loads(
        compare(corpora / "vectors", "mixture:2,mixture:4", tmp_path / "out", "--likelihood",
                "diagonal-gaussian", "--quiet", "--json").stdout
    )  # fmt: skip

    two, four = made["models"]
    assert four["log_likelihood_per_item"] > two["log_likelihood_per_item"]
    assert four["nmi"] > two["nmi"]
    assert "components used" in (tmp_path / "out/report.html").read_text()


@pytest.mark.parametrize(
    ("models", "message"),
    [
        ("lda:50,hpd", "expected lda, hdp.* found 'hpd'.*Did you mean hdp\\?"),
        ("ldaa:50", "Did you mean lda:50\\?"),
        ("lda50", "Did you mean lda:50\\?"),
        ("dpmixture", "Did you mean dp-mixture\\?"),
        ("lda:0", "expected a number of topics of at least 1, as in lda:50, but found 'lda:0'"),
        ("hdp:", "expected a number .*found 'hdp:'"),
        ("lda:5,hdp,lda:5", "lda-5 is listed twice"),
        ("", "found ''"),
    ],
)
def test_unknown_models_are_refused_with_the_nearest_name(corpora, tmp_path, models, message):
    with pytest.raises(OptionError, match=message):
        parse_models(models)
    error = compare(corpora / "news", models, tmp_path / "out", status=1).stderr
    assert error.startswith("Error: --models: ")
    assert error.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_models_are_read_with_their_numbers():
    assert parse_models("lda:50, hdp,dp-mixture:3") == (
        ModelSpec("lda", 50), ModelSpec("hdp"), ModelSpec("dp-mixture", 3)
    )  # fmt: skip
    assert [spec.name for spec in parse_models("hdp,mixture:20")] == ["hdp", "mixture-20"]


@pytest.mark.parametrize(
    ("corpus", "models", "more", "message"),
    [
        ("vectors", "mixture:2,lda:2", (), "lda cannot be trained on {}/vectors, which holds vec"),
        ("news", "mixture:2", ("--likelihood", "gaussian"), "gaussian does not fit {}/news"),
        ("vectors", "mixture:2", ("--likelihood", "multinomial"), "multinomial does not fit {}/v"),
        ("news", "lda:2", ("--heldout", "{}/other"), "another vocabulary"),
        ("news", "lda:2", ("--heldout", "{}/vectors"), "found vectors in"),
        ("vectors", "mixture", ("--heldout", "{}/news"), "found documents in"),
        ("news", "lda:2", ("--held-out-share", 0.001), "0.001 would hold out 0 of 80 documents"),
        ("news", "hdp:2", ("--sparsity", 0), "--sparsity: must be at least 1, but is 0."),
        ("nowhere", "lda:2", (), "nowhere"),
    ],
)
def test_what_does_not_fit_is_refused_before_training(
    corpora, tmp_path, monkeypatch, corpus, models, more, message
):
    def train(*_):
        pytest.fail("trained")

    monkeypatch.setattr(comparison, "train_run", train)
    options = [str(each).format(corpora) for each in more]

    error = compare(corpora / corpus, models, tmp_path / "out", *options, status=1).stderr

    assert message.format(corpora) in error.splitlines()[-1]
    assert error.splitlines()[-1].startswith("Error: ")
    assert not (tmp_path / "out").exists()


def test_what_is_finished_stays_when_a_later_model_fails(corpora, tmp_path, monkeypatch):
    out, train = tmp_path / "out", comparison.train_run

    def fail_on_hdp(plan, hooks):
        if plan.options.model == "hdp":
            raise KeyboardInterrupt
        return train(plan, hooks)

    monkeypatch.setattr(comparison, "train_run", fail_on_hdp)
    compare(corpora / "news", "lda:2,hdp:2", out, "--quiet", status=130)

    assert {path.name for path in out.iterdir()} == {"train", "heldout", "lda-2"}
    run("topics", out / "lda-2")
    again = ("compare", corpora / "news", "--models", "lda:2", "--out", out)
    assert "--overwrite" in run(*again, status=1).stderr
    monkeypatch.undo()
    run(*again, "--overwrite", "--laps", 1, "--quiet")
    assert (out / "report.html").exists()
