"""Documents in a corpus folder: their manifest, vocabulary and rows as Parquet."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Annotated, ClassVar, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Meta
from numpy.typing import NDArray

from sparsetopics.base.batches import DocumentBatch, IntArray
from sparsetopics.base.sealed_files import FileEntry, Json, Size
from sparsetopics.base.soundness import require
from sparsetopics.base.wording import quantity
from sparsetopics.corpora.readers.blocks import DOCUMENTS, CountedBlock, ReadingAccount
from sparsetopics.corpora.readers.dates import UTC
from sparsetopics.corpora.readers.fields import (
    MOST_FIELDS,
    NO_RULES,
    TEXT,
    FieldType,
    ValueRules,
    WrongValueError,
    table_of_fields,
)
from sparsetopics.corpora.sources.arrow_files import numbers_of
from sparsetopics.corpora.store.manifest import DAMAGE, CorpusManifest, ShardEntry, Sizes
from sparsetopics.corpora.store.parquet_files import columns_by_stem
from sparsetopics.corpora.store.shards import MemoryRowGroup, RowGroup, RowKind
from sparsetopics.corpora.text.account import WordAccount
from sparsetopics.corpora.text.vocabulary import Setting, Vocabulary

DOCS_PER_ROW_GROUP = 8_192
FieldName = Annotated[str, Meta(min_length=1)]
_COUNT_TYPES = (pa.uint32(), pa.float32())


class VocabularyEntry(FileEntry, frozen=True):
    """The file of the vocabulary, and the fingerprint of its words."""

    fingerprint: str


class DocumentManifest(CorpusManifest, frozen=True, kw_only=True, omit_defaults=True):
    """Files, sizes and tokeniser settings of a corpus of documents, in their order on disk."""

    kind = DOCUMENTS
    n_words: Size
    n_skipped: Size  # documents left out because they hold no word of the vocabulary
    n_unknown_tokens: Size  # tokens left out because a given vocabulary does not hold them
    vocabulary: VocabularyEntry
    shards: tuple[ShardEntry, ...]
    fields: dict[FieldName, FieldType] = msgspec.field(default_factory=dict)  # that are kept
    has_ids: bool = False  # whether sources are known to have given any document an id
    values: ValueRules | None = None  # None: made by a release without rules
    candidates: FileEntry | None = None  # the frequencies of all words, taken or not
    appended: tuple[str, ...] = ()  # the jobs (``ingest_options.job_of``) that added documents
    tokenizer: dict[str, Setting] | None  # None for a collection that came as counts

    def __post_init__(self) -> None:
        n_fields = len(self.fields)
        require(n_fields <= MOST_FIELDS, f"{n_fields:,} fields are more than {MOST_FIELDS:,}")
        for name, kind in self.fields.items():
            require((name == TEXT) == (kind == TEXT), f"field {name!r} cannot be of type {kind}")
        for shard in self.shards:
            require(all(isinstance(n, Sizes) for n in shard.row_groups), "a row group lacks sizes")
            if shard.beside.keys() != columns_by_stem(self.fields).keys():
                raise ValueError(f"{shard.file} does not have the files of the fields")

    @property
    def rules(self) -> ValueRules:
        """How values that are appended are read: in the same way as those of the corpus."""
        before = ValueRules({name: UTC for name, kind in self.fields.items() if kind == "date"})
        return self.values or before

    @staticmethod
    def named(sizes: Sizes) -> dict[str, int | float]:
        return {"n_documents": sizes.n_docs, "n_pairs": sizes.n_pairs, "n_tokens": sizes.n_tokens}

    @property
    def totals(self) -> dict[str, int | float]:
        sizes = self.sizes
        return {
            "n_documents": sizes.n_docs,
            "n_tokens": sizes.n_tokens,
            "n_pairs": sizes.n_pairs,
            "n_words": self.n_words,
            "n_shards": len(self.shards),
            "n_skipped": self.n_skipped,
            "n_unknown_tokens": self.n_unknown_tokens,
        }

    def to_json(self) -> dict[str, Json]:
        settings = json.dumps(self.tokenizer, sort_keys=True)
        return super().to_json() | {"tokenizer_hash": sha256(settings.encode()).hexdigest()}

    @classmethod
    def write(
        cls,
        folder: Path,
        made: Documents,
        shards: Sequence[ShardEntry],
        candidates: FileEntry | None = None,
    ) -> DocumentManifest:
        """Turn a folder with the shards into a corpus: add the vocabulary, then the manifest."""
        vocabulary, fields = made.vocabulary, made.fields
        manifest = cls(
            n_words=len(vocabulary),
            n_skipped=made.n_skipped,
            n_unknown_tokens=made.n_unknown_tokens,
            vocabulary=save_vocabulary(folder, vocabulary),
            shards=tuple(shards),
            tokenizer=None if vocabulary.tokenizer is None else dict(vocabulary.tokenizer),
            fields=dict(fields),
            has_ids=made.has_ids,
            values=made.rules.settled(fields) if fields else None,
            candidates=candidates,
        )
        manifest.save(folder)
        return manifest

    def read_vocabulary(self, folder: Path) -> Vocabulary:
        """The listed vocabulary of the corpus ``folder``; CorpusFormatError for any other."""
        self.vocabulary.check(folder, DAMAGE)
        vocabulary = Vocabulary.read(folder)
        n_words, own = len(vocabulary), vocabulary.fingerprint
        listed = self.vocabulary.fingerprint
        if n_words != self.n_words or own != listed:
            problem = f"expected {quantity(self.n_words, 'word')} with fingerprint {listed[:12]}, "
            problem += f"but found {n_words} with {own[:12]}"
            raise DAMAGE.of(folder / self.vocabulary.file, problem)
        return vocabulary


def save_vocabulary(folder: Path, vocabulary: Vocabulary) -> VocabularyEntry:
    """Write the vocabulary of a corpus; return its entry in the manifest."""
    entry = vocabulary.save(folder)
    return VocabularyEntry(entry.file, entry.n_bytes, entry.sha256, vocabulary.fingerprint)


@dataclass(frozen=True, slots=True)
class DocumentKind(RowKind[DocumentBatch]):
    """Documents as lists of word ids and counts."""

    id_column = "doc_id"
    columns: ClassVar = ["word_ids", "counts"]
    level = 3
    dictionaries: ClassVar = ["label", "counts.list.element"]
    encodings: ClassVar = {
        "doc_id": "DELTA_BYTE_ARRAY",
        "word_ids.list.element": "BYTE_STREAM_SPLIT",
    }
    groups_per_shard = 32
    n_words: int

    @property
    def rows_per_group(self) -> int:
        return DOCS_PER_ROW_GROUP

    def columns_of(self, batch: DocumentBatch) -> list[pa.Array]:
        offsets = pa.array(batch.indptr, pa.int32())
        # Unsigned on disk: Parquet has no smaller code for a sign that never occurs.
        flat = pa.array(batch.word_ids.view(np.uint32)), pa.array(batch.word_counts)
        return [pa.ListArray.from_arrays(offsets, values) for values in flat]

    def sizes_of(self, table: pa.Table) -> Sizes:
        counts = table["counts"].combine_chunks().flatten()
        return Sizes(len(table), len(counts), pc.sum(counts).as_py())

    def batch_of(self, columns: Sequence[pa.Array], sizes: Sizes) -> DocumentBatch:
        word_ids, counts = columns
        if word_ids.type != pa.list_(pa.uint32()) or counts.type not in map(pa.list_, _COUNT_TYPES):
            raise ValueError(f"columns have the wrong types {word_ids.type} and {counts.type}")
        require(word_ids.offsets == counts.offsets, "word ids and counts differ in length")
        ids, numbers = word_ids.flatten(), counts.flatten()
        require(ids.null_count + numbers.null_count == 0, "some word ids or counts are null")
        # The kernels rely on these two checks to stay inside their arrays.
        if len(ids) != sizes.n_pairs:
            raise ValueError(f"expected {quantity(sizes.n_pairs, 'pair')}, but found {len(ids)}")
        own_ids = numbers_of(ids, np.uint32)
        largest = int(own_ids.max(initial=0))
        known = quantity(self.n_words, "word")
        require(largest < self.n_words, f"word id {largest} is beyond the vocabulary of {known}")
        offsets = numbers_of(word_ids.offsets, np.int32).astype(np.int64)
        is_whole = numbers.type == pa.uint32()
        own_counts = numbers_of(numbers, np.uint32) if is_whole else numbers_of(numbers, np.float32)
        return DocumentBatch(offsets - offsets[0], own_ids.view(np.int32), own_counts)


@dataclass(frozen=True, eq=False, repr=False)
class Documents:
    """What a corpus of documents is made of; ``Corpus`` says what can be done with it."""

    vocabulary: Vocabulary
    row_groups: Sequence[RowGroup[DocumentBatch]]
    n_skipped: int = 0  # documents left out because they hold no word of the vocabulary
    n_unknown_tokens: int = 0  # tokens left out because a given vocabulary does not hold them
    fields: Mapping[str, FieldType] = field(default_factory=dict)
    account: WordAccount | None = None  # of ``from_texts`` and ``from_table`` alone
    kept: IntArray | None = None  # None for a corpus that was opened
    has_ids: bool = False  # whether sources are known to have given any document an id
    rules: ValueRules = NO_RULES  # how its fields were read


class EncodedBlock(NamedTuple):
    """Documents under the word ids of the corpus, and how much was left out."""

    rows: MemoryRowGroup[DocumentBatch]
    skipped: Sequence[str]  # ids of documents without a known word
    kept: NDArray[np.bool_]  # (n_docs,)  which documents of the block the rows are
    n_unknown_tokens: int
    account: ReadingAccount


def encode(
    block: CountedBlock,
    words: pa.StringArray,
    types: Mapping[str, FieldType],
    rules: ValueRules = NO_RULES,
    *,
    keep_empty: bool = False,
) -> EncodedBlock:
    """Number the words of a block by their place in ``words``, and give its fields their types.

    Other words are left out, and so are documents that hold no known word, unless ``keep_empty``.
    Raises WrongValueError for a value that is not of the type of its field.
    """
    new_ids = numbers_of(pc.index_in(block.words, value_set=words).fill_null(-1), np.int32)
    found = renumbered(block, new_ids, len(words))
    is_known = np.diff(found.indptr) > 0
    kept = is_known | keep_empty
    batch = replace(found, indptr=np.append(0, found.indptr[1:][kept]))
    kept_mask = pa.array(kept)
    values = {name: column.filter(kept_mask) for name, column in block.fields.items()}
    table = table_of_fields(values, types, np.flatnonzero(kept), rules)
    names = block.ids.filter(kept_mask), block.labels.filter(kept_mask)
    rows = MemoryRowGroup(Sizes.of(batch), *names, batch, table)
    return EncodedBlock(
        rows,
        skipped=block.ids.filter(pa.array(~is_known)).to_pylist(),
        kept=kept,
        n_unknown_tokens=int(block.word_counts.sum(dtype=np.int64) - rows.sizes.n_tokens),
        account=block.account,
    )


def renumbered(block: CountedBlock, new_ids: NDArray[np.int32], n_words: int) -> DocumentBatch:
    """All documents of a block, with the number in ``new_ids`` (n_block_words,) for each word.

    Words with -1 are left out.
    """
    # Numba takes half a second to import, and corpora are also opened without any encoding.
    from sparsetopics.corpora.text.token_kernels import renumber_words

    counted = block.indptr, block.word_ids, block.word_counts
    return DocumentBatch(*renumber_words(*counted, new_ids, n_words))


def with_places(
    encoded: Iterable[EncodedBlock], place_of: Callable[[int], str]
) -> Iterator[EncodedBlock]:
    """The blocks of all documents; an error about a value gets the place of its document."""
    n_docs = 0
    try:
        for block in encoded:
            yield block
            n_docs += block.rows.n_docs + len(block.skipped)
    except WrongValueError as error:
        raise error.renamed(f"{place_of(n_docs + error.row)}, {error.where}") from error
