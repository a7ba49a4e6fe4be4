"""A corpus: vocabulary and documents, on disk or in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from sparsetopics.base.batches import DocumentBatch
from sparsetopics.corpora.sources.sources import ReadOptions
from sparsetopics.corpora.store.document_manifest import Manifest, Sizes, total
from sparsetopics.corpora.store.manifest import DAMAGE
from sparsetopics.corpora.store.shard_files import StoredShard
from sparsetopics.corpora.store.shards import StoredRowGroup
from sparsetopics.corpora.text.pruning import PruningOptions
from sparsetopics.corpora.text.vocabulary import Vocabulary

if TYPE_CHECKING:
    from sparsetopics.corpora.text.tokenizer import TokenizerOptions

# What makes corpora in memory is imported by the methods that do: commands open them on disk.
DEFAULT_PRUNING = PruningOptions()


class RowGroup(Protocol):
    """Consecutive documents that are read at once."""

    @property
    def n_docs(self) -> int: ...

    @property
    def n_pairs(self) -> int: ...

    @property
    def n_tokens(self) -> int | float: ...

    def read(self) -> DocumentBatch: ...

    def read_doc_ids(self) -> list[str]: ...

    def read_labels(self) -> list[str | None]: ...


@dataclass(frozen=True, eq=False)
class Corpus:
    """Documents as sparse word counts, in row groups, with their vocabulary.

    ``vocabulary.words`` are the words by their number; ``n_skipped`` documents and
    ``n_unknown_tokens`` tokens were left out when the corpus was made.
    """

    vocabulary: Vocabulary
    row_groups: Sequence[RowGroup]
    n_skipped: int = 0  # documents left out because they hold no word of the vocabulary
    n_unknown_tokens: int = 0  # tokens left out because a given vocabulary does not hold them

    @property
    def n_words(self) -> int:
        """Words of the vocabulary."""
        return len(self.vocabulary)

    @property
    def n_docs(self) -> int:
        """Documents; each has a word of the vocabulary."""
        return self._sizes.n_docs

    @property
    def n_pairs(self) -> int:
        """Number of different words in each document, added up."""
        return self._sizes.n_pairs

    @property
    def n_tokens(self) -> int | float:
        """All counts added up; no whole number where counts are none."""
        return self._sizes.n_tokens

    @cached_property
    def _sizes(self) -> Sizes:
        return total((group.n_docs, group.n_pairs, group.n_tokens) for group in self.row_groups)

    def batches(self) -> Iterator[DocumentBatch]:
        """The documents, one batch per row group, in order.

        A batch has ``indptr`` (n_docs + 1,), and for each pair of a document and a word
        ``word_ids`` (n_pairs,) int32, sorted within a document, and ``word_counts`` (n_pairs,)
        uint32 or float32, all above zero. Raises CorpusFormatError for a damaged shard.
        """
        return (group.read() for group in self.row_groups)

    def doc_ids(self) -> Iterator[list[str]]:
        """Document ids, aligned with ``batches()``; raises what they raise."""
        return (group.read_doc_ids() for group in self.row_groups)

    def labels(self) -> Iterator[list[str | None]]:
        """Labels, aligned with ``batches()``; None where a document has none; raises likewise."""
        return (group.read_labels() for group in self.row_groups)

    @classmethod
    def open(cls, path: str | Path) -> Corpus:
        """Open a corpus folder; documents are read when asked for.

        Raises CorpusFormatError if the manifest, the vocabulary or the size of a shard is not
        what ingest wrote. ``validate`` looks at every byte.
        """
        folder = Path(path)
        manifest = Manifest.load(folder)
        for entry in (manifest.vocabulary, *(shard.file for shard in manifest.shards)):
            entry.check_size(folder, DAMAGE)
        vocabulary = _vocabulary_of(folder, manifest)
        groups: list[RowGroup] = []
        for shard_entry in manifest.shards:
            shard = StoredShard(folder, shard_entry.file)
            groups += [
                StoredRowGroup(shard, index, *sizes, manifest.n_words)
                for index, sizes in enumerate(shard_entry.row_groups)
            ]
        return cls(vocabulary, tuple(groups), manifest.n_skipped, manifest.n_unknown_tokens)

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
        from sparsetopics.corpora.memory_corpus import documents_of_texts

        return cls(*documents_of_texts(texts, tokenizer, pruning, vocabulary))

    @classmethod
    def from_table(
        cls,
        table: Any,
        *,
        text_field: str = "text",
        id_field: str | None = None,
        label_field: str | None = None,
        tokenizer: TokenizerOptions | None = None,
        pruning: PruningOptions = DEFAULT_PRUNING,
        vocabulary: Vocabulary | None = None,
    ) -> Corpus:
        """Make a corpus in memory of a table, one document a row.

        A table is anything with ``__arrow_c_stream__`` or ``__arrow_c_array__``: of pyarrow,
        pandas, polars, DuckDB; or a Hugging Face dataset. Without ``id_field`` and
        ``label_field``, columns called ``id`` and ``label`` are used where they exist; the rest is
        as for ``from_texts``. Raises SourceError for something else, or a column that is not there
        or holds no text, or if nothing is left.
        """
        from sparsetopics.corpora.tables import documents_of_table

        read = ReadOptions(text_field, id_field, label_field)
        return cls(*documents_of_table(table, read, tokenizer, pruning, vocabulary))

    @classmethod
    def from_csr(
        cls, counts: Any, words: Sequence[str], doc_ids: Sequence[str] | None = None
    ) -> Corpus:
        """Make a corpus in memory of a sparse matrix, (n_docs, n_words), of any number type, its
        ``words`` (n_words,) and ``doc_ids`` (n_docs,).

        Rows without a count are left out. Whole counts are kept as uint32, others as float32.
        Raises ShapeError if the sizes do not fit or a count is negative or not finite.
        """
        from sparsetopics.corpora.memory_corpus import documents_of_csr

        return cls(*documents_of_csr(counts, words, doc_ids))

    @classmethod
    def from_gensim(
        cls, bow: Iterable[Iterable[tuple[int, float]]], dictionary: Mapping[int, str]
    ) -> Corpus:
        """Make a corpus in memory of gensim's bag of words, an ``MmCorpus`` for one, and its
        ``Dictionary``; document ids are running numbers.

        Documents without a count are left out. Raises SourceError for what is no bag of words,
        ShapeError for a word that is not in the dictionary or a count that is negative.
        """
        from sparsetopics.corpora.gensim_corpus import documents_of_gensim

        return cls(*documents_of_gensim(bow, dictionary))


def _vocabulary_of(folder: Path, manifest: Manifest) -> Vocabulary:
    manifest.vocabulary.check(folder, DAMAGE)
    vocabulary = Vocabulary.read(folder)
    if vocabulary.fingerprint != manifest.fingerprint or len(vocabulary) != manifest.n_words:
        raise DAMAGE.of(
            folder / manifest.vocabulary.file,
            found=f"{len(vocabulary)} words with fingerprint {vocabulary.fingerprint[:12]}",
            wanted=f"{manifest.n_words} with {manifest.fingerprint[:12]}",
        )
    return vocabulary
