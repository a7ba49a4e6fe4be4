"""Topic counts of documents at their last visit, from which a later visit may start."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sparsetopics.base.batches import IntArray
from sparsetopics.base.soundness import check_own_fields, check_rows, require
from sparsetopics.kernels import summaries as summary_kernels
from sparsetopics.kernels.types import Float32Array, SparseShares, TopicIds
from sparsetopics.model.responsibilities import Responsibilities, joined_rows


class DocumentTopics(NamedTuple):
    """N_dk in tokens, as sparse rows. Documents without entries start cold."""

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
