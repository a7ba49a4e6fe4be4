"""Files in a zip archive, read in place and piece by piece."""

from __future__ import annotations

import shutil
import stat
import struct
import weakref
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from tempfile import TemporaryFile
from typing import IO, Literal, cast

from sparsetopics.base.errors import SourceError, source_errors
from sparsetopics.base.safe_reading import open_regular
from sparsetopics.base.wording import reason_of
from sparsetopics.corpora.sources.remote import RemoteFile

_UNIX = 3  # the system in an entry that stores the mode of a file
PACKINGS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # zipfile unpacks others without a bound
MOST_UNPACKED = 1 << 30  # bytes that any packed file may unpack to
LARGEST_RATIO = 250  # of unpacked to packed bytes beyond that; for text it is 3 to 20


class Archive:
    """A zip archive, open as long as one of its members is in use.

    Another process that receives a member opens the archive again.
    """

    def __init__(self, place: Path | RemoteFile) -> None:
        self.place = place
        # Of members that are packed themselves, as far as they were read: bytes, and those packed.
        self.unpacked = [0.0, 0.0]

    def __reduce__(self) -> tuple[Callable[..., Archive], tuple[Path | RemoteFile]]:
        place = self.place.absolute() if isinstance(self.place, Path) else self.place
        return Archive, (place,)

    @cached_property
    def file(self) -> zipfile.ZipFile:
        """Raises SourceError if it cannot be opened."""
        with zip_errors(str(self.place)):
            return _opened(self.place)


@dataclass(frozen=True, eq=False)
class ZipMember:
    """A file in an archive, with the methods of ``pathlib.Path`` that reading needs."""

    archive: Archive
    inside: PurePosixPath

    def __str__(self) -> str:
        return f"{self.archive.place}/{self.inside}"

    @property
    def name(self) -> str:
        return self.inside.name

    @property
    def n_bytes(self) -> int:
        return self.info.file_size

    @property
    def info(self) -> zipfile.ZipInfo:
        """Its entry in the archive."""
        return self.archive.file.getinfo(str(self.inside))

    def open(self, mode: Literal["rb"]) -> IO[bytes]:
        """Its bytes, unpacked as they are read."""
        try:
            return self.archive.file.open(str(self.inside))
        except UnicodeDecodeError as error:  # of the name that stands beside the data once more
            raise zipfile.BadZipFile(f"a name is not UTF-8: {reason_of(error)}") from error

    def is_file(self) -> bool:
        return str(self.inside) in self.archive.file.NameToInfo

    def with_name(self, name: str) -> ZipMember:
        return ZipMember(self.archive, self.inside.with_name(name))


def zip_members(path: Path | RemoteFile) -> list[ZipMember]:
    """The files of an archive, sorted by name, without links, hidden files and macOS's own.

    Raises SourceError if it is damaged or encrypted, if a name points out of it, if two members
    have the same name, or if its members claim more data than it has.
    """
    archive = Archive(path)
    with zip_errors(str(path)):
        n_bytes = path.stat().st_size if isinstance(path, Path) else path.n_bytes
    for info in archive.file.infolist():
        _check_name(info, str(path))
    infos = [info for info in archive.file.infolist() if not info.is_dir() and not _is_link(info)]
    for info in infos:
        _check_member(info, str(path))
    n_packed = sum(info.compress_size for info in infos)
    if n_packed > n_bytes:  # then members share their data, as in a bomb
        problem = f"members of {n_packed:,} packed bytes cannot fit in a file of {n_bytes:,}"
        raise SourceError(str(path), problem)
    check_unpacked(sum(info.file_size for info in infos), n_bytes, str(path))
    members = [ZipMember(archive, PurePosixPath(info.filename)) for info in infos]
    shown = [member for member in members if not _is_hidden(member.inside)]
    refuse_twice([str(member.inside) for member in shown], str(path))
    return sorted(shown, key=lambda member: str(member.inside))


