"""From the paths that a user names to the files to read, and their format."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path, PurePath
from typing import NamedTuple

from sparsetopics.base.errors import OptionError, SourceError
from sparsetopics.base.safe_reading import check_regular
from sparsetopics.corpora.sources.archives import ZipMember, zip_members
from sparsetopics.corpora.sources.byte_stream import PACKED_SUFFIXES, Place
from sparsetopics.corpora.sources.remote import RemoteFile, find_remote, is_url

_MOST_SHOWN = 3  # names of links, in a message


class SourceFile(NamedTuple):
    """One file to read."""

    path: Place
    name: str  # path relative to the folder or archive the user named, else the file's own name


def bare_suffix(path: Place) -> str:
    """The extension that tells the format: ``.jsonl`` of both ``a.jsonl`` and ``a.JSONL.gz``."""
    is_packed = path.suffix in PACKED_SUFFIXES
    return PurePath(path.stem if is_packed else path.name).suffix.lower()


def names_of(files: Sequence[SourceFile]) -> str:
    """A short name for all files, for messages."""
    first, *others = files
    return f"{first.path} and {len(others)} more files" if others else str(first.path)


# Takes the files of a folder or an archive, and returns those to read.
_Chosen = Callable[[list[SourceFile]], list[SourceFile]]


class FormatTable(NamedTuple):
    """The formats of one kind of corpus, and how to recognise them by file name."""

    names: Collection[str]
    format_of: Callable[[Place], str | None]  # that a file name means
    extensions: str  # those known, for a message


class Found(NamedTuple):
    """The files that sources name."""

    files: list[SourceFile]
    skipped_links: list[Path]  # in folders, that point outside or to another folder

    def say_skipped(self, say: Callable[[str], None]) -> None:
        """Pass a sentence about links that were not followed to ``say``."""
        if self.skipped_links:
            shown = ", ".join(map(str, self.skipped_links[:_MOST_SHOWN]))
            n_more = len(self.skipped_links) - _MOST_SHOWN
            more = f" and {n_more:,} more" if n_more > 0 else ""
            what = "link that leads" if len(self.skipped_links) == 1 else "links that lead"
            say(
                f"Skipped {len(self.skipped_links):,} {what} out of the folder or to another "
                f"folder: {shown}{more}. To read them, name them as sources or use --follow-links."
            )


def find_of_one_format(
    sources: Iterable[str | Path],
    format_name: str | None,
    table: FormatTable,
    *,
    follow_links: bool,
    say: Callable[[str], None],
) -> tuple[list[SourceFile], str]:
    """The files that ``sources`` name, and their format: ``format_name``, or that of the extension.

    ``say`` gets a sentence about links that are skipped without ``follow_links``.
    Raises SourceError if a source is missing, of no known format or of another than the first;
    OptionError if ``format_name`` is unknown.
    """
    if format_name is not None and format_name not in table.names:
        raise OptionError(
            "format", found=repr(format_name), wanted=f"one of {', '.join(table.names)}"
        )

    def belongs(path: Place) -> bool:
        known = table.format_of(path)
        return known is not None if format_name is None else known == format_name

    found = find_files(sources, belongs, or_all=format_name is not None, follow_links=follow_links)
    found.say_skipped(say)
    if format_name is not None:
        return found.files, format_name
    names = [_known_format(file.path, table) for file in found.files]
    for file, name in zip(found.files, names, strict=True):
        if name != names[0]:
            raise SourceError(
                str(file.path),
                found=f"format {name} after {names[0]} in {found.files[0].path}",
                wanted="files of one format",
                hint="Ingest them apart, or choose one with --format.",
            )
    return found.files, names[0]


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
    sources: Iterable[str | Path],
    belongs: Callable[[Place], bool],
    *,
    or_all: bool,
    follow_links: bool = False,
) -> Found:
    """The files that paths, folders, archives, glob patterns and URLs name, in a fixed order.

    Files that a path or a pattern names are always read. In folders, subfolders and zip archives,
    those that ``belongs`` accepts are read; if it accepts none, ``or_all`` reads all. Hidden files
    are never read. Links in a folder are followed to files in the same folder, which are read under
    each of their names, and to others only with ``follow_links``. Raises SourceError for a source
    that is missing or no regular file, and for a folder without such files.
    """

    def chosen(listed: list[SourceFile]) -> list[SourceFile]:
        own = [file for file in listed if belongs(file.path)]
        return listed if or_all and not own else own

    found = Found([], [])
    for source in sources:
        if source == "":  # which pathlib takes for the current folder
            raise SourceError("sources", found="an empty name", wanted="a file, folder or pattern")
        if is_url(source):
            found.files.extend(_remote_files(str(source), chosen))
            continue
        for path in _matches(Path(source), found, follow_links=follow_links):
            if path.is_dir():
                listed, skipped = _files_in(path, follow_links=follow_links)
                found.skipped_links.extend(skipped)
                found.files.extend(_taken(str(path), listed, chosen, skipped))
            else:
                found.files.extend(_named(path, chosen))
    if not found.files:
        raise SourceError("sources", found="none", wanted="at least one file, folder or pattern")
    return found


def _remote_files(url: str, chosen: _Chosen) -> Iterator[SourceFile]:
    found = find_remote(url)
    if found.folder is None:
        for file in found.files:
            yield from _named(file, chosen)
        return
    listed = [SourceFile(file, found.name_of(file)) for file in found.files]
    yield from _taken(url, _unpacked(listed), chosen)


def _named(path: Path | RemoteFile, chosen: _Chosen) -> list[SourceFile]:
    """A named file, or the members of a named archive."""
    if not _is_archive(path):
        return [SourceFile(path, path.name)]
    members = [SourceFile(member, str(member.inside)) for member in zip_members(path)]
    return _taken(str(path), members, chosen)


def _matches(source: Path, found: Found, *, follow_links: bool) -> list[Path]:
    """The files and folders that a path or pattern names; skipped links are added to ``found``."""
    if source.exists():
        matches = [source]
    else:
        matches = [Path(match) for match in sorted(glob.glob(str(source), recursive=True))]
        if "**" in source.parts and not follow_links:
            links = {match: _link_on_the_way(match, source) for match in matches}
            found.skipped_links.extend(dict.fromkeys(link for link in links.values() if link))
            matches = [match for match in matches if links[match] is None]
    if not matches:
        raise SourceError(
            str(source),
            found="no such file or folder, and no match for it as a pattern",
            wanted="an existing source",
        )
    for match in matches:
        if not match.is_dir():
            _check_file(match)
    return matches


def _link_on_the_way(match: Path, pattern: Path) -> Path | None:
    """The first link to a folder on the path of a match, because ** follows such links."""
    n_fixed = pattern.parts.index("**")
    ways = reversed(match.parents[: len(match.parts) - 1 - n_fixed])
    return next((folder for folder in ways if folder.is_symlink()), None)


def _check_file(path: Path) -> None:
    try:
        check_regular(path)
    except OSError as error:
        raise SourceError(
            str(path),
            found=error.strerror or str(error),
            wanted="a file, folder or pattern",
            hint="Write its content to a file first." if path.exists() else "",
        ) from error


def _is_archive(path: Place) -> bool:
    return path.suffix.lower() == ".zip"


def _files_in(folder: Path, *, follow_links: bool) -> tuple[list[SourceFile], list[Path]]:
    """All files of a folder and the members of its archives, except hidden ones; and the links that
    were skipped."""
    paths: list[Path] = []
    skipped: list[Path] = []
    root = folder.resolve()
    waiting: list[tuple[Path, tuple[Path, ...]]] = [(folder, (root,))]
    while waiting:
        parent, above = waiting.pop()
        for path, is_link in _entries(parent):
            is_folder = path.is_dir()
            if is_link and not follow_links and (is_folder or _leads_out(path, root)):
                skipped.append(path)
            elif is_folder:
                # Following a link to a folder above would never end.
                if path.resolve() not in above:
                    waiting.append((path, (*above, path.resolve())))
            elif path.is_file():
                paths.append(path)
    listed = [SourceFile(path, path.relative_to(folder).as_posix()) for path in paths]
    return _unpacked(sorted(listed, key=lambda file: file.name)), sorted(skipped)


def _entries(folder: Path) -> list[tuple[Path, bool]]:
    """The entries of a folder that are not hidden, and whether each is a link."""
    try:
        with os.scandir(folder) as entries:
            shown = [entry for entry in entries if not entry.name.startswith(".")]
            return [(Path(entry.path), entry.is_symlink()) for entry in shown]
    except OSError as error:
        raise SourceError(
            str(folder), found=error.strerror or str(error), wanted="a readable folder"
        ) from error


def _leads_out(link: Path, folder: Path) -> bool:
    """Whether a link points to a file outside ``folder``, a resolved path."""
    return link.is_file() and not link.resolve().is_relative_to(folder)


def _unpacked(listed: Iterable[SourceFile]) -> list[SourceFile]:
    """The files of a folder that are not hidden, with archives replaced by their members."""
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
    source: str, files: list[SourceFile], chosen: _Chosen, skipped: Sequence[Path] = ()
) -> list[SourceFile]:
    """The files of a folder or an archive that are to be read; SourceError if there are none."""
    taken = chosen(files)
    if not taken:
        found, hint = f"an empty {'archive' if source.lower().endswith('.zip') else 'folder'}", ""
        if files:
            found, hint = f"{len(files)} files, none of a known format", "Name it with --format."
        if skipped:
            found += f", and {len(skipped)} links such as {skipped[0]} out of the folder"
            hint = "Use --follow-links to read what the links point to."
        raise SourceError(source, found=found, wanted="at least one document", hint=hint)
    return taken
