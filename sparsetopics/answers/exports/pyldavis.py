"""pyLDAvis input as JSON: ``pyLDAvis.prepare(**json.load(file))``."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TextIO

import numpy as np

from sparsetopics.answers.proportions import shares_of
from sparsetopics.base.batches import DocumentBatch, FloatArray
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.runs.run import AnyRun


def write_topics(path: Path, run: AnyRun, documents: Corpus) -> None:
    """Write one object: topic_term_dists, doc_topic_dists, doc_lengths, vocab, term_frequency.

    The documents are those of ``documents``, in their order, with the proportions that
    ``infer`` finds. Rows are streamed, so memory does not grow with their number here; pyLDAvis
    itself holds them all.
    """
    topic_word = run.model.topic_word_mean
    tally = _Tally(len(run.words))
    # Documents are read once: the tally is complete when all proportions have been written.
    counted = (tally.add(batch) for batch in documents.batches())
    shares_in = shares_of(run.model)
    shares = (row for batch in counted for row in shares_in(batch))
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write('{"topic_term_dists": ')
        _write_rows(file, topic_word)
        file.write(',\n"doc_topic_dists": ')
        _write_rows(file, shares)
        rest = {
            "doc_lengths": tally.doc_lengths,
            "vocab": run.words.words,
            "term_frequency": tally.term_frequency.tolist(),
        }
        file.writelines(f',\n"{name}": {json.dumps(values)}' for name, values in rest.items())
        file.write("}\n")


class _Tally:
    """Counts the tokens of each document and of each word in the batches that pass through."""

    def __init__(self, n_words: int) -> None:
        self.doc_lengths: list[float] = []
        self.term_frequency = np.zeros(n_words)

    def add(self, batch: DocumentBatch) -> DocumentBatch:
        """Count ``batch`` and return it."""
        document = np.repeat(np.arange(batch.n_docs), np.diff(batch.indptr))
        self.doc_lengths += np.bincount(document, batch.weights, batch.n_docs).tolist()
        n_words = len(self.term_frequency)
        self.term_frequency += np.bincount(batch.word_ids, batch.weights, minlength=n_words)
        return batch


def _write_rows(file: TextIO, rows: Iterable[FloatArray]) -> None:
    """Write a list of lists, one per line."""
    file.write("[")
    for number, row in enumerate(rows):
        separator = ",\n" if number else ""
        file.write(f"{separator}{json.dumps(row.tolist())}")
    file.write("]")
