"""Vectors on the command line, all the way: ingest, train, evaluate, infer."""

import errno
import json
import shutil

import numpy as np
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from printed_tables import table_of
from sparsetopics import VectorCorpus
from sparsetopics.cli.main import main
from sparsetopics.runs import train as trained_runs
from sparsetopics.runs.run import load_run
from worlds.clumped_mixtures import draw_clumps
from worlds.collections_on_disk import make_texts, write_jsonl
from worlds.vectors_on_disk import item_ids_of, labels_of, values_of

TRAIN_KEYS = {
    *("run", "model", "n_topics", "active_topics", "elbo_per_token", "laps", "seconds"),
    *("as_good_from", "as_good_to", "recommended", "to_read", "smoothing", "lists"),
    *("n_runs", "in_every_run"),
}
SCORE_KEYS = [
    "run",
    "log_likelihood_per_item",
    "standard_error",
    "n_items",
    "model",
    "likelihood",
    "n_components",
    "n_used_components",
    "elbo_per_item",
]
AGREEMENT_KEYS = [
    "nmi",
    "nmi_arithmetic",
    "hungarian_accuracy",
    "majority_accuracy",
    "n_unlabelled",
    "n_labels",
]


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


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """Corpora of vectors: labelled, held out, of other columns, projected; and of documents."""
    folder = tmp_path_factory.mktemp("prepared")
    for name, n_items, n_columns in (("corpus", 160, 3), ("heldout", 60, 3), ("other", 60, 2)):
        clumps = draw_clumps(0, n_items, n_columns)
        labels = np.array([f"clump {kind}" for kind in clumps.kinds])
        np.savez(folder / f"{name}.npz", values=clumps.values, labels=labels)
        run("ingest", folder / f"{name}.npz", "--out", folder / name, "--quiet")
    np.save(folder / "plain.npy", draw_clumps(0, 60).values)
    run("ingest", folder / "plain.npy", "--out", folder / "plain", "--quiet")
    run("ingest", folder / "corpus.npz", "--pca", 3, "--out", folder / "projected", "--quiet")
    source = write_jsonl(folder / "documents.jsonl", make_texts(60, 0))
    run("ingest", source, "--out", folder / "documents", "--quiet")
    return folder


@pytest.fixture(scope="module")
def trained(prepared):
    """A run of a mixture of four, and one of topics."""
    usual = ("train", prepared / "corpus", "--out", prepared / "run", "--quiet")
    run(*usual, "--model", "mixture", "--topics", 4, "--laps", 8)
    usual = ("train", prepared / "documents", "--out", prepared / "topics", "--quiet")
    run(*usual, "--model", "lda", "--topics", 2, "--laps", 1)
    return prepared / "run"


@pytest.fixture
def train(prepared, tmp_path):
    """Train on vectors for some laps into a folder of its own."""

    def call(*arguments, corpus="corpus", out="run", model="dp-mixture", status=0):
        usual = ("train", prepared / corpus, "--out", tmp_path / out, "--laps", 3)
        return run(*usual, "--model", model, *arguments, status=status)

    return call


