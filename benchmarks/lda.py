"""Compare CPU seconds and held-out score of LDA with those of other toolkits, in the same call.

    python benchmarks/lda.py --shared ../shared --data 20news --seeds 5
    python benchmarks/lda.py --shared ../shared --data nips --peers ''

Each toolkit uses one thread; the drivers of the peers set this. Scoring is not counted, and
kernels are compiled before. Needs pip install ".[bench]".
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import click
import numpy as np
from prepared import SOURCES, Prepared, prepare, without_longest
from scipy import sparse

from sparsetopics.corpora.batching import plan_batches
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.execution.executors import SerialExecutor
from sparsetopics.inference.training import Hooks, train
from sparsetopics.options.training import LocalOptions, MoveOptions, TrainingOptions

N_LONGEST = 3  # held-out documents: they have 29 % of the tokens that 20 Newsgroups counts
PEERS = "tomotopy-LDA,sklearn-batch,gensim-LdaModel"


class Point(NamedTuple):
    """A model on its way: CPU seconds spent, passes over the data, held-out nats per token."""

    seconds: float
    passes: float
    score: float


class Curve(NamedTuple):
    """One training run."""

    name: str
    points: list[Point]
    without_longest: float = np.nan  # the last score, less the three longest documents

    def seconds_to(self, level: float) -> float | None:
        return next((point.seconds for point in self.points if point.score >= level), None)

    @property
    def largest_fall(self) -> float:
        """The most that the score fell from one point to a later one."""
        best, fall = -np.inf, 0.0
        for point in self.points:
            best = max(best, point.score)
            fall = max(fall, best - point.score)
        return fall


def our_curve(
    data: Prepared, options: TrainingOptions, n_batches: int | None, seed: int, name: str
) -> Curve:
    """Train once, scoring after every lap."""
    corpus = Corpus.from_csr(data.train, data.words)
    points: list[Point] = []
    shorter, rest = without_longest(data.scorer, N_LONGEST), []
    clock = _Clock()
    rng = np.random.default_rng(seed)

    def on_lap(info, snapshot):  # type: ignore[no-untyped-def]
        clock.stop()
        score = data.scorer.score(snapshot().topic_word_mean)
        points.append(Point(clock.spent, info.lap, score))
        if info.lap == options.n_laps:
            rest.append(shorter.score(snapshot().topic_word_mean))
        click.echo(f"{name} seed {seed} lap {info.lap} cpu {clock.spent:.2f} {score:.4f}", err=True)
        clock.start()

    clock.start()
    source = plan_batches(corpus, n_batches, rng)
    with tempfile.TemporaryDirectory() as scratch:
        train(source, options, Path(scratch), SerialExecutor(), rng, hooks=Hooks(on_lap=on_lap))
    return Curve(name, points, rest[-1])


def peer_curve(peer: str, data: Prepared, topics: int, budget: float, shared: Path) -> Curve:
    """Run a driver of the shared folder and read its curve."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "curve.jsonl"
        command = [
            sys.executable, str(shared / "peers" / "run_peer.py"), "--peer", peer,
            "--corpus", str(data.path), "--k", str(topics), "--budget", str(budget),
            "--out", str(out),
        ]  # fmt: skip
        subprocess.run(command, check=True, stdout=sys.stderr)
        record = json.loads(out.read_text())
    points = [Point(s, seen / record["tokens"], score) for s, seen, score in record["points"]]
    return Curve(peer, points)


def print_table(curves: list[Curve], level: float) -> None:
    click.echo(f"{'run':<28}{'final':>9}{'best':>9}{'CPU s':>8}{'passes':>8}{'fall':>8}", nl=False)
    click.echo(f"{'s to ' + format(level, '.2f'):>12}")
    for curve in curves:
        last = curve.points[-1]
        best = max(point.score for point in curve.points)
        reached = curve.seconds_to(level)
        click.echo(
            f"{curve.name:<28}{last.score:>9.4f}{best:>9.4f}{last.seconds:>8.1f}"
            f"{last.passes:>8.0f}{curve.largest_fall:>8.4f}"
            f"{'-' if reached is None else format(reached, '.2f'):>12}"
        )


class _Clock:
    def __init__(self) -> None:
        self.spent, self._mark = 0.0, 0.0

    def start(self) -> None:
        self._mark = time.process_time()

    def stop(self) -> None:
        self.spent += time.process_time() - self._mark


def _compile(options: TrainingOptions) -> None:
    """Train on nothing much, so that no curve pays for compiling."""
    counts = np.eye(64, max(options.n_topics, 64), dtype=int) + 1
    corpus = Corpus.from_csr(sparse.csr_array(counts), [f"w{v}" for v in range(counts.shape[1])])
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as scratch:
        source = plan_batches(corpus, 2, rng)
        train(source, replace(options, laps=2), Path(scratch), SerialExecutor(), rng)


@click.command()
@click.option("--shared", type=click.Path(exists=True, path_type=Path), default=Path("../shared"))
@click.option("--folder", type=click.Path(path_type=Path), default=Path("bench-data"))
@click.option("--data", "collection", type=click.Choice(list(SOURCES)), default="20news")
@click.option("--topics", default=100)
@click.option("--update", type=click.Choice(["collapsed", "mean-field"]), default="collapsed")
@click.option("--sparsity", type=int, default=8)
@click.option("--learner", default="memoized")
@click.option("--start", type=click.Choice(["random", "distant"]))
@click.option("--batches", type=int)
@click.option("--cold-every", type=int, help="Default: as for train.")
@click.option("--laps", default=30)
@click.option("--regroup", is_flag=True, help="Train with the move regroup.")
@click.option("--seeds", default=1, help="Seeds 0 to N-1; the median final score is printed.")
@click.option("--peers", default=PEERS, help="Peers, separated by commas; empty for none.")
@click.option("--budget", default=40.0, help="CPU seconds for each peer.")
@click.option("--level", default=-7.90, help="Print the CPU seconds until this score.")
def main(
    shared: Path,
    folder: Path,
    collection: str,
    topics: int,
    update: str,
    sparsity: int,
    learner: str,
    start: str | None,
    batches: int | None,
    cold_every: int | None,
    laps: int,
    regroup: bool,
    seeds: int,
    peers: str,
    budget: float,
    level: float,
) -> None:
    """Print CPU seconds against held-out score, ours beside the peers'."""
    data = prepare(collection, shared.resolve(), folder)
    local = LocalOptions(update=update, sparsity=sparsity)  # type: ignore[arg-type]
    moves = MoveOptions(("regroup",)) if regroup else None
    options = TrainingOptions(
        topics,
        laps,
        learner,
        local,
        start=start,
        moves=moves,  # type: ignore[arg-type]
        cold_every=cold_every,
    )
    _compile(options)
    name = f"sparsetopics {update}{' regroup' if regroup else ''}"
    ours = [our_curve(data, options, batches, seed, name) for seed in range(seeds)]
    names = [peer for peer in peers.split(",") if peer]
    others = [peer_curve(peer, data, topics, budget, shared.resolve()) for peer in names]
    print_table(ours + others, level)
    finals = [curve.points[-1].score for curve in ours]
    rest = [curve.without_longest for curve in ours]
    click.echo(
        f"final score over {seeds} seeds: {_spread(finals)}; "
        f"without the {N_LONGEST} longest documents {_spread(rest)}; "
        f"largest fall over laps {max(curve.largest_fall for curve in ours):.4f}"
    )


def _spread(scores: list[float]) -> str:
    return f"median {statistics.median(scores):.4f}, spread {max(scores) - min(scores):.4f}"


if __name__ == "__main__":
    main()
