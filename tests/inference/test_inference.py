"""Topic proportions of documents under fixed topics."""

import numpy as np
import pytest

import reference_lda
from reference_lda import Visit
from sparsetopics.base import batches
from sparsetopics.base.batches import DocumentBatch
from sparsetopics.execution.executors import Executor
from sparsetopics.inference.document_step import fit_documents, topic_proportions
from sparsetopics.kernels import documents as document_kernels
from sparsetopics.model.allocations.lda import LDAAllocation
from sparsetopics.options.training import LocalOptions
from worlds.simulated_documents import batch_of_counts, read_only, simulate
from worlds.word_models import globals_of

N_WORDS, N_TOPICS = 30, 5


@pytest.fixture
def topic_word():
    return np.random.default_rng(1).dirichlet(np.full(N_WORDS, 0.2), N_TOPICS) + 1e-9


@pytest.fixture
def alpha():
    return np.random.default_rng(2).uniform(0.02, 0.5, N_TOPICS)


@pytest.fixture
def batch():
    return simulate(np.random.default_rng(3), n_docs=80)


def test_proportions_sum_to_one(batch, topic_word, alpha):
    found = topic_proportions(batch, topic_word, alpha)

    assert found.shape == (80, N_TOPICS)
    assert found.min() > 0
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)


def test_equal_to_plain_mean_field(batch, topic_word, alpha):
    shares = reference_lda.mean_field(batch, np.log(topic_word), alpha, 100, tolerance=0.01)
    posterior = reference_lda.doc_topic_counts(Visit(batch, shares, alpha)) + alpha

    found = topic_proportions(batch, topic_word, alpha)

    np.testing.assert_allclose(found, posterior / posterior.sum(axis=1, keepdims=True), atol=1e-5)


def test_a_model_mapped_from_a_file_compiles_nothing_more(batch, topic_word, alpha):
    expected = topic_proportions(batch, topic_word, alpha)
    n_compiled = len(document_kernels.fit_block.signatures)
    read_only(topic_word, alpha)

    np.testing.assert_array_equal(topic_proportions(batch, topic_word, alpha), expected)

    assert len(document_kernels.fit_block.signatures) == n_compiled


def test_documents_of_a_corpus_on_disk_compile_nothing_more(batch, topic_word, alpha):
    """Arrow owns their arrays, which are read-only."""
    counts = np.ascontiguousarray(1000.0 * topic_word.T)
    current = globals_of(counts, LDAAllocation(alpha), 0.1)
    expected = fit_documents(batch, current, LocalOptions(), Executor()).responsibilities
    n_compiled = len(document_kernels.fit_block.signatures)
    read_only(batch.word_ids, batch.word_counts)

    found = fit_documents(batch, current, LocalOptions(), Executor()).responsibilities

    np.testing.assert_array_equal(found.shares, expected.shares)
    assert len(document_kernels.fit_block.signatures) == n_compiled


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_workers_and_blocks_do_not_matter(monkeypatch, batch, topic_word, alpha, workers):
    whole = topic_proportions(batch, topic_word, alpha)
    monkeypatch.setattr(batches, "BLOCK_PAIRS", 30)

    found = topic_proportions(batch, topic_word, alpha, workers=workers)

    np.testing.assert_array_equal(found, whole)


def test_a_row_depends_on_its_own_document_alone(batch, topic_word, alpha):
    whole = topic_proportions(batch, topic_word, alpha)
    order = np.random.default_rng(4).permutation(80)

    shuffled = topic_proportions(batch.take(order), topic_word, alpha)
    alone = [topic_proportions(batch.take(np.array([d])), topic_word, alpha)[0] for d in order]

    np.testing.assert_array_equal(shuffled, whole[order])
    np.testing.assert_array_equal(alone, whole[order])


def test_an_empty_document_gets_the_prior(topic_word, alpha):
    counts = np.zeros((3, N_WORDS), int)
    counts[1, 4] = 9

    found = topic_proportions(batch_of_counts(counts), topic_word, alpha)

    np.testing.assert_allclose(found[[0, 2]], [alpha / alpha.sum()] * 2)
    assert found[1].argmax() == topic_word[:, 4].argmax()


def test_no_documents_no_rows(topic_word, alpha):
    empty = DocumentBatch(np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.uint32))

    assert topic_proportions(empty, topic_word, alpha).shape == (0, N_TOPICS)


def test_read_only_inputs_give_the_same_and_are_left_alone(batch, topic_word, alpha):
    expected = topic_proportions(batch, topic_word.copy(), alpha.copy())
    read_only(batch.indptr, batch.word_ids, batch.word_counts, topic_word, alpha)

    np.testing.assert_array_equal(topic_proportions(batch, topic_word, alpha), expected)


@pytest.mark.parametrize("alpha", [1e-8, 1e3])
@pytest.mark.parametrize("count", [1, 2**31])
def test_extreme_priors_and_counts_give_finite_proportions(topic_word, alpha, count):
    documents = batch_of_counts(np.eye(N_WORDS, dtype=int) * count)

    found = topic_proportions(documents, topic_word, np.full(N_TOPICS, alpha))

    assert np.isfinite(found).all()
    np.testing.assert_allclose(found.sum(axis=1), 1.0)


def test_many_identical_words_settle_on_their_topic():
    topic_word = np.array([[0.9, 0.1], [0.1, 0.9]])

    found = topic_proportions(batch_of_counts([[50, 0], [0, 50]]), topic_word, np.full(2, 0.1))

    np.testing.assert_allclose(np.diag(found), 50.1 / 50.2, rtol=1e-6)
