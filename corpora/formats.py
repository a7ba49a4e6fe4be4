"""The input formats: which reader for which extension."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from sparsetopics.corpora.blocks import PendingBlock
from sparsetopics.corpora.read_jsonl import read_jsonl
from sparsetopics.corpora.sources import ReadOptions, SourceFile, bare_suffix, find_files
from sparsetopics.errors import OptionError, SourceError

Reader = Callable[[Sequence[SourceFile], ReadOptions], Iterator[PendingBlock]]


class Format(NamedTuple):
    """One input format."""

    read: Reader
    suffixes: tuple[str, ...]  # extensions that mean this format, before any .gz
    counted: bool  # documents come as word counts, not as text


FORMATS = {
    "jsonl": Format(read_jsonl, (".jsonl", ".ndjson"), counted=False),
}


class Collection(NamedTuple):
    """Files of one format."""

    files: list[SourceFile]
    format: Format


def find_collection(sources: Iterable[str | Path], format_name: str | None) -> Collection:
    """The files that ``sources`` mean, all of one format, told by extension unless named.

    Raises SourceError if a source is missing, of no known format or of another than the first;
    OptionError if ``format_name`` is unknown.
    """
    if format_name is not None:
        chosen = _named(format_name)
        return Collection(find_files(sources, None), chosen)
    known = [suffix for entry in FORMATS.values() for suffix in entry.suffixes]
    files = find_files(sources, known)
    names = [_name_of(file.path) for file in files]
    for file, name in zip(files, names, strict=True):
        if name != names[0]:
            raise SourceError(
                str(file.path),
                found=f"format {name} after {names[0]} in {files[0].path}",
                wanted="files of one format",
                hint="Ingest them apart, or choose --format.",
            )
    return Collection(files, FORMATS[names[0]])


def _named(name: str) -> Format:
    if name not in FORMATS:
        raise OptionError("format", found=repr(name), wanted=f"one of {', '.join(FORMATS)}")
    return FORMATS[name]


def _name_of(path: Path) -> str:
    suffix = bare_suffix(path)
    for name, entry in FORMATS.items():
        if suffix in entry.suffixes:
            return name
    raise SourceError(
        str(path),
        found=f"extension {suffix!r}" if suffix else "no extension",
        wanted=f"a format among {', '.join(FORMATS)}",
        hint="Say which with --format.",
    )
