"""Check whether a command is slower here than at another commit by running both in turns.

    python benchmarks/turns.py main -- sparsetopics train CORPUS --laps 5 --out {scratch}/run
    python benchmarks/turns.py v0.1 --at-most 1.03 -- python benchmarks/bars.py --bars ten:5

"Here" is the working tree with all files that git does not ignore. Each tree is installed in its
own environment, which is kept in the user's cache folder; both use the other packages of the
environment that runs this script. The first turn of each is not measured, because it compiles
kernels. {scratch} stands for a folder that is new in each turn. A command that begins with
"python" runs the same script in both environments.

CPU seconds are those of the command and of all processes that it started and waited for. "Not
slower" means that the median over turns of the ratio here/there is at most 1.03.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
import venv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import click
import numpy as np
from platformdirs import user_cache_path

ROOT = Path(__file__).resolve().parent.parent
LIMIT = 1.03  # a median ratio above this is "slower"
TAIL = 4000  # characters of a failed command's stderr that are shown


class Turn(NamedTuple):
    """Seconds that one run of the command took."""

    cpu: float
    wall: float


class Spread(NamedTuple):
    """Median, quartiles and extremes of a ratio over turns."""

    median: float
    quartiles: tuple[float, float]
    extremes: tuple[float, float]


class Comparison(NamedTuple):
    """Ratios here/there, and medians of CPU seconds."""

    cpu: Spread
    wall: Spread
    seconds_here: float
    seconds_there: float


class CommandFailed(Exception):
    """The command ended with another status than 0; holds the end of its stderr."""


def compare(here: Sequence[Turn], there: Sequence[Turn]) -> Comparison:
    """Form ratios turn by turn: a slow spell of the machine slows both commands of a turn."""

    def spread(name: str) -> Spread:
        ratios = [getattr(a, name) / getattr(b, name) for a, b in zip(here, there, strict=True)]
        low, first, median, third, high = np.percentile(ratios, [0, 25, 50, 75, 100]).tolist()
        return Spread(median, (first, third), (low, high))

    cpu_here, cpu_there = (float(np.median([turn.cpu for turn in side])) for side in (here, there))
    return Comparison(spread("cpu"), spread("wall"), cpu_here, cpu_there)


def order(n_turns: int) -> Iterator[tuple[str, str]]:
    """Alternate which side runs first, since the second may find a warmer machine."""
    for number in range(n_turns):
        yield ("there", "here") if number % 2 == 0 else ("here", "there")


def tree_of(commit: str) -> str:
    """The id of a commit's tree. Raises click.BadParameter if there is no such commit."""
    try:
        return _git("rev-parse", "--verify", "--quiet", f"{commit}^{{tree}}")
    except subprocess.CalledProcessError:
        raise click.BadParameter(f"git finds no commit {commit!r}") from None


def working_tree() -> str:
    """The id of a tree with all files that git does not ignore; the index stays as it is."""
    with tempfile.TemporaryDirectory() as folder:
        index = {"GIT_INDEX_FILE": str(Path(folder) / "index")}
        _git("add", "--all", ".", **index)
        return _git("write-tree", **index)


def _git(*words: str, **environment: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(ROOT), *words],
        env=os.environ | environment,
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout.strip()


