"""From the options that a user gives to ``TrainingOptions``, and back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from sparsetopics.options.option import Given, Option, SomeOf, Value, refuse
from sparsetopics.options.registry import LEARNERS
from sparsetopics.options.table import (
    DEFAULT_LEARNER,
    DEFAULT_TOPICS,
    DEFAULT_TRUNCATION,
    MIXTURES,
    OPTION,
    OPTIONS,
)
from sparsetopics.options.training import (
    GradientOptions,
    LocalOptions,
    MoveOptions,
    TopicPrior,
    TrainingOptions,
)

ARGUMENTS: Mapping[str, Option] = {
    option.argument or option.field: option for option in OPTIONS if option.argument is not None
}
T = TypeVar("T")
V = TypeVar("V")


def resolve(model: str, given: Given) -> TrainingOptions:
    """The options for training ``model`` with the values that a user gives.

    ``given`` has values by the names of the table, where None stands for the default. Options of
    the run, such as ``seed``, are ignored. Raises OptionError for a value out of range, for options
    that do not go together, and for an option that is not for this model.
    """
    OPTION["model"].check(model)
    said = {name: value for name, value in given.items() if value is not None} | {"model": model}
    usual = default_topics(model, str(said.get("learner", DEFAULT_LEARNER)))
    moves, gradient = fields_of("moves", said), fields_of("gradient", said)
    # The local step of a mixture is exact: mean-field, without restarts.
    local: dict[str, Value] = {"update": "mean-field", "restarts": 0} if model in MIXTURES else {}
    parts = {
        "local": _made(LocalOptions, local | fields_of("local", said)),
        "prior": _made(TopicPrior, fields_of("prior", said)),
        "moves": _made(MoveOptions, moves) if moves else None,
        "gradient": _made(GradientOptions, gradient) if gradient else None,
    }
    options = _made(TrainingOptions, {"n_topics": usual, **fields_of("", said), **parts})
    for name, value in said.items():
        # TrainingOptions refuses most of these, but cannot tell a given value from a default.
        # 0 and false ask for nothing, so every model takes them.
        if value and not _is_for(OPTION[name], options):
            shown = f"{value:g}" if isinstance(value, float) else str(value)
            found = f"{shown} with {'a mixture' if model in MIXTURES else model}"
            hint = "Vectors have no words, and documents of a mixture no topics of their own."
            refuse(name, found, "a topic model", hint)
    return options


def fields_of(part: str, said: Mapping[str, Value]) -> dict[str, Value]:
    """The fields of one part of the options, from values by name."""
    own = [option for option in OPTIONS if option.part == part and option.name in said]
    return {option.field: _frozen(option, said[option.name]) for option in own}


def values_of(options: TrainingOptions) -> dict[str, Value]:
    """The values in force, by the names of the table; ``resolve`` makes the same options of them.

    Defaults that depend on the data or on other options are left out.
    """
    values = _given_in(options.filled())
    return {name: value for name, value in values.items() if _is_for(OPTION[name], options)}


def from_arguments(arguments: Mapping[str, Value | None]) -> Given:
    """The parameters of an estimator, by the names of the table."""
    return {
        ARGUMENTS[argument].name: value
        for argument, value in arguments.items()
        if argument in ARGUMENTS
    }


def arguments_of(options: TrainingOptions) -> dict[str, Value]:
    """The values that options have, by the names of estimators' parameters."""
    values = _given_in(options)
    return {
        argument: values[option.name]
        for argument, option in ARGUMENTS.items()
        if option.name in values
    }


def default_topics(model: str, learner: str) -> int:
    """The number of topics or components where none is given."""
    has_points = learner in LEARNERS and LEARNERS[learner].at_modes
    return DEFAULT_TRUNCATION if has_points else DEFAULT_TOPICS[model]


def _given_in(options: TrainingOptions) -> dict[str, Value]:
    """The values that are not None, by the names of the table."""
    holders = {
        "": options,
        "local": options.local,
        "prior": options.prior,
        "moves": options.moves,
        "gradient": options.gradient,
    }
    values: dict[str, Value | None] = {
        option.name: getattr(holders.get(option.part), option.field, None) for option in OPTIONS
    }
    return {name: value for name, value in values.items() if value is not None}


def _frozen(option: Option, value: Value) -> Value:
    """A list of names as a tuple."""
    takes_names = isinstance(option.takes, SomeOf)
    return tuple(value) if takes_names and isinstance(value, Iterable) else value


def _made(kind: Callable[..., T], fields: Mapping[str, V]) -> T:
    """A part of the options. The part checks the values, whose types mypy does not know here."""
    return kind(**fields)


def _is_for(option: Option, options: TrainingOptions) -> bool:
    """Whether an option means anything for the model and its kind of data."""
    return option.is_for(options.model) and (option.name != "eta" or options.counts_words)
