"""Which topics the words of a batch's documents go to, and how moves change that later.

A batch keeps its assignments as they were at its last visit. Moves do not touch them: each phase of
moves leaves a ``TopicChange``, and a batch takes those it has missed when it is next asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from sparsetopics.batches import DocumentBatch, IntArray, VectorBatch
from sparsetopics.document_items import DocumentItems
from sparsetopics.memo import Arrays
from sparsetopics.responsibilities import Responsibilities, pairs_of

_KINDS: Mapping[str, type[Any]] = {  # of batches, by an array that no other has
    "values": VectorBatch,
    "item_indptr": DocumentItems,
    "indptr": DocumentBatch,
}


class Assignments(NamedTuple):
    """Documents with the responsibilities of their words."""

    documents: Any  # Batch
    responsibilities: Responsibilities

    def to_arrays(self) -> Arrays:
        return {**self.documents.to_arrays(), **self.responsibilities._asdict()}

    @classmethod
    def from_arrays(cls, arrays: Arrays, documents: Any = None) -> Assignments:
        """``documents`` are given if they are not among the arrays."""
        if documents is None:
            kind = next(kind for name, kind in _KINDS.items() if name in arrays)
            documents = kind.from_arrays(arrays)
        fields = (arrays[name] for name in Responsibilities._fields)
        return cls(documents, Responsibilities(*fields))

    def take(self, documents: IntArray) -> Assignments:
        """The chosen documents, in that order."""
        pairs = pairs_of(self.documents.indptr, documents)
        return Assignments(self.documents.take(documents), self.responsibilities.take(pairs))

    @classmethod
    def joined(cls, parts: Sequence[Assignments]) -> Assignments:
        """At least one, one after the other."""
        batches = [part.documents for part in parts]
        found = Responsibilities.joined([part.responsibilities for part in parts])
        return cls(type(batches[0]).joined(batches), found)

    def changed(self, changes: Sequence[TopicChange], batch_id: int) -> Assignments:
        """As they are after ``changes``, in their order.

        One after the other, because shares that are added are rounded each time.
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


class TopicChange(NamedTuple):
    """What a move did: first the new numbers, then the patches, which use them."""

    new_topics: IntArray  # (n_old,)  -1 for topics that are gone
    patches: Mapping[int, Patch]  # by batch
    n_topics: int  # afterwards


def overlaid(found: Responsibilities, indptr: IntArray, patch: Patch) -> Responsibilities:
    """``found`` with the documents of the patch replaced."""
    return found.overlaid(pairs_of(indptr, patch.documents), patch.responsibilities)
