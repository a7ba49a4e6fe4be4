"""Callbacks of training: what they are given after each lap, and one that logs laps to MLflow."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple, Protocol

from sparsetopics.base.errors import needing, warn_user

if TYPE_CHECKING:  # MLflowLaps is imported without numba
    from sparsetopics.options.training import TrainingOptions

LapEntry = dict[str, float | None]  # as ``OnLap`` gets it


class OnLap(Protocol):
    """A callable that training calls after every lap, in order, and waits for.

    ``entry`` is the lap in ``trace_`` and ``trace.jsonl``, and must not be changed. It holds
    ``lap`` (from 1), ``seconds`` since training began, ``elbo_per_token`` (nats; per item for a
    mixture of vectors), ``n_topics``, the moves ``…_proposed`` and ``…_accepted``, and more. A
    number that does not apply is None. With several runs, entries also have ``run``, from 1, except
    that of the lap of the consensus, which is the last. An exception ends the training: ``fit``
    raises it, and leaves the estimator as it was.
    """

    def __call__(self, entry: Mapping[str, float | None], /) -> object: ...


class RunHooks(NamedTuple):
    """What to call while a model is trained."""

    on_lap: OnLap = lambda entry: None
    on_documents: Callable[[float, int], None] = lambda n_done, n_docs: None  # of this lap
    on_writing: Callable[[], None] = lambda: None  # after the last lap
    say: Callable[[str], None] = lambda sentence: None  # about a choice that training made
    # With what follows from the data filled in, before the first lap.
    on_options: Callable[[TrainingOptions], None] = lambda options: None
    warn: Callable[[str], None] = warn_user


class MLflowLaps:
    """An ``OnLap`` that logs the numbers of each lap to MLflow; the lap is MLflow's step.

    Metrics have the names of ``LapEntry``, after ``run-2/`` for the second of several runs. They go
    to the MLflow run ``run_id``. Without one they go to the active run, which MLflow starts if
    there is none. Needs the extra ``[mlflow]``: raises OptionError if mlflow is not installed.
    """

    def __init__(self, run_id: str | None = None) -> None:
        with needing("mlflow", "MLflowLaps", "mlflow is not installed"):
            import mlflow  # takes a second or two
        self._run_id = run_id
        self._log_metrics = mlflow.log_metrics

    def __call__(self, entry: Mapping[str, float | None], /) -> None:
        known = {name: float(n) for name, n in entry.items() if n is not None}
        lap, run = int(known.pop("lap")), int(known.pop("run", 0))
        if run:
            known = {f"run-{run}/{name}": number for name, number in known.items()}
        self._log_metrics(known, step=lap, run_id=self._run_id)
