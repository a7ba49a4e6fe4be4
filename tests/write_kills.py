"""Kill a command at each place in the code that changes files, then run the obvious next command.

``python tests/write_kills.py FOLDER [--scenario NAME] [--every N]`` prints a line for each kill. A
scenario runs once to list what it does to files: opening for writing, renaming, syncing, creating
and removing. It is then killed (SIGKILL) right before the first and the last time that each place
in our code does such a thing. After each kill, the same command is run again; if it is refused,
the command that the error message names is run. The output must then equal that of an
uninterrupted run, and nothing else may be left. Before that, the old output must be complete, or
be refused with a message that names the command that repairs it.

A full disk (``fills_of``) is tried at the same places. The command must then end with one line.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import signal
import sys
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NamedTuple

from forked_commands import TAKE_SPACE, WATCHED, Ended, Watch, called, run

TIMES = ("seconds",)
UNEQUAL = (".html", ".dictionary", ".state", ".id2word", ".npz", ".gensim")  # times and identities
LARGEST = 1 << 28  # bytes of a file that is compared
MENDED_BY = re.compile(
    r"sparsetopics (repair|resume)|: completed|found nothing|No such file|found no|is missing"
)


class Scenario(NamedTuple):
    """A command that writes into the current folder, and what was there before it."""

    name: str
    command: list[str]
    outputs: tuple[str, ...]  # what the command changes, and reads before
    before: list[list[str]]  # commands that make what is there before
    read: list[str]  # a command that reads the output
    is_interrupted: bool = False  # the last of ``before`` is killed before it renames a last file


def contents(folder: Path, but: Collection[Path] = ()) -> dict[str, object]:
    """All files by name, times left out, and the files ``but`` left out."""
    return {
        str(path.relative_to(folder)): _untimed(path) if path.is_file() else None
        for path in sorted(folder.rglob("*"))
        if path not in but
    }


def _untimed(path: Path) -> object:
    """The bytes, without what differs from run to run."""
    if path.name == "trace.jsonl":
        entries = [json.loads(line) for line in path.read_text().splitlines()]
        return [{k: v for k, v in entry.items() if k not in TIMES} for entry in entries]
    if path.name == "model.json":
        settings = json.loads(path.read_text())
        return {k: v for k, v in settings.items() if k not in ("files", "sha256")}
    if path.name == "path.json":  # whose digests are of files with times
        settings = json.loads(path.read_text())
        return {k: v for k, v in settings.items() if k not in ("files", "sha256")}
    if path.suffix in UNEQUAL or path.name in ("plan.json", "lock"):
        return path.name
    if path.stat().st_size > LARGEST:
        return path.stat().st_size
    return path.read_bytes()


class Trials:
    """A scenario that is tried again and again from the same beginning, in ``scratch``/work."""

    def __init__(self, scenario: Scenario, scratch: Path) -> None:
        self.scenario = scenario
        self._prepared, self._work = scratch / "prepared", scratch / "work"
        shutil.rmtree(self._prepared, ignore_errors=True)
        self._prepared.mkdir()
        for number, command in enumerate(scenario.before, 1):
            if scenario.is_interrupted and number == len(scenario.before):
                self._interrupt(command)
            else:
                self._sound(command, self._prepared)
        self.old = contents(self._prepared)
        work = self.fresh()
        self.ended = self._sound(scenario.command, work, Watch(work, None))
        self.wanted = contents(work)

    def fresh(self) -> Path:
        """The folder as it was before the command."""
        shutil.rmtree(self._work, ignore_errors=True)
        shutil.copytree(self._prepared, self._work)
        return self._work

    def run(self, watch: Watch | None = None) -> Ended:
        return run(self.scenario.command, self._work, watch)

    def _sound(self, command: list[str], folder: Path, watch: Watch | None = None) -> Ended:
        ended = run(command, folder, watch)
        assert ended.status in (0, 130, -signal.SIGKILL), f"{command}: {ended.said}"
        return ended

    def _interrupt(self, command: list[str]) -> None:
        before = self.fresh()
        events = self._sound(command, before, Watch(before, None)).events
        last = max(number for number, event in enumerate(events) if event.kind == "os.rename")
        self._sound(command, self._prepared, Watch(self._prepared, last))

    def chosen(self) -> list[int]:
        """Numbers of the first and the last event of each place."""
        last = {event: number for number, event in enumerate(self.ended.events)}
        return sorted({*self.first(), *last.values()})

    def first(self, kinds: Collection[str] = WATCHED) -> list[int]:
        """Numbers of the first event of these kinds at each place."""
        events = reversed(list(enumerate(self.ended.events)))
        first = {event: number for number, event in events if event.kind in kinds}
        return sorted(first.values())

    def problems(self) -> Iterator[str]:
        """What is lost, and what differs or is left when the command has been run again."""
        yield from self._losses()
        repeated = self.scenario.command
        for _ in range(3):
            ended = run(repeated, self._work)
            text = ended.printed + ended.said
            if ended.status == 0:
                break
            repeated = self._named(text)
            if not repeated or "Traceback" in text:
                yield f"status {ended.status}: {text.strip()}"
                return
        else:
            yield f"refused again and again: {text.strip()}"
            return
        yield from differences(contents(self._work), self.wanted)

    def _losses(self) -> Iterator[str]:
        """Outputs that are neither the old ones nor the new ones, together, unless refused."""
        found, wanted = _visible(contents(self._work)), _visible(self.wanted)
        others = {name for name in found if found[name] != self.wanted.get(name)}
        is_new = wanted.keys() <= found.keys() and not others & self.wanted.keys()
        if found == _visible(self.old) or (is_new and others <= self.old.keys()):
            return  # perhaps with files that the old output had, and the new one does not list
        ended = run(self.scenario.read, self._work)
        text = ended.printed + ended.said
        if not MENDED_BY.search(text):
            yield f"neither old nor new, and read without a word: {text.strip()[:300]}"

    def _named(self, text: str) -> list[str]:
        """The command that a refusal names."""
        named = re.search(r"`sparsetopics ((resume|repair) [^`]+)`", text)
        if named:
            return named[1].split()
        if "--overwrite" in text and "--overwrite" not in self.scenario.command:
            return [*self.scenario.command, "--overwrite"]
        return []


def _visible(names: dict[str, object]) -> dict[str, object]:
    """What is not in workspaces."""
    inside = re.compile(r"(^|/)(\.[^/]*|state)(/|$)")
    return {name: content for name, content in names.items() if not inside.search(name)}


def differences(found: dict[str, object], wanted: dict[str, object]) -> Iterator[str]:
    for name in sorted(wanted.keys() | found.keys()):
        if name not in found:
            yield f"{name} is missing"
        elif name not in wanted:
            yield f"{name} is left"
        elif found[name] != wanted[name]:
            yield f"{name} differs"


def kills_of(trials: Trials, every: int = 1) -> Iterator[list[str]]:
    """The problems after each kill."""
    for number in trials.chosen()[::every]:
        ended = trials.run(Watch(trials.fresh(), number))
        if ended.status == -signal.SIGKILL:
            found = list(trials.problems())
        else:
            found = [f"it ended with status {ended.status} instead"]
        event = trials.ended.events[number]
        yield [f"{trials.scenario.name}, killed before {event}: {each}" for each in found]


def fills_of(trials: Trials, every: int = 1) -> Iterator[list[str]]:
    """The problems after each time that the disk is full from a place on."""
    for number in trials.first(TAKE_SPACE)[::every]:
        event = trials.ended.events[number]
        ended = trials.run(Watch(trials.fresh(), number, is_full=True))
        found = [*faults_in(ended, (0, 1)), *trials.problems()]
        if ended.status == 0 and list(differences(contents(trials._work), trials.wanted)):
            found.append("it ended well")
        yield [f"{trials.scenario.name}, disk full at {event}: {each}" for each in found]


def faults_in(ended: Ended, statuses: tuple[int, ...]) -> Iterator[str]:
    """What is wrong with how a command ended: one line says why it did not do what was asked."""
    lines = ended.said.splitlines()
    errors = [line for line in lines if line.startswith("Error: ")]
    others = [line for line in lines if not line.startswith(("Error: ", "Warning: "))]
    is_last = errors == lines[len(lines) - len(errors) :]
    if ended.status not in statuses:
        yield f"status {ended.status}: {ended.said[-600:]}"
    elif others or len(errors) != (ended.status != 0) or not is_last:
        yield f"said {ended.said[-600:]!r}"


def main() -> int:
    from write_scenarios import import_all, make_given, scenarios

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="Folder to work in; created if missing.")
    parser.add_argument("--scenario", action="append", help="Only this scenario.")
    parser.add_argument("--every", type=int, default=1, help="Make only every N-th kill.")
    given = parser.parse_args()
    given.folder.mkdir(exist_ok=True, parents=True)
    folder = given.folder.resolve()
    import_all()
    if not (folder / "given").exists():
        make_given(folder / "given", called)
    n_problems = 0
    for scenario in scenarios(folder / "given"):
        if given.scenario and scenario.name not in given.scenario:
            continue
        trials = Trials(scenario, folder)
        found = list(kills_of(trials, given.every))
        problems = [problem for each in found for problem in each]
        n_problems += len(problems)
        counts = f"{len(trials.ended.events):>5} changes, {len(found):>3} kills"
        print(*problems, f"{scenario.name:<28} {counts}, {len(problems)} problems", sep="\n")
        sys.stdout.flush()
    return 1 if n_problems else 0


if __name__ == "__main__":
    sys.exit(main())
