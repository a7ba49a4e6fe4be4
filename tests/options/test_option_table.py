"""The table of options: its rows go with the classes that hold them, and lead there and back."""

from dataclasses import MISSING, fields
from math import inf, nan

import pytest

from sparsetopics.base.errors import OptionError
from sparsetopics.options.option import NATURAL, SHARE, Interval, counts_from, shown
from sparsetopics.options.resolve import resolve, values_of
from sparsetopics.options.table import OPTION
from sparsetopics.options.training import (
    GradientOptions,
    LocalOptions,
    MoveOptions,
    StepSizes,
    TopicPrior,
    TrainingOptions,
)
from sparsetopics.runs.plan import RunPlan

HOLDERS = {
    "": TrainingOptions,
    "local": LocalOptions,
    "prior": TopicPrior,
    "moves": MoveOptions,
    "gradient": GradientOptions,
    "step_sizes": StepSizes,
    "run": RunPlan,
}
DEFAULTS = {  # of classes that have no use for the default of the table
    "model": "lda",  # ``TrainingOptions`` without a model
    "local-update": "collapsed",
    "moves": ("merge", "delete", "birth"),
}


@pytest.mark.parametrize("option", OPTION.values(), ids=lambda option: option.name)
def test_a_row_names_a_field_and_its_default(option):
    (field,) = [each for each in fields(HOLDERS[option.part]) if each.name == option.field]

    usual = DEFAULTS.get(option.name, option.default)
    assert field.default in (usual, None) or field.default is MISSING, option.name


@pytest.mark.parametrize(
    ("model", "given"),
    [
        ("lda", {}),
        ("lda", {"topics": 3, "local-update": "mean-field", "restarts": 1, "alpha": 0.9}),
        ("lda", {"learn-hyperparameters": True, "minimum-mass": 0.5, "start": "random"}),
        ("hdp", {"moves": ("merge",), "criterion": "bound"}),
        ("hdp", {"gamma": 3.0, "moves": (), "cold-every": 3, "eta": 0.2}),
        ("hdp", {"learner": "stochastic", "round": 4}),
        ("lda", {"learner": "stochastic", "forgetting-rate": 0.5, "delay": 64.0}),
        ("mixture", {"learner": "stochastic", "fixed-rate": 0.05}),
        ("mixture", {"likelihood": "multinomial", "eta": 0.2, "sparsity": 2}),
        ("dp-mixture", {"learner": "accelerated", "tree-tolerance": 0.1}),
        (
            "dp-mixture",
            {
                "learner": "gradient",
                "likelihood": "isotropic-gaussian",
                "gradient": "momentum",
                "step-size": 0.02,
                "momentum": 0.5,
                "variance": 2.0,
            },
        ),
    ],
)
def test_values_lead_back_to_the_same_options(model, given):
    options = resolve(model, given)

    assert resolve(model, values_of(options)).filled() == options.filled()
    assert given.items() <= values_of(options).items()


def test_nothing_said_is_the_default():
    nothing = dict.fromkeys(OPTION)

    assert resolve("hdp", nothing) == resolve("hdp", {}) == TrainingOptions(100, model="hdp")


@pytest.mark.parametrize(
    ("model", "given", "message"),
    [
        ("lsi", {}, "model: must be one of lda, hdp, dp-mixture, mixture, but is 'lsi'."),
        ("mixture", {"alpha": 0.5}, "alpha: is for lda and hdp, not for --model mixture."),
        ("mixture", {"eta": 0.1}, "eta: is for words, but --likelihood gaussian is of vectors."),
        ("lda", {"gamma": 1.0}, "gamma: is for hdp, dp-mixture and mixture, not for --model lda."),
        ("lda", {"topics": 0}, "topics: must be at least 1, but is 0."),
        ("lda", {"moves": ("merge",)}, "moves: is for hdp and dp-mixture, not for --model lda."),
        ("mixture", {"criterion": "bound"}, "criterion: is for hdp and dp-mixture, not for --"),
        ("mixture", {"restarts": 0}, "restarts: is for lda and hdp, not for --model mixture."),
    ],
)
def test_what_a_model_does_not_take_is_refused(model, given, message):
    with pytest.raises(OptionError) as error:
        resolve(model, given)

    assert str(error.value).startswith(message)


def test_a_flag_that_is_off_is_taken_by_every_model():
    assert resolve("mixture", {"learn-hyperparameters": False}) == resolve("mixture", {})


@pytest.mark.parametrize("model", ["lda", "mixture"])
def test_models_without_moves_take_none(model):
    found = resolve(model, {"moves": ()})

    assert found.filled() == resolve(model, {}).filled()
    assert "moves" not in values_of(found)


@pytest.mark.parametrize(
    ("interval", "inside", "outside", "wanted"),
    [
        (Interval(0, above_low=True, below_high=True), [1e-300, 5.0], [0.0, -1.0, -inf], "above 0"),
        (Interval(0, above_low=True, below_high=True), [], [inf], "above 0 and finite"),
        (Interval(0, above_low=True, below_high=True), [], [nan], "a number"),
        (SHARE, [0.0, 0.99], [1.0, -0.1, inf], "at least 0 and below 1"),
        (NATURAL, [0, 10**30], [-1], "at least 0"),
        (counts_from(1, "lap"), [1, 2**31 - 1], [0, -5], "at least 1 lap"),
        (counts_from(1), [1], [2**31, 10**30], "from 1 to 2,147,483,647"),
        (counts_from(1), [1], [1.0, True, "3"], "a whole number"),
        (Interval(0, unit="tokens"), [0.0, inf], [-0.1], "at least 0 tokens"),
        (Interval(0, unit="tokens"), [], [nan, False, "3"], "a number"),
        (Interval(0.5, 1, above_low=True), [0.6, 1.0], [0.5, 1.1], "above 0.5 and at most 1"),
    ],
)
def test_an_interval_says_what_it_wants(interval, inside, outside, wanted):
    for value in inside:
        interval.check("x", value)
    for value in outside:
        with pytest.raises(OptionError) as error:
            interval.check("x", value)
        assert str(error.value) == f"x: must be {wanted}, but is {shown(value)}."
