"""The input formats of vectors, and which kind of corpus a set of sources means."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields
from pathlib import Path
from typing import NamedTuple

from sparsetopics.base.errors import OptionError
from sparsetopics.corpora.readers import formats
from sparsetopics.corpora.readers.arrays import read_npy, read_npz
from sparsetopics.corpora.readers.formats import ARROW_SUFFIXES
from sparsetopics.corpora.readers.images import read_images
from sparsetopics.corpora.readers.numbers import (
    read_csv_numbers,
    read_ipc_numbers,
    read_parquet_numbers,
)
from sparsetopics.corpora.readers.vector_blocks import PendingVectors, VectorReadOptions
from sparsetopics.corpora.sources.places import Place
from sparsetopics.corpora.sources.sources import (
    FormatTable,
    SourceFile,
    bare_suffix,
    find_files,
    find_of_one_format,
)
from sparsetopics.corpora.store.manifest import DOCUMENTS, VECTORS

Reader = Callable[[Sequence[SourceFile], VectorReadOptions], Iterator[PendingVectors]]

_OF_TABLES = frozenset({"columns", "id_field", "label_field"})


class VectorFormat(NamedTuple):
    """One input format of vectors."""

    read: Reader
    suffixes: tuple[str, ...]  # extensions that mean this format, before any .gz or .zst
    options: frozenset[str] = frozenset()  # those of VectorReadOptions that it knows


IMAGE = "image"
VECTOR_FORMATS = {
    "npy": VectorFormat(read_npy, (".npy",)),
    "npz": VectorFormat(
        read_npz, (".npz",), frozenset({"values_field", "id_field", "label_field"})
    ),
    "csv": VectorFormat(read_csv_numbers, (".csv", ".tsv"), _OF_TABLES),
    "parquet": VectorFormat(read_parquet_numbers, (".parquet",), _OF_TABLES),
    "arrow": VectorFormat(read_ipc_numbers, ARROW_SUFFIXES, _OF_TABLES),
    IMAGE: VectorFormat(
        read_images,
        (".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff"),
        frozenset({"patches", "stride"}),
    ),
}


class VectorCollection(NamedTuple):
    """Files of one format."""

    files: list[SourceFile]
    format_name: str

    def read(self, options: VectorReadOptions) -> Iterator[PendingVectors]:
        """The items of all files in order, in blocks still to be decoded."""
        return VECTOR_FORMATS[self.format_name].read(self.files, options)


def find_vectors(
    sources: Iterable[str | Path],
    format_name: str | None,
    options: VectorReadOptions,
    *,
    follow_links: bool = False,
    say: Callable[[str], None] = lambda _: None,
) -> VectorCollection:
    """The files that ``sources`` name, all of one format that has a use for the options.

    ``say`` gets a sentence about links that are skipped without ``follow_links``. Raises
    SourceError if a source is missing, of no known format or of another than the first; OptionError
    for an unknown format, or an option that it does not know.
    """
    extensions = f"{', '.join(_by_suffix())} (or these with .gz or .zst)"
    table = FormatTable(VECTOR_FORMATS, format_of, extensions)
    found, name = find_of_one_format(sources, format_name, table, follow_links=follow_links)
    found.say_skipped(say)
    collection = VectorCollection(found.files, name)
    for option in fields(options):
        known = option.name in VECTOR_FORMATS[collection.format_name].options
        if not known and getattr(options, option.name) is not None:
            users = [name for name, entry in VECTOR_FORMATS.items() if option.name in entry.options]
            raise OptionError(
                option.name,
                found=f"an option for {', '.join(users)}, with format {collection.format_name}",
                wanted="it left out",
            )
    return collection


def format_of(path: Place) -> str | None:
    """The format of vectors that a file name means; None for another."""
    return _by_suffix().get(bare_suffix(path))


def _by_suffix() -> dict[str, str]:
    """Names of formats."""
    return {suffix: name for name, entry in VECTOR_FORMATS.items() for suffix in entry.suffixes}


def kind_of_sources(
    sources: Iterable[str | Path],
    format_name: str | None,
    *,
    wants_vectors: bool,
    follow_links: bool = False,
) -> str:
    """``DOCUMENTS`` or ``VECTORS``: which corpus the sources make.

    Tables could be either: they are vectors if ``wants_vectors``, because of another option. So
    are folders that hold files of both kinds. Raises SourceError if a source is missing,
    OptionError for a format of neither kind.
    """
    if format_name is None:
        files = find_files(sources, _is_known, or_all=True, follow_links=follow_links).files
        of_documents = any(formats.format_of(file.path) for file in files)
        of_vectors = any(format_of(file.path) for file in files)
    else:
        of_documents, of_vectors = format_name in formats.FORMATS, format_name in VECTOR_FORMATS
        if not of_documents and not of_vectors:
            names = ", ".join(dict.fromkeys([*formats.FORMATS, *VECTOR_FORMATS]))
            raise OptionError("format", found=repr(format_name), wanted=f"one of {names}")
    if of_vectors and (wants_vectors or not of_documents):
        return VECTORS
    return DOCUMENTS


def _is_known(path: Place) -> bool:
    return formats.format_of(path) is not None or format_of(path) is not None
