"""``train`` on the command line."""

import errno
import json
import shutil
import signal
from pathlib import Path

import pytest
from click.testing import CliRunner

from sparsetopics.cli.main import main
from sparsetopics.model.memo import Memo
from sparsetopics.runs import session
from sparsetopics.runs import train as trained_runs
from sparsetopics.runs.run import load_run
from worlds.collections_on_disk import make_texts, write_jsonl

KEYS = {
    *("run", "model", "n_topics", "active_topics", "elbo_per_token", "laps", "seconds"),
    *("as_good_from", "as_good_to", "recommended", "to_read", "smoothing", "lists"),
    *("n_runs", "in_every_run"),
}


def run(*arguments, status=0):
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exit_code == status, result.output
    return result


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """A corpus, held-out documents in its words, and documents in other words."""
    folder = tmp_path_factory.mktemp("prepared")
    for name, seed, more in (
        ("corpus", 0, ()),
        ("heldout", 1, ("--vocabulary", folder / "corpus")),
        ("other", 2, ("--max-words", "9")),
    ):
        source = write_jsonl(folder / f"{name}.jsonl", make_texts(120, seed))
        run("ingest", source, "--out", folder / name, "--quiet", *more)
    return folder


@pytest.fixture
def train(prepared, tmp_path):
    """Train three topics for two laps into a folder of its own."""

    def call(*arguments, corpus=prepared / "corpus", out="run", model="lda", status=0):
        usual = ("train", corpus, "--out", tmp_path / out, "--topics", 3, "--laps", 2)
        return run(*usual, "--model", model, *arguments, status=status)

    return call


def trace_of(folder):
    return [json.loads(line) for line in (folder / "trace.jsonl").read_text().splitlines()]


def test_an_address_without_a_port_is_refused_before_dask_waits_for_it(prepared, tmp_path):
    place = ("--executor", "dask", "--scheduler", "tcp://head", "--quiet")

    message = run("train", prepared / "corpus", *place, "--out", tmp_path / "run", status=1).stderr

    assert "tcp://head: the address has no port. Give --scheduler an address such as" in message


def test_a_run_is_written_and_reported(train, tmp_path):
    report = json.loads(train("--json").stdout)

    assert set(report) == KEYS
    trained = load_run(tmp_path / "run")
    assert report["run"] == str(tmp_path / "run")
    assert (report["model"], report["n_topics"], report["laps"]) == ("lda", 3, 2)
    assert report["elbo_per_token"] == trained.trace[-1]["elbo_per_token"]
    assert trained.model.n_topics == 3
    assert trained.settings["options"]["laps"] == 2
    assert sorted(file.name for file in (tmp_path / "run").iterdir()) == [
        "config.toml",
        "model.json",
        "model.safetensors",
        "themes.json",
        "trace.jsonl",
        "vocabulary.parquet",
    ]


def test_people_read_a_sentence_and_a_line_per_lap(train):
    result = train()

    assert result.stdout.startswith("Trained 3 topics (LDA) in 2 laps")
    told = [line.split("  ")[0] for line in result.stderr.splitlines()]
    assert told == ["lap 1/2", "lap 2/2", "Writing the run."]
    assert train("--quiet", out="other").stderr == ""


def test_heldout_documents_are_scored_after_every_lap(train, prepared, tmp_path):
    train("--heldout", prepared / "heldout", "--json")

    scores = [entry["heldout_log_likelihood_per_token"] for entry in trace_of(tmp_path / "run")]
    assert len(scores) == 2
    evaluated = json.loads(run("evaluate", tmp_path / "run", prepared / "heldout", "--json").stdout)
    assert scores[-1] == pytest.approx(evaluated[0]["log_likelihood_per_token"], rel=1e-9)


def test_without_heldout_documents_the_score_is_empty(train, tmp_path):
    train()

    assert {entry["heldout_log_likelihood_per_token"] for entry in trace_of(tmp_path / "run")} == {
        None
    }


