"""Compare throughput and memory of ingest with scikit-learn's CountVectorizer, in one call.

    python benchmarks/ingest.py --keep --data FOLDER FOLDER        # in results/ingest.json
    python benchmarks/ingest.py --keep --data FOLDER --repeats 3   # in ingest-threads.json
    python benchmarks/ingest.py --keep --data FOLDER --repeats 7 --fields text,year,venue
    python benchmarks/ingest.py --keep --data FOLDER --repeats 21 --lemmas en

FOLDER holds JSON lines with a field ``text`` (.jsonl or .jsonl.gz). With ``--repeats``, a file of
any format may be named instead. Each contender runs in its own process, which reads the files
itself. MB are megabytes of decoded text, and CPU seconds those of all threads; "speed" is MB per
CPU second. "process" and "count-vectorizer" include the start of the process and, for
CountVectorizer, reading the files. The ingest "call" reads, tokenises and writes the corpus;
"fit-transform" has its texts in memory. With ``--repeats``, the script compares one thread with
``--workers`` threads instead, in turn, in a process that has already loaded its libraries and
kernels. With ``--fields`` or ``--lemmas`` too, it compares one thread with and without these
options, for ``ingest-fields.json`` and ``ingest-lemmas.json``; the dictionary is loaded before.
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
from results import Rows, report

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
    files: list[Path], workers: int, fields: tuple[str, ...] = (), lemmas: str | None = None
) -> float:
    """Everything: read, tokenise, count, prune, write."""
    options = IngestOptions(
        where=Workplace(workers=workers),
        read=ReadOptions(keep=fields),
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


def of_threads(files: list[Path], workers: int, repeats: int, megabytes: float) -> Rows:
    """Medians of calls in this process."""
    calls: dict[int, list[tuple[float, float]]] = {1: [], workers: []}
    for _ in range(repeats):
        for n_threads, taken in calls.items():
            start = time.perf_counter()
            cpu = run_ingest(files, n_threads)
            taken.append((time.perf_counter() - start, cpu))
    rows = {}
    for n_threads, taken in calls.items():
        wall, cpu = map(statistics.median, zip(*taken, strict=True))
        rows[str(n_threads)] = {"mb": megabytes, "wall": wall, "cpu": cpu, "speed": megabytes / cpu}
    return rows


def of_options(
    files: list[Path], fields: tuple[str, ...], lemmas: str | None, repeats: int
) -> Rows:
    """Medians of calls in this process without and with options, in turn, and of their ratios."""
    run_ingest(files[:1], 1, fields, lemmas)
    turns = [(run_ingest(files, 1), run_ingest(files, 1, fields, lemmas)) for _ in range(repeats)]
    without, own = map(statistics.median, zip(*turns, strict=True))
    ratio = statistics.median(own / plain for plain, own in turns)
    return {"without": {"cpu": without}, "with": {"cpu": own, "ratio": ratio}}


def of_contenders(files: list[Path], workers: int, megabytes: float) -> Rows:
    """Whole processes, and the calls in them."""
    ours = measure(run_ingest, files, workers)
    theirs = measure(run_count_vectorizer, files, 1)
    return {
        name: {
            "mb": megabytes,
            "cpu": seconds,
            "speed": megabytes / seconds,
            "wall": usage.wall_seconds,
            "peak_mb": usage.peak_megabytes,
        }
        for name, seconds, usage in (
            ("process", ours.cpu_seconds, ours),
            ("call", ours.inner_cpu_seconds, ours),
            ("count-vectorizer", theirs.cpu_seconds, theirs),
            ("fit-transform", theirs.inner_cpu_seconds, theirs),
        )
    }


def files_of(data: Path, is_repeated: bool) -> list[Path]:
    """The files of a folder, or the file itself."""
    files = sorted([*data.glob("*.jsonl"), *data.glob("*.jsonl.gz")])
    if is_repeated and data.is_file():
        files = [data]
    if not files:
        raise SystemExit(f"{data}: found no .jsonl or .jsonl.gz file")
    return files


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, nargs="+", help=".jsonl[.gz] files")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--repeats", type=int, help="time ingest alone, so many times")
    parser.add_argument("--fields", help="with --repeats: compare ingest with and without fields")
    parser.add_argument("--lemmas", help="with --repeats: compare ingest with and without lemmas")
    parser.add_argument("--keep", action="store_true", help="write a file of results")
    options = parser.parse_args()
    fields = tuple(options.fields.split(",")) if options.fields else ()
    name, rows = "ingest", {}
    for data in options.data:
        files = files_of(data, options.repeats is not None)
        megabytes = _megabytes(files)
        run_ingest(files[:1], 1)  # compile, so that the kernels come from the cache below
        if options.repeats is None:
            found = of_contenders(files, options.workers, megabytes)
        elif fields or options.lemmas:
            name = "ingest-fields" if fields else "ingest-lemmas"
            found = of_options(files, fields, options.lemmas, options.repeats)
        else:
            name = "ingest-threads"
            found = of_threads(files, options.workers, options.repeats, megabytes)
        rows |= {f"{data.name}/{what}": row for what, row in found.items()}
    report(name, rows, options.keep, ("scikit-learn",))


if __name__ == "__main__":
    main()
