"""Measure how many of the bars are found, how exactly, and in how many CPU seconds.

    OMP_NUM_THREADS=1 python benchmarks/bars.py --seeds 80
    OMP_NUM_THREADS=1 python benchmarks/bars.py --hard --seeds 10
    OMP_NUM_THREADS=1 python benchmarks/bars.py --moves merge,delete,birth --starts 1,30,100,200
    OMP_NUM_THREADS=1 python benchmarks/bars.py --moves none --starts 30 --seeds 3

The collection has 1000 documents of 200 tokens over ten bars on 30×30 cells, or with ``--hard``
5000 documents of 300 tokens over fifty bars on 50×50 cells. By default, documents choose the number
of topics; with ``--moves`` training starts with ``--starts`` random documents. All other options
have their defaults. Kernels are compiled before the clock starts.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import NamedTuple

import click
import numpy as np

from sparsetopics import HDP
from sparsetopics.options.table import Criterion, LocalUpdate

# Before this file's own folder, where ``bars`` is this file.
sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from worlds.bars import Bars, fifty_bars, match, ten_bars

LARGEST_DISTANCE = {False: 0.1, True: 0.15}  # by hardness


class Result(NamedTuple):
    """Where a run has ended."""

    n_topics: int
    active_topics: int
    distance: float  # total variation, of the true bar that is worst matched
    elbo: float  # nats per token
    laps: int
    cpu: float  # seconds of training


def one_run(
    bars: Bars,
    start: int,
    seed: int,
    moves: tuple[str, ...] | None,
    update: LocalUpdate = "collapsed",
    criterion: Criterion | None = None,
) -> Result:
    """Train once."""
    hdp = HDP(
        start,
        start=None if moves is None else "random",
        moves=moves,
        criterion=criterion,
        local_update=update,
        random_state=seed,
    )
    corpus = bars.corpus()
    began = time.process_time()
    hdp.fit(corpus)
    cpu = time.process_time() - began
    last = hdp.trace_[-1]
    found = hdp.components_ / hdp.components_.sum(axis=1, keepdims=True)
    distance = float(match(found, bars.topics).max())
    return Result(
        hdp.n_components_, int(last["active_topics"]), distance, float(last["elbo_per_token"]),
        int(last["lap"]), cpu,
    )  # fmt: skip


@click.command()
@click.option("--starts", default="100", help="Numbers of topics.", show_default=True)
@click.option("--seeds", default=20)
@click.option("--hard", is_flag=True, help="Use fifty bars.")
@click.option("--moves", help="Let these moves choose the number of topics, or none.")
def main(starts: str, seeds: int, hard: bool, moves: str | None) -> None:
    """Print how each run ends, and how many fall short."""
    names = None if moves is None else tuple(moves.split(",")) if moves != "none" else ()
    one_run(ten_bars(np.random.default_rng(0), n_docs=400), 30, 0, names)  # compiles the kernels
    draw, n_bars = (fifty_bars, 50) if hard else (ten_bars, 10)
    click.echo("start  seed     K  active  largest TV  laps   CPU s")
    results = []
    for start in map(int, starts.split(",")):
        for seed in range(seeds):
            found = one_run(draw(np.random.default_rng(seed)), start, seed, names)
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
