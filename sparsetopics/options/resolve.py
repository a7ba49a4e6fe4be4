"""From the options that a user gives to ``TrainingOptions``, and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NoReturn, TypeVar

from sparsetopics.options.option import Given, Option, Value, refuse
from sparsetopics.options.table import DEFAULT_LEARNER, MIXTURES, OPTION, OPTIONS
from sparsetopics.options.training import (
    GradientOptions,
    LocalOptions,
    MoveOptions,
    TopicPrior,
    TrainingOptions,
    default_topics,
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
            _refuse_stranger(OPTION[name], value, model)
    return options


def fields_of(part: str, said: Mapping[str, Value]) -> dict[str, Value]:
    """The fields of one part of the options, from values by name."""
    return {
        option.field: said[option.name]
        for option in OPTIONS
        if option.part == part and option.name in said
    }


def values_of(options: TrainingOptions) -> dict[str, Value]:
    """The values in force, by the names of the table; ``resolve`` makes the same options of them.

    Defaults that depend on the data or on other options are left out.
    """
    filled = options.filled()
    holders = {
        "": filled,
        "local": filled.local,
        "prior": filled.prior,
        "moves": filled.moves,
        "gradient": filled.gradient,
    }
    values: dict[str, Value | None] = {
        option.name: getattr(holders.get(option.part), option.field, None) for option in OPTIONS
    }
    return {
        name: value
        for name, value in values.items()
        if value is not None and _is_for(OPTION[name], options)
    }


def from_arguments(arguments: Mapping[str, Value | None]) -> Given:
    """The parameters of an estimator, by the names of the table."""
    return {
        ARGUMENTS[argument].name: value
        for argument, value in arguments.items()
        if argument in ARGUMENTS
    }


def _made(kind: Callable[..., T], fields: Mapping[str, V]) -> T:
    """A part of the options. The part checks the values, whose types mypy does not know here."""
    return kind(**fields)


def _is_for(option: Option, options: TrainingOptions) -> bool:
    """Whether an option means anything for the model and its kind of data."""
    return option.is_for(options.model) and (option.name != "eta" or options.counts_words)


def _refuse_stranger(option: Option, value: Value, model: str) -> NoReturn:
    shown = f"{value:g}" if isinstance(value, float) else str(value)
    refuse(
        option.name,
        f"{shown} with {'a mixture' if model in MIXTURES else model}",
        "a topic model",
        "Vectors have no words, and documents of a mixture no topics of their own.",
    )
