"""The compiled document step against its plain twin, and the laws it must keep."""

import itertools
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference_lda import mean_field
from sparsetopics.base.batches import DocumentBatch
from sparsetopics.kernels.documents import fit_block
from sparsetopics.kernels.types import Lists, Schedule, SparseShares, Weights
from sparsetopics.kernels.words import fill_lists
from sparsetopics.model.responsibilities import DocumentTopics, Responsibilities
from worlds.dense_responsibilities import dense_of, sparse_of
from worlds.sparse_worlds import shuffled_rows

from reference import (
    ONE,
    best_topics,
    document_score,
    fit_document,
    gauss_seidel,
    weights_without_own,
)

F = np.float32
# What rounding to quanta may take from a document's score, in nats per token and slot. Shares move
# by about half a quantum each. They were the best for the N_k before, where the score is flat, and
# since then E[log π_dk] has changed by less than two.
ROUNDING = 1.0 / ONE


class Documents(NamedTuple):
    indptr: np.ndarray
    words: np.ndarray
    counts: np.ndarray
    weights: Weights
    prior: np.ndarray

    @property
    def n_docs(self):
        return len(self.indptr) - 1

    @property
    def n_topics(self):
        return len(self.prior)

    @property
    def dense_weights(self):
        """(n_words, n_topics) in float32"""
        table, eta, inverse_totals = self.weights
        return ((table + eta) * inverse_totals).astype(F)

    def rows(self, d):
        return slice(self.indptr[d], self.indptr[d + 1])

    def of(self, d):
        """Counts and weights of one document, as the twin takes them."""
        rows = self.rows(d)
        return self.counts[rows], self.dense_weights[self.words[rows]]

    def without_own(self, d, own, share):
        """The weights of one document without a share of its own counts, as the twin has them."""
        rows, mine = self.rows(d), dense_of(own, self.n_topics)[self.rows(d)]
        return weights_without_own(self.words[rows], self.counts[rows], self.weights, mine, share)


class Found(NamedTuple):
    shares: SparseShares
    topics: SparseShares
    tallies: np.ndarray


COUNTS = {
    "ones": lambda rng, n: np.ones(n),
    "whole": lambda rng, n: np.floor(9 ** rng.random(n)),
    "large": lambda rng, n: np.floor((2.0**31) ** rng.random(n)),
    "fractions": lambda rng, n: rng.gamma(0.3, 3.0, n) + 1e-3,
    "tiny": lambda rng, n: 1e-30 * rng.integers(1, 9, n),
    "least": lambda rng, n: 1e-45 * rng.integers(1, 9, n),
    "mixed": lambda rng, n: 10.0 ** rng.uniform(-30, 9, n),
}


def make_documents(
    seed,
    lengths=(7, 1, 0, 12),
    n_words=40,
    n_topics=6,
    counts="whole",
    prior=0.1,
    tied=False,
    unexplained=0.0,
):
    """Weights of ``tied`` worlds are 1 or 2; those of unexplained words are 0."""
    rng = np.random.default_rng(seed)
    indptr = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    words = [np.sort(rng.choice(n_words, length, replace=False)) for length in lengths]
    table = rng.gamma(0.3, 3.0, (n_words, n_topics))
    inverse_totals = 1 / (table.sum(axis=0) + 0.01 * n_words)
    if tied:
        table = rng.integers(1, 3, (n_words, n_topics)).astype(float)
        inverse_totals[:] = 0.125
    table[rng.random(n_words) < unexplained] = 0.0
    return Documents(
        indptr,
        np.concatenate(words).astype(np.int32),
        COUNTS[counts](rng, indptr[-1]).astype(F).astype(float),
        Weights(table, 0.0 if tied or unexplained else 0.01, inverse_totals),
        np.full(n_topics, prior) * (1.0 if tied else rng.uniform(0.9, 1.1, n_topics)),
    )


def lists_of(documents, n_slots):
    shape = len(documents.weights.table), n_slots
    lists = Lists(np.full(shape, 99, np.uint32), np.full(shape, np.nan, F))
    fill_lists(np.arange(shape[0], dtype=np.uint32), documents.weights, lists)
    return lists


def no_lists():
    return Lists(np.zeros((0, 1), np.uint32), np.zeros((0, 1), F))


