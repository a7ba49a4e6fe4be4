"""Kill a command at each place in the code that changes files, then run the obvious next command.

``python tests/write_kills.py FOLDER [--scenario NAME] [--every N]`` prints a line for each kill. A
scenario runs once to list what it does to files: opening for writing, renaming, syncing, creating
and removing. It is then killed (SIGKILL) right before the first and the last time that each place
in our code does such a thing. After each kill, the same command is run again; if it is refused,
the command that the error message names is run. The output must then equal that of an
uninterrupted run, and nothing else may be left. Before that, the old output must be complete, or
be refused with a message that names the command that repairs it.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import sparsetopics

WATCHED = ("open", "os.rename", "os.mkdir", "os.rmdir", "os.remove", "os.truncate", "fsync")
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
TIMES = ("seconds",)
UNEQUAL = (".html", ".dictionary", ".state", ".id2word", ".npz", ".gensim")  # times and identities
PACKAGE = str(Path(sparsetopics.__file__).parent)  # of the checkout or installed


class Event(NamedTuple):
    """Something that is about to happen to a file."""

    kind: str
    place: str  # file and line of our code


class Scenario(NamedTuple):
    """A command that writes into the current folder, and what was there before it."""

    name: str
    command: list[str]
    outputs: tuple[str, ...]
    before: list[list[str]]  # commands that make what is there before
    read: list[str]  # a command that reads the output


class Watch:
    """Counts what happens to files of a folder, and kills the process before the chosen event."""

    def __init__(self, folder: Path, chosen: int | None) -> None:
        self.events: list[Event] = []
        self._folder = os.path.realpath(folder) + os.sep
        self._chosen = chosen
        self._fsync = os.fsync

    def start(self) -> None:
        sys.addaudithook(self._hook)
        os.fsync = self._synced

    def _hook(self, kind: str, arguments: tuple[object, ...]) -> None:
        if kind in WATCHED and self._is_writing(kind, arguments):
            n_paths = 1 if kind == "open" else 2  # the second argument of open is its mode
            paths = [a for a in arguments[:n_paths] if isinstance(a, str | bytes | os.PathLike)]
            self._see(kind, [os.fsdecode(path) for path in paths])

    def _is_writing(self, kind: str, arguments: tuple[object, ...]) -> bool:
        return kind != "open" or bool(int(arguments[2] or 0) & WRITING)  # type: ignore[call-overload]

    def _synced(self, descriptor: int) -> None:
        self._see("fsync", [os.readlink(f"/proc/self/fd/{descriptor}")])
        self._fsync(descriptor)

    def _see(self, kind: str, paths: list[str]) -> None:
        if not any(os.path.abspath(path).startswith(self._folder) for path in paths):
            return
        if len(self.events) == self._chosen:
            os.kill(os.getpid(), signal.SIGKILL)
        self.events.append(Event(kind, _place()))


def _place() -> str:
    """The innermost lines of our code, two of them: a helper is called from several places."""
    found, frame = [], sys._getframe(2)
    while frame is not None and len(found) < 2:
        file = frame.f_code.co_filename
        if file.startswith(PACKAGE):
            found.append(f"{file.removeprefix(PACKAGE)}:{frame.f_lineno}")
        frame = frame.f_back  # type: ignore[assignment]
    return " < ".join(found)


def run(arguments: list[str], folder: Path, said: Path, watch: Watch | None = None) -> int:
    """A command in a fork; its exit status, or minus the number of the signal that ended it."""
    pid = os.fork()
    if pid == 0:
        status = 70
        try:
            os.chdir(folder)
            output = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(output, 1)
            os.dup2(output, 2)
            from sparsetopics.cli.main import main

            if watch is not None:
                watch.start()
            try:
                main(arguments, "sparsetopics")
            except SystemExit as ended:
                status = ended.code if isinstance(ended.code, int) else 1
            if watch is not None:
                watch._chosen = None
                Path(f"{said}.events").write_text(json.dumps(watch.events))
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(status)
    _, ended = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(ended)


def contents(folder: Path) -> dict[str, object]:
    """All files by name, times left out."""
    return {
        str(path.relative_to(folder)): _untimed(path) if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }


def _untimed(path: Path) -> object:
    """The bytes, without what differs from run to run."""
    if path.suffix == ".jsonl" and path.name == "trace.jsonl":
        entries = [json.loads(line) for line in path.read_text().splitlines()]
        return [{k: v for k, v in entry.items() if k not in TIMES} for entry in entries]
    if path.name == "model.json":
        settings = json.loads(path.read_text())
        return {k: v for k, v in settings.items() if k not in ("files", "sha256")}
    if path.suffix in (".html", ".dictionary", ".state", ".id2word") or path.name in (
        "plan.json",
        "lock",
    ):
        return path.name  # seconds in pages, pickles with times, identities of runs and processes
    if path.suffix in (".npz", ".gensim"):
        return path.name
    return path.read_bytes()


def kills_of(scenario: Scenario, scratch: Path, every: int) -> Iterator[str]:
    """Problems, a line each; the last line counts the kills."""
    said = scratch / "said.txt"

    def fresh() -> Path:
        work = scratch / "work"
        shutil.rmtree(work, ignore_errors=True)
        shutil.copytree(prepared, work)
        return work

    prepared = scratch / "prepared"
    shutil.rmtree(prepared, ignore_errors=True)
    prepared.mkdir()
    for command in scenario.before:
        status = run(command, prepared, said)
        assert status in (0, 130), f"{command}: {said.read_text()}"
    old = contents(prepared)
    work = fresh()
    status = run(scenario.command, work, said, Watch(work, None))
    assert status == 0, f"{scenario.command}: {said.read_text()}"
    wanted = contents(work)
    events = [Event(*event) for event in json.loads(Path(f"{said}.events").read_text())]
    chosen = sorted({*_first(events).values(), *_last(events).values()})[::every]
    n_problems = 0
    for number in chosen:
        work = fresh()
        status = run(scenario.command, work, said, Watch(work, number))
        for problem in _after(scenario, work, said, status, old, wanted):
            n_problems += 1
            yield f"  {scenario.name}, killed before {events[number]}: {problem}"
    yield (
        f"{scenario.name:<28} {len(events):>5} changes, {len(_first(events)):>3} places, "
        f"{len(chosen):>3} kills, {n_problems} problems"
    )


def _first(events: list[Event]) -> dict[Event, int]:
    return {event: number for number, event in reversed(list(enumerate(events)))}


def _last(events: list[Event]) -> dict[Event, int]:
    return {event: number for number, event in enumerate(events)}


def _after(
    scenario: Scenario,
    work: Path,
    said: Path,
    status: int,
    old: dict[str, object],
    wanted: dict[str, object],
) -> Iterator[str]:
    """What is wrong after a kill."""
    if status != -signal.SIGKILL:
        yield f"it ended with status {status} instead"
        return
    yield from _losses(scenario, work, said, old, wanted)
    repeated = scenario.command
    for _ in range(3):
        status = run(repeated, work, said)
        text = said.read_text()
        if status == 0:
            break
        repeated = _named(text, scenario)
        if not repeated or "Traceback" in text:
            yield f"status {status}: {text.strip()}"
            return
    else:
        yield f"refused again and again: {text.strip()}"
        return
    found = contents(work)
    for name in sorted(wanted.keys() | found.keys()):
        if name not in found:
            yield f"{name} is missing"
        elif name not in wanted:
            yield f"{name} is left"
        elif found[name] != wanted[name]:
            yield f"{name} differs"


def _losses(
    scenario: Scenario, work: Path, said: Path, old: dict[str, object], wanted: dict[str, object]
) -> Iterator[str]:
    """Outputs that are neither the old ones nor the new ones, together, unless they are refused."""
    found = _visible(contents(work))
    others = {name for name in found if found[name] != wanted.get(name)}
    is_new = _visible(wanted).keys() <= found.keys() and not others & wanted.keys()
    if found == _visible(old) or (is_new and others <= old.keys()):
        return  # perhaps with files that the old output had, and the new one does not list
    run(scenario.read, work, said)
    text = said.read_text()
    if not re.search(
        r"sparsetopics (repair|resume)|: completed|found nothing|No such file|found no|is missing",
        text,
    ):
        yield f"neither old nor new, and read without a word: {text.strip()[:300]}"


def _visible(names: dict[str, object]) -> dict[str, object]:
    """What is not in workspaces."""
    inside = re.compile(r"(^|/)(\.[^/]*|state)(/|$)")
    return {name: content for name, content in names.items() if not inside.search(name)}


def _named(text: str, scenario: Scenario) -> list[str]:
    """The command that a refusal names."""
    named = re.search(r"`sparsetopics ((resume|repair) [^`]+)`", text)
    if named:
        return named[1].split()
    if "--overwrite" in text and "--overwrite" not in scenario.command:
        return [*scenario.command, "--overwrite"]
    return []


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
    said = folder / "said.txt"

    def sound(command: list[str], where: Path) -> None:
        assert run(command, where, said) == 0, said.read_text()

    if not (folder / "given").exists():
        make_given(folder / "given", sound)
    n_problems = 0
    for scenario in scenarios(folder / "given"):
        if given.scenario and scenario.name not in given.scenario:
            continue
        for line in kills_of(scenario, folder, given.every):
            n_problems += line.startswith("  ")
            print(line, flush=True)
    return 1 if n_problems else 0


if __name__ == "__main__":
    sys.exit(main())
