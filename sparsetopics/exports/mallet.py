"""MALLET's text files: ``--topic-word-weights-file`` and, beside it, ``--output-topic-keys``."""

from __future__ import annotations

from pathlib import Path

from sparsetopics.evaluation.scores.topic_table import top_words
from sparsetopics.exports.side_files import check_words
from sparsetopics.exports.word_topics import WordTopics

KEY_WORDS = 20  # MALLET's --num-top-words
KEYS_SUFFIX = ".keys"


def write_topics(path: Path, topics: WordTopics) -> None:
    """``topic TAB word TAB weight`` for every topic and word, and ``path.keys``.

    Weights are λ = η + counts in full precision, as MALLET's are β + counts. Of a key file the
    columns are topic, α_k (of a mixture of documents the weight of the component) and the 20 best
    words. Raises OutputError for a word with a tab or a line break.
    """
    words = topics.vocabulary.words
    check_words(path, words, "\t\n\r")
    with path.open("w", encoding="utf-8", newline="") as file:
        for topic, weights in enumerate(topics.posterior):
            rows = zip(words, weights.tolist(), strict=True)
            file.writelines(f"{topic}\t{word}\t{weight!r}\n" for word, weight in rows)
    best_words = top_words(topics.posterior, KEY_WORDS)
    with Path(f"{path}{KEYS_SUFFIX}").open("w", encoding="utf-8", newline="") as file:
        for topic, (weight, best) in enumerate(zip(topics.weights, best_words, strict=True)):
            file.write(f"{topic}\t{float(weight)!r}\t{' '.join(words[word] for word in best)}\n")
