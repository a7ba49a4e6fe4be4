"""Topic-word weights in the files of other toolkits, by extension, with words where they are told.

A plain matrix (``.npy``, ``.npz``, ``.mtx``, ``.csv`` without a header) has one row per topic; the
words of its columns may stand beside it in ``FILE.vocab``, one a line.
"""

from __future__ import annotations

import csv
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow.csv import ConvertOptions, ParseOptions, ReadOptions, read_csv

from sparsetopics.base.array_files import read_npy
from sparsetopics.base.batches import FloatArray
from sparsetopics.base.safe_reading import check_regular
from sparsetopics.corpora.sources.archives import check_packing, check_unpacked, refuse_twice
from sparsetopics.corpora.sources.arrow_batches import Wanted, parquet_batches, pieces
from sparsetopics.corpora.sources.arrow_files import open_parquet
from sparsetopics.evaluation.scoring.matrix_market import MOST_ENTRIES, read_matrix_market

NPZ_KEY = "topic_word"
VOCABULARY_SUFFIX = ".vocab"
INDEX_NAMES = ("", "__index_level_0__")  # of a data frame's row labels in CSV and Parquet
MOST_BYTES = 2**31 - 1  # of a block of CSV
_ROWS_AT_ONCE = 1 << 16
LONG_TYPES = {"topic": pa.int64(), "word": pa.string(), "probability": pa.float64()}


class WordWeights(NamedTuple):
    """What a file says of topics; nothing is checked yet but that it can be read."""

    weights: NDArray[Any]  # (n_topics, n_columns), whatever the shape was in the file
    words: Sequence[str] | None = None  # (n_columns,); None: those of the held-out corpus
    doc_concentration: FloatArray | None = None  # (n_topics,)  α_k


def _npy(path: Path) -> WordWeights:
    with path.open("rb") as file:
        return WordWeights(read_npy(file), _words_beside(path))


def _npz(path: Path) -> WordWeights:
    with zipfile.ZipFile(path) as archive:
        refuse_twice(archive.namelist(), str(path))
        info = archive.getinfo(f"{NPZ_KEY}.npy")
        check_packing(info, str(path))
        check_unpacked(info.file_size, info.compress_size, str(path))
        with archive.open(info) as member:
            return WordWeights(read_npy(member), _words_beside(path))


def _matrix_market(path: Path) -> WordWeights:
    return WordWeights(read_matrix_market(path), _words_beside(path))


def _csv(path: Path) -> WordWeights:
    """Without a header line, with words as header, or our long table."""
    with path.open(encoding="utf-8", newline="") as file:
        header = next(csv.reader(file), [])
    if not header:
        raise ValueError("no first line")
    if all(map(_is_number, header)):
        plain = np.loadtxt(path, delimiter=",", ndmin=2, comments=None, encoding="utf-8")
        return WordWeights(plain, _words_beside(path))
    is_long = header == list(LONG_TYPES)
    # A row of a wide table may be longer than the blocks that are read at once.
    size = None if is_long else min(path.stat().st_size, MOST_BYTES)
    table = read_csv(
        path,
        ReadOptions(block_size=size),
        ParseOptions(newlines_in_values=True),
        ConvertOptions(column_types=LONG_TYPES if is_long else None),
    )
    return _of_table(table)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _parquet(path: Path) -> WordWeights:
    with path.open("rb") as raw, open_parquet(raw) as file:
        schema = file.schema_arrow
        batches = parquet_batches(raw, file, Wanted(schema.names, _ROWS_AT_ONCE))
        rows = [piece.rows for piece in pieces(batches, path.stat().st_size)]
        return _of_table(pa.Table.from_batches(rows, schema))


def _mallet(path: Path) -> WordWeights:
    """``topic TAB word TAB weight``, as --topic-word-weights-file writes them."""
    return _of_long(
        read_csv(
            path,
            ReadOptions(column_names=list(LONG_TYPES)),
            ParseOptions(delimiter="\t", quote_char=False),
            ConvertOptions(column_types=LONG_TYPES),
        )
    )


def _of_table(table: pa.Table) -> WordWeights:
    """A long table like that of ``export``, or one column per word."""
    if not len(table):
        raise ValueError("no rows")
    if table.column_names == list(LONG_TYPES):
        return _of_long(table)
    words = [name for name in table.column_names if name not in INDEX_NAMES]
    weights = np.stack([np.asarray(table[word], np.float64) for word in words], axis=1)
    return WordWeights(weights, words)


def _of_long(table: pa.Table) -> WordWeights:
    """A row per topic and word; pairs that are not there weigh nothing."""
    table = table.cast(pa.schema(list(LONG_TYPES.items())))
    table.validate(full=True)
    if any(column.null_count for column in table.columns):
        raise ValueError("a row without topic, word or number")
    _, topics = np.unique(np.asarray(table["topic"]), return_inverse=True)
    words = table["word"].combine_chunks().dictionary_encode()
    n_topics, n_words = int(topics.max(initial=-1)) + 1, len(words.dictionary)
    if n_topics * n_words > max(MOST_ENTRIES, 100 * len(table)):
        raise ValueError(f"{len(table):,} weights of {n_topics:,} topics and {n_words:,} words")
    weights = np.zeros((n_topics, n_words))
    weights[topics, np.asarray(words.indices)] = np.asarray(table["probability"])
    return WordWeights(weights, words.dictionary.to_pylist())


def _words_beside(path: Path) -> Sequence[str] | None:
    vocabulary = Path(f"{path}{VOCABULARY_SUFFIX}")
    if not vocabulary.exists():
        return None
    check_regular(vocabulary)
    with vocabulary.open(encoding="utf-8", newline="\n") as file:
        return [line.removesuffix("\n").removesuffix("\r") for line in file]


READERS: dict[str, Callable[[Path], WordWeights]] = {
    ".npy": _npy,
    ".npz": _npz,
    ".mtx": _matrix_market,
    ".csv": _csv,
    ".parquet": _parquet,
    ".txt": _mallet,
    ".tsv": _mallet,
}
