"""Measure whether the number of topics depends on the start, and what moves cost.

    python benchmarks/hdp.py --data kos --starts 1,50,100,200,400 --seeds 2 --out hdp.jsonl
    python benchmarks/hdp.py --data kos --criterion collapsed --out hdp.jsonl
    python benchmarks/hdp.py --data kos --fixed 25,50,100,200 --seeds 1 --out hdp.jsonl
    python benchmarks/hdp.py --table hdp.jsonl

Each run adds a line of JSON to ``--out``; runs that are already there are not repeated.
``--fixed`` trains without moves, and ``--model lda`` trains LDA with the same numbers of topics.
"""

from __future__ import annotations

import json
import statistics
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import click
import numpy as np
from prepared import SOURCES, Prepared, prepare

from sparsetopics.corpora.batching import plan_batches
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.execution.executors import SerialExecutor
from sparsetopics.inference.training import Hooks, train
from sparsetopics.inference.training_state import LapInfo
from sparsetopics.options.table import DEFAULT_MOVES
from sparsetopics.options.training import LocalOptions, MoveOptions, TrainingOptions

Run = dict[str, Any]


def one_run(data: Prepared, run: Run, laps: int | None) -> Run:
    """Train once; ``run`` says how. CPU seconds are those of training without scoring."""
    rng = np.random.default_rng(run["seed"])
    source = plan_batches(Corpus.from_csr(data.train, data.words), None, rng)
    names = tuple(run["moves"].split(",")) if run["moves"] else ()
    is_hdp = run["model"] == "hdp"
    options = TrainingOptions(
        run["start"],
        laps,
        local=LocalOptions(run["update"]),
        model=run["model"],
        moves=MoveOptions(names, run["criterion"] if names else None) if is_hdp else None,
    )
    course: list[LapInfo] = []
    click.echo(f"{run}", err=True)

    def on_lap(info: LapInfo, snapshot: object) -> None:
        course.append(info)
        click.echo(f"  lap {info.lap} K {info.n_topics} {info.elbo_per_token:.4f}", err=True)

    with tempfile.TemporaryDirectory() as scratch:
        began = time.process_time()
        model = train(
            source, options, Path(scratch), SerialExecutor(), rng, hooks=Hooks(on_lap=on_lap)
        )
        spent = time.process_time() - began
    last = course[-1]
    criteria = [lap.criterion_per_token for lap in course if lap.criterion_per_token is not None]
    return run | {
        "n_topics": model.n_topics,
        "elbo": last.elbo_per_token,
        "criterion_value": criteria[-1] if criteria else None,
        "heldout": float(data.scorer.score(model.topic_word_mean)),
        "laps": last.lap,
        "cpu": spent,
    }


def print_table(runs: list[Run]) -> None:
    """One line a run, and for each collection how far the starts lie apart."""
    click.echo(
        f"{'data':<9}{'model':<6}{'update':<11}{'moves':<20}{'criterion':<10}"
        f"{'start':>6}{'seed':>5}{'K':>5}{'ELBO':>9}{'held-out':>9}{'laps':>5}{'CPU s':>7}"
    )
    groups: dict[tuple[str, ...], list[Run]] = defaultdict(list)
    for run in sorted(runs, key=lambda run: [str(run[key]) for key in KEYS] + [run["start"]]):
        click.echo(
            f"{run['data']:<9}{run['model']:<6}{run['update']:<11}{run['moves']:<20}"
            f"{run['criterion']:<10}{run['start']:>6}{run['seed']:>5}{run['n_topics']:>5}"
            f"{run['elbo']:>9.4f}{run['heldout']:>9.4f}{run['laps']:>5}{run['cpu']:>7.0f}"
        )
        if run["moves"]:
            groups[tuple(run[key] for key in KEYS)].append(run)
    for key, members in groups.items():
        sizes = [run["n_topics"] for run in members]
        middle = statistics.median(sizes)
        elbos = [run["elbo"] for run in members]
        click.echo(
            f"{' '.join(key)}: K {min(sizes)} to {max(sizes)}, median {middle:g} "
            f"({min(sizes) / middle - 1:+.0%} to {max(sizes) / middle - 1:+.0%}); "
            f"ELBO {min(elbos):.4f} to {max(elbos):.4f} ({max(elbos) / min(elbos) - 1:+.2%}); "
            f"held-out median {statistics.median(run['heldout'] for run in members):.4f}"
        )


KEYS = ("data", "model", "update", "moves", "criterion")


def _numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",") if part]


@click.command()
@click.option("--shared", type=click.Path(exists=True, path_type=Path), default=Path("../shared"))
@click.option("--folder", type=click.Path(path_type=Path), default=Path("bench-data"))
@click.option("--data", "collection", type=click.Choice(list(SOURCES)), default="kos")
@click.option("--starts", default="1,50,100,200,400")
@click.option("--fixed", default="", help="Train without moves, with these numbers of topics.")
@click.option("--model", type=click.Choice(["hdp", "lda"]), default="hdp")
@click.option("--update", type=click.Choice(["collapsed", "mean-field"]), default="collapsed")
@click.option("--moves", default=",".join(DEFAULT_MOVES))
@click.option("--criterion", type=click.Choice(["bound", "collapsed"]), default="bound")
@click.option("--seeds", default="0,1", help="Seeds, separated by commas.")
@click.option("--laps", type=int)
@click.option("--out", type=click.Path(path_type=Path), default=Path("hdp.jsonl"))
@click.option(
    "--table",
    type=click.Path(exists=True, path_type=Path),
    help="Print the table of this file, train nothing.",
)
def main(
    shared: Path,
    folder: Path,
    collection: str,
    starts: str,
    fixed: str,
    model: str,
    update: str,
    moves: str,
    criterion: str,
    seeds: str,
    laps: int | None,
    out: Path,
    table: Path | None,
) -> None:
    """Train from several numbers of topics and print where each run ends."""
    if table is not None:
        print_table([json.loads(line) for line in table.read_text().splitlines()])
        return
    data = prepare(collection, shared.resolve(), folder)
    known = [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []
    without = bool(fixed) or model == "lda"
    for seed in _numbers(seeds):
        for start in _numbers(fixed or starts):
            run: Run = {
                "data": collection,
                "model": model,
                "update": update,
                "moves": "" if without else moves,
                "criterion": criterion,
                "start": start,
                "seed": seed,
            }
            if any(run.items() <= other.items() for other in known):
                continue
            done = one_run(data, run, laps)
            with out.open("a") as file:
                file.write(json.dumps(done) + "\n")
            known.append(done)
    print_table([run for run in known if run["data"] == collection])


if __name__ == "__main__":
    main()
