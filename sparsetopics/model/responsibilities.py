"""Compressed sparse rows of a batch: responsibilities r_uk, and the topics of its documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np

from sparsetopics.base.batches import Arrays, IntArray
from sparsetopics.base.soundness import LARGEST_SHARE, check_own_fields, check_rows, require
from sparsetopics.kernels import summaries as summary_kernels
from sparsetopics.kernels.types import SparseShares

TOPIC_ARRAYS = ("starts", "topics", "counts")  # of documents, in files


class Responsibilities(SparseShares):
    """One sparse row of shares for each document-word pair."""

    __slots__ = ()

    def check(self, n_pairs: int, n_topics: int) -> None:
        """ValueError unless kernels can safely use a file's arrays with these sizes."""
        check_own_fields(self)
        check_rows(*self, n_topics, "responsibilities", largest=LARGEST_SHARE)
        n_rows = len(self.starts) - 1
        require(n_rows == n_pairs, f"responsibilities of {n_rows:,} pairs, not {n_pairs:,}")

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """The rows of all ``parts``, one part after the other."""
        if len(parts) == 1:
            return parts[0]
        starts, topics, shares = zip(cls.unknown(0), *parts, strict=True)
        ends = np.cumsum(np.concatenate([np.diff(each) for each in starts]))
        return cls(np.append(0, ends), np.concatenate(topics), np.concatenate(shares))

    @classmethod
    def unknown(cls, n_rows: int) -> Self:
        """No entries in any row."""
        return cls(np.zeros(n_rows + 1, np.int64), np.zeros(0, np.uint32), np.zeros(0, np.float32))

    def rows(self, first: int, last: int) -> Self:
        """Consecutive rows, for kernels: all entries stay, none is copied."""
        return self._replace(starts=self.starts[first : last + 1])

    def take(self, pairs: IntArray) -> Responsibilities:
        """The rows of ``pairs``, in that order."""
        return Responsibilities(*summary_kernels.take_rows(self, self, pairs))

    def replaced(self, pairs: IntArray, others: Responsibilities) -> Responsibilities:
        """With the rows of ``others`` in place of those of ``pairs``."""
        rows = np.arange(len(self.starts) - 1)
        rows[pairs] = len(rows) + np.arange(len(pairs))
        return Responsibilities(*summary_kernels.take_rows(self, others, rows))

    def renumbered(self, new_topics: IntArray) -> Self:
        """Topic k becomes ``new_topics[k]``; -1 leaves it out, equal numbers merge."""
        return type(self)(*summary_kernels.renumber(SparseShares(*self), new_topics))


class DocumentTopics(Responsibilities):
    """N_dk in tokens, of the last visit, from which a later one may start; a row for each document.

    They are in the place of shares, positive, and a topic is at most once in a row. Documents
    without entries start cold.
    """

    __slots__ = ()

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> DocumentTopics:
        """The inverse of ``to_arrays``."""
        return cls(*(arrays[name] for name in TOPIC_ARRAYS))

    def to_arrays(self) -> Arrays:
        """The arrays by their names in files."""
        return dict(zip(TOPIC_ARRAYS, self, strict=True))

    def check_topics(self, n_topics: int) -> None:
        """ValueError unless kernels can safely use a file's arrays with ``n_topics`` topics."""
        check_own_fields(self)
        check_rows(*self, n_topics, "topics of documents")
        documents = np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))
        entries = np.sort(documents * n_topics + self.topics)
        require((entries[1:] != entries[:-1]).all(), "topics of documents name one twice")
