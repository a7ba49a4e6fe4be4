"""Matrix Market files, and the words of their columns beside them."""

from __future__ import annotations

from pathlib import Path

from scipy.io import mmwrite
from scipy.sparse import coo_array

from sparsetopics.exports.side_files import write_vocabulary
from sparsetopics.exports.word_topics import WordTopics

EXACT_DIGITS = 17  # that tell any two float64 apart


def write_topics(path: Path, topics: WordTopics) -> None:
    """Probabilities of words, topics by words, and ``path.vocab``, one word a line.

    The matrix is dense, but written by coordinates: some readers know nothing else.
    """
    write_vocabulary(path, topics.vocabulary.words)
    comment = "Probabilities of words (columns) in topics (rows)"
    with path.open("wb") as file:  # mmwrite would add .mtx to a name
        mmwrite(file, coo_array(topics.topic_word), comment, precision=EXACT_DIGITS)
