"""What ``train`` can be asked for, estimators can be asked for, and mean the same by it."""

import inspect
from pathlib import Path

import pytest

from sparsetopics import (
    HDP,
    LDA,
    DPGaussianMixture,
    DPMultinomialMixture,
    GaussianMixture,
    MultinomialMixture,
)
from sparsetopics.cli.shared_options import is_given
from sparsetopics.cli.train import command
from sparsetopics.options.registry import MODELS
from sparsetopics.options.resolve import ARGUMENTS as ARGUMENT
from sparsetopics.options.resolve import from_arguments, resolve
from sparsetopics.options.table import OPTION
from sparsetopics.runs.train import option_record

DOCUMENTS = ("--likelihood", "multinomial")
ESTIMATORS = {
    LDA: ("--model", "lda"),
    HDP: ("--model", "hdp"),
    GaussianMixture: ("--model", "mixture"),
    DPGaussianMixture: ("--model", "dp-mixture"),
    MultinomialMixture: ("--model", "mixture", *DOCUMENTS),
    DPMultinomialMixture: ("--model", "dp-mixture", *DOCUMENTS),
}
TOPICS, DP = (LDA, HDP), (DPGaussianMixture, DPMultinomialMixture)
SPHERES = {"likelihood": "isotropic-gaussian"}
# Of each option the argument, values of both, and what else has to be said for it.
ARGUMENTS = {
    "topics": [("n_components", 7, "7", {})],
    "likelihood": [("likelihood", "diagonal-gaussian", "diagonal-gaussian", {})],
    "learner": [("learner", name, name, {}) for name in ("stochastic", "full")],
    "tree_tolerance": [("tree_tolerance", 0.25, "0.25", {"learner": "accelerated"})],
    "gradient": [("gradient", "plain", "plain", {"learner": "gradient", **SPHERES})],
    "step_size": [("step_size", 0.25, "0.25", {"learner": "gradient", **SPHERES})],
    "momentum": [
        ("momentum", 0.5, "0.5", {"learner": "gradient", "gradient": "momentum", **SPHERES})
    ],
    "forgetting_rate": [("forgetting_rate", 0.5, "0.5", {"learner": "stochastic"})],
    "delay": [("delay", 64.0, "64", {"learner": "stochastic"})],
    "fixed_rate": [("fixed_rate", 0.25, "0.25", {"learner": "stochastic"})],
    "variance": [("variance", 2.5, "2.5", SPHERES)],
    "local_update": [("local_update", "mean-field", "mean-field", {})],
    "sparsity": [("sparsity", 1, "1", {})],
    "moves": [("moves", ("merge",), "merge", {}), ("moves", (), "none", {})],
    "criterion": [("criterion", "bound", "bound", {})],
    "validation_share": [("validation_share", 0.2, "0.2", {})],
    "for": [("purpose", "reading", "reading", {})],
    "laps": [("max_iter", 3, "3", {})],
    "start": [("start", "random", "random", {})],
    "restarts": [("restarts", 2, "2", {"local_update": "mean-field"})],
    "minimum_mass": [("minimum_mass", 0.5, "0.5", {})],
    "cold_every": [("cold_every", 1, "1", {})],
    "own_counts": [("own_counts", name, name, {}) for name in ("keep", "leave")],
    "alpha": [("doc_concentration", 0.75, "0.75", {})],
    "gamma": [("top_concentration", 3.0, "3", {})],
    "eta": [("word_concentration", 0.3, "0.3", {})],
    "smoothing": [("smoothing", 0.02, "0.02", {})],
    "learn_hyperparameters": [("learn_hyperparameters", True, None, {})],
    "guide": [("guide", {"sea": ["ship"]}, "guide.toml", {})],
    "runs": [("n_runs", 3, "3", {})],
}
ONLY_OF = {  # all others refuse it, or have one value of it
    "likelihood": (GaussianMixture, DPGaussianMixture),
    "variance": (GaussianMixture, DPGaussianMixture),
    "tree_tolerance": (DPGaussianMixture,),
    "gradient": (DPGaussianMixture,),
    "step_size": (DPGaussianMixture,),
    "momentum": (DPGaussianMixture,),
    "local_update": TOPICS,
    "restarts": TOPICS,
    "minimum_mass": TOPICS,
    "cold_every": TOPICS,
    "own_counts": TOPICS,
    "alpha": TOPICS,
    "smoothing": TOPICS,
    "learn_hyperparameters": TOPICS,
    "criterion": (HDP,),  # mixtures have the bound alone
    "validation_share": (HDP,),
    "for": (HDP,),
    "guide": TOPICS,
    "runs": TOPICS,
    "moves": (HDP, *DP),
    "gamma": (HDP, GaussianMixture, MultinomialMixture, *DP),
    "eta": (*TOPICS, MultinomialMixture, DPMultinomialMixture),
}
BESIDE = {"batches", "workers", "seed"}  # they are for every estimator
OF_THE_RUN = "validation_share"  # the options of training follow from it and the corpus


