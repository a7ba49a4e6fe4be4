"""L-sparse responsibilities r_uk of a batch, as compressed sparse rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparsetopics.base.batches import IntArray
from sparsetopics.base.soundness import LARGEST_SHARE, check_own_fields, check_rows, require
from sparsetopics.kernels import summaries as summary_kernels
from sparsetopics.kernels.types import Float32Array, TopicIds

SparseRows = tuple[IntArray, TopicIds, Float32Array]


class Responsibilities(NamedTuple):
    """One sparse row of shares for each document-word pair; a row adds up to one."""

    starts: IntArray  # (n_pairs + 1,)
    topics: TopicIds  # (n_entries,)
    shares: Float32Array  # (n_entries,)

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

    def take(self, pairs: IntArray) -> Responsibilities:
        """The rows of ``pairs``, in that order."""
        entries = pairs_of(self.starts, pairs)
        starts = np.append(0, np.cumsum(np.diff(self.starts)[pairs]))
        return Responsibilities(starts, self.topics[entries], self.shares[entries])

    def overlaid(self, pairs: IntArray, other: Responsibilities) -> Responsibilities:
        """These responsibilities with the rows of ``other`` in place of those of ``pairs``."""
        n_rows = len(self.starts) - 1
        rows = np.arange(n_rows)
        rows[pairs] = n_rows + np.arange(len(pairs))
        return Responsibilities.joined([self, other]).take(rows)

    def renumbered(self, new_topics: IntArray) -> Responsibilities:
        """Topic k becomes ``new_topics[k]``; -1 leaves it out, equal numbers merge."""
        return Responsibilities(*summary_kernels.renumber(*self, new_topics))


def joined_rows(parts: Sequence[SparseRows]) -> SparseRows:
    """The rows of all ``parts``: their starts, and the topics and values of their entries."""
    if not parts:
        return np.zeros(1, np.int64), np.zeros(0, np.uint32), np.zeros(0, np.float32)
    if len(parts) == 1:
        return parts[0]
    starts, topics, values = zip(*parts, strict=True)
    lengths = np.concatenate([np.diff(part) for part in starts])
    return (
        np.concatenate(([0], np.cumsum(lengths))).astype(np.int64),
        np.concatenate(topics),
        np.concatenate(values),
    )


def pairs_of(indptr: IntArray, documents: NDArray[np.int64]) -> IntArray:
    """Positions of the pairs of the chosen documents, document after document."""
    lengths = np.diff(indptr)[documents]
    ends = np.cumsum(lengths)
    pairs: IntArray = np.arange(ends[-1] if len(ends) else 0) + np.repeat(
        indptr[documents] - (ends - lengths), lengths
    )
    return pairs
