"""Sums of sparse responsibilities against dense numpy."""

import itertools
from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sparsetopics.base import batches
from sparsetopics.base.batches import pairs_of
from sparsetopics.execution.executors import Executor
from sparsetopics.inference.item_step import _without_zeros
from sparsetopics.kernels.summaries import add_topic_terms, doc_topic_counts
from sparsetopics.kernels.types import SparseShares
from sparsetopics.kernels.words import exchange_pairs
from sparsetopics.model.allocations.documents import sum_terms
from sparsetopics.model.responsibilities import Responsibilities
from sparsetopics.model.word_counts import number_rows
from worlds.dense_responsibilities import dense_of
from worlds.sparse_worlds import worlds

from reference import dense_from_slots, document_terms
from reference import sum_by_word as plain_sum_by_word

SEEDS = st.integers(0, 2**32 - 1)


def assert_valid(found, n_pairs, n_topics):
    """Rows cover all entries; a row names no topic twice and holds no empty share."""
    assert found.starts[0] == 0
    assert found.starts[-1] == len(found.topics) == len(found.shares)
    assert len(found.starts) == n_pairs + 1
    assert [array.dtype for array in found] == [np.int64, np.uint32, np.float32]
    assert (found.shares > 0).all()
    for lo, hi in zip(found.starts[:-1], found.starts[1:], strict=True):
        topics = found.topics[lo:hi]
        assert len(set(topics)) == len(topics)
        assert (topics < n_topics).all()


@given(seed=SEEDS, n_items=st.integers(0, 9), n_slots=st.integers(1, 5))
def test_only_the_slots_in_use_are_kept(seed, n_items, n_slots):
    """Empty slots name any topic."""
    rng = np.random.default_rng(seed)
    order = rng.random((n_items, 6)).argsort(axis=1)[:, :n_slots]
    topics = order.astype(np.uint32)
    shares = rng.dirichlet(np.ones(n_slots), n_items).reshape(n_items, n_slots).astype(np.float32)
    shares[rng.random(shares.shape) < 0.3] = 0.0
    starts = n_slots * np.arange(n_items + 1)

    found = _without_zeros(Responsibilities(starts, topics.ravel(), shares.ravel()), n_slots)

    assert_valid(found, n_items, 6)
    np.testing.assert_array_equal(dense_of(found, 6), dense_from_slots(topics, shares, 6))


@given(world=worlds, data=st.data())
def test_renumber_moves_columns_adds_equal_ones_and_drops(world, data):
    new_topics = np.array(
        data.draw(st.lists(st.integers(-1, 8), min_size=world.n_topics, max_size=world.n_topics))
    )

    found = world.sparse.renumbered(new_topics)

    assert_valid(found, world.batch.n_pairs, 9)
    expected = np.zeros((world.batch.n_pairs, 9))
    for topic, number in enumerate(new_topics):
        if number >= 0:
            expected[:, number] += world.dense[:, topic]
    np.testing.assert_allclose(dense_of(found, 9), expected, atol=2e-7)


@given(world=worlds, seed=SEEDS)
def test_a_permutation_and_its_inverse_change_nothing(world, seed):
    order = np.random.default_rng(seed).permutation(world.n_topics)

    there = world.sparse.renumbered(order)
    back = there.renumbered(np.argsort(order))

    for found, expected in zip(back, world.sparse, strict=True):
        np.testing.assert_array_equal(found, expected)


