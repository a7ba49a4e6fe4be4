"""From the paths a user names to the list of files to read, and their format."""

from __future__ import annotations

import glob
from collections.abc import Iterable, Sequence
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


def find_files(sources: Iterable[str | Path], suffixes: Sequence[str] | None) -> list[SourceFile]:
    """The files meant by paths, folders (searched through) and glob patterns, in a fixed order.

    Of a folder, only files whose extension is in ``suffixes`` are taken, all if None. Files named
    one by one or by a pattern are always taken; hidden files of folders never.
    """
    files: list[SourceFile] = []
    for source in sources:
        files += _expanded(Path(source), suffixes)
    if not files:
        raise SourceError("sources", found="none", wanted="at least one file, folder or pattern")
    return files


def _expanded(source: Path, suffixes: Sequence[str] | None) -> list[SourceFile]:
    if source.is_dir():
        return _files_in(source, suffixes)
    if source.exists():
        return [SourceFile(source, source.name)]
    matches = [Path(match) for match in sorted(glob.glob(str(source), recursive=True))]
    if not matches:
        raise SourceError(
            str(source),
            found="no such file, folder or match of the pattern",
            wanted="an existing source",
        )
    return [file for match in matches for file in _expanded(match, suffixes)]


def _files_in(folder: Path, suffixes: Sequence[str] | None) -> list[SourceFile]:
    names = sorted(
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and not any(part[0] == "." for part in path.relative_to(folder).parts)
    )
    files = [SourceFile(folder / name, name) for name in names]
    taken = [file for file in files if suffixes is None or bare_suffix(file.path) in suffixes]
    if not taken:
        wanted = "files" if suffixes is None else f"files ending in {', '.join(suffixes)}"
        raise SourceError(
            str(folder),
            found=f"{len(files)} files of other kinds" if files else "an empty folder",
            wanted=f"{wanted} (or these with .gz)",
            hint="Name the files, or choose --format." if files else "",
        )
    return taken
