"""Measure how many of the bars are found, how exactly, and in how many CPU seconds.

    OMP_NUM_THREADS=1 python benchmarks/bars.py --starts 1,30,100,200 --seeds 20
    OMP_NUM_THREADS=1 python benchmarks/bars.py --hard --seeds 5
    OMP_NUM_THREADS=1 python benchmarks/bars.py --no-moves --seeds 3

The collection has 1000 documents of 200 tokens over ten bars on 30×30 cells, or with ``--hard``
5000 documents of 300 tokens over fifty bars on 50×50 cells. Topics start from random documents;
all other options have their defaults. Kernels are compiled before the clock starts.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import click
import numpy as np

from sparsetopics.corpora.batching import plan_batches
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.execution.executors import SerialExecutor
from sparsetopics.inference.training import Hooks, train
from sparsetopics.inference.training_state import LapInfo
from sparsetopics.options.training import MoveOptions, TrainingOptions

# Before this file's own folder, where ``bars`` is this file.
sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from bars import Bars, fifty_bars, match, ten_bars

LARGEST_DISTANCE = {False: 0.1, True: 0.15}  # by hardness
STARTS = {False: "1,30,100,200", True: "1,300"}


class Result(NamedTuple):
    """Where a run has ended."""

    n_topics: int
    active_topics: int
    distance: float  # total variation, of the true bar that is worst matched
    laps: int
    cpu: float  # seconds of training


def as_corpus(bars: Bars) -> Corpus:
    counts = np.zeros((bars.batch.n_docs, bars.n_words), np.int64)
    documents = np.repeat(np.arange(bars.batch.n_docs), np.diff(bars.batch.indptr))
    counts[documents, bars.batch.word_ids] = bars.batch.word_counts
    return Corpus.from_csr(counts, [f"cell{cell:04d}" for cell in range(bars.n_words)])


def one_run(bars: Bars, start: int, seed: int, with_moves: bool) -> Result:
    """Train once."""
    rng = np.random.default_rng(seed)
    source = plan_batches(as_corpus(bars), None, rng)
    moves = None if with_moves else MoveOptions(names=())
    options = TrainingOptions(start, model="hdp", start="random", moves=moves)
    course: list[LapInfo] = []
    hooks = Hooks(on_lap=lambda info, model: course.append(info))
    with tempfile.TemporaryDirectory() as scratch:
        began = time.process_time()
        model = train(source, options, Path(scratch), SerialExecutor(), rng, hooks=hooks)
        cpu = time.process_time() - began
    last = course[-1]
    distance = float(match(model.topic_word_mean, bars.topics).max())
    return Result(model.n_topics, last.active_topics, distance, last.lap, cpu)


def compile_kernels() -> None:
    """Every move once, on a small collection."""
    bars = ten_bars(np.random.default_rng(0), n_docs=200)
    for start in (1, 30):
        one_run(bars, start, 0, with_moves=True)


@click.command()
@click.option("--starts", help="Numbers of topics.  [default: 1,30,100,200, or 1,300 with --hard]")
@click.option("--seeds", default=20)
@click.option("--hard", is_flag=True, help="Use fifty bars.")
@click.option("--moves/--no-moves", "with_moves", default=True)
def main(starts: str | None, seeds: int, hard: bool, with_moves: bool) -> None:
    """Print how each run ends, and how many fall short."""
    compile_kernels()
    draw, n_bars = (fifty_bars, 50) if hard else (ten_bars, 10)
    click.echo("start  seed     K  active  largest TV  laps   CPU s")
    results = []
    for start in map(int, (starts or STARTS[hard]).split(",")):
        for seed in range(seeds):
            found = one_run(draw(np.random.default_rng(seed)), start, seed, with_moves)
            results.append(found)
            click.echo(
                f"{start:>5}{seed:>6}{found.n_topics:>6}{found.active_topics:>8}"
                f"{found.distance:>12.4f}{found.laps:>6}{found.cpu:>8.1f}"
            )
    largest = LARGEST_DISTANCE[hard]
    other = sum(found.n_topics != n_bars for found in results)
    far = sum(found.distance > largest for found in results)
    seconds = [found.cpu for found in results]
    click.echo(
        f"{len(results)} runs: {other} with other than {n_bars} topics, {far} with a bar farther "
        f"than {largest}; CPU seconds median {np.median(seconds):.1f}, largest {max(seconds):.1f}, "
        f"{sum(second > 10.0 for second in seconds)} runs above 10"
    )


if __name__ == "__main__":
    main()
