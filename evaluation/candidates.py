"""What is scored: a run folder, or a plain topic-word matrix of another toolkit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sparsetopics.batches import FloatArray
from sparsetopics.corpora.vocabulary import Vocabulary
from sparsetopics.evaluation.completion import unigram_probabilities
from sparsetopics.evaluation.topic_matrix import SUFFIXES, read_topic_matrix
from sparsetopics.runs import Run, load_run

MATRIX_CONCENTRATION = 0.5  # total; a bare matrix does not say how documents mix its topics


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """Fixed topics, ready to be scored."""

    name: str
    topic_word: FloatArray  # (n_topics, n_words)   rows sum to one
    doc_concentration: FloatArray  # (n_topics,)
    unigram: FloatArray  # (n_words,)
    words: Sequence[str]  # (n_words,)
    run: Run | None  # None for a plain matrix


def open_candidate(
    path: Path, vocabulary: Vocabulary, where: str, concentration: float | None = None
) -> Candidate:
    """Read the topics at ``path``; their words must be ``vocabulary``, found in ``where``.

    ``concentration`` is the total document concentration to score with, shared equally by the
    topics; without it a run uses its own and a matrix 0.5. Raises RunError, ShapeError or
    VocabularyError.
    """
    if path.suffix in SUFFIXES and not path.is_dir():
        return _matrix_candidate(path, vocabulary, concentration)
    run = load_run(path)
    run.check_vocabulary(vocabulary, where)
    return run_candidate(run, concentration)


def run_candidate(run: Run, concentration: float | None = None) -> Candidate:
    """The topics of a run at their posterior mean."""
    n_topics = run.model.n_topics
    return Candidate(
        name=str(run.path),
        topic_word=run.model.topic_word_mean,
        doc_concentration=(
            run.model.doc_concentration
            if concentration is None
            else np.full(n_topics, concentration / n_topics)
        ),
        unigram=unigram_probabilities(run.vocabulary.term_frequency),
        words=run.vocabulary.words,
        run=run,
    )


def _matrix_candidate(path: Path, vocabulary: Vocabulary, concentration: float | None) -> Candidate:
    topic_word = read_topic_matrix(path, len(vocabulary))
    total = MATRIX_CONCENTRATION if concentration is None else concentration
    return Candidate(
        name=str(path),
        topic_word=topic_word,
        doc_concentration=np.full(len(topic_word), total / len(topic_word)),
        unigram=unigram_probabilities(vocabulary.term_frequency),
        words=vocabulary.words,
        run=None,
    )
