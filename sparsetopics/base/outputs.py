"""Where a command writes: checked before any work, replaced only by complete output."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from sparsetopics.base.errors import OutputError
from sparsetopics.base.staging import refusing
from sparsetopics.base.transactions import APPEND_FOLDER, STATE_FOLDER, Workspace


class FolderKind(NamedTuple):
    """A kind of folder that commands make, and may replace."""

    noun: str  # with its article
    stranger: Callable[[Path], str]  # names what is not of this kind in a folder, or ""


@dataclass(frozen=True, slots=True)
class Output:
    """A path to write, checked to be free or replaceable."""

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
                found = f"no folder {place.parent}"
                raise OutputError(str(self.path), found=found, wanted="an existing parent folder")
            return
        if self.kind is None:
            self._check_file(place)
        else:
            self._check_folder(place, self.kind)
        if not self.overwrite:
            where = str(self.path.with_name(place.name)) if place != self.place else str(self.path)
            hint = f"{note}Use --overwrite to replace it."
            raise OutputError(where, found="an existing output", wanted="a new path", hint=hint)

    def _check_file(self, place: Path) -> None:
        if place.is_dir():
            raise OutputError(str(self.path), found="a folder", wanted="a file name to write to")
        if not place.is_file() or place.is_symlink():
            found = f"{place.name}, which is not a regular file"
            raise OutputError(str(self.path), found=found, wanted="a new path")

    def _check_folder(self, place: Path, kind: FolderKind) -> None:
        if place.is_dir():
            if Path.cwd().is_relative_to(place):
                found = "the current folder, or one that holds it"
                raise OutputError(str(self.path), found=found, wanted="a new path")
            stranger = kind.stranger(place) if any(place.iterdir()) else ""
            refuse_busy(place)
        else:
            stranger = "a file"
        if stranger:
            raise OutputError(
                str(self.path),
                found=stranger,
                wanted=f"a new path, or {kind.noun} to replace",
                hint="Only what sparsetopics made is ever replaced.",
            )


def output_file(path: str | Path, *, overwrite: bool, inputs: Iterable[Path] = ()) -> Output:
    """A file to write, perhaps with files beside it whose names begin with its own.

    Raises OutputError if it exists and ``overwrite`` is false, if it is a folder, or if it is, or
    lies in, one of ``inputs``. What a killed command has committed there is completed first.
    """
    return _output(Path(path), None, overwrite, inputs)


def output_folder(
    path: str | Path, kind: FolderKind, *, overwrite: bool, inputs: Iterable[Path] = ()
) -> Output:
    """A folder to write.

    Raises OutputError if it exists and ``overwrite`` is false, if it is not ``kind``, or if it is,
    holds or lies in one of ``inputs``. What a killed command has committed there is completed
    first.
    """
    return _output(Path(path), kind, overwrite, inputs)


def _output(path: Path, kind: FolderKind | None, overwrite: bool, inputs: Iterable[Path]) -> Output:
    output = Output(path, Path(os.path.realpath(path)), kind, overwrite)
    _refuse_internal(path, output.place)
    if os.fsencode(output.place) != str(output.place).encode(errors="replace"):
        found = "a path that is not UTF-8"  # which Arrow cannot write to
        raise OutputError(str(path), found=found, wanted="a path in UTF-8")
    refuse_inputs(output.path, inputs)
    with refusing(path):
        was_pending = output.workspace.settle()
        note = "An interrupted command had made it; it is complete now. " if was_pending else ""
        output.check(output.place, note)
    return output


def _refuse_internal(path: Path, place: Path) -> None:
    """Raise OutputError for a place in which training or an append keeps its files."""
    for folder in (place, *place.parents):
        is_state = folder.name == STATE_FOLDER and (folder / "plan.json").exists()
        if is_state or folder.name == APPEND_FOLDER:
            found = f"a path inside {folder}, which commands clear"
            raise OutputError(str(path), found=found, wanted="a path of your own")


def refuse_busy(folder: Path) -> None:
    """Raise OutputError if a process trains in a run, or appends to a corpus, in ``folder``."""
    for place in (folder, *(path for path in folder.iterdir() if path.is_dir())):
        for name in (STATE_FOLDER, APPEND_FOLDER):
            inner = Workspace.inside(place, name)
            if inner.is_left:
                with inner.held():
                    pass


def refuse_inputs(path: Path, inputs: Iterable[Path]) -> None:
    """Raise OutputError if the output ``path`` is, contains or lies inside an input."""
    place = Path(os.path.realpath(path))
    for given in inputs:
        read = Path(os.path.realpath(given))
        if place == read or place in read.parents or read in place.parents:
            relation = "a path inside the input" if place != read else "the input"
            if place in read.parents:
                relation = "a folder that holds the input"
            wanted = "an output apart from what is read"
            raise OutputError(str(path), found=f"{relation} {given}", wanted=wanted)


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
        for output in sorted(outputs, key=lambda output: output.place):
            stack.enter_context(refusing(output.path))
            stack.enter_context(output.workspace.held())
        yield


def publish(outputs: Sequence[Output]) -> None:
    """Move outputs from their workspaces into place; OutputError if a place was taken since."""
    first, *others = [(output.workspace, _names(output)) for output in outputs]
    workspace, names = first
    workspace.commit(names, others)


def _names(output: Output) -> list[str]:
    """Names to put in place, the output last, since its readers need the files beside it."""
    names = [path.name for path in output.workspace.new.iterdir() if path != output.scratch]
    names = [*sorted(names), output.place.name]
    for name in names:
        output.check(output.place.with_name(name))
    return names
