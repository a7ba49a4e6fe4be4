"""What merging two topics changes, against brute force over all pairs."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import gammaln, psi

from reference_lda import log_beta
from sparsetopics.kernels.pairs import (
    add_assignment_pair_gains,
    add_document_pair_gains,
    add_word_gains,
    word_gamma_changes,
    word_gamma_sums,
    word_pair_gains,
)
from sparsetopics.kernels.summaries import doc_topic_counts
from sparsetopics.kernels.types import SparseShares
from sparsetopics.model.allocations.pair_gains import document_pair_gains
from sparsetopics.model.assignments import Assignments
from sparsetopics.model.likelihoods.words import evidence_by_topic
from worlds.sparse_worlds import make_world, worlds

counts_of_words = st.builds(
    lambda seed, n_words, n_topics, share: sparse_counts(seed, n_words, n_topics, share),
    st.integers(0, 10_000),
    st.integers(1, 9),
    st.integers(1, 7),
    st.sampled_from([0.0, 0.3, 1.0]),
)
concentrations = st.sampled_from([1e-6, 0.1, 7.0])


def sparse_counts(seed, n_words, n_topics, share):
    rng = np.random.default_rng(seed)
    counts = rng.gamma(0.5, 20.0, (n_words, n_topics))
    return counts * (rng.random(counts.shape) < share)


def evidence_of(counts, eta):
    """log M of each column."""
    return log_beta(counts.T + eta, axis=1) - log_beta(np.full(len(counts), eta))


def merged(values, a, b):
    """Column a takes b's, which goes."""
    together = values.copy()
    together[:, a] += together[:, b]
    return np.delete(together, b, axis=1)


def assert_gains(found, expected_of_pair):
    """Every entry above the diagonal, and nothing elsewhere."""
    n_topics = len(found)
    assert not np.tril(found).any()
    for a, b in itertools.combinations(range(n_topics), 2):
        assert found[a, b] == pytest.approx(expected_of_pair(a, b), rel=1e-8, abs=1e-8), (a, b)


@given(counts=counts_of_words, eta=concentrations)
def test_evidence_of_topics_is_the_normalizers_ratio(counts, eta):
    np.testing.assert_allclose(
        evidence_by_topic(counts, eta), evidence_of(counts, eta), rtol=1e-10, atol=1e-8
    )


@given(counts=counts_of_words, eta=concentrations, seed=st.integers(0, 1_000))
def test_changes_of_sums_are_what_the_sums_differ_by(counts, eta, seed):
    rng = np.random.default_rng(seed)
    differs = rng.random(counts.shape) < 0.5
    after = np.where(differs, rng.gamma(0.5, 20.0, counts.shape), counts)

    words = rng.permutation(len(counts))[: rng.integers(len(counts)) + 1].astype(np.uint32)
    topics = rng.permutation(counts.shape[1])[: rng.integers(counts.shape[1]) + 1]
    block = np.ix_(words, topics)

    found = word_gamma_changes(counts, words, topics, after[block], eta)

    expected = word_gamma_sums(after[block], eta) - word_gamma_sums(counts[block], eta)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-8)
    assert not found[~differs[block].any(axis=0)].any()


@given(counts=counts_of_words, eta=concentrations)
def test_word_gains_equal_those_of_all_pairs(counts, eta):
    whole = evidence_of(counts, eta).sum()
    n_topics = counts.shape[1]
    pairs = np.array(list(itertools.combinations(range(n_topics), 2)), np.int64).reshape(-1, 2)
    gains = np.zeros((n_topics, n_topics))

    gains[pairs[:, 0], pairs[:, 1]] = word_pair_gains(np.ascontiguousarray(counts.T), pairs, eta)

    assert_gains(
        gains,
        lambda a, b: evidence_of(merged(counts, a, b), eta).sum() - whole,
    )


def as_sparse(counts):
    starts = np.concatenate(([0], np.cumsum((counts > 0).sum(axis=1))))
    words, topics = np.nonzero(counts)
    return SparseShares(starts, topics.astype(np.uint32), counts[words, topics].astype(np.float32))


@given(counts=counts_of_words, eta=concentrations, is_new=st.lists(st.booleans(), min_size=7))
def test_word_gains_are_those_of_pairs_with_a_new_topic(counts, eta, is_new):
    counts = np.round(counts) + 0.25 * (counts > 0)  # so that float32 holds them exactly
    n_topics = counts.shape[1]
    new = np.array(is_new[:n_topics])
    gains = np.zeros((n_topics, n_topics))

    add_word_gains(as_sparse(counts), new, eta, gains)

    def sums(values):
        return (gammaln(values + eta) - gammaln(eta)).sum()

    for a, b in itertools.combinations(range(n_topics), 2):
        first, second = counts[:, a], counts[:, b]
        expected = sums(first + second) - sums(first) - sums(second) if new[a] or new[b] else 0.0
        assert gains[a, b] + gains[b, a] == pytest.approx(expected, rel=1e-8, abs=1e-7), (a, b)
        assert gains[a, b] == 0.0 or gains[b, a] == 0.0