@pytest.mark.parametrize("model", ["lda", "hdp"])
@pytest.mark.parametrize("learner", ["memoized", "stochastic", "full"])
def test_workers_do_not_change_a_byte(train, tmp_path, learner, model):
    for workers in (1, 2):
        options = ("--learner", learner, "--workers", workers, "--batches", 4)
        train(*options, model=model, out=f"run{workers}")

    one, two = (
        (tmp_path / f"run{workers}" / "model.safetensors").read_bytes() for workers in (1, 2)
    )
    assert one == two


def test_options_reach_the_run(train, tmp_path):
    train(
        *("--local-update", "mean-field", "--sparsity", 2, "--restarts", 1, "--start", "random"),
        *("--alpha", 0.9, "--eta", 0.3, "--learn-hyperparameters", "--seed", 7, "--batches", 5),
        *("--resident-pairs", 0),
    )

    settings = load_run(tmp_path / "run").settings
    options = settings["options"]
    assert settings["seed"] == 7
    assert options["local"]["update"] == "mean-field"
    assert (options["local"]["sparsity"], options["local"]["restarts"]) == (2, 1)
    assert options["prior"] == {
        "doc_concentration": 0.9,
        "word_concentration": 0.3,
        "top_concentration": None,
    }
    assert (options["start"], options["batches"]) == ("random", 5)
    assert options["learn_hyperparameters"]
    assert load_run(tmp_path / "run").model.word_concentration != 0.3  # learned


def test_the_number_of_topics_is_learned_by_default(prepared, tmp_path):
    usual = ("train", prepared / "corpus", "--out", tmp_path / "run", "--laps", 4)

    report = json.loads(run(*usual, "--topics", 2, "--json").stdout)

    trained = load_run(tmp_path / "run")
    assert set(report) == KEYS
    assert report["model"] == trained.model.name == "hdp"
    assert report["n_topics"] == trained.model.n_topics == trained.trace[-1]["n_topics"]
    assert len(trained.model.sticks.means) == report["n_topics"]
    assert report["laps"] <= 4


def test_options_of_the_hdp_reach_the_run(train, tmp_path):
    options = ("--moves", "birth, merge", "--criterion", "collapsed", "--gamma", 3)

    train(*options, model="hdp")

    settings = load_run(tmp_path / "run").settings
    assert settings["options"]["moves"] == {
        "names": ["birth", "merge"],
        "criterion": "collapsed",
        "verify": False,
    }
    assert load_run(tmp_path / "run").model.sticks.top_concentration == 3.0


@pytest.mark.parametrize("criterion", ["bound", "collapsed"])
def test_what_moves_had_to_raise_is_told_by_trace_and_evaluate(
    train, prepared, tmp_path, criterion
):
    train("--criterion", criterion, "--laps", 5, "--quiet", model="hdp")

    trace = trace_of(tmp_path / "run")
    told = [entry["criterion_per_token"] for entry in trace if entry["criterion_per_token"]]
    (record,) = json.loads(run("evaluate", tmp_path / "run", prepared / "heldout", "--json").stdout)
    assert record["elbo_per_token"] == trace[-1]["elbo_per_token"]
    assert record["criterion_per_token"] == (told[-1] if told else None)
    assert (len(told) == 0) == (criterion == "bound")


def test_without_moves_an_hdp_keeps_its_number_of_topics(train, tmp_path):
    train("--moves", "none", model="hdp")

    assert load_run(tmp_path / "run").model.n_topics == 3
    assert load_run(tmp_path / "run").settings["options"]["moves"]["names"] == []


def test_training_goes_on_from_a_run(train, tmp_path):
    train("--batches", 1, "--local-update", "mean-field")
    train("--batches", 1, "--local-update", "mean-field", "--start", tmp_path / "run", out="more")

    before, after = (trace_of(tmp_path / name) for name in ("run", "more"))
    assert after[-1]["elbo_per_token"] > before[-1]["elbo_per_token"]


def test_going_on_from_a_run_keeps_its_number_of_topics(train, prepared, tmp_path):
    train()
    usual = ("train", prepared / "corpus", "--model", "lda", "--laps", 1, "--quiet")

    run(*usual, "--start", tmp_path / "run", "--out", tmp_path / "more")

    more = load_run(tmp_path / "more")
    assert more.model.n_topics == more.settings["options"]["n_topics"] == 3