def trace_of(folder):
    return [json.loads(line) for line in (folder / "trace.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("model", ["dp-mixture", "mixture"])
@pytest.mark.parametrize("likelihood", ["zero-mean-gaussian", "gaussian", "diagonal-gaussian"])
def test_a_run_is_written_and_reported(train, tmp_path, model, likelihood):
    report = json.loads(train("--json", "--likelihood", likelihood, model=model).stdout)

    written = load_run(tmp_path / "run")
    assert set(report) == TRAIN_KEYS
    assert report["run"] == str(tmp_path / "run")
    assert (report["model"], report["laps"]) == (model, 3)
    assert report["n_topics"] == written.model.n_topics == (10 if model == "mixture" else 1)
    assert report["elbo_per_token"] == written.trace[-1]["elbo_per_token"]
    assert written.model.likelihood_name == likelihood
    assert sorted(file.name for file in (tmp_path / "run").iterdir()) == [
        "config.toml",
        "model.json",
        "model.safetensors",
        "trace.jsonl",
    ]


def test_people_read_a_sentence_and_a_line_per_lap(train):
    result = train("--topics", 4, model="mixture")

    assert result.stdout.startswith("Trained 4 components (mixture) in 3 laps")
    assert "nats per item. All laps are done. Wrote" in result.stdout
    assert [line.split("  ")[0] for line in result.stderr.splitlines()] == [
        *(f"lap {lap}/3" for lap in (1, 2, 3)), "Writing the run."
    ]  # fmt: skip
    settled = train("--topics", 1, "--laps", 9, out="other", model="mixture")
    assert "The bound and the number of components have settled." in settled.stdout


def test_a_dp_mixture_finds_components(train, tmp_path):
    report = json.loads(train("--json", "--quiet", "--laps", 40).stdout)

    assert report["n_topics"] >= 4
    model = load_run(tmp_path / "run").model
    assert (model.mixture.counts > 10).sum() == 4
    assert sum(entry["births_accepted"] for entry in trace_of(tmp_path / "run")) > 0


def test_options_reach_the_run(train, tmp_path):
    options = ("--topics", 5, "--likelihood", "diagonal-gaussian", "--sparsity", 2, "--seed", 7)
    more = ("--moves", "merge", "--gamma", 3, "--batches", 5, "--start", "random")

    train(*options, *more)

    settings = load_run(tmp_path / "run").settings
    assert settings["seed"] == 7
    assert load_run(tmp_path / "run").model.mixture.top_concentration == 3.0
    assert settings["likelihood"] == "diagonal-gaussian"
    assert settings["corpus"]["n_items"] == 160
    kept = settings["options"]
    assert (kept["local"]["update"], kept["local"]["sparsity"]) == ("mean-field", 2)
    assert (kept["moves"]["names"], kept["moves"]["criterion"]) == (["merge"], "bound")
    assert (kept["start"], kept["batches"], kept["n_topics"]) == ("random", 5, 5)


@pytest.mark.parametrize(
    ("model", "learner"),
    [("dp-mixture", "memoized"), ("mixture", "full"), ("mixture", "stochastic")],
)
def test_workers_do_not_change_a_byte(monkeypatch, train, tmp_path, model, learner):
    monkeypatch.setattr("sparsetopics.model.item_assignment.BLOCK_ITEMS", 16)
    for workers in (1, 2):
        options = ("--topics", 6, "--learner", learner, "--workers", workers, "--laps", 6)
        train(*options, model=model, out=f"run{workers}")

    one, two = (
        (tmp_path / f"run{workers}" / "model.safetensors").read_bytes() for workers in (1, 2)
    )
    assert one == two


def test_heldout_items_are_scored_after_every_lap(train, prepared, tmp_path):
    train("--heldout", prepared / "heldout", "--topics", 4)

    scores = [entry["heldout_log_likelihood_per_token"] for entry in trace_of(tmp_path / "run")]
    assert len(scores) == 3
    record = evaluated(tmp_path / "run", prepared / "heldout")
    assert scores[-1] == pytest.approx(record["log_likelihood_per_item"], rel=1e-9)


def evaluated(*arguments):
    (record,) = json.loads(run("evaluate", *arguments, "--json").stdout)
    return record


def test_evaluate_scores_items_and_agreement_with_labels(prepared, trained):
    record = evaluated(trained, prepared / "heldout")

    assert list(record) == [*SCORE_KEYS, *AGREEMENT_KEYS, "in_sample"]
    items = VectorCorpus.open(prepared / "heldout")
    written = load_run(trained)
    densities = written.model.log_densities(values_of(items))
    assert record["log_likelihood_per_item"] == pytest.approx(densities.mean())
    assert record["standard_error"] == pytest.approx(densities.std(ddof=1) / np.sqrt(60))
    assert (record["n_items"], record["n_components"], record["n_labels"]) == (60, 4, 4)
    owners = written.model.responsibilities(values_of(items)).argmax(axis=1)
    assert record["n_used_components"] == len(set(owners.tolist()))
    assert (record["run"], record["model"]) == (str(trained), "mixture")
    assert record["likelihood"] == "gaussian"
    assert record["elbo_per_item"] == written.trace[-1]["elbo_per_token"]
    assert record["nmi"] > 0.5
    assert set(labels_of(items)) == {f"clump {kind}" for kind in range(4)}


def test_without_labels_evaluate_scores_items_alone(prepared, trained):
    assert list(evaluated(trained, prepared / "plain")) == [*SCORE_KEYS, "in_sample"]


def test_evaluate_prints_a_line_for_each_run(prepared, trained, train, tmp_path):
    train("--quiet")

    labelled = run("evaluate", trained, tmp_path / "run", prepared / "heldout").stdout
    plain = run("evaluate", trained, prepared / "plain").stdout

    first, second = table_of(labelled).values()
    titles = ["run", "model", "log-lik/item", "std.err", "components", "used", "ELBO/item"]
    assert list(first) == [*titles[:4], "difference", *titles[4:], "NMI", "accuracy", "majority"]
    assert (first["model"], second["model"]) == ("mixture", "dp-mixture")
    record = evaluated(trained, prepared / "heldout")
    assert first["log-lik/item"] == f"{record['log_likelihood_per_item']:.4f}"
    assert [first[head] for head in ("NMI", "accuracy", "majority")] == [
        f"{record[name]:.4f}" for name in ("nmi", "hungarian_accuracy", "majority_accuracy")
    ]
    assert labelled.splitlines()[-1] == "60 items scored"
    ((*heads,),) = table_of(plain).values()
    assert heads == titles


def test_infer_writes_responsibilities_in_the_order_of_the_items(prepared, trained, tmp_path):
    out = tmp_path / "shares.parquet"

    report = json.loads(run("infer", trained, prepared / "heldout", "--out", out, "--json").stdout)

    assert report == {"n_items": 60, "path": str(out)}
    table = pq.read_table(out)
    assert table.column_names == ["item_id", "responsibilities"]
    items = VectorCorpus.open(prepared / "heldout")
    assert table["item_id"].to_pylist() == item_ids_of(items)
    shares = np.array(table["responsibilities"].to_pylist())
    expected = load_run(trained).model.responsibilities(values_of(items))
    np.testing.assert_allclose(shares, expected, atol=1e-7)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, atol=1e-6)


def test_infer_says_what_it_wrote_and_repeats_itself(prepared, trained, tmp_path):
    said = [
        run("infer", trained, prepared / "heldout", "--out", tmp_path / name).stdout
        for name in ("one.parquet", "two.parquet")
    ]

    assert said[0] == f"Wrote a row for each of 60 items to {tmp_path / 'one.parquet'}.\n"
    one, two = (tmp_path / name for name in ("one.parquet", "two.parquet"))
    assert one.read_bytes() == two.read_bytes()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--topics", 0), "--topics: must be at least 1, but is 0."),
        (("--topics", 161), "--topics: must be at most 160, the number of items, but is 161"),
        (("--sparsity", 0), "--sparsity: must be at least 1, but is 0."),
        (("--batches", 161), "batches: must be from 1 to 160, the number of items, but is 161"),
        (("--workers", 0), "--workers: must be from 1 to 4,096, but is 0."),
        (("--gamma", 0), "--gamma: must be from 1e-09 to 1e+09, but is 0.0."),
        (("--alpha", 0.5), "--alpha: is for lda and hdp, not for --model dp-mixture."),
        (("--eta", 0.1), "--eta: is for words, but --likelihood gaussian is of vectors."),
        (("--minimum-mass", 3), "--minimum-mass: is for lda and hdp, not for --model dp-mixture."),
        (
            ("--restarts", 2),
            "--restarts: must be 0 with --model dp-mixture, whose local step is exact.",
        ),
        (
            ("--local-update", "collapsed"),
            "--local-update: must be mean-field with --model dp-mixture.",
        ),
        (
            ("--criterion", "collapsed"),
            "--criterion: must be bound with --model dp-mixture: collapsed",
        ),
        (
            ("--learn-hyperparameters",),
            "--learn-hyperparameters: is for lda and hdp, not for --model dp-mixture",
        ),
        (("--start", "{prepared}/run"), "run. Give one of random, distant"),
        (
            ("--moves", "split"),
            "--moves: must be one of merge, delete, birth, but is 'split'.",
        ),
        (("--learner", "full", "--moves", "merge"), "--moves: must be none with --learner full."),
        (
            ("--model", "mixture", "--moves", "merge"),
            "--moves: is for hdp and dp-mixture, not for --model mixture.",
        ),
        (
            ("--model", "mixture", "--topics", 3, "--sparsity", 4),
            "--sparsity: must be at most --topics, 3",
        ),
        (
            ("--heldout", "{prepared}/other"),
            "other: its 2 columns or its projection are not those of",
        ),
        (("--heldout", "{prepared}/projected"), "--projection {prepared}/corpus"),
        (("--heldout", "{prepared}/documents"), "{prepared}/documents"),
        (("--heldout", "{prepared}/run"), "{prepared}/run"),
        (("--heldout", "{prepared}/nothing"), "{prepared}/nothing"),
    ],
)
def test_what_does_not_fit_a_mixture_ends_in_one_line(
    prepared, trained, tmp_path, arguments, message
):
    arguments = [str(each).format(prepared=prepared) for each in arguments]
    usual = ("train", prepared / "corpus", "--out", tmp_path / "run", "--quiet", "--laps", 2)

    error = fail(*usual, "--model", "dp-mixture", *arguments)

    assert message.format(prepared=prepared) in error
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("model", ["dp-mixture", "mixture"])
def test_documents_are_no_items(prepared, tmp_path, model):
    usual = ("train", prepared / "documents", "--out", tmp_path / "run", "--quiet")

    error = fail(*usual, "--model", model)

    assert f"{prepared / 'documents'}" in error
    assert "documents" in error
    assert "vectors" in error
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("model", ["hdp", "lda"])
def test_items_are_no_documents(prepared, tmp_path, model):
    usual = ("train", prepared / "corpus", "--out", tmp_path / "run", "--quiet")

    error = fail(*usual, "--model", model)
    with_likelihood = fail(*usual, "--model", model, "--likelihood", "gaussian")

    assert f"holds vectors, but {model} learns from documents." in error
    assert "Use --model dp-mixture or mixture.\n" in error
    assert (
        f"--likelihood: is for dp-mixture and mixture, not for --model {model}." in with_likelihood
    )
    assert list(tmp_path.iterdir()) == []


