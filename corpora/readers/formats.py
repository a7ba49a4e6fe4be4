"""The input formats: which reader for which extension, and which kind of rows they make."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

from sparsetopics.base.errors import OptionError
from sparsetopics.corpora.readers.arrays import read_npy, read_npz
from sparsetopics.corpora.readers.blocks import DOCUMENTS, VECTORS, PendingBlock, PendingVectors
from sparsetopics.corpora.readers.images import read_images
from sparsetopics.corpora.readers.jsonl import read_jsonl
from sparsetopics.corpora.readers.ldac import read_ldac
from sparsetopics.corpora.readers.matrix_market import read_matrix_market
from sparsetopics.corpora.readers.number_tables import (
    read_csv_numbers,
    read_ipc_numbers,
    read_parquet_numbers,
)
from sparsetopics.corpora.readers.options import ReadOptions, VectorReadOptions
from sparsetopics.corpora.readers.text_files import read_csv, read_lines, read_text
from sparsetopics.corpora.readers.text_tables import read_ipc, read_parquet
from sparsetopics.corpora.readers.uci import read_uci
from sparsetopics.corpora.sources.byte_stream import Place, has_sibling
from sparsetopics.corpora.sources.source_files import (
    FormatTable,
    SourceFile,
    bare_suffix,
    find_files,
    find_of_one_format,
)

Options = TypeVar("Options")
Pending = TypeVar("Pending")


class Format(NamedTuple, Generic[Options, Pending]):
    """One input format of documents or of vectors."""

    read: Callable[[Sequence[SourceFile], Options], Iterator[Pending]]
    suffixes: tuple[str, ...]  # extensions that mean this format, before any .gz or .zst
    counted: bool = False  # documents come as word counts, not as text
    options: frozenset[str] = frozenset()  # the fields of VectorReadOptions that it knows


TextFormat = Format[ReadOptions, PendingBlock]
VectorFormat = Format[VectorReadOptions, PendingVectors]

UCI = "uci"
IMAGE = "image"
_ARROW_SUFFIXES = (".arrow", ".arrows", ".feather", ".ipc")
_OF_TABLES = frozenset({"columns", "id_field", "label_field"})
FORMATS: dict[str, TextFormat] = {
    "text": Format(read_text, (".txt", ".text")),
    "lines": Format(read_lines, (".lines",)),
    "jsonl": Format(read_jsonl, (".jsonl", ".ndjson")),
    "csv": Format(read_csv, (".csv", ".tsv")),
    "parquet": Format(read_parquet, (".parquet",)),
    "arrow": Format(read_ipc, _ARROW_SUFFIXES),
    "ldac": Format(read_ldac, (".ldac", ".lda-c"), counted=True),
    "matrix-market": Format(read_matrix_market, (".mtx", ".mm"), counted=True),
    UCI: Format(read_uci, (), counted=True),  # recognised by the name docword.NAME.txt
}
VECTOR_FORMATS: dict[str, VectorFormat] = {
    "npy": Format(read_npy, (".npy",)),
    "npz": Format(
        read_npz, (".npz",), options=frozenset({"values_field", "id_field", "label_field"})
    ),
    "csv": Format(read_csv_numbers, (".csv", ".tsv"), options=_OF_TABLES),
    "parquet": Format(read_parquet_numbers, (".parquet",), options=_OF_TABLES),
    "arrow": Format(read_ipc_numbers, _ARROW_SUFFIXES, options=_OF_TABLES),
    IMAGE: Format(
        read_images,
        (".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff"),
        options=frozenset({"patches", "stride"}),
    ),
}


class Collection(NamedTuple, Generic[Options, Pending]):
    """Files of one format."""

    files: list[SourceFile]
    format_name: str
    format: Format[Options, Pending]

    def read(self, options: Options) -> Iterator[Pending]:
        """The rows of all files in order, in blocks still to be decoded."""
        return self.format.read(self.files, options)


TextCollection = Collection[ReadOptions, PendingBlock]
VectorCollection = Collection[VectorReadOptions, PendingVectors]


def find_collection(
    sources: Iterable[str | Path],
    format_name: str | None,
    *,
    follow_links: bool = False,
    say: Callable[[str], None] = lambda _: None,
) -> TextCollection:
    """Find the files of documents that ``sources`` name, all of one format.

    The extension tells the format unless ``format_name`` does. ``say`` gets a sentence about links
    that are skipped without ``follow_links``. Raises SourceError if a source is missing, of an
    unknown format or of another than the first; OptionError if ``format_name`` is unknown.
    """
    extensions = (
        f"{', '.join(_by_suffix(FORMATS))} (or these with .gz or .zst, or in a .zip) "
        "or docword.NAME.txt"
    )
    table = FormatTable(FORMATS, format_of, extensions)
    files, name = find_of_one_format(
        sources, format_name, table, follow_links=follow_links, say=say
    )
    return Collection(files, name, FORMATS[name])


def find_vectors(
    sources: Iterable[str | Path],
    format_name: str | None,
    options: VectorReadOptions,
    *,
    follow_links: bool = False,
    say: Callable[[str], None] = lambda _: None,
) -> VectorCollection:
    """Find the files of vectors that ``sources`` name, as ``find_collection`` does for documents.

    Also raises OptionError for an option that the format does not know.
    """
    extensions = f"{', '.join(_by_suffix(VECTOR_FORMATS))} (or these with .gz or .zst)"
    table = FormatTable(VECTOR_FORMATS, vector_format_of, extensions)
    files, name = find_of_one_format(
        sources, format_name, table, follow_links=follow_links, say=say
    )
    for option in fields(options):
        known = option.name in VECTOR_FORMATS[name].options
        if not known and getattr(options, option.name) is not None:
            users = [user for user, entry in VECTOR_FORMATS.items() if option.name in entry.options]
            raise OptionError(
                option.name,
                found=f"an option for {', '.join(users)}, with format {name}",
                wanted="it left out",
            )
    return Collection(files, name, VECTOR_FORMATS[name])


def format_of(path: Place) -> str | None:
    """The format of documents that a file name means; None if unknown or a UCI vocabulary."""
    if path.name.startswith("docword."):
        return UCI
    if path.name.startswith("vocab.") and has_sibling(path, "docword."):
        return None
    return _by_suffix(FORMATS).get(bare_suffix(path))


def vector_format_of(path: Place) -> str | None:
    """The format of vectors that a file name means; None if unknown."""
    return _by_suffix(VECTOR_FORMATS).get(bare_suffix(path))


def _by_suffix(formats: Mapping[str, Format[Options, Pending]]) -> dict[str, str]:
    """The name of the format of each extension."""
    return {suffix: name for name, entry in formats.items() for suffix in entry.suffixes}


def kind_of_sources(
    sources: Iterable[str | Path],
    format_name: str | None,
    *,
    wants_vectors: bool,
    follow_links: bool = False,
) -> str:
    """``DOCUMENTS`` or ``VECTORS``: the kind of corpus that the sources make.

    Tables, and folders with files of both kinds, could be either; they are vectors if
    ``wants_vectors``. Raises SourceError if a source is missing, OptionError for an unknown format.
    """
    if format_name is None:
        files = find_files(sources, _is_known, or_all=True, follow_links=follow_links).files
        of_documents = any(format_of(file.path) for file in files)
        of_vectors = any(vector_format_of(file.path) for file in files)
    else:
        of_documents, of_vectors = format_name in FORMATS, format_name in VECTOR_FORMATS
        if not of_documents and not of_vectors:
            names = ", ".join(dict.fromkeys([*FORMATS, *VECTOR_FORMATS]))
            raise OptionError("format", found=repr(format_name), wanted=f"one of {names}")
    if of_vectors and (wants_vectors or not of_documents):
        return VECTORS
    return DOCUMENTS


def _is_known(path: Place) -> bool:
    return format_of(path) is not None or vector_format_of(path) is not None
