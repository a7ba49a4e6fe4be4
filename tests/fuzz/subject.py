"""What is fuzzed: a sound folder of files, which of them are damaged and how, and a reader."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from fuzz.mutation import Change


def nothing(folder: Path) -> None:
    """No checksums to make true."""


@dataclass(frozen=True)
class Subject:
    """One reader or loader with a sound example of what it reads."""

    files: Mapping[str, bytes]  # by path inside the folder
    read: Callable[[Path], object]  # of the folder; raises SparsetopicsError for what it refuses
    targets: tuple[str, ...] = ()  # files that are damaged; all if empty
    changes: Mapping[str, Change] = field(default_factory=dict)  # that know a target's format
    tokens: tuple[bytes, ...] = ()  # words of the format
    seal: Callable[[Path], None] = nothing  # makes checksums true again
    read_rarely: Callable[[Path], object] = nothing  # dearer: after few of the cases

    @property
    def damaged(self) -> tuple[str, ...]:
        return self.targets or tuple(self.files)


def files_of(folder: Path) -> dict[str, bytes]:
    """All files of a folder by their paths inside it."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
