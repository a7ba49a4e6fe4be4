"""Measure whether the eight kinds of patches are found, how exactly, and in how many CPU seconds.

    OMP_NUM_THREADS=1 python benchmarks/edges.py --starts 1 --seeds 10
    OMP_NUM_THREADS=1 python benchmarks/edges.py --starts 25 --seeds 3 --no-moves

This is the toy problem of Hughes & Sudderth (2013), section 4.1: zero-mean 5×5 patches of eight
equally common covariances, each with a strong edge, in 100 batches. Without moves, the full
learner runs beside the memoized one, and their bounds are compared.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import click
import numpy as np

from sparsetopics.corpora.corpus import VectorCorpus
from sparsetopics.execution.executors import Executor
from sparsetopics.inference.course import Hooks
from sparsetopics.inference.training import train
from sparsetopics.inference.training_state import LapInfo
from sparsetopics.model.mixture_posterior import MixturePosterior
from sparsetopics.options.training import LocalOptions, MoveOptions, TrainingOptions
from sparsetopics.runs.data import source_of

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from worlds.patches import N_EDGES, Patches, edge_patches


class Result(NamedTuple):
    """Where a run has ended."""

    n_components: int
    weights: float  # largest error of a weight, of as many as there are kinds
    covariances: float  # largest relative Frobenius error of a kind's best component
    elbo: float  # nats per item
    laps: int
    cpu: float  # seconds of training


def one_run(
    patches: Patches, start: int, seed: int, n_batches: int, with_moves: bool, learner: str
) -> Result:
    """Train once."""
    rng = np.random.default_rng(seed)
    options = TrainingOptions(
        start,
        learner=learner,
        local=LocalOptions("mean-field", restarts=0),
        model="dp-mixture",
        moves=None if with_moves else MoveOptions(names=()),
        likelihood="zero-mean-gaussian",
    )
    source = source_of(VectorCorpus.from_array(patches.values), options, n_batches, rng)
    course: list[LapInfo] = []
    hooks = Hooks(on_lap=lambda info, model: course.append(info))
    with tempfile.TemporaryDirectory() as scratch:
        began = time.process_time()
        model = train(source, options, Path(scratch), Executor(), rng, hooks=hooks)
        cpu = time.process_time() - began
    assert isinstance(model, MixturePosterior)
    largest = model.weights[:N_EDGES]
    gaps = model.normals.covariances[:, None] - patches.covariances[None]
    relative = np.linalg.norm(gaps, axis=(2, 3)) / np.linalg.norm(patches.covariances, axis=(1, 2))
    last = course[-1]
    return Result(
        model.n_topics, float(np.abs(largest - 1 / N_EDGES).max()),
        float(relative.min(axis=0).max()), last.elbo_per_token, last.lap, cpu,
    )  # fmt: skip


@click.command()
@click.option("--starts", default="1", help="Numbers of components, separated by commas.")
@click.option("--seeds", default=10)
@click.option("--items", default=100_000)
@click.option("--batches", default=100)
@click.option("--moves/--no-moves", "with_moves", default=True)
def main(starts: str, seeds: int, items: int, batches: int, with_moves: bool) -> None:
    """Print how each run ends."""
    learners: tuple[str, ...] = ("memoized",) if with_moves else ("memoized", "full")
    one_run(edge_patches(np.random.default_rng(0), 2_000), 2, 0, 4, True, "memoized")  # compile
    click.echo("start  seed  learner      K  weights  covariances       ELBO  laps   CPU s")
    results = []
    for start in map(int, starts.split(",")):
        for seed in range(seeds):
            patches = edge_patches(np.random.default_rng(seed), items)
            for learner in learners:
                found = one_run(patches, start, seed, batches, with_moves, learner)
                results.append(found)
                click.echo(
                    f"{start:>5}{seed:>6}  {learner:<9}{found.n_components:>5}"
                    f"{found.weights:>9.4f}{found.covariances:>13.4f}{found.elbo:>11.5f}"
                    f"{found.laps:>6}{found.cpu:>8.1f}"
                )
    if with_moves:
        right = sum(found.n_components == N_EDGES for found in results)
        near = sum(found.weights <= 0.02 and found.covariances <= 0.1 for found in results)
        click.echo(f"{len(results)} runs: {right} with {N_EDGES} components, {near} near the truth")


if __name__ == "__main__":
    main()
