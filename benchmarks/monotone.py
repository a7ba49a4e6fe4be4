"""Measure how far the whole-data ELBO falls from lap to lap under mean-field; it should not fall.

python benchmarks/monotone.py --shared ../shared --data 20news --learner memoized
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import click
import numpy as np
from prepared import SOURCES, prepare

from sparsetopics.corpora.batching import plan_batches
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.execution.executors import SerialExecutor
from sparsetopics.inference.training import Hooks, train
from sparsetopics.inference.training_state import LapInfo
from sparsetopics.model.topic_posterior import TopicPosterior
from sparsetopics.options.training import LocalOptions, TrainingOptions


@click.command()
@click.option("--shared", type=click.Path(exists=True, path_type=Path), default=Path("../shared"))
@click.option("--folder", type=click.Path(path_type=Path), default=Path("bench-data"))
@click.option("--data", "collection", type=click.Choice(list(SOURCES)), default="20news")
@click.option("--topics", default=100)
@click.option("--sparsity", type=int, default=8)
@click.option("--learner", type=click.Choice(["memoized", "full"]), default="memoized")
@click.option("--laps", default=20)
@click.option("--seed", default=0)
def main(
    shared: Path,
    folder: Path,
    collection: str,
    topics: int,
    sparsity: int,
    learner: str,
    laps: int,
    seed: int,
) -> None:
    """Print the ELBO per token of every lap and the largest drop."""
    data = prepare(collection, shared.resolve(), folder)
    local = LocalOptions(update="mean-field", sparsity=sparsity)
    options = TrainingOptions(topics, laps, learner, local)  # type: ignore[arg-type]
    infos: list[LapInfo] = []

    def on_lap(info: LapInfo, snapshot: Callable[[], TopicPosterior]) -> None:
        infos.append(info)
        score = data.scorer.score(snapshot().topic_word_mean)
        share = info.restarts_accepted / max(info.restarts_proposed, 1)
        click.echo(
            f"lap {info.lap:>3}  ELBO {info.elbo_per_token:.6f}  held-out {score:.4f}  "
            f"batches that kept their old state {info.batches_kept_old}  "
            f"restarts accepted {share:.1%}",
            err=True,
        )

    rng = np.random.default_rng(seed)
    source = plan_batches(Corpus.from_csr(data.train, data.words), None, rng)
    with tempfile.TemporaryDirectory() as scratch:
        train(source, options, Path(scratch), SerialExecutor(), rng, hooks=Hooks(on_lap=on_lap))
    bounds = [info.elbo_per_token for info in infos]
    drop = max(before - after for before, after in pairwise(bounds))
    click.echo(f"{collection} {learner}: last {bounds[-1]:.6f}, largest drop {max(drop, 0.0):.2e}")


if __name__ == "__main__":
    main()
