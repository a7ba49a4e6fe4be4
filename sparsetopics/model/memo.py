"""Where memoized arrays of batches live: in memory up to a budget, then in files."""

from __future__ import annotations

import hashlib
import os
import re
import struct
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sparsetopics.base.array_files import read_archived
from sparsetopics.base.batches import Arrays
from sparsetopics.base.errors import RunError
from sparsetopics.base.wording import reason_of

MEMORY_BUDGET = 256 * 2**20  # in bytes
PATTERN = "memo-*.npz"
_DIRECTORY_BYTES = 4096  # the directory of a zip file of a few arrays is shorter
_NAME = re.compile(r"memo-(\d{8,18})\.npz")

Check = Callable[[Arrays], None]  # raises ValueError, KeyError or TypeError if unsound


class Memo:
    """Keeps arrays in ``budget`` bytes of memory, and those that do not fit in ``folder``.

    A file is never rewritten. With ``versioned``, discarded files stay until ``sweep``, because the
    last checkpoint may name them.
    """

    def __init__(
        self, folder: Path, budget: int = MEMORY_BUDGET, *, versioned: bool = False
    ) -> None:
        self._folder = folder
        self._left = budget
        self._versioned = versioned
        names = (_NAME.fullmatch(path.name) for path in folder.glob(PATTERN))
        self._written = max((int(name[1]) for name in names if name), default=0)
        self._unsynced: set[Path] = set()
        self._adopted: set[Path] = set()
        self._discarded: set[Path] = set()

    def keep(self, arrays: Arrays) -> StoredArrays:
        size = sum(array.nbytes for array in arrays.values())
        if size <= self._left:
            self._left -= size
            return InMemory(arrays, size, self)
        self._written += 1
        path = self._folder / f"memo-{self._written:08d}.npz"
        with path.open("wb") as file:
            np.savez(file, **arrays)  # type: ignore[arg-type]  # its last option is no array
        if self._versioned:
            self._unsynced.add(path)
        return OnDisk(path, self, is_own=True)

    def adopt(self, name: str, size: int, digest: str) -> StoredArrays:
        """Arrays that an earlier process kept in a file.

        Raises RunError unless the file has ``size`` bytes and its directory the ``digest``.
        """
        path = self._folder / str(name)
        # An edited checkpoint could name any file, and files of the memo are removed later.
        if not _NAME.fullmatch(path.name) or path.parent != self._folder:
            raise RunError(str(path), f"is not the name of a memo file: {name!r}")
        hint = "Restore the state folder as a whole, or train again with --overwrite."
        if not path.is_file():
            raise RunError(str(path), f"expected a file of {size:,} bytes, but there is none", hint)
        if (n_bytes := path.stat().st_size) != size:
            raise RunError(str(path), f"expected {size:,} bytes, but found {n_bytes:,}", hint)
        kept = OnDisk(path, self, is_own=False)
        if kept.stamp()["digest"] != digest:
            raise RunError(str(path), "its arrays are not those of the checkpoint", hint)
        self._adopted.add(path)
        return kept

    def drop_strangers(self) -> None:
        """Remove files of an interrupted lap, which this process neither adopted nor wrote."""
        for path in set(self._folder.glob(PATTERN)) - self._adopted - self._unsynced:
            path.unlink()

    def release(self, size: int) -> None:
        """Take back ``size`` bytes of the budget."""
        self._left += size

    def remove(self, path: Path) -> None:
        """Remove a file that only the last checkpoint may still need."""
        if self._versioned:
            self._discarded.add(path)
        else:
            path.unlink(missing_ok=True)

    def sync(self) -> None:
        """Flush to disk the files that a checkpoint is about to name."""
        for path in self._unsynced - self._discarded:
            with path.open("rb") as file:
                os.fsync(file.fileno())
        self._unsynced.clear()

    def sweep(self) -> None:
        """Remove discarded files after a new checkpoint was written."""
        for path in self._discarded:
            path.unlink(missing_ok=True)
        self._discarded.clear()


@dataclass(frozen=True, slots=True)
class InMemory:
    """Arrays in memory."""

    arrays: Arrays
    size: int
    memo: Memo

    def load(self, check: Check) -> Arrays:
        """The arrays, unchecked: this process made them, or checked them when it resumed."""
        return self.arrays

    def discard(self) -> None:
        self.memo.release(self.size)


@dataclass(frozen=True, slots=True)
class OnDisk:
    """Arrays in a file."""

    path: Path
    memo: Memo
    is_own: bool  # written by this process, so no check is needed

    def load(self, check: Check) -> Arrays:
        """The arrays; raises RunError if the file holds what ``check`` refuses."""
        try:
            with zipfile.ZipFile(self.path) as file:
                arrays = read_archived(file)
            if not self.is_own:
                check(arrays)
        except (
            *(OSError, EOFError, ValueError, NotImplementedError, KeyError, TypeError),
            *(zipfile.BadZipFile, struct.error),
        ) as error:
            raise RunError(str(self.path), f"the file is damaged ({reason_of(error)})") from error
        return arrays

    def stamp(self) -> dict[str, int | str]:
        """The file's size, and the SHA-256 of its end, which holds the checksums of all arrays."""
        with self.path.open("rb") as file:
            n_bytes = file.seek(0, os.SEEK_END)
            file.seek(max(0, n_bytes - _DIRECTORY_BYTES))
            digest = hashlib.sha256(file.read()).hexdigest()
        return {"bytes": n_bytes, "digest": digest}

    def discard(self) -> None:
        self.memo.remove(self.path)


StoredArrays = InMemory | OnDisk  # of a batch, kept until they are replaced
