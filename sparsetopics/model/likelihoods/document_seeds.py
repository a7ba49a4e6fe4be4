"""Where topics start: seed documents, drawn at random or far apart.

Every topic starts as one seed document, ``seed_share`` of it, mixed with the background word
distribution and scaled to an equal share of the collection's tokens. Only sparse rows are touched,
never documents × words.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from sparsetopics.base.batches import DocumentBatch, FloatArray, Source
from sparsetopics.base.errors import OptionError
from sparsetopics.model.document_counts import rows_of
from sparsetopics.options.table import LocalUpdate, StartName

# Share of a topic's start that comes from its seed document. Under the collapsed update common
# words then stay in all topics at first, and topics of even size form; mean-field needs the push.
SEED_SHARES: dict[LocalUpdate, float] = {"collapsed": 1 / 7, "mean-field": 5 / 7}
SAMPLE_DOCUMENTS = 4_000  # seeds are chosen among at most so many documents
SMOOTHING_TOKENS = 50.0  # background tokens mixed into a seed while distances are measured


def seed_documents(
    source: Source[DocumentBatch],
    n_topics: int,
    seed_share: float,
    start: StartName,
    rng: np.random.Generator,
) -> FloatArray:
    """Start every topic from a document, drawn at random or far from the others.

    Returns counts, (n_words, n_topics).
    """
    sample, background = _sample(source, n_topics, rng)
    if start == "random":
        rows = rng.choice(sample.shape[0], n_topics, replace=sample.shape[0] < n_topics).tolist()
    else:
        rows = distant_rows(sample, background, n_topics, rng)
    return mixed_counts(sample[rows], background, seed_share, source.n_tokens)


def distant_shares(
    documents: DocumentBatch, n_words: int, n_topics: int, rng: np.random.Generator
) -> FloatArray:
    """Word shares of documents far from each other, (n_words, n_topics); columns add up to one."""
    rows = _rows(documents, n_words)
    seeds = rows[distant_rows(rows, background_of(rows), n_topics, rng)]
    scaled = seeds.multiply(1.0 / np.asarray(seeds.sum(axis=1)).reshape(-1, 1))
    return np.ascontiguousarray(scaled.toarray().T)


def distant_rows(
    sample: sparse.csr_array, background: FloatArray, n_topics: int, rng: np.random.Generator
) -> list[int]:
    """Bregman k-means++ seeding under the divergence of word counts; rows of ``sample``.

    The divergence of a document x from a seed with smoothed word distribution μ is
    Σ_v x_v log((x_v / |x|) / μ_v). The first seed is drawn by length, each further one with
    probability proportional to the divergence from its nearest seed (Banerjee et al. 2005;
    Arthur & Vassilvitskii 2007).
    """
    lengths: FloatArray = np.asarray(sample.sum(axis=1), np.float64).ravel()
    negative_entropy = _negative_entropy(sample, lengths)
    log_background = np.log(np.where(background > 0, background, 1.0))  # absent words do not occur
    cross_background, by_word = sample @ log_background, sample.T.tocsr()
    nearest = np.full(len(lengths), np.inf)
    seeds: list[int] = []
    weights: FloatArray = lengths
    for _ in range(n_topics):
        total = weights.sum()
        probabilities = weights / total if total > 0 else np.full(len(weights), 1 / len(weights))
        seeds.append(int(rng.choice(len(weights), p=probabilities)))
        gain = _log_ratio_gain(by_word, lengths, sample[[seeds[-1]]], background)
        cross = cross_background + gain
        nearest = np.minimum(nearest, np.maximum(negative_entropy - cross, 0.0))
        weights = nearest
    return seeds


def _log_ratio_gain(
    by_word: sparse.csr_array,  # (n_words, n_docs)
    lengths: FloatArray,  # (n_docs,)
    seed: sparse.csr_array,  # (1, n_words)
    background: FloatArray,
) -> FloatArray:
    """Σ_v x_v (log μ_v − log p_v) for each document, which depends only on the seed's words."""
    shrink = np.log(SMOOTHING_TOKENS / (seed.sum() + SMOOTHING_TOKENS))
    words = seed.indices
    ratio = np.log1p(seed.data / (SMOOTHING_TOKENS * background[words]))
    gain: FloatArray = shrink * lengths + by_word[words].T @ ratio
    return gain


def _negative_entropy(sample: sparse.csr_array, lengths: FloatArray) -> FloatArray:
    """Σ_v x_v log(x_v / |x|) for each document."""
    rows = np.repeat(np.arange(sample.shape[0]), np.diff(sample.indptr))
    terms = sample.data * np.log(sample.data / lengths[rows])
    return np.bincount(rows, terms, minlength=sample.shape[0]).astype(np.float64)


def mixed_counts(
    seeds: sparse.csr_array, background: FloatArray, seed_share: float, n_tokens: float
) -> FloatArray:
    """Expected counts of a start: each column a seed and the background, equal in tokens."""
    n_topics, n_words = seeds.shape
    tokens = n_tokens / n_topics
    counts = np.empty((n_words, n_topics))
    counts[:] = (1.0 - seed_share) * tokens * background[:, None]
    lengths = np.asarray(seeds.sum(axis=1), np.float64).ravel()
    topics = np.repeat(np.arange(n_topics), np.diff(seeds.indptr))
    counts[seeds.indices, topics] += seed_share * tokens * seeds.data / lengths[topics]
    return counts


def _sample(
    source: Source[DocumentBatch], n_topics: int, rng: np.random.Generator
) -> tuple[sparse.csr_array, FloatArray]:
    """A sample of non-empty documents and the word distribution of the batches it came from."""
    wanted = max(SAMPLE_DOCUMENTS, n_topics)
    rows: list[sparse.csr_array] = []
    found = 0
    for batch_id in rng.permutation(source.n_batches):
        rows.append(_rows(source.read(int(batch_id)), source.n_columns))
        found += rows[-1].shape[0]
        if found >= wanted:
            break
    if found == 0:
        raise OptionError("start", "no document has words")
    sample = sparse.vstack(rows, format="csr")
    background = background_of(sample)
    if found > wanted:
        sample = sample[np.sort(rng.choice(found, wanted, replace=False))]
    return sample, background


def _rows(batch: DocumentBatch, n_words: int) -> sparse.csr_array:
    return rows_of(batch.take(np.flatnonzero(np.diff(batch.indptr) > 0)), n_words)


def background_of(rows: sparse.csr_array) -> FloatArray:
    """The word distribution of documents with words, (n_words,)."""
    background = np.asarray(rows.sum(axis=0)).ravel()
    shares: FloatArray = background / background.sum()
    return shares
