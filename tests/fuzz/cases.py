"""One case: damage a file of a sound folder, read the folder, say how that went."""

import signal
import traceback
import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import NamedTuple

import numpy as np

from fuzz.mutation import mutate
from fuzz.subject import Subject
from resealing import SEALED
from sparsetopics.base.errors import SparsetopicsError
from sparsetopics.base.wording import printable

SECONDS = 5  # of computing that a reader may take over one case
WAITING = 60  # seconds by the clock, which go by on a busy machine too
RARELY = 200


class Case(NamedTuple):
    """What makes a case: the same for the same reader, seed and number."""

    file: str
    data: bytes
    is_sealed: bool


class Outcome(NamedTuple):
    """How a case went."""

    crash: str = ""  # what went wrong
    is_refused: bool = False


class HangError(BaseException):
    """Not an Exception: no reader may catch it."""


class ForbiddenError(BaseException):
    """What ``limits`` forbids."""


class Sandbox:
    """A folder with the files of a subject, one of them damaged at a time."""

    def __init__(self, name: str, subject: Subject, folder: Path, seed: int) -> None:
        self.name, self.subject, self.seed = name, subject, seed
        self.folder = folder / "inside"
        for file, data in subject.files.items():
            path = self.folder / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        self._known = self._paths()

    def case(self, number: int) -> Case:
        rng = np.random.default_rng([self.seed, zlib.crc32(self.name.encode()), number])
        subject = self.subject
        file = subject.damaged[rng.integers(len(subject.damaged))]
        data, is_sealed = subject.files[file], bool(rng.random() < 0.85)
        if file in subject.changes and rng.random() < 0.6:
            return Case(file, subject.changes[file](data, rng), is_sealed)
        others = list(subject.files.values())
        other = others[rng.integers(len(others))]
        return Case(file, mutate(data, rng, subject.tokens, other), is_sealed)

    def run(self, number: int) -> Outcome:
        """Read the damaged folder; what is left is as it was before."""
        return self.try_case(self.case(number), is_rare=number % RARELY == 0)

    def try_case(self, case: Case, *, is_rare: bool = False) -> Outcome:
        (self.folder / case.file).write_bytes(case.data)
        if case.is_sealed:
            self.subject.seal(self.folder)
        outcome = _tried(self.subject, self.folder, is_rare=is_rare)
        if HangError.__name__ in outcome.crash:  # or a kernel was compiled: then not again
            outcome = _tried(self.subject, self.folder, is_rare=is_rare)
        strangers = self._paths() - self._known
        for file, data in self.subject.files.items():
            if file in (case.file, *SEALED):  # what sealing changes
                (self.folder / file).write_bytes(data)
        if strangers:
            self._known |= strangers
            return Outcome(f"left behind {sorted(map(str, strangers))}")
        return outcome

    def _paths(self) -> set[Path]:
        return set(self.folder.parent.iterdir()) | set(self.folder.iterdir())


def _tried(subject: Subject, folder: Path, *, is_rare: bool) -> Outcome:
    try:
        with _in_time(), warnings.catch_warnings():
            warnings.simplefilter("error")
            subject.read(folder)
            if is_rare:
                subject.read_rarely(folder)
    except SparsetopicsError as error:
        text = str(error)
        if len(text.splitlines()) != 1 or text != printable(text):
            return Outcome(f"a message of several lines: {text!r}")
        return Outcome(is_refused=True)
    except (Exception, HangError, ForbiddenError) as error:
        frames = traceback.extract_tb(error.__traceback__)
        ours = [frame for frame in frames if "sparsetopics" in frame.filename] or frames
        where = f"{Path(ours[-1].filename).name}:{ours[-1].lineno}"
        return Outcome(f"{type(error).__name__} at {where}: {str(error)[:200]!r}")
    return Outcome()


@contextmanager
def _in_time() -> Iterator[None]:
    limits = (
        (signal.SIGPROF, signal.ITIMER_PROF, SECONDS),
        (signal.SIGALRM, signal.ITIMER_REAL, WAITING),
    )
    before = [signal.signal(number, _hang) for number, _, _ in limits]
    for _, timer, seconds in limits:
        signal.setitimer(timer, seconds)
    try:
        yield
    finally:
        for (number, timer, _), handler in zip(limits, before, strict=True):
            signal.setitimer(timer, 0)
            signal.signal(number, handler)


def _hang(number: int, frame: FrameType | None) -> None:
    raise HangError(f"more than {SECONDS} s of computing, or {WAITING} s of waiting")
