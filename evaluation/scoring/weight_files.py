"""Topic-word weights in the files of other toolkits: one reader per file extension.

A plain matrix (``.npy``, ``.npz``, ``.mtx``, ``.csv`` without a header) has one row per topic. The
words of its columns may stand beside it in ``FILE.vocab``, one per line.
"""

from __future__ import annotations

import csv
import re
import zipfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike
from pyarrow.csv import ConvertOptions, ParseOptions, ReadOptions, read_csv

from sparsetopics.answers.exports.tables import WORDS
from sparsetopics.answers.table_files import LABELS
from sparsetopics.base.array_files import read_npy
from sparsetopics.base.batches import FloatArray
from sparsetopics.base.errors import SourceError
from sparsetopics.base.safe_reading import LARGEST_TEXT, open_regular
from sparsetopics.base.wording import reason_of
from sparsetopics.corpora.readers.matrix_market import MOST_ENTRIES, read_matrix
from sparsetopics.corpora.sources.archives import check_members
from sparsetopics.corpora.sources.arrow_batches import parquet_batches, pieces
from sparsetopics.corpora.sources.arrow_files import open_parquet

NPZ_KEY = "topic_word"
VOCABULARY_SUFFIX = ".vocab"
INDEX_NAMES = ("", "__index_level_0__")  # columns of row labels that pandas writes
MOST_BYTES = 2**31 - 1  # the largest block that the CSV reader accepts
_ROWS_AT_ONCE = 1 << 16

_WRONG_VALUE = re.compile(
    r"In CSV column #(\d+): Row #(\d+): CSV conversion error to \w+: invalid value '(.*)'"
)


class WordWeights(NamedTuple):
    """The content of a file, which could be read but is not checked yet."""

    weights: ArrayLike  # (n_topics, n_columns) is wanted; a file may hold any shape or type
    words: Sequence[str] | None = None  # (n_columns,); None: the words of the held-out corpus
    doc_concentration: FloatArray | None = None  # (n_topics,)  α_k


def _npy(path: Path) -> WordWeights:
    with path.open("rb") as file:
        return WordWeights(read_npy(file), _words_beside(path))


def _npz(path: Path) -> WordWeights:
    with zipfile.ZipFile(path) as archive:
        check_members(archive, str(path))
        with archive.open(f"{NPZ_KEY}.npy") as member:
            return WordWeights(read_npy(member), _words_beside(path))


def _matrix_market(path: Path) -> WordWeights:
    try:
        return WordWeights(read_matrix(path), _words_beside(path))
    except SourceError as error:
        raise ValueError(str(error)) from error


def _csv(path: Path) -> WordWeights:
    """Read numbers without a header, a table with words as header, or our long table."""
    with path.open(encoding="utf-8", newline="") as file:
        header = next(csv.reader(iter(partial(file.readline, LARGEST_TEXT), "")), [])
    if not header:
        raise ValueError("the first line is empty")
    if all(map(_is_number, header)):
        plain = np.loadtxt(path, delimiter=",", ndmin=2, comments=None, encoding="utf-8")
        return WordWeights(plain, _words_beside(path))
    parse = ParseOptions(newlines_in_values=True)
    if _is_long(header):
        return _of_table(_long_table(path, ReadOptions(), parse))
    # A row of a wide table may be longer than the default block, and may not cross blocks.
    size = min(path.stat().st_size, MOST_BYTES)
    return _of_table(read_csv(path, ReadOptions(block_size=size), parse))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _parquet(path: Path) -> WordWeights:
    with path.open("rb") as raw, open_parquet(raw) as file:
        schema = file.schema_arrow
        batches = parquet_batches(raw, file, schema.names, _ROWS_AT_ONCE)
        rows = [rows for rows, _ in pieces(batches, path.stat().st_size, schema.names)]
        return _of_table(pa.Table.from_batches(rows, rows[0].schema if rows else schema))


def _mallet(path: Path) -> WordWeights:
    """Read ``topic TAB word TAB weight``, as MALLET's --topic-word-weights-file writes."""
    header = ReadOptions(column_names=list(WORDS))
    parse = ParseOptions(delimiter="\t", quote_char=False)  # words may contain quotation marks
    return _of_long(_long_table(path, header, parse))


