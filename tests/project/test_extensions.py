"""What is added is a file and a line: toys of every kind are registered so, and work."""

import json
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import click
import numpy as np
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from scipy.special import logsumexp

import sparsetopics
from sparsetopics.answers.exports import CORPUS_TARGETS, RUN_TARGETS, writer
from sparsetopics.base.errors import OptionError, RunError, SourceError
from sparsetopics.cli.main import COMMANDS, main
from sparsetopics.cli.parameter_types import type_of
from sparsetopics.corpora.corpus import Corpus, VectorCorpus
from sparsetopics.corpora.ingest import ingest
from sparsetopics.corpora.readers.formats import FORMATS, VECTOR_FORMATS, Format
from sparsetopics.inference.moves import rival
from sparsetopics.model.topic_posterior import TopicPosterior
from sparsetopics.options import registry as kinds
from sparsetopics.options.registry import LearnerKind, LikelihoodKind, MoveKind
from sparsetopics.options.table import OPTION
from sparsetopics.options.training import LocalOptions, MoveOptions, TrainingOptions
from sparsetopics.runs.plan import RunPlan, plan_run
from sparsetopics.runs.resume import resume_run
from sparsetopics.runs.run import load_run
from sparsetopics.runs.train import RunHooks, train_run
from toys import toy_command, toy_readers
from toys.toy_likelihood import Counts, NegativeBinomialScorer
from toys.toy_model import Equal, Zipf
from worlds.collections_on_disk import documents_of
from worlds.vectors_on_disk import ingested, values_of
from worlds.worlds_on_disk import write_corpora

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


@pytest.mark.parametrize("seed", range(2))
def test_a_likelihood_is_a_file_and_a_line(monkeypatch, tmp_path, corpora, seed):
    toy = LikelihoodKind("toys.toy_likelihood:Poisson")
    monkeypatch.setitem(kinds.VECTOR_LIKELIHOODS, "poisson", toy)
    options = TrainingOptions(
        6, 8, local=MEAN_FIELD, model="dp-mixture", likelihood="poisson",
        moves=MoveOptions(("merge",), verify=True),
    )  # fmt: skip

    whole = trained(corpora / "counts", tmp_path / "whole", options, seed)
    part = trained(corpora / "counts", tmp_path / "part", replace(options, laps=5), seed)
    resume_run(part, laps=8)

    run = load_run(whole)
    rates = run.model.normals.means
    found = rates[np.argsort(rates[:, 2])]
    assert found == pytest.approx(RATES[np.argsort(RATES[:, 2])], rel=0.2), seed
    owners = run.model.responsibilities(values_of(VectorCorpus.open(corpora / "counts")))
    assert len(set(owners.argmax(axis=1)[:3])) == 3
    assert run.model.likelihood.strength == 0.1
    bounds = [entry["elbo_per_token"] for entry in run.trace]
    assert np.all(np.diff(bounds) > -1e-9), bounds
    assert arrays_of(part) == arrays_of(whole)
    with pytest.raises(RunError, match="no estimator stands for a dp-mixture with poisson"):
        sparsetopics.load(whole)


def test_an_added_likelihood_and_learner_answer_what_the_others_do(monkeypatch, tmp_path, corpora):
    toy = LikelihoodKind(
        "toys.toy_likelihood:Poisson",
        words="Poisson",
        estimators={"mixture": "toys.toy_likelihood:Counts"},
    )
    monkeypatch.setitem(kinds.VECTOR_LIKELIHOODS, "poisson", toy)
    learner = LearnerKind("toys.toy_learner", takes_all=True, words="half of the way")
    monkeypatch.setitem(kinds.LEARNERS, "halfway", learner)
    options = TrainingOptions(
        3, 8, "halfway", MEAN_FIELD, model="mixture", likelihood="poisson"
    )  # fmt: skip
    run = trained(corpora / "counts", tmp_path / "run", options)

    def called(*words):
        result = CliRunner().invoke(main, [str(word) for word in words])
        assert result.exit_code == 0, result.output
        return result.stdout

    (scores,) = json.loads(called("evaluate", run, corpora / "counts", "--json"))
    assert (scores["likelihood"], scores["n_used_components"]) == ("poisson", 3)
    called("report", run, "--corpus", corpora / "counts", "--out", tmp_path / "run.html")
    page = (tmp_path / "run.html").read_text()
    assert all(words in page for words in ("Poisson", "half of the way", "column 1"))
    called("export", run, "--to", "parquet", "--out", tmp_path / "run.parquet")
    table = pq.read_table(tmp_path / "run.parquet").to_pydict()
    of_parameter = {name: table["parameter"].count(name) for name in table["parameter"]}
    assert of_parameter == {"weight": 3, "mean": 9, "variance": 9}
    counts = VectorCorpus.open(corpora / "counts")
    found = sparsetopics.load(run)
    assert isinstance(found, Counts)
    assert found.score(counts) == pytest.approx(scores["log_likelihood_per_item"])
    assert found.means_ == pytest.approx(found.covariances_)


