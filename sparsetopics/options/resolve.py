"""From the options that a user gives to ``TrainingOptions``, and back."""

from __future__ import annotations

from collections.abc import Mapping

from sparsetopics.options.option import Given, Option, Value, fields_by_part, made, refuse, taken
from sparsetopics.options.registry import LEARNERS, MODELS, learners_with
from sparsetopics.options.table import (
    DEFAULT_LEARNER,
    DEFAULT_TRUNCATION,
    OPTION,
    OWN_SHARES,
    PATH_OPTION,
)
from sparsetopics.options.training import (
    GradientOptions,
    LocalOptions,
    MoveOptions,
    StepSizes,
    TopicPrior,
    TrainingOptions,
)

ARGUMENTS = {
    option.argument or option.field: option
    for option in OPTION.values()
    if option.argument is not None
}
OF_WORDS = ("eta", "resident-pairs")  # options that mean nothing for vectors


def resolve(model: str, given: Given) -> TrainingOptions:
    """The options for training ``model`` with the values that a user gives.

    ``given`` has values by the names of the table, where None stands for the default. Options of
    the run, such as ``seed``, are ignored. Raises OptionError for a value out of range, for options
    that do not go together, and for an option that is not for this model.
    """
    said = taken(OPTION, {**given, "model": model})
    learner = str(said.get("learner", DEFAULT_LEARNER))
    for name in said:
        OPTION[name].check_learner(learner)
    usual = DEFAULT_TRUNCATION if LEARNERS[learner].at_modes else MODELS[model].n_topics
    own = fields_by_part(OPTION, said)
    if "criterion" in said and "moves" not in said:
        OPTION["criterion"].check_model(model)
        if not LEARNERS[learner].makes_moves:  # those that the criterion judges
            problem = f"is for moves, which --model {model} with --learner {learner} does not make"
            refuse("criterion", problem)
    # The local step of a mixture is exact: mean-field, without restarts.
    exact: dict[str, Value] = {"update": "mean-field", "restarts": 0}
    local = exact if MODELS[model].of_items else {}
    parts = {
        "local": made(LocalOptions, local | own["local"]),
        "prior": made(TopicPrior, own["prior"]),
        "moves": made(MoveOptions, own["moves"]) if own["moves"] else None,
        "gradient": made(GradientOptions, own["gradient"]) if own["gradient"] else None,
        "step_sizes": made(StepSizes, own["step_sizes"]),
    }
    options = made(TrainingOptions, {"n_topics": usual, **own[""], **parts})
    for name, value in said.items():
        # TrainingOptions cannot tell a given value from a default. A flag that is off and an empty
        # list of moves say nothing.
        if value is False or value == ():
            continue
        OPTION[name].check_model(model)
        if not _is_for(OPTION[name], options):
            refuse(name, f"is for words, but --likelihood {options.likelihood_name} is of vectors")
    is_able = options.learner_kind.remembers and options.local.update == "collapsed"
    if OWN_SHARES[options.local.own_counts] and not is_able:
        needs = "must be keep without the memoized learner and the collapsed update"
        hint = "Other learners do not know a document's own counts; mean-field must raise the ELBO."
        refuse("own-counts", needs, hint)
    return options


def values_of(options: TrainingOptions) -> dict[str, Value]:
    """The values in force, by the names of the table; ``resolve`` makes the same options of them.

    Defaults that depend on the data or on other options are left out, and so are lists of words.
    """
    values = _given_in(options.filled())
    return {name: value for name, value in values.items() if _is_for(OPTION[name], options)}


def from_arguments(arguments: Mapping[str, Value | None]) -> Given:
    """The parameters of an estimator, by the names of the table."""
    return {ARGUMENTS[key].name: value for key, value in arguments.items() if key in ARGUMENTS}


def argument_for(name: str) -> str:
    """The name of the parameter of estimators for an option, or else ``name`` itself."""
    if name in PATH_OPTION:
        return PATH_OPTION[name].argument or PATH_OPTION[name].field
    return next((key for key, option in ARGUMENTS.items() if option.name == name), name)


def arguments_of(options: TrainingOptions) -> dict[str, Value]:
    """The values that options have, by the names of estimators' parameters."""
    values = _given_in(options)
    return {key: values[option.name] for key, option in ARGUMENTS.items() if option.name in values}


def _given_in(options: TrainingOptions) -> dict[str, Value]:
    """The values that are not None, by the names of the table."""
    values: dict[str, Value | None] = {}
    for option in OPTION.values():
        if options.learner not in learners_with(option.name):
            continue
        holder = getattr(options, option.part, None) if option.part else options
        values[option.name] = getattr(holder, option.field, None)
    return {name: value for name, value in values.items() if value is not None}


def _is_for(option: Option, options: TrainingOptions) -> bool:
    """Whether an option means anything for the model and its kind of data."""
    return option.is_for(options.model) and (option.name not in OF_WORDS or options.counts_words)
