"""Measure how many of the bars are found, how exactly, and in how many CPU seconds.

    OMP_NUM_THREADS=1 python benchmarks/bars.py --bars ten:80,fifty:10 --keep
    OMP_NUM_THREADS=1 python benchmarks/bars.py --moves merge,delete,birth --starts 1,30,100,200
    OMP_NUM_THREADS=1 python benchmarks/bars.py --moves none --starts 30 --bars ten:3

``ten`` bars are on 30×30 cells, with 1000 documents of 200 tokens, and ``fifty`` on 50×50 cells,
with 5000 documents of 300 tokens. By default, documents choose the number of topics; with
``--moves`` training starts with ``--starts`` random documents. All other options have their
defaults. Kernels are compiled before the clock starts.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import NamedTuple

import click
import numpy as np
from results import Cell, report

from sparsetopics import HDP
from sparsetopics.options.table import Criterion, LocalUpdate

# Before this file's own folder, where ``bars`` is this file.
sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from worlds.bars import Bars, fifty_bars, match, ten_bars

KINDS = {"ten": (ten_bars, 10, 0.1), "fifty": (fifty_bars, 50, 0.15)}  # and the largest distance


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
@click.option("--bars", default="ten:20", help="Kinds and their seeds.", show_default=True)
@click.option("--moves", help="Let these moves choose the number of topics, or none.")
@click.option("--keep", "is_kept", is_flag=True, help="Write results/bars.json.")
def main(starts: str, bars: str, moves: str | None, is_kept: bool) -> None:
    """Print how each run ends, and how many fall short."""
    names = None if moves is None else tuple(moves.split(",")) if moves != "none" else ()
    one_run(ten_bars(np.random.default_rng(0), n_docs=400), 30, 0, names)  # compiles the kernels
    click.echo("start  seed     K  active  largest TV  laps   CPU s")
    rows = {}
    for kind, seeds in (each.split(":") for each in bars.split(",")):
        results = []
        for start in map(int, starts.split(",")):
            for seed in range(int(seeds)):
                found = one_run(KINDS[kind][0](np.random.default_rng(seed)), start, seed, names)
                results.append(found)
                click.echo(
                    f"{start:>5}{seed:>6}{found.n_topics:>6}{found.active_topics:>8}"
                    f"{found.distance:>12.4f}{found.laps:>6}{found.cpu:>8.1f}"
                )
        rows[kind] = summary(results, kind)
    report("bars", rows, is_kept)


def summary(results: list[Result], kind: str) -> dict[str, Cell]:
    """Shares of runs with the true number of topics and with all bars near, and CPU seconds."""
    _, n_bars, largest = KINDS[kind]
    seconds = [found.cpu for found in results]
    return {
        "runs": len(results),
        "exact": sum(found.n_topics == n_bars for found in results) / len(results),
        "near": sum(found.distance <= largest for found in results) / len(results),
        "distance": max(found.distance for found in results),
        "cpu": float(np.median(seconds)),
        "cpu_most": max(seconds),
    }


if __name__ == "__main__":
    main()
