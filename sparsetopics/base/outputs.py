"""Where a command writes: checked before any work, replaced only by complete output."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from sparsetopics.base.errors import OutputError
from sparsetopics.base.safe_reading import is_utf8
from sparsetopics.base.staging import refusing
from sparsetopics.base.transactions import APPEND_FOLDER, STATE_FOLDER, Workspace

Inputs = Iterable[Path | None]  # None: one that was not given


class FolderKind(NamedTuple):
    """A kind of folder that commands make, and may replace."""

    noun: str  # with its article
    stranger: Callable[[Path], str]  # describes what in a folder is not of this kind, or ""

    def matches(self, path: Path) -> bool:
        """Whether ``path`` is a folder of this kind."""
        return path.is_dir() and not self.stranger(path)


@dataclass(frozen=True, slots=True)
class Output:
    """A path to write to, which is free or may be replaced."""

    path: Path  # as the user gave it
    place: Path  # the same, absolute and without links
    kind: FolderKind | None  # None: a file
    overwrite: bool

    @property
    def workspace(self) -> Workspace:
        """The workspace in which the output is made."""
        return Workspace.beside(self.place)

    @property
    def scratch(self) -> Path:
        """The path in the workspace that becomes ``place``."""
        return self.workspace.new / self.place.name

    def check(self, place: Path, note: str = "") -> None:
        """Raise OutputError unless ``place``, or a file beside it, is free or may be replaced."""
        if not os.path.lexists(place):
            if not place.parent.is_dir():
                raise OutputError(str(self.path), f"the folder {place.parent} does not exist")
            return
        if self.kind is not None:
            self._check_folder(place, self.kind)
        elif place.is_dir():
            raise OutputError(str(self.path), "expected a file name, but found a folder")
        elif not place.is_file() or place.is_symlink():
            raise OutputError(str(self.path), f"{place.name} is not a regular file")
        if not self.overwrite:
            where = self.path if place == self.place else self.path.with_name(place.name)
            hint = f"{note}Use --overwrite to replace it."
            raise OutputError(str(where), "the output already exists", hint)

    def _check_folder(self, place: Path, kind: FolderKind) -> None:
        stranger = "a file"
        if place.is_dir():
            if Path.cwd().is_relative_to(place):
                raise OutputError(str(self.path), "this is the current folder, or holds it")
            if not os.access(place, os.W_OK, effective_ids=os.access in os.supports_effective_ids):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))  # it could not move
            stranger = kind.stranger(place) if any(place.iterdir()) else ""
            refuse_busy(place)
        if stranger:
            problem = f"expected a new path, or {kind.noun} to replace, but found {stranger}"
            hint = "Only folders that sparsetopics made are ever replaced."
            raise OutputError(str(self.path), problem, hint)


def output_file(path: str | Path, *, overwrite: bool, inputs: Inputs = ()) -> Output:
    """Check a file to write, perhaps with files beside it whose names begin with its own.

    Raises OutputError if it exists and ``overwrite`` is false, if it is a folder, or if it is, or
    lies in, one of ``inputs``. If a killed command left a complete output there, that is moved into
    place first.
    """
    return output_folder(path, None, overwrite=overwrite, inputs=inputs)


def output_folder(
    path: str | Path, kind: FolderKind | None, *, overwrite: bool, inputs: Inputs = ()
) -> Output:
    """Check a folder to write, or without a ``kind`` a file.

    Raises OutputError if it exists and ``overwrite`` is false, if it is not ``kind``, or if it is,
    holds or lies in one of ``inputs``. If a killed command left a complete output there, that is
    moved into place first.
    """
    path = Path(path)
    if "\0" in str(path):
        raise OutputError(str(path), "a path cannot have a NUL byte")
    output = Output(path, Path(os.path.realpath(path)), kind, overwrite)
    for folder in (output.place, *output.place.parents):  # where commands keep files of their own
        is_state = folder.name == STATE_FOLDER and (folder / "plan.json").exists()
        if is_state or folder.name == APPEND_FOLDER:
            raise OutputError(str(path), f"this path is inside {folder}, which commands clear")
    if not is_utf8(str(output.place)):
        raise OutputError(str(path), "the path is not UTF-8")
    refuse_inputs(path, inputs)
    with refusing(path):
        was_pending = output.workspace.settle()
        note = "An interrupted command had made it; it is complete now. " if was_pending else ""
        output.check(output.place, note)
    return output


def refuse_busy(folder: Path) -> None:
    """Raise OutputError if a process trains in a run, or appends to a corpus, in ``folder``."""
    for place in (folder, *(path for path in folder.iterdir() if path.is_dir())):
        for name in (STATE_FOLDER, APPEND_FOLDER):
            inner = Workspace.inside(place, name)
            if inner.is_left:
                with inner.held():
                    pass


def refuse_inputs(path: Path, inputs: Inputs, noun: str = "input") -> None:
    """Raise OutputError if the output ``path`` is, contains or lies inside an input.

    ``noun`` is what the message calls an input.
    """
    place = Path(os.path.realpath(path))
    for given in inputs:
        if given is None or "\0" in str(given):  # it cannot exist; reading it raises the error
            continue
        read = Path(os.path.realpath(given))
        if place != read and place not in read.parents and read not in place.parents:
            continue
        relation = "is" if place == read else "holds" if place in read.parents else "lies inside"
        problem = f"the output {relation} the {noun} {str(given)!r}"
        if place == read and noun == "other output":
            problem = f"both outputs are {str(given)!r}"
        raise OutputError(str(path), problem, "Choose another path for the output.")


@contextmanager
def written(output: Output) -> Iterator[Path]:
    """Yield a scratch path that becomes the output if the block succeeds and vanishes if not.

    For a folder, the scratch path is an empty folder; for a file, it is free, and files beside it
    become files beside the output. Raises OutputError if another process writes there or the disk
    refuses; the old output then stays.
    """
    with written_together([output]) as (scratch,):
        yield scratch


@contextmanager
def written_together(outputs: Sequence[Output]) -> Iterator[list[Path]]:
    """``written`` for several outputs that appear together or not at all."""
    with claimed(outputs):
        try:
            for output in outputs:
                output.workspace.clear()
                output.workspace.new.mkdir()
                if output.kind is not None:
                    output.scratch.mkdir()
            yield [output.scratch for output in outputs]
            publish(outputs)
        finally:
            for output in outputs:
                output.workspace.remove()


@contextmanager
def claimed(outputs: Sequence[Output]) -> Iterator[None]:
    """Hold the workspaces of ``outputs``; make those that are missing."""
    with ExitStack() as stack:
        # All commands hold them in one order, so that two commands cannot refuse each other.
        for output in sorted(outputs, key=lambda output: output.place):
            stack.enter_context(refusing(output.path))
            stack.enter_context(output.workspace.held())
        yield


def publish(outputs: Sequence[Output]) -> None:
    """Move outputs from their workspaces into place; OutputError if a place was taken since."""
    (workspace, names), *others = [(output.workspace, _names(output)) for output in outputs]
    workspace.commit(names, others)


def _names(output: Output) -> list[str]:
    """Names to put in place, with the output last, since its readers need the files beside it."""
    names = [path.name for path in output.workspace.new.iterdir() if path != output.scratch]
    names = [*sorted(names), output.place.name]
    for name in names:
        output.check(output.place.with_name(name))
    return names
