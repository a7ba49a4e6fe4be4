"""A topic path: runs of many numbers of topics from one training."""

import json
import shutil

import numpy as np
import pytest
from click.testing import CliRunner

from resealing import reseal_file
from run_contents import files_of, path_files_of
from sparsetopics import TopicPath
from sparsetopics.base.errors import OptionError, OutputError, RunError, SparsetopicsWarning
from sparsetopics.base.sealed_files import write_sealed
from sparsetopics.cli.main import main
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.inference import gradual_start, topic_path
from sparsetopics.model.topic_posterior import TopicPosterior
from sparsetopics.runs import topic_path as written_paths
from sparsetopics.runs import train
from sparsetopics.runs.callbacks import RunHooks
from sparsetopics.runs.plan import plan_topic_path
from sparsetopics.runs.resume import resume_run
from sparsetopics.runs.run import load_run
from sparsetopics.runs.topic_path_files import load_topic_path
from sparsetopics.runs.train import train_run
from sparsetopics.runs.training_folder import TrainingFolder
from worlds.bars import ten_bars

RUNGS = (12, 8, 5)
SCHEDULE = [36, 36, 36, 20, 12, 12, 12, 8, 5]  # topics in the laps


def bars_corpus(n_docs, seed=0):
    return ten_bars(np.random.default_rng(seed), n_docs, 60).corpus()


@pytest.fixture(scope="module")
def corpora(tmp_path_factory):
    """Folders of a corpus to train on, and of one to score on."""
    folder = tmp_path_factory.mktemp("corpora")
    for name, n_docs, seed in (("documents", 160, 0), ("heldout", 40, 1)):
        (folder / name).mkdir()
        corpus = bars_corpus(n_docs, seed)
        corpus.write_part(folder / name, np.ones(n_docs, bool), folder / name)
    return folder


@pytest.fixture
def made(corpora, tmp_path):
    """A function that trains a path and returns its folder."""

    def make(name="path", hooks=RunHooks(), overwrite=False, **options):  # noqa: B008
        out = tmp_path / name
        given = {"rungs": RUNGS} | {key.replace("_", "-"): value for key, value in options.items()}
        train_run(plan_topic_path(corpora / "documents", out, given, overwrite=overwrite), hooks)
        return out

    return make


def run(*arguments):
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    return result.exit_code, result.stdout, result.stderr


# --- what a path leaves ---------------------------------------------------------------------------
def test_each_rung_is_a_run_with_all_documents(made, corpora):
    out = made()
    n_tokens = Corpus.open(corpora / "documents").n_tokens
    for n_topics in RUNGS:
        found = load_run(out / str(n_topics), TopicPosterior)
        assert found.model.n_topics == n_topics
        assert found.model.sizes.sum() == pytest.approx(n_tokens, rel=1e-9)
        laps = len([1 for number in SCHEDULE if number >= n_topics])
        entries = list(found.trace)
        assert [entry["n_topics"] for entry in entries[:-1]] == SCHEDULE[:laps]
        assert entries[-1]["lap"] == laps + topic_path.VISITS
    path = load_topic_path(out)
    assert [rung.n_topics for rung in path.scores.rungs] == list(RUNGS)
    assert path.scores.n_documents == 16
    assert path.scores.recommended in RUNGS


@pytest.mark.parametrize("command", [("topics",), ("train", "--laps", 1, "--model", "hdp")])
def test_commands_read_a_rung(made, corpora, tmp_path, command):
    out = made()
    if command[0] == "topics":
        assert run("topics", out / "8", "--json")[0] == 0
    else:
        name, *options = command
        start = ("--start", out / "8", "--quiet", "--out", tmp_path / "hdp")
        assert run(name, corpora / "documents", *options, *start)[0] == 0


def test_the_path_itself_is_no_run(made):
    out = made()
    status, _, stderr = run("topics", out)
    assert status == 1
    assert "a topic path, which holds several runs" in stderr
    recommended = json.loads((out / "path.json").read_text())["recommended"]
    assert f"such as {out / str(recommended)}." in stderr


def test_the_tree_follows_the_merges(made, monkeypatch):
    """Each merge is applied to the model of the rung before, whose order is known."""
    orders, merges, narrow = [], [], gradual_start.narrowed
    reach = topic_path.Path.reach

    def narrowing(state, parameters, new_topics):
        merges.append(new_topics)
        return narrow(state, parameters, new_topics)

    def reaching(course, *arguments):
        reach(course, *arguments)
        orders.append((course.memory.lineage, len(merges)))

    monkeypatch.setattr(gradual_start, "narrowed", narrowing)
    monkeypatch.setattr(topic_path.Path, "reach", reaching)
    tree = load_topic_path(made()).tree

    for place in range(1, len(RUNGS)):
        (before, n_before), (order, n_after) = orders[place - 1], orders[place]
        for number, topic in enumerate(before):
            for merge in merges[n_before:n_after]:
                topic = merge[topic]
            parent = tree.rungs[place - 1].topics[number].parent
            assert order[parent] == topic


