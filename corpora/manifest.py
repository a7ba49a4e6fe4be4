"""``manifest.json``: what a corpus folder holds, of either kind. Written last, read first."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from sparsetopics.errors import CorpusFormatError
from sparsetopics.small_files import parse_json, read_small
from sparsetopics.transactions import refuse_pending

FILE_NAME = "manifest.json"
FORMAT_VERSION = 1
DOCUMENTS = "documents"
VECTORS = "vectors"
KINDS = (DOCUMENTS, VECTORS)
APPEND_FOLDER = ".append"  # the workspace of a process that adds documents
_WHAT_FOR = {  # said where a corpus of the other kind is asked for
    DOCUMENTS: "Vectors are made by `sparsetopics ingest --kind vectors`; mixtures of documents "
    "have --likelihood multinomial.",
    VECTORS: "Gaussian mixtures learn from vectors, topic models and multinomial mixtures from "
    "documents.",
}

_FILE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,200}")
Group = TypeVar("Group")
Content = TypeVar("Content", bound="HasTotals")


@dataclass(frozen=True, slots=True)
class FileEntry:
    """One file of the corpus."""

    file: str
    n_bytes: int
    sha256: str

    @classmethod
    def of(cls, path: Path) -> FileEntry:
        return cls(path.name, path.stat().st_size, file_sha256(path))

    def check_size(self, folder: Path) -> None:
        """CorpusFormatError if the file is missing or of another size."""
        path = folder / self.file
        n_bytes = path.stat().st_size if path.is_file() else None
        if n_bytes != self.n_bytes:
            found = "no such file" if n_bytes is None else f"{n_bytes} bytes"
            raise damaged_file(path, found=found, wanted=f"{self.n_bytes} bytes")

    def check_content(self, folder: Path) -> None:
        """CorpusFormatError if the file is not as it was written."""
        found = file_sha256(folder / self.file)
        if found != self.sha256:
            wanted = f"{self.sha256[:12]}…"
            raise damaged_file(folder / self.file, found=f"sha256 {found[:12]}…", wanted=wanted)

    def to_json(self) -> dict[str, Any]:
        return {"file": self.file, "bytes": self.n_bytes, "sha256": self.sha256}

    @classmethod
    def from_json(cls, entry: dict[str, Any]) -> FileEntry:
        name = entry["file"]
        if not isinstance(name, str) or not _FILE_NAME.fullmatch(name):
            raise ValueError(f"file name {name!r}")  # never read outside the folder
        return cls(name, size_from_json(entry["bytes"]), str(entry["sha256"]))


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
    content = _read_content(folder)
    if content.get("format_version") != FORMAT_VERSION or content.get("kind") not in KINDS:
        raise _other_release(folder, content, wanted=" or ".join(map(repr, _WHAT_FOR)))
    return str(content["kind"])


def save_manifest(folder: Path, kind: str, content: dict[str, Any]) -> None:
    """Write ``manifest.json``."""
    content = {"format_version": FORMAT_VERSION, "kind": kind, **content}
    (folder / FILE_NAME).write_text(json.dumps(content, indent=1) + "\n")


def load_manifest(
    folder: Path, kind: str, from_json: Callable[[dict[str, Any]], Content]
) -> Content:
    """The manifest of a corpus of this kind; CorpusFormatError if there is no sound one."""
    path = folder / FILE_NAME
    content = _read_content(folder)
    _check_kind(folder, content, kind)
    try:
        manifest = from_json(content)
    except (KeyError, TypeError, ValueError) as error:
        raise CorpusFormatError(
            str(path),
            found=f"a missing or odd entry ({error!r})",
            wanted=f"a manifest of format version {FORMAT_VERSION}",
            hint="Ingest anew.",
        ) from error
    _check_totals(path, content, manifest)
    return manifest


def _read_content(folder: Path) -> dict[str, Any]:
    path = folder / FILE_NAME
    refuse_pending(folder, (APPEND_FOLDER,))
    try:
        content = parse_json(read_small(path))
    except OSError as error:
        found = f"no readable {FILE_NAME} ({error.strerror})"
        if not folder.exists():
            found = "nothing"
        elif folder.is_file():
            found = "a file"
        raise CorpusFormatError(
            str(folder), found=found, wanted="a corpus folder made by `sparsetopics ingest`"
        ) from error
    except ValueError as error:
        raise CorpusFormatError(
            str(path), found=f"damaged JSON ({error})", wanted="a manifest", hint="Ingest anew."
        ) from error
    if not isinstance(content, dict):
        raise CorpusFormatError(str(path), found="no JSON object", wanted="a manifest")
    return content


def file_sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def size_from_json(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise ValueError(f"size {value!r}")
    return value


def _check_kind(folder: Path, content: dict[str, Any], kind: str) -> None:
    version, found = content.get("format_version"), content.get("kind")
    if version == FORMAT_VERSION and found != kind and found in KINDS:
        raise CorpusFormatError(
            str(folder),
            found=f"a corpus of {found} (kind {found!r})",
            wanted=f"a corpus of {kind}",
            hint=_WHAT_FOR[str(found)],
        )
    if version != FORMAT_VERSION or found != kind:
        raise _other_release(folder, content, wanted=repr(kind))


def _other_release(folder: Path, content: dict[str, Any], *, wanted: str) -> CorpusFormatError:
    return CorpusFormatError(
        str(folder / FILE_NAME),
        found=f"format version {content.get('format_version')!r}, kind {content.get('kind')!r}",
        wanted=f"format version {FORMAT_VERSION}, kind {wanted}",
        hint="Ingest anew, or use the release that wrote it.",
    )


def _check_totals(path: Path, content: dict[str, Any], manifest: HasTotals) -> None:
    written = {name: content.get(name) for name in manifest.sums}
    if written != manifest.sums:
        raise CorpusFormatError(
            str(path),
            found=f"totals {tuple(written.values())}",
            wanted=f"{tuple(manifest.sums.values())}, the sum over the row groups",
            hint="Ingest anew.",
        )


def damaged_file(path: Path, *, found: str, wanted: str) -> CorpusFormatError:
    """The error for a file of a corpus that is not as it was written."""
    hint = "Ingest anew, or restore the file."
    return CorpusFormatError(str(path), found=found, wanted=wanted, hint=hint)


def damaged_shards(folder: Path, shards: Iterable[ShardEntry[Any]]) -> dict[Path, str]:
    """The shards that are not as they were written, with a sentence each."""
    problems = {}
    for shard in shards:
        path, wanted = folder / shard.file.file, shard.file.sha256
        found = file_sha256(path)
        if found != wanted:
            problems[path] = f"{path}: found sha256 {found[:12]}…, wanted {wanted[:12]}…."
    return problems
