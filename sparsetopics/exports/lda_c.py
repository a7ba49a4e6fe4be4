"""Blei's LDA-C: a line for each document, ``M id:count id:count ...``, ids from zero."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from sparsetopics.base.errors import OutputError
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.exports.side_files import write_vocabulary


def write_corpus(path: Path, corpus: Corpus) -> None:
    """Word counts, and ``path.vocab``, one word a line; OutputError for counts that are not whole.

    M is the number of different words of a document.
    """
    if not isinstance(corpus.n_tokens, int):
        raise OutputError(
            path.name,
            found="word counts that are not whole",
            wanted="whole ones, as the format has no others",
            hint="Matrix Market takes any.",
        )
    write_vocabulary(path, corpus.vocabulary.words)
    with path.open("w", encoding="ascii", newline="") as file:
        for batch in corpus.batches():
            pairs = zip(batch.word_ids.tolist(), batch.word_counts.tolist(), strict=True)
            entries = [f" {word}:{count}" for word, count in pairs]
            bounds = pairwise(batch.indptr.tolist())
            file.writelines(
                f"{stop - start}{''.join(entries[start:stop])}\n" for start, stop in bounds
            )
