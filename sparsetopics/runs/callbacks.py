"""Callbacks of training: what they are given after each lap, and one that logs laps to MLflow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from sparsetopics.base.errors import OptionError

LapEntry = dict[str, float | None]  # as ``OnLap`` gets it


class OnLap(Protocol):
    """A callable that training calls after every lap, in order, and waits for.

    ``entry`` is the lap in ``trace_`` and ``trace.jsonl``, and must not be changed. It holds
    ``lap`` (from 1), ``seconds`` since training began, ``elbo_per_token`` (nats; per item for a
    mixture of vectors), ``n_topics``, the moves ``…_proposed`` and ``…_accepted``, and more. A
    number that does not apply is None. An exception ends the training: ``fit`` raises it, and
    leaves the estimator as it was.
    """

    def __call__(self, entry: Mapping[str, float | None], /) -> object: ...


class MLflowLaps:
    """An ``OnLap`` that logs the numbers of each lap to MLflow; the lap is MLflow's step.

    Metrics have the names of ``LapEntry``. They go to the MLflow run ``run_id``. Without
    one they go to the active run, which MLflow starts if there is none. Needs the extra
    ``[mlflow]``: raises OptionError if mlflow is not installed.
    """

    def __init__(self, run_id: str | None = None) -> None:
        try:
            import mlflow  # takes a second or two
        except ImportError as error:
            hint = "Install it with: pip install 'sparsetopics[mlflow]'"
            raise OptionError("MLflowLaps", "mlflow is not installed", hint) from error
        self._run_id = run_id
        self._log_metrics = mlflow.log_metrics

    def __call__(self, entry: Mapping[str, float | None], /) -> None:
        known = {name: float(n) for name, n in entry.items() if n is not None}
        lap = int(known.pop("lap"))
        self._log_metrics(known, step=lap, run_id=self._run_id)
