"""Sums of word counts are exact: a batch that is taken out leaves no trace."""

from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsetopics.execution.executors import Executor
from sparsetopics.inference.training import train
from sparsetopics.model.responsibilities import Responsibilities
from sparsetopics.model.word_counts import PairCounts, WordCounts
from sparsetopics.options.table import OwnCounts
from sparsetopics.options.training import LocalOptions, TrainingOptions
from worlds.bars import ten_bars
from worlds.dense_responsibilities import dense_of
from worlds.simulated_documents import as_source, batch_of_counts, simulate
from worlds.word_models import without_shares

N_WORDS, N_TOPICS, ONE = 9, 4, 2**20


class Watcher:
    """A keeper that keeps the state after each lap, and nothing on disk."""

    def __init__(self):
        self.states = []

    def resume(self, source, memo, check):
        return None

    def keep(self, progress, memo):
        self.states.append(progress.learner)


def states_of(source, options, folder, seed):
    watcher, rng = Watcher(), np.random.default_rng(seed)
    train(source, options, folder, Executor(), rng, keeper=watcher)
    return watcher.states


def sum_of_batches(state):
    """The word counts of all batches from their assignments, (n_words, n_topics)."""
    table = np.zeros_like(state.total.components.table)
    for batch_id in state.per_batch:
        documents, found = state.assignments(batch_id)
        dense = dense_of(found, table.shape[1])
        np.add.at(table, documents.word_ids, documents.weights[:, None] * dense)
    return table


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(
    "local",
    [LocalOptions("mean-field"), *(LocalOptions(own_counts=own) for own in get_args(OwnCounts))],
    ids=["mean-field", *get_args(OwnCounts)],
)
def test_nothing_is_left_of_former_visits(tmp_path, local, seed):
    batch = simulate(np.random.default_rng(seed), n_docs=60, n_words=40, n_tokens=70)
    options = TrainingOptions(6, 6, local=local, batches_per_round=1 + seed % 2)
    states = states_of(as_source(batch, 40, 4), options, tmp_path, seed)
    assert len(states) == 6
    for state in states:
        np.testing.assert_array_equal(state.total.components.table - sum_of_batches(state), 0.0)


def test_nothing_is_left_of_former_visits_after_moves(tmp_path):
    source = ten_bars(np.random.default_rng(0), n_docs=120, n_tokens=80).source(5)
    states = states_of(source, TrainingOptions(10, 8, model="hdp"), tmp_path, 0)
    assert len({state.total.components.n_topics for state in states}) > 2
    for state in states:
        np.testing.assert_array_equal(state.total.components.table - sum_of_batches(state), 0.0)


def test_fractional_counts_leave_hardly_a_trace(tmp_path):
    rng = np.random.default_rng(1)
    counts = rng.gamma(0.3, 2.0, (60, 40)) * (rng.random((60, 40)) < 0.4)
    source = as_source(batch_of_counts(counts), 40, 4)
    for state in states_of(source, TrainingOptions(6, 6), tmp_path, 0):
        table, expected = state.total.components.table, sum_of_batches(state)
        assert table.min() >= 0.0
        np.testing.assert_allclose(table, expected, rtol=1e-12, atol=1e-12 * expected.max())


def draw_pairs(rng, n_pairs, tokens):
    quanta = rng.multinomial(ONE, np.full(N_TOPICS, 1 / N_TOPICS), n_pairs)
    quanta[:, 0] += quanta[:, 1]
    quanta[:, 1] = 0
    starts = 3 * np.arange(n_pairs + 1)
    topics = np.tile(np.array([0, 2, 3], np.uint32), n_pairs)
    shares = (quanta[:, [0, 2, 3]] / ONE).astype(np.float32).ravel()
    words = rng.integers(0, N_WORDS, n_pairs).astype(np.int32)
    return PairCounts(words, tokens, *Responsibilities(starts, topics, shares)), quanta


def permuted(pairs, order):
    found = Responsibilities(*pairs.responsibilities).take(order)
    return PairCounts(pairs.words[order], pairs.tokens[order], *found)


@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.sampled_from([1, 9, 2**28]))
def test_the_order_of_pairs_does_not_matter_to_the_last_bit(seed, n_pairs, largest):
    rng = np.random.default_rng(seed)
    tokens = rng.integers(1, largest + 1, n_pairs).astype(np.uint32)
    pairs, quanta = draw_pairs(rng, n_pairs, tokens)
    expected = np.zeros((N_WORDS, N_TOPICS), object)  # whole numbers of any size
    for word, count, row in zip(pairs.words, tokens.tolist(), quanta.tolist(), strict=True):
        expected[word] += [count * quantum for quantum in row]

    counts = WordCounts.zeros(N_WORDS, N_TOPICS).accumulator()
    counts.add(pairs)
    assert (counts.table * ONE).astype(object).tolist() == expected.tolist()

    again = WordCounts.zeros(N_WORDS, N_TOPICS).accumulator()
    again.add(permuted(pairs, rng.permutation(n_pairs)))
    np.testing.assert_array_equal(again.table, counts.table)
    np.testing.assert_array_equal(again.sizes, counts.sizes)

    pairs = permuted(pairs, rng.permutation(n_pairs))
    again.exchange(without_shares(pairs), pairs, Executor())
    assert not again.table.any()
    assert not again.sizes.any()