NO_FIT = [
    (("{run}", "{prepared}/other"), "other: expected the 3 columns that"),
    (("{run}", "{prepared}/projected"), "projected: expected columns like those of"),
    (("{prepared}/heldout", "{run}"), "expected a corpus folder, but found a run"),
    (("{prepared}/nothing", "{prepared}/heldout"), "expected a run folder, but found no such f"),
]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        *NO_FIT,
        (("{prepared}/topics", "{prepared}/heldout"), "trained with documents, not with vectors"),
        (("{run}", "{prepared}/documents"), "found a mixture of vectors"),
        (
            ("{run}", "{prepared}/topics", "{prepared}/heldout"),
            "trained with documents, not with vectors",
        ),
        (("{prepared}/plain.npy", "{prepared}/heldout"), "heldout: holds vectors, but the topics"),
    ],
)
def test_evaluate_refuses_what_does_not_fit(prepared, trained, arguments, message):
    assert message in fail(
        "evaluate", *(each.format(run=trained, prepared=prepared) for each in arguments)
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        *NO_FIT,
        (("{prepared}/topics", "{prepared}/heldout"), "heldout"),
        (("{run}", "{prepared}/documents"), "documents"),
    ],
)
def test_infer_refuses_what_does_not_fit(prepared, trained, tmp_path, arguments, message):
    run_and_corpus = (each.format(run=trained, prepared=prepared) for each in arguments)

    assert message in fail("infer", *run_and_corpus, "--out", tmp_path / "shares.parquet")
    assert list(tmp_path.iterdir()) == []


