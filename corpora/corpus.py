"""Corpora of documents and of vectors, on disk or in memory."""

from __future__ import annotations

import hashlib
import json
import shutil
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeAlias

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from sparsetopics.base.batches import DocumentBatch, VectorBatch
from sparsetopics.base.errors import OptionError, ShapeError, VocabularyError
from sparsetopics.base.showing import html_table, short_repr
from sparsetopics.base.wording import quantity
from sparsetopics.corpora.projection import Projection
from sparsetopics.corpora.readers.blocks import DOCUMENTS, VECTORS
from sparsetopics.corpora.readers.options import ReadOptions
from sparsetopics.corpora.store.document_rows import DocumentKind, DocumentManifest, write_manifest
from sparsetopics.corpora.store.manifest import (
    DAMAGE,
    CorpusManifest,
    ShardEntry,
    Sizes,
    kind_of,
    total,
)
from sparsetopics.corpora.store.shards import (
    MemoryRowGroup,
    RowBatch,
    RowGroup,
    RowKind,
    ShardWriter,
    stored_groups,
)
from sparsetopics.corpora.store.vector_rows import Made, VectorKind, VectorManifest, rows_per_group
from sparsetopics.corpora.text.pruning import PruningOptions
from sparsetopics.corpora.text.vocabulary import Vocabulary
from sparsetopics.options.option import path_of

if TYPE_CHECKING:
    from sparsetopics.corpora.memory_arrays import AnyMatrix
    from sparsetopics.corpora.text.tokenizer import TokenizerOptions

# Methods import what makes corpora in memory, because commands only open corpora on disk.
DEFAULT_PRUNING = PruningOptions()


class RowCorpus(ABC, Generic[RowBatch]):
    """What corpora of documents and of vectors share: rows in row groups, in a fixed order."""

    row_groups: Sequence[RowGroup[RowBatch]]
    noun: str  # what a row is called

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
        with ShardWriter(part, self.kind) as writer:
            start = 0
            for group in self.row_groups:
                rows = np.flatnonzero(chosen[start : start + group.n_docs])
                writer.append(group.read_rows().take(rows))
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


