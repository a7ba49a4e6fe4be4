"""A held-out collection in memory, cut into batches of any size."""

from dataclasses import dataclass

import numpy as np

from sparsetopics.base.batches import DocumentBatch


@dataclass(frozen=True)
class Group:
    batch: DocumentBatch

    @property
    def n_pairs(self):
        return self.batch.n_pairs

    def read(self):
        return self.batch


@dataclass(frozen=True)
class HeldoutDocuments:
    batch: DocumentBatch
    batch_size: int = 1000
    n_skipped: int = 0
    n_unknown_tokens: int = 0

    @property
    def n_docs(self):
        return self.batch.n_docs

    @property
    def row_groups(self):
        return [Group(self.batch.take(rows)) for rows in self._rows()]

    def batches(self):
        return (group.read() for group in self.row_groups)

    def doc_ids(self):
        for rows in self._rows():
            yield [f"doc-{row}" for row in rows]

    def _rows(self):
        for start in range(0, self.batch.n_docs, self.batch_size):
            yield np.arange(start, min(start + self.batch_size, self.batch.n_docs))
