"""Measure the speed of a lap: tokens per CPU second, by number of topics and by number of threads.

    OMP_NUM_THREADS=1 python benchmarks/laps.py --data 20news --topics 100,200,400,800,1600
    OMP_NUM_THREADS=1 python benchmarks/laps.py --data 20news --topics 100 --workers 2
    OMP_NUM_THREADS=1 python benchmarks/laps.py --data 20news --topics 100 --profile

The model is memoized LDA that starts from distant documents. The first laps are not counted. For
the others, the script prints the medians of cold and of warm laps in CPU seconds of the process,
the mean over a cycle of both in CPU and wall seconds, and the ELBO that was reached. Kernels are
compiled before. ``--profile`` lists where the time goes.
"""

from __future__ import annotations

import cProfile
import pstats
import resource
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import click
import numpy as np
from prepared import SOURCES, prepare

from sparsetopics.base.batches import DocumentBatch, Source
from sparsetopics.corpora.batching import plan_batches
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.execution.executors import open_executor
from sparsetopics.inference.course import Hooks
from sparsetopics.inference.training import train
from sparsetopics.options.training import LocalOptions, TrainingOptions


class Speed(NamedTuple):
    """Of the laps that are counted."""

    cold: float  # median CPU seconds of a lap
    warm: float  # as many if there are none
    cpu_seconds: float  # mean of a lap over a cycle
    wall_seconds: float
    elbo: float  # nats per token after the last lap


def timed_laps(
    source: Source[DocumentBatch],
    options: TrainingOptions,
    n_uncounted: int,
    workers: int,
    seed: int,
) -> Speed:
    """One run."""
    marks = [(time.process_time(), time.perf_counter())]
    elbos: list[float] = []

    def on_lap(info, model):  # type: ignore[no-untyped-def]
        elbos.append(info.elbo_per_token)
        marks.append((time.process_time(), time.perf_counter()))

    with tempfile.TemporaryDirectory() as scratch, open_executor(workers) as executor:
        rng, hooks = np.random.default_rng(seed), Hooks(on_lap=on_lap)
        train(source, options, Path(scratch), executor, rng, hooks=hooks)
    cycle = options.laps_per_cold
    is_cold = np.arange(len(elbos)) % cycle == 0
    is_counted = np.arange(len(elbos)) >= n_uncounted
    spent = np.diff(np.array(marks), axis=0)
    if not (is_cold & is_counted).any():
        raise click.UsageError(f"{len(elbos)} laps hold no cycle of {cycle} after {n_uncounted}.")
    cold = np.median(spent[is_cold & is_counted], axis=0)
    warm = np.median(spent[~is_cold & is_counted], axis=0) if cycle > 1 else cold
    cpu, wall = (cold + (cycle - 1) * warm) / cycle
    return Speed(float(cold[0]), float(warm[0]), float(cpu), float(wall), elbos[-1])


@click.command()
@click.option("--shared", type=click.Path(exists=True, path_type=Path), default=Path("../shared"))
@click.option("--folder", type=click.Path(path_type=Path), default=Path("bench-data"))
@click.option("--data", "name", type=click.Choice(list(SOURCES)), default="20news")
@click.option("--topics", default="100", help="Numbers of topics, separated by commas.")
@click.option("--sparsity", default=4)
@click.option("--update", type=click.Choice(["collapsed", "mean-field"]), default="collapsed")
@click.option("--batches", default=20)
@click.option("--cold-every", type=int, help="Default: as for train.")
@click.option("--laps", default=9)
@click.option("--uncounted", default=4, help="Number of first laps not to count.")
@click.option("--workers", default=1)
@click.option("--seed", default=0)
@click.option("--profile", is_flag=True)
def main(
    shared: Path,
    folder: Path,
    name: str,
    topics: str,
    sparsity: int,
    update: str,
    batches: int,
    cold_every: int | None,
    laps: int,
    uncounted: int,
    workers: int,
    seed: int,
    profile: bool,
) -> None:
    """Print a line for each number of topics."""
    data = prepare(name, shared, folder)
    corpus = Corpus.from_csr(data.train, data.words)
    source = plan_batches(corpus, batches, np.random.default_rng(seed))
    local = LocalOptions(update, sparsity=sparsity)  # type: ignore[arg-type]
    few = plan_batches(Corpus.from_csr(data.train[:50], data.words), 2, np.random.default_rng(0))
    timed_laps(few, TrainingOptions(sparsity, local=local, laps=2), 0, workers, seed)  # compiles
    click.echo(
        f"{name}: {source.n_tokens:,.0f} tokens, L = {sparsity}, {update}, {workers} worker(s)"
    )
    click.echo(
        f"{'K':>6}{'cold':>8}{'warm':>8}{'CPU s':>8}{'wall s':>8}{'tokens / CPU s':>16}{'ELBO':>9}"
        f"{'peak GB':>9}"
    )
    for n_topics in map(int, topics.split(",")):
        options = TrainingOptions(n_topics, local=local, laps=laps, cold_every=cold_every)
        profiler = cProfile.Profile()
        if profile:
            profiler.enable()
        speed = timed_laps(source, options, uncounted, workers, seed)
        profiler.disable()
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        click.echo(
            f"{n_topics:>6}{speed.cold:>8.2f}{speed.warm:>8.2f}"
            f"{speed.cpu_seconds:>8.2f}{speed.wall_seconds:>8.2f}"
            f"{source.n_tokens / speed.cpu_seconds:>16,.0f}{speed.elbo:>9.4f}{peak:>9.2f}"
        )
        if profile:
            pstats.Stats(profiler).sort_stats("tottime").print_stats(25)


if __name__ == "__main__":
    main()