def installed(tree: str, cache: Path) -> Path:
    """The folder of an environment in which this tree is installed, made unless it is there."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    folder = cache / f"{tree[:16]}-{version}"
    if (folder / "ready").exists():
        return folder
    click.echo(f"Installing {tree[:16]} in {folder}", err=True)
    shutil.rmtree(folder, ignore_errors=True)
    venv.create(folder, symlinks=True)
    with tempfile.TemporaryDirectory() as sources:
        archive = subprocess.Popen(
            ["git", "-C", str(ROOT), "archive", tree], stdout=subprocess.PIPE
        )
        subprocess.run(["tar", "-x", "-C", sources], stdin=archive.stdout, check=True)
        archive.wait()
        python = str(folder / "bin" / "python")
        pip = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps"]
        subprocess.run([*pip, sources], check=True)
    _share_packages(folder)
    (folder / "ready").touch()
    return folder


def _share_packages(folder: Path) -> None:
    """Let the environment see, after its own packages, those of the one that runs this."""
    (own,) = (folder / "lib").glob("python*/site-packages")
    (own / "shared.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")


def run_once(command: Sequence[str], environment: Path) -> Turn:
    """Run the command in this environment. Raises CommandFailed."""
    variables = os.environ | {
        "PATH": f"{environment / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "NUMBA_CACHE_DIR": str(environment / "kernels"),
        "PYTHONSAFEPATH": "1",  # else "python -m" imports from the current folder
        "PYTHONPATH": str(ROOT / "benchmarks"),  # its scripts import each other
    }
    with tempfile.TemporaryDirectory() as scratch, tempfile.TemporaryFile() as told:
        words = [word.replace("{scratch}", scratch) for word in command]
        program = shutil.which(words[0], path=variables["PATH"])
        if program is None:
            raise CommandFailed(f"there is no program {words[0]!r}")
        began = time.perf_counter()
        process = subprocess.Popen(
            [program, *words[1:]],
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=told,
        )
        _, status, used = os.wait4(process.pid, 0)
        wall = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)  # else Popen waits for it again
        if process.returncode:
            told.seek(0)
            tail = told.read().decode(errors="replace")[-TAIL:]
            raise CommandFailed(f"status {process.returncode} in {environment}\n{tail}")
    return Turn(used.ru_utime + used.ru_stime, wall)


def take_turns(command: Sequence[str], places: dict[str, Path], n_turns: int) -> Comparison:
    """Run the command in both places, once unmeasured and then ``n_turns`` times."""
    turns: dict[str, list[Turn]] = {place: [] for place in places}
    for place in places:
        run_once(command, places[place])
    for places_of_turn in order(n_turns):
        for place in places_of_turn:
            turns[place].append(run_once(command, places[place]))
        here, there = turns["here"][-1].cpu, turns["there"][-1].cpu
        click.echo(f"here {here:.2f}, there {there:.2f} CPU s: {here / there:.3f}", err=True)
    return compare(turns["here"], turns["there"])


def sentences(found: Comparison, limit: float) -> str:
    """Format the result as text."""
    lines = [
        f"{name} seconds, here/there: median {ratio.median:.3f}, quartiles "
        f"{ratio.quartiles[0]:.3f} to {ratio.quartiles[1]:.3f}, "
        f"all {ratio.extremes[0]:.3f} to {ratio.extremes[1]:.3f}"
        for name, ratio in (("CPU", found.cpu), ("Wall", found.wall))
    ]
    lines.append(
        f"Medians: {found.seconds_here:.2f} s here, {found.seconds_there:.2f} s there (CPU)"
    )
    verdict = "Not slower" if found.cpu.median <= limit else "SLOWER"
    lines.append(f"{verdict}: the median may be at most {limit}")
    return "\n".join(lines)


@click.command(help=__doc__)
@click.argument("commit")
@click.argument("command", nargs=-1, required=True)
@click.option("--turns", default=9, type=click.IntRange(1), show_default=True)
@click.option("--at-most", type=float, help="Exit with status 1 if the median ratio is above this.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def main(
    commit: str, command: tuple[str, ...], turns: int, at_most: float | None, as_json: bool
) -> None:
    cache = user_cache_path("sparsetopics") / "turns"
    try:
        places = {
            "there": installed(tree_of(commit), cache),
            "here": installed(working_tree(), cache),
        }
        found = take_turns(command, places, turns)
    except (CommandFailed, subprocess.CalledProcessError) as failure:
        raise click.ClickException(str(failure)) from None
    limit = LIMIT if at_most is None else at_most
    if as_json:
        cpu, wall = found.cpu._asdict(), found.wall._asdict()
        record = found._asdict() | {"cpu": cpu, "wall": wall, "n_turns": turns, "limit": limit}
        click.echo(json.dumps(record))
    else:
        click.echo(sentences(found, limit))
    if at_most is not None and found.cpu.median > at_most:
        sys.exit(1)


if __name__ == "__main__":
    main()
