"""Corpora of documents and of vectors, on disk or in memory."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec
import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike

from sparsetopics.base.batches import DocumentBatch, VectorBatch
from sparsetopics.base.errors import naming_parameters
from sparsetopics.base.outputs import output_folder, written
from sparsetopics.base.own_folders import CORPUS
from sparsetopics.base.showing import html_table, short_repr
from sparsetopics.corpora.projection import Projection
from sparsetopics.corpora.readers.blocks import VECTORS, ValueType, kept_type
from sparsetopics.corpora.store.document_rows import DocumentKind, DocumentManifest, Documents
from sparsetopics.corpora.store.manifest import DAMAGE, ShardEntry, kind_of
from sparsetopics.corpora.store.parquet_files import check_fields
from sparsetopics.corpora.store.shards import RowCorpus, RowGroup, StoredRowGroup, stored_groups
from sparsetopics.corpora.store.vector_rows import Made, VectorKind, VectorManifest
from sparsetopics.corpora.text.vocabulary import Vocabulary
from sparsetopics.options.ingest_table import FROM_TEXTS, FROM_TOKENS
from sparsetopics.options.option import Tokenizer, check_type, path_of

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from sparsetopics.corpora.memory_arrays import AnyMatrix
    from sparsetopics.corpora.memory_corpus import BagOfWords

# Methods import what makes corpora in memory, because commands only open corpora on disk.


@dataclass(frozen=True, eq=False)
class Corpus(Documents, RowCorpus[DocumentBatch]):
    """Documents as sparse word counts, in row groups, with their vocabulary.

    ``vocabulary.words`` are the words in the order of their numbers. ``n_skipped`` documents and
    ``n_unknown_tokens`` tokens were left out when the corpus was made. ``fields`` are the types of
    the fields that it keeps besides ids and labels: ``text`` (the texts themselves), ``string``,
    ``number`` or ``date``. ``account`` says what became of the words of texts: how many tokens were
    read, kept and left out by each rule, and which documents were skipped. ``kept`` (n_docs,) are
    the positions of the documents among the texts or rows that the corpus was made from in memory.
    """

    noun = "documents"

    def __repr__(self) -> str:
        return short_repr(self, "n_docs", "n_words", "n_tokens")

    def _repr_html_(self) -> str:
        """Its sizes, for notebooks."""
        names = ("documents", "words", "tokens", "pairs of document and word", "left out", "fields")
        sizes = (self.n_docs, self.n_words, self.n_tokens, self.n_pairs, self.n_skipped)
        fields = ", ".join(self.fields) or "none"
        return html_table("Corpus", (), zip(names, (*sizes, fields), strict=True))

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

    def documents(self, ids: Iterable[str]) -> pa.Table:
        """The documents of these ids, in their order: ``id``, ``label``, the text and the other
        fields that the corpus keeps.

        If several documents have an id, this is the first of them. Raises OptionError for an id
        that no document has, CorpusFormatError for a damaged shard.
        """
        from sparsetopics.corpora.lookup import documents_of_ids

        return documents_of_ids(self.row_groups, self.fields, ids)

    def read_fields(self, names: Sequence[str]) -> Iterator[pa.Table]:
        """Kept fields, a column each, aligned with ``batches()``; values that are missing are null.

        Texts are read only if ``text`` is among the ``names``. Raises OptionError for a field that
        the corpus does not keep, CorpusFormatError for a damaged file.
        """
        check_fields(names, self.fields)
        return (group.read_fields(names) for group in self.row_groups)

    def to_csr(self) -> csr_array:
        """The counts as a sparse matrix, (n_docs, n_words), in memory."""
        from scipy.sparse import csr_array

        if not self.row_groups:
            return csr_array((0, self.n_words), dtype=np.uint32)
        whole = DocumentBatch.joined(list(self.batches()))
        arrays = whole.word_counts, whole.word_ids, whole.indptr
        return csr_array(arrays, shape=(whole.n_docs, self.n_words))

    @naming_parameters()
    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the corpus as a folder that ``open`` and all commands read.

        Raises OutputError if ``path`` exists and ``overwrite`` is false, if it is no corpus, and if
        it is the folder that this corpus is read from.
        """
        check_type("overwrite", overwrite, bool, "true or false")
        folder = path_of("path", path)
        sources = {g.shard.path.parent for g in self.row_groups if isinstance(g, StoredRowGroup)}
        output = output_folder(folder, CORPUS, overwrite=overwrite, inputs=sources)
        with written(output) as part:
            manifest = self.write_part(folder, np.ones(self.n_docs, np.bool_), part)
            n_left_out = {"n_skipped": self.n_skipped, "n_unknown_tokens": self.n_unknown_tokens}
            msgspec.structs.replace(manifest, **n_left_out).save(part)

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
        kind = DocumentKind(manifest.n_words)
        groups = stored_groups(folder, manifest.shards, kind, manifest.fields)
        vocabulary = manifest.read_vocabulary(folder)
        left_out = manifest.n_skipped, manifest.n_unknown_tokens
        whole = vocabulary, groups, *left_out, manifest.fields
        return cls(*whole, has_ids=manifest.has_ids, rules=manifest.rules)

    @classmethod
    @naming_parameters()
    def from_texts(
        cls,
        texts: Iterable[str | None],
        *,
        stop_words: str | Sequence[str] | Set[str] | None = None,
        min_df: int | float | None = None,
        max_df: int | float | None = None,
        max_words: int | None = None,
        ngrams: int | None = None,
        phrases: bool = False,
        phrase_threshold: float | None = None,
        token_pattern: str | None = None,
        normalize: str | None = None,
        language: str | None = None,
        lowercase: bool | None = None,
        lemmas: str | None = None,
        remove: Sequence[str] | None = None,
        tokenizer: Tokenizer = None,
        vocabulary: Vocabulary | None = None,
        keep: Sequence[str] = (),
    ) -> Corpus:
        """Make a corpus in memory. None is an empty document. Document ids are running numbers, or
        the index of a pandas Series.

        The options are those of ``sparsetopics ingest``. ``stop_words`` is a list of words, or a
        string that names lists, such as ``"english,de"``. ``tokenizer`` is a function from a text
        to its words, or its ``"MODULE:NAME"``; later texts need it again. With ``vocabulary``, its
        words are used as they are and nothing is pruned; without an option for tokens, text is cut
        as it was for that vocabulary. ``keep=["text"]`` keeps the texts. Raises SourceError if no
        word or no document is left, OptionError or VocabularyError for options that cannot be used.

        By default, words of one document only and of more than half of the documents are left out,
        unless there are fewer than 100 documents. ``min_df=1, max_df=1.0`` keeps them.
        """
        from sparsetopics.corpora.memory_corpus import corpus_of_texts

        return cls(**vars(corpus_of_texts(texts, FROM_TEXTS, locals())))

    @classmethod
    @naming_parameters()
    def from_tokens(
        cls,
        lists: Iterable[Iterable[str] | None],
        *,
        stop_words: str | Sequence[str] | Set[str] | None = None,
        min_df: int | float | None = None,
        max_df: int | float | None = None,
        max_words: int | None = None,
        ngrams: int | None = None,
        phrases: bool = False,
        phrase_threshold: float | None = None,
        vocabulary: Vocabulary | None = None,
        keep: Sequence[str] = (),
    ) -> Corpus:
        """Make a corpus in memory from documents that are lists of words in running order, which
        are taken as they are. None is an empty document, and empty words are left out.

        Rare and frequent words are left out as by ``from_texts``: ``min_df=1, max_df=1.0`` keeps
        all. Options and ids are as for ``from_texts``; ``keep=["text"]`` joins the words by spaces.
        Raises what ``from_texts`` raises, and SourceError for anything but lists of strings.
        """
        from sparsetopics.corpora.memory_corpus import corpus_of_texts

        return cls(**vars(corpus_of_texts(lists, FROM_TOKENS, locals())))

    @classmethod
    @naming_parameters()
    def from_table(
        cls,
        table: Any,  # the tables of six libraries share no type, only Arrow's protocol
        *,
        text_field: str | Sequence[str] = "text",
        id_field: str | None = None,
        duplicate_ids: str = "refuse",
        label_field: str | None = None,
        keep: Sequence[str] = (),
        date_formats: Mapping[str, str] | Sequence[str] | Set[str] = frozenset(),
        missing: Sequence[str] | Set[str] = frozenset(),
        stop_words: str | Sequence[str] | Set[str] | None = None,
        min_df: int | float | None = None,
        max_df: int | float | None = None,
        max_words: int | None = None,
        ngrams: int | None = None,
        phrases: bool = False,
        phrase_threshold: float | None = None,
        token_pattern: str | None = None,
        normalize: str | None = None,
        language: str | None = None,
        lowercase: bool | None = None,
        lemmas: str | None = None,
        remove: Sequence[str] | None = None,
        tokenizer: Tokenizer = None,
        vocabulary: Vocabulary | None = None,
    ) -> Corpus:
        """Make a corpus in memory from a table with one document a row, a text or a list of words.

        ``text_field`` names the column of the text, or several, ``"title,body"`` or a list, which
        are joined. A table is a Hugging Face dataset, or any object with ``__arrow_c_stream__`` or
        ``__arrow_c_array__``, such as the tables of pyarrow, pandas, polars and DuckDB. Without
        ``id_field`` and ``label_field``, columns called ``id`` and ``label`` are used where they
        exist; without a column for ids, the index of a pandas DataFrame has them. A row with the id
        of an earlier one is refused unless ``duplicate_ids`` is ``"skip"`` (to leave it out) or
        ``"keep"``. ``keep`` names further columns to keep, of which some may be given a type:
        ``["text", "section", "year:number"]``, or ``["all"]`` for all that can be kept. Values of
        several types become strings, with a warning. ``date_formats`` says how some of them write
        dates, ``{"date": "%d/%m/%Y"}``, and ``missing`` which values stand for a missing one. The
        other parameters are those of ``from_texts``. Raises SourceError for another object, for a
        column that is missing or holds no text, and if nothing is left.
        """
        from sparsetopics.corpora.memory_corpus import corpus_of_table

        return cls(**vars(corpus_of_table(table, locals())))

    @classmethod
    def from_csr(
        cls,
        counts: AnyMatrix | ArrayLike,
        words: Iterable[str],
        doc_ids: Iterable[Hashable] | None = None,
        *,
        vocabulary: Vocabulary | None = None,
    ) -> Corpus:
        """Make a corpus in memory from a sparse matrix, (n_docs, n_words), of any number type, its
        ``words`` (n_words,) and ``doc_ids`` (n_docs,). With ``vocabulary``, the corpus has its
        words, and others are left out.

        Rows without a count are left out. Whole counts are kept as uint32, others as float32.
        Raises ShapeError if the sizes or the arrays of the matrix do not fit, for tf-idf weights,
        names that are no strings and counts that are negative or not finite; SourceError if none is
        above zero.
        """
        from sparsetopics.corpora.memory_corpus import corpus_of_csr

        return cls(**vars(corpus_of_csr(counts, words, doc_ids, vocabulary)))

    @classmethod
    def from_gensim(
        cls, bow: BagOfWords, dictionary: Mapping[int, str], *, vocabulary: Vocabulary | None = None
    ) -> Corpus:
        """Make a corpus in memory from gensim's bag of words (an ``MmCorpus``, for example) and
        its ``Dictionary``. Ids are running numbers. ``vocabulary`` is as for ``from_csr``.

        Documents without a count are left out. Raises SourceError for anything but a bag of words,
        ShapeError for a word that is not in the dictionary or a count that is negative.
        """
        from sparsetopics.corpora.memory_corpus import corpus_of_gensim

        return cls(**vars(corpus_of_gensim(bow, dictionary, vocabulary)))

    def _finish_part(
        self, whole: Path, part: Path, shards: Sequence[ShardEntry]
    ) -> DocumentManifest:
        kept = replace(self, n_skipped=0, n_unknown_tokens=0)
        return DocumentManifest.write(part, kept, shards)


