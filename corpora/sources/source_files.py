"""From the paths that a user names to the files to read, and the account of those left out."""

from __future__ import annotations

import glob
import os
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path, PurePath
from typing import NamedTuple

from sparsetopics.base.errors import SourceError, source_errors
from sparsetopics.base.safe_reading import check_regular, is_utf8
from sparsetopics.base.wording import printable, quantity, reason_of
from sparsetopics.corpora.sources.archives import ZipMember, zip_members
from sparsetopics.corpora.sources.byte_stream import Place, SourceFile, absolute, packing_of
from sparsetopics.corpora.sources.remote import RemoteFile, find_remote, is_url

# Of archives and packed files that cannot be read piece by piece.
_UNREAD_PACKINGS = frozenset(
    (".7z", ".lz4", ".lzma", ".rar", ".tar", ".tbz2", ".tgz", ".txz", ".xz", ".z")
)
_BESIDE = (".json", ".xlsx")  # read in folders only if there are no other documents
_MOST_NAMED = 3  # files of a kind, in messages and in JSON
_NO_FILE = "no regular file"  # a pipe, a device or a link to nothing
_LINK = "link"


def bare_suffix(path: Place) -> str:
    """The extension that tells the format: ``.jsonl`` of both ``a.jsonl`` and ``a.JSONL.gz``."""
    return PurePath(path.name.removesuffix(packing_of(path))).suffix.lower()


def names_of(files: Sequence[SourceFile]) -> str:
    """A short name for all files, for messages."""
    first, *others = files
    return f"{first.path} and {quantity(len(others), 'more file')}" if others else str(first.path)


def local_paths(sources: Iterable[str | Path]) -> list[Path]:
    """The sources on this disk, as paths."""
    return [Path(source) for source in sources if not is_url(source)]


def without_empty(sources: Iterable[str | Path]) -> list[str | Path]:
    """The sources without empty files, folders that hold nothing else, and patterns that match
    nothing in a folder that exists."""
    return [s for s in sources if s == "" or is_url(s) or not _is_empty(Path(s))]


def _is_empty(source: Path) -> bool:
    if not _exists(source):
        fixed = (parent for parent in source.parents if not glob.has_magic(str(parent)))
        is_pattern = glob.has_magic(str(source)) and next(fixed).is_dir()
        return is_pattern and not glob.glob(str(source), recursive=True)
    if not source.is_dir():
        return source.is_file() and not source.stat().st_size
    files, *others = _files_in(source, follow_links=False)
    return not any(others) and all(isinstance(f.path, Path) and _is_empty(f.path) for f in files)


class Found(NamedTuple):
    """The files that sources name."""

    files: list[SourceFile]
    left_out: list[SourceFile]  # in folders and archives
    skipped_links: list[Path]  # in folders, that point outside or to another folder

    def say_skipped(self, say: Callable[[str], None]) -> None:
        """Pass a sentence about links that were not followed to ``say``."""
        if self.skipped_links:
            shown = ", ".join(map(str, self.skipped_links[:_MOST_NAMED]))
            n_more = len(self.skipped_links) - _MOST_NAMED
            more = f" and {n_more:,} more" if n_more > 0 else ""
            what = quantity(len(self.skipped_links), "link that leads", "links that lead")
            hint = "To read them, name them as sources or use --follow-links."
            say(f"Skipped {what} out of the folder or to another folder: {shown}{more}. {hint}")


def refuse_words_elsewhere(vocabularies: Sequence[SourceFile], listed: Collection[str]) -> None:
    """SourceError for words behind a link that leads out of their folder, unless they are listed:
    then the link leads to another file of the folder that the user named."""
    for words in (file.path for file in vocabularies if isinstance(file.path, Path)):
        if key_of(words) not in listed and _leads_out(words, words.parent.resolve()):
            problem = "the words of the counts are behind a link that leads out of their folder"
            hint = "Name the file with --vocabulary-file, or use --follow-links."
            raise SourceError(str(words), problem, hint)


