"""Try every command with every kind of fault, and count those that are not met as they should be.

    python benchmarks/faults.py --keep
    python benchmarks/faults.py --commands train,"corpus split" --faults kills,flips

Each row is a command, with other inputs and formats of it counted together. The columns:

* kills: killed (SIGKILL) before the first and the last time that each place in the code changes a
  file. The command, or the one that a message then names, completes the work.
* flips: a bit of an input file flipped. Files of corpora and runs are refused, or it has no effect.
* swaps: a file of a corpus or run replaced by that of another corpus or run of the same kind.
* forged: files with right digests, but with hostile numbers, types, shapes and names, too large, or
  with strings that expand.
* full_disk: no space from any place on where the code takes some, files that cannot become longer,
  or a stdout that is full.
* read_only: the folder of the output, or the output itself, may not be written.
* two_at_once: the same command twice at the same time.

A refusal is one line on stderr, with exit status 1, or 2 for an option. Nothing is lost, nothing is
half-written, inputs stay as they are, and the same command then completes. For each column, one
named ``…_failed`` counts faults for which this is not so. `warmup` is left out: it only compiles.
A command that takes seconds, which is `quickstart`, is killed and finds the disk full at some of
the places only.
"""

from __future__ import annotations

import os
import resource
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path

import click
from results import report

sys.path.append(str(Path(__file__).parents[1] / "tests"))

from damaged_inputs import DamageTrials
from forked_commands import called, run, started
from rights import only_those_of_modes
from write_kills import Scenario, Trials, contents, differences, faults_in, fills_of, kills_of
from write_scenarios import import_all, make_given, make_more, more_scenarios, scenarios

FAULTS = ("kills", "flips", "swaps", "forged", "full_disk", "read_only", "two_at_once")
N_RACES = 2
QUICKSTART = Scenario(
    "quickstart", ["quickstart", "--out", "out", "--quiet"], (), [], ["topics", "out/run"]
)
Problems = Iterator[list[str]]  # those of each fault


class Matrix:
    """All scenarios in a folder, and the counts of faults for each command."""

    def __init__(self, folder: Path, faults: list[str], n_flips: int, n_forgeries: int) -> None:
        self._folder, self._faults = folder, faults
        self._n_flips, self._n_forgeries = n_flips, n_forgeries
        self.rows: dict[str, Counter[str]] = {}
        for seed, place in enumerate((folder, folder / "twin")):
            place.mkdir(exist_ok=True)
            make_given(place / "given", called, seed)
            make_more(place / "given", called)

    def try_all(self, rows: Collection[str]) -> Iterator[str]:
        """Problems, and a line for each scenario."""
        for scenario, twin, is_writer in scenarios_in(self._folder):
            row = row_of(scenario)
            if row not in rows:
                continue
            before, counts = cpu_seconds(), self.rows.setdefault(row, Counter())
            self._warm(scenario)
            trials = Trials(scenario, self._folder)
            tried: list[str] = []
            for fault, problems in self._columns(trials, twin, is_writer).items():
                if fault not in self._faults:
                    continue
                counts.setdefault(fault, 0)
                counts.setdefault(f"{fault}_failed", 0)
                for found in problems():
                    counts[fault] += 1
                    counts[f"{fault}_failed"] += bool(found)
                    yield from (f"  {fault}: {each}" for each in found)
                tried.append(f"{fault} {counts[fault]}")
            counts["cpu"] += cpu_seconds() - before
            yield f"{scenario.name}: {cpu_seconds() - before:.1f} s; {row} has {', '.join(tried)}"

    def _warm(self, scenario: Scenario) -> None:
        """Import and compile here what forks then have."""
        work = self._folder / "warm"
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir()
        for command in (*scenario.before, scenario.command):
            with suppress(AssertionError):  # it may need what an interrupted one leaves
                called(command, work)

    def _columns(
        self, trials: Trials, twin: Scenario, is_writer: bool
    ) -> dict[str, Callable[[], Problems]]:
        damage = DamageTrials(trials, self._folder)
        every = max(1, round(3 * trials.ended.seconds))
        damages: dict[str, Callable[[], Problems]] = {
            "flips": partial(damage.flips, self._n_flips),
            "swaps": partial(damage.swaps, self._twin(twin)),
            "forged": partial(damage.forgeries, self._n_forgeries),
        }
        if "--overwrite" in trials.scenario.command:  # inputs are those of the command without it
            damages = {}
        return {
            "kills": partial(kills_of, trials, every) if is_writer else no_faults,
            **damages,
            "full_disk": partial(full_disks, trials, is_writer, every),
            "read_only": partial(read_only, trials) if is_writer else no_faults,
            "two_at_once": partial(races, trials) if is_writer else no_faults,
        }

    def _twin(self, scenario: Scenario) -> Path:
        """The folder of the twin, with what the command finds in the folder of work."""
        place = self._folder / "twin"
        if scenario.outputs:
            Trials(scenario, place).fresh()
        return place


def scenarios_in(folder: Path) -> list[tuple[Scenario, Scenario, bool]]:
    """Each scenario, that of the twin, and whether it is one of those that are killed."""
    found = []
    for make, is_writer in ((scenarios, True), (more_scenarios, False)):
        own, other = make(folder / "given"), make(folder / "twin" / "given")
        found += [(*each, is_writer) for each in zip(own, other, strict=True)]
    return [*found, (QUICKSTART, QUICKSTART, True)]


