"""From the paths a user names to the list of files to read, and their format."""

from __future__ import annotations

import glob
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from sparsetopics.errors import OptionError, SourceError


class SourceFile(NamedTuple):
    """One file of the collection."""

    path: Path
    name: str  # path relative to the folder the user named, else the file's own name


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """Where in the files the documents are, and what to do with bytes that are not UTF-8.

    Without ``id_field`` or ``label_field``, fields called ``id`` and ``label`` are used where
    they exist; a field that is named must exist.
    """

    text_field: str = "text"
    id_field: str | None = None
    label_field: str | None = None
    encoding_errors: str = "strict"  # "strict" or "replace"
    vocabulary_file: Path | None = None  # UCI bag of words: one word a line

    def __post_init__(self) -> None:
        if self.encoding_errors not in ("strict", "replace"):
            raise OptionError(
                "encoding_errors", found=repr(self.encoding_errors), wanted="strict or replace"
            )


def bare_suffix(path: Path) -> str:
    """The extension that tells the format: ``.jsonl`` for both ``a.jsonl`` and ``a.JSONL.gz``."""
    return Path(path.stem if path.suffix == ".gz" else path.name).suffix.lower()


def find_files(
    sources: Iterable[str | Path], belongs: Callable[[Path], bool], *, or_all: bool
) -> list[SourceFile]:
    """The files meant by paths, folders (searched through) and glob patterns, in a fixed order.

    Files named one by one or by a pattern are always taken. Of a folder, files that ``belongs``
    knows are taken; if it knows none, ``or_all`` takes all of them. Hidden files never are.
    Raises SourceError for a source that is missing, or a folder without such files.
    """
    files: list[SourceFile] = []
    for source in sources:
        for path in _matches(Path(source)):
            if path.is_dir():
                files += _files_in(path, belongs, or_all=or_all)
            else:
                files.append(SourceFile(path, path.name))
    if not files:
        raise SourceError("sources", found="none", wanted="at least one file, folder or pattern")
    return files


def _matches(source: Path) -> list[Path]:
    if source.exists():
        return [source]
    matches = [Path(match) for match in sorted(glob.glob(str(source), recursive=True))]
    if not matches:
        raise SourceError(
            str(source),
            found="no such file or folder, and no match for it as a pattern",
            wanted="an existing source",
        )
    return matches


def _files_in(folder: Path, belongs: Callable[[Path], bool], *, or_all: bool) -> list[SourceFile]:
    names = sorted(
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and not any(part[0] == "." for part in path.relative_to(folder).parts)
    )
    files = [SourceFile(folder / name, name) for name in names]
    taken = [file for file in files if belongs(file.path)]
    if not taken and or_all:
        taken = files
    if not taken:
        raise SourceError(
            str(folder),
            found=f"{len(files)} files, none of a known format" if files else "an empty folder",
            wanted="at least one document",
            hint="Name the format with --format." if files else "",
        )
    return taken
