"""Measure how long people wait for --help, for an estimator, and for the first batch of training.

    python benchmarks/start_up.py [--repeats 5] [--keep]

The figures are medians over fresh processes. Kernels come from numba's cache on disk, which
`sparsetopics warmup` has filled before. The corpus has 300 documents, so the first batch itself
takes almost no time. CPU seconds are given beside wall seconds, because other processes may use
the processor.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from results import report

# Both print wall and CPU seconds since the process was born.
_TELL = """
import os, sys, time
def tell():
    born = float(open("/proc/self/stat").read().rpartition(")")[2].split()[19])
    now = float(open("/proc/uptime").read().split()[0])
    times = os.times()
    wall = now - born / os.sysconf("SC_CLK_TCK")
    os.write(2, f"{wall} {times.user + times.system}\\n".encode())
    os._exit(0)
"""
_HELP = f"""{_TELL}
from sparsetopics.cli.main import main
main(["--help"], standalone_mode=False)
tell()
"""
_ESTIMATOR = f"""{_TELL}
from sparsetopics import LDA
LDA()
tell()
"""
_TRAIN = f"""{_TELL}
from contextlib import contextmanager
from sparsetopics.cli import train_progress
from sparsetopics.cli.main import main

@contextmanager
def show_progress(options):
    from sparsetopics.runs.callbacks import RunHooks
    yield RunHooks(on_documents=lambda n_done, n_docs: tell())

train_progress.show_progress = show_progress
main(sys.argv[1:], standalone_mode=False)
"""


class Wait(NamedTuple):
    """Seconds since a process began."""

    wall: float
    cpu: float


def measure(program: str, arguments: list[str], repeats: int) -> Wait:
    """Medians over ``repeats`` processes, after one that is not counted."""
    waits = []
    for _ in range(repeats + 1):
        command = [sys.executable, "-c", program, *arguments]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        waits.append(Wait(*map(float, done.stderr.split()[-2:])))
    return Wait(*(statistics.median(column) for column in zip(*waits[1:], strict=True)))


def make_corpus(folder: Path) -> Path:
    """300 documents of made-up words."""
    draw = random.Random(0)
    words = ["".join(draw.choices("abcdefgh", k=4)) for _ in range(200)]
    source = folder / "texts.jsonl"
    lines = [json.dumps({"text": " ".join(draw.choices(words, k=50))}) for _ in range(300)]
    source.write_text("\n".join(lines), encoding="utf-8")
    run("ingest", str(source), "--out", str(folder / "corpus"), "--quiet")
    return folder / "corpus"


def run(*words: str) -> None:
    """One command in a process of its own."""
    subprocess.run(
        [sys.executable, "-m", "sparsetopics.cli", *words], check=True, stdout=subprocess.DEVNULL
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--keep", action="store_true", help="write results/start-up.json")
    options = parser.parse_args()
    run("warmup")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        train = ["train", str(make_corpus(folder)), "--overwrite", "--out", str(folder / "run")]
        rows = {}
        for what, program, arguments in (
            ("python", f"{_TELL}tell()", []),
            ("help", _HELP, []),
            ("estimator", _ESTIMATOR, []),
            ("train-lda", _TRAIN, [*train, "--model", "lda"]),
            ("train-hdp", _TRAIN, train),
        ):
            rows[what] = measure(program, arguments, options.repeats)._asdict()
    report("start-up", rows, options.keep)


if __name__ == "__main__":
    main()
