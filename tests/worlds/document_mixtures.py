"""Documents of one component each, drawn from a mixture."""

from typing import NamedTuple

import numpy as np

from sparsetopics.base.batches import DocumentBatch, DocumentItemSource
from worlds.simulated_documents import as_source, batch_of_counts


class Drawn(NamedTuple):
    batch: DocumentBatch
    counts: np.ndarray  # (n_docs, n_words)  dense
    kinds: np.ndarray  # (n_docs,)


def draw_documents(seed, n_docs=240, n_words=30, n_kinds=4, n_tokens=30):
    """Lengths differ, 1 to about 4 × ``n_tokens``; kinds are of nearly even size."""
    rng = np.random.default_rng(seed)
    words = rng.dirichlet(np.full(n_words, 0.3), n_kinds)
    kinds = rng.permutation(np.arange(n_docs) % n_kinds)
    lengths = 1 + rng.negative_binomial(2, 2 / (2 + n_tokens), n_docs)
    counts = np.array([rng.multinomial(n, words[k]) for n, k in zip(lengths, kinds, strict=True)])
    return Drawn(batch_of_counts(counts), counts, kinds)


def items_of(batch, n_words, n_batches):
    """A source of the documents, in order, as items."""
    return DocumentItemSource(as_source(batch, n_words, n_batches))


def n_removed(infos):
    """Components that merges and deletes removed in all laps."""
    return sum(info.moves[name].accepted for info in infos for name in ("merges", "deletes"))
