"""Mixtures of documents on the command line, all the way."""

import json

import numpy as np
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from sparsetopics import Corpus
from sparsetopics.cli.main import main
from sparsetopics.runs.run import load_run
from worlds.clumped_mixtures import draw_clumps

KINDS = ("sea ship sail wave wind port", "farm corn hay cow barn field", "song tune note band drum")
MIXTURE = ("--likelihood", "multinomial", "--quiet")


def run(*arguments, status=0):
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exit_code == status, result.output
    return result


def fail(*arguments):
    result = run(*arguments, status=1)
    assert result.stdout == ""
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
    return result.stderr


def write_texts(path, n_texts, seed, extra=""):
    """Labelled texts of three kinds that share some words."""
    rng = np.random.default_rng(seed)
    with path.open("w") as file:
        for number in range(n_texts):
            kind = int(rng.integers(3))
            words = [*rng.choice(KINDS[kind].split(), 12), *rng.choice(["day", "year", "time"], 4)]
            entry = {"id": f"t{number}", "text": " ".join(words) + extra, "label": f"kind {kind}"}
            file.write(json.dumps(entry) + "\n")
    return path


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    folder = tmp_path_factory.mktemp("prepared")
    source = write_texts(folder / "train.jsonl", 200, 0)
    run("ingest", source, "--out", folder / "corpus", "--quiet")
    source = write_texts(folder / "heldout.jsonl", 50, 1, extra=" unheard")
    run("ingest", source, "--vocabulary", folder / "corpus", "--out", folder / "heldout", "--quiet")
    source = write_texts(folder / "other.jsonl", 50, 2, extra=" quartz")
    run("ingest", source, "--out", folder / "other", "--quiet")
    np.savez(folder / "vectors.npz", values=draw_clumps(0).values)
    run("ingest", folder / "vectors.npz", "--out", folder / "vectors", "--quiet")
    train = ("train", folder / "corpus", "--model", "dp-mixture", *MIXTURE)
    run(*train, "--heldout", folder / "heldout", "--out", folder / "run")
    run("train", folder / "corpus", "--model", "lda", "--topics", 2, "--laps", 1, "--quiet",
        "--out", folder / "topics")  # fmt: skip
    usual = ("train", folder / "vectors", "--model", "mixture", "--quiet", "--laps", 2)
    run(*usual, "--out", folder / "gaussian")
    return folder


def test_the_kinds_are_found_and_held_out_scores_told(prepared):
    written = load_run(prepared / "run")

    assert written.model.n_topics == 3
    assert written.settings["options"]["likelihood"] == "multinomial"
    assert written.settings["corpus"]["n_documents"] == 200
    scores = [entry["heldout_log_likelihood_per_token"] for entry in written.trace]
    assert scores[-1] > scores[0] + 0.3
    assert sorted(file.name for file in (prepared / "run").iterdir()) == [
        "config.toml",
        "model.json",
        "model.safetensors",
        "trace.jsonl",
        "vocabulary.parquet",
    ]


def test_evaluate_tells_density_and_agreement(prepared):
    (card,) = json.loads(run("evaluate", prepared / "run", prepared / "heldout", "--json").stdout)

    assert (card["n_components"], card["n_labels"], card["n_items"]) == (3, 3, 50)
    n_tokens = Corpus.open(prepared / "heldout").n_tokens
    assert card["n_tokens"] == n_tokens
    assert card["hungarian_accuracy"] == card["nmi"] == 1.0
    per_token = load_run(prepared / "run").trace[-1]["heldout_log_likelihood_per_token"]
    assert card["log_likelihood_per_token"] == pytest.approx(per_token)
    assert card["log_likelihood_per_item"] == pytest.approx(n_tokens / 50 * per_token)
    table = run("evaluate", prepared / "run", prepared / "heldout").stdout.splitlines()
    assert "log-lik/token" in table[0]
    assert table[-1] == f"50 items ({n_tokens} tokens) scored"
    assert f"{per_token:.4f}" in table[1]


def test_infer_writes_a_row_for_each_document(prepared, tmp_path):
    out = tmp_path / "shares.parquet"

    result = run("infer", prepared / "run", prepared / "heldout", "--out", out)

    assert result.stdout == f"Wrote a row for each of 50 documents to {out}.\n"
    table = pq.read_table(out)
    assert table.column_names == ["doc_id", "responsibilities"]
    assert table["doc_id"].to_pylist() == [f"t{number}" for number in range(50)]
    shares = np.array(table["responsibilities"].to_pylist())
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, rtol=1e-6)