@dataclass(frozen=True, eq=False)
class Corpus(RowCorpus[DocumentBatch]):
    """Documents as sparse word counts, in row groups, with their vocabulary.

    ``vocabulary.words`` are the words in the order of their numbers. ``n_skipped`` documents and
    ``n_unknown_tokens`` tokens were left out when the corpus was made.
    """

    noun = "documents"

    vocabulary: Vocabulary
    row_groups: Sequence[RowGroup[DocumentBatch]]
    n_skipped: int = 0  # documents left out because they hold no word of the vocabulary
    n_unknown_tokens: int = 0  # tokens left out because a given vocabulary does not hold them

    def __repr__(self) -> str:
        return short_repr(self, "n_docs", "n_words", "n_tokens")

    def _repr_html_(self) -> str:
        """Its sizes, for notebooks."""
        names = ("documents", "words", "tokens", "pairs of document and word", "left out")
        sizes = (self.n_docs, self.n_words, self.n_tokens, self.n_pairs, self.n_skipped)
        return html_table("Corpus", (), zip(names, sizes, strict=True))

    @property
    def n_words(self) -> int:
        """Words of the vocabulary."""
        return len(self.vocabulary)

    @property
    def n_docs(self) -> int:
        """Documents; each has a word of the vocabulary."""
        return self.sizes.n_docs

    @property
    def n_pairs(self) -> int:
        """Number of different words in each document, added up."""
        return self.sizes.n_pairs

    @property
    def n_tokens(self) -> int | float:
        """All counts added up; a float if counts are not whole."""
        return self.sizes.n_tokens

    def doc_ids(self) -> Iterator[list[str]]:
        """Document ids, aligned with ``batches()``; raises the same errors."""
        return self.ids()

    @property
    def width(self) -> int:
        return self.n_words

    @property
    def kind(self) -> DocumentKind:
        return DocumentKind(self.n_words)

    @property
    def fingerprint(self) -> str:
        return self.vocabulary.fingerprint

    @classmethod
    def open(cls, path: str | Path) -> Corpus:
        """Open a corpus folder; documents are read on demand.

        Raises CorpusFormatError if the manifest, the vocabulary or the size of a shard is not
        what ingest wrote. ``validate`` checks every byte.
        """
        folder = path_of("path", path)
        manifest = DocumentManifest.load(folder)
        manifest.vocabulary.check_size(folder, DAMAGE)
        groups = stored_groups(folder, manifest.shards, DocumentKind(manifest.n_words))
        vocabulary = manifest.read_vocabulary(folder)
        return cls(vocabulary, groups, manifest.n_skipped, manifest.n_unknown_tokens)

    @classmethod
    def from_texts(
        cls,
        texts: Iterable[str | None],
        *,
        tokenizer: TokenizerOptions | None = None,
        pruning: PruningOptions = DEFAULT_PRUNING,
        vocabulary: Vocabulary | None = None,
    ) -> Corpus:
        """Make a corpus in memory; document ids are running numbers. None is an empty document.

        With ``vocabulary``, its words are used as they are and nothing is pruned; without
        ``tokenizer``, text is cut as it was for that vocabulary. Raises SourceError if no word or
        no document is left, OptionError or VocabularyError for a tokeniser that cannot be used.
        """
        from sparsetopics.corpora.memory_corpus import blocks_of_texts, documents_of_blocks

        blocks = blocks_of_texts(texts)
        return cls(*documents_of_blocks(blocks, "texts", tokenizer, pruning, vocabulary))

    @classmethod
    def from_table(
        cls,
        table: Any,  # the tables of six libraries share no type, only Arrow's protocol
        *,
        text_field: str = "text",
        id_field: str | None = None,
        label_field: str | None = None,
        tokenizer: TokenizerOptions | None = None,
        pruning: PruningOptions = DEFAULT_PRUNING,
        vocabulary: Vocabulary | None = None,
    ) -> Corpus:
        """Make a corpus in memory from a table with one document a row.

        A table is a Hugging Face dataset, or any object with ``__arrow_c_stream__`` or
        ``__arrow_c_array__``, such as the tables of pyarrow, pandas, polars and DuckDB. Without
        ``id_field`` and ``label_field``, columns called ``id`` and ``label`` are used where they
        exist. The other parameters are those of ``from_texts``. Raises SourceError for another
        object, for a column that is missing or holds no text, and if nothing is left.
        """
        from sparsetopics.corpora.memory_corpus import TABLE, blocks_of_table, documents_of_blocks

        blocks = blocks_of_table(table, ReadOptions(text_field, id_field, label_field))
        return cls(*documents_of_blocks(blocks, TABLE, tokenizer, pruning, vocabulary))

    @classmethod
    def from_csr(
        cls,
        counts: AnyMatrix | ArrayLike,
        words: Iterable[str],
        doc_ids: Iterable[Hashable] | None = None,
    ) -> Corpus:
        """Make a corpus in memory from a sparse matrix, (n_docs, n_words), of any number type, its
        ``words`` (n_words,) and ``doc_ids`` (n_docs,).

        Rows without a count are left out. Whole counts are kept as uint32, others as float32.
        Raises ShapeError if the sizes or the arrays of the matrix do not fit, for names that are
        no strings, and if a count is negative or not finite; SourceError if none is above zero.
        """
        from sparsetopics.corpora.memory_corpus import documents_of_csr

        return cls(*documents_of_csr(counts, words, doc_ids))

    @classmethod
    def from_gensim(
        cls, bow: Iterable[Iterable[tuple[int, float]]], dictionary: Mapping[int, str]
    ) -> Corpus:
        """Make a corpus in memory from gensim's bag of words (an ``MmCorpus``, for example) and
        its ``Dictionary``; document ids are running numbers.

        Documents without a count are left out. Raises SourceError for anything but a bag of words,
        ShapeError for a word that is not in the dictionary or a count that is negative.
        """
        from sparsetopics.corpora.memory_corpus import documents_of_gensim

        return cls(*documents_of_gensim(bow, dictionary))

    def _finish_part(
        self, whole: Path, part: Path, shards: Sequence[ShardEntry]
    ) -> DocumentManifest:
        return write_manifest(part, self.vocabulary, shards, 0, 0)


