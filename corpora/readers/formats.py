"""The input formats: which reader for which extension, and which kind of rows they make."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import fields
from functools import partial
from itertools import filterfalse, product
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

from sparsetopics.base.errors import OptionError, SourceError
from sparsetopics.base.wording import listed
from sparsetopics.corpora.readers.arrays import read_npy, read_npz
from sparsetopics.corpora.readers.blocks import (
    DOCUMENTS,
    VECTORS,
    PendingBlock,
    PendingVectors,
    TextBlock,
)
from sparsetopics.corpora.readers.counts import read_uci, uci_vocabulary_names, vocabulary_names
from sparsetopics.corpora.readers.csv_files import read_csv
from sparsetopics.corpora.readers.delimiters import CSV_SUFFIXES
from sparsetopics.corpora.readers.excel import read_xlsx, without_warnings
from sparsetopics.corpora.readers.fields import Kept
from sparsetopics.corpora.readers.images import read_images
from sparsetopics.corpora.readers.jsonl import read_json, read_jsonl
from sparsetopics.corpora.readers.ldac import read_ldac
from sparsetopics.corpora.readers.matrix_market import read_matrix_market
from sparsetopics.corpora.readers.number_tables import read_csv_numbers, read_table_numbers
from sparsetopics.corpora.readers.options import ReadOptions, VectorReadOptions
from sparsetopics.corpora.readers.text_files import read_lines, read_mallet, read_text
from sparsetopics.corpora.readers.text_tables import read_table
from sparsetopics.corpora.sources.arrow_batches import open_ipc_table, open_parquet_table
from sparsetopics.corpora.sources.byte_stream import (
    PACKED_SUFFIXES,
    Place,
    SourceFile,
    is_file,
    open_bytes,
)
from sparsetopics.corpora.sources.encodings import kind_of_other
from sparsetopics.corpora.sources.source_files import (
    FileAccount,
    FileGroup,
    Found,
    bare_suffix,
    find_files,
    groups_of_left_out,
    key_of,
    refuse_words_elsewhere,
)

Options = TypeVar("Options")
Pending = TypeVar("Pending")


class Format(NamedTuple, Generic[Options, Pending]):
    """One input format of documents or of vectors."""

    read: Callable[[Sequence[SourceFile], Options], Iterator[Pending]]
    suffixes: tuple[str, ...]  # extensions that mean this format, before any such as .gz
    options: frozenset[str] = frozenset()  # fields of its options for reading that it uses
    # Of counts: what the file with the words may be called, best first, given their own name.
    vocabulary_names: Callable[[str], list[str]] | None = None
    files_are_documents: bool = False  # each file is one, and its name is the id

    @property
    def counted(self) -> bool:
        """Whether documents come as word counts, not as text."""
        return self.vocabulary_names is not None

    @property
    def gives_ids(self) -> bool:
        """Whether ids are written in the files; names of files may repeat in several folders."""
        return "duplicate_ids" in self.options and not self.files_are_documents

    def has(self, kept: Kept) -> bool:
        """Whether documents can have these fields: plain text has nothing but itself."""
        return "keep" in self.options and ("text_field" in self.options or not kept.named)


# --- the formats ----------------------------------------------------------------------------------
def _each(
    read: Callable[[SourceFile, Options], Iterator[Pending]],
) -> Callable[[Sequence[SourceFile], Options], Iterator[Pending]]:
    """Make a reader of several files from a reader of one."""

    def read_all(files: Sequence[SourceFile], options: Options) -> Iterator[Pending]:
        for file in files:
            yield from read(file, options)

    return read_all


UCI = "uci"
_FIRST_BYTES = 1 << 16  # that may tell what a file is
_OLD_NAMES: dict[str | None, str] = {"ldac": "lda-c"}
IMAGE = "image"
_ARROW_SUFFIXES = (".arrow", ".arrows", ".feather", ".ipc")
_IMAGE_SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff")
_OF_CSV = frozenset({"delimiter", "header"})
_OF_NAMES = frozenset({"id_field", "label_field"})
_OF_TABLES = _OF_NAMES | {"columns"}
_OF_TEXT = frozenset({"encoding_errors", "keep"})
_OF_LINES = _OF_TEXT | {"encoding"}  # Parquet and Arrow have their own
_OF_FILES = _OF_LINES | {"duplicate_ids"}
_OF_ROWS = _OF_TEXT | _OF_NAMES | {"text_field", "duplicate_ids", "date_format", "missing"}
_OF_RECORDS = _OF_LINES | _OF_ROWS
_OF_COUNTS = frozenset({"vocabulary_file"})
FORMATS: dict[str, Format[ReadOptions, PendingBlock]] = {
    "text": Format(read_text, (".txt", ".text"), _OF_FILES, files_are_documents=True),
    "lines": Format(_each(read_lines), (".lines",), _OF_LINES),
    "mallet": Format(_each(read_mallet), (), _OF_FILES),
    "jsonl": Format(_each(read_jsonl), (".jsonl", ".ndjson"), _OF_RECORDS),
    "json": Format(_each(read_json), (".json",), _OF_RECORDS),
    "csv": Format(_each(read_csv), CSV_SUFFIXES, _OF_RECORDS | _OF_CSV),
    "xlsx": Format(_each(read_xlsx), (".xlsx",), _OF_ROWS | {"header"}),
    "parquet": Format(_each(partial(read_table, open_parquet_table)), (".parquet",), _OF_ROWS),
    "arrow": Format(_each(partial(read_table, open_ipc_table)), _ARROW_SUFFIXES, _OF_ROWS),
    "lda-c": Format(_each(read_ldac), (".dat", ".ldac", ".lda-c"), _OF_COUNTS, vocabulary_names),
    "matrix-market": Format(read_matrix_market, (".mtx", ".mm"), _OF_COUNTS, vocabulary_names),
    # Also recognised by the name docword.NAME.txt.
    UCI: Format(read_uci, (".uci",), _OF_COUNTS, uci_vocabulary_names),
}
VECTOR_FORMATS: dict[str, Format[VectorReadOptions, PendingVectors]] = {
    "npy": Format(_each(read_npy), (".npy",)),
    "npz": Format(_each(read_npz), (".npz",), _OF_NAMES | {"values_field"}),
    "csv": Format(_each(read_csv_numbers), CSV_SUFFIXES, _OF_TABLES | _OF_CSV),
    "parquet": Format(
        _each(partial(read_table_numbers, open_parquet_table)), (".parquet",), _OF_TABLES
    ),
    "arrow": Format(
        _each(partial(read_table_numbers, open_ipc_table)), _ARROW_SUFFIXES, _OF_TABLES
    ),
    IMAGE: Format(_each(read_images), _IMAGE_SUFFIXES, frozenset({"patches", "stride"})),
}


class Collection(NamedTuple, Generic[Options, Pending]):
    """Files of one format."""

    files: list[SourceFile]
    format: Format[Options, Pending]
    account: FileAccount  # of all files that the sources name

    @property
    def format_name(self) -> str:
        return self.account.read[0].kind

    def read(self, options: Options) -> Generator[Pending, None, None]:
        """The rows of all files in order, in blocks still to be decoded."""
        yield from self.format.read(self.files, options)

    def streams(self, options: Options) -> Iterator[Iterator[Pending]]:
        """The same blocks in streams that can be read at the same time: one for each file, if all
        are on this disk and the format allows it."""
        is_by_file = not (self.format.counted or self.format.files_are_documents)
        # Archives and some file systems of fsspec share one connection among their files.
        if is_by_file and all(isinstance(file.path, Path) for file in self.files):
            return (self.format.read([file], options) for file in self.files)
        return iter([self.read(options)])


TextCollection = Collection[ReadOptions, PendingBlock]


def place_of(number: int, collection: TextCollection, options: ReadOptions) -> str:
    """Where a document of the collection lies, counted from 0; its files are read again."""
    with without_warnings(), closing(collection.read(options)) as blocks:  # they were said before
        for pending in blocks:
            block = pending()
            assert isinstance(block, TextBlock)  # counts have no ids that anybody gave
            if number < len(block.ids):
                return block.place(number)
            number -= len(block.ids)
    return "documents"  # the files have changed meanwhile


def find_collection(
    sources: Iterable[str | Path],
    format_name: str | None,
    options: ReadOptions = ReadOptions(),  # noqa: B008
    *,
    follow_links: bool = False,
    say: Callable[[str], None] = lambda _: None,
) -> TextCollection:
    """Find the files of documents that ``sources`` name, all of one format.

    The extension tells the format unless ``format_name`` does. Words that lie beside counts, or in
    the vocabulary file of ``options``, are no documents. ``say`` gets a sentence about links
    that are skipped without ``follow_links``. Raises SourceError if a source is missing, packed in
    a way that is not read, of an unknown format or of another than the first, and if the words of
    counts are behind a link out of the folder that is not to be followed; OptionError if
    ``format_name`` is unknown, or for an option that the format does not use.
    """
    vocabulary_file = options.vocabulary_file
    format_name = _OLD_NAMES.get(format_name, format_name)
    found = _found(sources, format_name, FORMATS, follow_links=follow_links, say=say)
    listed = {key_of(file.path) for file in (*found.files, *found.left_out)}
    vocabularies = _take_words_apart(found, format_name, vocabulary_file)
    if vocabulary_file is None and not follow_links:
        refuse_words_elsewhere(vocabularies, listed)
    collection = _collection(found, vocabularies, format_name, options, FORMATS)
    if options.keep and not collection.format.has(options.kept):
        own = f"files of format {collection.format_name}"
        raise OptionError("keep", f"{own} have no field {options.kept.named[0]!r}, but only text")
    return collection


def find_vectors(
    sources: Iterable[str | Path],
    format_name: str | None,
    options: VectorReadOptions,
    *,
    follow_links: bool = False,
    say: Callable[[str], None] = lambda _: None,
) -> Collection[VectorReadOptions, PendingVectors]:
    """Find the files of vectors that ``sources`` name, as ``find_collection`` does."""
    found = _found(sources, format_name, VECTOR_FORMATS, follow_links=follow_links, say=say)
    return _collection(found, [], format_name, options, VECTOR_FORMATS)


def _found(
    sources: Iterable[str | Path],
    format_name: str | None,
    formats: Mapping[str, Format[Options, Pending]],
    *,
    follow_links: bool,
    say: Callable[[str], None],
) -> Found:
    """The files that may be of one of the ``formats``; raises what ``find_files`` raises, and
    OptionError if there is no format of this name."""
    if format_name is not None and format_name not in formats:
        problem = f"must be one of {', '.join(formats)}, but is {format_name!r}"
        raise OptionError("format", problem)

    def belongs(path: Place) -> bool:
        known = _format_of(formats, path)
        return known is not None if format_name is None else known == format_name

    found = find_files(sources, belongs, or_all=format_name is not None, follow_links=follow_links)
    found.say_skipped(say)
    return found


def _collection(
    found: Found,
    vocabularies: Sequence[SourceFile],  # of counts
    format_name: str | None,
    options: ReadOptions | VectorReadOptions,
    formats: Mapping[str, Format[Options, Pending]],
) -> Collection[Options, Pending]:
    """The files of one format; SourceError if they have several, OptionError for a given option
    that the format ignores."""
    name = format_name or _common_format(found.files, formats)
    for option in fields(options):
        is_given = getattr(options, option.name) != option.default
        if is_given and option.name not in formats[name].options:
            users = [user for user, entry in formats.items() if option.name in entry.options]
            hint = "Leave it out."
            if option.name == "vocabulary_file" and not formats[name].options.isdisjoint(_OF_TEXT):
                hint = "Text takes no list of words; --vocabulary takes those of a corpus or a run."
            problem = f"is for {listed(users, 'or')}, but the format is {name}"
            raise OptionError(option.name, problem, hint)
    read = {name: found.files, "vocabulary": vocabularies}
    groups = tuple(FileGroup.of(kind, own) for kind, own in read.items() if own)
    left_out = groups_of_left_out(found.left_out, found.skipped_links)
    return Collection(found.files, formats[name], FileAccount(groups, left_out))


def _take_words_apart(
    found: Found, format_name: str | None, vocabulary_file: Path | None
) -> list[SourceFile]:
    """Move the words of counts out of the files to read, which get to know their own; return those
    that will be read as such. They may be packed.

    Words that nobody reads, because better ones are beside the counts, are left out.
    """
    candidates: set[str] = set()
    used: dict[str, SourceFile] = {}
    for number, file in enumerate(found.files):
        name = format_name or _format_of(FORMATS, file.path)
        names_for = None if name is None else FORMATS[name].vocabulary_names
        if names_for is None:
            continue
        ends = product(names_for(file.path.name), ("", *PACKED_SUFFIXES))
        places = [file.path.with_name(name + end) for name, end in ends]
        others = [place for place in places if key_of(place) != key_of(file.path)]
        candidates.update(map(key_of, others))
        chosen = vocabulary_file or next(filter(is_file, others), None)
        if chosen is not None:
            used[key_of(chosen)] = SourceFile(chosen, chosen.name)
            found.files[number] = file._replace(words=chosen)
    if not candidates:
        return []
    candidates |= used.keys()

    def holds_words(file: SourceFile) -> bool:
        return key_of(file.path) in candidates or file.path.name.startswith("vocab.")

    apart = list(filter(holds_words, found.files))
    found.files[:] = filterfalse(holds_words, found.files)
    if not found.files:
        problem = "holds the words of a collection of counts, not the counts"
        hint = "Name the file with the counts, or the folder."
        raise SourceError(str(apart[0].path), problem, hint)
    found.left_out[:] = [f for f in (*found.left_out, *apart) if key_of(f.path) not in used]
    return list(used.values())


def _common_format(
    files: Sequence[SourceFile], formats: Mapping[str, Format[Options, Pending]]
) -> str:
    """The format that all extensions mean; SourceError if they do not agree."""
    names = [_known_format(file.path, formats) for file in files]
    for file, name in zip(files, names, strict=True):
        if name != names[0]:
            problem = f"has format {name}, but {files[0].path} has format {names[0]}"
            hint = "Ingest them separately, or choose a format with --format."
            raise SourceError(str(file.path), problem, hint)
    return names[0]


def _known_format(path: Place, formats: Mapping[str, Format[Options, Pending]]) -> str:
    name = _format_of(formats, path)
    if name is None:
        with open_bytes(path) as stream:
            kind, hint = kind_of_other(stream.read(_FIRST_BYTES))
        if kind and "zip" not in kind:  # many formats are zip archives
            raise SourceError(str(path), f"the file is {kind}", hint)
        suffix, rows = bare_suffix(path), DOCUMENTS if UCI in formats else VECTORS
        problem = f"{suffix} is not a known format of {rows}"
        hint = f"Convert it, or name its format with --format: {', '.join(formats)}."
        if not suffix:
            problem = "the file name has no extension, so the format is unknown"
            hint = f"Name the format with --format: {', '.join(formats)}."
        raise SourceError(str(path), problem, hint)
    return name


def _format_of(formats: Mapping[str, Format[Options, Pending]], path: Place) -> str | None:
    """Which of the formats a file name means; None if unknown."""
    if UCI in formats and path.name.startswith("docword."):
        return UCI
    suffix = bare_suffix(path)
    return next((name for name, entry in formats.items() if suffix in entry.suffixes), None)


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

    def is_known(path: Place) -> bool:
        return bool(_format_of(FORMATS, path) or _format_of(VECTOR_FORMATS, path))

    format_name = _OLD_NAMES.get(format_name, format_name)
    if format_name is None:
        files = find_files(sources, is_known, or_all=True, follow_links=follow_links).files
        of_documents = any(_format_of(FORMATS, file.path) for file in files)
        of_vectors = any(_format_of(VECTOR_FORMATS, file.path) for file in files)
    else:
        of_documents, of_vectors = format_name in FORMATS, format_name in VECTOR_FORMATS
        if not of_documents and not of_vectors:
            names = ", ".join(dict.fromkeys([*FORMATS, *VECTOR_FORMATS]))
            raise OptionError("format", f"must be one of {names}, but is {format_name!r}")
    is_open = of_documents == of_vectors  # both, or neither: then the files will be refused
    return VECTORS if (wants_vectors if is_open else of_vectors) else DOCUMENTS
