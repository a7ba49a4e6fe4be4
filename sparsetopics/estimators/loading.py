"""``load``: the fitted estimator that a run folder holds."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from sparsetopics.base.errors import RunError
from sparsetopics.base.sealed_files import PositiveSize, decoded
from sparsetopics.estimators import fitting
from sparsetopics.estimators.document_mixtures import DPMultinomialMixture, MultinomialMixture
from sparsetopics.estimators.mixtures import DPGaussianMixture, GaussianMixture
from sparsetopics.estimators.topics import HDP, LDA
from sparsetopics.model.mixture_posterior import MixtureModel
from sparsetopics.model.topic_posterior import TopicModel
from sparsetopics.options.registry import LIKELIHOODS, MODELS, imported
from sparsetopics.options.training import TrainingOptions
from sparsetopics.runs.mixture_runs import MixtureRun
from sparsetopics.runs.run_files import DAMAGE, SETTINGS_FILE
from sparsetopics.runs.stored_models import load_any_run
from sparsetopics.runs.topic_runs import Run

AnyEstimator = (
    LDA | HDP | GaussianMixture | DPGaussianMixture | MultinomialMixture | DPMultinomialMixture
)
# Where the options of a run have the arguments of constructors.
OPTION_PATHS: Mapping[str, tuple[str, ...]] = {
    "n_components": ("n_topics",),
    "learner": ("learner",),
    "max_iter": ("laps",),
    "start": ("start",),
    "n_batches": ("batches",),
    "likelihood": ("likelihood",),
    "variance": ("variance",),
    "tree_tolerance": ("tree_tolerance",),
    "learn_hyperparameters": ("learn_hyperparameters",),
    "local_update": ("local", "update"),
    "sparsity": ("local", "sparsity"),
    "restarts": ("local", "restarts"),
    "minimum_mass": ("local", "minimum_mass"),
    "cold_every": ("cold_every",),
    "doc_concentration": ("prior", "doc_concentration"),
    "word_concentration": ("prior", "word_concentration"),
    "top_concentration": ("prior", "top_concentration"),
    "gradient": ("gradient", "rule"),
    "moves": ("moves", "names"),
    "criterion": ("moves", "criterion"),
}


class Batching(msgspec.Struct):
    """Options of a run that have no influence on the kind of model."""

    batches: PositiveSize | None = None


def load(path: str | Path) -> AnyEstimator:
    """The fitted estimator in a run folder, written by ``save`` or by ``sparsetopics train``.

    Its arguments are those it was trained with. It has all but what ``partial_fit`` needs. Raises
    RunError for a folder that is damaged or no run, or of a model that has no estimator.
    """
    run = load_any_run(Path(path))
    _check_options(run)
    estimator = _class_of(run.model, run.path)()
    estimator.set_params(**_arguments(run.model, run.settings, estimator.get_params()))
    estimator.n_features_in_ = _width(run.model)
    trace, facts = [dict(entry) for entry in run.trace], run.settings["corpus"]
    fitting.show(estimator, run.model, trace, facts, run.vocabulary)
    return estimator


def _check_options(run: Run | MixtureRun) -> None:
    """RunError unless a run's options are training options; some may be missing."""
    where = f"{run.path / SETTINGS_FILE}, options"
    options = {"n_topics": run.model.n_topics, **run.settings.get("options", {})}
    decoded(options, TrainingOptions, where, DAMAGE)
    decoded(options, Batching, where, DAMAGE)


def _class_of(model: TopicModel | MixtureModel, path: Path) -> type[AnyEstimator]:
    where = MODELS[model.name].estimator
    if isinstance(model, MixtureModel):
        where = LIKELIHOODS[model.likelihood_name].estimators.get(model.name)
        if where is None:
            raise RunError(
                str(path),
                found=f"a {model.name} with {model.likelihood_name}, which has no estimator",
                wanted="another likelihood",
                hint="The commands read it.",
            )
    kind: type[AnyEstimator] = imported(str(where))
    return kind


def _width(model: TopicModel | MixtureModel) -> int:
    return model.n_words if isinstance(model, TopicModel) else model.n_columns


def _arguments(
    model: TopicModel | MixtureModel, settings: Mapping[str, Any], defaults: Mapping[str, Any]
) -> dict[str, Any]:
    """What the run says of the constructor's arguments; of the rest, what the model is like."""
    arguments = {"n_components": model.n_topics, "random_state": settings.get("seed")}
    if isinstance(model, MixtureModel):
        arguments["likelihood"] = model.likelihood_name
    for name, keys in OPTION_PATHS.items():
        value: Any = settings.get("options")
        for key in keys:
            value = value.get(key) if isinstance(value, Mapping) else None
        if value is not None:
            arguments[name] = tuple(value) if isinstance(value, list) else value
    return {name: value for name, value in arguments.items() if name in defaults}
