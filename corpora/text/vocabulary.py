"""The words of a corpus: row number is word id."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from sparsetopics.base.batches import IntArray
from sparsetopics.base.errors import CorpusFormatError
from sparsetopics.base.safe_reading import parse_json
from sparsetopics.base.sealed_files import FileEntry
from sparsetopics.base.showing import html_table, shortened
from sparsetopics.base.soundness import require
from sparsetopics.base.wording import reason_of
from sparsetopics.corpora.sources.arrow_files import (
    arrow_numbers,
    arrow_strings,
    numbers_of,
    open_parquet,
)
from sparsetopics.corpora.sources.parquet_sizes import check_sizes

FILE_NAME = "vocabulary.parquet"
_MOST_UNPACKED = 1 << 26  # bytes of a file that is small on disk
_TOKENIZER_KEY, _GROWN_KEY = b"tokenizer", b"grown"  # in the metadata of the file
_SHOWN_WORDS = 10  # in a notebook
_LONGEST_SHOWN = 30  # characters of a word in ``repr``
_FORM = "form"  # a column that only vocabularies of lemmas have
FREQUENCIES = ("document_frequency", "term_frequency")  # columns

#: A setting of the tokeniser in JSON; lists hold stop words, or phrases as pairs of words.
Setting: TypeAlias = str | int | float | bool | Sequence[str | Sequence[str]] | None


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Words in the order of their ids, with their frequencies in the corpus they come from.

    The tokeniser settings travel along, so that new text can be cut the same way.
    """

    words: tuple[str, ...]
    document_frequency: IntArray  # (n_words,)
    term_frequency: IntArray  # (n_words,)
    tokenizer: Mapping[str, Setting] | None = None  # None: made from counts, or not known
    forms: tuple[str, ...] | None = None  # (n_words,) commonest form of each, if words are lemmas
    grown: tuple[int, ...] = ()  # the number of words before each growth

    def __repr__(self) -> str:
        first = ", ".join(shortened(repr(word), _LONGEST_SHOWN) for word in self.words[:3])
        more = ", …" if len(self) > 3 else ""
        return f"Vocabulary({len(self):,} words: {first}{more})"

    def _repr_html_(self) -> str:
        """The most frequent words, for notebooks."""
        best = np.argsort(-self.term_frequency, kind="stable")[:_SHOWN_WORDS]
        frequencies = self.term_frequency[best].tolist(), self.document_frequency[best].tolist()
        rows = [*zip([self.words[n] for n in best], *frequencies, strict=True)]
        caption = f"{len(self):,} words, the most frequent first"
        return html_table(caption, ("word", "tokens", "documents"), rows)

    def __len__(self) -> int:
        return len(self.words)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the words in order. Two corpora can share a model only if it is equal."""
        return hashlib.sha256("".join(f"{word}\0" for word in self.words).encode()).hexdigest()

    @property
    def shown(self) -> tuple[str, ...]:
        """The words as people read them: lemmas by their commonest form."""
        return self.words if self.forms is None else self.forms

    def commonest(self, n_words: int) -> tuple[str, ...]:
        """The words with the highest frequencies, as people read them."""
        best = np.argsort(-self.term_frequency, kind="stable")[:n_words]
        return tuple(self.shown[number] for number in best)

    def save(self, folder: Path) -> FileEntry:
        """Write ``vocabulary.parquet``; return its entry for the manifest."""
        columns = {"word": arrow_strings(self.words)}
        columns |= {name: arrow_numbers(getattr(self, name)) for name in FREQUENCIES}
        if self.forms is not None:
            columns[_FORM] = arrow_strings(self.forms)
        metadata = {_TOKENIZER_KEY: json.dumps(self.tokenizer)}
        if self.grown:
            metadata[_GROWN_KEY] = json.dumps(self.grown)
        table = pa.table(columns).replace_schema_metadata(metadata)
        pq.write_table(table, folder / FILE_NAME, compression="zstd")
        return FileEntry.of(folder / FILE_NAME)

    @classmethod
    def read(cls, folder: Path) -> Vocabulary:
        """Read ``vocabulary.parquet``, whose digest the caller has compared.

        Raises CorpusFormatError if it is missing or damaged.
        """
        path = folder / FILE_NAME
        try:
            table, column, of_documents, of_terms = read_words(path, [_FORM])
            metadata = table.schema.metadata or {}
            tokenizer = parse_json(metadata.get(_TOKENIZER_KEY, b"null"))
            if not isinstance(tokenizer, dict | None):
                raise ValueError(f"its tokeniser settings are {tokenizer!r}")
            words = tuple(column.to_pylist())
            grown = tuple(parse_json(metadata.get(_GROWN_KEY, b"[]")))
            require(all(type(n) is int for n in grown), f"it has grown at {grown!r}")
            is_rising = all(a < b for a, b in pairwise((0, *grown, len(words))))
            require(
                is_rising or not grown, f"it has {len(words):,} words, but has grown at {grown}"
            )
            forms = _forms(table[_FORM]) if _FORM in table.column_names else None
        except (OSError, KeyError, ValueError, TypeError, pa.ArrowException) as error:
            problem = f"cannot be read as a vocabulary: {reason_of(error)}"
            raise CorpusFormatError(str(path), problem) from error
        return cls(words, of_documents, of_terms, tokenizer, forms, grown)


def read_words(
    path: Path, others: Sequence[str] = ()
) -> tuple[pa.Table, pa.StringArray, IntArray, IntArray]:
    """A file of words, with those of the ``others`` that it has; its words, and their frequencies
    in documents and in all, (n_words,) each.

    Raises KeyError, ValueError and the errors of Arrow and of the disk if they are not sound.
    """
    # Words stay a dictionary, so that a short file cannot claim much memory.
    with path.open("rb") as raw, open_parquet(raw, dictionary_columns=["word"]) as file:
        check_sizes(raw, _MOST_UNPACKED)
        names = ["word", *FREQUENCIES, *others]
        known = [name for name in names if name in file.schema_arrow.names]
        table = file.read(known, use_threads=False)
    words = _different_words(table["word"])
    return table, words, *(_frequencies_in(table, name) for name in FREQUENCIES)


def _different_words(column: pa.ChunkedArray) -> pa.StringArray:
    """The words; ValueError unless they are strings, each once."""
    if column.type != pa.dictionary(pa.int32(), pa.string()):
        raise ValueError(f"its words are of type {column.type}")
    encoded = column.combine_chunks()
    n_different = len(encoded.dictionary)
    if n_different != len(encoded):  # a word occurs twice
        raise ValueError(f"only {n_different:,} of its {len(encoded):,} words are different")
    encoded = encoded.dictionary_decode()
    encoded.validate(full=True)
    if encoded.null_count or pc.count_distinct(encoded).as_py() < len(encoded):
        raise ValueError("a word is missing or occurs twice")
    return encoded


def _forms(column: pa.ChunkedArray) -> tuple[str, ...]:
    if column.type != pa.string() or column.null_count:
        raise ValueError(f"its forms of words are of type {column.type}, or one is missing")
    return tuple(column.to_pylist())


def _frequencies_in(table: pa.Table, name: str) -> IntArray:
    """A column of frequencies; ValueError unless they are whole numbers, none negative."""
    column = table[name]
    if column.type != pa.int64() or column.null_count:
        raise ValueError(f"column {name} is of type {column.type}, or a value is missing")
    frequencies = numbers_of(column.combine_chunks(), np.int64)
    if (frequencies < 0).any():
        raise ValueError(f"a {name} is negative")
    return frequencies