def key_of(place: Place) -> str:
    """What is the same for all names of a file."""
    return os.path.abspath(place) if isinstance(place, Path) else str(place)


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
    are never read. Links in a folder, or that match a pattern, are followed to files in the same
    folder, which are read under each of their names, and to others only with ``follow_links``.
    Raises SourceError for a source that is missing or no regular file, and for a folder without
    such files.
    """
    found = Found([], [], [])

    def add_listed(where: str, listed: list[SourceFile], skipped: Sequence[Path] = ()) -> None:
        """Add those of the files of a folder or an archive that are to be read."""
        own = [file for file in listed if belongs(file.path)]
        # Settings and notes may lie beside documents and images.
        own = [file for file in own if bare_suffix(file.path) not in _BESIDE] or own
        taken = set(own or (listed if or_all else ()))
        if not taken:
            raise _nothing_to_read(where, listed, skipped)
        found.files.extend(file for file in listed if file in taken)
        found.left_out.extend(file for file in listed if file not in taken)

    def add_named(path: Path | RemoteFile) -> None:
        """Add a file, or members of an archive."""
        if _is_archive(path):
            members = [SourceFile(member, str(member.inside)) for member in zip_members(path)]
            add_listed(str(path), members)
        else:
            found.files.append(SourceFile(path, path.name))

    for source in sources:
        if source == "":  # which pathlib takes for the current folder
            raise SourceError("sources", "the name of a file, folder or pattern is empty")
        if is_url(source):
            files, folder = find_remote(str(source))
            if folder is not None:
                names = (file.path.removeprefix(folder).lstrip("/") for file in files)
                add_listed(str(source), _unpacked(map(SourceFile, files, names)))
            else:
                for file in files:
                    add_named(file)
            continue
        for path in _matches(Path(source), found, follow_links=follow_links):
            if path.is_dir():
                listed, others, skipped = _files_in(path, follow_links=follow_links)
                found.left_out.extend(others)
                found.skipped_links.extend(skipped)
                add_listed(str(path), listed, skipped)
            else:
                add_named(path)
    if not found.files:
        raise SourceError("sources", "expected at least one file, folder or pattern")
    for each in found.files:
        _check_name(each.path)
    return found


def _check_name(path: Place) -> None:
    """SourceError for a name that is not UTF-8, which no id and no message can hold, and for an
    archive or a compression that is not read, whatever format is wanted."""
    if not is_utf8(str(absolute(path))):
        raise SourceError(str(path), "the path is not UTF-8", "Rename the file.")
    packing = bare_suffix(path)
    if packing in _UNREAD_PACKINGS:
        hint = "Unpack it, or pack an archive as .zip and a single file as .gz, .zst or .bz2."
        raise SourceError(str(path), f"files packed as {packing} are not read", hint)


def _matches(source: Path, found: Found, *, follow_links: bool) -> list[Path]:
    """The files and folders that a path or pattern names; skipped links are added to ``found``."""
    if _exists(source):
        matches = [source]
    else:
        matches = [Path(match) for match in sorted(glob.glob(str(source), recursive=True))]
        if matches and not follow_links:
            links = {match: _link_out(match, source) for match in matches}
            skipped = list(dict.fromkeys(link for link in links.values() if link))
            found.skipped_links.extend(skipped)
            matches = [match for match in matches if links[match] is None]
            if not matches:
                raise _nothing_to_read(str(source), [], skipped)
    if not matches:
        raise SourceError(str(source), "no file or folder has this name or matches this pattern")
    for match in matches:
        try:
            if not match.is_dir():
                check_regular(match)
        except OSError as error:
            hint = "Write its content to a file first." if match.exists() else ""
            raise SourceError(str(match), f"cannot be read ({reason_of(error)})", hint) from error
    return matches


def _exists(source: Path) -> bool:
    try:
        source.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError) as error:  # of a name that is too long or that holds a NUL byte
        if glob.has_magic(str(source)):
            return False
        raise SourceError(str(source), f"cannot be read ({reason_of(error)})") from error
    return True


def _link_out(match: Path, pattern: Path) -> Path | None:
    """The first link among the parts that a pattern matched, if it would be skipped in a folder."""
    n_fixed = next(n for n, part in enumerate(pattern.parts) if glob.has_magic(part))
    ways = [match, *match.parents][: len(match.parts) - n_fixed]
    root = Path(*match.parts[:n_fixed]).resolve()
    return next((way for way in reversed(ways) if _leads_out(way, root)), None)


def _leads_out(path: Path, root: Path) -> bool:
    """Whether this is a link to a folder, or to a file outside the folder ``root``."""
    is_link = path.is_symlink()
    return is_link and (path.is_dir() or (path.is_file() and root not in path.resolve().parents))


def _is_archive(path: Place) -> bool:
    return PurePath(path.name).suffix.lower() == ".zip"


def _files_in(
    folder: Path, *, follow_links: bool
) -> tuple[list[SourceFile], list[SourceFile], list[Path]]:
    """All files of a folder and the members of its archives, except hidden ones; what else lies
    there, such as pipes and broken links; and the links that were skipped."""
    paths: list[Path] = []
    others: list[Path] = []
    skipped: list[Path] = []
    root = folder.resolve()
    waiting: list[tuple[Path, tuple[Path, ...]]] = [(folder, (root,))]
    while waiting:
        parent, above = waiting.pop()
        for path in _entries(parent):
            if not follow_links and _leads_out(path, root):
                skipped.append(path)
            elif path.is_dir():
                # Following a link to a folder above would never end.
                if path.resolve() not in above:
                    waiting.append((path, (*above, path.resolve())))
            else:
                (paths if path.is_file() else others).append(path)
    return _unpacked(_named_in(folder, paths)), _named_in(folder, others), sorted(skipped)


def _named_in(folder: Path, paths: Iterable[Path]) -> list[SourceFile]:
    """The files under their names in a folder, in the order of these."""
    listed = [SourceFile(path, path.relative_to(folder).as_posix()) for path in paths]
    return sorted(listed, key=lambda file: file.name)


def _entries(folder: Path) -> list[Path]:
    """The entries of a folder that are not hidden."""
    with source_errors(str(folder), OSError, "cannot be read"):
        return [path for path in folder.iterdir() if not path.name.startswith(".")]


def _unpacked(listed: Iterable[SourceFile]) -> list[SourceFile]:
    """The files of a folder that are not hidden, with archives replaced by their members."""
    files: list[SourceFile] = []
    for place, name, _ in listed:
        if any(part[0] == "." for part in name.split("/")):
            continue
        if _is_archive(place) and not isinstance(place, ZipMember):
            members = zip_members(place)
            files += [SourceFile(member, f"{name}/{member.inside}") for member in members]
        else:
            files.append(SourceFile(place, name))
    return files


def _nothing_to_read(source: str, files: list[SourceFile], skipped: Sequence[Path]) -> SourceError:
    """The error for a folder or an archive without a file to read."""
    problem, hint = "holds no files", ""
    if files:
        kinds = ", ".join(f"{n} {kind}" for kind, n, _ in groups_of_left_out(files, ()))
        problem = f"none of {quantity(len(files), 'file')} has a known format ({kinds})"
        hint = "Name the format with --format."
    if skipped:
        links = quantity(len(skipped), "link")
        problem += f"; left out {links} that lead out of the folder, such as {skipped[0]}"
        hint = "Use --follow-links to read what the links point to."
    return SourceError(source, problem, hint)


# --- for people -----------------------------------------------------------------------------------
class FileGroup(NamedTuple):
    """Files of one kind."""

    kind: str  # a format or "vocabulary"; of files that are left out, their extension
    n_files: int
    names: tuple[str, ...]  # of the first three

    @classmethod
    def of(cls, kind: str, files: Sequence[SourceFile]) -> FileGroup:
        return cls(kind, len(files), tuple(printable(file.name) for file in files[:_MOST_NAMED]))

    @property
    def named(self) -> str:
        """``(a.txt, b.txt, c.txt, …)``."""
        more = ", …" if self.n_files > len(self.names) else ""
        return f"({', '.join(self.names)}{more})"


class FileAccount(NamedTuple):
    """What happens to the files that sources name; hidden files are not among them."""

    read: tuple[FileGroup, ...]
    left_out: tuple[FileGroup, ...]

    def __str__(self) -> str:
        """``Read 2 files as text (a.txt, b.txt). Left out 1 file: 1 .md (notes.md).``"""
        parts = [f"{quantity(own.n_files, 'file')} as {own.kind} {own.named}" for own in self.read]
        said = [f"Read {' and '.join(parts)}.", self.said_of_left_out]
        # Only plain text is often found under other extensions.
        others = [group for group in self.left_out if group.kind not in (_LINK, _NO_FILE)]
        if others and [group.kind for group in self.read] == ["text"]:
            said.append("To read them, name them with a pattern and --format.")
        return " ".join(said).rstrip()

    @property
    def said_of_left_out(self) -> str:
        """The second sentence, which is empty if no file was left out."""
        # Links are told with what to do about them (``Found.say_skipped``).
        groups = [group for group in self.left_out if group.kind != _LINK]
        parts = [f"{group.n_files:,} {group.kind} {group.named}" for group in groups]
        n_files = sum(group.n_files for group in groups)
        return f"Left out {quantity(n_files, 'file')}: {', '.join(parts)}." if parts else ""

    def as_dict(self) -> dict[str, list[dict[str, str | int | Sequence[str]]]]:
        """The groups for JSON."""
        return {name: [each._asdict() for each in own] for name, own in self._asdict().items()}


def groups_of_left_out(files: Iterable[SourceFile], links: Sequence[Path]) -> tuple[FileGroup, ...]:
    """Files by extension, the largest groups first, and links that were not followed."""
    by_kind: dict[str, list[SourceFile]] = defaultdict(list)
    for file in files:
        by_kind[_kind_of(file.path)].append(file)
    if links:
        by_kind[_LINK] = [SourceFile(link, link.name) for link in links]
    groups = [FileGroup.of(kind, own) for kind, own in sorted(by_kind.items())]
    return tuple(sorted(groups, key=lambda group: -group.n_files))


def _kind_of(path: Place) -> str:
    """``.html`` of a.html, ``.html.gz`` of a.html.gz."""
    if isinstance(path, Path) and not path.is_file():
        return _NO_FILE
    packing = packing_of(path)
    suffix = PurePath(path.name.removesuffix(packing)).suffix + packing
    return printable(suffix.lower()) or "without extension"
