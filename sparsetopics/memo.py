"""Where memoized arrays of batches live: in memory up to a budget, then in files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

MEMORY_BUDGET = 256 * 2**20  # bytes

Arrays = Mapping[str, NDArray[Any]]


class StoredArrays(Protocol):
    """Arrays of a batch, kept until they are replaced."""

    def load(self) -> Arrays: ...

    def discard(self) -> None: ...


class Memo:
    """Keeps arrays; ``folder`` holds those for which ``budget`` bytes of memory are too few."""

    def __init__(self, folder: Path, budget: int = MEMORY_BUDGET) -> None:
        self._folder = folder
        self._left = budget
        self._written = 0

    def keep(self, arrays: Arrays) -> StoredArrays:
        size = sum(array.nbytes for array in arrays.values())
        if size <= self._left:
            self._left -= size
            return _InMemory(arrays, size, self)
        self._written += 1
        path = self._folder / f"memo-{self._written:08d}.npz"
        with path.open("wb") as file:
            np.savez(file, **arrays)  # type: ignore[arg-type]  # its last option is no array
        return _OnDisk(path)

    def release(self, size: int) -> None:
        """Take back ``size`` bytes of the budget."""
        self._left += size


@dataclass(frozen=True, slots=True)
class _InMemory:
    arrays: Arrays
    size: int
    memo: Memo

    def load(self) -> Arrays:
        return self.arrays

    def discard(self) -> None:
        self.memo.release(self.size)


@dataclass(frozen=True, slots=True)
class _OnDisk:
    path: Path

    def load(self) -> Arrays:
        with np.load(self.path, allow_pickle=False) as arrays:
            return dict(arrays)

    def discard(self) -> None:
        self.path.unlink(missing_ok=True)
