"""What the manifest of a corpus of documents says."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import msgspec
from msgspec import Meta

from sparsetopics.base.sealed_files import FileEntry, Size
from sparsetopics.corpora.store.manifest import (
    DOCUMENTS,
    ShardEntry,
    check_claim,
    load_manifest,
    save_manifest,
)
from sparsetopics.corpora.text.vocabulary import FILE_NAME as VOCABULARY_FILE
from sparsetopics.corpora.text.vocabulary import Vocabulary

LARGEST_TOKENS = 1e100  # of counts that are no whole numbers


class Sizes(NamedTuple):
    """How much a row group, a shard or a corpus holds."""

    n_docs: Size
    n_pairs: Size
    n_tokens: Size | Annotated[float, Meta(ge=0.0, le=LARGEST_TOKENS)]


@dataclass(frozen=True, slots=True)
class Manifest:
    """Files, sizes and tokeniser settings of a corpus."""

    n_words: int
    n_skipped: int  # documents left out because they hold no word of the vocabulary
    n_unknown_tokens: int  # tokens left out because a given vocabulary does not hold them
    vocabulary: FileEntry
    fingerprint: str  # of the vocabulary
    shards: tuple[ShardEntry[Sizes], ...]
    tokenizer: Mapping[str, Any] | None  # None for a collection that came as counts

    @property
    def sizes(self) -> Sizes:
        return total(total(shard.row_groups) for shard in self.shards)

    @property
    def sums(self) -> dict[str, int | float]:
        return _sizes_to_json(self.sizes)

    @property
    def totals(self) -> dict[str, int | float]:
        """How much the corpus holds, by the names that ``--json`` uses."""
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

    @classmethod
    def load(cls, folder: Path) -> Manifest:
        """Read the manifest of a corpus folder; CorpusFormatError if there is no sound one."""
        return load_manifest(folder, DOCUMENTS, _Record, _of_record)

    def save(self, folder: Path) -> None:
        save_manifest(folder, DOCUMENTS, _to_json(self))


def write_manifest(
    folder: Path,
    vocabulary: Vocabulary,
    shards: tuple[ShardEntry[Sizes], ...],
    n_skipped: int,
    n_unknown_tokens: int,
) -> Manifest:
    """Make a corpus of a folder that holds the shards: add the vocabulary, then the manifest."""
    vocabulary.save(folder)
    manifest = Manifest(
        n_words=len(vocabulary),
        n_skipped=n_skipped,
        n_unknown_tokens=n_unknown_tokens,
        vocabulary=FileEntry.of(folder / VOCABULARY_FILE),
        fingerprint=vocabulary.fingerprint,
        shards=shards,
        tokenizer=vocabulary.tokenizer,
    )
    manifest.save(folder)
    return manifest


def total(parts: Any) -> Sizes:
    """Sizes of parts added up."""
    columns = list(zip(*parts, strict=True)) or [(), (), ()]
    return Sizes(*map(sum, columns))


def _to_json(manifest: Manifest) -> dict[str, Any]:
    return {
        **_sizes_to_json(manifest.sizes),
        "n_words": manifest.n_words,
        "n_skipped": manifest.n_skipped,
        "n_unknown_tokens": manifest.n_unknown_tokens,
        "vocabulary": manifest.vocabulary.to_json() | {"fingerprint": manifest.fingerprint},
        "shards": [
            shard.file.to_json()
            | _sizes_to_json(total(shard.row_groups))
            | {"row_groups": shard.row_groups}
            for shard in manifest.shards
        ],
        "tokenizer": manifest.tokenizer,
        "tokenizer_hash": settings_hash(manifest.tokenizer),
    }


def settings_hash(settings: Mapping[str, Any] | None) -> str:
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()


def _sizes_to_json(sizes: Sizes) -> dict[str, int | float]:
    return {
        "n_documents": sizes.n_docs,
        "n_pairs": sizes.n_pairs,
        "n_tokens": sizes.n_tokens,
    }


class _Vocabulary(FileEntry, frozen=True):
    fingerprint: str


class _Shard(FileEntry, frozen=True):
    row_groups: tuple[Sizes, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        check_claim(total(self.row_groups).n_docs, self.n_bytes)


class _Record(msgspec.Struct):
    """What ``manifest.json`` holds, but for the totals."""

    n_words: Size
    n_skipped: Size
    n_unknown_tokens: Size
    vocabulary: _Vocabulary
    shards: list[_Shard]
    tokenizer: dict[str, Any] | None


def _of_record(record: _Record) -> Manifest:
    return Manifest(
        n_words=record.n_words,
        n_skipped=record.n_skipped,
        n_unknown_tokens=record.n_unknown_tokens,
        vocabulary=record.vocabulary.alone(),
        fingerprint=record.vocabulary.fingerprint,
        shards=tuple(ShardEntry(shard.alone(), shard.row_groups) for shard in record.shards),
        tokenizer=record.tokenizer,
    )