def test_validation_documents_leave_no_trace_in_training(made, monkeypatch):
    """The laps are the same however often rungs visit validation documents."""
    bounds = []
    for visits in (topic_path.VISITS, 5):
        monkeypatch.setattr(topic_path, "VISITS", visits)
        entries = []
        made(f"path-{visits}", RunHooks(on_lap=entries.append))
        bounds.append([entry["elbo_per_token"] for entry in entries])
    assert bounds[0] == bounds[1]


def test_held_out_scores_are_those_of_evaluate_and_no_document_is_kept_out(made, corpora):
    out = made(heldout=corpora / "heldout")
    made_without = made("without", validation_share=0.0)
    scores = load_topic_path(out).scores
    for rung in scores.rungs:
        _, stdout, _ = run("evaluate", out / str(rung.n_topics), corpora / "heldout", "--json")
        (record,) = json.loads(stdout)
        assert record["log_likelihood_per_token"] == rung.log_likelihood_per_token
        file = f"{rung.n_topics}/model.safetensors"
        assert (out / file).read_bytes() == (made_without / file).read_bytes()
    unscored = load_topic_path(made_without).scores
    assert unscored.recommended is unscored.scored_on is None
    assert all(rung.log_likelihood_per_token is None for rung in unscored.rungs)


@pytest.mark.parametrize("seed", range(2))
def test_the_true_number_of_topics_is_recommended(seed):
    rng, n_topics = np.random.default_rng(seed), 20
    topics = rng.dirichlet(np.full(300, 0.05), n_topics)
    weights = np.geomspace(10.0, 1.0, n_topics)
    shares = rng.dirichlet(0.5 * weights / weights.sum(), 3000)
    counts = np.array([rng.multinomial(100, share @ topics) for share in shares])
    corpus = Corpus.from_csr(counts, [f"w{n}" for n in range(300)])

    found = TopicPath(rungs=(70, 50, 30, 20, 15, 10), random_state=seed).fit(corpus)

    assert found.recommended_ == n_topics, f"seed {seed}: {found.scores_}"


# --- the same bytes -------------------------------------------------------------------------------
def contents(out):
    """The files of a path without the times of laps."""
    rungs = {name: files_of(out / str(name)) for name in RUNGS}
    return rungs, path_files_of(out)


def test_workers_do_not_change_a_byte(made):
    assert contents(made("one")) == contents(made("two", workers=2))


class Stop(Exception):
    """Ends training as a kill would, as far as a test can."""


@pytest.mark.parametrize("lap", [3, 6, 7, 8])
def test_an_interrupted_path_ends_as_without_the_interruption(made, tmp_path, lap):
    def stop(entry):
        if entry["lap"] == lap + 1:
            raise Stop

    with pytest.raises(Stop):
        made("stopped", RunHooks(on_lap=stop), checkpoint_every=1)
    resume_run(tmp_path / "stopped")
    assert contents(tmp_path / "stopped") == contents(made("whole"))


def test_a_kill_between_a_rung_and_its_checkpoint_is_mended(made, tmp_path, monkeypatch):
    keep = written_paths.RungWriter.keep

    def keep_and_stop(self, snapshot, elbo_per_token):
        keep(self, snapshot, elbo_per_token)
        if snapshot().n_topics == 8:
            raise Stop

    with monkeypatch.context() as patch:
        patch.setattr(written_paths.RungWriter, "keep", keep_and_stop)
        with pytest.raises(Stop):
            made("stopped", checkpoint_every=1)
    resume_run(tmp_path / "stopped")
    assert contents(tmp_path / "stopped") == contents(made("whole"))


