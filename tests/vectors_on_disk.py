"""Vectors as files and as corpora, for tests."""

import numpy as np

from sparsetopics.corpora.corpus import VectorCorpus
from sparsetopics.corpora.ingest_vectors import VectorOptions, ingest_vectors
from sparsetopics.corpora.readers.options import VectorReadOptions


def make_vectors(n_items, n_columns, seed=0):
    return np.random.default_rng(seed).normal(size=(n_items, n_columns)).astype(np.float32)


def make_grey(height, width, seed=0):
    """Pixels of 8 bit."""
    rng = np.random.default_rng(seed)
    return rng.integers(0, 256, size=(height, width), dtype=np.uint8)


def ingested(sources, out, *, format=None, pca=None, projection=None, workers=1, **read):
    """The corpus made of the sources; what is left are options of reading."""
    options = VectorOptions(
        format=format,
        read=VectorReadOptions(**read),
        pca=pca,
        projection=projection,
        workers=workers,
    )
    ingest_vectors(sources, out, options)
    return VectorCorpus.open(out)


def values_of(corpus):
    return np.concatenate([batch.values for batch in corpus.batches()])


def item_ids_of(corpus):
    return [name for names in corpus.item_ids() for name in names]


def labels_of(corpus):
    return [label for labels in corpus.labels() for label in labels]