@pytest.mark.parametrize("learner", ["memoized", "full", "stochastic"])
def test_an_added_likelihood_goes_with_what_is_there(monkeypatch, tmp_path, corpora, learner):
    toy = LikelihoodKind("toys.toy_likelihood:Poisson")
    monkeypatch.setitem(kinds.VECTOR_LIKELIHOODS, "poisson", toy)
    moves = MoveOptions(verify=True) if learner == "memoized" else None
    options = TrainingOptions(
        6, 9, learner, local=MEAN_FIELD, model="dp-mixture", likelihood="poisson", moves=moves
    )

    run = load_run(trained(corpora / "counts", tmp_path / "run", options))

    values = values_of(VectorCorpus.open(corpora / "counts"))
    known = NegativeBinomialScorer(1e6 * RATES, np.full(3, 1e6))
    true = logsumexp(known(values), b=1 / 3, axis=1)
    assert run.model.log_densities(values).mean() > true.mean() - 0.05
    with pytest.raises(OptionError, match="accelerated needs --model dp-mixture with --like"):
        replace(options, n_topics=1, learner="accelerated", moves=None)
    with pytest.raises(OptionError, match="alternating needs --model dp-mixture with --like"):
        replace(options, learner="alternating", moves=None)


@pytest.fixture
def called(monkeypatch, tmp_path, corpora):
    """A function that runs a command beside the corpora; it knows two models more."""
    zipf = kinds.TOPICS(
        sharing="toys.toy_model:FallingShares",
        estimator="toys.toy_model:Zipf",
        title="Zipf LDA",
        n_topics=5,
    )
    equal = kinds.MIXTURE(
        sharing="toys.toy_model:EqualWeights",
        estimator="toys.toy_model:Equal",
        title="equal mixture",
        n_topics=4,
    )  # fmt: skip
    for name, line in {"zipf": zipf, "equal": equal}.items():
        monkeypatch.setitem(kinds.MODELS, name, line)
    # Commands that were imported before have asked for the choices.
    params = main.get_command(click.Context(main), "train").params
    (choice,) = (each for each in params if each.name == "model")
    monkeypatch.setattr(choice, "type", type_of(OPTION["model"]))
    monkeypatch.chdir(tmp_path)
    for name in ("documents", "vectors"):
        (tmp_path / name).symlink_to(corpora / name)

    def run(*words):
        result = CliRunner().invoke(main, [str(word) for word in words])
        return result.stdout if result.exit_code == 0 else result.stderr

    return run


OF_ZIPF = {"model": "zipf", "topics": 12, "laps": 6, "local-update": "mean-field", "alpha": 0.3}
TRAIN = ("train", "documents", *(f"--{name}={value}" for name, value in OF_ZIPF.items()))


def test_a_model_is_a_file_and_a_line(called, tmp_path):
    def stop(entry):
        if entry["lap"] == 3:
            raise KeyboardInterrupt

    said = called(*TRAIN, "--out", "whole")
    plan = replace(plan_run(Path("documents"), tmp_path / "part", OF_ZIPF), checkpoint_every=1)
    with pytest.raises(KeyboardInterrupt):
        train_run(plan, RunHooks(stop))
    called("resume", "part", "--quiet")

    assert "Trained 12 topics (Zipf LDA)" in said
    assert arrays_of(tmp_path / "part") == arrays_of(tmp_path / "whole")
    run = load_run(tmp_path / "whole", TopicPosterior)
    expected = 0.3 / np.arange(1, 13) / (1 / np.arange(1, 13)).sum()
    assert np.sort(run.model.doc_concentration) == pytest.approx(np.sort(expected))
    bounds = [entry["elbo_per_token"] for entry in run.trace]
    assert np.all(np.diff(bounds) > -1e-9), bounds
    assert bounds[-1] > bounds[0] + 0.1
    assert called(*TRAIN, "--out", "other", "--validation-share", 0.1) == (
        "Error: --validation-share: is for hdp, not for --model zipf.\n"
    )