def test_a_kill_before_the_commit_is_mended(made, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(TrainingFolder, "close", lambda *_: (_ for _ in ()).throw(Stop))
        with pytest.raises(Stop):
            made("stopped", checkpoint_every=1)
    resume_run(tmp_path / "stopped")
    assert not (tmp_path / "stopped" / "state").exists()
    assert contents(tmp_path / "stopped") == contents(made("whole"))


def test_the_config_of_a_path_trains_it_again(made, corpora, tmp_path):
    out, again = made(seed=3, sparsity=4), tmp_path / "again"
    config = ("--config", out / "config.toml", "--quiet")
    assert run("path", corpora / "documents", *config, "--out", again)[0] == 0
    assert contents(out) == contents(again)


def test_python_learns_the_same(made, corpora, tmp_path):
    out = made()
    found = TopicPath(rungs=RUNGS).fit(Corpus.open(corpora / "documents"))
    found.save(tmp_path / "saved")
    assert path_files_of(out) == path_files_of(tmp_path / "saved")
    for name in (f"{n}/model.safetensors" for n in RUNGS):
        assert (out / name).read_bytes() == (tmp_path / "saved" / name).read_bytes()
    own = found.model(8)
    np.testing.assert_array_equal(own.components_, found.models_[8].topic_word_weights)
    with pytest.raises(OptionError, match="must be one of 12, 8, 5, but is 9"):
        found.model(9)
    with pytest.raises(OptionError, match="has no partial_fit"):
        found.partial_fit(bars_corpus(9))


# --- folders --------------------------------------------------------------------------------------
def test_another_path_replaces_one_that_may_be_replaced(made):
    out = made()
    with pytest.raises(OutputError, match="already exists"):
        made(rungs=(8, 5))
    made(overwrite=True, rungs=(8, 5))
    assert {path.name for path in out.iterdir()} == {
        *("8", "5", "config.toml", "path.json", "tree.json")
    }


def test_what_is_not_a_path_is_not_replaced(made, corpora, tmp_path):
    out = made()
    status, _, stderr = run(
        *("train", corpora / "documents", "--topics", 3, "--laps", 1, "--out", out, "--overwrite")
    )
    assert status == 1
    assert "is not part of a run folder" in stderr or "a folder that is not" in stderr
    shutil.copytree(out / "8", tmp_path / "run")
    with pytest.raises(OutputError, match="a folder that is not a topic path"):
        made("run", overwrite=True)
    (out / "50").mkdir()
    (out / "50" / "notes.txt").write_text("mine")
    made(overwrite=True)
    with pytest.raises(OutputError, match="50: a file or folder that is not a run is here"):
        made(overwrite=True, rungs=(50, 40))
    assert (out / "50" / "notes.txt").exists()
    assert load_topic_path(out).run(12).exists()


def test_a_finished_path_has_nothing_left_to_resume(made):
    out = made()
    before = contents(out)
    assert "Nothing is left to do" in run("resume", out)[1]
    with pytest.raises(OptionError, match="is a topic path"):
        resume_run(out, laps=40)
    assert contents(out) == before


DAMAGE = {
    "tree.json": [
        lambda tree: tree["rungs"].reverse(),
        lambda tree: tree["rungs"][0]["topics"].pop(),
        lambda tree: tree["rungs"][0]["topics"][0].update(parent=99),
        lambda tree: tree["rungs"][-1]["topics"][0].update(parent=0),
        lambda tree: [topic.update(parent=0) for topic in tree["rungs"][0]["topics"]],
        lambda tree: tree["rungs"][0]["topics"][0]["words"].append("\ud800"),
        lambda tree: tree["rungs"][0]["topics"][0].update(weight=-0.5),
        lambda tree: tree["rungs"].pop(),
    ],
    "path.json": [
        lambda scores: scores.update(recommended=5),
        lambda scores: scores.update(as_good_from=None),
        lambda scores: scores["rungs"][0].update(standard_error=-1.0),
        lambda scores: scores["rungs"].clear(),
    ],
}


@pytest.mark.parametrize(
    ("name", "change"), [(name, change) for name, each in DAMAGE.items() for change in each]
)
def test_a_damaged_path_is_refused_in_one_line(made, name, change):
    out = made(rungs=(6, 3), laps=2)
    content = json.loads((out / name).read_text())
    del content["sha256"]
    change(content)
    write_sealed(out / name, content)
    reseal_file(out / "path.json")
    with pytest.raises(RunError) as error:
        load_topic_path(out)
    assert str(out / name) in str(error.value)
    assert "\n" not in str(error.value)


# --- the command ----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--rungs 5,x", "--rungs: must be whole numbers such as 200,100,50, but is '5,x'"),
        ("--rungs 5,10", "--rungs: must be different numbers from 1, the largest first"),
        ("--rungs 5", "--rungs: must be at least two numbers of topics"),
        ("--rungs 5,3 --to 2", "--rungs: cannot be combined with --from or --to"),
        ("--from 5 --to 5", "--to: must be below --from, 5, but is 5"),
        ("--heldout heldout --validation-share 0.2", "--validation-share: cannot be combined"),
        ("--model hdp", "--model: must be lda on a topic path, but is hdp"),
        ("--start run", "--start: must be random or distant on a topic path, but is run"),
        ("--validation-share 1", "--validation-share: must be at least 0 and below 1"),
    ],
)
def test_wrong_options_are_refused_in_one_line(corpora, tmp_path, options, message):
    out = tmp_path / "out"
    words = ("path", corpora / "documents", *options.split(), "--out", out)
    status, stdout, stderr = run(*words)
    assert (status, stdout, stderr.count("\n")) == (1, "", 1)
    assert stderr.startswith(f"Error: {message}")
    assert not out.exists()


