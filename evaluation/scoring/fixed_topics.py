"""Topics ready to be scored: those of a run, or those that another toolkit wrote to a file."""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparsetopics.base.batches import FloatArray
from sparsetopics.base.errors import RunError, ShapeError, VocabularyError
from sparsetopics.base.safe_reading import check_regular
from sparsetopics.corpora.text.vocabulary import Vocabulary
from sparsetopics.evaluation.scores.completion import unigram_probabilities
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

    @property
    def words(self) -> Sequence[str]:
        """The words of the columns, (n_words,)."""
        return self.vocabulary.words

    @property
    def unigram(self) -> FloatArray:
        """Probability of each word without topics, (n_words,)."""
        return unigram_probabilities(self.vocabulary.term_frequency)


class TopicMatrix(NamedTuple):
    """What ``read_topic_matrix`` finds in a file."""

    topic_word: FloatArray  # (n_topics, n_words); rows sum to one
    doc_concentration: FloatArray | None  # (n_topics,); None if the file does not hold it
    n_missing_words: int  # words of the vocabulary without a column in the file


def topics_of_run(run: TopicRun, concentration: float | None = None) -> FixedTopics:
    """Return the topics of a run at their posterior mean.

    ``concentration`` is a total document concentration to score with, in place of the run's own.
    """
    model = run.model
    own = model.doc_concentration
    if concentration is not None:
        own = _even(concentration, model.n_topics)
    return FixedTopics(str(run.path), model.topic_word_mean, own, run.words, run)


def is_run(path: Path) -> bool:
    """Whether ``path`` names a run folder rather than a file of another toolkit."""
    return path.is_dir() or not (path.exists() or path.suffix in READERS)


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
        raise RunError(
            str(path),
            found="a file of no known extension",
            wanted=f"a run folder or one of {', '.join(READERS)}",
            hint="If it is a gensim model, a Python pickle, and you trust it, add --unpickle.",
        )
    topic_word, own, n_missing = read_topic_matrix(path, vocabulary.words, reader or read_gensim)
    if own is None or concentration is not None:
        total = MATRIX_CONCENTRATION if concentration is None else concentration
        own = _even(total, len(topic_word))
    return FixedTopics(str(path), topic_word, own, vocabulary, n_missing_words=n_missing)


def _even(total: float, n_topics: int) -> FloatArray:
    return np.full(n_topics, total / n_topics)


def read_topic_matrix(
    path: Path, words: Sequence[str], read: Callable[[Path], WordWeights]
) -> TopicMatrix:
    """Read non-negative weights with ``read`` and return the probabilities of ``words``.

    If the file names its columns, they are put in the order of ``words``: columns of other words
    are dropped, and words without a column get no weight. Entries below 1e-12 of their row's sum
    are raised to it. Raises RunError for a file or a value that cannot be used, and ShapeError or
    VocabularyError if the columns are not those of the held-out corpus.
    """
    try:
        check_regular(path)
        found = read(path)
        matrix = np.asarray(found.weights, dtype=np.float64)
    except (  # all that the readers raise for damaged files
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
    """Return the columns of ``wanted`` and the number of them that ``found`` lacks."""
    names = pa.array(found, pa.string())
    columns = pc.index_in(pa.array(wanted, pa.string()), value_set=names)
    if columns.null_count == len(wanted):
        raise VocabularyError(
            str(path),
            found=f"none of the {len(wanted):,} words of the held-out corpus among {len(found):,}",
            wanted="topics over its words",
            hint="Were both collections tokenized alike?",
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
