"""Documents as items of a mixture: each document is one item, however many words it has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sparsetopics.base.batches import Arrays, DocumentBatch, IntArray, PlainItems, Source

PREFIX = "item_"  # before the names of the documents' arrays


@dataclass(frozen=True, slots=True, eq=False)
class DocumentItems(PlainItems):
    """A batch of documents with one row of responsibilities each, instead of one for each word."""

    values: DocumentBatch

    def to_arrays(self) -> Arrays:
        return {PREFIX + name: array for name, array in self.values.to_arrays().items()}

    def check(self, n_columns: int) -> None:
        """ValueError unless a file's arrays are what ingest writes, with so many words."""
        self.values.check(n_columns)

    def take(self, items: IntArray) -> DocumentItems:
        """The chosen items, in the given order."""
        return DocumentItems(self.values.take(items))

    @classmethod
    def joined(cls, parts: Sequence[DocumentItems]) -> DocumentItems:
        """At least one, one after the other."""
        return cls(DocumentBatch.joined([part.values for part in parts]))


class DocumentItemSource:
    """The batches of a source of documents, as items; ``n_tokens`` still counts tokens."""

    def __init__(self, documents: Source[DocumentBatch]) -> None:
        self.documents = documents
        self.n_batches, self.is_resident = documents.n_batches, documents.is_resident
        self.n_docs, self.n_tokens = documents.n_docs, documents.n_tokens
        self.n_columns = documents.n_columns

    def read(self, batch_id: int) -> DocumentItems:
        return DocumentItems(self.documents.read(batch_id))
