"""Compare throughput and memory of ingest with scikit-learn's CountVectorizer, in one call.

    python benchmarks/ingest.py --data FOLDER [--workers 2]
    python benchmarks/ingest.py --data FOLDER --repeats 3
    python benchmarks/ingest.py --data FOLDER --repeats 7 --keep text,year,venue
    python benchmarks/ingest.py --data FOLDER --repeats 21 --lemmas en

FOLDER holds JSON lines with a field ``text`` (.jsonl or .jsonl.gz). With ``--repeats``, a file of
any format may be named instead. Each contender runs in its own process, which reads the files
itself. MB are megabytes of decoded text, and CPU seconds those of all threads. "Whole process"
includes the start of the process and, for CountVectorizer, reading the files. The ingest call
reads, tokenises and writes the corpus; ``fit_transform`` has its texts in memory. With
``--repeats``, the script compares one thread with ``--workers`` threads instead, in turn, in a
process that has already loaded its libraries and kernels. With ``--keep`` or ``--lemmas`` too, it
compares one thread with and without these options; the dictionary is loaded before.
"""

from __future__ import annotations

import argparse
import gzip
import json
import multiprocessing
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import psutil
import pyarrow.compute as pc

from sparsetopics.corpora.ingest import IngestOptions, ingest
from sparsetopics.corpora.readers.formats import find_collection
from sparsetopics.corpora.readers.options import ReadOptions
from sparsetopics.corpora.text.tokenizer import FIRST_PATTERN, TokenizerOptions
from sparsetopics.options.workplace import Workplace

_SECONDS_BETWEEN_LOOKS = 0.02


class Usage(NamedTuple):
    """What one run took."""

    cpu_seconds: float
    wall_seconds: float
    peak_megabytes: float  # resident, whole process tree
    inner_cpu_seconds: float  # of the part the contender timed itself


def _texts(files: list[Path]) -> Iterator[str]:
    for file in files:
        with gzip.open(file, "rt") if file.suffix == ".gz" else file.open() as lines:
            for line in lines:
                yield json.loads(line)["text"]


def _megabytes(files: list[Path]) -> float:
    """The size of all texts, however they are stored."""
    blocks = find_collection(files, None).read(ReadOptions())
    lengths = (pc.sum(pc.binary_length(block().texts)).as_py() for block in blocks)
    return sum(length or 0 for length in lengths) / 1e6


def run_ingest(
    files: list[Path], workers: int, keep: tuple[str, ...] = (), lemmas: str | None = None
) -> float:
    """Everything: read, tokenise, count, prune, write."""
    options = IngestOptions(
        where=Workplace(workers=workers),
        read=ReadOptions(keep=keep),
        tokenizer=TokenizerOptions(lemmas=lemmas),
    )
    with tempfile.TemporaryDirectory() as folder:
        start = time.process_time()
        ingest(files, Path(folder) / "corpus", options)
        return time.process_time() - start


def run_count_vectorizer(files: list[Path], _: int) -> float:
    """The same tokens and the same pruning, matrix in memory."""
    from sklearn.feature_extraction.text import CountVectorizer

    texts = list(_texts(files))
    start = time.process_time()
    CountVectorizer(token_pattern=FIRST_PATTERN, min_df=2, max_df=0.5).fit_transform(texts)
    return time.process_time() - start


def _child(contender: Callable[..., float], files: list[Path], workers: int, results: Any) -> None:
    inner = contender(files, workers)
    results.put((time.process_time(), inner))


def measure(contender: Callable[..., float], files: list[Path], workers: int) -> Usage:
    """Run in a fresh process; look at the memory of its tree many times a second."""
    context = multiprocessing.get_context("spawn")
    results = context.SimpleQueue()
    start = time.monotonic()
    process = context.Process(target=_child, args=(contender, files, workers, results))
    process.start()
    tree = psutil.Process(process.pid)
    peak = 0
    while process.is_alive():
        peak = max(peak, _resident_bytes(tree))
        time.sleep(_SECONDS_BETWEEN_LOOKS)
    wall = time.monotonic() - start
    process.join()
    if process.exitcode:
        raise SystemExit(f"{contender.__name__} failed")
    cpu, inner = results.get()
    return Usage(cpu, wall, peak / 1e6, inner)