@dataclass(frozen=True, eq=False)
class VectorCorpus(RowCorpus[VectorBatch]):
    """Items as rows of float32, in row groups.

    ``columns`` are the names of the columns, where they are known. ``projection`` is the map that
    made the values from the columns of the sources, if there was one.
    """

    noun = "items"

    n_columns: int
    row_groups: Sequence[RowGroup[VectorBatch]]
    columns: tuple[str, ...] | None = None  # names, where they are known
    made: Made = field(default_factory=Made)  # format, and what was done to the values
    projection: Projection | None = None  # that made the values
    projection_hash: str | None = None  # SHA-256 of its file

    def __repr__(self) -> str:
        return short_repr(self, "n_items", "n_columns")

    def _repr_html_(self) -> str:
        """Its sizes, for notebooks."""
        return html_table("VectorCorpus", (), [("items", self.n_items), ("columns", self.width)])

    @property
    def n_items(self) -> int:
        """Rows."""
        return self.sizes.n_docs

    def item_ids(self) -> Iterator[list[str]]:
        """Item ids, aligned with ``batches()``; raises the same errors."""
        return self.ids()

    @property
    def width(self) -> int:
        return self.n_columns

    @property
    def kind(self) -> VectorKind:
        return VectorKind(self.n_columns)

    @cached_property
    def fingerprint(self) -> str:
        what = [self.n_columns, self.columns, self.projection_hash]
        return hashlib.sha256(json.dumps(what).encode()).hexdigest()

    @classmethod
    def open(cls, path: str | Path) -> VectorCorpus:
        """Open a corpus folder; items are read on demand.

        Raises CorpusFormatError if the manifest, the projection or the size of a shard is not
        what ingest wrote, or if it is a corpus of documents. ``validate`` checks every byte.
        """
        folder = path_of("path", path)
        manifest = VectorManifest.load(folder)
        groups = stored_groups(folder, manifest.shards, VectorKind(manifest.n_columns))
        projection = projection_hash = None
        if manifest.projection is not None:
            manifest.projection.check(folder, DAMAGE)
            projection = Projection.read(folder / manifest.projection.file)
            projection_hash = manifest.projection.sha256
        return cls(
            manifest.n_columns, groups, manifest.columns, manifest.made, projection, projection_hash
        )

    @classmethod
    def from_array(
        cls,
        values: ArrayLike,  # (n_items, n_columns)
        labels: Iterable[Hashable] | None = None,
        item_ids: Iterable[Hashable] | None = None,
    ) -> VectorCorpus:
        """Make a corpus in memory from ``values`` (n_items, n_columns). Without ``item_ids``
        (n_items,), items have running numbers.

        An array that is float32 already is not copied. Raises ShapeError if it is not of two
        dimensions, has no items or columns, or holds anything but finite real numbers, or if the
        number of names is not that of the items.
        """
        from sparsetopics.corpora.memory_arrays import labels_of, names_of, vectors_of

        vectors = vectors_of(values, "values")
        n_items, n_columns = vectors.shape
        names = names_of(range(n_items) if item_ids is None else item_ids, n_items, "item_ids")
        own_labels = labels_of([None] * n_items if labels is None else labels, n_items, "labels")
        step = rows_per_group(n_columns)
        groups = []
        for start in range(0, n_items, step):
            s = slice(start, start + step)
            batch = VectorBatch(vectors[s])
            sizes = Sizes.of_items(batch.n_items)
            groups.append(MemoryRowGroup(sizes, batch, names[s], own_labels[s]))
        return cls(n_columns, tuple(groups), made={"format": "array"})

    def _finish_part(self, whole: Path, part: Path, shards: Sequence[ShardEntry]) -> VectorManifest:
        manifest = msgspec.structs.replace(VectorManifest.load(whole), shards=tuple(shards))
        if manifest.projection is not None:
            # Copied, not written anew: its digest is part of the fingerprint.
            shutil.copyfile(whole / manifest.projection.file, part / manifest.projection.file)
        manifest.save(part)
        return manifest


AnyCorpus: TypeAlias = Corpus | VectorCorpus


def open_corpus(path: str | Path) -> AnyCorpus:
    """Open a corpus of documents or of vectors, as its manifest says.

    Raises CorpusFormatError if the folder is no sound corpus of either kind.
    """
    folder = path_of("path", path)
    return VectorCorpus.open(folder) if kind_of(folder) == VECTORS else Corpus.open(folder)


def load_any_manifest(folder: Path) -> DocumentManifest | VectorManifest:
    """The manifest of a corpus of either kind; CorpusFormatError if there is no sound one."""
    kind = VectorManifest if kind_of(folder) == VECTORS else DocumentManifest
    return kind.load(folder)


def check_alike(training: AnyCorpus, heldout: AnyCorpus, path: Path, where: str) -> None:
    """Refuse held-out data, found at ``where``, that differ from the training data at ``path``.

    Raises OptionError if one holds documents and the other vectors, VocabularyError for other
    words, and ShapeError for other columns or another projection.
    """
    kind, other = (DOCUMENTS if isinstance(c, Corpus) else VECTORS for c in (training, heldout))
    if other != kind:
        raise OptionError("heldout", f"expected {kind}, but found {other} in {where}")
    if heldout.fingerprint == training.fingerprint:
        return
    noun = "word" if isinstance(training, Corpus) else "column"
    expected, found = quantity(training.width, noun), quantity(heldout.width, noun)
    if isinstance(training, Corpus):
        problem = f"expected the {expected} of {path}, but found another vocabulary"
        hint = f"Ingest the held-out documents with --vocabulary {path}."
        raise VocabularyError(where, f"{problem} ({found})", hint)
    problem = f"its {found} or its projection are not those of {path} ({expected})"
    raise ShapeError(where, problem, f"Ingest the held-out vectors with --projection {path}.")
