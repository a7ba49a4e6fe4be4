"""Laps as metrics of an MLflow run; needs the extra ``[mlflow]``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sparsetopics.base.errors import OptionError


class MLflowLaps:
    """An ``OnLap`` that logs the numbers of each lap, the lap being MLflow's step; bounds are in
    nats per token or item, ``seconds`` since training began.

    They go to the MLflow run ``run_id``, or to the active one, which MLflow begins if there is
    none. Raises OptionError where mlflow is not installed.
    """

    def __init__(self, run_id: str | None = None) -> None:
        try:
            import mlflow  # takes a second or two
        except ImportError as error:
            raise OptionError(
                "MLflowLaps",
                found="no mlflow",
                wanted="it installed",
                hint='pip install "sparsetopics[mlflow]".',
            ) from error
        self._run_id = run_id
        self._log_metrics = mlflow.log_metrics

    def __call__(self, entry: Mapping[str, Any], /) -> None:
        known = {name: float(number) for name, number in entry.items() if number is not None}
        lap = int(known.pop("lap"))
        self._log_metrics(known, step=lap, run_id=self._run_id)