@pytest.fixture(autouse=True)
def _guide(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("guide.toml").write_text('sea = ["ship"]', encoding="utf-8")


def record(options):
    """What a run keeps of them, and γ where nobody said it."""
    filled = option_record(options) | {"guide": options.guide, "n_runs": options.n_runs}
    filled["prior"]["top_concentration"] = options.prior.gamma
    return filled


def typed(option, value):
    name = f"--{option.replace('_', '-')}"
    return (name,) if value is None else (name, value)


def of_the_command_line(estimator, *said):
    arguments = ["corpus", "--out", "run", *ESTIMATORS[estimator], *said]
    with command.make_context("train", arguments) as ctx:
        given = {name: ctx.params[option.key] for name, option in OPTION.items()}
        said = {name: value for name, value in given.items() if is_given(OPTION[name].key)}
    return record(resolve(given["model"], said))


def cases(estimator):
    for option, sayings in ARGUMENTS.items():
        if option != OF_THE_RUN and estimator in ONLY_OF.get(option, ESTIMATORS):
            yield from ((option, *saying) for saying in sayings)


ALL_CASES = [(kind, *case) for kind in ESTIMATORS for case in cases(kind)]
OPTIONS = {argument: option for option, sayings in ARGUMENTS.items() for argument, *_ in sayings}


def test_every_option_with_an_argument_is_tried():
    options = {option.key for option in ARGUMENT.values()}

    assert options == ARGUMENTS.keys() | BESIDE
    for option, sayings in ARGUMENTS.items():
        assert {argument for argument, *_ in sayings} == {argument_of(option)}


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda kind: kind.__name__)
def test_constructors_repeat_the_table(estimator):
    model = ESTIMATORS[estimator][1]
    signature = inspect.signature(estimator).parameters
    keys = [key for key in ARGUMENTS if estimator in ONLY_OF.get(key, ESTIMATORS)]

    assert set(signature) == {argument_of(key) for key in (*keys, *BESIDE)}
    for argument, parameter in signature.items():
        option = ARGUMENT[argument]
        usual = {"topics": MODELS[model].n_topics, "laps": MODELS[model].laps}
        local_update = {"local-update": resolve(model, {}).local.update}
        default = (usual | local_update).get(option.name, option.default)
        assert parameter.default in (None, default), argument
        assert option.is_for(model), argument


def argument_of(key):
    (name,) = [name for name, option in ARGUMENT.items() if option.key == key]
    return name


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda kind: kind.__name__)
def test_without_arguments_it_is_what_train_does(estimator):
    assert record(estimator().training_options()) == of_the_command_line(estimator)


@pytest.mark.parametrize(("estimator", "option", "argument", "value", "said", "also"), ALL_CASES)
def test_resolve_understands_arguments(estimator, option, argument, value, said, also):
    made = estimator(**{argument: value}, **also)
    words = {"likelihood": "multinomial"} if "multinomial" in ESTIMATORS[estimator] else {}

    found = resolve(ESTIMATORS[estimator][1], from_arguments(made.get_params()) | words)

    assert found == made.training_options()


@pytest.mark.parametrize("learner", ["alternating", "gradient"])
def test_learners_of_points_begin_with_more_components(learner):
    options = DPGaussianMixture(learner=learner, **SPHERES).training_options()

    said = ("--learner", learner, "--likelihood", "isotropic-gaussian")
    assert record(options) == of_the_command_line(DPGaussianMixture, *said)
    assert options.n_topics == 50


@pytest.mark.parametrize(("estimator", "option", "argument", "value", "said", "also"), ALL_CASES)
def test_an_argument_means_what_the_option_does(estimator, option, argument, value, said, also):
    others = [word for name, own in also.items() for word in typed(OPTIONS[name], own)]

    found = record(estimator(**{argument: value}, **also).training_options())

    assert found == of_the_command_line(estimator, *others, *typed(option, said))
    assert found != record(estimator(**also).training_options())
