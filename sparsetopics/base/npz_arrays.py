"""Arrays in a zip archive without compression, as checkpoints and the memo keep them."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping
from typing import Any

from numpy.typing import NDArray

from sparsetopics.base.npy_arrays import read_npy

SUFFIX = ".npy"


class ArchivedArrays(Mapping[str, NDArray[Any]]):
    """The arrays of an open archive by name, read when asked for.

    Raises ValueError for one that is damaged or packed: what is only stored is no larger in memory
    than on disk.
    """

    def __init__(self, file: zipfile.ZipFile) -> None:
        self._file = file

    def __getitem__(self, name: str) -> NDArray[Any]:
        info = _stored(self._file, f"{name}{SUFFIX}")
        with self._file.open(info) as member:
            array = read_npy(member)
            if member.read(1):  # to the end, where the checksum is compared
                raise ValueError(f"{name} has more data than its head says")
            return array

    def __iter__(self) -> Iterator[str]:
        return (n.removesuffix(SUFFIX) for n in self._file.namelist() if n.endswith(SUFFIX))

    def __len__(self) -> int:
        return sum(1 for _ in self)


def read_member(file: zipfile.ZipFile, name: str) -> bytes:
    """The bytes of another member; KeyError if there is none."""
    return file.read(_stored(file, name))


def _stored(file: zipfile.ZipFile, name: str) -> zipfile.ZipInfo:
    info = file.getinfo(name)
    if info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size:
        raise ValueError(f"{name} is packed")
    return info
