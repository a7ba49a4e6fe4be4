"""The input formats: which reader for which extension."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from sparsetopics.corpora.readers.arrow import read_ipc, read_parquet
from sparsetopics.corpora.readers.blocks import PendingBlock
from sparsetopics.corpora.readers.csv import read_csv
from sparsetopics.corpora.readers.jsonl import read_jsonl
from sparsetopics.corpora.readers.ldac import read_ldac
from sparsetopics.corpora.readers.matrix_market import read_matrix_market
from sparsetopics.corpora.readers.text_files import read_lines, read_text
from sparsetopics.corpora.readers.uci import read_uci
from sparsetopics.corpora.sources.places import Place, has_sibling
from sparsetopics.corpora.sources.sources import (
    FormatTable,
    ReadOptions,
    SourceFile,
    bare_suffix,
    find_of_one_format,
)

Reader = Callable[[Sequence[SourceFile], ReadOptions], Iterator[PendingBlock]]


class Format(NamedTuple):
    """One input format."""

    read: Reader
    suffixes: tuple[str, ...]  # extensions that mean this format, before any .gz or .zst
    counted: bool = False  # documents come as word counts, not as text


UCI = "uci"
ARROW_SUFFIXES = (".arrow", ".arrows", ".feather", ".ipc")
FORMATS = {
    "text": Format(read_text, (".txt", ".text")),
    "lines": Format(read_lines, (".lines",)),
    "jsonl": Format(read_jsonl, (".jsonl", ".ndjson")),
    "csv": Format(read_csv, (".csv", ".tsv")),
    "parquet": Format(read_parquet, (".parquet",)),
    "arrow": Format(read_ipc, ARROW_SUFFIXES),
    "ldac": Format(read_ldac, (".ldac", ".lda-c"), counted=True),
    "matrix-market": Format(read_matrix_market, (".mtx", ".mm"), counted=True),
    UCI: Format(read_uci, (), counted=True),  # told by the name docword.NAME.txt
}


class Collection(NamedTuple):
    """Files of one format."""

    files: list[SourceFile]
    format: Format


def find_collection(
    sources: Iterable[str | Path],
    format_name: str | None,
    *,
    follow_links: bool = False,
    say: Callable[[str], None] = lambda _: None,
) -> Collection:
    """The files that ``sources`` name, all of one format, told by extension unless named.

    ``say`` gets a sentence about links that are skipped without ``follow_links``. Raises
    SourceError if a source is missing, of no known format or of another than the first; OptionError
    if ``format_name`` is unknown.
    """
    extensions = (
        f"{', '.join(_by_suffix())} (or these with .gz or .zst, or in a .zip) or docword.NAME.txt"
    )
    table = FormatTable(FORMATS, format_of, extensions)
    found, name = find_of_one_format(sources, format_name, table, follow_links=follow_links)
    found.say_skipped(say)
    return Collection(found.files, FORMATS[name])


def format_of(path: Place) -> str | None:
    """The format that a file name means; None for an unknown one and for a UCI vocabulary."""
    if path.name.startswith("docword."):
        return UCI
    if path.name.startswith("vocab.") and has_sibling(path, "docword."):
        return None
    return _by_suffix().get(bare_suffix(path))


def _by_suffix() -> dict[str, str]:
    """Names of formats."""
    return {suffix: name for name, entry in FORMATS.items() for suffix in entry.suffixes}
