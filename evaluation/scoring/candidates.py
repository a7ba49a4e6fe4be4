"""What is scored: a run folder, or the topics of another toolkit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sparsetopics.base.batches import FloatArray
from sparsetopics.base.errors import RunError
from sparsetopics.corpora.text.vocabulary import Vocabulary
from sparsetopics.evaluation.scores.completion import unigram_probabilities
from sparsetopics.evaluation.scoring.topic_matrix import read_topic_matrix
from sparsetopics.evaluation.scoring.weight_files import READERS, WordWeights
from sparsetopics.runs.topic_runs import Run

MATRIX_CONCENTRATION = 0.5  # total; a bare matrix does not say how documents mix its topics


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """Fixed topics, ready to be scored."""

    name: str
    topic_word: FloatArray  # (n_topics, n_words)   rows sum to one
    doc_concentration: FloatArray  # (n_topics,)
    unigram: FloatArray  # (n_words,)
    words: Sequence[str]  # (n_words,)
    run: Run | None  # None for topics of another toolkit
    n_missing_words: int = 0  # words of which the other toolkit knows nothing


def is_run(path: Path) -> bool:
    """Whether ``path`` names a run, not a file of another toolkit."""
    return path.is_dir() or not (path.exists() or path.suffix in READERS)


def open_candidate(
    path: Path,
    vocabulary: Vocabulary,
    concentration: float | None = None,
    *,
    unpickle: bool = False,
) -> Candidate:
    """Read the topics of another toolkit at ``path``, matched with the words of ``vocabulary``.

    ``concentration`` is the total document concentration to score with, shared equally by the
    topics; without it a gensim model uses its own and a matrix 0.5. A file whose extension says
    nothing is a gensim model, opened only if ``unpickle``. Raises RunError, ShapeError or
    VocabularyError.
    """
    reader = READERS.get(path.suffix) or _gensim_reader(path, unpickle=unpickle)
    topic_word, own, n_missing = read_topic_matrix(path, vocabulary.words, reader)
    if own is None or concentration is not None:
        total = MATRIX_CONCENTRATION if concentration is None else concentration
        own = np.full(len(topic_word), total / len(topic_word))
    return Candidate(
        name=str(path),
        topic_word=topic_word,
        doc_concentration=own,
        unigram=unigram_probabilities(vocabulary.term_frequency),
        words=vocabulary.words,
        run=None,
        n_missing_words=n_missing,
    )


def _gensim_reader(path: Path, *, unpickle: bool) -> Callable[[Path], WordWeights]:
    if not unpickle:
        raise RunError(
            str(path),
            found="a file of no known extension",
            wanted=f"a run folder or one of {', '.join(READERS)}",
            hint="Is it a gensim model? Those are Python pickles: --unpickle, if you trust it.",
        )
    from sparsetopics.evaluation.scoring.gensim_topics import read_gensim

    return read_gensim


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
