"""The words of a corpus: row number is word id."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from sparsetopics.base.batches import IntArray
from sparsetopics.base.errors import CorpusFormatError
from sparsetopics.base.safe_reading import parse_json
from sparsetopics.base.sealed_files import FileEntry, Refusal, absence
from sparsetopics.corpora.sources.arrow_files import open_parquet
from sparsetopics.corpora.sources.arrow_numbers import arrow_numbers, arrow_strings, numbers_of
from sparsetopics.corpora.sources.parquet_sizes import check_sizes
from sparsetopics.corpora.store.manifest import DAMAGE

FILE_NAME = "vocabulary.parquet"
_TOKENIZER_KEY = b"tokenizer"  # in the metadata of the file
_COLUMNS = ("word", "document_frequency", "term_frequency")


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Words in id order with their frequencies in the corpus that made the vocabulary.

    The tokeniser settings travel along, so that new text can be cut the same way.
    """

    words: tuple[str, ...]
    document_frequency: IntArray  # (n_words,)
    term_frequency: IntArray  # (n_words,)
    tokenizer: Mapping[str, Any] | None = None  # None: made of counts, or not known

    def __len__(self) -> int:
        return len(self.words)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the words in order: two corpora can share a model only if it is the same."""
        return hashlib.sha256("".join(f"{word}\0" for word in self.words).encode()).hexdigest()

    def save(self, folder: Path) -> None:
        table = pa.table(
            {
                "word": arrow_strings(self.words),
                "document_frequency": arrow_numbers(self.document_frequency),
                "term_frequency": arrow_numbers(self.term_frequency),
            }
        ).replace_schema_metadata({_TOKENIZER_KEY: json.dumps(self.tokenizer)})
        pq.write_table(table, folder / FILE_NAME, compression="zstd")

    @classmethod
    def load(cls, folder: Path) -> Vocabulary:
        """The vocabulary of a corpus of documents or of a run, as its folder lists it.

        Raises CorpusFormatError or RunError if the folder is neither, or if the file is missing
        or damaged.
        """
        entry, refusal = _listed(folder)
        entry.check(folder, refusal)
        return cls.read(folder)

    @classmethod
    def read(cls, folder: Path) -> Vocabulary:
        """Read ``vocabulary.parquet``, whose digest the caller has compared.

        Raises CorpusFormatError if it is missing or damaged.
        """
        path = folder / FILE_NAME
        try:
            table = _read_table(path)
            tokenizer = parse_json((table.schema.metadata or {}).get(_TOKENIZER_KEY, b"null"))
            if not isinstance(tokenizer, dict | None):
                raise ValueError(f"tokeniser settings {tokenizer!r}")
            words = tuple(_words(table["word"]))
            document_frequency = _frequencies(table, "document_frequency")
            term_frequency = _frequencies(table, "term_frequency")
        except (OSError, KeyError, ValueError, pa.ArrowException) as error:
            found = (str(error).splitlines() or [type(error).__name__])[0]
            raise CorpusFormatError(
                str(path), found=found, wanted="a readable vocabulary"
            ) from error
        return cls(words, document_frequency, term_frequency, tokenizer)


def _listed(folder: Path) -> tuple[FileEntry, Refusal]:
    """What ``manifest.json`` or ``model.json`` says of the vocabulary, and how to refuse it."""
    from sparsetopics.corpora.store.document_manifest import Manifest
    from sparsetopics.runs import run_files

    path = folder / run_files.SETTINGS_FILE
    if not absence(path):
        settings = run_files.read_settings(folder)
        return run_files.file_entry(folder, settings, FILE_NAME), run_files.DAMAGE
    return Manifest.load(folder).vocabulary, DAMAGE


def _read_table(path: Path) -> pa.Table:
    """Words stay a dictionary, so that a short file cannot ask for much memory."""
    with path.open("rb") as raw, open_parquet(raw, dictionary_columns=["word"]) as file:
        check_sizes(raw)
        return file.read(list(_COLUMNS), use_threads=False)


def _words(column: pa.ChunkedArray) -> list[str]:
    """ValueError unless they are strings, each once."""
    if column.type not in (pa.string(), pa.dictionary(pa.int32(), pa.string())):
        raise ValueError(f"words of type {column.type}")
    encoded = column.combine_chunks()
    if pa.types.is_dictionary(column.type):
        if len(encoded.dictionary) != len(encoded):  # or a word would stand there twice
            raise ValueError(f"{len(encoded.dictionary):,} different words in {len(encoded):,}")
        encoded = encoded.dictionary_decode()
    encoded.validate(full=True)
    words: list[str] = encoded.to_pylist()
    if encoded.null_count or len(set(words)) < len(words):
        raise ValueError("a word twice, or none")
    return words


def _frequencies(table: pa.Table, name: str) -> IntArray:
    column = table[name]
    if column.type != pa.int64() or column.null_count:
        raise ValueError(f"a column {name} of type {column.type}")
    frequencies: IntArray = numbers_of(column.combine_chunks())
    if (frequencies < 0).any():
        raise ValueError(f"a negative {name}")
    return frequencies
