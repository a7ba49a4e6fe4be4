"""A fitted estimator as a run, which all functions take that know no estimators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sparsetopics.estimators.base import Estimator
from sparsetopics.options.option import check_type, refuse
from sparsetopics.options.registry import MODELS

if TYPE_CHECKING:
    from sparsetopics.answers.topic_names import GivenNames
    from sparsetopics.runs.run import AnyRun
    from sparsetopics.runs.topic_path_files import TopicPathFolder


@dataclass(repr=False, eq=False)
class RunEstimator(Estimator):
    """An estimator whose model is a run after ``fit``."""

    def _run(self, names: GivenNames | None = None) -> AnyRun:
        """The model as a run; UnfittedError before ``fit``."""
        from sparsetopics.answers.topic_names import with_names
        from sparsetopics.runs.run import run_in_memory

        self._check_fitted()
        vocabulary = getattr(self, "vocabulary_", None)
        name, provenance = type(self).__name__, self._provenance()
        run = run_in_memory(name, self.model_, vocabulary, provenance, self.trace_)
        return run if names is None else with_names(run, names)

    def _run_of_words(self, names: GivenNames | None = None) -> AnyRun:
        """The model as a run; OptionError for components of vectors."""
        run = self._run(names)
        if run.vocabulary is None:
            problem = "has components of vectors, which have no words"
            refuse(type(self).__name__, problem, "See weights_, means_ and covariances_.")
        return run

    def _run_of_topics(self, names: GivenNames | None) -> AnyRun:
        """The model as a run; OptionError for a mixture."""
        run = self._run(names)
        if MODELS[run.model.name].of_items:
            problem = "is a mixture, which has responsibilities instead of proportions"
            refuse(type(self).__name__, problem, "predict_proba returns them.")
        return run

    def _topic_path(self) -> TopicPathFolder | None:
        """The topic path that the model belongs to, if any."""
        return None


def other_runs(models: Sequence[RunEstimator]) -> list[AnyRun]:
    """Other models as runs; OptionError for anything else."""
    check_type("runs", models, (list, tuple), "a list of fitted models")
    for model in models:
        check_type("runs", model, RunEstimator, "a list of fitted models")
    return [model._run() for model in models]
