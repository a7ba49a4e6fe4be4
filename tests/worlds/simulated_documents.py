"""Small collections drawn from LDA itself, as batches and as sources."""

import numpy as np

from sparsetopics.base.batches import DocumentBatch
from sparsetopics.corpora.batching import Batches


def batch_of_counts(counts):
    """A dense matrix of counts (n_docs, n_words) as a batch."""
    counts = np.asarray(counts)
    documents, words = np.nonzero(counts)
    values = counts[documents, words]
    return DocumentBatch(
        np.searchsorted(documents, np.arange(len(counts) + 1)).astype(np.int64),
        words.astype(np.int32),
        values.astype(np.float32 if values.dtype.kind == "f" else np.uint32),
    )


def simulate(rng, n_docs=60, n_words=30, n_topics=4, n_tokens=40, alpha=0.1, eta=0.1):
    """Documents of about ``n_tokens`` tokens; α and η per topic and per word."""
    topics = rng.dirichlet(np.full(n_words, eta), n_topics)
    counts = [
        rng.multinomial(1 + rng.poisson(n_tokens), rng.dirichlet(np.full(n_topics, alpha)) @ topics)
        for _ in range(n_docs)
    ]
    return batch_of_counts(counts)


def as_source(batch, n_words, n_batches=1):
    """The documents divided in order into ``n_batches``."""
    parts = np.array_split(np.arange(batch.n_docs), n_batches)
    batches = tuple(batch.take(part) for part in parts)
    sizes = batch.n_docs, batch.n_tokens, n_words, n_batches
    return Batches(*sizes, is_resident=True, read=batches.__getitem__)


def read_only(*arrays):
    for array in arrays:
        array.flags.writeable = False