def entropy_of(world, dense):
    logs = np.log(np.where(dense > 0, dense, 1.0))
    return -(world.counts[:, None] * dense * logs).sum()


@given(world=worlds)
def test_assignment_gains_equal_those_of_all_pairs(world):
    gains = np.zeros((world.n_topics, world.n_topics))
    whole = entropy_of(world, world.dense)

    add_assignment_pair_gains(world.counts, world.sparse, gains)

    scale = max(1.0, world.counts.sum())
    assert_gains(
        gains / scale,
        lambda a, b: (entropy_of(world, merged(world.dense, a, b)) - whole) / scale,
    )
    assert (gains <= 1e-12 * scale).all()  # the entropy of a coarser choice is never the larger


@given(world=worlds)
def test_document_gains_equal_those_of_all_pairs(world):
    gains = np.zeros((world.n_topics, world.n_topics))
    shared = np.zeros_like(gains)
    in_documents = doc_topic_counts(world.batch.indptr, world.counts, world.sparse, world.n_topics)

    add_document_pair_gains(*in_documents, world.prior, gains, shared)

    mass, prior = world.doc_topic_counts(), world.prior

    def expected(a, b):
        both = (mass[:, a] > 0) & (mass[:, b] > 0)
        first, second = mass[both, a] + prior[a], mass[both, b] + prior[b]
        change = gammaln(first + second) - gammaln(first) - gammaln(second)
        return (change - prior[b] * psi(first) - prior[a] * psi(second)).sum()

    scale = max(1.0, np.abs(gains).max())
    assert_gains(gains / scale, lambda a, b: expected(a, b) / scale)
    assert_gains(shared, lambda a, b: ((mass[:, a] > 0) & (mass[:, b] > 0)).sum())


@pytest.mark.parametrize("seed", range(3))
def test_gains_of_a_collection_are_those_of_its_parts(seed):
    """Exact where documents use both topics, to first order in α where they use one of them."""
    world = make_world(seed, lengths=(5, 0, 2, 1, 1, 4), n_topics=5)
    parts = np.array_split(np.arange(world.batch.n_docs), 2)
    whole = Assignments(world.batch, world.sparse)
    n_docs, prior = world.batch.n_docs, np.append(world.prior, 0.2)  # nobody uses the last topic
    mass = np.pad(world.doc_topic_counts(), ((0, 0), (0, 1)))
    dense = np.pad(world.dense, ((0, 0), (0, 1)))

    gains, together = document_pair_gains(map(whole.take, parts), float(n_docs), prior)

    for a, b in itertools.combinations(range(6), 2):
        expected = entropy_of(world, merged(dense, a, b)) - entropy_of(world, dense)
        expected += n_docs * np.log((prior[a] + prior[b]) / (prior[a] * prior[b]))
        n_both = 0
        for first, second in mass[:, [a, b]]:
            theta, other = first + prior[a], second + prior[b]
            if first > 0 and second > 0:
                n_both += 1
                expected += gammaln(theta + other) - gammaln(theta) - gammaln(other)
            elif first > 0:
                expected += prior[b] * psi(theta) - gammaln(prior[b])
            elif second > 0:
                expected += prior[a] * psi(other) - gammaln(prior[a])
            else:
                expected += gammaln(prior[a] + prior[b]) - gammaln(prior[a]) - gammaln(prior[b])
        assert gains[a, b] == pytest.approx(expected, rel=1e-6, abs=1e-6), (a, b)
        users = np.maximum((mass[:, [a, b]] > 0).sum(axis=0), 1)
        cosine = n_both / np.sqrt(users.prod())
        assert together[a, b] == together[b, a] == pytest.approx(cosine, rel=1e-12)


@given(world=worlds)
def test_gains_are_added_to_what_is_there(world):
    once, twice = (np.zeros((world.n_topics, world.n_topics)) for _ in range(2))

    add_assignment_pair_gains(world.counts, world.sparse, once)
    for _ in range(2):
        add_assignment_pair_gains(world.counts, world.sparse, twice)

    np.testing.assert_allclose(twice, 2 * once, rtol=1e-12)