def test_an_added_model_answers_what_the_others_do(called, tmp_path):
    called(*TRAIN, "--out", "run")

    (scores,) = json.loads(called("evaluate", "run", "documents", "--json"))
    assert scores["model"] == "zipf"
    assert scores["log_likelihood_per_token"] > scores["unigram_log_likelihood_per_token"] + 0.3
    assert "Zipf LDA" in called("evaluate", "run", "documents", "--report", "scores.html")
    assert "Zipf LDA, number given" in (tmp_path / "scores.html").read_text()
    called("report", "run", "--corpus", "documents", "--out", "run.html")
    assert "Zipf LDA, 12 topics" in (tmp_path / "run.html").read_text()
    assert len(called("topics", "run").splitlines()) >= 12
    called("infer", "run", "documents", "--out", "shares.parquet")
    shares = pq.read_table(tmp_path / "shares.parquet")["proportions"].combine_chunks()
    for target in ("csv", "gensim", "mallet"):
        called("export", "run", "--to", target, "--out", f"topics.{target}")
        assert (tmp_path / f"topics.{target}").stat().st_size > 100

    found = sparsetopics.load(tmp_path / "run")
    assert isinstance(found, Zipf)
    assert (found.n_components, found.doc_concentration, found.max_iter) == (12, 0.3, 6)
    corpus = Corpus.open(tmp_path / "documents")
    assert found.transform(corpus) == pytest.approx(np.stack(shares.to_numpy(False)), abs=1e-6)
    again = Zipf(**found.get_params()).fit(corpus)
    assert again.components_ == pytest.approx(found.components_)
    assert Zipf().n_components == kinds.MODELS["zipf"].n_topics
    again.save(tmp_path / "again")
    assert sparsetopics.load(tmp_path / "again").score(corpus) == found.score(corpus)


def test_a_mixture_is_a_file_and_a_line(called, tmp_path):
    train = ("train", "vectors", "--model", "equal", "--start", "random", "--seed", 3)
    said = called(*train, "--laps", 6, "--out", "whole")
    called(*train, "--laps", 3, "--keep-state", "--quiet", "--out", "part")
    called("resume", "part", "--laps", 6, "--quiet")

    assert "Trained 4 components (equal mixture)" in said
    assert arrays_of(tmp_path / "part") == arrays_of(tmp_path / "whole")
    (scores,) = json.loads(called("evaluate", "whole", "vectors", "--json"))
    called("report", "whole", "--corpus", "vectors", "--out", "run.html")
    assert "equal mixture, 4 components" in (tmp_path / "run.html").read_text()
    found = sparsetopics.load(tmp_path / "whole")
    assert isinstance(found, Equal)
    assert found.weights_ == pytest.approx(np.full(4, 0.25))
    vectors = VectorCorpus.open(tmp_path / "vectors")
    assert found.score(vectors) == pytest.approx(scores["log_likelihood_per_item"])
    assert Equal(**found.get_params()).fit(vectors).score(vectors) == found.score(vectors)


def test_a_run_of_a_model_that_nobody_knows_is_refused(called, tmp_path, monkeypatch):
    called(*TRAIN, "--out", "run")
    monkeypatch.delitem(kinds.MODELS, "zipf")
    known = "the model must be one of lda, hdp, dp-mixture, mixture, equal, but is 'zipf'"

    assert called("report", "run", "--out", "run.html") == f"Error: run/model.json: {known}.\n"
    with pytest.raises(RunError, match=known):
        sparsetopics.load(tmp_path / "run")


def test_a_learner_is_a_file_and_a_line(monkeypatch, tmp_path, corpora):
    monkeypatch.setitem(kinds.LEARNERS, "halfway", LearnerKind("toys.toy_learner", takes_all=True))
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
        (kinds.RIVALS, "toys.toy_move:plan_drop", "deletes"),
        (kinds.TRIMS, "toys.toy_move:swap_neighbours", "merges"),
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

    writer(CORPUS_TARGETS["toy"])(tmp_path / "out", Corpus.open(corpora / "documents"))

    assert (tmp_path / "out").read_text() == "120 documents"


def test_every_line_leads_somewhere():
    for kind in kinds.MODELS.values():
        named = [value for value in kind if isinstance(value, str) and ":" in value]
        assert len(named) >= 8
        assert all(callable(kinds.imported(where)) for where in named)
        assert set(kind.options) <= OPTION.keys()
    for likelihood in kinds.LIKELIHOODS.values():
        assert all(callable(kinds.imported(where)) for where in likelihood.estimators.values())
    for registry in (kinds.LIKELIHOODS, kinds.MOVES):
        assert all(callable(kinds.imported(kind.where)) for kind in registry.values())
    for kind in kinds.LEARNERS.values():
        module = kinds.imported(f"{kind.where}:make"), kinds.imported(f"{kind.where}:STATES")
        assert callable(module[0])
        assert module[1]
        assert kind.takes_more is None or callable(kinds.imported(kind.takes_more))
    assert all(callable(writer(RUN_TARGETS[target].where)) for target in RUN_TARGETS)
    assert all(callable(writer(CORPUS_TARGETS[target])) for target in CORPUS_TARGETS)
    assert kinds.RIVALS["cull"].most_refusals == len(rival.CULL_SHARES)
    assert kinds.RIVALS["birth"].most_refusals == rival.FEWEST_BIRTHS
