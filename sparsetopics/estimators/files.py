"""``save`` of every estimator: a run folder, as the command line writes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sparsetopics.estimators import fitting
from sparsetopics.estimators.sklearn_protocol import check_fitted


def save(self: fitting.Estimator, path: str | Path, *, overwrite: bool = False) -> None:
    """Write a run folder that ``sparsetopics`` commands and ``load`` read, whole or not at all.

    Raises UnfittedError before ``fit``, OutputError if ``path`` exists, unless ``overwrite``, or
    cannot be written.
    """
    # Imported here so that estimators that are never saved load faster.
    from sparsetopics.base.outputs import output_folder, written
    from sparsetopics.base.own_folders import RUN
    from sparsetopics.runs.stored_models import save_any_run
    from sparsetopics.runs.train import option_record

    check_fitted(self)
    settings = {
        "corpus": dict(self._facts),
        "options": option_record(self.training_options()) | {"batches": self.n_batches},
        "seed": self.random_state,
    }
    vocabulary: Any = getattr(self, "vocabulary_", None)  # of documents
    with written(output_folder(path, RUN, overwrite=overwrite)) as folder:
        save_any_run(folder, self.model_, vocabulary, settings, self.trace_)
