"""Compare gradient learners with closed forms: quality of clusters, their number, and time.

    OMP_NUM_THREADS=1 python benchmarks/gradient.py --data FOLDER --sets amazon,webcam,dslr,office
    OMP_NUM_THREADS=1 python benchmarks/gradient.py --data FOLDER --sets mnist --minibatch 300

This repeats tables 2 and 3 of Lim (2020) with other features: GoogLeNet features of the Office
domains (ten classes; ``office`` is the three domains together) and 50 principal components of
MNIST. All learners start from the same k-means with the same truncation and known variance. MM
sees all items in each of 30 laps, unless it settles earlier. SGA takes 30 minibatches, or one lap
if that is more. The scores are those of the items used for training. CPU seconds are those of the
laps; k-means is shown separately.
"""

from __future__ import annotations

import copy
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

import click
import numpy as np

from sparsetopics.base.batches import IntArray, Source, Vectors
from sparsetopics.corpora.corpus import VectorCorpus
from sparsetopics.execution.executors import Executor
from sparsetopics.inference.course import Hooks
from sparsetopics.inference.mixtures import begin_mixture
from sparsetopics.inference.training import train
from sparsetopics.inference.training_state import LapInfo
from sparsetopics.measures.clustering import score_clustering
from sparsetopics.model.likelihoods.diagonal_gaussian import IsotropicGaussian
from sparsetopics.model.likelihoods.scorers import ColumnScorer
from sparsetopics.model.mixture_posterior import MixturePosterior
from sparsetopics.options.table import GradientName
from sparsetopics.options.training import GradientOptions, LocalOptions, TrainingOptions
from sparsetopics.runs.data import source_of

DOMAINS = {name: (name,) for name in ("amazon", "webcam", "dslr")}
DOMAINS["office"] = ("amazon", "webcam", "dslr")
METHODS: dict[str, GradientName | None] = {
    "MM": None, "SGA": "plain", "SGA+M": "momentum", "SGA+F": "fisher"
}  # fmt: skip
N_COLUMNS = 50  # of MNIST


class Result(NamedTuple):
    """Where a run has ended."""

    n_components: int  # that hold an item
    nmi: float
    accuracy: float
    cpu: float  # seconds of the laps
    laps: int


class ClockedExecutor(Executor):
    """Knows when the first lap began: the start has an executor of its own."""

    began: float | None = None

    def map(self, task: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        if self.began is None:
            self.began = time.process_time()
        return super().map(task, items)


class Protocol(NamedTuple):
    """What all runs have in common."""

    n_topics: int
    n_iterations: int
    minibatch: int
    variance: float | None


def load(name: str, folder: Path) -> tuple[Vectors, IntArray]:
    """Items and labels."""
    if name in DOMAINS:
        with np.load(folder / "office_caltech10" / "googlenet1024.npz") as arrays:
            parts = [(arrays[f"X_{part}"], arrays[f"y_{part}"]) for part in DOMAINS[name]]
        values, labels = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        return values.astype(np.float32), labels.astype(np.int64)
    with np.load(folder / "mnist" / "mnist.npz") as arrays:
        values, labels = arrays["X_train"].astype(np.float64) / 255.0, arrays["y_train"]
    values -= values.mean(axis=0)
    directions = np.linalg.eigh(values.T @ values)[1][:, -N_COLUMNS:]
    return (values @ directions).astype(np.float32), labels.astype(np.int64)


def one_run(
    values: Vectors, labels: IntArray, method: str, seed: int, protocol: Protocol
) -> tuple[Result, Result]:
    """The k-means it started from, and where it ended."""
    rule = METHODS[method]
    n_batches = 1 if rule is None else max(1, round(len(values) / protocol.minibatch))
    options = TrainingOptions(
        protocol.n_topics,
        laps=max(1, round(protocol.n_iterations / n_batches)),
        learner="alternating" if rule is None else "gradient",
        local=LocalOptions("mean-field", restarts=0),
        model="dp-mixture",
        likelihood="isotropic-gaussian",
        variance=protocol.variance,
        gradient=None if rule is None else GradientOptions(rule),
    )
    corpus, rng = VectorCorpus.from_array(values), np.random.default_rng(seed)
    source, executor = source_of(corpus, options, n_batches, rng), ClockedExecutor()
    start = of_start(values, labels, source, options, copy.deepcopy(rng))
    course: list[LapInfo] = []
    hooks = Hooks(on_lap=lambda info, model: course.append(info))
    with tempfile.TemporaryDirectory() as scratch:
        model = train(source, options, Path(scratch), executor, rng, hooks=hooks)
        ended = time.process_time()
    assert isinstance(model, MixturePosterior)
    assert executor.began is not None
    found = model.responsibilities(values).argmax(axis=1)
    return start, scored(labels, found, ended - executor.began, len(course))


def of_start(
    values: Vectors,
    labels: IntArray,
    source: Source,
    options: TrainingOptions,
    rng: np.random.Generator,
) -> Result:
    """The k-means alone."""
    began = time.process_time()
    start, prior = begin_mixture(source, options, rng)
    cpu = time.process_time() - began
    likelihood = cast(IsotropicGaussian, prior.likelihood)
    scorer = ColumnScorer(likelihood.coordinates, likelihood.prepare(start.components))
    return scored(labels, scorer.log_densities(values).argmax(axis=1), cpu, 0)


def scored(labels: IntArray, components: IntArray, cpu: float, laps: int) -> Result:
    score = score_clustering(labels, components)
    return Result(score.n_components, score.nmi, score.hungarian_accuracy, cpu, laps)


def line(name: str, results: list[Result]) -> str:
    """Means over the seeds, and standard deviations of the scores."""
    means, spreads = np.mean(results, axis=0), np.std(results, axis=0)
    return (
        f"{name:<8}{means[0]:>9.1f}{means[1]:>9.3f} ± {spreads[1]:.3f}"
        f"{means[2]:>9.3f} ± {spreads[2]:.3f}{means[3]:>9.3f}{means[4]:>7.1f}"
    )


@click.command()
@click.option("--data", type=click.Path(path_type=Path, exists=True), required=True)
@click.option("--sets", default="amazon,webcam,dslr,office")
@click.option("--seeds", default=5)
@click.option("--topics", default=50)
@click.option("--iterations", default=30)
@click.option("--minibatch", default=100)
@click.option("--variance", type=float, help="Known variance. Default: computed from the data.")
def main(
    data: Path,
    sets: str,
    seeds: int,
    topics: int,
    iterations: int,
    minibatch: int,
    variance: float | None,
) -> None:
    """Print a table for each collection."""
    protocol = Protocol(topics, iterations, minibatch, variance)
    for name in sets.split(","):
        values, labels = load(name, data)
        for method in METHODS:  # compile
            one_run(values[:2000], labels[:2000], method, 0, protocol._replace(n_iterations=1))
        click.echo(f"{name}: {values.shape[0]} × {values.shape[1]}, {len(set(labels))} classes")
        click.echo("method   clusters            NMI        accuracy    CPU s   laps")
        starts: list[Result] = []
        for method in METHODS:
            runs = [one_run(values, labels, method, seed, protocol) for seed in range(seeds)]
            starts = starts or [start for start, _ in runs]
            click.echo(line(method, [found for _, found in runs]))
        click.echo(line("k-means", starts))


if __name__ == "__main__":
    main()
