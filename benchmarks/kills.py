"""Check that a run that is killed again and again ends with the bytes of an uninterrupted one.

    python benchmarks/kills.py CORPUS --times 50 --keep

It trains an HDP without interruption, then again, killing the process (SIGKILL) at random moments
and resuming it each time. When a run is done, all its files are compared, except those that hold
times, and the next run begins, until ``--times`` kills have been made. A kill may come before the
first checkpoint; training then starts again. ``faults.py`` kills every command at every place that
changes a file.
"""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import click
from results import report

PROGRAM = [sys.executable, "-m", "sparsetopics.cli"]
TIMES = ("seconds",)  # entries of the trace that no two runs share


class Course(NamedTuple):
    """One run with its kills."""

    n_kills: int
    n_laps_lost: int  # committed laps that were gone after a kill


def command(corpus: Path, run: Path, laps: int) -> list[str]:
    """Train, or go on."""
    if (run / "state").exists() or (run / "model.json").exists():
        return [*PROGRAM, "resume", str(run), "--quiet"]
    return [
        *PROGRAM, "train", str(corpus), "--out", str(run), "--topics", "40", "--laps", str(laps),
        "--quiet",
    ]  # fmt: skip


def committed(run: Path) -> int:
    """Laps that are in the trace, which is written after the checkpoint."""
    trace = run / "trace.jsonl"
    return len(trace.read_text().splitlines()) if trace.exists() else 0


def contents(run: Path) -> dict[str, Any]:
    """All files by name, times left out."""
    found: dict[str, Any] = {}
    for path in sorted(run.rglob("*")):
        if path.is_file():
            name = str(path.relative_to(run))
            found[name] = _untimed(path) if path.suffix == ".jsonl" else path.read_bytes()
    settings = json.loads(found.pop("model.json", b"null"))
    if settings is not None:  # its digests depend on the times
        listed = [entry for entry in settings["files"] if entry["file"] != "trace.jsonl"]
        found["model.json"] = settings | {"files": listed, "sha256": None}
    return found


def _untimed(path: Path) -> list[dict[str, Any]]:
    entries = [json.loads(line) for line in path.read_text().splitlines()]
    return [{key: value for key, value in entry.items() if key not in TIMES} for entry in entries]


def killed_run(corpus: Path, run: Path, laps: int, longest: float, rng: random.Random) -> Course:
    """Killed after at most ``longest`` seconds of each process, until it is done."""
    n_kills = lost = 0
    while True:
        before = committed(run)
        process = subprocess.Popen(command(corpus, run, laps), stdout=subprocess.DEVNULL)
        try:
            if process.wait(timeout=rng.uniform(0.0, longest)):
                raise click.ClickException(f"a process ended with status {process.returncode}")
            return Course(n_kills, lost)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
        n_kills += 1
        lost += max(0, before - committed(run))


@click.command()
@click.argument("corpus", type=click.Path(exists=True, path_type=Path))
@click.option("--times", default=50, help="Smallest number of kills.")
@click.option("--laps", default=12)
@click.option("--seed", default=0)
@click.option("--keep", "is_kept", is_flag=True, help="Write results/kills.json.")
def main(corpus: Path, times: int, laps: int, seed: int, is_kept: bool) -> None:
    """Print a line for each run and what differs, and sums over runs."""
    rng, row = random.Random(seed), dict.fromkeys(("kills", "runs", "laps_lost", "differing"), 0)
    with tempfile.TemporaryDirectory() as scratch:
        whole = Path(scratch) / "whole"
        began = time.perf_counter()
        subprocess.run(command(corpus, whole, laps), check=True, stdout=subprocess.DEVNULL)
        seconds = time.perf_counter() - began
        wanted = contents(whole)
        while row["kills"] < times:
            run = Path(scratch) / "killed"
            course = killed_run(corpus, run, laps, 1.2 * seconds, rng)
            row["kills"] += course.n_kills
            row["runs"] += 1
            row["laps_lost"] += course.n_laps_lost
            found = contents(run)
            differing = sorted(
                name for name in wanted.keys() | found.keys() if wanted.get(name) != found.get(name)
            )
            row["differing"] += len(differing)
            strangers = sorted(path.name for path in Path(scratch).iterdir())
            click.echo(
                f"{row['kills']:>4} kills; laps lost {course.n_laps_lost}; files that differ: "
                f"{', '.join(differing) or 'none'}; beside the run: {', '.join(strangers)}"
            )
            subprocess.run(["rm", "-r", str(run)], check=True)
    report("kills", {"random": row}, is_kept)


if __name__ == "__main__":
    main()
