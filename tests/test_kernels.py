"""The compiled document step against its plain twin, and the laws it must keep."""

import itertools
from typing import NamedTuple

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsetopics.kernels.documents import fit_block, infer_block
from sparsetopics.kernels.special import digamma
from sparsetopics.kernels.types import Schedule
from sparsetopics.kernels.words import collapsed_weights, top_topics
from sparsetopics.model.document_topics import DocumentTopics

from reference import dense_from_slots, document_score, fit_document, only_largest
from reference import top_topics as plain_top_topics


class Documents(NamedTuple):
    indptr: np.ndarray
    words: np.ndarray
    counts: np.ndarray
    weights: np.ndarray
    prior: np.ndarray

    def rows(self, d):
        return slice(self.indptr[d], self.indptr[d + 1])


class Fit(NamedTuple):
    topics: np.ndarray
    shares: np.ndarray
    tallies: np.ndarray

    def dense(self, n_topics):
        return dense_from_slots(self.topics, self.shares, n_topics)


def make_documents(
    seed, lengths=(7, 1, 0, 12), n_words=15, n_topics=6, largest=9, prior=0.1, tied=False
):
    rng = np.random.default_rng(seed)
    indptr = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    words = [np.sort(rng.choice(n_words, length, replace=False)) for length in lengths]
    counts = np.floor(largest ** rng.random(indptr[-1])).astype(float)
    weights = rng.gamma(0.5, 1.0, (n_words, n_topics)) + 1e-3
    if tied:
        weights = rng.integers(1, 3, (n_words, n_topics)).astype(float)
    return Documents(
        indptr,
        np.concatenate(words).astype(np.uint32),
        counts,
        weights.astype(np.float32),
        np.full(n_topics, prior) * (1.0 if tied else rng.uniform(0.9, 1.1, n_topics)),
    )


def first_topics_of(weights, n_slots):
    topics = np.zeros((len(weights), n_slots), np.uint32)
    top_topics(weights, topics)
    return topics


def fit(documents, n_slots, schedule, former=None, n_first=None):
    result = Fit(
        np.full((len(documents.words), n_slots), 99, np.uint32),
        np.full((len(documents.words), n_slots), np.nan),
        np.zeros(3, np.int64),
    )
    first_topics = first_topics_of(documents.weights, n_first or n_slots)
    former = former or DocumentTopics.unknown(len(documents.indptr) - 1)
    fit_block(
        documents.indptr, documents.words, documents.counts, documents.weights, first_topics,
        documents.prior, schedule, *former, *result,
    )  # fmt: skip
    return result


def infer(documents, schedule, n_slots):
    n_topics = len(documents.prior)
    counts = np.full((len(documents.indptr) - 1, n_topics), np.nan)
    first_topics = first_topics_of(documents.weights, n_slots)
    infer_block(
        documents.indptr, documents.words, documents.counts, documents.weights, first_topics,
        documents.prior, schedule, counts,
    )  # fmt: skip
    return counts


def schedule(collapsed, iterations=30, restarts=0, minimum_mass=1e-8, tolerance=0.0):
    return Schedule(collapsed, iterations, tolerance, restarts, 2, minimum_mass)


worlds = st.builds(
    make_documents,
    st.integers(0, 10_000),
    lengths=st.lists(st.integers(0, 12), min_size=1, max_size=5),
    n_topics=st.integers(1, 9),
    largest=st.sampled_from([1, 4, 1_000_000]),
    prior=st.sampled_from([1e-8, 0.005, 0.3, 4.0]),
)
updates = pytest.mark.parametrize("collapsed", [False, True], ids=["mean-field", "collapsed"])