NO_COUNTS = np.empty((0, 0))
NO_SHARES = SparseShares(*Responsibilities.unknown(0))


def fit(documents, n_slots, plan, former=None, counts=NO_COUNTS, own=NO_SHARES):
    tallies = np.zeros(3, np.int64)
    former = former or DocumentTopics.unknown(documents.n_docs)
    found = fit_block(
        documents.indptr, documents.words, documents.counts, documents.weights,
        lists_of(documents, n_slots), documents.prior, plan, SparseShares(*former), own, n_slots,
        tallies, counts,
    )  # fmt: skip
    return Found(*found, tallies)


def infer(documents, plan, n_slots):
    counts = np.zeros((documents.n_docs, documents.n_topics))
    fit(documents, n_slots, plan, counts=counts)
    return counts


def schedule(collapsed, iterations=30, restarts=0, minimum_mass=1e-8, tolerance=0.0, momentum=0.7):
    return Schedule(
        collapsed, iterations, tolerance, restarts, 2, minimum_mass,
        momentum=momentum if collapsed else 0.0,
    )  # fmt: skip


worlds = st.builds(
    make_documents,
    st.integers(0, 10_000),
    lengths=st.lists(st.sampled_from([0, 1, 2, 3, 7, 15, 16, 17, 33]), min_size=1, max_size=4),
    n_topics=st.integers(1, 9),
    counts=st.sampled_from(sorted(COUNTS)),
    prior=st.sampled_from([1e-9, 0.005, 0.3, 4.0, 1e9]),
    tied=st.booleans(),
    unexplained=st.sampled_from([0.0, 0.0, 0.3]),
)
plain_worlds = st.builds(
    make_documents,
    st.integers(0, 10_000),
    lengths=st.lists(st.integers(0, 12), min_size=1, max_size=5),
    n_topics=st.integers(1, 9),
    counts=st.sampled_from(["ones", "whole", "fractions"]),
    prior=st.sampled_from([1e-8, 0.005, 0.3, 4.0]),
)
updates = pytest.mark.parametrize("collapsed", [False, True], ids=["mean-field", "collapsed"])


def draw_plan(data, collapsed):
    return Schedule(
        collapsed,
        data.draw(st.integers(0, 14), "iterations"),
        data.draw(st.sampled_from([0.0, 0.05, 1.0]), "tolerance"),
        0 if collapsed else data.draw(st.integers(0, 4), "restarts"),
        data.draw(st.integers(1, 3), "restart iterations"),
        data.draw(st.sampled_from([0.0, 1e-8, 0.7]), "minimum mass"),
        data.draw(st.sampled_from([0.02, 1.0]), "largest pruned"),
        data.draw(st.sampled_from([0.0, 0.7]), "momentum"),
        data.draw(st.sampled_from([0.0, 0.02, 0.5]), "column share"),
    )


# --- against the twin -----------------------------------------------------------------------------
def assert_equals_twin(documents, plan, n_slots, former=None, masses=None, own=None):
    """Shares, N_k and tallies to the last bit; ``masses`` (n_docs, n_topics) is ``former``.

    ``own`` are the responsibilities of the last visits.
    """
    rows = NO_SHARES if own is None else SparseShares(*own)
    found = fit(documents, n_slots, plan, former, own=rows)
    quanta = dense_of(found.shares, documents.n_topics) * ONE
    topics = dense_of(found.topics, documents.n_topics)
    tallies = np.zeros(3, np.int64)
    for d in range(documents.n_docs):
        counts, weights = documents.of(d)
        if not len(counts):
            assert not topics[d].any()
            continue
        start = masses[d] if masses is not None and masses[d].any() else None
        left = None if own is None else documents.without_own(d, own, plan.own_share)
        twin = fit_document(counts, weights, documents.prior, plan, n_slots, start, left)
        np.testing.assert_array_equal(quanta[documents.rows(d)], twin.quanta)
        expected = np.add.accumulate(counts[:, None] * twin.quanta)[-1] / ONE
        np.testing.assert_array_equal(topics[d], expected.astype(F))
        tallies += twin.tallies
    np.testing.assert_array_equal(found.tallies, tallies)


