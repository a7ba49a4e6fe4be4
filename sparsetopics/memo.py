"""Where memoized summaries of batches live: in memory up to a budget, then in files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from sparsetopics.statistics import DocumentTerms, SparseCounts, Summary

MEMORY_BUDGET = 256 * 2**20  # bytes


class StoredSummary(Protocol):
    """A batch's summary, kept until it is replaced."""

    def load(self) -> Summary: ...

    def discard(self) -> None: ...


class Memo:
    """Keeps summaries; ``folder`` holds those for which ``budget`` bytes of memory are too few."""

    def __init__(self, folder: Path, budget: int = MEMORY_BUDGET) -> None:
        self._folder = folder
        self._left = budget
        self._written = 0

    def keep(self, summary: Summary) -> StoredSummary:
        size = sum(array.nbytes for array in summary.word_counts)
        if size <= self._left:
            self._left -= size
            return _InMemory(summary, size, self)
        self._written += 1
        path = self._folder / f"memo-{self._written:08d}.npz"
        _write(path, summary)
        return _OnDisk(path)

    def release(self, size: int) -> None:
        """Take back ``size`` bytes of the budget."""
        self._left += size


@dataclass(frozen=True, slots=True)
class _InMemory:
    summary: Summary
    size: int
    memo: Memo

    def load(self) -> Summary:
        return self.summary

    def discard(self) -> None:
        self.memo.release(self.size)


@dataclass(frozen=True, slots=True)
class _OnDisk:
    path: Path

    def load(self) -> Summary:
        with np.load(self.path, allow_pickle=False) as arrays:
            counts = SparseCounts(*(arrays[name] for name in SparseCounts._fields))
            terms = DocumentTerms._make(
                arrays[name] if arrays[name].ndim else float(arrays[name])
                for name in DocumentTerms._fields
            )
        return Summary(counts, terms)

    def discard(self) -> None:
        self.path.unlink(missing_ok=True)


def _write(path: Path, summary: Summary) -> None:
    with path.open("wb") as file:
        np.savez(file, **summary.word_counts._asdict(), **summary.terms._asdict())
