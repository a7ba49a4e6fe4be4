"""Topics of any toolkit, from a file, as probabilities of the words of a corpus."""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparsetopics.base.batches import FloatArray
from sparsetopics.base.errors import RunError, ShapeError, VocabularyError
from sparsetopics.base.safe_reading import check_regular
from sparsetopics.evaluation.scoring.weight_files import NPZ_KEY, WordWeights

# Matrix factorisations give exact zeros, under which one unseen word would cost the whole score.
SMALLEST_PROBABILITY = 1e-12


class TopicMatrix(NamedTuple):
    """Fixed topics."""

    topic_word: FloatArray  # (n_topics, n_words)  rows sum to one
    doc_concentration: FloatArray | None  # (n_topics,)  α_k, where the file says
    n_missing_words: int  # of the vocabulary, without a column in the file


def read_topic_matrix(
    path: Path, words: Sequence[str], read: Callable[[Path], WordWeights]
) -> TopicMatrix:
    """Read non-negative weights with ``read``; return the probabilities of ``words``.

    Where the file names its columns they are put in the order of ``words``: columns of other words
    are left out, words without a column get none of the weight. Entries below 1e-12 of their row
    are raised to it. Raises RunError for a file or a value that cannot be used, ShapeError or
    VocabularyError where the columns are not those of the held-out corpus.
    """
    try:
        check_regular(path)
        found = read(path)
        matrix = np.asarray(found.weights, dtype=np.float64)
    except (
        *(OSError, ValueError, TypeError, EOFError, KeyError, OverflowError, pa.ArrowException),
        *(zipfile.BadZipFile, zlib.error, struct.error, NotImplementedError, RuntimeError),
    ) as error:
        reason = getattr(error, "strerror", None) or (str(error).splitlines() or ["nothing"])[0]
        hint = f"It belongs under the key {NPZ_KEY!r}." if path.suffix == ".npz" else ""
        raise RunError(str(path), found=reason, wanted="a topic-word matrix", hint=hint) from error
    _check_shape(path, matrix, len(words if found.words is None else found.words))
    _check_entries(path, matrix)
    n_missing = 0
    if found.words is not None:
        matrix, n_missing = _aligned(path, matrix, found.words, words)
    _check_rows(path, matrix)
    floored = np.maximum(matrix / matrix.sum(axis=1, keepdims=True), SMALLEST_PROBABILITY)
    topic_word = floored / floored.sum(axis=1, keepdims=True)
    return TopicMatrix(topic_word, found.doc_concentration, n_missing)


def _aligned(
    path: Path, matrix: FloatArray, found: Sequence[str], wanted: Sequence[str]
) -> tuple[FloatArray, int]:
    """The columns of ``wanted``, and how many of them there were not."""
    names = pa.array(found, pa.string())
    columns = pc.index_in(pa.array(wanted, pa.string()), value_set=names)
    if columns.null_count == len(wanted):
        raise VocabularyError(
            str(path),
            found=f"none of the {len(wanted):,} words of the held-out corpus among {len(found):,}",
            wanted="topics over its words",
            hint="Were the documents tokenised alike?",
        )
    known = np.asarray(columns.is_valid())
    aligned = np.zeros((len(matrix), len(wanted)))
    aligned[:, known] = matrix[:, np.asarray(columns.drop_null())]
    return aligned, columns.null_count


def _check_shape(path: Path, matrix: FloatArray, n_columns: int) -> None:
    if matrix.ndim != 2 or matrix.shape[1] != n_columns or matrix.shape[0] == 0:
        raise ShapeError(
            str(path),
            found=f"shape {matrix.shape}",
            wanted=f"(topics, {n_columns}), one column per word",
            hint=f"Put the words of the columns in {path.name}.vocab, or ingest the held-out "
            "documents with --vocabulary and the training corpus.",
        )


def _check_entries(path: Path, matrix: FloatArray) -> None:
    if not np.isfinite(matrix).all() or (matrix < 0).any():
        bad = matrix[~np.isfinite(matrix) | (matrix < 0)][0]
        raise RunError(str(path), found=f"the entry {bad}", wanted="finite weights of at least 0")


def _check_rows(path: Path, matrix: FloatArray) -> None:
    if not matrix.any(axis=1).all():
        topic = int(np.flatnonzero(~matrix.any(axis=1))[0])
        raise RunError(str(path), found=f"only zeros in row {topic}", wanted="some weight")