def test_a_page_shows_the_score_and_the_components(prepared, trained, tmp_path):
    out = tmp_path / "page.html"

    (score,) = json.loads(
        run("evaluate", trained, prepared / "heldout", "--report", out, "--json").stdout
    )

    page = out.read_text()
    assert "scored on 60 held-out items" in page
    assert f"−{-score['log_likelihood_per_item']:,.3f}" in page
    assert "Agreement with labels (NMI)" in page
    assert page.count('class="panel component"') == 4
    assert "the output already exists" in fail(
        "evaluate", trained, prepared / "heldout", "--report", out
    )


@pytest.mark.parametrize("option", [("--alpha", "0.5"), ("--coherence-corpus", "{tmp}")])
def test_options_for_documents_are_refused_for_vectors(prepared, trained, tmp_path, option):
    name, value = option

    error = fail("evaluate", trained, prepared / "heldout", name, value.format(tmp=tmp_path))

    assert f"{name[2:]}: needs topic models and held-out documents, but " in error
    assert f"but {prepared / 'heldout'} holds vectors" in error
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["topics", "export"])
def test_a_mixture_has_no_words(trained, tmp_path, command):
    more = ("--to", "gensim", "--out", tmp_path / "lda") if command == "export" else ()

    error = fail(command, trained, *more)

    assert "a mixture of vectors" in error
    if command == "topics":
        assert f"`sparsetopics report {trained}` shows its components.\n" in error
    assert list(tmp_path.iterdir()) == []