@updates
@given(worlds, st.data())
def test_step_equals_plain_twin(collapsed, documents, data):
    n_topics = len(documents.prior)
    n_slots = data.draw(st.integers(1, n_topics))
    iterations, minimum_mass = data.draw(st.integers(1, 4)), data.draw(st.sampled_from([1e-8, 0.7]))
    share = data.draw(st.sampled_from([0.05, 1.0]))
    plan = schedule(collapsed, iterations, minimum_mass=minimum_mass)._replace(largest_pruned=share)
    result = fit(documents, n_slots, plan)
    dense = result.dense(n_topics)
    inferred = infer(documents, plan, n_slots)
    for d in range(len(documents.indptr) - 1):
        rows = documents.rows(d)
        counts = documents.counts[rows]
        weights = documents.weights[documents.words[rows]].astype(float)
        shares = np.zeros_like(weights)
        if len(counts):
            shares, _ = fit_document(counts, weights, documents.prior, plan, n_slots)
        np.testing.assert_allclose(dense[rows], shares, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(inferred[d], counts @ dense[rows], rtol=1e-12, atol=1e-12)


def draw_former(data, documents):
    """N_k of earlier visits, dense and as the kernel takes them; some documents have none."""
    n_docs, n_topics = len(documents.indptr) - 1, len(documents.prior)
    rng = np.random.default_rng(data.draw(st.integers(0, 10_000)))
    dense = rng.gamma(1.0, 3.0, (n_docs, n_topics)).astype(np.float32)
    dense *= rng.random((n_docs, n_topics)) < data.draw(st.sampled_from([0.3, 1.0]))
    owners, topics = np.nonzero(dense)
    starts = np.searchsorted(owners, np.arange(n_docs + 1)).astype(np.int64)
    return dense, DocumentTopics(starts, topics.astype(np.uint32), dense[owners, topics])


@updates
@given(worlds, st.data())
def test_warm_step_equals_plain_twin(collapsed, documents, data):
    n_topics = len(documents.prior)
    n_slots = data.draw(st.integers(1, n_topics))
    iterations, minimum_mass = data.draw(st.integers(1, 4)), data.draw(st.sampled_from([1e-8, 0.7]))
    plan = schedule(collapsed, iterations, minimum_mass=minimum_mass)
    masses, former = draw_former(data, documents)
    dense = fit(documents, n_slots, plan, former).dense(n_topics)
    for d in range(len(documents.indptr) - 1):
        rows = documents.rows(d)
        if rows.start == rows.stop:
            continue
        known = masses[d].astype(float) if masses[d].any() else None
        weights = documents.weights[documents.words[rows]].astype(float)
        shares, _ = fit_document(
            documents.counts[rows], weights, documents.prior, plan, n_slots, known
        )
        np.testing.assert_allclose(dense[rows], shares, rtol=1e-6, atol=1e-9)


@updates
def test_the_largest_weight_of_a_word_is_enough_for_a_warm_start(collapsed):
    documents = make_documents(3)
    former = DocumentTopics(
        np.array([0, 2, 3, 3, 6]),
        np.array([0, 4, 5, 1, 2, 3], np.uint32),
        np.array([9, 4, 1, 12, 3, 5], np.float32),
    )
    plan = schedule(collapsed, 4, minimum_mass=0.7)
    wanted = fit(documents, 3, plan, former)
    for mine, theirs in zip(fit(documents, 3, plan, former, n_first=1), wanted, strict=True):
        np.testing.assert_array_equal(mine, theirs)


@given(worlds, st.data())
def test_a_warm_start_at_the_fixed_point_stays_there(documents, data):
    n_slots, n_topics = data.draw(st.integers(1, 3)), len(documents.prior)
    n_slots = min(n_slots, n_topics)
    settled = schedule(False, 3000, tolerance=1e-10)
    first = fit(documents, n_slots, settled).dense(n_topics)
    masses = np.array(
        [
            documents.counts[documents.rows(d)] @ first[documents.rows(d)]
            for d in range(len(documents.indptr) - 1)
        ]
    ).astype(np.float32)
    owners, topics = np.nonzero(masses)
    starts = np.searchsorted(owners, np.arange(len(masses) + 1)).astype(np.int64)
    former = DocumentTopics(starts, topics.astype(np.uint32), masses[owners, topics])
    again = fit(documents, n_slots, settled._replace(max_iterations=3), former).dense(n_topics)
    np.testing.assert_allclose(again, first, atol=1e-3)


@updates
@given(worlds, st.data())
def test_shares_add_up_over_distinct_slots(collapsed, documents, data):
    n_slots = data.draw(st.integers(1, len(documents.prior)))
    result = fit(documents, n_slots, schedule(collapsed, minimum_mass=0.5, tolerance=0.05))
    np.testing.assert_allclose(result.shares.sum(axis=1), 1.0, rtol=1e-12)
    assert (result.shares >= 0).all()
    assert (result.topics < len(documents.prior)).all()
    for topics, shares in zip(result.topics, result.shares, strict=True):
        used = topics[shares > 0]
        assert len(np.unique(used)) == len(used)


@updates
@pytest.mark.parametrize("n_slots", range(1, 7))
def test_ties_go_to_the_lower_topic(collapsed, n_slots):
    for seed in range(5):
        documents = make_documents(seed, tied=True)
        dense = fit(documents, n_slots, schedule(collapsed, 1)).dense(6)
        for d in (0, 1, 3):
            rows = documents.rows(d)
            weights = documents.weights[documents.words[rows]].astype(float)
            shares, _ = fit_document(
                documents.counts[rows], weights, documents.prior, schedule(collapsed, 1), n_slots
            )
            np.testing.assert_allclose(dense[rows], shares, atol=1e-12)


@updates
def test_order_of_topics_does_not_matter(collapsed):
    documents = make_documents(5, lengths=(9, 12), n_topics=12)
    order = np.random.default_rng(0).permutation(12)
    permuted = documents._replace(
        weights=np.ascontiguousarray(documents.weights[:, order]), prior=documents.prior[order]
    )
    plan = schedule(collapsed, minimum_mass=0.3)
    before, after = fit(documents, 3, plan).dense(12), fit(permuted, 3, plan).dense(12)
    np.testing.assert_allclose(after, before[:, order], rtol=1e-9, atol=1e-12)


@updates
def test_documents_do_not_touch_each_other(collapsed):
    documents = make_documents(6, lengths=(12, 5, 0, 9))
    plan = schedule(collapsed, restarts=0 if collapsed else 3)
    together = infer(documents, plan, 3)
    for d in range(4):
        rows = documents.rows(d)
        alone = documents._replace(
            indptr=documents.indptr[d : d + 2] - documents.indptr[d],
            words=documents.words[rows],
            counts=documents.counts[rows],
        )
        assert np.array_equal(infer(alone, plan, 3)[0], together[d])


def test_dense_step_converges_to_the_plain_fixed_point():
    documents = make_documents(7, lengths=(40,), n_words=60, n_topics=20, prior=0.2)
    found = infer(documents, schedule(False, 2000, tolerance=1e-11), 20)[0]
    weights = documents.weights[documents.words].astype(float)
    shares, _ = fit_document(
        documents.counts, weights, documents.prior, schedule(False, 2000, tolerance=1e-11), 20
    )
    np.testing.assert_allclose(found, documents.counts @ shares, rtol=1e-6, atol=1e-8)


def scores(documents, n_slots, plan):
    dense = fit(documents, n_slots, plan).dense(len(documents.prior))
    for d in range(len(documents.indptr) - 1):
        rows = documents.rows(d)
        weights = documents.weights[documents.words[rows]].astype(float)
        yield document_score(documents.counts[rows], weights, documents.prior, dense[rows])


@given(worlds, st.data())
def test_mean_field_never_lowers_the_document_score(documents, data):
    n_topics = len(documents.prior)
    n_slots = data.draw(st.sampled_from([n_topics, max(1, n_topics // 2)]))
    by_iteration = [
        list(scores(documents, n_slots, schedule(False, iterations, minimum_mass=0.0)))
        for iterations in range(1, 13)
    ]
    change = np.diff(by_iteration, axis=0)
    assert (change >= -1e-9 * (1 + np.abs(by_iteration[0]))).all()


@given(worlds, st.data())
def test_restarts_never_lower_the_document_score(documents, data):
    n_slots = data.draw(st.integers(1, len(documents.prior)))
    without = np.array(list(scores(documents, n_slots, schedule(False, 11))))
    with_restarts = np.array(list(scores(documents, n_slots, schedule(False, 11, restarts=5))))
    assert (with_restarts >= without - 1e-9 * (1 + np.abs(without))).all()


def test_a_restart_finds_the_better_optimum():
    """One of two equal topics explains all words nearly as well: a single topic is better."""
    weights = np.array([[1.0, 0.9], [0.9, 1.0], [1.0, 0.95]], np.float32)
    documents = Documents(
        np.array([0, 3]), np.arange(3, dtype=np.uint32), np.array([4.0, 4.0, 1.0]), weights,
        np.full(2, 0.01),
    )  # fmt: skip
    few = schedule(False, 2)
    result = fit(documents, 2, few._replace(restarts=1))
    assert result.tallies[:2].tolist() == [1, 1]
    assert next(scores(documents, 2, few._replace(restarts=1))) > next(scores(documents, 2, few))


def test_sparse_choice_is_the_best_of_all_supports():
    """Σ r (W − log r) over every support of size L (SPARSE16): the top L, softmaxed, wins."""
    rng = np.random.default_rng(8)
    for _ in range(20):
        weights = rng.gamma(0.5, 1.0, 6).astype(np.float32)
        for n_slots in range(1, 7):
            value = {
                support: np.log(weights[list(support)].astype(float).sum())
                for support in itertools.combinations(range(6), n_slots)
            }
            chosen = np.flatnonzero(only_largest(weights[None].astype(float), n_slots)[0])
            assert tuple(chosen) == max(value, key=value.get)
            found = first_topics_of(weights[None], n_slots)[0]
            assert set(found) == set(chosen)


@given(st.integers(0, 1000), st.integers(1, 9), st.booleans())
def test_top_topics_equal_a_stable_sort(seed, n_topics, tied):
    rng = np.random.default_rng(seed)
    weights = rng.random((8, n_topics)) if not tied else rng.integers(0, 3, (8, n_topics))
    weights = weights.astype(np.float32)
    for n_slots in range(1, n_topics + 1):
        expected = plain_top_topics(weights, n_slots)
        assert np.array_equal(first_topics_of(weights, n_slots), expected)


def test_collapsed_weights_are_posterior_means():
    counts = np.random.default_rng(9).gamma(0.3, 1.0, (5, 4))
    totals = counts.sum(axis=0) + 5 * 0.1
    weights = np.zeros((5, 4), np.float32)
    collapsed_weights(counts, 1 / totals, 0.1, weights)
    np.testing.assert_allclose(weights, (counts + 0.1) / totals, rtol=1e-6)


def test_digamma_equals_mpmath():
    with mpmath.workdps(40):
        for x in 10.0 ** np.linspace(-8, 8, 161):
            expected = float(mpmath.psi(0, mpmath.mpf(float(x))))
            assert digamma(float(x)) == pytest.approx(expected, rel=1e-12, abs=1e-13)
