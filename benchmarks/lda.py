"""Compare options of LDA by CPU seconds and held-out score; ``field.py`` compares with toolkits.

    python benchmarks/lda.py --shared ../shared --data 20news --seeds 5
    python benchmarks/lda.py --data nips --sparsity 4 --sparsity 8
    python benchmarks/lda.py --data kos --laps 25 --score-at 9 --out before.jsonl
    python benchmarks/lda.py --data kos --laps 25 --score-at 9 --against before.jsonl

Options of training that are repeated are compared: every combination is trained. After every lap,
the first 250 held-out documents are scored: two equally good optima differ by 0.015 on them. All
held-out documents are scored at the end and after the laps of ``--score-at``. Choose settings by
half A and report half B (``heldout.py``, ``scored_runs.py``). ``--out`` writes these scores, and
``--against`` compares with the scores of an earlier call, of another commit for example.

One thread is used. Scoring is not counted, and kernels are compiled before. Needs
pip install ".[bench]".
"""

from __future__ import annotations

import itertools
import json
import statistics
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
from heldout import N_FIRST
from prepared import SOURCES, Prepared, prepare
from scipy import sparse
from scored_runs import ScoredModel, laps_of, print_scores, train_scored

from sparsetopics.corpora.batching import plan_batches
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.execution.executors import Executor
from sparsetopics.inference.training import train
from sparsetopics.inference.training_state import LapInfo
from sparsetopics.measures.paired import mean_score
from sparsetopics.model.topic_posterior import TopicPosterior
from sparsetopics.options.training import LocalOptions, TrainingOptions


class Setting(NamedTuple):
    """The options of training that a call can compare."""

    update: Any
    sparsity: int
    learner: Any
    start: Any  # None: the default, as in the next two
    batches: int | None
    cold_every: int | None

    def options(self, topics: int, laps: int | None) -> TrainingOptions:
        return TrainingOptions(
            topics,
            laps,
            self.learner,
            LocalOptions(self.update, sparsity=self.sparsity),
            start=self.start,
            cold_every=self.cold_every,
        )


class Point(NamedTuple):
    """A model on its way: CPU seconds, passes over the data, nats per token of 250 documents."""

    seconds: float
    passes: float
    score: float


class Curve(NamedTuple):
    """One training run."""

    name: str
    points: list[Point]
    scored: list[ScoredModel]  # with the scores of all documents

    @property
    def largest_fall(self) -> float:
        """The most that the score fell from one point to a later one."""
        best, fall = -np.inf, 0.0
        for point in self.points:
            best = max(best, point.score)
            fall = max(fall, best - point.score)
        return fall


def our_curve(
    data: Prepared,
    options: TrainingOptions,
    n_batches: int | None,
    seed: int,
    name: str,
    score_at: Sequence[int],
) -> Curve:
    """Train once, scoring the first documents after every lap."""
    points: list[Point] = []
    first = data.heldout.first(N_FIRST)

    def on_lap(info: LapInfo, cpu: float, snapshot: Callable[[], TopicPosterior]) -> None:
        score = mean_score(first.scores(snapshot().topic_word_mean)).mean
        points.append(Point(cpu, info.lap, score))
        click.echo(f"{name} seed {seed} lap {info.lap} cpu {cpu:.2f} {score:.4f}", err=True)

    rng = np.random.default_rng(seed)
    source = plan_batches(Corpus.from_csr(data.train, data.words), n_batches, rng)
    names = (name, f"seed {seed}")
    trained = train_scored(source, options, rng, data.heldout, score_at, names, on_lap)
    return Curve(name, points, trained.scored)


def print_table(curves: list[Curve]) -> None:
    click.echo(
        f"{'first 250 documents':<28}{'final':>9}{'best':>9}{'CPU s':>8}{'passes':>8}{'fall':>8}"
    )
    for curve in curves:
        last = curve.points[-1]
        best = max(point.score for point in curve.points)
        click.echo(
            f"{curve.name:<28}{last.score:>9.4f}{best:>9.4f}{last.seconds:>8.1f}"
            f"{last.passes:>8.0f}{curve.largest_fall:>8.4f}"
        )


def compile_kernels(options: TrainingOptions) -> None:
    """Train on nothing much, merges included, so that no curve pays for compiling."""
    counts = np.eye(64, max(options.n_topics, 64), dtype=int) + 1
    corpus = Corpus.from_csr(sparse.csr_array(counts), [f"w{v}" for v in range(counts.shape[1])])
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as scratch:
        source = plan_batches(corpus, 2, rng)
        train(source, replace(options, laps=8), Path(scratch), Executor(), rng)


