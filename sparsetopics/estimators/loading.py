"""``load``: the fitted estimator that a run folder holds."""

from __future__ import annotations

from pathlib import Path

import msgspec

from sparsetopics.base.errors import RunError
from sparsetopics.base.sealed_files import PositiveSize, decoded
from sparsetopics.estimators.mixtures import (
    DPGaussianMixture,
    DPMultinomialMixture,
    GaussianMixture,
    MultinomialMixture,
)
from sparsetopics.estimators.topics import HDP, LDA
from sparsetopics.inference.course import Model
from sparsetopics.options.option import path_of
from sparsetopics.options.registry import LIKELIHOODS, MODELS, imported
from sparsetopics.options.resolve import arguments_of
from sparsetopics.runs.found_in_runs import counted
from sparsetopics.runs.run import Run, load_run, recorded_options
from sparsetopics.runs.run_files import DAMAGE, SETTINGS_FILE

AnyEstimator = (
    LDA | HDP | GaussianMixture | DPGaussianMixture | MultinomialMixture | DPMultinomialMixture
)


class Batching(msgspec.Struct):
    """The recorded options that are not ``TrainingOptions``."""

    batches: PositiveSize | None = None


def load(path: str | Path) -> AnyEstimator:
    """Return the fitted estimator in a run folder, written by ``save`` or ``sparsetopics train``.

    Its arguments are those that it was trained with. It can do everything that it could do before
    it was saved, and the same calls give the same bits. Only ``partial_fit`` of a mixture is
    refused, and that of topics from a topic path or an earlier release.

    Raises OptionError if ``path`` is no path. Raises RunError if the folder is damaged or is not a
    run, or if there is no estimator for its model.
    """
    run = load_run(path_of("path", path))
    estimator = _class_of(run.model, run.path)()
    arguments, known = _arguments(run), estimator.get_params()
    estimator.set_params(**{name: arguments[name] for name in arguments if name in known})
    estimator._set_run(run, run.trace)
    return estimator


def _class_of(model: Model, path: Path) -> type[AnyEstimator]:
    where = MODELS[model.name].estimator
    if where is None and model.likelihood_name is not None:
        where = LIKELIHOODS[model.likelihood_name].estimators.get(model.name)
    if where is None:
        problem = f"no estimator stands for a {model.name} with {model.likelihood_name}"
        raise RunError(str(path), problem, "The commands read it.")
    kind: type[AnyEstimator] = imported(where)
    return kind


def _arguments(run: Run[Model]) -> dict[str, object]:
    """The arguments that a run records; some belong to other estimators.

    Raises RunError unless the recorded options are training options; some may be missing.
    """
    options, where = recorded_options(run), f"{run.path / SETTINGS_FILE}, options"
    batches = decoded(run.settings.get("options", {}), Batching, where, DAMAGE).batches
    likelihood, seed = run.model.likelihood_name, run.settings.get("seed")
    own = {} if likelihood is None else {"likelihood": likelihood}
    lists = run.settings.get("guide", ())
    guide = {each.name: {"words": [*each.words], "parent": each.parent} for each in lists}
    *_, n_runs = counted(run.settings.get("found_in_runs", ()))
    arguments = {**own, **arguments_of(options), "n_runs": n_runs or 1}
    return {"n_batches": batches, "guide": guide or None, "random_state": seed, **arguments}