def test_overwrite_replaces_a_run(train, tmp_path):
    train()
    train("--topics", 4, "--overwrite")

    assert load_run(tmp_path / "run").model.n_topics == 4
    assert [file.name for file in tmp_path.iterdir()] == ["run"]


def damaged(prepared, folder, *, flip):
    """A copy of the corpus with one bit of a shard flipped, or its second half cut off."""
    shutil.copytree(prepared / "corpus", folder)
    shard = folder / "shard-00000.parquet"
    content = bytearray(shard.read_bytes())
    if flip:
        content[len(content) // 2] ^= 1
    else:
        del content[len(content) // 2 :]
    shard.write_bytes(content)
    return folder


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--topics", 0), "--topics: must be at least 1, but is 0."),
        (("--sparsity", 0), "--sparsity: must be at least 1, but is 0."),
        (("--sparsity", 4), "--sparsity: must be at most --topics, 3, but is 4."),
        (("--laps", 0), "--laps: must be at least 1, but is 0."),
        (("--workers", 0), "--workers: must be from 1 to 4,096, but is 0."),
        (("--batches", 0), "--batches: must be at least 1, but is 0."),
        (("--batches", 10**6), "the number of documents, but is 1,000,000"),
        (("--alpha", 0), "--alpha: must be from 1e-09 to 1e+09, but is 0.0."),
        (("--eta", "nan"), "--eta: must be a number, but is nan."),
        (("--restarts", 2), "--restarts: needs --local-update mean-field."),
        (
            ("--start", "{prepared}/nothing"),
            "--start: must be random, distant or a run folder, but there is no folder '",
        ),
        (("--start", "{prepared}/corpus"), "expected a run folder, but found a corpus folder"),
        (("--gamma", 5), "--gamma: is for hdp, dp-mixture and mixture, not for --model lda."),
        (("--moves", "merge"), "--moves: is for hdp and dp-mixture, not for --model lda."),
        (
            ("--criterion", "collapsed"),
            "--criterion: is for hdp and dp-mixture, not for --model lda.",
        ),
        (
            ("--model", "hdp", "--gamma", 0),
            "--gamma: must be from 1e-09 to 1e+09, but is 0.0.",
        ),
        (
            ("--model", "hdp", "--moves", "merge,split"),
            "--moves: must be one of merge, delete, birth, but is 'split'.",
        ),
        (
            ("--model", "hdp", "--moves", "none,merge"),
            "--moves: none cannot be combined with others.",
        ),
        (("--model", "hdp", "--moves", ""), "--moves: must not be empty."),
        (
            ("--model", "hdp", "--moves", "birth", "--learner", "stochastic"),
            "--moves: must be none with --learner stochastic.",
        ),
        (
            ("--model", "hdp", "--moves", "none", "--sparsity", 4),
            "--sparsity: must be at most --topics, 3, but is 4.",
        ),
        (("--heldout", "{prepared}/other"), "but found another vocabulary"),
        (("--heldout", "{prepared}/nothing"), "{prepared}/nothing"),
    ],
)
def test_bad_options_end_in_one_line(train, prepared, tmp_path, arguments, message):
    arguments = [str(each).format(prepared=prepared) for each in arguments]

    result = train(*arguments, "--quiet", status=1)

    assert result.stderr.startswith("Error: ")
    assert message.format(prepared=prepared) in result.stderr
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.filterwarnings("default:There are more")
def test_more_topics_than_documents_are_warned_of_in_one_line(train, tmp_path):
    result = train("--topics", 120)

    warned = "Warning: There are more topics or components (120) than documents (119).\n"
    assert result.stderr.startswith(warned)
    assert load_run(tmp_path / "run").model.n_topics == 120


def test_a_start_of_another_size_or_in_other_words_is_refused(train, prepared, tmp_path):
    train(out="three")
    larger = train("--topics", 4, "--start", tmp_path / "three", "--quiet", status=1)
    others = train("--start", tmp_path / "three", "--quiet", corpus=prepared / "other", status=1)

    expected = "--topics: is 4, but the run of --start has 3 topics. Leave out --topics.\n"
    assert larger.stderr == f"Error: {expected}"
    assert "another vocabulary" in others.stderr
    assert larger.stderr.count("\n") == others.stderr.count("\n") == 1
    assert [file.name for file in tmp_path.iterdir()] == ["three"]


