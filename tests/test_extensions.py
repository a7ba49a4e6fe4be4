"""What is added is a file and a line: toys of every kind are registered so, and work."""

import json
import sys
from dataclasses import replace
from types import ModuleType

import numpy as np
import pytest
from click.testing import CliRunner

import sparsetopics
import toy_command
import toy_readers
from collections_on_disk import documents_of
from sparsetopics.answers.exports import CORPUS_TARGETS, RUN_TARGETS, corpus_writer, run_writer
from sparsetopics.base.errors import OptionError, RunError, SourceError
from sparsetopics.cli.main import COMMANDS, main
from sparsetopics.corpora.corpus import Corpus, VectorCorpus
from sparsetopics.corpora.ingest import ingest
from sparsetopics.corpora.readers.formats import FORMATS, VECTOR_FORMATS, Format
from sparsetopics.inference.moves import rival_plans
from sparsetopics.model.likelihoods.normals import mixture_log_densities
from sparsetopics.options import registry as kinds
from sparsetopics.options.registry import LearnerKind, LikelihoodKind, MoveKind
from sparsetopics.options.training import LocalOptions, MoveOptions, TrainingOptions
from sparsetopics.runs.plan import RunPlan
from sparsetopics.runs.resume import resume_run
from sparsetopics.runs.run import load_run
from sparsetopics.runs.train import train_run
from toy_likelihood import Rates
from vectors_on_disk import ingested, values_of
from worlds_on_disk import write_corpora

MEAN_FIELD = LocalOptions("mean-field")
RATES = np.array([[2.0, 9.0, 1.0], [8.0, 1.0, 3.0], [1.0, 2.0, 12.0]])


@pytest.fixture(scope="module")
def corpora(tmp_path_factory):
    """``documents``, of ten bars; ``counts``, of three kinds in turn."""
    folder = write_corpora(tmp_path_factory.mktemp("corpora"))
    counts = np.random.default_rng(0).poisson(np.tile(RATES, (80, 1))).astype(np.float32)
    np.save(folder / "counts.npy", counts)
    ingested([folder / "counts.npy"], folder / "counts")
    return folder


def trained(corpus, out, options, seed=0):
    """A run with a checkpoint after every lap."""
    plan = RunPlan(corpus, out, options, n_batches=4, seed=seed, checkpoint_every=1)
    train_run(replace(plan, keep_state=True))
    return out


def arrays_of(run):
    return (run / "model.safetensors").read_bytes()


@pytest.mark.parametrize("seed", range(3))
def test_a_likelihood_is_a_file_and_a_line(monkeypatch, tmp_path, corpora, seed):
    toy = LikelihoodKind("toy_likelihood:Poisson")
    monkeypatch.setitem(kinds.VECTOR_LIKELIHOODS, "poisson", toy)
    options = TrainingOptions(
        6, 8, local=MEAN_FIELD, model="dp-mixture", likelihood="poisson",
        moves=MoveOptions(("merge",), verify=True),
    )  # fmt: skip

    whole = trained(corpora / "counts", tmp_path / "whole", options, seed)
    part = trained(corpora / "counts", tmp_path / "part", replace(options, laps=5), seed)
    resume_run(part, laps=8)

    run = load_run(whole)
    found = run.model.estimates.rates[np.argsort(run.model.estimates.rates[:, 2])]
    assert found == pytest.approx(RATES[np.argsort(RATES[:, 2])], rel=0.2), seed
    owners = run.model.responsibilities(values_of(VectorCorpus.open(corpora / "counts")))
    assert len(set(owners.argmax(axis=1)[:3])) == 3
    assert run.model.likelihood.strength == 0.1
    bounds = [entry["elbo_per_token"] for entry in run.trace]
    assert np.all(np.diff(bounds) > -1e-9), bounds
    assert arrays_of(part) == arrays_of(whole)
    with pytest.raises(RunError, match="no estimator stands for a dp-mixture with poisson"):
        sparsetopics.load(whole)


@pytest.mark.parametrize("learner", ["memoized", "full", "stochastic"])
def test_an_added_likelihood_goes_with_what_is_there(monkeypatch, tmp_path, corpora, learner):
    toy = LikelihoodKind("toy_likelihood:Poisson")
    monkeypatch.setitem(kinds.VECTOR_LIKELIHOODS, "poisson", toy)
    moves = MoveOptions(verify=True) if learner == "memoized" else None
    options = TrainingOptions(
        6, 9, learner, local=MEAN_FIELD, model="dp-mixture", likelihood="poisson", moves=moves
    )

    run = load_run(trained(corpora / "counts", tmp_path / "run", options))

    values = values_of(VectorCorpus.open(corpora / "counts"))
    true = mixture_log_densities(Rates(RATES).scorer(), np.full(3, 1 / 3), values)
    assert run.model.log_densities(values).mean() > true.mean() - 0.05
    with pytest.raises(OptionError, match="accelerated needs --model dp-mixture with --like"):
        replace(options, n_topics=1, learner="accelerated", moves=None)
    with pytest.raises(OptionError, match="alternating needs --model dp-mixture with --like"):
        replace(options, learner="alternating", moves=None)


