"""A batch with its responsibilities, and how moves change them later.

A batch keeps its assignments from its last visit. Moves do not touch them. Each phase of moves
records a ``TopicChange``, and a batch applies the changes it has missed when it is next loaded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Generic, NamedTuple, cast

import numpy as np

from sparsetopics.base.batches import Arrays, IntArray, documents_in, pairs_of
from sparsetopics.base.soundness import check_ids, require
from sparsetopics.model.responsibilities import Responsibilities
from sparsetopics.model.statistics import B


class Assignments(NamedTuple, Generic[B]):
    """Documents with the responsibilities of their words."""

    documents: B
    responsibilities: Responsibilities

    def to_arrays(self) -> Arrays:
        return {**self.documents.to_arrays(), **self.responsibilities._asdict()}

    @classmethod
    def from_arrays(cls, arrays: Arrays, documents: B | None = None) -> Assignments[B]:
        """The inverse of ``to_arrays``; pass ``documents`` if they are not among the arrays."""
        if documents is None:
            documents = cast("B", documents_in(arrays))  # of the kind that was stored
        fields = (arrays[name] for name in Responsibilities._fields)
        return Assignments(documents, Responsibilities(*fields))

    def check(self, n_topics: int, pending: Sequence[TopicChange], batch_id: int) -> None:
        """Raise ValueError unless these and the batch's patches in ``pending`` fit ``n_topics``."""
        indptr = self.documents.indptr
        self.responsibilities.check(int(indptr[-1]), n_topics)
        for change in pending:
            if batch_id in change.patches:
                change.patches[batch_id].check(indptr, change.n_topics)

    def take(self, documents: IntArray) -> Assignments[B]:
        """The chosen documents, in that order."""
        pairs = pairs_of(self.documents.indptr, documents)
        return Assignments(self.documents.take(documents), self.responsibilities.take(pairs))

    @classmethod
    def joined(cls, parts: Sequence[Assignments[B]]) -> Assignments[B]:
        """The documents of at least one part, one part after the other."""
        batches = [part.documents for part in parts]
        found = Responsibilities.joined([part.responsibilities for part in parts])
        return Assignments(type(batches[0]).joined(batches), found)

    def changed(self, changes: Sequence[TopicChange], batch_id: int) -> Assignments[B]:
        """The assignments after ``changes``, in their order.

        They are applied one by one, because shares that are added are rounded each time.
        """
        if not changes:
            return self
        found = self.responsibilities
        for change in changes:
            if not np.array_equal(change.new_topics, np.arange(change.n_topics)):
                found = found.renumbered(change.new_topics)
            patch = change.patches.get(batch_id)
            if patch is not None:
                found = overlaid(found, self.documents.indptr, patch)
        return self._replace(responsibilities=found)


class Patch(NamedTuple):
    """New responsibilities of some documents of a batch."""

    documents: IntArray  # (n_patched,)  positions in the batch
    responsibilities: Responsibilities  # of their pairs, document after document

    def check(self, indptr: IntArray, n_topics: int) -> None:
        """Raise ValueError unless it fits the documents of ``indptr`` and ``n_topics``."""
        check_ids(self.documents, len(indptr) - 1, "documents of a patch")
        require(len(np.unique(self.documents)) == len(self.documents), "a patch repeats a document")
        self.responsibilities.check(len(pairs_of(indptr, self.documents)), n_topics)


class TopicChange(NamedTuple):
    """The result of a move: new topic numbers, and then patches, which use the new numbers."""

    new_topics: IntArray  # (n_old,)  -1 for topics that were removed
    patches: Mapping[int, Patch]  # by batch
    n_topics: int  # afterwards

    def check(self, n_before: int, n_batches: int) -> None:
        """Raise ValueError unless it fits these sizes.

        Patches are checked with their documents, in ``Assignments.check``.
        """
        require(self.n_topics > 0, f"{self.n_topics} topics after a move")
        check_ids(self.new_topics, self.n_topics, "new numbers of topics", lowest=-1)
        require(len(self.new_topics) == n_before, f"new numbers of {len(self.new_topics)} topics")
        require(set(self.patches) <= set(range(n_batches)), "patches of missing batches")


def overlaid(found: Responsibilities, indptr: IntArray, patch: Patch) -> Responsibilities:
    """``found`` with the documents of the patch replaced."""
    return found.replaced(pairs_of(indptr, patch.documents), patch.responsibilities)
