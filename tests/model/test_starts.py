"""Starts: seed documents, mixed with the background and equal in tokens."""

import numpy as np
import pytest
from scipy import sparse

from sparsetopics.base.errors import OptionError
from sparsetopics.model.likelihoods import document_seeds as starts
from sparsetopics.model.likelihoods.document_seeds import seed_documents
from worlds.simulated_documents import as_source, batch_of_counts, simulate

N_WORDS, SHARE = 30, 5 / 7
BOTH = pytest.mark.parametrize("start", ["random", "distant"])


@pytest.fixture
def source():
    return as_source(simulate(np.random.default_rng(0)), N_WORDS, 4)


def clustered_counts(rng, n_clusters, n_docs=20):
    """Long documents that use only the five words of their cluster."""
    counts = np.zeros((n_clusters * n_docs, n_clusters * 5), int)
    for document in range(len(counts)):
        first = 5 * (document % n_clusters)
        counts[document, first : first + 5] = 1 + rng.multinomial(5000, np.full(5, 0.2))
    return counts


@BOTH
@pytest.mark.parametrize("n_topics", [1, 7, 60, 90])  # of 60 documents
def test_every_topic_holds_an_equal_share_of_the_tokens(source, start, n_topics):
    counts = seed_documents(source, n_topics, 0.5, start, np.random.default_rng(1))

    assert counts.shape == (N_WORDS, n_topics)
    assert counts.min() >= 0.0
    np.testing.assert_allclose(counts.sum(axis=0), source.n_tokens / n_topics)


@BOTH
def test_same_seed_same_start(source, start):
    def drawn(seed):
        return seed_documents(source, 5, 0.5, start, np.random.default_rng(seed))

    first, again, other = map(drawn, (1, 1, 2))

    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize("seed", range(4))
def test_distant_seeds_come_from_different_clusters(seed):
    rng = np.random.default_rng(seed)
    source = as_source(batch_of_counts(clustered_counts(rng, 6)), 30, 3)

    counts = seed_documents(source, 6, 5 / 7, "distant", rng)

    by_cluster = counts.reshape(6, 5, 6).sum(axis=1)
    assert set(by_cluster.argmax(axis=0)) == set(range(6))


@pytest.mark.parametrize("documents", [[[2, 1]], [[2, 1], [2, 1], [2, 1]]])
def test_more_topics_than_different_documents(documents):
    source = as_source(batch_of_counts(documents), 2)
    for start in ("random", "distant"):
        counts = seed_documents(source, 5, 0.5, start, np.random.default_rng(0))

        np.testing.assert_allclose(counts, np.outer([2, 1], np.ones(5)) * len(documents) / 5)


@BOTH
def test_empty_documents_are_no_seeds(start):
    counts = np.zeros((50, 3), int)
    counts[::10] = [[4, 0, 0], [0, 4, 0], [0, 0, 4], [2, 2, 0], [0, 2, 2]]
    source = as_source(batch_of_counts(counts), 3, 5)

    assert np.isfinite(seed_documents(source, 5, 0.5, start, np.random.default_rng(0))).all()


@BOTH
def test_without_words_there_is_no_start(start):
    source = as_source(batch_of_counts(np.zeros((4, 3), int)), 3)

    with pytest.raises(OptionError, match="start: no document has words"):
        seed_documents(source, 2, 0.5, start, np.random.default_rng(0))


@BOTH
def test_a_sample_is_enough(monkeypatch, source, start):
    monkeypatch.setattr(starts, "SAMPLE_DOCUMENTS", 10)

    counts = seed_documents(source, 4, 0.5, start, np.random.default_rng(0))

    np.testing.assert_allclose(counts.sum(axis=0), source.n_tokens / 4)


def test_the_divergence_is_that_of_the_dense_formula():
    """Σ_v x_v log((x_v / |x|) / μ_v), μ the seed smoothed with background tokens."""
    counts = np.random.default_rng(3).poisson(0.8, (12, 9)).astype(float)
    counts[:, 0] += 1
    background = counts.sum(axis=0) / counts.sum()
    seed, smoothing = counts[4], starts.SMOOTHING_TOKENS
    smoothed = (seed + smoothing * background) / (seed.sum() + smoothing)
    proportions = counts / counts.sum(axis=1, keepdims=True)
    ratios = np.where(counts > 0, proportions / smoothed, 1.0)
    expected = (counts * np.log(ratios)).sum(axis=1)

    sample = sparse.csr_array(counts)
    cross = sample @ np.log(background)
    cross += starts._log_ratio_gain(sample.T.tocsr(), counts.sum(axis=1), sample[[4]], background)
    found = starts._negative_entropy(sample, counts.sum(axis=1)) - cross

    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert expected.min() > 0


@BOTH
def test_the_rest_of_a_start_is_the_background(source, start):
    """Without a share for the seed every topic is the word distribution of the collection."""
    words = np.concatenate([source.read(i).word_ids for i in range(4)])
    tokens = np.concatenate([source.read(i).word_counts for i in range(4)])

    counts = seed_documents(source, 5, 0.0, start, np.random.default_rng(0))

    background = np.bincount(words, tokens, N_WORDS) / 5
    np.testing.assert_allclose(counts, np.tile(background[:, None], 5))