def test_a_learner_is_a_file_and_a_line(monkeypatch, tmp_path, corpora):
    monkeypatch.setitem(kinds.LEARNERS, "halfway", LearnerKind("toy_learner", takes_all=True))
    options = TrainingOptions(10, 6, "halfway")

    whole = trained(corpora / "documents", tmp_path / "whole", options)
    part = trained(corpora / "documents", tmp_path / "part", replace(options, laps=4))
    resume_run(part, laps=6)

    bounds = [entry["elbo_per_token"] for entry in load_run(whole).trace]
    assert bounds[-1] > bounds[0] + 0.1
    assert arrays_of(part) == arrays_of(whole)
    with pytest.raises(OptionError, match="round: must be 1 with --learner halfway"):
        replace(options, batches_per_round=2)
    with pytest.raises(OptionError, match="moves: must be none with --learner halfway"):
        replace(options, model="hdp", moves=MoveOptions())


@pytest.mark.parametrize(
    ("registry", "where", "counted"),
    [
        (kinds.RIVALS, "toy_move:plan_drop", "deletes"),
        (kinds.TRIMS, "toy_move:swap_neighbours", "merges"),
    ],
)
def test_a_move_is_a_file_and_a_line(monkeypatch, tmp_path, corpora, registry, where, counted):
    monkeypatch.setitem(registry, "toy", MoveKind(where, counted))
    options = TrainingOptions(14, 9, model="hdp", moves=MoveOptions(("toy",), verify=True))

    run = load_run(trained(corpora / "documents", tmp_path / "run", options))

    accepted = sum(entry[f"{counted}_accepted"] for entry in run.trace)
    assert accepted > 0
    assert run.model.n_topics == 14 - (accepted if counted == "deletes" else 0)
    with pytest.raises(OptionError, match="moves: is for hdp and dp-mixture, not for --model lda"):
        replace(options, model="lda")


def test_a_reader_of_documents_is_a_file_and_a_line(monkeypatch, tmp_path):
    monkeypatch.setitem(FORMATS, "barred", Format(toy_readers.read_barred, (".bars",)))
    (tmp_path / "pets.bars").write_text("cats chase mice|mice fear cats|mice")

    result = CliRunner().invoke(
        main, ["ingest", str(tmp_path / "pets.bars"), "--out", str(tmp_path / "corpus"), "--json",
               "--min-df", "1", "--max-df", "1.0"],
    )  # fmt: skip

    assert json.loads(result.stdout)["n_documents"] == 3, result.output
    assert documents_of(Corpus.open(tmp_path / "corpus")) == {
        "0": {"cats": 1, "chase": 1, "mice": 1},
        "1": {"mice": 1, "fear": 1, "cats": 1},
        "2": {"mice": 1},
    }
    (tmp_path / "pets.odd").write_text("")
    with pytest.raises(SourceError, match=r"--format: .*barred"):
        ingest([tmp_path / "pets.odd"], tmp_path / "other")


def test_a_reader_of_vectors_is_a_file_and_a_line(monkeypatch, tmp_path):
    monkeypatch.setitem(VECTOR_FORMATS, "digits", Format(toy_readers.read_digits, (".dig",)))
    (tmp_path / "rows.dig").write_text("123\n456\n")

    result = CliRunner().invoke(
        main, ["ingest", str(tmp_path / "rows.dig"), "--out", str(tmp_path / "corpus"), "--json"]
    )

    assert json.loads(result.stdout)["n_items"] == 2, result.output
    np.testing.assert_array_equal(
        values_of(VectorCorpus.open(tmp_path / "corpus")), [[1, 2, 3], [4, 5, 6]]
    )


def test_a_command_is_a_file_and_a_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "sparsetopics.cli.toy", toy_command)  # the file
    monkeypatch.setitem(COMMANDS, "toy", "Greet someone.")
    monkeypatch.setattr(main, "commands", {})
    runner = CliRunner()

    assert "toy         Greet someone." in runner.invoke(main, ["--help"]).output
    assert "sparsetopics toy world" in runner.invoke(main, ["toy", "--help"]).output
    assert runner.invoke(main, ["toy", "world"]).output == "Hello, world.\n"
    refused = runner.invoke(main, ["toy", "42"])
    assert (refused.exit_code, refused.stderr) == (
        1,
        "Error: name: must be letters, but is '42'.\n",
    )


def test_an_export_is_a_file_and_a_line(monkeypatch, tmp_path, corpora):
    module = ModuleType("sparsetopics.answers.exports.toy")
    module.write = lambda path, corpus: path.write_text(f"{corpus.n_docs} documents")
    monkeypatch.setitem(sys.modules, "sparsetopics.answers.exports.toy", module)
    monkeypatch.setitem(CORPUS_TARGETS, "toy", "toy:write")

    corpus_writer("toy")(tmp_path / "out", Corpus.open(corpora / "documents"))

    assert (tmp_path / "out").read_text() == "120 documents"


def test_every_line_leads_somewhere():
    for likelihood in kinds.LIKELIHOODS.values():
        assert all(callable(kinds.imported(where)) for where in likelihood.estimators.values())
    for registry in (kinds.LIKELIHOODS, kinds.MOVES):
        assert all(callable(kinds.imported(kind.where)) for kind in registry.values())
    for kind in kinds.LEARNERS.values():
        module = kinds.imported(f"{kind.where}:make"), kinds.imported(f"{kind.where}:STATES")
        assert callable(module[0])
        assert module[1]
        assert kind.takes_more is None or callable(kinds.imported(kind.takes_more))
    assert all(callable(run_writer(target)) for target in RUN_TARGETS)
    assert all(callable(corpus_writer(target)) for target in CORPUS_TARGETS)
    assert kinds.RIVALS["cull"].most_refusals == len(rival_plans.CULL_SHARES)
