"""``manifest.json``: what a corpus folder of either kind holds. Written last, read first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, ClassVar, NamedTuple, Self

import msgspec
import numpy as np
from msgspec import Meta

from sparsetopics.base.batches import DocumentBatch, VectorBatch
from sparsetopics.base.errors import CorpusFormatError
from sparsetopics.base.sealed_files import (
    VERSION_KEY,
    FileEntry,
    Json,
    Refusal,
    Size,
    absence,
    decoded,
    read_sealed,
    write_sealed,
)
from sparsetopics.base.transactions import APPEND_FOLDER, refuse_pending
from sparsetopics.corpora.readers.blocks import DOCUMENTS, VECTORS

FILE_NAME = "manifest.json"
FORMAT_VERSION = 2  # version 1 held no digest of itself
KINDS = (DOCUMENTS, VECTORS)
TEXTS, FIELDS = "texts", "fields"  # how the names of the files beside shards begin
_WHAT_FOR = {  # the hint where a command needs the other kind
    DOCUMENTS: "Vectors are made by `sparsetopics ingest --kind vectors`; mixtures of documents "
    "have --likelihood multinomial.",
    VECTORS: "Gaussian mixtures learn from vectors, topic models and multinomial mixtures from "
    "documents.",
}

DAMAGE = Refusal(CorpusFormatError, "Ingest again")
MOST_ROWS_PER_BYTE = 64  # in a shard: even an id alone, packed well, takes more space
LARGEST_TOKENS = 1e100  # of counts that are no whole numbers


class Sizes(NamedTuple):
    """How much a row group, a shard or a corpus holds. An item counts as a document of one
    token, as it does in training."""

    n_docs: Size
    n_pairs: Size
    n_tokens: Size | Annotated[float, Meta(ge=0.0, le=LARGEST_TOKENS)]

    @classmethod
    def of_items(cls, n_items: int) -> Sizes:
        return cls(n_items, n_items, n_items)

    @classmethod
    def of(cls, batch: DocumentBatch | VectorBatch) -> Sizes:
        """The sizes of rows in memory; a whole number of tokens where counts are whole."""
        if isinstance(batch, VectorBatch):
            return cls.of_items(batch.n_docs)
        counts = batch.word_counts
        n_tokens = int(counts.sum(dtype=np.int64)) if counts.dtype == np.uint32 else batch.n_tokens
        return cls(batch.n_docs, batch.n_pairs, n_tokens)

    @classmethod
    def total(cls, parts: Iterable[Sizes]) -> Sizes:
        """The sum of the sizes of parts, added in their order."""
        columns = list(zip(*parts, strict=True)) or [(), (), ()]
        return cls(*map(sum, columns))


class ShardEntry(FileEntry, frozen=True, omit_defaults=True):
    """One Parquet file of rows with the sizes of its row groups, and the files beside it."""

    row_groups: tuple[Sizes | Size, ...]  # of vectors, only their number is stored
    texts: FileEntry | None = None
    fields: FileEntry | None = None

    @property
    def groups(self) -> Sequence[Sizes]:
        """The sizes of the row groups."""
        return [own if isinstance(own, Sizes) else Sizes.of_items(own) for own in self.row_groups]

    @property
    def beside(self) -> Mapping[str, FileEntry]:
        """The files with the kept fields of these rows, by what they hold."""
        found = {TEXTS: self.texts, FIELDS: self.fields}
        return {stem: file for stem, file in found.items() if file is not None}

    def __post_init__(self) -> None:
        super().__post_init__()
        # Readers allocate memory for the number of rows that a manifest claims.
        n_rows = Sizes.total(self.groups).n_docs
        if n_rows > MOST_ROWS_PER_BYTE * self.n_bytes:
            raise ValueError(f"{n_rows:,} rows cannot fit in {self.n_bytes:,} bytes")


class CorpusManifest(msgspec.Struct, frozen=True, kw_only=True):
    """What the manifests of both kinds of corpora share."""

    kind: ClassVar[str]

    @property
    def shards(self) -> Sequence[ShardEntry]:
        raise NotImplementedError

    @property
    def sizes(self) -> Sizes:
        return Sizes.total(Sizes.total(shard.groups) for shard in self.shards)

    @property
    def totals(self) -> dict[str, int | float]:
        """How much the corpus holds, under the keys that ``--json`` uses."""
        raise NotImplementedError

    @staticmethod
    def named(sizes: Sizes) -> dict[str, int | float]:
        """Sums over row groups, under the keys that they are stored with."""
        raise NotImplementedError

    @property
    def sums(self) -> dict[str, int | float]:
        """The stored totals that are sums over the row groups."""
        return self.named(self.sizes)

    def to_json(self) -> dict[str, Json]:
        """The stored entries, in their order on disk."""
        stored: dict[str, Json] = self.sums | msgspec.to_builtins(self)
        stored["shards"] = [
            shard.to_json() | self.named(Sizes.total(shard.groups)) | msgspec.to_builtins(shard)
            for shard in self.shards
        ]
        return stored

    def save(self, folder: Path) -> None:
        content = {VERSION_KEY: FORMAT_VERSION, "kind": self.kind, **self.to_json()}
        write_sealed(folder / FILE_NAME, content, indent=1)

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read the manifest of a corpus folder; CorpusFormatError if there is no sound one of
        this kind."""
        path = folder / FILE_NAME
        content = _read_content(folder)
        if content["kind"] != cls.kind:
            kind = str(content["kind"])
            problem = f"expected a corpus of {cls.kind}, but found a corpus of {kind}"
            raise CorpusFormatError(str(folder), problem, _WHAT_FOR[kind])
        manifest = decoded(content, cls, str(path), DAMAGE)
        written = {name: content.get(name) for name in manifest.sums}
        if written != manifest.sums:
            problem = f"expected totals {manifest.sums} of the row groups, but found {written}"
            raise DAMAGE.of(path, problem)
        return manifest


def kind_of(folder: Path) -> str:
    """``DOCUMENTS`` or ``VECTORS``; CorpusFormatError if the folder is no corpus."""
    return str(_read_content(folder)["kind"])


def _read_content(folder: Path) -> dict[str, Json]:
    path = folder / FILE_NAME
    refuse_pending(folder, (APPEND_FOLDER,))
    absent = absence(path)
    if absent:
        problem = f"expected a corpus folder made by `sparsetopics ingest`, but found {absent}"
        raise CorpusFormatError(str(folder), problem)
    content = read_sealed(path, FORMAT_VERSION, DAMAGE)
    if content.get("kind") not in KINDS:
        kinds = " or ".join(map(repr, KINDS))
        raise DAMAGE.of(f"{path}, kind", f"expected {kinds}, but found {content.get('kind')!r}")
    return content


def files_of(shards: Iterable[ShardEntry]) -> Iterator[FileEntry]:
    """The shards and the files beside them."""
    for shard in shards:
        yield shard
        yield from shard.beside.values()