def no_faults() -> Problems:
    return iter(())


def row_of(scenario: Scenario) -> str:
    return scenario.name.partition(":")[0].removesuffix(" --overwrite")


def cpu_seconds() -> float:
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def full_disks(trials: Trials, is_writer: bool, every: int) -> Problems:
    """At each place that takes space, with files of less than each of those of the output, and on
    stdout."""
    if is_writer:
        yield from fills_of(trials, every)
    work = trials.fresh()
    sizes = {path.stat().st_size for path in work.rglob("*") if path.is_file()}
    trials.run()
    later = {path.stat().st_size for path in work.rglob("*") if path.is_file()}
    for size in sorted(later - sizes - {0})[:6:every]:
        work = trials.fresh()
        limit = partial(resource.setrlimit, resource.RLIMIT_FSIZE, (size - 1, size - 1))
        ended = run(trials.scenario.command, work, prepare=limit)
        found = [*faults_in(ended, (0, 1)), *trials.problems()]
        yield [f"{trials.scenario.name}, no file of {size:,} bytes: {each}" for each in found]
    if trials.ended.printed and Path("/dev/full").exists():
        work = trials.fresh()
        ended = run(trials.scenario.command, work, stdout=Path("/dev/full"))
        found = [*faults_in(ended, (1,)), *differences(contents(work), trials.wanted)]
        yield [f"{trials.scenario.name}, stdout full: {each}" for each in found]


def read_only(trials: Trials) -> Problems:
    """The folder of the output, then each output that is there."""
    work = trials.fresh()
    outputs = [path for path in work.iterdir() if path.is_dir() and not path.name.startswith(".")]
    for path in [work, *outputs]:
        trials.fresh()
        path.chmod(0o555)
        ended = run(trials.scenario.command, work, prepare=only_those_of_modes().__enter__)
        path.chmod(0o755)
        found = [*faults_in(ended, (0, 1) if outputs else (1,)), *trials.problems()]
        yield [f"{trials.scenario.name}, {path.name} read-only: {each}" for each in found]


def races(trials: Trials) -> Problems:
    """Two of them; at least one does what was asked."""
    for _ in range(N_RACES):
        work = trials.fresh()
        both = [started(trials.scenario.command, work) for _ in range(2)]
        ends = [wait() for wait in both]
        found = [each for ended in ends for each in faults_in(ended, (0, 1))]
        if all(ended.status for ended in ends):
            found.append(f"both were refused: {ends[0].said} {ends[1].said}")
        found += differences(contents(work), trials.wanted)
        yield [f"{trials.scenario.name}, two at once: {each}" for each in found]


def with_failures(counts: Counter[str]) -> dict[str, float | None]:
    """The counts of a row; None for what cannot happen to the command."""
    row: dict[str, float | None] = {"failed": sum(counts[f"{fault}_failed"] for fault in FAULTS)}
    for fault in FAULTS:
        row |= {fault: counts[fault] or None}
        row |= {f"{fault}_failed": counts[f"{fault}_failed"] if counts[fault] else None}
    return row | {"cpu": counts["cpu"]}


def tried(
    folder: Path | None, faults: list[str], n_flips: int, n_forgeries: int, rows: Collection[str]
) -> dict[str, Counter[str]]:
    """The counts of these rows; prints problems."""
    import_all()
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        matrix = Matrix(Path(scratch).resolve(), faults, n_flips, n_forgeries)
        for line in matrix.try_all(rows):
            print(line, flush=True)
    return matrix.rows


@click.command()
@click.option("--commands", default="", help="Only these rows, with commas between them.")
@click.option("--faults", default=",".join(FAULTS), help="Only these columns.")
@click.option("--flips", default=8, help="Number of bits to flip for each scenario.")
@click.option("--forgeries", default=8, help="Number of random forgeries for each scenario.")
@click.option("--folder", type=click.Path(path_type=Path), help="Where to work, such as a tmpfs.")
@click.option("--processes", default=1, help="Number of processes, which share the rows.")
@click.option("--keep", "is_kept", is_flag=True, help="Write results/faults.json.")
def main(
    commands: str,
    faults: str,
    flips: int,
    forgeries: int,
    folder: Path | None,
    processes: int,
    is_kept: bool,
) -> None:
    """Print each fault that is not met as it should be, and the counts."""
    known = dict.fromkeys(row_of(scenario) for scenario, *_ in scenarios_in(Path()))
    chosen = [row for row in known if not commands or row in commands.split(",")]
    with ProcessPoolExecutor(processes) as pool:
        try_rows = partial(tried, folder, faults.split(","), flips, forgeries)
        parts = pool.map(try_rows, (chosen[n::processes] for n in range(processes)))
        found = {row: counts for part in parts for row, counts in part.items()}
    rows = {row: with_failures(found[row]) for row in chosen}
    total = sum(found.values(), Counter[str]())
    report("faults", rows | {"all": with_failures(total)}, is_kept)
    sys.exit(any(row["failed"] for row in rows.values()))


if __name__ == "__main__":
    main()
