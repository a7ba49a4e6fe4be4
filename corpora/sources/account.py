"""Which of the files that sources name are read, as what, and which are left out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePath
from typing import NamedTuple

from sparsetopics.base.wording import printable, quantity
from sparsetopics.corpora.sources.byte_stream import Place, SourceFile, packing_of

MOST_NAMED = 3  # files of a kind, in messages and in JSON
_NO_FILE = "no regular file"  # a pipe, a device or a link to nothing
_LINK = "link"
_NO_EXTENSION = "without extension"


class FileGroup(NamedTuple):
    """Files of one kind."""

    kind: str  # a format or "vocabulary"; of files that are left out, their extension
    n_files: int
    names: tuple[str, ...]  # of the first three

    @classmethod
    def of(cls, kind: str, files: Sequence[SourceFile]) -> FileGroup:
        return cls(kind, len(files), tuple(printable(file.name) for file in files[:MOST_NAMED]))

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
    return printable(suffix.lower()) or _NO_EXTENSION
