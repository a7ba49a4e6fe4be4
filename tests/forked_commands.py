"""Run commands in forks of this process, which has imported what they need: that takes no second.

A fork can be watched for what it does to files, and be killed or find the disk full before any such
thing. It can also be given fewer rights or less space than its parent.
"""

from __future__ import annotations

import errno
import gc
import json
import os
import resource
import select
import signal
import sys
from collections.abc import Callable
from contextlib import chdir
from pathlib import Path
from typing import NamedTuple

import sparsetopics

WATCHED = ("open", "os.rename", "os.mkdir", "os.rmdir", "os.remove", "os.truncate", "fsync")
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
TAKE_SPACE = ("open", "os.mkdir", "fsync")
PACKAGE = str(Path(sparsetopics.__file__).parent)  # of the checkout or installed
SECONDS = 30  # of computing that a command may take
WAITING = 600.0  # seconds by the clock without a word, which go by on a busy machine too
MORE_MEMORY = 4 << 30  # bytes of address space that a command may add


class Event(NamedTuple):
    """Something that is about to happen to a file."""

    kind: str
    place: str  # file and line of our code


class Ended(NamedTuple):
    """How a command ended."""

    status: int  # of its exit, or minus the number of the signal that ended it
    printed: str  # on stdout
    said: str  # on stderr
    seconds: float  # of computing
    peak: int  # bytes of memory
    events: list[Event]  # if it was watched and came to its end


class Watch:
    """Counts what happens to files of a folder; before the chosen event, the process is killed, or
    the disk is full from then on."""

    def __init__(self, folder: Path, chosen: int | None, *, is_full: bool = False) -> None:
        self.events: list[Event] = []
        self._folder = os.path.realpath(folder) + os.sep
        self._chosen = chosen
        self._is_full = is_full
        self._fsync = os.fsync

    def start(self) -> None:
        sys.addaudithook(self._hook)
        os.fsync = self._synced

    def stop(self) -> list[Event]:
        self._chosen = None
        return self.events

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
        number = len(self.events)
        self.events.append(Event(kind, _place()))
        if self._chosen is None or number < self._chosen:
            return
        if not self._is_full:
            os.kill(os.getpid(), signal.SIGKILL)
        if kind in TAKE_SPACE and not (kind == "open" and os.path.lexists(paths[0])):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), paths[0])


def _place() -> str:
    """The innermost lines of our code, two of them: a helper is called from several places."""
    found, frame = [], sys._getframe(2)
    while frame is not None and len(found) < 2:
        file = frame.f_code.co_filename
        if file.startswith(PACKAGE):
            found.append(f"{file.removeprefix(PACKAGE)}:{frame.f_lineno}")
        frame = frame.f_back  # type: ignore[assignment]
    return " < ".join(found)


def called(arguments: list[str], folder: Path) -> None:
    """Run a sound command in this process, so that forks have all that it imports and compiles."""
    from click.testing import CliRunner

    from sparsetopics.cli.main import main

    with chdir(folder):
        ended = CliRunner().invoke(main, arguments)
    assert ended.exit_code == 0, f"{arguments}: {ended.output}"


def run(
    arguments: list[str],
    folder: Path,
    watch: Watch | None = None,
    *,
    prepare: Callable[[], object] = lambda: None,
    stdout: Path | None = None,
) -> Ended:
    """Run a command in a fork that calls ``prepare`` first."""
    return started(arguments, folder, watch, prepare=prepare, stdout=stdout)()


def started(
    arguments: list[str],
    folder: Path,
    watch: Watch | None = None,
    *,
    prepare: Callable[[], object] = lambda: None,
    stdout: Path | None = None,
) -> Callable[[], Ended]:
    """Begin a command; what is returned waits for its end."""
    pipes = [os.pipe() for _ in range(3)]
    sys.stdout.flush()
    sys.stderr.flush()
    gc.freeze()  # or each fork would look for garbage among all that is imported
    pid = os.fork()
    if pid == 0:
        try:
            for reader, _ in pipes:
                os.close(reader)
            os.dup2(pipes[0][1] if stdout is None else os.open(stdout, os.O_WRONLY), 1)
            os.dup2(pipes[1][1], 2)
            os.chdir(folder)
            _limit()
            prepare()
            status = _status_of(arguments, watch, pipes[2][1])
        except BaseException as error:  # of the fork itself
            os.write(2, f"Traceback: {error!r}\n".encode())
            status = 70
        os._exit(status)
    for _, writer in pipes:
        os.close(writer)
    return lambda: _waited(pid, [reader for reader, _ in pipes])


def _limit() -> None:
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    for limit, most in ((resource.RLIMIT_AS, used + MORE_MEMORY), (resource.RLIMIT_CPU, SECONDS)):
        resource.setrlimit(limit, (most, resource.RLIM_INFINITY))


def _status_of(arguments: list[str], watch: Watch | None, report: int) -> int:
    from sparsetopics.cli.main import main

    status = 70
    if watch is not None:
        watch.start()
    try:
        main(arguments, "sparsetopics")
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else 1
    except BaseException:
        sys.excepthook(*sys.exc_info())
    sys.stdout.flush()
    sys.stderr.flush()
    if watch is not None:
        with os.fdopen(report, "w") as file:
            json.dump(watch.stop(), file)
    return status


def _waited(pid: int, readers: list[int]) -> Ended:
    texts, opened = dict.fromkeys(readers, b""), set(readers)
    while opened:
        ready, _, _ = select.select(sorted(opened), [], [], WAITING)
        if not ready:
            os.kill(pid, signal.SIGKILL)
        for reader in ready:
            piece = os.read(reader, 1 << 16)
            texts[reader] += piece
            if not piece:
                os.close(reader)
                opened.remove(reader)
    _, ended, usage = os.wait4(pid, 0)
    printed, said, events = (text.decode(errors="replace") for text in texts.values())
    return Ended(
        os.waitstatus_to_exitcode(ended),
        printed,
        said,
        usage.ru_utime + usage.ru_stime,
        usage.ru_maxrss << 10,
        [Event(*event) for event in json.loads(events or "[]")],
    )


def memory() -> int:
    """Bytes of memory that this process has, and its forks begin with."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()
