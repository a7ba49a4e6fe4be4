"""``save`` and ``load`` of every estimator."""

import json

import numpy as np
import pytest

import sparsetopics
from sparsetopics import (
    HDP,
    LDA,
    DPGaussianMixture,
    DPMultinomialMixture,
    GaussianMixture,
    MultinomialMixture,
    VectorCorpus,
)
from sparsetopics.base.errors import OutputError, ShapeError, UnfittedError
from sparsetopics.cli.main import main
from sparsetopics.runs.run import run_in_memory, save_run
from sparsetopics.runs.train import option_record
from worlds.document_mixtures import draw_documents

COUNTS = draw_documents(0, 60, n_tokens=60).counts.astype(float)
VALUES = np.random.default_rng(0).normal(size=(80, 3)) + np.repeat([[0.0], [9.0]], 40, axis=0)
SPHERES = {"likelihood": "isotropic-gaussian", "max_iter": 4}
ESTIMATORS = [
    LDA(3, max_iter=4, sparsity=2, doc_concentration=0.7, n_batches=2, random_state=5),
    LDA(3, max_iter=4, local_update="mean-field", restarts=2, learner="full", start="random"),
    LDA(3, max_iter=4, learn_hyperparameters=True, minimum_mass=1.5, cold_every=2),
    HDP(3, max_iter=4, moves=(), top_concentration=4.0, learner="stochastic", random_state=None),
    HDP(3, max_iter=6, moves=("merge", "delete"), criterion="bound"),
    GaussianMixture(2, max_iter=4, likelihood="diagonal-gaussian"),
    GaussianMixture(2, max_iter=4, likelihood="zero-mean-gaussian", top_concentration=3.0),
    DPGaussianMixture(2, max_iter=4, moves=()),
    DPGaussianMixture(learner="accelerated", tree_tolerance=0.0, max_iter=3),
    DPGaussianMixture(4, learner="gradient", gradient="momentum", variance=2.0, **SPHERES),
    DPGaussianMixture(4, learner="alternating", **SPHERES),
    MultinomialMixture(3, max_iter=4, word_concentration=0.4),
    DPMultinomialMixture(2, max_iter=5, moves=("birth",)),
]


def rows_for(estimator):
    return VALUES if hasattr(estimator, "sample") else COUNTS


def read_out(model):
    if hasattr(model, "transform"):
        return model.transform(COUNTS)
    rows = rows_for(model)
    return np.column_stack([model.predict_proba(rows), model.score_samples(rows)])


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_saved_and_loaded_it_is_the_same(tmp_path, estimator):
    fitted = type(estimator)(**estimator.get_params()).fit(rows_for(estimator))
    fitted.save(tmp_path / "one")

    loaded = sparsetopics.load(tmp_path / "one")

    assert type(loaded) is type(estimator)
    np.testing.assert_array_equal(read_out(loaded), read_out(fitted))
    assert loaded.score(rows_for(estimator)) == fitted.score(rows_for(estimator))
    assert loaded.trace_ == fitted.trace_
    assert (loaded.n_iter_, loaded.n_features_in_) == (fitted.n_iter_, fitted.n_features_in_)
    loaded.save(tmp_path / "two")
    files = [(tmp_path / run / "model.safetensors").read_bytes() for run in ("one", "two")]
    assert files[0] == files[1]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_a_loaded_estimator_has_the_arguments_it_was_trained_with(tmp_path, estimator):
    """What it would do by default stands there in words."""
    fitted = type(estimator)(**estimator.get_params()).fit(rows_for(estimator))
    fitted.save(tmp_path / "run")

    found = sparsetopics.load(tmp_path / "run").get_params()

    for name, value in estimator.get_params().items():
        assert found[name] == value or value is None or name == "n_jobs", name
    again = type(estimator)(**found).fit(rows_for(estimator))
    if estimator.random_state is not None:
        np.testing.assert_array_equal(read_out(again), read_out(fitted))


