"""Training runs with scores of all held-out documents, and tables that compare them.

Scoring does not count as training time. Every table gives two standard errors: over documents, and
over the runs of a setting, which differ by their seeds or starts. Differences are paired by
document, and by run if both settings have the same runs. The best setting is chosen on half A.
"""

from __future__ import annotations

import math
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
from heldout import HeldOut, halves, mean_scores

from sparsetopics.base.batches import DocumentBatch, Source
from sparsetopics.execution.executors import Executor
from sparsetopics.inference.course import Hooks
from sparsetopics.inference.training import train
from sparsetopics.inference.training_state import LapInfo
from sparsetopics.measures.paired import Estimate, HeldoutScores, mean_score, paired_difference
from sparsetopics.model.topic_posterior import TopicPosterior
from sparsetopics.options.training import TrainingOptions

END = "the end"
OnLap = Callable[[LapInfo, float, Callable[[], TopicPosterior]], None]  # with CPU seconds so far


class ScoredModel(NamedTuple):
    """A model at some point of its training, with the score of every held-out document."""

    setting: str  # what is compared
    run: str  # which of the setting's runs: its seed, or its start too
    at: str  # "lap 9", or the end
    elbo: float  # nats per token; NaN for a peer
    scores: HeldoutScores

    def record(self) -> dict[str, Any]:
        """The fields as JSON."""
        scores = {name: array.tolist() for name, array in self.scores._asdict().items()}
        return self._asdict() | {"scores": scores}

    @classmethod
    def of_record(cls, record: dict[str, Any]) -> ScoredModel:
        arrays = {name: np.array(values) for name, values in record["scores"].items()}
        return cls(**record | {"scores": HeldoutScores(**arrays)})


class Trained(NamedTuple):
    """A run that has ended."""

    model: TopicPosterior
    last: LapInfo
    cpu: float  # seconds of training without scoring
    scored: list[ScoredModel]


def train_scored(
    source: Source[DocumentBatch],
    options: TrainingOptions,
    rng: np.random.Generator,
    heldout: HeldOut,
    score_at: Sequence[int],
    name: tuple[str, str],  # setting and run
    on_lap: OnLap,
) -> Trained:
    """Train once; score all documents after the laps of ``score_at`` and at the end."""
    scored: list[ScoredModel] = []
    spent, mark = 0.0, time.process_time()
    last: LapInfo | None = None

    def score(info: LapInfo, model: TopicPosterior, at: str) -> None:
        scores = heldout.scores(model.topic_word_mean)
        scored.append(ScoredModel(*name, at, info.elbo_per_token, scores))

    def after_lap(info: LapInfo, snapshot: Callable[[], TopicPosterior]) -> None:
        nonlocal spent, mark, last
        spent += time.process_time() - mark
        last = info
        on_lap(info, spent, snapshot)
        if info.lap in score_at:
            score(info, snapshot(), f"lap {info.lap}")
        mark = time.process_time()

    with tempfile.TemporaryDirectory() as scratch:
        hooks = Hooks(on_lap=after_lap)
        model = train(source, options, Path(scratch), Executor(), rng, hooks=hooks)
        spent += time.process_time() - mark
    assert last is not None, "training makes at least one lap"
    score(last, model, END)
    return Trained(model, last, spent, scored)


def print_scores(models: Sequence[ScoredModel]) -> None:
    """Print a table of settings for each point of the training, and one of their differences."""
    points = [at for at in dict.fromkeys(model.at for model in models) if at != END]
    for at in [*points, END]:
        settings: dict[str, list[ScoredModel]] = defaultdict(list)
        for model in models:
            if model.at == at:
                settings[model.setting].append(model)
        n_first, n_second = (len(half.sizes) for half in halves(models[0].scores))
        click.echo(
            f"\nat {at}: scores of {n_first:,} documents (A) and {n_second:,} others (B), "
            "± over documents ± over runs"
        )
        width = max(len(setting) for setting in settings)
        click.echo(f"{'':<{width}}{'runs':>6}{'ELBO':>19}{'A':>27}{'B':>27}")
        for setting, runs in settings.items():
            elbo = over_runs([run.elbo for run in runs])
            first, second = (_text(*_score(runs, half)) for half in (0, 1))
            click.echo(f"{setting:<{width}}{len(runs):>6}{_text(elbo):>19}{first:>27}{second:>27}")
        _print_differences(settings, width)


def _print_differences(settings: dict[str, list[ScoredModel]], width: int) -> None:
    if len(settings) < 2:
        return
    best = max(settings, key=lambda setting: _score(settings[setting], 0)[0].mean)
    others = settings[best]
    click.echo(f"less {best}, the best on A:")
    for setting, runs in settings.items():
        if setting != best:
            elbo = _difference_over_runs(
                *({run.run: run.elbo for run in each} for each in (runs, others))
            )
            first, second = (_text(*difference(runs, others, half)) for half in (0, 1))
            click.echo(f"{setting:<{width}}{_text(elbo):>25}{first:>27}{second:>27}")


def _score(runs: Sequence[ScoredModel], half: int) -> tuple[Estimate, float]:
    """The mean score of runs on a half: 0 for A, 1 for B."""
    parts = [halves(run.scores)[half] for run in runs]
    spread = over_runs([mean_score(part).mean for part in parts])
    return mean_score(mean_scores(parts)), spread.standard_error


def difference(
    runs: Sequence[ScoredModel], others: Sequence[ScoredModel], half: int
) -> tuple[Estimate, float]:
    """By how much ``runs`` score higher on a half, with errors over documents and over runs."""
    ours, theirs = ({run.run: halves(run.scores)[half] for run in each} for each in (runs, others))
    means = (mean_scores(list(each.values())) for each in (ours, theirs))
    by_run = (
        {run: mean_score(scores).mean for run, scores in each.items()} for each in (ours, theirs)
    )
    return paired_difference(*means), _difference_over_runs(*by_run).standard_error


def _difference_over_runs(ours: dict[str, float], theirs: dict[str, float]) -> Estimate:
    """The difference of two means over runs, paired if the runs are the same."""
    if ours.keys() == theirs.keys():
        return over_runs([value - theirs[run] for run, value in ours.items()])
    one, other = (over_runs(list(each.values())) for each in (ours, theirs))
    error = math.hypot(one.standard_error, other.standard_error)
    return Estimate(one.mean - other.mean, error)


def over_runs(values: Sequence[float]) -> Estimate:
    """The mean of independent runs and its standard error, NaN for a single run."""
    if len(values) < 2:
        return Estimate(values[0], math.nan)
    return Estimate(statistics.fmean(values), statistics.stdev(values) / math.sqrt(len(values)))


def _text(estimate: Estimate, *further_errors: float) -> str:
    """The mean and its errors, each of them in seven characters; blank if not known."""
    if math.isnan(estimate.mean):
        return ""
    errors = (estimate.standard_error, *further_errors)
    texts = ["" if math.isnan(error) else f"±{error:.4f}" for error in errors]
    return f"{estimate.mean:.4f} " + " ".join(f"{text:>7}" for text in texts)


def laps_of(text: str) -> tuple[int, ...]:
    """The value of ``--score-at``."""
    try:
        return tuple(int(part) for part in text.split(",") if part)
    except ValueError as error:
        raise click.UsageError(f"--score-at: expected numbers of laps, but found {text}") from error
