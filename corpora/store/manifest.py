"""``manifest.json``: what a corpus folder holds, of either kind. Written last, read first."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from sparsetopics.base.errors import CorpusFormatError
from sparsetopics.base.sealed_files import (
    VERSION_KEY,
    FileEntry,
    Refusal,
    absence,
    decoded,
    read_sealed,
    write_sealed,
)
from sparsetopics.base.transactions import APPEND_FOLDER, refuse_pending

FILE_NAME = "manifest.json"
FORMAT_VERSION = 2  # version 1 held no digest of itself
DOCUMENTS = "documents"
VECTORS = "vectors"
KINDS = (DOCUMENTS, VECTORS)
_WHAT_FOR = {  # said where a corpus of the other kind is asked for
    DOCUMENTS: "Vectors are made by `sparsetopics ingest --kind vectors`; mixtures of documents "
    "have --likelihood multinomial.",
    VECTORS: "Gaussian mixtures learn from vectors, topic models and multinomial mixtures from "
    "documents.",
}

DAMAGE = Refusal(CorpusFormatError, "Ingest again")
MOST_ROWS_PER_BYTE = 64  # in a shard: even an id alone, packed well, takes more space
Group = TypeVar("Group")
Record = TypeVar("Record")
Content = TypeVar("Content", bound="HasTotals")


@dataclass(frozen=True, slots=True)
class ShardEntry(Generic[Group]):
    """One Parquet file of rows, with what is known of each row group."""

    file: FileEntry
    row_groups: tuple[Group, ...]


class HasTotals(Protocol):
    """A manifest, of documents or of vectors."""

    @property
    def totals(self) -> dict[str, int | float]:
        """How much the corpus holds, by the names that ``--json`` uses."""

    @property
    def sums(self) -> dict[str, int | float]:
        """Those of the totals that are sums over the row groups."""


def kind_of(folder: Path) -> str:
    """``DOCUMENTS`` or ``VECTORS``; CorpusFormatError if the folder is no such corpus."""
    return str(_read_content(folder)["kind"])


def save_manifest(folder: Path, kind: str, content: dict[str, Any]) -> None:
    """Write ``manifest.json``."""
    content = {VERSION_KEY: FORMAT_VERSION, "kind": kind, **content}
    write_sealed(folder / FILE_NAME, content, indent=1)


def load_manifest(
    folder: Path, kind: str, record: type[Record], of_record: Callable[[Record], Content]
) -> Content:
    """The manifest of a corpus of this kind; CorpusFormatError if there is no sound one."""
    path = folder / FILE_NAME
    content = _read_content(folder)
    if content["kind"] != kind:
        raise CorpusFormatError(
            str(folder),
            found=f"a corpus of {content['kind']}",
            wanted=f"a corpus of {kind}",
            hint=_WHAT_FOR[content["kind"]],
        )
    manifest = of_record(decoded(content, record, str(path), DAMAGE))
    _check_totals(path, content, manifest)
    return manifest


def check_claim(n_rows: int, n_bytes: int) -> None:
    """ValueError if a shard of ``n_bytes`` is too small to hold ``n_rows``.

    Memory is allocated for the number of rows that a manifest claims.
    """
    if n_rows > MOST_ROWS_PER_BYTE * n_bytes:
        raise ValueError(f"{n_rows:,} rows in {n_bytes:,} bytes")


def _read_content(folder: Path) -> dict[str, Any]:
    path = folder / FILE_NAME
    refuse_pending(folder, (APPEND_FOLDER,))
    absent = absence(path)
    if absent:
        wanted = "a corpus folder made by `sparsetopics ingest`"
        raise CorpusFormatError(str(folder), found=absent, wanted=wanted)
    content = read_sealed(path, FORMAT_VERSION, DAMAGE)
    if content.get("kind") not in KINDS:
        wanted = " or ".join(map(repr, KINDS))
        raise DAMAGE.of(f"{path}, kind", found=repr(content.get("kind")), wanted=wanted)
    return content


def _check_totals(path: Path, content: dict[str, Any], manifest: HasTotals) -> None:
    written = {name: content.get(name) for name in manifest.sums}
    if written != manifest.sums:
        wanted = f"{tuple(manifest.sums.values())}, the sum over the row groups"
        raise DAMAGE.of(path, found=f"totals {tuple(written.values())}", wanted=wanted)


def damaged_shards(folder: Path, shards: Iterable[ShardEntry[Any]]) -> dict[Path, str]:
    """The shards that are not as they were written, with a sentence each."""
    problems = {}
    for shard in shards:
        try:
            shard.file.check(folder, DAMAGE)
        except CorpusFormatError as error:
            problems[folder / shard.file.file] = str(error)
    return problems
