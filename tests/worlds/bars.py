"""The bars collection: words are cells of a square grid, topics its horizontal and vertical bars.

Griffiths & Steyvers (2004) drew 5×5 grids; HDP15 and SPARSE16 use this size. Bars of one direction
cover the grid without overlap, so each word belongs to two topics, and every topic is uniform over
its cells. Documents mix bars by a symmetric Dirichlet of total 1, as much for 50 bars as for 10:
0.1 a topic for ten, of which a document then uses two or three to any extent.
"""

from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from sparsetopics.base.batches import DocumentBatch, Source
from sparsetopics.corpora.corpus import Corpus
from worlds.simulated_documents import as_source, batch_of_counts

TOTAL_CONCENTRATION = 1.0


class Bars(NamedTuple):
    """The true topics, (n_bars, side²), and documents drawn from them."""

    topics: np.ndarray
    batch: DocumentBatch

    @property
    def n_words(self):
        return self.topics.shape[1]

    def source(self, n_batches=1) -> Source[DocumentBatch]:
        return as_source(self.batch, self.n_words, n_batches)

    def corpus(self) -> Corpus:
        counts = np.zeros((self.batch.n_docs, self.n_words), np.int64)
        documents = np.repeat(np.arange(self.batch.n_docs), np.diff(self.batch.indptr))
        counts[documents, self.batch.word_ids] = self.batch.word_counts
        return Corpus.from_csr(counts, [f"cell{cell:04d}" for cell in range(self.n_words)])


def ten_bars(rng, n_docs=1000, n_tokens=200):
    """10 bars on 30×30 cells."""
    return draw(rng, bar_topics(10, 30), n_docs, n_tokens)


def fifty_bars(rng, n_docs=5000, n_tokens=300):
    """50 bars on 50×50 cells: each but two rows or columns wide."""
    return draw(rng, bar_topics(50, 50), n_docs, n_tokens)


def bar_topics(n_bars, side):
    """Horizontal bars, then vertical ones, (n_bars, side²); their width is 2 side / n_bars."""
    width = 2 * side // n_bars
    starts = range(0, side, width)
    topics = np.zeros((n_bars, side, side))
    for bar, start in enumerate(starts):
        topics[bar, start : start + width] = 1.0
        topics[len(starts) + bar, :, start : start + width] = 1.0
    return topics.reshape(n_bars, -1) / (width * side)


def draw(rng, topics, n_docs, n_tokens):
    """Documents of exactly ``n_tokens`` tokens."""
    n_bars = len(topics)
    proportions = rng.dirichlet(np.full(n_bars, TOTAL_CONCENTRATION / n_bars), n_docs)
    return Bars(topics, batch_of_counts(rng.multinomial(n_tokens, proportions @ topics)))


def match(found, true):
    """Total-variation distance of each true topic from its own found one, (n_true,).

    The matching of least total distance, one to one; a true topic left over is at distance 1.
    """
    distances = 0.5 * np.abs(true[:, None, :] - found[None, :, :]).sum(axis=2)
    rows, columns = linear_sum_assignment(distances)
    matched = np.ones(len(true))
    matched[rows] = distances[rows, columns]
    return matched