def test_an_existing_output_stays_as_it_is(train, tmp_path, prepared, trained):
    train("--quiet")
    before = {file.name: file.read_bytes() for file in (tmp_path / "run").iterdir()}

    result = train("--quiet", "--topics", 5, status=1)

    assert "the output already exists" in result.stderr
    assert {file.name: file.read_bytes() for file in (tmp_path / "run").iterdir()} == before
    train("--quiet", "--topics", 5, "--moves", "none", "--overwrite")
    assert load_run(tmp_path / "run").model.n_topics == 5


def test_a_damaged_shard(train, prepared, tmp_path):
    shutil.copytree(prepared / "corpus", tmp_path / "damaged")
    (shard,) = (tmp_path / "damaged").glob("shard-*")
    content = bytearray(shard.read_bytes())
    content[len(content) // 2] ^= 1
    shard.write_bytes(content)

    result = train("--quiet", corpus=tmp_path / "damaged", status=1)

    assert f"{shard.name}: expected SHA-256" in result.stderr
    assert result.stderr.count("\n") == 1
    assert [file.name for file in tmp_path.iterdir()] == ["damaged"]


def test_a_full_disk_before_a_lap_is_kept_leaves_nothing_behind(monkeypatch, train, tmp_path):
    def refuse(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(trained_runs, "save_run", refuse)

    result = train("--quiet", "--checkpoint-every", 0, status=1)

    assert f"{tmp_path / 'run'}: cannot write here (No space left on device)" in result.stderr
    assert result.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_growth_from_one_component_on_a_tree(prepared, tmp_path):
    """Clumps are found without being told how many; trees and all items agree on so few."""
    for name, tolerance in (("tree", ()), ("items", ("--tree-tolerance", 0))):
        run("train", prepared / "corpus", "--out", tmp_path / name, "--model", "dp-mixture",
            "--learner", "accelerated", *tolerance, "--quiet")  # fmt: skip
    assert sum(entry["births_accepted"] for entry in trace_of(tmp_path / "tree")) > 0
    records = json.loads(
        run(
            "evaluate", tmp_path / "tree", tmp_path / "items", prepared / "heldout", "--json"
        ).stdout
    )
    assert records[0]["n_components"] == records[1]["n_components"] > 1
    assert records[0]["elbo_per_item"] == pytest.approx(records[1]["elbo_per_item"], rel=0.02)


def test_growth_is_refused_where_it_cannot_be(prepared, tmp_path):
    message = fail(
        "train", prepared / "corpus", "--out", tmp_path / "run", "--model", "dp-mixture",
        "--learner", "accelerated", "--topics", 3,
    )  # fmt: skip
    assert (
        "--topics: must be 1 with --learner accelerated. The accelerated learner grows from"
        in message
    )
    assert not (tmp_path / "run").exists()
