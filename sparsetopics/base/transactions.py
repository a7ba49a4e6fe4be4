"""Put one or several outputs in place together, or not at all.

A command writes into a workspace, a folder in the folder of its output:

    new/           the outputs, under their names
    journal.json   says that new/ is complete, and which names to put in place
    part-of.json   instead of a journal: the workspace whose journal has the names of this one
    old/           folders that outputs have replaced
    job.json       identifies the work of a command that can continue it uncommitted
    lock           held by the process that writes

Writing the journal is the commit. If a process is killed before the commit, the old outputs stay as
they were, and the next command that writes there clears the workspace. If it is killed after the
commit, the next such command, or ``sparsetopics repair``, moves what is still in ``new/``; until
then commands that read the output refuse it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec

from sparsetopics.base.errors import OutputError
from sparsetopics.base.safe_reading import parse_json
from sparsetopics.base.sealed_files import converted
from sparsetopics.base.staging import exclusive_lock, refusing, stranger_in, sync, sync_tree
from sparsetopics.base.wording import reason_of

SUFFIX = ".sparsetopics"
STATE_FOLDER = "state"  # the workspace of a run that is being trained
APPEND_FOLDER = ".append"  # the workspace of a process that adds documents to a corpus
JOB = "job.json"
_JOURNAL, _PART_OF, _LOCK = "journal.json", "part-of.json", "lock"
_OWN_NAMES = {
    *("new", "old", JOB, _JOURNAL, _PART_OF),
    *("tokenizer.json", "spool"),  # written by ingest
    *("plan.json", "checkpoint.npz", "memo", "globals", "trace.jsonl", "runs"),  # written by train
}
_INNER_NAMES = re.compile(  # files that move from state/ to a run, and from .append to a corpus
    r"(model|themes)\.json|model\.safetensors|trace\.jsonl|config\.toml|vocabulary\.parquet"
    r"|candidates\.parquet|manifest\.json|(shard|texts|fields)-\d{5,}\.parquet"
    r"|path\.json|tree\.json|[1-9]\d{0,9}"  # of a topic path; numbers are the runs of its rungs
)
_LARGEST_RECORD = 1 << 24  # bytes
Record = TypeVar("Record", bound=msgspec.Struct)


class _Place(msgspec.Struct, forbid_unknown_fields=True):
    workspace: str  # relative path
    names: list[str]  # in its new/, in the order in which they are moved
    replaced: list[str]  # the names that replace an output


class _Journal(msgspec.Struct, forbid_unknown_fields=True):
    identity: str
    places: list[_Place]
    job: str = ""  # written by earlier releases


class _PartOf(msgspec.Struct, forbid_unknown_fields=True):
    identity: str
    workspace: str  # relative path of the workspace with the journal


class Workspace(NamedTuple):
    """A folder in which outputs are made before they are moved beside it."""

    folder: Path

    @classmethod
    def beside(cls, output: Path) -> Workspace:
        """The workspace for one output, in the same folder."""
        output = Path(os.path.realpath(output))
        return cls(output.parent / f".{output.name}{SUFFIX}")

    @classmethod
    def inside(cls, folder: Path, name: str) -> Workspace:
        """The workspace for files of a folder."""
        return cls(Path(os.path.realpath(folder)) / name)

    @property
    def new(self) -> Path:
        return self.folder / "new"

    @property
    def _old(self) -> Path:
        return self.folder / "old"

    @contextmanager
    def held(self, doing: str = "writes there") -> Iterator[None]:
        """Make the folder if it is missing, and lock out other processes."""
        if self._is_beside and self.folder.exists() and not self.is_left:
            problem = "outputs are made here, but sparsetopics did not make this file or folder"
            raise OutputError(str(self.folder), problem, f"Move {self.folder} away.")
        self.folder.mkdir(exist_ok=True)
        link = str(self.folder) if self.folder.is_symlink() else stranger_in(self.folder)
        if link:
            problem = "expected only files and folders, but found a link or device"
            raise OutputError(link, problem, f"Remove {link}.")
        with exclusive_lock(self._output, self.folder / _LOCK, doing):
            yield

    def clear(self, keep: Sequence[str] = ()) -> None:
        """Remove what commands leave here, except the lock and ``keep``.

        No committed output may still be waiting to be moved.
        """
        assert not self.is_pending, "committed outputs must not be lost"
        with suppress(FileNotFoundError):
            # The journal goes last: while other files are left, it says that the job is done.
            for path in sorted(self.folder.iterdir(), key=lambda path: path.name == _JOURNAL):
                if path.name.removesuffix(".part") in _OWN_NAMES and path.name not in keep:
                    _remove(path)

    def remove(self) -> None:
        """Remove the folder, unless it holds committed outputs or files of somebody else."""
        if not self.is_pending:
            with suppress(OSError):  # the next command removes the rest
                self.clear()
                if os.listdir(self.folder) == [_LOCK]:
                    (self.folder / _LOCK).unlink()
                self.folder.rmdir()

    @property
    def is_left(self) -> bool:
        """Whether a process has left this workspace or is working in it."""
        if os.path.islink(self.folder) or not os.path.isdir(self.folder):
            return False
        names = set(os.listdir(self.folder))
        return not names or bool(names & {_LOCK, _JOURNAL, _PART_OF})

    @property
    def strangers(self) -> list[str]:
        """Names in the folder that no command makes."""
        names = (name.removesuffix(".part") for name in os.listdir(self.folder))
        return sorted(name for name in names if name not in _OWN_NAMES and name != _LOCK)

    @property
    def is_committed(self) -> bool:
        """Whether the journal is there, whether or not its outputs have been moved."""
        return (self.folder / _JOURNAL).is_file()

    @property
    def is_pending(self) -> bool:
        """Whether outputs are committed here, or as part of a set, and still have to be moved."""
        try:
            return bool(self._waiting())
        except OSError as error:
            problem = f"the folder cannot be read ({reason_of(error)})"
            raise OutputError(str(self.folder), problem) from error

    def settle(self) -> bool:
        """Finish or remove what a killed process left; return whether outputs were moved.

        Uncommitted work stays if it has a job, which lets a command continue it. Raises OutputError
        if another process works there or the system refuses.
        """
        if not self.is_left:
            return False
        was_pending = self.is_pending
        with self._held_together() as places:
            self._move()
            if places[0].is_committed or not (self.folder / JOB).exists():
                for place in places:
                    place.remove()
        return was_pending

    def finish(self) -> None:
        """Move committed outputs that a killed process left; raises the errors of ``settle``."""
        if self.is_pending:
            with self._held_together():
                self._move()

    @contextmanager
    def _held_together(self) -> Iterator[list[Workspace]]:
        """Hold this workspace and those of the same set, the one with the journal first."""
        places = [place for place, _ in self._places()] or [self]
        with ExitStack() as stack:
            for place in places:
                stack.enter_context(place.held())
            yield places

    def commit(
        self, names: Sequence[str], others: Sequence[tuple[Workspace, Sequence[str]]] = ()
    ) -> None:
        """Move ``names`` in ``new/`` beside this workspace, and those of ``others`` beside theirs.

        The caller holds all workspaces. Names are moved in the given order and replace what is
        there. After an OSError, outputs are committed if ``is_pending``, and unchanged otherwise.
        """
        # Links the folders of one commit. It is random, but no result depends on it.
        identity = os.urandom(8).hex()
        for place, _ in ((self, names), *others):
            sync_tree(place.new)
        for place, _ in others:
            place._write(_PART_OF, _PartOf(identity, os.path.relpath(self.folder, place.folder)))
            sync(place.folder.parent)
        places = [place._entry(own, self.folder) for place, own in ((self, names), *others)]
        # Everything above is on disk before the journal, whose appearance is the commit.
        self._write(_JOURNAL, _Journal(identity, places))
        sync(self.folder.parent)
        self._move()

    def _entry(self, names: Sequence[str], seen_from: Path) -> _Place:
        replaced = [name for name in names if os.path.lexists(self.folder.parent / name)]
        return _Place(os.path.relpath(self.folder, seen_from), list(names), replaced)

    def _move(self) -> None:
        hint = "The output is complete but not in its place yet. Run the same command again."
        with refusing(self.folder.parent, hint):
            for place, name, is_replacing in self._waiting():
                place._move_one(name, is_replacing=is_replacing)

    def _move_one(self, name: str, *, is_replacing: bool) -> None:
        """Put an output in its place, unless something else appeared there after the commit."""
        target, former = self.folder.parent / name, self._old / name
        if os.path.lexists(target):
            is_folder = target.is_dir() and not target.is_symlink()
            may_replace = is_replacing and not (is_folder and former.exists())
            # Inside a run or corpus, only the runs of a topic path are folders.
            if not may_replace or (is_folder and not (self._is_beside or name.isdecimal())):
                problem = "a file or folder appeared here when its new version was complete"
                hint = f"Move it away, then run `sparsetopics repair {target}`."
                raise OutputError(str(target), problem, hint)
            if is_folder:  # a rename cannot replace a folder
                self._old.mkdir(exist_ok=True)
                os.rename(target, former)
        os.replace(self.new / name, target)
        sync(self.folder.parent)

    def _waiting(self) -> list[tuple[Workspace, str, bool]]:
        """The names of the journal that are still in ``new/``, and whether they may replace."""
        return [
            (place, name, name in entry.replaced)
            for place, entry in self._places()
            for name in entry.names
            if place._may_hold(name) and os.path.lexists(place.new / name)
        ]

    def _places(self) -> list[tuple[Workspace, _Place]]:
        """The workspaces committed with this one and their entries, that with the journal first."""
        part = None if self.is_committed else self._part
        whole = self if part is None else self._at(part.workspace)
        journal = whole._read(_JOURNAL, _Journal)
        if journal is None or (part is not None and part.identity != journal.identity):
            return []
        places = [(whole._at(entry.workspace), entry) for entry in journal.places]
        for place, _ in places:
            own = place._part  # names the journal in return, unless the workspace has been reused
            if place != whole and (own is None or own.identity != journal.identity):
                problem = f"the other half of an interrupted command, {place.folder}, is missing"
                hint = f"Move it back, or make both outputs again and remove {whole.folder}."
                raise OutputError(str(whole.folder), problem, hint)
        return places

    @property
    def _part(self) -> _PartOf | None:
        return self._read(_PART_OF, _PartOf) if self._is_beside else None

    def _at(self, where: str) -> Workspace:
        return Workspace(Path(os.path.normpath(self.folder / where)))

    def _may_hold(self, name: str) -> bool:
        """Whether a name from a journal, perhaps forged, is one of this workspace's outputs."""
        if not self._is_beside:
            return _INNER_NAMES.fullmatch(name) is not None
        own = self.folder.name[1 : -len(SUFFIX)]
        return name == os.path.basename(name) and (name == own or name.startswith(f"{own}."))

    @property
    def _output(self) -> Path:
        """The output that is made here, or the run or corpus that holds this workspace."""
        own = self.folder.name[1 : -len(SUFFIX)] if self._is_beside else ""
        return self.folder.parent / own

    @property
    def _is_beside(self) -> bool:
        """Whether this is the workspace of an output, not one inside a run or corpus."""
        return self.folder.name.endswith(SUFFIX)

    def put(self, name: str, write: Callable[[Path], int | None]) -> None:
        """Replace a file by the one that ``write`` makes; it is whole at every moment."""
        scratch = self.folder / f"{name}.part"
        write(scratch)
        sync(scratch)  # or a loss of power may leave the new name on an empty file
        os.replace(scratch, self.folder / name)
        sync(self.folder)

    def _write(self, name: str, record: msgspec.Struct) -> None:
        # json escapes names that are not UTF-8, which msgspec's own encoder refuses.
        text = json.dumps(msgspec.to_builtins(record))
        self.put(name, lambda path: path.write_text(text))

    def _read(self, name: str, kind: type[Record]) -> Record | None:
        path = self.folder / name
        if self.folder.is_symlink() or path.is_symlink() or not path.is_file():
            return None
        with path.open("rb") as file:
            data = file.read(_LARGEST_RECORD)
        try:
            return converted(parse_json(data), kind)
        except (msgspec.ValidationError, ValueError) as error:
            problem = f"the record of an interrupted command is damaged ({reason_of(error)})"
            hint = f"Look into {self.new} and {self._old}, then remove {self.folder}."
            raise OutputError(str(path), problem, hint) from error


def refuse_pending(path: Path, inner: Sequence[str]) -> None:
    """Raise OutputError if committed outputs at ``path`` have not yet been moved into place.

    ``inner`` are names of workspaces inside the folder ``path``.
    """
    if "\0" in str(path):  # nothing can be there; reading it raises the error
        return
    for workspace in (Workspace.beside(path), *(Workspace.inside(path, each) for each in inner)):
        if workspace.is_pending:
            problem = "a running or interrupted command has not finished this output"
            hint = f"If no command is running, complete it with `sparsetopics repair {path}`."
            raise OutputError(str(path), problem, hint)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()
