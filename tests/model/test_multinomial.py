"""The likelihood of documents of one component, against definitions in plain numpy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference_gaussian
import reference_multinomial as reference
from sparsetopics.execution.executors import Executor
from sparsetopics.model.item_assignment import assign
from sparsetopics.model.likelihoods.multinomial import Multinomial, word_log_densities
from worlds.dense_responsibilities import dense_of
from worlds.document_mixtures import draw_documents
from worlds.gaussian_worlds import draw_shares, sparse
from worlds.simulated_documents import batch_of_counts

N_DOCS, N_WORDS, N_TOPICS, ETA = 20, 9, 4, 0.3
SERIAL = Executor()
PRIOR = Multinomial(N_WORDS, ETA)


class World:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.drawn = draw_documents(seed, N_DOCS, N_WORDS, n_kinds=3, n_tokens=6)
        self.shares = draw_shares(N_DOCS, N_TOPICS, self.rng)
        self.components = self.sums(self.shares)

    def sums(self, shares):
        zeros = PRIOR.zeros(shares.shape[1])
        return zeros.sum_items(self.drawn.batch, sparse(shares), SERIAL)


@given(seed=st.integers(0, 10**6))
def test_log_evidence_of_whole_documents_is_that_of_the_chain(seed):
    drawn = draw_documents(seed, 6, N_WORDS, n_tokens=4)
    everything = PRIOR.zeros(1).sum_items(drawn.batch, sparse(np.ones((6, 1))), SERIAL)

    found = PRIOR.log_evidence(everything)[0]

    assert found == pytest.approx(reference.log_evidence_by_chain(drawn.counts, ETA), rel=1e-9)


@given(seed=st.integers(0, 10**6))
def test_the_bound_is_its_definition_under_any_posterior(seed):
    world = World(seed)
    others = world.sums(draw_shares(N_DOCS, N_TOPICS, world.rng))

    at_optimum = PRIOR.elbo(world.components, world.components)
    elsewhere = PRIOR.elbo(world.components, others)

    exact = reference.elbo_of_words(world.drawn.counts, world.shares, ETA)
    assert at_optimum == pytest.approx(exact, rel=1e-9)
    assert at_optimum == pytest.approx(PRIOR.log_evidence(world.components).sum(), rel=1e-12)
    assert elsewhere <= at_optimum + 1e-9


@given(seed=st.integers(0, 10**6), sparsity=st.integers(1, N_TOPICS))
def test_responsibilities_are_the_best_of_their_sparsity(seed, sparsity):
    world = World(seed)
    weights = np.log(world.rng.dirichlet(np.ones(N_TOPICS)))

    scorer = PRIOR.prepare(world.components)
    found, log_totals = assign(world.drawn.batch, scorer, weights, sparsity, SERIAL)

    logs = reference.expected_logs(world.drawn.counts, world.shares, ETA)
    dense = np.array([weights + reference.log_density(row, logs) for row in world.drawn.counts])
    expected = reference_gaussian.top_shares(dense, sparsity)
    np.testing.assert_allclose(dense_of(found, N_TOPICS), expected, rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(
        log_totals, reference_gaussian.log_totals(dense, sparsity), rtol=1e-5
    )


def test_long_documents_lose_no_digits():
    """Of 10⁶ tokens float32 sums would be off by whole nats."""
    counts = np.array([[600_000, 400_000], [400_001, 599_999]])
    logs = np.log(np.array([[0.5, 0.500001], [0.5, 0.499999]])).astype(np.float32)

    found = word_log_densities(logs, batch_of_counts(counts))

    exact = counts @ logs.astype(float)
    np.testing.assert_allclose(found, exact, rtol=1e-13)


@given(seed=st.integers(0, 10**6))
def test_merge_gains_are_those_of_recomputation(seed):
    world = World(seed)
    pairs = np.array([(a, b) for a in range(N_TOPICS) for b in range(a + 1, N_TOPICS)])

    gains = PRIOR.merge_gains(world.components, pairs)

    before = PRIOR.log_evidence(world.components).sum()
    for gain, (a, b) in zip(gains, pairs, strict=True):
        together = world.shares.copy()
        together[:, a] += together[:, b]
        after = PRIOR.log_evidence(world.sums(np.delete(together, b, axis=1))).sum()
        assert gain == pytest.approx(after - before, rel=1e-7, abs=1e-7)


def test_posterior_and_its_mean_follow_from_the_counts():
    world = World(0)

    posterior = PRIOR.posterior(world.components)
    back = PRIOR.components_of(posterior)
    log_densities = PRIOR.predictive(world.components)(world.drawn.batch)

    expected = world.shares.T @ world.drawn.counts + ETA
    np.testing.assert_allclose(posterior.topic_word_posterior, expected, rtol=1e-12)
    np.testing.assert_allclose(back.table, world.components.table, atol=1e-12)
    logs = np.log(expected / expected.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(log_densities, world.drawn.counts @ logs.T, rtol=1e-5)


@pytest.mark.parametrize("seed", range(2))
def test_distant_seeds_are_of_many_kinds_though_drawn(seed):
    drawn = draw_documents(seed, 200, n_kinds=6)
    prior, rng = Multinomial(30, 0.1), np.random.default_rng(seed)

    far = [np.unique(drawn.kinds[prior.distant_seeds(drawn.batch, 6, rng)]) for _ in range(20)]
    even = [np.unique(drawn.kinds[rng.permutation(200)[:6]]) for _ in range(20)]

    assert np.mean([len(kinds) for kinds in far]) > np.mean([len(kinds) for kinds in even])


def test_no_document_is_two_seeds_and_none_without_words_is_one():
    counts = np.array([[2, 0, 1], [0, 0, 0], [2, 0, 1], [0, 3, 0]])

    seeds = Multinomial(3, 0.1).distant_seeds(batch_of_counts(counts), 4, np.random.default_rng(0))

    assert len(np.unique(seeds)) == len(seeds) >= 2
    assert 1 not in seeds


def test_a_start_leans_to_its_document_and_holds_an_even_share():
    drawn = draw_documents(0, 40, N_WORDS)
    seeds = np.array([4, 17])

    alone = PRIOR.alone(drawn.batch, seeds)

    np.testing.assert_allclose(alone.counts, [20, 20])
    np.testing.assert_allclose(alone.table.sum(axis=0), drawn.counts.sum() / 2)
    background = drawn.counts.sum(axis=0) / drawn.counts.sum()
    for k, seed in enumerate(seeds):
        own = drawn.counts[seed] / drawn.counts[seed].sum()
        lean = alone.table[:, k] / alone.table[:, k].sum() - background
        assert np.corrcoef(lean, own - background)[0, 1] > 0.999