def _resident_bytes(tree: psutil.Process) -> int:
    try:
        members = [tree, *tree.children(recursive=True)]
        return sum(member.memory_info().rss for member in members)
    except psutil.NoSuchProcess:
        return 0


def print_threads(files: list[Path], workers: int, repeats: int, megabytes: float) -> None:
    """Medians of calls in this process."""
    calls: dict[int, list[tuple[float, float]]] = {1: [], workers: []}
    for _ in range(repeats):
        for n_threads, taken in calls.items():
            start = time.perf_counter()
            cpu = run_ingest(files, n_threads)
            taken.append((time.perf_counter() - start, cpu))
    print(f"{'threads':>8}{'wall s':>8}{'CPU s':>8}{'MB/CPU s':>10}")
    for n_threads, taken in calls.items():
        wall, cpu = map(statistics.median, zip(*taken, strict=True))
        print(f"{n_threads:>8}{wall:>8.2f}{cpu:>8.2f}{megabytes / cpu:>10.1f}")


def print_compared(
    files: list[Path], keep: tuple[str, ...], lemmas: str | None, repeats: int
) -> None:
    """Medians of calls in this process without and with options, in turn, and of their ratios."""
    run_ingest(files[:1], 1, keep, lemmas)
    turns = [(run_ingest(files, 1), run_ingest(files, 1, keep, lemmas)) for _ in range(repeats)]
    without, own = map(statistics.median, zip(*turns, strict=True))
    ratio = statistics.median(own / plain for plain, own in turns)
    print(f"CPU s: {without:.3f} without, {own:.3f} with; {ratio:.3f} times")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of .jsonl[.gz] files")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--repeats", type=int, help="time ingest alone, so many times")
    parser.add_argument("--keep", help="with --repeats: compare ingest with and without fields")
    parser.add_argument("--lemmas", help="with --repeats: compare ingest with and without lemmas")
    options = parser.parse_args()
    files = sorted([*options.data.glob("*.jsonl"), *options.data.glob("*.jsonl.gz")])
    if options.repeats is not None and options.data.is_file():
        files = [options.data]
    if not files:
        raise SystemExit(f"{options.data}: found no .jsonl or .jsonl.gz file")
    megabytes = _megabytes(files)
    run_ingest(files[:1], 1)  # compile, so that the kernels come from the cache below

    print(f"{options.data}: {megabytes:.1f} MB of text, {options.workers} workers")
    if options.repeats is not None and (options.keep or options.lemmas):
        keep = tuple(options.keep.split(",")) if options.keep else ()
        print_compared(files, keep, options.lemmas, options.repeats)
        return
    if options.repeats is not None:
        print_threads(files, options.workers, options.repeats, megabytes)
        return
    print(f"{'':<36}{'CPU s':>8}{'MB/CPU s':>10}{'wall s':>8}{'peak MB':>9}")
    ours = measure(run_ingest, files, options.workers)
    theirs = measure(run_count_vectorizer, files, 1)
    for name, seconds, usage in (
        ("sparsetopics, whole process", ours.cpu_seconds, ours),
        ("sparsetopics, ingest call", ours.inner_cpu_seconds, ours),
        ("CountVectorizer, whole process", theirs.cpu_seconds, theirs),
        ("CountVectorizer, fit_transform call", theirs.inner_cpu_seconds, theirs),
    ):
        print(
            f"{name:<36}{seconds:>8.2f}{megabytes / seconds:>10.1f}"
            f"{usage.wall_seconds:>8.1f}{usage.peak_megabytes:>9.0f}"
        )


if __name__ == "__main__":
    main()
