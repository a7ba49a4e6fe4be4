"""Run commands that fail, and check that they leave no signal, thread or file behind.

``python tests/failing_commands.py --times 200`` runs 200 of them as processes, two at a time.
"""

import argparse
import gzip
import os
import shutil
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import chdir
from itertools import cycle, islice
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryDirectory

from click.testing import CliRunner

from sparsetopics.cli.main import main as sparsetopics
from worlds.collections_on_disk import make_texts, write_jsonl
from worlds.vectors_on_disk import make_vectors

COMMANDS = {  # first those that fail while they read, where threads may be at work
    "train on a damaged shard": "train damaged --out x --quiet --workers 2",
    "evaluate on a damaged shard": "evaluate run damaged",
    "ingest lines of damaged JSON": "ingest damaged.jsonl --out x --workers 2",
    "ingest a damaged table": "ingest damaged.parquet --out x",
    "ingest numbers that are none": "ingest damaged.csv --kind vectors --out x --workers 2",
    "ingest packed numbers that are none": "ingest damaged.csv.gz --kind vectors --out x",
    "train without an option": "train corpus",
    "train from a run that is not there": "train corpus --out x --start nope",
    "train over a run": "train corpus --out run --quiet",
    "train on nothing": "train nope --out x",
    "train with topics out of range": "train corpus --topics 0 --out x",
    "train with another held-out corpus": "train corpus --heldout vectors --out x",
    "train with a damaged file of options": "train corpus --config damaged.toml --out x",
    "resume nothing": "resume nope",
    "evaluate on another corpus": "evaluate run vectors",
    "ingest a file that is not there": "ingest nope.jsonl --out x",
    "ingest over a corpus": "ingest news.jsonl --out corpus",
    "ingest damaged gzip": "ingest damaged.jsonl.gz --out x",
    "append to nothing": "ingest news.jsonl --append nope",
    "split nothing": "corpus split nope --train x --heldout y",
    "infer into an output": "infer run corpus --out news.jsonl",
    "infer of another corpus": "infer run vectors --out x.parquet",
    "infer of a damaged shard": "infer run damaged --out x.parquet",
    "prevalence of a damaged shard": "prevalence run damaged --by label",
    "prevalence by what is not there": "prevalence run corpus --by section",
    "documents of a damaged shard": "documents run damaged",
    "documents of a topic that is not there": "documents run corpus --topic 99",
    "export to what is not there": "export run --to weka --out x",
    "export over a file": "export run --to csv --out news.jsonl",
    "report on nothing": "report nope --out x.html",
    "plot on nothing": "plot nope themes --out x.pdf",
    "topics with a damaged file of names": "topics run --names damaged.toml",
    "export with names of other topics": "export run --to csv --names other.toml --out x",
    "topics of a damaged run": "topics damaged-run",
}
DAMAGED_ROW = 700_000  # beyond the first 8 MiB, which tell the types of columns


def write_world(folder):
    """What the commands name; they leave it as it is."""
    texts = make_texts(120, 0)
    lines = write_jsonl(folder / "news.jsonl", texts).read_bytes()
    damaged = lines + b'{"text": "broken\n'
    (folder / "damaged.jsonl").write_bytes(damaged * 3)
    (folder / "damaged.jsonl.gz").write_bytes(gzip.compress(lines)[:-20])
    (folder / "damaged.parquet").write_bytes(b"PAR1" + bytes(100) + b"PAR1")
    rows = [f"{n}.5,{n % 7}.25" for n in range(DAMAGED_ROW)]
    table = "\n".join(["height,width", *rows, "1.5,wide", *rows[:99_999]]).encode()
    (folder / "damaged.csv").write_bytes(table)
    (folder / "damaged.csv.gz").write_bytes(gzip.compress(table, 1))
    (folder / "damaged.toml").write_text("topics = [[[")
    (folder / "other.toml").write_text('bbbbbbbb = "Crime"')
    make_vectors_csv(folder / "vectors.csv")
    for words in (
        "ingest news.jsonl --out corpus --quiet",
        "ingest vectors.csv --kind vectors --out vectors --quiet",
        "train corpus --model lda --topics 3 --laps 1 --out run --quiet",
    ):
        with chdir(folder):
            done = CliRunner().invoke(sparsetopics, words.split())
        assert done.exit_code == 0, done.output
    shutil.copytree(folder / "corpus", folder / "damaged")
    shard = folder / "damaged" / "shard-00000.parquet"
    shard.write_bytes(shard.read_bytes()[:-50])
    shutil.copytree(folder / "run", folder / "damaged-run")
    (folder / "damaged-run" / "vocabulary.parquet").write_bytes(b"PAR1PAR1")
    return folder


def make_vectors_csv(path):
    rows = [",".join(f"{value:.3f}" for value in row) for row in make_vectors(60, 4)]
    path.write_text("\n".join(["a,b,c,d", *rows]))


def called(words, folder, **others):
    """A command as a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "sparsetopics.cli", *words.split()],
        cwd=folder,
        env=os.environ | others,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=1000,
    )


def contents(folder):
    """Names, sizes and times of change of all files below a folder."""
    return {
        str(path.relative_to(folder)): (status.st_size, status.st_mtime_ns)
        for path in folder.rglob("*")
        if (status := path.lstat()) and not path.is_dir()
    } | {str(path.relative_to(folder)): None for path in folder.rglob("*") if path.is_dir()}


def faults(words, folder):
    """What is wrong with how a failing command ends as a process."""
    before = contents(folder)
    with TemporaryDirectory() as scratch:
        done = called(words, folder, TMPDIR=scratch)
        found = [f"left {path.name}" for path in Path(scratch).iterdir()]
    if done.returncode not in (1, 2):
        found.append(f"status {done.returncode}: {done.stderr[-300:]}")
    if "Traceback" in done.stderr or not done.stderr.strip():
        found.append(f"said {done.stderr[-300:]!r}")
    if done.returncode == 1 and len(done.stderr.strip().splitlines()) > 1:
        found.append(f"more than a line: {done.stderr[-300:]!r}")
    if contents(folder) != before:
        found.append(f"changed {set(contents(folder).items()) ^ set(before.items())}")
    return found


def repeated_faults(n_times, folder, n_at_once=2):
    """The faults of ``n_times`` processes, the commands in turn, several at a time.

    Those that run at the same time have a copy of the folder each, as they write beside outputs.
    """
    chosen = list(islice(cycle(COMMANDS.values()), n_times))
    with TemporaryDirectory() as scratch, ThreadPoolExecutor(n_at_once) as pool:
        copies = SimpleQueue()
        for number in range(n_at_once):
            copies.put(shutil.copytree(folder, Path(scratch) / str(number)))

        def in_a_copy(words):
            copy = copies.get()
            try:
                return faults(words, copy)
            finally:
                copies.put(copy)

        found = list(pool.map(in_a_copy, chosen))
    return Counter(
        f"{words}: {fault}" for words, each in zip(chosen, found, strict=True) for fault in each
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=200, help="number of processes in all")
    parser.add_argument("--at-once", type=int, default=2)
    given = parser.parse_args()
    with TemporaryDirectory() as folder:
        found = repeated_faults(given.times, write_world(Path(folder)), given.at_once)
    for fault, n_times in found.items():
        print(f"{n_times} x {fault}")
    print(f"{given.times} failing commands, {sum(found.values())} faults")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
