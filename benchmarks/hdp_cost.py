"""Measure what merges and deletes cost: laps with and without them, with the same K.

    OMP_NUM_THREADS=1 python benchmarks/hdp_cost.py --data 20news --start 100

One run is trained with moves. Its laps are timed with and without the phase of moves that follows
each lap, and rivals (including culls, which delete many topics) are timed separately. After every
few laps, the last lap is repeated without moves: a learner that keeps no assignments starts from
the same topics and visits all batches once, and its second lap is timed. Times are CPU seconds of
this process. Kernels are compiled before.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import click
import numpy as np
from prepared import SOURCES, prepare

from sparsetopics.base.batches import DocumentBatch, Source
from sparsetopics.corpora.batching import plan_batches
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.execution.executors import Executor
from sparsetopics.inference import laps as lap_module
from sparsetopics.inference.course import Hooks
from sparsetopics.inference.laps import Laps, LapTally
from sparsetopics.inference.local_step import Parameters
from sparsetopics.inference.moves.rival import Rival
from sparsetopics.inference.training import train
from sparsetopics.inference.training_state import LapInfo
from sparsetopics.model.memo import Memo
from sparsetopics.model.statistics import Statistics
from sparsetopics.options.training import LocalOptions, MoveOptions, TrainingOptions

NAMES: Any = ("merge", "delete")
LapRun = Callable[[Laps, Any, Parameters], tuple[Any, Parameters, LapTally]]


@dataclass
class Clock:
    """CPU seconds of the parts of a run; watches laps and rivals while it is set."""

    every: int
    run_lap: LapRun = Laps.run
    advance: Callable[..., Any] = Rival.advanced
    began: float = 0.0
    of_rival: float = 0.0  # of this lap, as the next two
    of_lap: float = 0.0
    aside: float = 0.0  # spent on laps without moves
    in_rival: bool = False
    n_laps: int = 0
    rows: list[tuple[int, float, float, float, float | None]] = field(default_factory=list)
    plain: float | None = None

    def lap(self, laps: Laps, state: Any, prior: Parameters) -> tuple[Any, Parameters, LapTally]:
        """``Laps.run``, timed if it is not a rival's; now and then a lap without moves before."""
        if self.in_rival:
            return self.run_lap(laps, state, prior)
        self.n_laps += 1
        if self.n_laps > 1 and self.n_laps % self.every == 0:
            began = time.process_time()
            self.plain = self.lap_without_moves(laps, state, prior)
            self.aside += time.process_time() - began
        began = time.process_time()
        result = self.run_lap(laps, state, prior)
        self.of_lap = time.process_time() - began
        return result

    def lap_without_moves(self, laps: Laps, state: Any, prior: Parameters) -> float:
        with tempfile.TemporaryDirectory() as scratch:
            learner = replace(laps.learner, memo=Memo(Path(scratch)), keep_assignments=False)
            aside = replace(laps, learner=learner, rng=np.random.default_rng(0))
            components = laps.learner.components(state)
            own = learner.init(Statistics(components, prior.allocation.zero_terms()))
            own, prior, _ = self.run_lap(aside, own, prior)
            began = time.process_time()
            self.run_lap(aside, own, prior)
            return time.process_time() - began

    def rival(self, *given: Any) -> Any:
        """``Rival.advanced``, timed."""
        began, self.in_rival = time.process_time(), True
        try:
            return self.advance(*given)
        finally:
            self.of_rival += time.process_time() - began
            self.in_rival = False

    def end_lap(self, info: LapInfo, model: object) -> None:
        """``on_lap``: take down what the lap has cost."""
        whole = time.process_time() - self.began - self.aside
        self.rows.append((info.n_topics, self.of_lap, whole, self.of_rival, self.plain))
        without = "" if self.plain is None else f"{self.plain:>9.2f}"
        click.echo(
            f"{info.lap:>4}{info.n_topics:>6}{self.of_lap:>9.2f}{whole - self.of_rival:>9.2f}"
            f"{whole:>9.2f}{without}"
        )
        self.of_rival = self.aside = 0.0
        self.plain = None
        self.began = time.process_time()


def timed_run(
    source: Source[DocumentBatch], options: TrainingOptions, seed: int, clock: Clock
) -> None:
    """Train with the clock in place of what it watches."""
    rng = np.random.default_rng(seed)
    lap_module.Laps.run = lambda *given: clock.lap(*given)  # type: ignore[method-assign]
    Rival.advanced = lambda *given: clock.rival(*given)  # type: ignore[method-assign]
    with tempfile.TemporaryDirectory() as scratch:
        clock.began = time.process_time()
        train(source, options, Path(scratch), Executor(), rng, hooks=Hooks(on_lap=clock.end_lap))


def print_ratios(clock: Clock) -> None:
    """Averaged over the laps in which moves are made, by their CPU seconds."""
    _, own, whole, rivals, plain = zip(*clock.rows[3:], strict=True)
    sampled = [(lap, without) for lap, without in zip(own, plain, strict=True) if without]
    if not sampled:
        raise click.ClickException("no lap without moves was made; give a smaller --every")
    keeping = sum(lap for lap, _ in sampled) / sum(without for _, without in sampled)
    of_moves = (sum(whole) - sum(rivals)) / sum(own)
    with_rivals = sum(whole) / sum(own)
    click.echo(
        f"{len(own)} laps with moves. A lap that keeps assignments costs {keeping:.2f} times one "
        f"without moves ({len(sampled)} pairs);\n"
        f"with merges and deletes {keeping * of_moves:.2f} times; with rivals' laps too "
        f"{keeping * with_rivals:.2f} times"
    )


@click.command()
@click.option("--shared", type=click.Path(exists=True, path_type=Path), default=Path("../shared"))
@click.option("--folder", type=click.Path(path_type=Path), default=Path("bench-data"))
@click.option("--data", "collection", type=click.Choice(list(SOURCES)), default="20news")
@click.option("--start", default=100, help="Number of topics to start with.")
@click.option("--update", type=click.Choice(["collapsed", "mean-field"]), default="collapsed")
@click.option("--laps", type=int)
@click.option("--every", default=5, help="Repeat one lap of this many without moves.")
@click.option("--seed", default=0)
def main(
    shared: Path,
    folder: Path,
    collection: str,
    start: int,
    update: Any,
    laps: int | None,
    every: int,
    seed: int,
) -> None:
    """Print CPU seconds of each lap: alone, with moves, with rivals, and without moves at all."""
    data = prepare(collection, shared.resolve(), folder)
    rng = np.random.default_rng(seed)
    source = plan_batches(Corpus.from_csr(data.train, data.words), None, rng)
    options = TrainingOptions(
        start, laps, local=LocalOptions(update), model="hdp", moves=MoveOptions(NAMES)
    )
    few = Corpus.from_csr(data.train[:300], data.words)
    with tempfile.TemporaryDirectory() as scratch:  # compile
        train(plan_batches(few, None, rng), replace(options, n_topics=20), Path(scratch),
              Executor(), rng)  # fmt: skip
    click.echo(" lap     K    alone    moves   rivals  without")
    clock = Clock(every)
    timed_run(source, options, seed, clock)
    print_ratios(clock)


if __name__ == "__main__":
    main()