@updates
@settings(max_examples=75)
@given(worlds, st.data())
def test_step_equals_plain_twin(collapsed, documents, data):
    n_slots, plan = data.draw(st.integers(1, documents.n_topics)), draw_plan(data, collapsed)
    assert_equals_twin(documents, plan, n_slots)


@updates
@settings(max_examples=75)
@given(worlds, st.data())
def test_warm_step_equals_plain_twin(collapsed, documents, data):
    """Some documents have been visited before, others have not."""
    n_slots, plan = data.draw(st.integers(1, documents.n_topics)), draw_plan(data, collapsed)
    rng = np.random.default_rng(data.draw(st.integers(0, 10_000)))
    masses = rng.gamma(1.0, 3.0, (documents.n_docs, documents.n_topics)).astype(F)
    masses *= rng.random(masses.shape) < data.draw(st.sampled_from([0.3, 1.0]))
    assert_equals_twin(documents, plan, n_slots, topics_of(masses), masses)


@settings(max_examples=75)
@given(worlds, st.data())
def test_step_without_own_counts_equals_plain_twin(documents, data):
    """Some documents start cold. Topics may stand in any order within a row, as after merges."""
    rng, n_topics = np.random.default_rng(data.draw(st.integers(0, 10_000))), documents.n_topics
    eta = data.draw(st.sampled_from([1e-9, 0.1]))
    documents = documents._replace(weights=documents.weights._replace(word_concentration=eta))
    own = rng.multinomial(ONE, np.full(n_topics, 1 / n_topics), len(documents.words)) / ONE
    own *= rng.random(own.shape) < data.draw(st.sampled_from([0.3, 1.0]))
    masses = np.zeros((documents.n_docs, n_topics), F)
    for d in range(documents.n_docs):
        put_in = documents.counts[documents.rows(d), None] * own[documents.rows(d)]
        masses[d] = put_in.sum(axis=0) * data.draw(st.booleans(), "warm")
        if data.draw(st.booleans(), "counted"):  # or else more is left out than there is
            np.add.at(documents.weights.table, documents.words[documents.rows(d)], put_in)
    plan = draw_plan(data, True)._replace(own_share=data.draw(st.sampled_from([0.5, 1.0])))
    n_slots = data.draw(st.integers(1, n_topics))
    rows = shuffled_rows(sparse_of(own), rng)
    assert_equals_twin(documents, plan, n_slots, topics_of(masses), masses, rows)


def topics_of(masses):
    """N_k (n_docs, n_topics) as the kernel takes them."""
    owners, topics = np.nonzero(masses)
    starts = np.searchsorted(owners, np.arange(len(masses) + 1)).astype(np.int64)
    return DocumentTopics(starts, topics.astype(np.uint32), masses[owners, topics].astype(F))


@updates
@given(worlds, st.data())
def test_topics_alone_are_those_of_the_twin(collapsed, documents, data):
    n_slots = data.draw(st.integers(1, documents.n_topics))
    plan = draw_plan(data, collapsed)
    found = infer(documents, plan, n_slots)
    for d in range(documents.n_docs):
        counts, weights = documents.of(d)
        expected = np.zeros(documents.n_topics)
        if len(counts):
            expected = fit_document(counts, weights, documents.prior, plan, n_slots).masses
        np.testing.assert_array_equal(found[d], expected)


@given(st.integers(0, 1000), st.integers(1, 9), st.booleans())
def test_lists_are_the_best_topics_of_each_word(seed, n_topics, tied):
    documents = make_documents(seed, n_topics=n_topics, tied=tied)
    for n_slots in range(1, n_topics + 1):
        found, expected = (
            lists_of(documents, n_slots),
            best_topics(documents.dense_weights, n_slots),
        )
        np.testing.assert_array_equal(found.topics, expected[0])
        np.testing.assert_array_equal(found.shares, expected[1])


# --- laws of shares -------------------------------------------------------------------------------
@updates
@given(worlds, st.data())
def test_shares_of_a_pair_add_up_to_exactly_one(collapsed, documents, data):
    n_slots = data.draw(st.integers(1, documents.n_topics))
    found = fit(documents, n_slots, draw_plan(data, collapsed))
    quanta = found.shares.shares.astype(float) * ONE
    np.testing.assert_array_equal(quanta, quanta.round())
    assert (quanta > 0).all()
    n_pairs = len(documents.words)
    pairs = np.repeat(np.arange(n_pairs), np.diff(found.shares.starts))
    np.testing.assert_array_equal(np.bincount(pairs, quanta, n_pairs), float(ONE))
    assert (np.diff(found.shares.starts) <= n_slots).all()
    for rows in (found.shares, found.topics):
        for lo, hi in itertools.pairwise(rows.starts):
            assert (np.diff(rows.topics[lo:hi].astype(int)) > 0).all()