def _long_table(path: Path, read: ReadOptions, parse: ParseOptions) -> pa.Table:
    """Read columns topic, word and probability; ValueError says in which line one is wrong."""
    read.use_threads = False  # with threads, Arrow does not know the line
    try:
        return read_csv(path, read, parse, ConvertOptions(column_types=WORDS))
    except pa.ArrowInvalid as error:
        wrong = _WRONG_VALUE.match(str(error))
        if wrong is None:
            raise
        column, line, value = wrong.groups()
        where = f"line {line}, column {list(WORDS)[int(column)]!r}"
        noun = "a whole number" if column == "0" else "a number"
        raise ValueError(f"{where}: expected {noun}, but found {value!r}") from error


def _is_long(columns: Sequence[str]) -> bool:
    """Whether a table is one that ``export`` writes or has written, with or without labels."""
    return [*columns[:3]] == list(WORDS) and {*columns[3:]} <= LABELS.keys()


def _of_table(table: pa.Table) -> WordWeights:
    """Take a long table like that of ``export``, or one column per word."""
    if not len(table):
        raise ValueError("the table has no rows")
    if _is_long(table.column_names):
        return _of_long(table.select(list(WORDS)))
    words = [name for name in table.column_names if name not in INDEX_NAMES]
    weights = np.stack([np.asarray(table[word], np.float64) for word in words], axis=1)
    return WordWeights(weights, words)


def _of_long(table: pa.Table) -> WordWeights:
    """Take a row per topic and word; missing pairs have weight zero."""
    table = table.cast(pa.schema(list(WORDS.items())))
    table.validate(full=True)
    if any(column.null_count for column in table.columns):
        raise ValueError("a row lacks its topic, word or number")
    _, topics = np.unique(np.asarray(table["topic"]), return_inverse=True)
    words = table["word"].combine_chunks().dictionary_encode()
    n_topics, n_words = int(topics.max(initial=-1)) + 1, len(words.dictionary)
    # A small hostile file may name many topics and words: check before allocating the matrix.
    if n_topics * n_words > max(MOST_ENTRIES, 100 * len(table)):
        problem = f"too few weights ({len(table):,}) for {n_topics:,} topics and {n_words:,} words"
        raise ValueError(problem)
    weights = np.zeros((n_topics, n_words))
    weights[topics, np.asarray(words.indices)] = np.asarray(table["probability"])
    return WordWeights(weights, words.dictionary.to_pylist())


def read_gensim(path: Path) -> WordWeights:
    """Load a model that ``LdaModel.save`` wrote, with its words and its α_k.

    The file is a Python pickle, which can run any code: pass only files that are trusted. Raises
    ValueError for any other model. HdpModel is one of those, because it reports the number of
    topics it was given, not a number it has learned.
    """
    from gensim.models import LdaModel  # slow to import
    from gensim.utils import SaveLoad

    try:
        kind = type(SaveLoad.load(str(path)))
        if not issubclass(kind, LdaModel):
            raise ValueError(f"it is a {kind.__name__}, not a gensim LdaModel")
        model = LdaModel.load(str(path))
        weights = model.get_topics()
        words = [model.id2word[column] for column in range(weights.shape[1])]
    except (OSError, ValueError):
        raise
    except Exception as error:  # unpickling may raise anything
        raise ValueError(f"it is not a gensim model ({reason_of(error)})") from error
    return WordWeights(weights, words, np.asarray(model.alpha, np.float64))


def _words_beside(path: Path) -> Sequence[str] | None:
    vocabulary = Path(f"{path}{VOCABULARY_SUFFIX}")
    if not vocabulary.exists():
        return None
    with open_regular(vocabulary) as file:
        data = file.read(LARGEST_TEXT + 1)
    if len(data) > LARGEST_TEXT:
        raise ValueError(f"{vocabulary.name} has more than {LARGEST_TEXT:,} bytes")
    return [line.removesuffix("\r") for line in data.decode().removesuffix("\n").split("\n")]


READERS: dict[str, Callable[[Path], WordWeights]] = {
    ".npy": _npy,
    ".npz": _npz,
    ".mtx": _matrix_market,
    ".csv": _csv,
    ".parquet": _parquet,
    ".txt": _mallet,
    ".tsv": _mallet,
}