@dataclass(frozen=True, eq=False)
class VectorCorpus(RowCorpus[VectorBatch]):
    """Items as rows of float32 or float64, in row groups.

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
    value_type: ValueType = "float32"

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
        return VectorKind(self.n_columns, self.value_type)

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
        kind = VectorKind(manifest.n_columns, manifest.value_type)
        groups = stored_groups(folder, manifest.shards, kind)
        projection = projection_hash = None
        if manifest.projection is not None:
            manifest.projection.check(folder, DAMAGE)
            projection = Projection.read(folder / manifest.projection.file)
            projection_hash = manifest.projection.sha256
        of_values = manifest.columns, manifest.made, projection, projection_hash
        return cls(manifest.n_columns, groups, *of_values, manifest.value_type)

    @classmethod
    def from_array(
        cls,
        values: ArrayLike,  # (n_items, n_columns)
        labels: Iterable[Hashable] | None = None,
        item_ids: Iterable[Hashable] | None = None,
    ) -> VectorCorpus:
        """Make a corpus in memory from ``values`` (n_items, n_columns). Without ``item_ids``
        (n_items,), items have running numbers.

        Values become float32 if that holds every number of their type exactly, as for float16 and
        16-bit integers, and float64 otherwise. An array of float32 or float64 is not copied if its
        rows are contiguous. Raises ShapeError if it is not of two dimensions, has no items or
        columns, or holds anything but finite real numbers, or if the number of names is not that of
        the items.
        """
        from sparsetopics.corpora.memory_arrays import labels_of, names_of, vectors_of

        vectors = vectors_of(values, "values")
        n_items, n_columns = vectors.shape
        names = names_of(range(n_items) if item_ids is None else item_ids, n_items, "item_ids")
        own_labels = labels_of([None] * n_items if labels is None else labels, n_items, "labels")
        ids, named = (pa.array(own, pa.string()) for own in (names, own_labels))
        value_type = kept_type(vectors.dtype)
        groups = VectorKind(n_columns, value_type).in_memory(ids, named, vectors)
        return cls(n_columns, groups, made={"format": "array"}, value_type=value_type)

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
    return (VectorManifest if kind_of(folder) == VECTORS else DocumentManifest).load(folder)
