"""Measure how far the whole-data ELBO falls from lap to lap under mean-field; it should not fall.

    python benchmarks/monotone.py --shared ../shared --data 20news --learner memoized

After every lap, the first 250 held-out documents are scored, and all of them at the end, in the
halves of ``heldout.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import click
import numpy as np
from heldout import N_FIRST
from prepared import SOURCES, prepare
from scored_runs import print_scores, train_scored

from sparsetopics.corpora.batching import plan_batches
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.inference.training_state import LapInfo
from sparsetopics.measures.paired import mean_score
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
    first = data.heldout.first(N_FIRST)

    def on_lap(info: LapInfo, cpu: float, snapshot: Callable[[], TopicPosterior]) -> None:
        infos.append(info)
        score = mean_score(first.scores(snapshot().topic_word_mean)).mean
        share = info.restarts_accepted / max(info.restarts_proposed, 1)
        click.echo(
            f"lap {info.lap:>3}  ELBO {info.elbo_per_token:.6f}  held-out {score:.4f}  "
            f"batches that kept their old state {info.batches_kept_old}  "
            f"restarts accepted {share:.1%}",
            err=True,
        )

    rng = np.random.default_rng(seed)
    source = plan_batches(Corpus.from_csr(data.train, data.words), None, rng)
    names = (f"{collection} {learner}", f"seed {seed}")
    trained = train_scored(source, options, rng, data.heldout, (), names, on_lap)
    bounds = [info.elbo_per_token for info in infos]
    drop = max(before - after for before, after in pairwise(bounds))
    click.echo(f"{collection} {learner}: last {bounds[-1]:.6f}, largest drop {max(drop, 0.0):.2e}")
    print_scores(trained.scored)


if __name__ == "__main__":
    main()
