"""What corpora of documents and of vectors share, on disk or in memory."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Generic

import numpy as np
from numpy.typing import NDArray

from sparsetopics.corpora.readers.field_values import FieldType
from sparsetopics.corpora.store.manifest import CorpusManifest, ShardEntry, Sizes, total
from sparsetopics.corpora.store.shards import NO_TYPES, RowBatch, RowGroup, RowKind, ShardWriter


class RowCorpus(ABC, Generic[RowBatch]):
    """What corpora of documents and of vectors share: rows in row groups, in a fixed order."""

    row_groups: Sequence[RowGroup[RowBatch]]
    noun: str  # what a row is called
    fields: Mapping[str, FieldType] = NO_TYPES  # that are kept, by name

    @property
    @abstractmethod
    def kind(self) -> RowKind[RowBatch]: ...

    @property
    @abstractmethod
    def width(self) -> int:
        """Words of the vocabulary, or numbers of an item."""

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """SHA-256 of what the columns mean. Two corpora can share a model only if it is equal."""

    @abstractmethod
    def _finish_part(self, whole: Path, part: Path, shards: Sequence[ShardEntry]) -> CorpusManifest:
        """Turn the folder ``part`` with shards of rows of the corpus ``whole`` into a corpus."""

    def write_part(self, whole: Path, chosen: NDArray[np.bool_], part: Path) -> CorpusManifest:
        """Write the rows of this corpus, which is stored in ``whole``, where ``chosen`` (n_rows,)
        is true as the corpus ``part``; return its manifest."""
        with ShardWriter(part, self.kind, self.fields) as writer:
            start = 0
            for group in self.row_groups:
                rows = np.flatnonzero(chosen[start : start + group.n_docs])
                writer.append(group.read_rows(list(self.fields)).take(rows))
                start += group.n_docs
            shards = writer.finish()
        return self._finish_part(whole, part, shards)

    @cached_property
    def sizes(self) -> Sizes:
        """The sizes of all row groups, added up."""
        return total(group.sizes for group in self.row_groups)

    def batches(self) -> Iterator[RowBatch]:
        """The rows, one batch per row group, in order.

        A batch of documents has ``indptr`` (n_docs + 1,), and for each pair of a document and a
        word ``word_ids`` (n_pairs,) int32, sorted within a document, and ``word_counts`` (n_pairs,)
        uint32 or float32, all above zero. A batch of items has ``values`` (n_items, n_columns)
        float32. Raises CorpusFormatError for a damaged shard.
        """
        return (group.read() for group in self.row_groups)

    def ids(self) -> Iterator[list[str]]:
        """Ids, aligned with ``batches()``; raises the same errors."""
        return (group.read_ids() for group in self.row_groups)

    def labels(self) -> Iterator[list[str | None]]:
        """Labels, aligned with ``batches()``; None where a row has none. Raises the same errors."""
        return (group.read_labels() for group in self.row_groups)
