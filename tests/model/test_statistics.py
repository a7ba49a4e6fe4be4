"""Summaries add over disjoint sets of documents, and what went in comes out."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import gammaln

from sparsetopics.base.batches import BLOCK_PAIRS
from sparsetopics.base.errors import ShapeError
from sparsetopics.execution.executors import open_executor
from sparsetopics.model.statistics import (
    TERMS_BY_TOPIC,
    DocumentLengths,
    DocumentTerms,
    Statistics,
    Summary,
    added,
    renumbered,
    scaled,
    subtracted,
)
from sparsetopics.model.word_counts import SERIAL, PairCounts, WordCounts
from worlds.dense_responsibilities import dense_of as shares_of
from worlds.dense_responsibilities import sparse_of
from worlds.simulated_documents import as_source, batch_of_counts, read_only
from worlds.word_models import without_shares, zero_statistics

N_WORDS, N_TOPICS = 7, 4
SEEDS = st.integers(0, 2**32 - 1)


def random_terms(rng):
    n_docs, n_tokens = rng.random(2).tolist()
    return DocumentTerms(n_docs, n_tokens, *rng.normal(size=(5, N_TOPICS)), rng.normal(size=3))


def random_counts(rng, others=None):
    """Counts of some pairs, perhaps those of ``others``, and the same as a dense array."""
    n_pairs = rng.integers(0, 12)
    words = rng.integers(0, N_WORDS, n_pairs).astype(np.int32)
    tokens = rng.integers(1, 9, n_pairs).astype(np.uint32)
    if others is not None:
        n_pairs, words, tokens = len(others.words), others.words, others.tokens
    found = sparse_of(rng.dirichlet(np.full(N_TOPICS, 0.3), n_pairs).round(2))
    dense = np.zeros((N_WORDS, N_TOPICS))
    np.add.at(dense, words, tokens[:, None] * shares_of(found, N_TOPICS))
    counts = PairCounts(words, tokens, *found)
    read_only(*counts)
    return counts, dense


def random_summary(rng, other=None):
    """A summary of some documents, perhaps those of another summary."""
    counts, _ = random_counts(rng, None if other is None else other.components)
    return Summary(counts, random_terms(rng))


def dense_of(counts):
    dense = np.zeros((N_WORDS, N_TOPICS))
    WordCounts(dense).add(counts)
    return dense


def assert_same(left, right):
    np.testing.assert_allclose(left.components.table, right.components.table, atol=1e-9)
    for mine, theirs in zip(left.terms, right.terms, strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-12)


@given(seed=SEEDS, scale=st.floats(0, 3))
def test_adding_counts_of_pairs_is_adding_dense_ones(seed, scale):
    rng = np.random.default_rng(seed)
    counts, dense = random_counts(rng)
    base = rng.random((N_WORDS, N_TOPICS))

    found, knowing_its_sizes = WordCounts(base.copy()), WordCounts(base).accumulator()
    for each in (found, knowing_its_sizes):
        each.add(counts, scale)

        np.testing.assert_allclose(each.table, base + scale * dense, atol=1e-12)
        np.testing.assert_allclose(each.sizes, each.table.sum(axis=0), atol=1e-12)


@given(seed=SEEDS)
def test_what_is_taken_out_leaves_nothing_below_zero(seed):
    rng = np.random.default_rng(seed)
    counts, dense = random_counts(rng)
    base = dense + rng.uniform(-0.5, 1.0, dense.shape) * (dense > 0.0)  # less than is taken out

    for each in (WordCounts(base.copy()), WordCounts(base).accumulator()):
        each.exchange(without_shares(counts), counts, SERIAL)

        np.testing.assert_allclose(each.table, np.maximum(base - dense, 0.0), atol=1e-6)
        np.testing.assert_allclose(each.sizes, each.table.sum(axis=0), atol=1e-6)
        assert each.table.min() >= 0.0


def test_a_start_stands_for_the_rest_of_the_collection():
    rng = np.random.default_rng(4)
    seen, start = rng.random((2, N_WORDS, N_TOPICS))
    expected, words = seen + 0.3 * start, np.array([5, 0], np.uint32)

    found = WordCounts(seen).with_rest(WordCounts(start), 0.3)

    np.testing.assert_array_equal(found.table, expected)
    np.testing.assert_array_equal(found.rows(words), expected[words])
    np.testing.assert_allclose(found.sizes, expected.sum(axis=0))
    assert (found.n_columns, found.n_topics) == (N_WORDS, N_TOPICS)


def test_dense_counts_are_scaled_and_added():
    left, right = np.random.default_rng(9).random((2, N_WORDS, N_TOPICS))

    np.testing.assert_array_equal(WordCounts(left).scaled(3.0).table, 3.0 * left)
    np.testing.assert_array_equal(WordCounts(left).plus(WordCounts(right)).table, left + right)
    np.testing.assert_array_equal(WordCounts(left).zeros_like().table, np.zeros_like(left))


def test_sizes_count_tokens_of_words_that_are_left_out():
    table, elsewhere = np.random.default_rng(5).random((3, N_TOPICS)), np.arange(4.0)

    for found in (WordCounts(table, elsewhere), WordCounts(table, elsewhere).accumulator()):
        np.testing.assert_allclose(found.sizes, table.sum(axis=0) + elsewhere)


def test_words_and_tokens_of_entries():
    counts, expected = random_counts(np.random.default_rng(3))
    dense = np.zeros((N_WORDS, N_TOPICS))

    np.add.at(dense, (counts.word_of_entry, counts.topics), counts.values)

    np.testing.assert_allclose(dense, expected)


@given(seed=SEEDS)
def test_terms_taken_out_leave_what_was_there(seed):
    rng = np.random.default_rng(seed)
    left, right = random_terms(rng), random_terms(rng)

    for found, expected in zip(subtracted(added(left, right), right), left, strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-12)


@given(seed=SEEDS, n_batches=st.integers(0, 5))
def test_the_sum_of_batches_is_the_total(seed, n_batches):
    rng = np.random.default_rng(seed)
    summaries = [random_summary(rng) for _ in range(n_batches)]

    total = Statistics.sum(summaries, zero_statistics(N_WORDS, N_TOPICS))
    piece_by_piece = zero_statistics(N_WORDS, N_TOPICS)
    for summary in summaries:
        piece_by_piece = piece_by_piece.add_in_place(summary)

    assert_same(total, piece_by_piece)
    expected = sum((dense_of(each.components) for each in summaries), np.zeros(1))
    np.testing.assert_allclose(total.components.table.sum(), expected.sum())
    assert total.terms.n_docs == pytest.approx(sum(each.terms.n_docs for each in summaries))


@given(seed=SEEDS)
def test_exchange_in_and_out_returns_the_same(seed):
    rng = np.random.default_rng(seed)
    old, other = random_summary(rng), random_summary(rng)
    new = random_summary(rng, old)
    before = Statistics.sum([other, old], zero_statistics(N_WORDS, N_TOPICS))
    read_only(before.components.table, *before.terms[2:])

    after = before.accumulator().exchange_in_place(new, old, SERIAL)
    after = after.exchange_in_place(old, new, SERIAL)

    assert_same(after, before)


@given(seed=SEEDS)
def test_exchange_is_the_sum_with_one_batch_replaced_and_never_negative(seed):
    rng = np.random.default_rng(seed)
    old, other = random_summary(rng), random_summary(rng)
    new = random_summary(rng, old)

    found = Statistics.sum([other, old], zero_statistics(N_WORDS, N_TOPICS))
    found = found.exchange_in_place(new, old, SERIAL)

    assert_same(found, Statistics.sum([other, new], zero_statistics(N_WORDS, N_TOPICS)))
    assert found.components.table.min() >= 0.0


def test_former_counts_of_other_pairs_are_refused():
    rng = np.random.default_rng(0)
    counts = [random_counts(rng)[0] for _ in range(20)]
    new, old = next(
        (one, other) for one in counts for other in counts if len(one.words) > len(other.words)
    )

    with pytest.raises(ShapeError, match=rf"expected {len(new.words)} pairs, but found"):
        WordCounts.zeros(N_WORDS, N_TOPICS).exchange(new, old, SERIAL)


@given(seed=SEEDS, n_workers=st.integers(1, 3))
def test_exchange_in_parts_has_the_same_bits_for_any_number_of_workers(seed, n_workers):
    rng = np.random.default_rng(seed)
    new, old = (
        PairCounts(
            rng.integers(0, N_WORDS, 3 * BLOCK_PAIRS, dtype=np.int32),
            rng.random(3 * BLOCK_PAIRS).astype(np.float32),  # sums of which round
            *sparse_of(rng.dirichlet(np.full(N_TOPICS, 0.3), 3 * BLOCK_PAIRS)),
        )
        for _ in range(2)
    )
    old = old._replace(words=new.words, tokens=new.tokens)
    expected, found = (WordCounts.zeros(N_WORDS, N_TOPICS).accumulator() for _ in range(2))

    expected.add(old)
    expected.exchange(new, old, SERIAL)
    with open_executor(n_workers) as executor:
        found.exchange(old, None, executor)
        found.exchange(new, old, executor)

    np.testing.assert_array_equal(found.seen, expected.seen)
    np.testing.assert_array_equal(found.within, expected.within)
    np.testing.assert_allclose(found.seen, dense_of(new), atol=1e-6)


@given(seed=SEEDS, factor=st.floats(0, 100))
def test_scaled_terms_are_those_of_as_many_documents(seed, factor):
    terms = random_terms(np.random.default_rng(seed))

    for found, expected in zip(scaled(terms, factor), terms, strict=True):
        np.testing.assert_allclose(found, factor * np.asarray(expected))


def test_no_documents_add_nothing():
    terms = random_terms(np.random.default_rng(5))

    for found, expected in zip(added(DocumentTerms.zeros(N_TOPICS), terms), terms, strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("new_topics", [[2, -1, 0, 3], [-1, 1, -1, 0], [4, 3, -1, 0]])
def test_topics_take_their_sums_to_new_numbers_or_are_left_out(new_topics):
    terms = random_terms(np.random.default_rng(6))
    expected = np.zeros((5, 5))
    for old, new in enumerate(new_topics):
        if new != -1:
            expected[:, new] = terms.by_topic[:, old]

    found = renumbered(terms, np.array(new_topics), 5)

    np.testing.assert_array_equal(found.by_topic, expected)


def test_the_tail_is_a_topic_that_no_document_uses():
    terms = random_terms(np.random.default_rng(4))

    with_tail = terms.with_tail()

    for name, value in with_tail._asdict().items():
        given = getattr(terms, name)
        if name in TERMS_BY_TOPIC:
            np.testing.assert_array_equal(value, [*given, 0.0])
        else:
            np.testing.assert_array_equal(value, given)
    assert {name for name in terms._fields if np.shape(getattr(terms, name)) == (N_TOPICS,)} == set(
        TERMS_BY_TOPIC
    )


@given(seed=SEEDS, n_batches=st.integers(1, 4))
def test_lengths_of_batches_add_up(seed, n_batches):
    rng = np.random.default_rng(seed)
    counts = rng.poisson(0.7, (9, N_WORDS))
    counts[0] = 0  # a document may be empty
    source = as_source(batch_of_counts(counts), N_WORDS, n_batches)
    batches = [source.read(batch_id) for batch_id in range(n_batches)]

    whole = DocumentLengths.of(batches)
    summed = DocumentLengths.of([])
    for batch in batches:
        summed = summed.plus(DocumentLengths.of([batch]))

    tokens = counts.sum(axis=1)
    expected = np.unique(tokens, return_counts=True)
    for found in (whole, summed):
        np.testing.assert_array_equal(found.tokens, expected[0])
        np.testing.assert_array_equal(found.n_docs, expected[1])
        assert found.log_gamma_sum(0.3) == pytest.approx(gammaln(tokens + 0.3).sum())
