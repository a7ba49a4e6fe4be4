"""Matrix Market files, and the words of their columns beside them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow.csv import WriteOptions, write_csv
from scipy.io import mmwrite
from scipy.sparse import coo_array

from sparsetopics.base.batches import DocumentBatch
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.exports.side_files import write_vocabulary
from sparsetopics.exports.word_topics import WordTopics

EXACT_DIGITS = 17  # that tell any two float64 apart
# Readers of word counts, gensim's among them, know no other header.
BANNER = "%%MatrixMarket matrix coordinate real general"
ENTRIES = WriteOptions(include_header=False, delimiter=" ", quoting_style="none")


def write_topics(path: Path, topics: WordTopics) -> None:
    """Probabilities of words, topics by words, and ``path.vocab``, one word a line.

    The matrix is dense, but written by coordinates: some readers know nothing else.
    """
    write_vocabulary(path, topics.vocabulary.words)
    comment = "Probabilities of words (columns) in topics (rows)"
    with path.open("wb") as file:  # mmwrite would add .mtx to a name
        mmwrite(file, coo_array(topics.topic_word), comment, precision=EXACT_DIGITS)


def write_corpus(path: Path, corpus: Corpus) -> None:
    """Word counts, documents by words, and ``path.vocab``, one word a line."""
    write_vocabulary(path, corpus.vocabulary.words)
    n_docs = 0
    with path.open("wb") as file:
        sizes = f"{corpus.n_docs} {corpus.n_words} {corpus.n_pairs}"
        file.write(f"{BANNER}\n{sizes}\n".encode())
        for batch in corpus.batches():
            write_csv(_entries(batch, n_docs), file, ENTRIES)
            n_docs += batch.n_docs


def _entries(batch: DocumentBatch, first: int) -> pa.Table:
    """Document, word, count; both ids count from one."""
    documents = np.repeat(np.arange(batch.n_docs), np.diff(batch.indptr)) + first + 1
    columns = [documents, batch.word_ids + 1, batch.word_counts]
    return pa.table(columns, ["document", "word", "count"])