def test_a_file_of_options_may_name_the_model_of_a_path(corpora, tmp_path):
    (tmp_path / "lda.toml").write_text('model = "lda"\nrungs = "4,2"\nlaps = 2\nquiet = true\n')
    (tmp_path / "hdp.toml").write_text('model = "hdp"\n')
    words = ("path", corpora / "documents", "--out", tmp_path / "path", "--config")
    status, _, stderr = run(*words, tmp_path / "hdp.toml")
    assert (status, "must be lda on a topic path" in stderr) == (1, True)
    assert run(*words, tmp_path / "lda.toml")[0] == 0


@pytest.mark.parametrize(
    ("options", "rungs", "lowered"),
    [
        (
            "--from 100000 --to 20",
            "48,30,23,22,21,20",
            "48 topics, not with 100,000: {} 144 documents",
        ),
        ("--rungs 300,200,48,12", "48,12", "48 topics, not with 300: {} 144 documents"),
        ("--rungs 54,9 --validation-share 0", "53,9", "53 topics, not with 54: {} 160 documents"),
        ("--rungs 53,9 --validation-share 0", "53,9", None),
    ],
)
@pytest.mark.filterwarnings("always::sparsetopics.base.errors.SparsetopicsWarning")
def test_a_path_begins_with_a_topic_for_each_three_documents(
    corpora, tmp_path, options, rungs, lowered
):
    """Of 160 documents, a tenth is kept out by default."""
    words = ("--laps", 1, "--json", "--out", tmp_path / "path")
    status, stdout, stderr = run("path", corpora / "documents", *options.split(), *words)
    assert status == 0
    warnings = "".join(line for line in stderr.splitlines(True) if line.startswith("Warning"))
    record = json.loads(stdout)
    assert ",".join(str(rung["n_topics"]) for rung in record["rungs"]) == rungs
    assert f'rungs = "{rungs}"' in (tmp_path / "path" / "config.toml").read_text()
    sentence = f"The path begins with {lowered} to train on.".format("each topic needs 3 of the")
    assert warnings == (f"Warning: {sentence}\n" if lowered else "")


def test_too_few_documents_for_any_two_rungs_are_refused(corpora, tmp_path):
    words = ("--from", 100000, "--to", 48, "--out", tmp_path / "path")
    status, stdout, stderr = run("path", corpora / "documents", *words)
    why = "each topic needs 3 of the 144 documents to train on"
    message = f"Error: --rungs: must be at least two numbers up to 48: {why}.\n"
    assert (status, stdout, stderr) == (1, "", message)
    assert not (tmp_path / "path").exists()


def test_python_begins_with_as_many_topics_as_the_command(corpora, tmp_path):
    corpus = Corpus.open(corpora / "documents")
    said = "The path begins with 48 topics, not with 400: each topic needs 3 of the 144 documents"
    with pytest.warns(SparsetopicsWarning, match=said):
        found = TopicPath(fewest=20, max_iter=1).fit(corpus)
    assert found.rungs_ == (48, 30, 23, 22, 21, 20)
    assert found.model(48).n_components_ == 48
    found.save(tmp_path / "saved")
    options = load_run(tmp_path / "saved" / "30").settings["options"]
    assert options["topic_path"] == "48,30,23,22,21,20"


def test_an_interrupted_path_keeps_the_rungs_that_it_began_with(made, tmp_path, monkeypatch):
    """Earlier releases began with as many topics as they were asked for."""

    def stop(entry):
        if entry["lap"] == 2:
            raise Stop

    with monkeypatch.context() as patch:
        patch.setattr(train, "lowered", lambda options, share, n_docs: options)
        with pytest.raises(Stop):
            made(hooks=RunHooks(on_lap=stop), rungs=(60, 30), laps=2, checkpoint_every=1)
    resume_run(tmp_path / "path")
    assert [rung.n_topics for rung in load_topic_path(tmp_path / "path").scores.rungs] == [60, 30]


def test_the_table_has_a_row_for_each_rung(corpora, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ("path", corpora / "documents", "--rungs", "8,5", "--laps", 2)
    status, stdout, _ = run(*words, "--model", "lda", "--out", "out")
    assert status == 0
    heads, *rows = stdout.partition("\n\n")[0].splitlines()
    names = ["run", "log-lik/token", "difference", "std.err", "gain"]
    assert heads.split() == [*names, "NPMI", "exclusive", "diversity", "laps"]
    assert [(row.split()[0], row.split()[-1]) for row in rows] == [("8", "2"), ("5", "3")]
    assert all(len(line) <= 100 for line in (heads, *rows))
    assert "To read" in stdout
    assert "o predict: " in stdout
