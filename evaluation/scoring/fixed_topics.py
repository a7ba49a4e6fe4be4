"""Topics ready to be scored: those of a run, or those that another toolkit wrote to a file."""

from __future__ import annotations

import csv
import struct
import zipfile
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparsetopics.base.batches import FloatArray
from sparsetopics.base.errors import RunError, ShapeError, SourceError, VocabularyError
from sparsetopics.base.safe_reading import check_regular
from sparsetopics.base.wording import reason_of
from sparsetopics.corpora.text.vocabulary import Vocabulary
from sparsetopics.evaluation.scoring.weight_files import NPZ_KEY, READERS, WordWeights, read_gensim
from sparsetopics.runs.run import TopicRun

MATRIX_CONCENTRATION = 0.5  # total; a bare matrix does not say how documents mix its topics
# Matrix factorisations contain exact zeros; a single unseen word would cost the whole score.
SMALLEST_PROBABILITY = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class FixedTopics:
    """Topics that are scored as they are, not trained further."""

    name: str
    topic_word: FloatArray  # (n_topics, n_words); rows sum to one
    doc_concentration: FloatArray  # (n_topics,)
    vocabulary: Vocabulary  # of the training corpus
    run: TopicRun | None = None  # None for topics of another toolkit
    n_missing_words: int = 0  # words of the vocabulary that the other toolkit's file lacks


def topics_of_run(run: TopicRun, concentration: float | None = None) -> FixedTopics:
    """Return the topics of a run, with their smoothing.

    ``concentration`` is a total document concentration to score with, in place of the run's own.
    """
    model = run.model
    own = model.doc_concentration
    if concentration is not None:
        own = np.full(model.n_topics, concentration / model.n_topics)
    return FixedTopics(str(run.path), model.topic_word_mean, own, run.words, run)


def read_topics(
    path: Path,
    vocabulary: Vocabulary,
    concentration: float | None = None,
    *,
    unpickle: bool = False,
) -> FixedTopics:
    """Read the topics of another toolkit at ``path`` and match them with ``vocabulary``.

    ``concentration`` is the total document concentration to score with, shared equally by the
    topics. Without it a gensim model uses its own and a matrix uses 0.5. A file of unknown
    extension is taken for a gensim model, which is opened only if ``unpickle`` is set. Raises
    RunError, ShapeError or VocabularyError.
    """
    reader = READERS.get(path.suffix)
    if reader is None and not unpickle:
        known = ", ".join(READERS)
        problem = f"is neither a run folder nor a file with a known extension ({known})"
        hint = "If it is a gensim model, a Python pickle, and you trust it, add --unpickle."
        raise RunError(str(path), problem, hint)
    topic_word, own, n_missing = read_topic_matrix(path, vocabulary.words, reader or read_gensim)
    if own is None or concentration is not None:
        total = MATRIX_CONCENTRATION if concentration is None else concentration
        own = np.full(len(topic_word), total / len(topic_word))
    return FixedTopics(str(path), topic_word, own, vocabulary, n_missing_words=n_missing)


def read_topic_matrix(
    path: Path, words: Sequence[str], read: Callable[[Path], WordWeights]
) -> tuple[FloatArray, FloatArray | None, int]:
    """Read non-negative weights with ``read`` and return the probabilities of ``words``.

    The other values are the concentrations of topics, None if the file does not hold them, and the
    number of words without a column.

    If the file names its columns, they are put in the order of ``words``: columns of other words
    are dropped, and words without a column get no weight. Entries below 1e-12 of their row's sum
    are raised to it. Raises RunError for a file or a value that cannot be used, and ShapeError or
    VocabularyError if the columns are not those of the held-out corpus.
    """
    try:
        check_regular(path)
        found = read(path)
        matrix = np.asarray(found.weights, dtype=np.float64)
    except SourceError:
        raise
    except (  # all that the readers raise for damaged files
        *(OSError, ValueError, TypeError, EOFError, KeyError, OverflowError, pa.ArrowException),
        *(csv.Error, zipfile.BadZipFile, zlib.error, struct.error, RuntimeError),
    ) as error:
        hint = f"It belongs under the key {NPZ_KEY!r}." if path.suffix == ".npz" else ""
        problem = f"cannot be read as a topic-word matrix: {reason_of(error)}"
        raise RunError(str(path), problem, hint) from error
    _check_weights(path, matrix, len(words if found.words is None else found.words))
    n_missing = 0
    if found.words is not None:
        matrix, n_missing = _aligned(path, matrix, found.words, words)
    empty = np.flatnonzero(~matrix.any(axis=1))
    if len(empty):
        problem = f"every topic needs some weight, but row {empty[0]} is all zeros"
        raise RunError(str(path), problem)
    floored = np.maximum(matrix / matrix.sum(axis=1, keepdims=True), SMALLEST_PROBABILITY)
    topic_word = floored / floored.sum(axis=1, keepdims=True)
    return topic_word, found.doc_concentration, n_missing


def _aligned(
    path: Path, matrix: FloatArray, own_words: Sequence[str], words: Sequence[str]
) -> tuple[FloatArray, int]:
    """Return the columns of ``words`` and the number of them that ``own_words`` lacks."""
    names = pa.array(own_words, pa.string())
    columns = pc.index_in(pa.array(words, pa.string()), value_set=names)
    if columns.null_count == len(words):
        problem = f"none of its {len(names):,} words is one of the held-out corpus's {len(words):,}"
        raise VocabularyError(str(path), problem, "Were both collections tokenized alike?")
    known = np.asarray(columns.is_valid())
    aligned = np.zeros((len(matrix), len(words)))
    aligned[:, known] = matrix[:, np.asarray(columns.drop_null())]
    return aligned, columns.null_count


def _check_weights(path: Path, matrix: FloatArray, n_columns: int) -> None:
    if matrix.ndim != 2 or matrix.shape[1] != n_columns or matrix.shape[0] == 0:
        raise ShapeError(
            str(path),
            f"expected shape (topics, {n_columns}), one column per word, but found {matrix.shape}",
            f"Put the words of the columns in {path.name}.vocab, or ingest the held-out "
            "documents with --vocabulary and the training corpus.",
        )
    bad = matrix[~(np.isfinite(matrix) & (matrix >= 0))]
    if len(bad):
        raise RunError(str(path), f"weights must be finite and at least 0, but one is {bad[0]}")