@given(world=worlds, tail=st.sampled_from([0.0, 0.3]))
def test_topic_terms_equal_plain_sums(world, tail):
    terms, totals = np.zeros((5, world.n_topics)), np.zeros(3)
    expected, expected_totals = np.zeros((5, world.n_topics)), np.zeros(3)

    add_topic_terms(
        world.batch.indptr, world.counts, world.sparse, world.prior, terms, totals, tail
    )

    for lo, hi in zip(world.batch.indptr[:-1], world.batch.indptr[1:], strict=True):
        sums = document_terms(world.counts[lo:hi], world.prior, world.dense[lo:hi], tail)
        expected, expected_totals = expected + sums[0], expected_totals + sums[1]
    np.testing.assert_allclose(terms, expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(totals, expected_totals, rtol=1e-9, atol=1e-9)


@given(world=worlds)
def test_terms_are_added_to_what_is_there(world):
    once, twice = (
        (np.ones((5, world.n_topics)), np.ones(3)),
        (np.ones((5, world.n_topics)), np.ones(3)),
    )
    given = (world.batch.indptr, world.counts, world.sparse, world.prior)

    add_topic_terms(*given, *once, 0.1)
    for _ in range(2):
        add_topic_terms(*given, *twice, 0.1)

    for one, two in zip(once, twice, strict=True):
        np.testing.assert_allclose(two - 1, 2 * (one - 1), rtol=1e-9, atol=1e-9)


@given(world=worlds)
def test_sums_by_word_conserve_mass(world):
    words, dense = world.batch.word_ids, np.zeros((world.n_words, world.n_topics))
    nothing = SparseShares(np.zeros(len(words) + 1, np.int64), *world.sparse[1:])

    cuts = [0, world.n_words // 2, world.n_words]
    sizes = sum(
        exchange_pairs(*part, words, world.counts, world.sparse, nothing, dense)
        for part in pairwise(cuts)
    )

    expected = plain_sum_by_word(words, world.counts, world.dense, world.n_words)
    np.testing.assert_allclose(dense, expected, rtol=1e-12)
    np.testing.assert_allclose(sizes, expected.sum(axis=0), rtol=1e-12)
    np.testing.assert_allclose(dense.sum(), world.counts.sum(), rtol=1e-6)


@given(world=worlds)
def test_rows_number_the_words_of_a_batch(world):
    words, rows = number_rows(world.batch, world.n_words)

    np.testing.assert_array_equal(words, np.unique(world.batch.word_ids))
    np.testing.assert_array_equal(words[rows], world.batch.word_ids)


@given(world=worlds)
def test_doc_topic_counts_are_sums_over_documents(world):
    starts, topics, counts = doc_topic_counts(
        world.batch.indptr, world.counts, world.sparse, world.n_topics
    )

    expected = world.doc_topic_counts()
    assert starts[0] == 0
    assert starts[-1] == len(topics) == len(counts)
    for d, (lo, hi) in enumerate(itertools.pairwise(starts)):
        found = np.zeros(world.n_topics)
        found[topics[lo:hi]] = counts[lo:hi]
        assert len(set(topics[lo:hi])) == hi - lo == np.count_nonzero(expected[d])
        np.testing.assert_allclose(found, expected[d], rtol=1e-12)


@given(world=worlds, block=st.sampled_from([1, 3, 10_000]))
def test_blocks_hardly_matter_to_sums(world, block):
    whole_terms = sum_terms(world.batch, world.sparse, world.prior, 0.2, Executor())
    pairs = batches.BLOCK_PAIRS
    try:
        batches.BLOCK_PAIRS = block
        terms = sum_terms(world.batch, world.sparse, world.prior, 0.2, Executor())
    finally:
        batches.BLOCK_PAIRS = pairs

    for found, expected in zip(terms, whole_terms, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    assert terms.n_docs == world.batch.n_docs
    assert terms.n_tokens == world.batch.n_tokens


@given(world=worlds, data=st.data())
def test_rows_are_taken_in_any_order_and_joined(world, data):
    n_pairs = world.batch.n_pairs
    chosen = np.array(
        data.draw(st.lists(st.integers(0, max(n_pairs - 1, 0)), max_size=8 if n_pairs else 0)),
        np.int64,
    )

    taken = world.sparse.take(chosen)
    joined = Responsibilities.joined([taken, world.sparse, taken])

    assert_valid(joined, n_pairs + 2 * len(chosen), world.n_topics)
    dense = world.dense[chosen]
    np.testing.assert_array_equal(dense_of(taken, world.n_topics), dense)
    np.testing.assert_array_equal(
        dense_of(joined, world.n_topics), np.concatenate([dense, world.dense, dense])
    )


@given(world=worlds, data=st.data())
def test_pairs_of_documents(world, data):
    documents = np.array(
        data.draw(st.lists(st.integers(0, world.batch.n_docs - 1), max_size=6)), np.int64
    )

    found = pairs_of(world.batch.indptr, documents)

    indptr = world.batch.indptr
    expected = [pair for d in documents for pair in range(indptr[d], indptr[d + 1])]
    assert found.tolist() == expected
