"""Sums over documents by component: against dense products, and without a trace of what went."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsetopics.base.batches import DocumentBatch, DocumentItems
from sparsetopics.execution.executors import Executor
from sparsetopics.model.assignments import Assignments
from sparsetopics.model.document_counts import DocumentCounts
from sparsetopics.model.item_assignment import assign
from sparsetopics.model.likelihoods.multinomial import word_log_densities
from worlds.dense_responsibilities import dense_of
from worlds.document_mixtures import draw_documents

N_WORDS, N_TOPICS = 12, 5
SERIAL = Executor()


def shares_of(batch, seed, sparsity=3):
    """Responsibilities as the engine makes them."""
    rng = np.random.default_rng(seed)
    logs = rng.normal(0.0, 0.2, (N_WORDS, N_TOPICS)).astype(np.float32)
    found, _ = assign(
        batch, partial(word_log_densities, logs), np.zeros(N_TOPICS), sparsity, SERIAL
    )
    return found, dense_of(found, N_TOPICS)


def world(seed, n_docs=40):
    drawn = draw_documents(seed, n_docs, N_WORDS, n_tokens=9)
    return (drawn, *shares_of(drawn.batch, seed))


@given(seed=st.integers(0, 10**6))
def test_sums_of_a_batch_are_those_of_dense_products(seed):
    drawn, found, dense = world(seed)
    zeros = DocumentCounts.zeros(N_WORDS, N_TOPICS)

    summed = zeros.sum_items(drawn.batch, found, SERIAL)

    np.testing.assert_array_equal(summed.table, drawn.counts.T @ dense)
    np.testing.assert_array_equal(summed.counts, dense.sum(axis=0))
    batch = zeros.sum_batch(DocumentItems(drawn.batch), found, SERIAL)
    words = np.repeat(batch.words, np.diff(batch.starts))
    np.testing.assert_array_equal(summed.table[words, batch.topics], batch.values)
    for first, last in zip(batch.starts[:-1], batch.starts[1:], strict=True):
        assert (np.diff(batch.topics[first:last].astype(int)) > 0).all()
    assert (np.diff(batch.words.astype(int)) > 0).all()


@given(seed=st.integers(0, 10**6))
def test_what_goes_out_leaves_nothing_behind(seed):
    """To the bit, in any order: no rounding piles up in the statistics."""
    drawn, found, _ = world(seed)
    rng = np.random.default_rng(seed)
    parts = [DocumentItems(drawn.batch.take(part)) for part in np.array_split(np.arange(40), 4)]
    rows = np.array_split(np.arange(40), 4)
    total = DocumentCounts.zeros(N_WORDS, N_TOPICS)
    batches = [total.sum_batch(p, found.take(r), SERIAL) for p, r in zip(parts, rows, strict=True)]

    for k in rng.permutation(4):
        total.add(batches[k])
    whole = total.accumulator()
    for k in rng.permutation(4):
        total.add(batches[k], -1.0)

    everything = whole.sum_items(drawn.batch, found, SERIAL)
    for mine, theirs in zip(whole, everything, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert not any(values.any() for values in total)


@pytest.mark.parametrize("numbers", [[0, 1, 1, -1, 2], [2, 1, 0, 4, 3], [-1] * 5, [0] * 5])
def test_renumbered_topics_add_up(numbers):
    drawn, found, dense = world(1)
    counts = DocumentCounts.zeros(N_WORDS, N_TOPICS).sum_items(drawn.batch, found, SERIAL)
    moved = np.zeros((40, 6))
    for topic, number in enumerate(numbers):
        if number >= 0:
            moved[:, number] += dense[:, topic]

    renumbered = counts.renumbered(np.array(numbers), 6)

    np.testing.assert_array_equal(renumbered.table, drawn.counts.T @ moved)
    np.testing.assert_array_equal(renumbered.counts, moved.sum(axis=0))


def test_topics_are_taken_joined_and_scaled():
    drawn, found, _ = world(2)
    counts = DocumentCounts.zeros(N_WORDS, N_TOPICS).sum_items(drawn.batch, found, SERIAL)

    joined = DocumentCounts.joined([counts.take(np.array([3])), counts.take(np.array([0, 1]))])
    doubled = counts.plus(counts)

    np.testing.assert_array_equal(joined.table, counts.table[:, [3, 0, 1]])
    np.testing.assert_array_equal(joined.counts, joined.sizes)
    np.testing.assert_array_equal(doubled.table, counts.scaled(2.0).table)
    np.testing.assert_array_equal(doubled.counts, 2.0 * counts.counts)
    np.testing.assert_array_equal(counts.scaled(2.0).counts, 2.0 * counts.counts)
    with_rest = counts.with_rest(doubled, 0.25)
    np.testing.assert_array_equal(with_rest.table, 1.5 * counts.table)
    np.testing.assert_array_equal(with_rest.counts, 1.5 * counts.counts)
    np.testing.assert_array_equal(counts.features, np.sqrt(counts.table.T.astype(np.float32)))
    assert joined.n_topics == 3


@pytest.mark.parametrize(
    "rows",
    [slice(3, 9), slice(0, 0), slice(30, 99), slice(8, 2), np.array([7, 0, 7]), slice(1, 9, 3)],
)
def test_documents_are_rows_like_those_of_an_array(rows):
    drawn = draw_documents(0, 40, N_WORDS)

    chosen = drawn.batch[rows]

    dense = np.zeros((chosen.n_docs, N_WORDS), int)
    owners = np.repeat(np.arange(chosen.n_docs), np.diff(chosen.indptr))
    dense[owners, chosen.word_ids] = chosen.word_counts
    np.testing.assert_array_equal(dense, drawn.counts[rows])
    assert chosen.indptr[0] == 0
    assert len(chosen) == chosen.n_docs == len(drawn.counts[rows])


@pytest.mark.parametrize("kind", [DocumentItems, lambda batch: batch])
def test_assignments_come_back_from_their_arrays_as_what_they_were(kind):
    """Documents of topics and documents of one component are stored apart."""
    drawn, found, _ = world(3)
    documents = kind(drawn.batch)

    back = Assignments.from_arrays(Assignments(documents, found).to_arrays())

    assert type(back.documents) is type(documents)
    values: DocumentBatch = back.documents.values
    np.testing.assert_array_equal(values.word_ids, drawn.batch.word_ids)
    np.testing.assert_array_equal(back.documents.indptr, documents.indptr)


def test_items_are_taken_and_joined():
    drawn = draw_documents(0, 40, N_WORDS)
    items = DocumentItems(drawn.batch)

    joined = DocumentItems.joined([items.take(np.array([5, 2])), items.take(np.array([9]))])

    np.testing.assert_array_equal(joined.values.word_ids, drawn.batch[np.array([5, 2, 9])].word_ids)
    np.testing.assert_array_equal(joined.indptr, [0, 1, 2, 3])
    np.testing.assert_array_equal(joined.weights, [1.0, 1.0, 1.0])