def named_settings(settings: Sequence[Setting]) -> dict[str, Setting]:
    """Settings by names that say the update and whatever else differs between them."""
    differ = [
        field
        for field, values in zip(Setting._fields, zip(*settings, strict=True), strict=True)
        if field != "update" and len(set(values)) > 1
    ]
    names = [
        " ".join(
            [f"ours {setting.update}", *(f"{name} {getattr(setting, name)}" for name in differ)]
        )
        for setting in settings
    ]
    return dict(zip(names, settings, strict=True))


def read_scores(path: Path, data: Prepared) -> list[ScoredModel]:
    """The scores that ``--out`` wrote, under names that say the file.

    Raises UsageError if they are of other documents.
    """
    models = [ScoredModel.of_record(json.loads(line)) for line in path.read_text().splitlines()]
    sizes = data.heldout.sizes
    if not all(np.array_equal(model.scores.sizes, sizes) for model in models):
        raise click.UsageError(f"--against: {path} has scores of other documents.")
    return [model._replace(setting=f"{path.stem}: {model.setting}") for model in models]


def write_scores(path: Path, models: Sequence[ScoredModel]) -> None:
    """Write a line of JSON for each model; ``path`` is replaced."""
    path.write_text("".join(json.dumps(model.record()) + "\n" for model in models))


@click.command()
@click.option("--shared", type=click.Path(exists=True, path_type=Path), default=Path("../shared"))
@click.option("--folder", type=click.Path(path_type=Path), default=Path("bench-data"))
@click.option("--data", "collection", type=click.Choice(list(SOURCES)), default="20news")
@click.option("--topics", default=100)
@click.option(
    "--update",
    "updates",
    type=click.Choice(["collapsed", "mean-field"]),
    multiple=True,
    default=("collapsed",),
)
@click.option("--sparsity", "sparsities", type=int, multiple=True, default=(8,))
@click.option("--learner", "learners", multiple=True, default=("memoized",))
@click.option("--start", "starts", type=click.Choice(["random", "distant"]), multiple=True)
@click.option("--batches", type=int, multiple=True)
@click.option("--cold-every", "cycles", type=int, multiple=True, help="Default: as for train.")
@click.option("--laps", type=int, help="Default: as for train.")
@click.option("--seeds", default=1, help="Seeds 0 to N-1 of every setting.")
@click.option("--score-at", default="", help="Laps after which to score all documents, as 9,25.")
@click.option("--out", type=click.Path(path_type=Path), help="Write all documents' scores here.")
@click.option(
    "--against",
    type=click.Path(exists=True, path_type=Path),
    help="Compare with scores that --out wrote.",
)
def main(
    shared: Path,
    folder: Path,
    collection: str,
    topics: int,
    updates: tuple[str, ...],
    sparsities: tuple[int, ...],
    learners: tuple[str, ...],
    starts: tuple[str, ...],
    batches: tuple[int, ...],
    cycles: tuple[int, ...],
    laps: int | None,
    seeds: int,
    score_at: str,
    out: Path | None,
    against: Path | None,
) -> None:
    """Print CPU seconds and held-out scores of every combination."""
    data = prepare(collection, shared.resolve(), folder)
    earlier = [] if against is None else read_scores(against, data)
    values = (
        updates,
        sparsities,
        learners,
        starts or (None,),
        batches or (None,),
        cycles or (None,),
    )
    settings = named_settings([Setting(*each) for each in itertools.product(*values)])
    ours = []
    for name, setting in settings.items():
        options = setting.options(topics, laps)
        compile_kernels(options)
        ours += [
            our_curve(data, options, setting.batches, seed, name, laps_of(score_at))
            for seed in range(seeds)
        ]
    print_table(ours)
    for name in settings:
        _print_spread([curve for curve in ours if curve.name == name])
    scored = [model for curve in ours for model in curve.scored]
    if out is not None:
        write_scores(out, scored)
    print_scores(scored + earlier)


def _print_spread(curves: Sequence[Curve]) -> None:
    finals = [curve.points[-1].score for curve in curves]
    click.echo(
        f"{curves[0].name}: median of {len(curves)} {statistics.median(finals):.4f}, "
        f"spread {max(finals) - min(finals):.4f}, "
        f"largest fall over laps {max(curve.largest_fall for curve in curves):.4f}"
    )


if __name__ == "__main__":
    main()
