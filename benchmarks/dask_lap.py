"""Compare the wall time of a lap with Dask workers and with threads.

    python benchmarks/dask_lap.py --files 10 --topics 100 --workers 2 --keep

The difference is what processes, files and messages cost. The data are Reddit posts (reddit1m of
the shared data, ten files of 100,000 posts each). The model is memoized LDA with the collapsed
update; all laps are cold unless ``--cold-every`` says otherwise. Both executors train the same
run, in turn, with the same rounds. The first laps, in which workers read the corpus and load
kernels, are not counted. The script prints the median of the other laps, and whether the topics
are equal bit by bit.
"""

from __future__ import annotations

import statistics
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Literal, NamedTuple

import click
from results import Cell, keep

from sparsetopics.corpora.corpus import Corpus
from sparsetopics.corpora.ingest import IngestOptions, ingest
from sparsetopics.options.training import TrainingOptions
from sparsetopics.runs.callbacks import RunHooks
from sparsetopics.runs.plan import RunPlan
from sparsetopics.runs.train import train_run


class Timed(NamedTuple):
    """One run."""

    lap_seconds: list[float]
    topics: bytes


def timed_run(plan: RunPlan) -> Timed:
    """The seconds of each lap, and the topics at the end."""
    marks = [0.0]
    train_run(plan, RunHooks(on_lap=lambda entry: marks.append(entry["seconds"])))
    laps = [after - before for before, after in pairwise(marks)]
    return Timed(laps, (plan.out / "model.safetensors").read_bytes())


def prepared_corpus(shared: Path, folder: Path, n_files: int) -> Path:
    """The corpus of the first files, made if it is not there."""
    path = folder / f"reddit-{n_files}"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        files = [
            shared / "data" / "reddit1m" / f"reddit1m-{n:02d}.jsonl.gz" for n in range(n_files)
        ]
        ingest(files, path, IngestOptions(format="jsonl"))
    return path


@click.command()
@click.option("--shared", type=click.Path(exists=True, path_type=Path), default=Path("../shared"))
@click.option("--folder", type=click.Path(path_type=Path), default=Path("bench-data"))
@click.option("--files", default=10, type=click.IntRange(1, 10))
@click.option("--topics", default=100)
@click.option("--batches", type=int, help="Default: as for train.")
@click.option("--round", "batches_per_round", default=16)
@click.option("--cold-every", default=1, help="Start documents cold in one lap of this many.")
@click.option("--laps", default=5)
@click.option("--uncounted", default=2)
@click.option("--workers", default=2)
@click.option("--keep", "is_kept", is_flag=True, help="Write results/dask.json.")
def main(
    shared: Path,
    folder: Path,
    files: int,
    topics: int,
    batches: int | None,
    batches_per_round: int,
    cold_every: int,
    laps: int,
    uncounted: int,
    workers: int,
    is_kept: bool,
) -> None:
    """Print a line for threads, one for Dask and their ratio."""
    path = prepared_corpus(shared, folder, files)
    corpus = Corpus.open(path)
    click.echo(
        f"{corpus.n_docs:,} documents, {corpus.n_tokens:,} tokens, {corpus.n_words:,} words; "
        f"K = {topics}, rounds of {batches_per_round} batches"
    )
    options = TrainingOptions(
        topics, laps, batches_per_round=batches_per_round, cold_every=cold_every
    )
    executors: tuple[Literal["threads", "dask"], ...] = ("threads", "dask")
    runs = {}
    for executor in executors:
        with tempfile.TemporaryDirectory() as scratch:
            plan = RunPlan(
                path, Path(scratch) / "run", options, batches, workers=workers, executor=executor
            )
            runs[executor] = timed_run(plan)
        seconds = runs[executor].lap_seconds
        median = statistics.median(seconds[uncounted:])
        each = " ".join(f"{lap:.2f}" for lap in seconds)
        click.echo(f"{executor:>8}, {workers} workers: {median:6.2f} s a lap  (laps: {each})")
    threads, dask = (
        statistics.median(runs[executor].lap_seconds[uncounted:]) for executor in executors
    )
    same = "the same" if runs["threads"].topics == runs["dask"].topics else "OTHER"
    click.echo(f"ratio {dask / threads:.2f}; {same} bits")
    rows: dict[str, dict[str, Cell]] = {"threads": {"lap": threads}, "dask": {"lap": dask}}
    rows["dask"] |= {"ratio": dask / threads, "bits": same}
    if is_kept:
        keep("dask", rows, ("dask", "distributed"))


if __name__ == "__main__":
    main()
