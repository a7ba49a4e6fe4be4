"""Measure whether the number of topics depends on the start, and what moves cost.

    python benchmarks/hdp.py --data kos --starts 1,50,100,200,400 --seeds 2 --out hdp.jsonl
    python benchmarks/hdp.py --data kos --criterion collapsed --out hdp.jsonl
    python benchmarks/hdp.py --data kos --fixed 25,50,100,200 --seeds 1 --out hdp.jsonl
    python benchmarks/hdp.py --data kos --criterion bound --score-at 9,25 --out hdp.jsonl
    python benchmarks/hdp.py --table hdp.jsonl

Each run adds a line of JSON to ``--out``; runs that are already there are not repeated.
``--fixed`` trains without moves, and ``--model lda`` trains LDA with the same numbers of topics.

All held-out documents are scored at the end and after the laps of ``--score-at``, which does not
count as training. Choose settings by half A and report half B (``heldout.py``). The last tables
compare all settings in the file on the same documents (``scored_runs.py``).
"""

from __future__ import annotations

import json
import statistics
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click
import numpy as np
from heldout import halves
from prepared import SOURCES, Prepared, prepare
from scored_runs import END, ScoredModel, laps_of, print_scores, train_scored

from sparsetopics.corpora.batching import plan_batches
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.inference.training_state import LapInfo
from sparsetopics.measures.paired import mean_score
from sparsetopics.options.table import DEFAULT_MOVES
from sparsetopics.options.training import LocalOptions, MoveOptions, TrainingOptions

Run = dict[str, Any]


def one_run(data: Prepared, run: Run, laps: int | None, score_at: tuple[int, ...]) -> Run:
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

    def on_lap(info: LapInfo, cpu: float, snapshot: object) -> None:
        course.append(info)
        click.echo(f"  lap {info.lap} K {info.n_topics} {info.elbo_per_token:.4f}", err=True)

    trained = train_scored(source, options, rng, data.heldout, score_at, names_of(run), on_lap)
    criteria = [lap.criterion_per_token for lap in course if lap.criterion_per_token is not None]
    return run | {
        "n_topics": trained.model.n_topics,
        "elbo": trained.last.elbo_per_token,
        "criterion_value": criteria[-1] if criteria else None,
        "laps": trained.last.lap,
        "cpu": trained.cpu,
        "scored": [model.record() for model in trained.scored],
    }


def names_of(run: Run) -> tuple[str, str]:
    """The setting and which of its runs this is; without moves, the start decides K."""
    setting = " ".join(run[key] for key in KEYS if run[key])
    if run["moves"]:
        return setting, f"start {run['start']}, seed {run['seed']}"
    return f"{setting} K {run['start']}", f"seed {run['seed']}"


def scored_models(run: Run) -> list[ScoredModel]:
    return [ScoredModel.of_record(record) for record in run["scored"]]


def final_scores(run: Run) -> tuple[float, float]:
    """Nats per token on both halves."""
    final = next(model for model in scored_models(run) if model.at == END)
    first, second = (mean_score(half).mean for half in halves(final.scores))
    return first, second


def print_tables(runs: list[Run]) -> None:
    """A line for each run, how far starts lie apart, and comparisons of the scores."""
    for data in dict.fromkeys(run["data"] for run in runs):
        own = [run for run in runs if run["data"] == data]
        print_runs(own)
        print_scores([model for run in own for model in scored_models(run)])


def print_runs(runs: list[Run]) -> None:
    """One line a run, and for each setting how far its runs lie apart."""
    click.echo(
        f"{'data':<9}{'model':<6}{'update':<11}{'moves':<20}{'criterion':<10}"
        f"{'start':>6}{'seed':>5}{'K':>5}{'ELBO':>9}{'A':>9}{'B':>9}{'laps':>5}{'CPU s':>7}"
    )
    groups: dict[tuple[str, ...], list[Run]] = defaultdict(list)
    for run in sorted(runs, key=lambda run: [str(run[key]) for key in KEYS] + [run["start"]]):
        first, second = final_scores(run)
        click.echo(
            f"{run['data']:<9}{run['model']:<6}{run['update']:<11}{run['moves']:<20}"
            f"{run['criterion']:<10}{run['start']:>6}{run['seed']:>5}{run['n_topics']:>5}"
            f"{run['elbo']:>9.4f}{first:>9.4f}{second:>9.4f}{run['laps']:>5}{run['cpu']:>7.0f}"
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
            f"median of B {statistics.median(final_scores(run)[1] for run in members):.4f}"
        )


KEYS = ("data", "model", "update", "moves", "criterion")
Key = tuple[Any, ...]


def key_of(run: Run) -> Key:
    return tuple(run[key] for key in (*KEYS, "start", "seed"))


def read_runs(path: Path) -> dict[Key, Run]:
    """The runs in a file by what was trained; of equal ones, the last.

    Raises UsageError for a file of runs without the score of each document.
    """
    runs = [json.loads(line) for line in path.read_text().splitlines()]
    if not all("scored" in run for run in runs):
        raise click.UsageError(f"{path} has runs without scores of documents. Use another file.")
    return {key_of(run): run for run in runs}


def has_scores(run: Run, laps: Iterable[int]) -> bool:
    """Whether the run was scored after all those laps that it made."""
    points = {model["at"] for model in run["scored"]}
    return all(lap > run["laps"] or f"lap {lap}" in points for lap in laps)


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
@click.option("--score-at", default="", help="Laps after which to score all documents, as 9,25.")
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
    score_at: str,
    out: Path,
    table: Path | None,
) -> None:
    """Train from several numbers of topics and print where each run ends."""
    if table is not None:
        print_tables(list(read_runs(table).values()))
        return
    data = prepare(collection, shared.resolve(), folder)
    known = read_runs(out) if out.exists() else {}
    scored_laps = laps_of(score_at)
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
            key = key_of(run)
            if key in known and has_scores(known[key], scored_laps):
                continue
            known[key] = one_run(data, run, laps, scored_laps)
            with out.open("a") as file:
                file.write(json.dumps(known[key]) + "\n")
    print_tables([run for run in known.values() if run["data"] == collection])


if __name__ == "__main__":
    main()
