"""Mixtures at single values, all the way: training, run folders, estimators, the command line."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from sparsetopics import DPGaussianMixture
from sparsetopics.base.errors import OptionError, RunError, SparsetopicsWarning
from sparsetopics.base.sealed_files import write_sealed
from sparsetopics.cli.main import main
from sparsetopics.corpora.corpus import VectorCorpus
from sparsetopics.measures.clustering import score_clustering
from sparsetopics.model.allocations.mixture_weights import DPModes
from sparsetopics.options.training import GradientOptions, LocalOptions, TopicPrior, TrainingOptions
from sparsetopics.runs.data import source_of
from sparsetopics.runs.run import load_run
from worlds.clumped_mixtures import draw_clumps

CLUMPS = draw_clumps(1, n_items=300)
LEARNERS = [
    ("alternating", None),
    *(("gradient", rule) for rule in ("plain", "momentum", "fisher")),
]
each_learner = pytest.mark.parametrize(("learner", "rule"), LEARNERS)


def fitted(learner, rule, values=CLUMPS.values, **options):
    usual = {"variance": 1.0, "n_batches": 3, "max_iter": 20}
    model = DPGaussianMixture(
        12, likelihood="isotropic-gaussian", learner=learner, gradient=rule, **usual | options
    )
    return model.fit(values)


@each_learner
@pytest.mark.parametrize("seed", range(2))
def test_clumps_stay_apart(learner, rule, seed):
    clumps = draw_clumps(seed, n_items=300)
    model = fitted(learner, rule, clumps.values, random_state=seed)

    found = model.predict(clumps.values)

    score = score_clustering(clumps.kinds, found)
    assert score.majority_accuracy > 0.99, f"seed {seed}"
    assert score.n_components <= model.n_components_ == 12
    assert model.trace_[-1]["active_topics"] <= 12
    assert (np.diff(model.weights_) <= 0).all()
    np.testing.assert_array_equal(model.covariances_, np.ones((12, 3)))


def test_gradients_empty_components_that_closed_forms_keep():
    """Of the paper's claims the one about their number."""
    numbers = {}
    for learner, rule in (LEARNERS[0], LEARNERS[-1]):
        for seed in range(10):
            clumps = draw_clumps(seed, n_items=300)
            model = fitted(learner, rule, clumps.values, variance=2.0, random_state=seed)
            numbers.setdefault(rule, []).append(len(np.unique(model.predict(clumps.values))))
    assert min(numbers["fisher"]) >= 4, numbers
    assert np.mean(numbers["fisher"]) < np.mean(numbers[None]) - 1.0, numbers


@pytest.mark.parametrize("seed", range(3))
def test_no_lap_of_mm_lowers_the_log_joint_density(seed):
    values = draw_clumps(seed, n_items=200).values

    trace = fitted("alternating", None, values, variance=20.0, random_state=seed).trace_

    bounds = np.array([entry["elbo_per_token"] for entry in trace])
    assert np.diff(bounds).min() >= -1e-9 * np.abs(bounds).max(), f"seed {seed}"


@each_learner
def test_same_seed_same_bits_for_any_number_of_workers(monkeypatch, learner, rule):
    monkeypatch.setattr("sparsetopics.model.item_assignment.BLOCK_ITEMS", 16)

    one, two = (fitted(learner, rule, n_jobs=workers, max_iter=5) for workers in (1, 2))

    for mine, theirs in zip(one.model_.posterior, two.model_.posterior, strict=True):
        assert mine.tobytes() == theirs.tobytes()
    assert one.weights_.tobytes() == two.weights_.tobytes()
    bounds = [[entry["elbo_per_token"] for entry in model.trace_] for model in (one, two)]
    assert bounds[0] == bounds[1]


