"""The input of pyLDAvis as JSON: ``pyLDAvis.prepare(**json.load(file))``."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TextIO

import numpy as np

from sparsetopics.base.batches import DocumentBatch, FloatArray
from sparsetopics.exports.word_topics import WordTopics


def write_topics(path: Path, topics: WordTopics) -> None:
    """One object: topic_term_dists, doc_topic_dists, doc_lengths, vocab and term_frequency.

    The last four are of ``topics.documents``, in their order, their proportions as ``infer`` finds
    them. Rows are streamed: memory does not grow with them here, though pyLDAvis holds them all.
    """
    assert topics.documents is not None, "targets.NEED_DOCUMENTS"
    tally = _Tally(len(topics.vocabulary))
    counted = (tally.add(batch) for batch in topics.documents.batches())
    shares = (row for batch in counted for row in topics.proportions(batch))
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write('{"topic_term_dists": ')
        _write_rows(file, topics.topic_word)
        file.write(',\n"doc_topic_dists": ')
        _write_rows(file, shares)
        rest = {
            "doc_lengths": tally.doc_lengths,
            "vocab": topics.vocabulary.words,
            "term_frequency": tally.term_frequency.tolist(),
        }
        file.writelines(f',\n"{name}": {json.dumps(values)}' for name, values in rest.items())
        file.write("}\n")


class _Tally:
    """Tokens of each document and of each word, over the batches that pass by."""

    def __init__(self, n_words: int) -> None:
        self.doc_lengths: list[float] = []
        self.term_frequency = np.zeros(n_words)

    def add(self, batch: DocumentBatch) -> DocumentBatch:
        document = np.repeat(np.arange(batch.n_docs), np.diff(batch.indptr))
        lengths = np.bincount(document, batch.weights, minlength=batch.n_docs)
        self.doc_lengths += lengths.tolist()
        n_words = len(self.term_frequency)
        self.term_frequency += np.bincount(batch.word_ids, batch.weights, minlength=n_words)
        return batch


def _write_rows(file: TextIO, rows: Iterable[FloatArray]) -> None:
    """A list of lists, one a line."""
    file.write("[")
    file.writelines(_separated(json.dumps(row.tolist()) for row in rows))
    file.write("]")


def _separated(texts: Iterable[str]) -> Iterator[str]:
    for number, text in enumerate(texts):
        yield f",\n{text}" if number else text