def test_an_existing_output_stays_as_it_is(train, tmp_path):
    train()
    before = {file.name: file.read_bytes() for file in (tmp_path / "run").iterdir()}

    result = train("--topics", 4, "--quiet", status=1)

    assert "the output already exists" in result.stderr
    assert "--overwrite" in result.stderr
    assert {file.name: file.read_bytes() for file in (tmp_path / "run").iterdir()} == before


def test_a_missing_corpus(train, tmp_path):
    result = train("--quiet", corpus=tmp_path / "nothing", status=1)

    assert str(tmp_path / "nothing") in result.stderr
    assert result.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_run_in_place_of_the_corpus(train, tmp_path):
    train()

    result = train("--quiet", corpus=tmp_path / "run", out="again", status=1)

    expected = "expected a corpus folder, but found a run folder."
    assert f"{expected} To start from its topics use --start.\n" in result.stderr
    assert [file.name for file in tmp_path.iterdir()] == ["run"]


@pytest.mark.parametrize("flip", [True, False])
@pytest.mark.parametrize("resident_pairs", [0, 10**6])
def test_a_damaged_shard(train, prepared, tmp_path, flip, resident_pairs):
    corpus = damaged(prepared, tmp_path / "damaged", flip=flip)

    result = train("--quiet", "--resident-pairs", resident_pairs, corpus=corpus, status=1)

    assert "shard-00000.parquet: expected" in result.stderr
    assert result.stderr.count("\n") == 1
    assert [file.name for file in tmp_path.iterdir()] == ["damaged"]


def refuse(*_, **__):
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_disk_that_is_full_in_the_first_lap_leaves_nothing_behind(monkeypatch, train, tmp_path):
    monkeypatch.setattr("sparsetopics.model.memo.np.savez", refuse)
    monkeypatch.setattr(Memo.__init__, "__defaults__", (0,))

    result = train("--quiet", status=1)

    assert f"{tmp_path / 'run'}: cannot write here (No space left on device)" in result.stderr
    assert result.stderr.endswith("Nothing was written.\n")
    assert result.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_is_full_at_the_end_leaves_what_to_go_on_with(monkeypatch, train, tmp_path):
    train(out="whole")
    with monkeypatch.context() as patch:
        patch.setattr(trained_runs, "save_run", refuse)
        result = train("--quiet", "--checkpoint-every", 1, status=1)

    assert f"{tmp_path / 'run'}: cannot write here (No space left on device)" in result.stderr
    assert f"continue with `sparsetopics resume {tmp_path / 'run'}`" in result.stderr
    assert result.stderr.count("\n") == 1
    run("resume", tmp_path / "run")
    whole, resumed = (tmp_path / name / "model.safetensors" for name in ("whole", "run"))
    assert whole.read_bytes() == resumed.read_bytes()


@pytest.mark.parametrize(("signal_sent", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupt_says_how_to_go_on(monkeypatch, train, tmp_path, signal_sent, status):
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs ignore it
    monkeypatch.setattr(trained_runs, "save_run", lambda *_: signal.raise_signal(signal_sent))

    try:
        result = train("--quiet", "--checkpoint-every", 1, status=status)
    finally:
        signal.signal(signal.SIGINT, before)

    go_on = f"continue with `sparsetopics resume {tmp_path / 'run'}`."
    assert result.stderr == f"Error: interrupted. Lap 2 is kept; {go_on}\n"


def test_an_interrupt_before_a_lap_is_kept_leaves_nothing_behind(monkeypatch, train, tmp_path):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(session, "follow", interrupt)

    result = train("--quiet", status=130)

    assert result.stderr == "Error: interrupted. Nothing was written.\n"
    assert list(tmp_path.iterdir()) == []


def test_a_missing_parent_folder(train, tmp_path):
    result = train("--quiet", out=Path("no") / "run", status=1)

    assert "does not exist" in result.stderr
    assert list(tmp_path.iterdir()) == []
