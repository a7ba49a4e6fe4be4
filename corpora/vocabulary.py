"""The words of a corpus: row number is word id."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sparsetopics.batches import IntArray
from sparsetopics.errors import CorpusFormatError

FILE_NAME = "vocabulary.parquet"
_TOKENIZER_KEY = b"tokenizer"  # in the metadata of the file


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
                "word": pa.array(self.words, pa.string()),
                "document_frequency": pa.array(self.document_frequency, pa.int64()),
                "term_frequency": pa.array(self.term_frequency, pa.int64()),
            }
        ).replace_schema_metadata({_TOKENIZER_KEY: json.dumps(self.tokenizer)})
        pq.write_table(table, folder / FILE_NAME, compression="zstd")

    @classmethod
    def load(cls, folder: Path) -> Vocabulary:
        """Read ``vocabulary.parquet``; CorpusFormatError if it is missing or damaged."""
        path = folder / FILE_NAME
        try:
            table = pq.read_table(path)
            words = tuple(table["word"].to_pylist())
            document_frequency = np.asarray(table["document_frequency"], dtype=np.int64)
            term_frequency = np.asarray(table["term_frequency"], dtype=np.int64)
            tokenizer = json.loads((table.schema.metadata or {}).get(_TOKENIZER_KEY, b"null"))
        except (OSError, KeyError, ValueError, pa.ArrowException) as error:
            raise CorpusFormatError(
                str(path), found=str(error).splitlines()[0], wanted="a readable vocabulary"
            ) from error
        return cls(words, document_frequency, term_frequency, tokenizer)
