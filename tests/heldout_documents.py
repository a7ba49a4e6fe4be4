"""A held-out collection in memory, cut into batches of any size."""

from dataclasses import dataclass

import numpy as np

from sparsetopics.batches import DocumentBatch


@dataclass(frozen=True)
class HeldoutDocuments:
    batch: DocumentBatch
    batch_size: int = 1000
    n_skipped: int = 0
    n_unknown_tokens: int = 0

    def batches(self):
        for rows in self._rows():
            yield self.batch.take(rows)

    def doc_ids(self):
        for rows in self._rows():
            yield [f"doc-{row}" for row in rows]

    def _rows(self):
        for start in range(0, self.batch.n_docs, self.batch_size):
            yield np.arange(start, min(start + self.batch_size, self.batch.n_docs))
