"""``train --config``: options from a file, and the file that every run has."""

import json
import shutil
import tomllib
from dataclasses import replace

import click
import numpy as np
import pytest
from click.testing import CliRunner

from run_contents import files_of
from sparsetopics.cli.main import main
from sparsetopics.options.training import MoveOptions, TrainingOptions
from sparsetopics.runs import train as trained_runs
from sparsetopics.runs.plan import CONFIG_HEAD, RunPlan, run_config, write_config
from sparsetopics.runs.resume import resume_run
from sparsetopics.runs.run import load_run
from sparsetopics.runs.train import train_run
from worlds.clumped_mixtures import draw_clumps
from worlds.collections_on_disk import make_texts, write_jsonl


def run(*arguments, status=0):
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exit_code == status, result.output
    return result


@pytest.fixture(scope="module")
def corpora(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpora")
    source = write_jsonl(folder / "texts.jsonl", make_texts(80, 0))
    np.save(folder / "values.npy", draw_clumps(0, 200, 3).values)
    run("ingest", source, "--out", folder / "documents", "--quiet")
    run("ingest", folder / "values.npy", "--out", folder / "vectors", "--quiet")
    return folder


@pytest.fixture
def settings_of(corpora, tmp_path):
    """model.json of a run with a file, or why there is none."""

    def call(text, *arguments, status=0):
        (tmp_path / "run.toml").write_text(text, encoding="utf-8")
        usual = ("--out", tmp_path / "run", "--config", tmp_path / "run.toml")
        result = run("train", corpora / "documents", *usual, *arguments, status=status)
        if status:
            assert not (tmp_path / "run").exists()
            assert result.stderr.count("\n") == 1, result.stderr
            return result.stderr
        return load_run(tmp_path / "run").settings

    return call


LDA = 'model = "lda"\ntopics = 3\nlaps = 1\nquiet = true\n'
HDP = LDA.replace("lda", "hdp")


def test_options_come_from_the_file(settings_of, tmp_path):
    settings = settings_of(
        LDA + 'local-update = "mean-field"\nalpha = 1\nlearn-hyperparameters = true\nseed = 7\n'
    )

    options = settings["options"]
    assert (settings["seed"], options["n_topics"], options["laps"]) == (7, 3, 1)
    assert options["local"]["update"] == "mean-field"
    assert options["prior"]["doc_concentration"] == 1.0
    assert options["learn_hyperparameters"]


def test_the_command_line_comes_first(settings_of):
    text = HDP + 'learn-hyperparameters = true\nmoves = "birth"\n'

    settings = settings_of(text, "--topics", 4, "--no-learn-hyperparameters", "--moves", "none")

    options = settings["options"]
    assert (settings["n_topics"], options["laps"], options["moves"]["names"]) == (4, 1, [])
    assert not options["learn_hyperparameters"]


def test_out_may_stand_in_the_file_and_paths_start_from_the_working_directory(
    corpora, tmp_path, monkeypatch
):
    (tmp_path / "configs").mkdir()
    config = tmp_path / "configs" / "run.toml"
    config.write_text(LDA + 'out = "run"\nheldout = "documents"\njson = true\n')
    shutil.copytree(corpora / "documents", tmp_path / "documents")
    monkeypatch.chdir(tmp_path)

    result = run("train", "documents", "--config", config)

    assert json.loads(result.stdout)["run"] == "run"
    assert (tmp_path / "run" / "model.json").exists()
    assert result.stderr == ""


@pytest.mark.parametrize("key", ["append = 'documents'", "overwrite = true", "follow-links = true"])
def test_a_file_neither_changes_a_corpus_nor_reads_through_links(corpora, tmp_path, key):
    (tmp_path / "in.toml").write_text(key)
    config = ("--config", tmp_path / "in.toml")

    said = run("ingest", corpora / "texts.jsonl", *config, status=1).stderr

    name = key.partition(" ")[0]
    assert f"in.toml, {name}: give --{name} on the command line, not in a file." in said


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("local_update = 'collapsed'", "run.toml, local_update: train has no such option. "
         "Did you mean local-update?"),
        ("Topics = 3", "run.toml, Topics: train has no such option. Did you mean topics?"),
        ("zzz = 3", "run.toml, zzz: train has no such option. --help-all lists them."),
        ("corpus = 'news'", "run.toml, corpus: train has no such option"),
        ("scheduler = 'tcp://head:8786'", "run.toml, scheduler: give --scheduler on the "
         "command line, not in a file. The process at that address can run code here."),
        ("overwrite = true", "run.toml, overwrite: give --overwrite on the command line, not in "
         "a file. It replaces what is there."),
        ("config = 'other.toml'", "run.toml, config: train has no such option"),
        ("verbose = true", "run.toml, verbose: train has no such option"),
        ("topics = '3'", "run.toml, topics: must be a whole number, but is '3'."),
        ("topics = 3.0", "run.toml, topics: must be a whole number, but is 3.0."),
        ("topics = true", "run.toml, topics: must be a whole number, but is true."),
        ("seed = -1", "run.toml, seed: must be at least 0, but is -1."),
        ("alpha = 'much'", "run.toml, alpha: must be a number, but is 'much'."),
        ("smoothing = 'much'", "run.toml, smoothing: must be learned or a number, but is 'much'."),
        ("smoothing = 0", "run.toml, smoothing: must be from 1e-09 to 1e+09, but is 0."),
        ("smoothing = true", "run.toml, smoothing: must be learned or a number, but is true."),
        ("alpha = false", "run.toml, alpha: must be a number, but is false."),
        ("quiet = 1", "run.toml, quiet: must be true or false, but is 1."),
        ("model = 'ldaa'", "run.toml, model: must be one of lda, hdp, dp-mixture, mixture, but "
         "is 'ldaa'. Did you mean lda?"),
        ("model = 'LDA'", "but is 'LDA'. Did you mean lda?"),
        ("moves = ['merge']", "run.toml, moves: must be a string, but is an array."),
        ("[train]\ntopics = 3", "run.toml: tables such as [train] are not used. "
         "Write the options at the top level."),
        ("[topics]\nhdp = 3", "run.toml, topics: must be a whole number, but is a table."),
        ("model = hdp", "run.toml: is not valid TOML (Invalid value (at line 1, "
         "column 9)). Strings stand in quotes"),
        ("seed = 1\nseed = 2", "run.toml: is not valid TOML"),
        ("sparsity = 0", "run.toml, sparsity: must be at least 1, but is 0."),
        ("moves = 'merge,split'", "run.toml, moves: must be one of merge, delete, birth, but is "
         "'split'."),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_file_is_said_in_one_line(settings_of, text, message):
    said = settings_of(text, "--quiet", status=1)

    assert message in said
    assert said.count("\n") == 1


def test_a_file_that_cannot_be_read(settings_of, tmp_path):
    missing = settings_of("", "--config", tmp_path / "none.toml", status=1)
    assert "none.toml: cannot be read: No such file or directory." in missing
    (tmp_path / "latin.toml").write_bytes(b"out = 'caf\xe9'")

    (tmp_path / "wide.toml").write_bytes("topics = 3".encode("utf-16"))
    for name in ("latin.toml", "wide.toml"):
        said = settings_of("", "--config", tmp_path / name, status=1)
        assert f"{name}: is not UTF-8 text.\n" in said
    folder = tmp_path / "folder"
    folder.mkdir()
    assert "folder: is a folder.\n" in settings_of("", "--config", folder, status=1)
    (folder / "config.toml").touch()
    hint = f"Did you mean {folder / 'config.toml'}?"
    assert f"folder: is a folder. {hint}\n" in settings_of("", "--config", folder, status=1)


WORLDS = {
    "lda": ("documents", "--model", "lda", "--topics", 4, "--laps", 3, "--sparsity", 2,
            "--alpha", 0.9, "--local-update", "mean-field", "--restarts", 1, "--batches", 4,
            "--seed", 5, "--start", "random"),
    "bound": ("documents", "--topics", 3, "--laps", 6, "--moves", "merge,birth", "--criterion",
              "bound"),
    "hdp": ("documents", "--topics", 2, "--laps", 6, "--gamma", 3, "--learn-hyperparameters"),
    "fixed": ("documents", "--topics", 3, "--laps", 3, "--moves", "none", "--smoothing", 0.02),
    "stochastic": ("documents", "--topics", 3, "--laps", 2, "--learner", "stochastic"),
    "words": ("documents", "--model", "dp-mixture", "--likelihood", "multinomial", "--laps", 5),
    "gaussian": ("vectors", "--model", "dp-mixture", "--laps", 6, "--seed", 3),
    "diagonal": ("vectors", "--model", "mixture", "--likelihood", "diagonal-gaussian",
                 "--topics", 3, "--laps", 3),
    "tree": ("vectors", "--model", "dp-mixture", "--learner", "accelerated", "--laps", 3,
             "--tree-tolerance", 0.001),
    "points": ("vectors", "--model", "dp-mixture", "--likelihood", "isotropic-gaussian",
               "--learner", "gradient", "--gradient", "momentum", "--topics", 5, "--laps", 3,
               "--variance", 0.3),
}  # fmt: skip


@pytest.mark.parametrize("world", WORLDS)
def test_the_file_of_a_run_makes_the_same_run(corpora, tmp_path, world):
    corpus, *options = WORLDS[world]
    run("train", corpora / corpus, *options, "--out", tmp_path / "run", "--quiet")
    config = tmp_path / "run" / "config.toml"

    again = ("--config", config, "--out", tmp_path / "again", "--workers", 2)
    run("train", corpora / corpus, *again, "--quiet")

    before, after = (files_of(tmp_path / name) for name in ("run", "again"))
    for name in ("model.safetensors", "config.toml", "settings"):
        assert before[name] == after[name], name


def test_so_does_the_file_of_a_run_that_was_resumed_and_began_from_another(
    corpora, tmp_path, monkeypatch
):
    options = TrainingOptions(3, laps=2)
    train_run(RunPlan(corpora / "documents", tmp_path / "first", options))
    shutil.copytree(tmp_path / "first", tmp_path / "start")
    plan = RunPlan(
        corpora / "documents", tmp_path / "run", options, start_run=tmp_path / "start", seed=1,
        checkpoint_every=1,
    )  # fmt: skip
    with monkeypatch.context() as patch:
        patch.setattr(trained_runs, "save_run", interrupt)
        with pytest.raises(KeyboardInterrupt):
            train_run(plan)
    resume_run(plan.out)

    again = ("--config", plan.out / "config.toml", "--out", tmp_path / "again", "--quiet")
    run("train", corpora / "documents", *again)

    for name in ("model.safetensors", "config.toml"):
        before, after = ((tmp_path / each / name).read_bytes() for each in ("run", "again"))
        assert before == after, name


def interrupt(*_, **__):
    raise KeyboardInterrupt


def test_model_json_knows_the_moves_of_an_hdp(settings_of):
    options = settings_of(HDP + 'moves = "birth"\n')["options"]

    assert options["moves"] == {"names": ["birth"], "criterion": "collapsed", "verify": False}


def test_names_of_any_kind_come_back(tmp_path):
    start = tmp_path / 'a "b" \\ c\nd\x7f é\U0001f600'
    plan = RunPlan(tmp_path, tmp_path, TrainingOptions(3), start_run=start, seed=2**63)

    write_config(tmp_path / "config.toml", plan)

    read = tomllib.loads((tmp_path / "config.toml").read_text(encoding="utf-8"))
    assert read == run_config(plan)
    assert (read["start"], read["seed"]) == (str(start), 2**63)


def test_every_option_of_the_file_is_one_of_train(tmp_path):
    command = main.get_command(click.Context(main), "train")
    keys = {option.removeprefix("--") for each in command.params for option in each.opts}
    moves = MoveOptions(("birth",), "bound")
    plan = RunPlan(tmp_path, tmp_path, TrainingOptions(3, model="hdp", moves=moves))

    assert set(run_config(plan)) < keys
    assert set(run_config(replace(plan, options=TrainingOptions(3)))) < keys
    assert CONFIG_HEAD.startswith("# ")