@pytest.mark.parametrize("has_clusters", [False, True])
@each_learner
def test_a_dominating_column_does_not_join_nearly_all_items(learner, rule, has_clusters):
    """A column a hundred times as wide as the others; a warning would fail the test."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(600, 10)).astype(np.float32)
    kinds = rng.integers(6, size=600)
    values[:, 0] += 8 * kinds if has_clusters else 0
    values[:, 0] *= 100

    model = fitted(learner, rule, values, variance=None, max_iter=30)

    found = model.predict(values)
    assert np.bincount(found).max() < 0.5 * len(values)
    if has_clusters:
        assert score_clustering(kinds, found).nmi > 0.9


@each_learner
def test_one_component_for_nearly_all_items_is_said(learner, rule):
    said = r"100% of the items are in one component.*\(--variance\) below 1e\+05"
    with pytest.warns(SparsetopicsWarning, match=said):
        fitted(learner, rule, variance=1e5)


@pytest.mark.parametrize(
    ("learner", "rule", "name", "value"),
    [
        ("gradient", "plain", "step_size", 0.02),
        ("gradient", "momentum", "momentum", 0.5),
        ("stochastic", None, "forgetting_rate", 0.5),
        ("stochastic", None, "delay", 64.0),
        ("stochastic", None, "fixed_rate", 0.25),
    ],
)
def test_steps_are_those_of_the_options(learner, rule, name, value):
    usual, other = (
        fitted(learner, rule, max_iter=2, **given).means_ for given in ({}, {name: value})
    )

    assert not np.array_equal(usual, other)


@pytest.mark.parametrize(
    ("learner", "n_items", "expected"),
    [("gradient", 295, 4), ("gradient", 5_000, 10), ("gradient", 20, 1), ("memoized", 295, 9)],
)
def test_batches_of_points_are_not_small(learner, n_items, expected):
    values = np.random.default_rng(0).normal(size=(n_items, 2))
    corpus = VectorCorpus.from_array(values)
    options = TrainingOptions(5, learner=learner, local=HARD, **SPHERES)

    assert source_of(corpus, options, None, np.random.default_rng(0)).n_batches == expected


@pytest.mark.filterwarnings("ignore:The 60 columns vary in 3 directions only")
def test_wide_items_with_constant_columns_are_clustered():
    """Fewer items than columns, some of which never change: spheres need no more."""
    clumps = draw_clumps(2, n_items=40)
    values = np.zeros((40, 60), np.float32)
    values[:, ::20] = clumps.values

    model = fitted("gradient", "fisher", values, variance=2.0, n_batches=2)

    assert score_clustering(clumps.kinds, model.predict(values)).majority_accuracy > 0.99


@pytest.mark.parametrize("learner", ["memoized", "full", "stochastic"])
def test_spheres_serve_the_other_learners(learner):
    model = DPGaussianMixture(
        6, likelihood="isotropic-gaussian", variance=2.25, learner=learner, n_batches=3
    ).fit(CLUMPS.values)

    found = score_clustering(CLUMPS.kinds, model.predict(CLUMPS.values))
    assert found.majority_accuracy > 0.99
    if learner == "memoized":
        assert model.n_components_ == 4


# The command line.


def run(*arguments, status=0):
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exit_code == status, result.output
    return result


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("spheres")
    labels = np.array([f"clump {kind}" for kind in CLUMPS.kinds])
    np.savez(folder / "clumps.npz", values=CLUMPS.values, labels=labels)
    run("ingest", folder / "clumps.npz", "--out", folder / "corpus", "--quiet")
    return folder / "corpus"


def train(corpus, out, *options, status=0):
    usual = ("train", corpus, "--out", out, "--quiet", "--model", "dp-mixture")
    return run(*usual, "--likelihood", "isotropic-gaussian", *options, status=status)


@each_learner
def test_a_run_comes_back_as_it_was(corpus, tmp_path, learner, rule):
    given = () if rule is None else ("--gradient", rule)
    options = ("--learner", learner, *given, "--variance", 1, "--topics", 12, "--laps", 20)

    train(corpus, tmp_path / "run", *options, "--batches", 3)

    loaded = load_run(tmp_path / "run")
    model = fitted(learner, rule).model_
    assert isinstance(loaded.model.mixture, DPModes)
    assert loaded.model.likelihood.at_modes
    np.testing.assert_array_equal(
        loaded.model.responsibilities(CLUMPS.values), model.responsibilities(CLUMPS.values)
    )
    np.testing.assert_array_equal(
        loaded.model.log_densities(CLUMPS.values), model.log_densities(CLUMPS.values)
    )
    kept = loaded.settings["options"]
    assert (kept["local"]["sparsity"], kept["variance"]) == (1, 1.0)
    assert kept["gradient"] == (None if rule is None else {
        "rule": rule, "step_size": 0.1, "momentum": 0.9,
    })  # fmt: skip
    (record,) = json.loads(run("evaluate", tmp_path / "run", corpus, "--json").stdout)
    assert record["n_components"] == 12
    assert record["n_used_components"] == loaded.trace[-1]["active_topics"]
    assert record["hungarian_accuracy"] <= record["majority_accuracy"]


def test_posteriors_of_spheres_come_back_too(corpus, tmp_path):
    train(corpus, tmp_path / "run", "--variance", 2.25)

    loaded = load_run(tmp_path / "run")

    assert loaded.model.n_topics == 4
    assert not loaded.model.likelihood.at_modes
    assert "at_modes" not in loaded.settings


def test_settings_of_points_are_checked(corpus, tmp_path):
    train(corpus, tmp_path / "run", "--learner", "gradient", "--laps", 1)
    path = tmp_path / "run" / "model.json"
    write_sealed(path, json.loads(path.read_text()) | {"at_modes": "yes"})

    with pytest.raises(RunError, match="at_modes: expected true or false, but found 'yes'"):
        load_run(tmp_path / "run")


def test_fifty_components_are_the_usual_truncation(corpus, tmp_path):
    train(corpus, tmp_path / "run", "--learner", "gradient", "--laps", 1)

    assert load_run(tmp_path / "run").model.n_topics == 50


SPHERES = {"model": "dp-mixture", "likelihood": "isotropic-gaussian"}
HARD = LocalOptions("mean-field", restarts=0)
NEEDS_SPHERES = "gradient needs --model dp-mixture with --likelihood isotropic-gaussian"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"gradient": GradientOptions(), **SPHERES},
            "gradient: needs --learner gradient, but found --learner memoized.",
        ),
        ({"learner": "gradient"}, f"learner: {NEEDS_SPHERES}"),
        (
            {"learner": "alternating", "model": "hdp"},
            "learner: alternating needs --model dp-mixture with --likelihood isotropic-gaussian",
        ),
        ({"learner": "gradient", "model": "dp-mixture"}, f"learner: {NEEDS_SPHERES}"),
        ({**SPHERES, "learner": "gradient", "model": "mixture"}, f"learner: {NEEDS_SPHERES}"),
        (
            {**SPHERES, "learner": "gradient", "local": LocalOptions("mean-field", 2, restarts=0)},
            "sparsity: must be 1 with --learner gradient, which gives every item to one component.",
        ),
        (
            {**SPHERES, "learner": "alternating", "prior": TopicPrior(top_concentration=0.5)},
            "gamma: must be at least 1 with --learner alternating, but is 0.5.",
        ),
        ({**SPHERES, "variance": 0.0}, "variance: must be at least 1e-30, but is 0.0."),
        (
            {"variance": 1.0, "model": "dp-mixture"},
            "variance: needs a mixture with --likelihood isotropic-gaussian",
        ),
        ({"variance": 1.0}, "variance: needs a mixture with --likelihood isotropic-gaussian"),
    ],
)
def test_what_does_not_fit_is_refused_in_a_line(options, message):
    local = {} if options.get("model", "lda") in ("lda", "hdp") else {"local": HARD}
    with pytest.raises(OptionError) as caught:
        TrainingOptions(5, **local | options)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rule": "newton"}, "gradient: must be one of plain, momentum, fisher, but is 'newton'"),
        ({"step_size": 0.0}, "step-size: must be above 0 and at most 1, but is 0.0."),
        ({"step_size": 1.5}, "step-size: must be above 0 and at most 1, but is 1.5."),
        ({"momentum": 1.0}, "momentum: must be at least 0 and below 1, but is 1.0."),
        ({"momentum": 0.5}, "momentum: needs --gradient momentum, but found --gradient fisher."),
    ],
)
def test_steps_that_cannot_be_are_refused(options, message):
    with pytest.raises(OptionError, match=message):
        GradientOptions(**options)


def test_moves_are_refused(corpus, tmp_path):
    result = train(corpus, tmp_path / "run", "--learner", "gradient", "--moves", "merge", status=1)

    assert result.stderr.startswith("Error: --moves: must be none with --learner gradient.")
    assert not (tmp_path / "run").exists()