def test_a_run_of_lda_with_the_moves_of_an_earlier_version_is_read(tmp_path):
    fitted, run, page = LDA(3, max_iter=2).fit(COUNTS), tmp_path / "run", tmp_path / "page.html"
    moves = {"names": ["regroup"], "criterion": "bound", "verify": False}
    options = {**option_record(fitted.training_options()), "moves": moves}
    trace = [{**entry, "regroups_proposed": 1, "regroups_accepted": 1} for entry in fitted.trace_]
    run.mkdir()
    provenance = {"corpus": fitted._run().settings["corpus"], "options": options, "seed": 0}
    save_run(run, run_in_memory("run", fitted.model_, fitted.vocabulary_, provenance, trace))

    loaded = sparsetopics.load(run)
    main(["report", str(run), "--out", str(page)], standalone_mode=False)

    assert loaded.trace_ == trace
    np.testing.assert_array_equal(loaded.transform(COUNTS), fitted.transform(COUNTS))
    loaded.save(tmp_path / "again")
    assert "regroup, accepted if they raise the ELBO" in page.read_text(encoding="utf-8")


def test_a_run_folder_has_what_is_known_of_the_data(tmp_path):
    GaussianMixture(2, max_iter=2).fit(VALUES).save(tmp_path / "vectors")
    LDA(2, max_iter=2).fit(COUNTS).partial_fit(COUNTS[1:]).save(tmp_path / "documents")

    corpora = [
        json.loads((tmp_path / run / "model.json").read_text())["corpus"]
        for run in ("vectors", "documents")
    ]

    fingerprint = VectorCorpus.from_array(VALUES).fingerprint
    assert len(corpora[0].pop("fingerprint").removeprefix("rows:")) == 64
    assert corpora[0] == {
        "n_items": 80, "columns_fingerprint": fingerprint, "made": {"format": "array"}
    }  # fmt: skip
    n_tokens = COUNTS.sum() + COUNTS[1:].sum()
    assert corpora[1] == {"n_documents": 119, "n_tokens": n_tokens}


def test_the_command_line_trains_what_python_loads(tmp_path, capsys):
    np.save(tmp_path / "values.npy", VALUES)

    def run(*words):
        main([str(word) for word in words], standalone_mode=False)

    run("ingest", tmp_path / "values.npy", "--out", tmp_path / "corpus")
    run(
        "train", tmp_path / "corpus", "--model", "mixture", "--topics", 2, "--laps", 3,
        "--seed", 4, "--out", tmp_path / "run",
    )  # fmt: skip

    loaded = sparsetopics.load(tmp_path / "run")

    assert isinstance(loaded, GaussianMixture)
    assert (loaded.n_components, loaded.max_iter, loaded.random_state) == (2, 3, 4)
    again = GaussianMixture(2, max_iter=3, random_state=4).fit(VALUES)
    np.testing.assert_array_equal(again.predict_proba(VALUES), loaded.predict_proba(VALUES))
    with pytest.raises(ShapeError, match=r"X has 2 features, but .* is expecting 3 features"):
        loaded.predict(VALUES[:, :2])


@pytest.mark.parametrize("kind", [GaussianMixture, DPMultinomialMixture])
def test_save_needs_fit_and_leave_to_replace(tmp_path, kind):
    with pytest.raises(UnfittedError, match="is not fitted yet"):
        kind().save(tmp_path / "run")
    assert list(tmp_path.iterdir()) == []
    model = kind(1, max_iter=2)
    model.fit(rows_for(model)).save(tmp_path / "run")

    with pytest.raises(OutputError, match="the output already exists"):
        model.save(tmp_path / "run")
    model.save(tmp_path / "run", overwrite=True)


def test_a_run_without_a_record_of_options_has_those_of_its_model(run_folder, model):
    loaded = sparsetopics.load(run_folder)

    assert isinstance(loaded, LDA)
    assert (loaded.n_components, loaded.random_state) == (4, 7)
    np.testing.assert_array_equal(loaded.components_, model.topic_word_weights)
    assert loaded.get_params() == LDA(4, random_state=7).get_params()
