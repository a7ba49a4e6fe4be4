"""The words of a corpus: row number is word id."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sparsetopics.batches import IntArray
from sparsetopics.errors import CorpusFormatError

FILE_NAME = "vocabulary.parquet"


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Words in id order with their frequencies in the corpus that made the vocabulary."""

    words: tuple[str, ...]
    document_frequency: IntArray  # (n_words,)
    term_frequency: IntArray  # (n_words,)

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
        )
        pq.write_table(table, folder / FILE_NAME, compression="zstd")

    @classmethod
    def load(cls, folder: Path) -> Vocabulary:
        """Read ``vocabulary.parquet``; CorpusFormatError if it is missing or damaged."""
        path = folder / FILE_NAME
        try:
            table = pq.read_table(path)
            words = tuple(table["word"].to_pylist())
            frequencies = [
                np.asarray(table[name], dtype=np.int64)
                for name in ("document_frequency", "term_frequency")
            ]
        except (OSError, KeyError, pa.ArrowException) as error:
            raise CorpusFormatError(
                str(path), found=str(error).splitlines()[0], wanted="a readable vocabulary"
            ) from error
        return cls(words, *frequencies)
