"""Measure peak resident memory and time of training on a corpus folder, child processes included.

    sparsetopics ingest ../shared/data/reddit1m/*.jsonl.gz --out reddit
    python benchmarks/memory.py reddit --model hdp,lda --topics 100 --laps 2 --keep
    python benchmarks/memory.py drawn --draw 8000 200 30000 --laps 12 --workers 1

Each call with ``--keep`` writes ``results/memory.json`` anew.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import click
import psutil
from results import report
from scale import Shape, write_corpus


def peak_of_tree(process: subprocess.Popen[bytes]) -> int:
    """Wait for ``process``; the largest sum of resident bytes over it and its children."""
    peak = 0
    root = psutil.Process(process.pid)
    while process.poll() is None:
        total = 0
        for each in (root, *_children(root)):
            try:
                total += each.memory_info().rss
            except psutil.NoSuchProcess:
                continue
        peak = max(peak, total)
        time.sleep(0.05)
    return peak


def _children(root: psutil.Process) -> list[psutil.Process]:
    try:
        children: list[psutil.Process] = root.children(recursive=True)
    except psutil.NoSuchProcess:
        return []
    return children


@click.command()
@click.argument("corpus", type=click.Path(path_type=Path))
@click.option(
    "--draw",
    type=(int, float, int),
    help="Documents, their mean length and words: draw them first, unless CORPUS exists.",
)
@click.option("--model", "models", default="hdp", help="One or more, divided by commas.")
@click.option("--topics", default=100)
@click.option("--laps", default=2)
@click.option("--workers", default=2)
@click.option("--resident-pairs", default=32_000_000)
@click.option("--keep", "is_kept", is_flag=True, help="Write results/memory.json.")
def main(
    corpus: Path,
    draw: tuple[int, float, int] | None,
    models: str,
    topics: int,
    laps: int,
    workers: int,
    resident_pairs: int,
    is_kept: bool,
) -> None:
    """Train on CORPUS in a process of its own and print its peak memory."""
    if draw is not None and not corpus.exists():
        n_docs, mean_tokens, n_words = draw
        corpus.mkdir()
        write_corpus(corpus, n_docs, Shape(n_words, mean_tokens))
    rows = {}
    for model in models.split(","):
        own = ("--model", model, "--topics", topics, "--laps", laps, "--workers", workers)
        peak, seconds = trained(corpus, *own, "--resident-pairs", resident_pairs)
        rows[f"{corpus.name}/{model}"] = {"peak_gb": peak, "wall": seconds}
    report("memory", rows, is_kept)


def trained(corpus: Path, *options: object) -> tuple[float, float]:
    """Peak memory in GB and seconds of a training."""
    with tempfile.TemporaryDirectory() as folder:
        command = [
            sys.executable, "-m", "sparsetopics.cli", "train", str(corpus), "--out",
            f"{folder}/run", *map(str, options),
        ]  # fmt: skip
        began = time.perf_counter()
        with subprocess.Popen(command) as process:
            peak = peak_of_tree(process)
        seconds = time.perf_counter() - began
    if process.returncode:
        sys.exit(process.returncode)
    return peak / 1e9, seconds


if __name__ == "__main__":
    main()
