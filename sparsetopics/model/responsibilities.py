"""Compressed sparse rows of a batch: responsibilities r_uk, and the topics of its documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparsetopics.base.batches import IntArray
from sparsetopics.base.soundness import LARGEST_SHARE, check_own_fields, check_rows, require
from sparsetopics.kernels import summaries as summary_kernels
from sparsetopics.kernels.types import Float32Array, SparseShares, TopicIds

SparseRows = tuple[IntArray, TopicIds, Float32Array]


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
    def joined(cls, parts: list[Responsibilities]) -> Responsibilities:
        """The rows of all ``parts``, one part after the other."""
        return cls(*joined_rows(parts))

    @classmethod
    def unknown(cls, n_pairs: int) -> Responsibilities:
        """No entries for any pair."""
        return cls(np.zeros(n_pairs + 1, np.int64), np.zeros(0, np.uint32), np.zeros(0, np.float32))

    def rows(self, first: int, last: int) -> Responsibilities:
        """Those of consecutive pairs, for kernels: all entries stay, none is copied."""
        return self._replace(starts=self.starts[first : last + 1])

    def take(self, pairs: IntArray) -> Responsibilities:
        """The rows of ``pairs``, in that order."""
        return Responsibilities(*summary_kernels.take_rows(self, self, pairs))

    def replaced(self, pairs: IntArray, others: Responsibilities) -> Responsibilities:
        """With the rows of ``others`` in place of those of ``pairs``."""
        rows = np.arange(len(self.starts) - 1)
        rows[pairs] = len(rows) + np.arange(len(pairs))
        return Responsibilities(*summary_kernels.take_rows(self, others, rows))

    def renumbered(self, new_topics: IntArray) -> Responsibilities:
        """Topic k becomes ``new_topics[k]``; -1 leaves it out, equal numbers merge."""
        return Responsibilities(*summary_kernels.renumber(SparseShares(*self), new_topics))


class DocumentTopics(NamedTuple):
    """N_dk in tokens, of the last visit, from which a later one may start.

    Documents without entries start cold.
    """

    starts: IntArray  # (n_docs + 1,)
    topics: TopicIds  # (n_entries,)  each at most once in a document
    counts: Float32Array  # (n_entries,)  positive

    def check(self, n_topics: int) -> None:
        """ValueError unless kernels can safely use a file's arrays with ``n_topics`` topics."""
        check_own_fields(self)
        check_rows(*self, n_topics, "topics of documents")
        documents = np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))
        entries = np.sort(documents * n_topics + self.topics)
        require((entries[1:] != entries[:-1]).all(), "topics of documents name one twice")

    @classmethod
    def unknown(cls, n_docs: int) -> DocumentTopics:
        """No entries for any document, so that all of them start cold."""
        return cls(*Responsibilities.unknown(n_docs))

    @classmethod
    def joined(cls, parts: Sequence[DocumentTopics]) -> DocumentTopics:
        """The documents of all parts, one part after the other."""
        return cls(*joined_rows(parts))

    def renumbered(self, new_topics: IntArray) -> DocumentTopics:
        """Topic k becomes ``new_topics[k]``; equal numbers merge."""
        return DocumentTopics(*summary_kernels.renumber(SparseShares(*self), new_topics))

    def rows(self, first: int, last: int) -> DocumentTopics:
        """Those of consecutive documents, for kernels: all entries stay, none is copied."""
        return self._replace(starts=self.starts[first : last + 1])


def joined_rows(parts: Sequence[SparseRows]) -> SparseRows:
    """The rows of all ``parts``: their starts, and the topics and values of their entries."""
    if not parts:
        return np.zeros(1, np.int64), np.zeros(0, np.uint32), np.zeros(0, np.float32)
    if len(parts) == 1:
        return parts[0]
    starts, topics, values = zip(*parts, strict=True)
    lengths = np.concatenate([np.diff(part) for part in starts])
    ends = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    return ends, np.concatenate(topics), np.concatenate(values)


def pairs_of(indptr: IntArray, documents: NDArray[np.int64]) -> IntArray:
    """Positions of the pairs of the chosen documents, document after document."""
    lengths = np.diff(indptr)[documents]
    ends = np.cumsum(lengths)
    moves = np.repeat(indptr[documents] - (ends - lengths), lengths)
    return moves + np.arange(len(moves))
