"""Which topics the words of a batch's documents go to, and how moves change that later.

A batch keeps its assignments as they were at its last visit. Moves do not touch them: each phase of
moves leaves a ``TopicChange``, and a batch takes those it has missed when it is next asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from sparsetopics.batches import DocumentBatch, IntArray
from sparsetopics.memo import Arrays
from sparsetopics.responsibilities import Responsibilities, pairs_of


class Assignments(NamedTuple):
    """Documents with the responsibilities of their words."""

    documents: DocumentBatch
    responsibilities: Responsibilities

    def to_arrays(self) -> Arrays:
        batch = self.documents
        return {
            "indptr": batch.indptr,
            "word_ids": batch.word_ids,
            "word_counts": batch.word_counts,
        } | self.responsibilities._asdict()

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Assignments:
        documents = DocumentBatch(arrays["indptr"], arrays["word_ids"], arrays["word_counts"])
        fields = (arrays[name] for name in Responsibilities._fields)
        return cls(documents, Responsibilities(*fields))

    def take(self, documents: IntArray) -> Assignments:
        """The chosen documents, in that order."""
        pairs = pairs_of(self.documents.indptr, documents)
        return Assignments(self.documents.take(documents), self.responsibilities.take(pairs))

    def patched(self, patch: Patch) -> Assignments:
        """With the responsibilities of some documents replaced."""
        n_docs, n_pairs = self.documents.n_docs, self.documents.n_pairs
        both = Responsibilities.joined([self.responsibilities, patch.responsibilities])
        lengths = np.diff(self.documents.indptr)
        place = self.documents.indptr[:-1].copy()  # of each document's pairs in ``both``
        ends = np.cumsum(lengths[patch.documents])
        place[patch.documents] = n_pairs + ends - lengths[patch.documents]
        pairs = np.repeat(place, lengths) + np.arange(n_pairs)
        pairs -= np.repeat(self.documents.indptr[:-1], lengths)
        assert len(lengths) == n_docs
        return self._replace(responsibilities=both.take(pairs))

    def changed(self, changes: Iterable[TopicChange], batch_id: int) -> Assignments:
        """As they are after ``changes``, in their order."""
        assignments = self
        for change in changes:
            patch = change.patches.get(batch_id)
            if patch is not None:
                assignments = assignments.patched(patch)
            found = assignments.responsibilities.renumbered(change.new_topics)
            assignments = assignments._replace(responsibilities=found)
        return assignments


class Patch(NamedTuple):
    """New responsibilities of some documents of a batch."""

    documents: IntArray  # (n_patched,)  positions in the batch, rising
    responsibilities: Responsibilities  # of their pairs, document after document


class TopicChange(NamedTuple):
    """What one phase of moves did: first the patches, then the new numbers.

    Patches count topics as during the phase: the old ones, then those born in it.
    """

    new_topics: IntArray  # (n_old + n_born,)  -1 for topics that are gone
    patches: Mapping[int, Patch]  # by batch
