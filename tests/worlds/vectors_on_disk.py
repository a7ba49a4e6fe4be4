"""Vectors as files and as corpora, for tests."""

import numpy as np

from sparsetopics.corpora.corpus import VectorCorpus
from sparsetopics.corpora.ingest_options import VectorOptions
from sparsetopics.corpora.ingest_vectors import ingest_vectors
from sparsetopics.corpora.readers.options import VectorReadOptions
from sparsetopics.options.workplace import Workplace

OF_VECTORS = ("format", "pca", "whiten", "seed", "projection")  # the others are of reading


def make_vectors(n_items, n_columns, seed=0):
    return np.random.default_rng(seed).normal(size=(n_items, n_columns)).astype(np.float32)


def make_grey(height, width, seed=0):
    """Pixels of 8 bit."""
    rng = np.random.default_rng(seed)
    return rng.integers(0, 256, size=(height, width), dtype=np.uint8)


def ingested(sources, out, *, workers=1, **given):
    """The corpus made of the sources."""
    own = {name: given.pop(name) for name in [*given] if name in OF_VECTORS}
    read, where = VectorReadOptions(**given), Workplace(workers=workers)
    options = VectorOptions(**own, read=read, where=where)
    ingest_vectors(sources, out, options)
    return VectorCorpus.open(out)


def values_of(corpus):
    return np.concatenate([batch.values for batch in corpus.batches()])


def item_ids_of(corpus):
    return [name for names in corpus.item_ids() for name in names]


def labels_of(corpus):
    return [label for labels in corpus.labels() for label in labels]