@pytest.mark.parametrize("n_topics", [1_000, 1_500, 3_000])
def test_many_equal_shares_add_up_to_one(n_topics):
    documents = make_documents(1, (2,), n_topics=n_topics, tied=True)
    documents.weights.table[:] = 1.0
    found = dense_of(fit(documents, n_topics, schedule(False, 3)).shares, n_topics)
    np.testing.assert_array_equal(found.sum(axis=1), 1.0)
    assert (found >= 0).all()
    assert np.median(found) == pytest.approx(1 / n_topics, rel=0.01)


@updates
@pytest.mark.parametrize("n_slots", range(1, 6))
def test_a_word_uses_the_first_of_the_best_supports(collapsed, n_slots):
    """Of all sets of L topics that with the largest sum of products wins (SPARSE16)."""
    n_topics = 5
    for seed in range(20):
        documents = make_documents(seed, (9,), n_topics=n_topics, tied=seed % 2 == 0)
        documents = documents._replace(prior=np.full(n_topics, 0.25))
        former = topics_of(np.full((1, n_topics), 4.0))
        found = dense_of(fit(documents, n_slots, schedule(collapsed, 0), former).shares, n_topics)
        supports = list(itertools.combinations(range(n_topics), n_slots))
        for shares, weights in zip(found, documents.of(0)[1].astype(float), strict=True):
            best = max(supports, key=lambda support: weights[list(support)].sum())
            assert tuple(np.flatnonzero(shares)) == best


@updates
@pytest.mark.parametrize("n_slots", [1, 3, 12])
def test_order_of_topics_does_not_matter(collapsed, n_slots):
    documents = make_documents(5, lengths=(9, 12), n_topics=12)
    order = np.random.default_rng(0).permutation(12)
    table, eta, inverse_totals = documents.weights
    permuted = documents._replace(
        weights=Weights(np.ascontiguousarray(table[:, order]), eta, inverse_totals[order]),
        prior=documents.prior[order],
    )
    plan = schedule(collapsed, minimum_mass=0.3)
    before, after = (dense_of(fit(d, n_slots, plan).shares, 12) for d in (documents, permuted))
    np.testing.assert_allclose(after, before[:, order], atol=1e-5)


@updates
def test_documents_do_not_touch_each_other(collapsed):
    documents = make_documents(6, lengths=(33, 5, 0, 9))
    plan = schedule(collapsed, restarts=0 if collapsed else 3)
    together = dense_of(fit(documents, 3, plan).shares, 6)
    for d in range(4):
        rows = documents.rows(d)
        alone = documents._replace(
            indptr=documents.indptr[d : d + 2] - documents.indptr[d],
            words=documents.words[rows],
            counts=documents.counts[rows],
        )
        np.testing.assert_array_equal(dense_of(fit(alone, 3, plan).shares, 6), together[rows])


@updates
def test_documents_that_are_all_warm_need_no_lists(collapsed):
    documents = make_documents(3)
    former = topics_of(np.random.default_rng(2).gamma(1.0, 3.0, (4, 6)))
    given = documents.indptr, documents.words, documents.counts, documents.weights
    plan, tallies = schedule(collapsed, 4), np.zeros(3, np.int64)
    found = fit_block(
        *given, no_lists(), documents.prior, plan, SparseShares(*former), NO_SHARES, 3, tallies,
        NO_COUNTS,
    )  # fmt: skip
    for mine, theirs in zip(found[0], fit(documents, 3, plan, former).shares, strict=True):
        np.testing.assert_array_equal(mine, theirs)


# --- laws of the document's score -----------------------------------------------------------------
def scores(documents, n_slots, plan):
    dense = dense_of(fit(documents, n_slots, plan).shares, documents.n_topics)
    for d in range(documents.n_docs):
        counts, weights = documents.of(d)
        shares = dense[documents.rows(d)]
        yield document_score(counts, weights.astype(float), documents.prior, shares)


