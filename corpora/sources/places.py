"""Where a source file can be: on this disk, behind a URL, or in a zip archive of either."""

from __future__ import annotations

from pathlib import Path
from typing import IO, TypeAlias

from sparsetopics.base.safe_reading import open_regular
from sparsetopics.corpora.sources.archives import ZipMember
from sparsetopics.corpora.sources.remote import RemoteFile

#: Something to read. All kinds have name, stem and suffix, ``open("rb")`` and ``with_name``.
Place: TypeAlias = Path | RemoteFile | ZipMember


def open_place(place: Place) -> IO[bytes]:
    """The bytes as they are stored; OSError if this is not a regular file or cannot be read."""
    return open_regular(place) if isinstance(place, Path) else place.open("rb")


def absolute(place: Place) -> Place:
    """The same for processes with a working directory of their own."""
    return place.absolute() if isinstance(place, Path) else place


def n_bytes_of(place: Place) -> int:
    """As it is stored: packed, if its name says so. Raises OSError if it is gone."""
    return place.stat().st_size if isinstance(place, Path) else place.n_bytes


def has_sibling(place: Place, prefix: str) -> bool:
    """Whether a file beside ``place`` has a name that starts with ``prefix``."""
    if isinstance(place, Path):
        return any(place.parent.glob(f"{prefix}*"))
    return place.has_sibling(prefix)
