"""Measure peak resident memory and time of training on a corpus folder, child processes included.

sparsetopics ingest ../shared/data/reddit1m/*.jsonl.gz --out reddit
python benchmarks/memory.py reddit --model hdp --topics 100 --laps 2
python benchmarks/memory.py drawn --draw 8000 200 30000 --laps 12 --workers 1
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import click
import psutil
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
@click.option("--model", default="hdp")
@click.option("--topics", default=100)
@click.option("--laps", default=2)
@click.option("--workers", default=2)
@click.option("--resident-pairs", default=32_000_000)
def main(
    corpus: Path,
    draw: tuple[int, float, int] | None,
    model: str,
    topics: int,
    laps: int,
    workers: int,
    resident_pairs: int,
) -> None:
    """Train on CORPUS in a process of its own and print its peak memory."""
    if draw is not None and not corpus.exists():
        n_docs, mean_tokens, n_words = draw
        corpus.mkdir()
        write_corpus(corpus, n_docs, Shape(n_words, mean_tokens))
    with tempfile.TemporaryDirectory() as folder:
        command = [
            sys.executable, "-m", "sparsetopics.cli", "train", str(corpus), "--out",
            f"{folder}/run", "--model", model, "--topics", str(topics), "--laps", str(laps),
            "--workers", str(workers), "--resident-pairs", str(resident_pairs),
        ]  # fmt: skip
        began = time.perf_counter()
        with subprocess.Popen(command) as process:
            peak = peak_of_tree(process)
        seconds = time.perf_counter() - began
    if process.returncode:
        sys.exit(process.returncode)
    click.echo(f"{model}, {laps} laps, K={topics}: peak {peak / 2**20:,.0f} MB, {seconds:.0f} s")


if __name__ == "__main__":
    main()
