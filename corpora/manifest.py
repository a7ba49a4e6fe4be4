"""``manifest.json``: what a corpus folder holds. Written last, read first."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from sparsetopics.corpora.vocabulary import FILE_NAME as VOCABULARY_FILE
from sparsetopics.corpora.vocabulary import Vocabulary
from sparsetopics.errors import CorpusFormatError

FILE_NAME = "manifest.json"
FORMAT_VERSION = 1
KIND = "documents"


class Sizes(NamedTuple):
    """How much a row group, a shard or a corpus holds."""

    n_docs: int
    n_pairs: int
    n_tokens: int | float


@dataclass(frozen=True, slots=True)
class FileEntry:
    """One file of the corpus."""

    file: str
    n_bytes: int
    sha256: str

    @classmethod
    def of(cls, path: Path) -> FileEntry:
        return cls(path.name, path.stat().st_size, file_sha256(path))


@dataclass(frozen=True, slots=True)
class ShardEntry:
    """One Parquet file of documents."""

    file: FileEntry
    row_groups: tuple[Sizes, ...]


@dataclass(frozen=True, slots=True)
class Manifest:
    """Files, sizes and tokeniser settings of a corpus."""

    n_words: int
    n_skipped: int  # documents left out because they hold no word of the vocabulary
    n_unknown_tokens: int  # tokens left out because a given vocabulary does not hold them
    vocabulary: FileEntry
    fingerprint: str  # of the vocabulary
    shards: tuple[ShardEntry, ...]
    tokenizer: Mapping[str, Any] | None  # None for a collection that came as counts

    @property
    def sizes(self) -> Sizes:
        return total(total(shard.row_groups) for shard in self.shards)

    def save(self, folder: Path) -> None:
        (folder / FILE_NAME).write_text(json.dumps(_to_json(self), indent=1) + "\n")

    @classmethod
    def load(cls, folder: Path) -> Manifest:
        """Read the manifest of a corpus folder; CorpusFormatError if there is no sound one."""
        path = folder / FILE_NAME
        try:
            content = json.loads(path.read_text())
        except OSError as error:
            raise CorpusFormatError(
                str(folder),
                found=f"no readable {FILE_NAME} ({error.strerror})",
                wanted="a corpus folder made by `sparsetopics ingest`",
            ) from error
        except ValueError as error:
            raise CorpusFormatError(
                str(path), found=f"damaged JSON ({error})", wanted="a manifest", hint="Ingest anew."
            ) from error
        _check_kind(path, content)
        try:
            manifest = _from_json(content)
        except (KeyError, TypeError, ValueError) as error:
            raise CorpusFormatError(
                str(path),
                found=f"a missing or odd entry ({error!r})",
                wanted=f"a manifest of format version {FORMAT_VERSION}",
                hint="Ingest anew.",
            ) from error
        _check_totals(path, content, manifest)
        return manifest


def write_manifest(
    folder: Path,
    vocabulary: Vocabulary,
    shards: tuple[ShardEntry, ...],
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


def file_sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _to_json(manifest: Manifest) -> dict[str, Any]:
    return {
        "format_version": FORMAT_VERSION,
        "kind": KIND,
        **_sizes_to_json(manifest.sizes),
        "n_words": manifest.n_words,
        "n_skipped": manifest.n_skipped,
        "n_unknown_tokens": manifest.n_unknown_tokens,
        "vocabulary": _file_to_json(manifest.vocabulary) | {"fingerprint": manifest.fingerprint},
        "shards": [
            _file_to_json(shard.file)
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


def _file_to_json(entry: FileEntry) -> dict[str, Any]:
    return {"file": entry.file, "bytes": entry.n_bytes, "sha256": entry.sha256}


def _from_json(content: dict[str, Any]) -> Manifest:
    vocabulary = content["vocabulary"]
    return Manifest(
        n_words=_size(content["n_words"]),
        n_skipped=_size(content["n_skipped"]),
        n_unknown_tokens=_size(content["n_unknown_tokens"]),
        vocabulary=_file_from_json(vocabulary),
        fingerprint=str(vocabulary["fingerprint"]),
        shards=tuple(
            ShardEntry(_file_from_json(shard), tuple(map(_sizes_from_json, shard["row_groups"])))
            for shard in content["shards"]
        ),
        tokenizer=content["tokenizer"],
    )


def _file_from_json(entry: dict[str, Any]) -> FileEntry:
    name = entry["file"]
    if not isinstance(name, str) or name in ("", "..") or set(name) & set("/\\"):
        raise ValueError(f"file name {name!r}")  # never read outside the folder
    return FileEntry(name, _size(entry["bytes"]), str(entry["sha256"]))


def _sizes_from_json(sizes: list[Any]) -> Sizes:
    n_docs, n_pairs, n_tokens = sizes
    if not isinstance(n_tokens, int | float):
        raise TypeError(f"size {n_tokens!r}")
    return Sizes(_size(n_docs), _size(n_pairs), n_tokens)


def _size(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise ValueError(f"size {value!r}")
    return value


def _check_kind(path: Path, content: Any) -> None:
    if not isinstance(content, dict):
        raise CorpusFormatError(str(path), found="no JSON object", wanted="a manifest")
    version, kind = content.get("format_version"), content.get("kind")
    if version != FORMAT_VERSION or kind != KIND:
        raise CorpusFormatError(
            str(path),
            found=f"format version {version!r}, kind {kind!r}",
            wanted=f"format version {FORMAT_VERSION}, kind {KIND!r}",
            hint="Ingest anew, or use the release that wrote it.",
        )


def _check_totals(path: Path, content: dict[str, Any], manifest: Manifest) -> None:
    written = tuple(content.get(name) for name in ("n_documents", "n_pairs", "n_tokens"))
    if written != manifest.sizes:
        raise CorpusFormatError(
            str(path),
            found=f"totals {written}",
            wanted=f"{tuple(manifest.sizes)}, the sum over the row groups",
            hint="Ingest anew.",
        )