def test_topics_shows_the_words_of_components(prepared):
    rows = json.loads(run("topics", prepared / "run", "--words", 8, "--json").stdout)

    assert len(rows) == 3
    for row in rows:
        words = {word for word, _ in row["words"]}
        assert max(len(words & set(kind.split())) for kind in KINDS) >= 5
    assert sum(row["weight"] for row in rows) == pytest.approx(1.0)
    assert "a mixture of vectors (gaussian)" in fail("topics", prepared / "gaussian")


def test_eta_and_the_number_of_components_are_kept(prepared, tmp_path):
    result = run("train", prepared / "corpus", "--model", "mixture", "--topics", 4, "--eta", 0.5,
                 *MIXTURE, "--no-quiet", "--laps", 3, "--out", tmp_path / "run")  # fmt: skip

    model = load_run(tmp_path / "run").model
    assert model.likelihood.word_concentration == 0.5
    assert model.n_topics == 4
    assert "nats per token" in result.stdout


@pytest.mark.parametrize("workers", [1, 2])
def test_same_seed_same_bytes(prepared, tmp_path, workers):
    out = tmp_path / "run"

    run("train", prepared / "corpus", "--model", "dp-mixture", *MIXTURE, "--workers", workers,
        "--out", out)  # fmt: skip

    name = "model.safetensors"
    assert (out / name).read_bytes() == (prepared / "run" / name).read_bytes()


@pytest.mark.parametrize(
    ("corpus", "arguments", "message"),
    [
        ("vectors", MIXTURE, "found a corpus of vectors"),
        ("corpus", ("--likelihood", "gaussian"), "have --likelihood multinomial"),
        ("corpus", (), "found a corpus of documents"),
        ("corpus", (*MIXTURE, "--alpha", 1), "--alpha: is for lda and hdp, not for"),
        ("corpus", ("--eta", 1), "--eta: is for words, but --likelihood gaussian"),
        (
            "corpus",
            (*MIXTURE, "--eta", 0),
            "--eta: must be from 1e-09 to 1e+09, but is 0.0.",
        ),
        ("corpus", (*MIXTURE, "--local-update", "collapsed"), "--local-update: must be mean-field"),
        ("corpus", (*MIXTURE, "--restarts", 2), "--restarts: must be 0 with --model dp-mixture"),
        ("corpus", (*MIXTURE, "--criterion", "collapsed"), "--criterion: must be bound with"),
        ("corpus", (*MIXTURE, "--learn-hyperparameters"), "--learn-hyperparameters: is for lda"),
        (
            "corpus",
            (*MIXTURE, "--topics", 201),
            "--topics: must be at most 200, the number of items, but is 201",
        ),
        ("corpus", (*MIXTURE, "--heldout", "other"), "found another vocabulary"),
        (
            "corpus",
            (*MIXTURE, "--heldout", "vectors"),
            "heldout: expected documents, but found vectors in",
        ),
        ("corpus", (*MIXTURE, "--start", "run"), "--start: a mixture cannot start from a run"),
        (
            "corpus",
            (*MIXTURE, "--model", "lda"),
            "--likelihood: is for dp-mixture and mixture, not for --model lda",
        ),
    ],
)
def test_what_does_not_go_together_is_refused(prepared, tmp_path, corpus, arguments, message):
    paths = {"other": prepared / "other", "vectors": prepared / "vectors", "run": prepared / "run"}
    given = [paths.get(argument, argument) for argument in arguments]

    told = fail("train", prepared / corpus, "--model", "dp-mixture", *given,
                "--out", tmp_path / "out")  # fmt: skip

    assert message in told
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("evaluate", "run", "other"), "found another vocabulary"),
        (("evaluate", "run", "vectors"), "trained with documents, not with vectors"),
        (("evaluate", "gaussian", "heldout"), "found a mixture of vectors"),
        (("evaluate", "run", "topics", "heldout"), "runs: mixtures and topic models cannot"),
        (("evaluate", "run", "heldout", "--alpha", "1"), "alpha: needs topic models"),
        (("infer", "run", "other", "--out", "out.csv"), "found another vocabulary"),
        (
            ("infer", "run", "vectors", "--out", "out.csv"),
            "trained with documents, not with vectors",
        ),
        (("infer", "gaussian", "corpus", "--out", "out.csv"), "found a mixture of vectors"),
        (("denoise", "run", "heldout", "--out", "out"), "expected a zero-mean-gaussian mixture"),
        (
            ("export", "run", "--to", "gensim", "--out", "out"),
            "gensim takes topic models, but",
        ),
    ],
)
def test_runs_that_do_not_fit_are_refused(prepared, tmp_path, arguments, message):
    names = {"run", "topics", "gaussian", "other", "vectors", "heldout", "corpus"}
    places = [prepared / each if each in names else each for each in arguments]
    places = [tmp_path / each if each == "out" else each for each in places]

    assert message in fail(*places)
