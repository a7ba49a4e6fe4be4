"""From the paths a user names to the list of files to read, and their format."""

from __future__ import annotations

import glob
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import NamedTuple

from sparsetopics.corpora.archives import ZipMember, zip_members
from sparsetopics.corpora.places import Place
from sparsetopics.corpora.remote import RemoteFile, find_remote, is_url
from sparsetopics.corpora.unpacking import PACKED_SUFFIXES
from sparsetopics.errors import OptionError, SourceError


class SourceFile(NamedTuple):
    """One file of the collection."""

    path: Place
    name: str  # path relative to the folder or archive the user named, else the file's own name


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
    vocabulary_file: Path | None = None  # the words of a collection of counts

    def __post_init__(self) -> None:
        if self.encoding_errors not in ("strict", "replace"):
            raise OptionError(
                "encoding_errors", found=repr(self.encoding_errors), wanted="strict or replace"
            )


def bare_suffix(path: Place) -> str:
    """The extension that tells the format: ``.jsonl`` for both ``a.jsonl`` and ``a.JSONL.gz``."""
    is_packed = path.suffix in PACKED_SUFFIXES
    return PurePath(path.stem if is_packed else path.name).suffix.lower()


def names_of(files: Sequence[SourceFile]) -> str:
    """The files in few words, for a message about all of them."""
    first, *others = files
    return f"{first.path} and {len(others)} more files" if others else str(first.path)


class FormatTable(NamedTuple):
    """The formats of one kind of corpus, as far as finding files is concerned."""

    names: Collection[str]
    format_of: Callable[[Place], str | None]  # that a file name means
    extensions: str  # those known, for a message


def find_of_one_format(
    sources: Iterable[str | Path], format_name: str | None, table: FormatTable
) -> tuple[list[SourceFile], str]:
    """The files that ``sources`` mean and their format, told by extension unless named.

    Raises SourceError if a source is missing, of no known format or of another than the first;
    OptionError if ``format_name`` is unknown.
    """
    if format_name is not None:
        if format_name not in table.names:
            raise OptionError(
                "format", found=repr(format_name), wanted=f"one of {', '.join(table.names)}"
            )
        files = find_files(sources, lambda p: table.format_of(p) == format_name, or_all=True)
        return files, format_name
    files = find_files(sources, lambda path: table.format_of(path) is not None, or_all=False)
    names = [_known_format(file.path, table) for file in files]
    for file, name in zip(files, names, strict=True):
        if name != names[0]:
            raise SourceError(
                str(file.path),
                found=f"format {name} after {names[0]} in {files[0].path}",
                wanted="files of one format",
                hint="Ingest them apart, or choose one with --format.",
            )
    return files, names[0]


def _known_format(path: Place, table: FormatTable) -> str:
    name = table.format_of(path)
    if name is None:
        suffix = bare_suffix(path)
        raise SourceError(
            str(path),
            found=f"extension {suffix!r}" if suffix else "no extension",
            wanted=table.extensions,
            hint=f"Or name a format with --format: {', '.join(table.names)}.",
        )
    return name


def find_files(
    sources: Iterable[str | Path], belongs: Callable[[Place], bool], *, or_all: bool
) -> list[SourceFile]:
    """The files meant by paths, folders (searched through), archives, glob patterns and URLs, in
    a fixed order.

    Files named one by one or by a pattern are always taken. Of a folder or a zip archive, files
    that ``belongs`` knows are taken; if it knows none, ``or_all`` takes all of them. Hidden files
    never are. Raises SourceError for a source that is missing, or a folder without such files.
    """
    files: list[SourceFile] = []
    for source in sources:
        if is_url(source):
            files += _remote_files(str(source), belongs, or_all=or_all)
            continue
        for path in _matches(Path(source)):
            if path.is_dir():
                files += _taken(str(path), _files_in(path), belongs, or_all=or_all)
            else:
                files += _named(path, belongs, or_all=or_all)
    if not files:
        raise SourceError("sources", found="none", wanted="at least one file, folder or pattern")
    return files


def _remote_files(
    url: str, belongs: Callable[[Place], bool], *, or_all: bool
) -> Iterator[SourceFile]:
    found = find_remote(url)
    if found.folder is None:
        for file in found.files:
            yield from _named(file, belongs, or_all=or_all)
        return
    listed = [SourceFile(file, found.name_of(file)) for file in found.files]
    yield from _taken(url, _unpacked(listed), belongs, or_all=or_all)


def _named(
    path: Path | RemoteFile, belongs: Callable[[Place], bool], *, or_all: bool
) -> list[SourceFile]:
    """A file that was named: itself, or what is in it."""
    if not _is_archive(path):
        return [SourceFile(path, path.name)]
    members = [SourceFile(member, str(member.inside)) for member in zip_members(path)]
    return _taken(str(path), members, belongs, or_all=or_all)


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


def _is_archive(path: Place) -> bool:
    return path.suffix.lower() == ".zip"


def _files_in(folder: Path) -> list[SourceFile]:
    """All files of a folder, the members of archives among them, but hidden ones."""
    paths = [path for path in folder.rglob("*") if path.is_file()]
    listed = [SourceFile(path, path.relative_to(folder).as_posix()) for path in paths]
    return _unpacked(sorted(listed, key=lambda file: file.name))


def _unpacked(listed: Iterable[SourceFile]) -> list[SourceFile]:
    """The files of a folder that are not hidden, members in the place of an archive."""
    files: list[SourceFile] = []
    for place, name in listed:
        if any(part[0] == "." for part in name.split("/")):
            continue
        if _is_archive(place) and not isinstance(place, ZipMember):
            members = zip_members(place)
            files += [SourceFile(member, f"{name}/{member.inside}") for member in members]
        else:
            files.append(SourceFile(place, name))
    return files


def _taken(
    source: str, files: list[SourceFile], belongs: Callable[[Place], bool], *, or_all: bool
) -> list[SourceFile]:
    """Those of the files of a folder or an archive that are to be read."""
    taken = [file for file in files if belongs(file.path)]
    if not taken and or_all:
        taken = files
    if not taken:
        nothing = f"an empty {'archive' if source.lower().endswith('.zip') else 'folder'}"
        raise SourceError(
            source,
            found=f"{len(files)} files, none of a known format" if files else nothing,
            wanted="at least one document",
            hint="Name the format with --format." if files else "",
        )
    return taken
