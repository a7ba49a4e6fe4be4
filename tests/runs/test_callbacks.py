"""Who is told of laps while an estimator is fitted."""

import sys

import numpy as np
import pytest
from scipy import sparse

from sparsetopics import HDP, LDA, DPGaussianMixture, GaussianMixture, MultinomialMixture
from sparsetopics.base.errors import OptionError
from sparsetopics.runs.callbacks import MLflowLaps


@pytest.fixture(scope="module")
def counts():
    topics = np.random.default_rng(0).dirichlet(np.full(20, 0.1), 3)
    rng = np.random.default_rng(1)
    return sparse.csr_array([rng.multinomial(30, topics[n % 3]) for n in range(60)])


@pytest.fixture(scope="module")
def vectors():
    return np.random.default_rng(2).normal(size=(60, 3))


@pytest.mark.parametrize(
    "estimator",
    [
        LDA(3, max_iter=3),
        HDP(3, max_iter=3),
        MultinomialMixture(3, max_iter=3),
        GaussianMixture(3, max_iter=3),
        DPGaussianMixture(max_iter=3, learner="accelerated"),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_every_lap_is_told_in_its_order(estimator, counts, vectors):
    told = []

    X = vectors if "Gaussian" in repr(estimator) else counts
    estimator.fit(X, on_lap=told.append)

    assert [entry["lap"] for entry in told] == list(range(1, estimator.n_iter_ + 1))
    assert told == estimator.trace_
    assert "on_lap" not in estimator.get_params()


def test_telling_changes_no_bit(counts):
    silent = LDA(3, max_iter=2).fit(counts)
    told = LDA(3, max_iter=2).fit(counts, on_lap=lambda entry: None)

    np.testing.assert_array_equal(silent.components_, told.components_)


def test_fit_transform_and_fit_predict_tell_too(counts):
    laps = []

    LDA(3, max_iter=2).fit_transform(counts, on_lap=laps.append)
    MultinomialMixture(3, max_iter=2).fit_predict(counts, on_lap=laps.append)

    assert [entry["lap"] for entry in laps] == [1, 2, 1, 2]


def test_what_a_callback_raises_ends_fit_and_leaves_the_estimator_as_it_was(counts):
    model = LDA(3, max_iter=2).fit(counts)
    before = model.components_

    def stop(entry):
        raise RuntimeError(f"stopped in lap {entry['lap']}")

    with pytest.raises(RuntimeError, match="stopped in lap 1"):
        model.fit(counts[:30], on_lap=stop)

    assert model.components_ is before
    assert len(model.trace_) == 2


def test_without_mlflow_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "mlflow", None)

    with pytest.raises(
        OptionError, match=r"mlflow is not installed.*pip install 'sparsetopics\[mlflow\]'"
    ):
        MLflowLaps()


@pytest.fixture
def mlflow(monkeypatch, tmp_path):
    """MLflow with its store in a folder, offline."""
    for name in ("MLFLOW_ALLOW_FILE_STORE", "MLFLOW_DISABLE_TELEMETRY"):
        monkeypatch.setenv(name, "true")
    library = pytest.importorskip("mlflow", reason="needs mlflow or mlflow-skinny")
    library.set_tracking_uri((tmp_path / "store").as_uri())
    library.set_experiment("topics")
    yield library
    library.set_tracking_uri(None)


@pytest.mark.filterwarnings("ignore")  # of MLflow's own
def test_mlflow_gets_the_numbers_of_every_lap(mlflow, counts):
    with mlflow.start_run() as run:
        model = LDA(3, max_iter=3).fit(counts, on_lap=MLflowLaps())
    other = mlflow.MlflowClient().create_run(run.info.experiment_id)
    LDA(3, max_iter=2).fit(counts, on_lap=MLflowLaps(other.info.run_id))

    def history(run, name):
        logged = mlflow.MlflowClient().get_metric_history(run.info.run_id, name)
        return [(metric.step, metric.value) for metric in logged]

    trace = [(entry["lap"], entry["elbo_per_token"]) for entry in model.trace_]
    assert history(run, "elbo_per_token") == trace
    assert history(run, "n_topics") == [(1, 3), (2, 3), (3, 3)]
    assert history(run, "criterion_per_token") == []  # there was none
    assert history(other, "elbo_per_token") == trace[:2]