def _opened(path: Path | RemoteFile) -> zipfile.ZipFile:
    """The open archive: read in place, or copied to disk if its service allows no seeking."""
    with ExitStack() as opened:
        raw = open_regular(path) if isinstance(path, Path) else path.open("rb")
        stream = opened.enter_context(raw)
        if not stream.seekable():
            copy = opened.enter_context(TemporaryFile())
            shutil.copyfileobj(stream, copy)
            stream = cast(IO[bytes], copy)
        archive = zipfile.ZipFile(stream)
        weakref.finalize(archive, opened.pop_all().close)  # a ZipFile does not close its stream
    return archive


def _check_name(info: zipfile.ZipInfo, archive_name: str) -> None:
    parts = info.filename.replace("\\", "/").split("/")
    if ".." in parts or parts[0] == "" or ":" in parts[0]:
        raise SourceError(archive_name, f"a member leads out of the archive: {info.filename!r}")


def _check_member(info: zipfile.ZipInfo, archive_name: str) -> None:
    name = PurePosixPath(info.filename)
    if str(name) != info.filename or not name.parts:
        raise SourceError(archive_name, f"a member has no plain name: {info.filename!r}")
    check_packing(info, f"{archive_name}/{info.filename}")
    if info.flag_bits & 1:
        problem = f"a member is encrypted: {info.filename!r}"
        raise SourceError(archive_name, problem, "Unpack the archive first.")


def _is_link(info: zipfile.ZipInfo) -> bool:
    return info.create_system == _UNIX and stat.S_ISLNK(info.external_attr >> 16)


def _is_hidden(inside: PurePosixPath) -> bool:
    return inside.parts[0] == "__MACOSX" or any(part[0] == "." for part in inside.parts)


def refuse_twice(names: Sequence[str], where: str) -> None:
    """SourceError if two members have the same name, since a reader would see only the last."""
    twice = next((name for name, count in Counter(names).items() if count > 1), None)
    if twice is not None:
        hint = "Pack the files again under different names."
        raise SourceError(where, f"two members have the same name: {twice!r}", hint)


def check_packing(info: zipfile.ZipInfo, where: str) -> None:
    """SourceError for a compression that cannot be unpacked piece by piece."""
    if info.compress_type not in PACKINGS:
        problem = f"expected members stored or deflated, but found method {info.compress_type}"
        raise SourceError(where, problem, "Pack the files again, or unpack them first.")


def check_unpacked(n_bytes: int, n_packed: int, where: str) -> None:
    """SourceError for a bomb: no data unpack to so much more than their packed size."""
    if n_bytes > MOST_UNPACKED and n_bytes > LARGEST_RATIO * n_packed:
        problem = f"{n_packed:,} bytes unpack to {n_bytes:,} or more, but may unpack to at most "
        problem += f"{LARGEST_RATIO} times as many, or to {MOST_UNPACKED:,}"
        raise SourceError(where, problem, "If this is intended, unpack the file yourself.")


def check_members(archive: zipfile.ZipFile, where: str) -> int:
    """The unpacked bytes of an archive that users see as one file; SourceError if members have the
    same name, are packed in a way that is not read, or are a bomb."""
    infos = archive.infolist()
    refuse_twice([info.filename for info in infos], where)
    for info in infos:
        check_packing(info, f"{where}, {info.filename}")
    n_bytes = sum(info.file_size for info in infos)
    check_unpacked(n_bytes, sum(info.compress_size for info in infos), where)
    return n_bytes


@contextmanager
def zip_errors(where: str) -> Iterator[None]:
    """Turn the errors of a damaged archive, or of an unknown compression, into a SourceError."""
    kinds = (
        *(zipfile.BadZipFile, zlib.error, EOFError, struct.error),
        *(ValueError, OverflowError),  # of names and sizes that are damaged
        *(NotImplementedError, RuntimeError),  # an unknown compression or encryption
    )
    hint = "Copy or download it again."
    with (
        source_errors(where, OSError, "cannot be read"),
        source_errors(where, kinds, "damaged or unreadable zip data", hint),
    ):
        yield