def allowance(documents, n_slots):
    return (
        ROUNDING * n_slots * np.array([documents.of(d)[0].sum() for d in range(documents.n_docs)])
    )


@given(plain_worlds, st.data())
def test_mean_field_never_lowers_the_document_score(documents, data):
    n_topics = documents.n_topics
    n_slots = data.draw(st.sampled_from([n_topics, max(1, n_topics // 2)]))
    by_iteration = [
        list(scores(documents, n_slots, schedule(False, iterations, minimum_mass=0.0)))
        for iterations in range(1, 13)
    ]
    assert (np.diff(by_iteration, axis=0) >= -allowance(documents, n_slots) - 1e-9).all()


@given(plain_worlds, st.data())
def test_restarts_never_lower_the_document_score(documents, data):
    n_slots = data.draw(st.integers(1, documents.n_topics))
    without = np.array(list(scores(documents, n_slots, schedule(False, 11))))
    with_restarts = np.array(list(scores(documents, n_slots, schedule(False, 11, restarts=5))))
    assert (with_restarts >= without - allowance(documents, n_slots) - 1e-9).all()


def test_a_restart_finds_the_better_optimum():
    """One of two equal topics explains all words nearly as well: a single topic is better."""
    table = np.array([[1.0, 0.9], [0.9, 1.0], [1.0, 0.95]])
    documents = Documents(
        np.array([0, 3]), np.arange(3, dtype=np.int32), np.array([4.0, 4.0, 1.0]),
        Weights(table, 0.0, np.ones(2)), np.full(2, 0.01),
    )  # fmt: skip
    few = schedule(False, 2)
    result = fit(documents, 2, few._replace(restarts=1))
    assert result.tallies[:2].tolist() == [1, 1]
    assert next(scores(documents, 2, few._replace(restarts=1))) > next(scores(documents, 2, few))


# --- where the steps lead -------------------------------------------------------------------------
def test_dense_step_converges_to_the_plain_fixed_point():
    documents = make_documents(7, lengths=(40,), n_words=60, n_topics=20, prior=0.2)
    batch = DocumentBatch(documents.indptr, documents.words, documents.counts)
    logs = np.log(documents.dense_weights.astype(float)).T
    found = infer(documents, schedule(False, 2000), 20)[0]
    expected = documents.counts @ mean_field(batch, logs, documents.prior, 2000)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


@given(plain_worlds, st.data())
def test_a_warm_start_at_the_fixed_point_stays_there(documents, data):
    n_slots = min(data.draw(st.integers(1, 3)), documents.n_topics)
    settled = schedule(False, 3000)
    first = fit(documents, n_slots, settled)
    again = fit(
        documents, n_slots, settled._replace(max_iterations=3), DocumentTopics(*first.topics)
    )
    n_topics = documents.n_topics
    np.testing.assert_allclose(
        dense_of(again.shares, n_topics), dense_of(first.shares, n_topics), atol=1e-3
    )


@pytest.mark.parametrize("prior", [0.02, 0.3, 2.0])
@pytest.mark.parametrize("kind", ["whole", "fractions"])
def test_the_collapsed_step_stays_at_fixed_points_of_gauss_seidel(prior, kind):
    """Whatever the momentum; many fractions are below one."""
    for seed in range(8):
        documents = make_documents(seed, (12,), n_topics=4, counts=kind, prior=prior)
        counts, weights = documents.of(0)
        expected = settled(counts, weights.astype(float), documents.prior)
        former = topics_of((counts @ expected)[None].astype(F))
        for momentum in (0.0, 0.5, 0.7):
            found = fit(documents, 4, schedule(True, 500, momentum=momentum), former)
            np.testing.assert_allclose(dense_of(found.shares, 4), expected, atol=1e-5)


def settled(counts, weights, prior):
    """Collapsed responsibilities that twenty more sweeps do not change."""
    shares = np.full(weights.shape, 0.25)
    for _ in range(150):
        former, shares = shares, gauss_seidel(counts, weights, prior, shares, 20)
        if np.abs(shares - former).max() < 1e-9:
            return shares
    raise AssertionError("the sweeps of the reference do not settle")
