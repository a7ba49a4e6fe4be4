"""Topics are joined to themes where the evidence of their words loses least."""

import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference_lda import log_beta
from sparsetopics.inference.merging import Merging, large_counts
from sparsetopics.inference.theme_tree import FEWEST_TOKENS, groups_at, theme_tree
from sparsetopics.kernels.pairs import move_topics_in_place
from sparsetopics.kernels.types import SparseShares

ETA = 0.1
concentrations = st.sampled_from([0.001, 0.1, 2.0])
seeds = st.integers(0, 10_000)


def evidence_of(counts, eta):
    """log M of each column."""
    return log_beta(counts.T + eta, axis=1) - log_beta(np.full(len(counts), eta))


def drawn_counts(seed, n_words, n_topics, share=0.5):
    """Counts of words in topics, in falling order of weight; a float32 holds them exactly."""
    rng = np.random.default_rng(seed)
    counts = np.round(rng.gamma(0.5, 40.0, (n_words, n_topics)) * 64) / 64
    counts *= rng.random(counts.shape) < share
    return counts[:, np.argsort(-counts.sum(axis=0), kind="stable")]


def of_groups(counts, groups, n_groups):
    """The sums of counts, (n_words, n_groups)."""
    return counts @ np.eye(n_groups)[groups]


# --- moves of topics between groups ---------------------------------------------------------------
def rows_of(counts):
    """The counts of each topic as a sparse row of words."""
    topics, words = np.nonzero(counts.T)
    starts = np.concatenate(([0], np.cumsum((counts > 0).sum(axis=0)))).astype(np.int64)
    values = counts.T[topics, words].astype(np.float32)
    return SparseShares(starts, words.astype(np.uint32), values)


def moved(counts, families, groups, eta):
    """The groups after the topics were put where the evidence is highest, from its definition."""
    groups, n_groups = groups.copy(), groups.max() + 1
    family_of = dict(zip(groups.tolist(), families.tolist(), strict=True))
    for k in reversed(range(len(groups))):
        if (groups == groups[k]).sum() == 1:
            continue
        evidences = {}
        for g in [groups[k], *range(n_groups)]:
            if family_of[g] == families[k]:
                trial = np.where(np.arange(len(groups)) == k, g, groups)
                evidences[g] = evidence_of(of_groups(counts, trial, n_groups), eta).sum()
        best = max(evidences, key=evidences.get)
        if evidences[best] > evidences[groups[k]] + 1e-7:
            groups[k] = best
    return groups


@settings(deadline=None)
@given(seed=seeds, n_topics=st.integers(1, 12), n_families=st.integers(1, 3), eta=concentrations)
def test_topics_move_as_in_the_twin(seed, n_topics, n_families, eta):
    rng, counts = np.random.default_rng(seed), drawn_counts(seed, 9, n_topics)
    families = rng.integers(n_families, size=n_topics)
    groups = np.unique(3 * families + rng.integers(3, size=n_topics), return_inverse=True)[1]
    before, n_groups = groups.copy(), groups.max() + 1
    table = of_groups(counts, groups, n_groups)
    worth = evidence_of(table, eta).sum()

    n_moved = move_topics_in_place(rows_of(counts), families, eta, groups, table)

    np.testing.assert_array_equal(groups, moved(counts, families, before, eta))
    assert n_moved == (groups != before).sum()
    assert set(groups) == set(range(n_groups)), "no group is left empty"
    for k in range(n_topics):  # a group has the family that it had
        assert set(families[before == groups[k]]) == {families[k]}
    np.testing.assert_allclose(table, of_groups(counts, groups, n_groups), atol=1e-6)
    np.testing.assert_allclose(table.sum(axis=1), counts.sum(axis=1), atol=1e-6)
    assert evidence_of(table, eta).sum() >= worth - 1e-6


def test_topics_that_are_alone_in_their_groups_stay():
    counts = np.repeat(drawn_counts(0, 9, 1), 5, axis=1)  # together they would be worth more
    table, groups = counts.copy(), np.arange(5)
    n_moved = move_topics_in_place(rows_of(counts), np.zeros(5, int), ETA, groups, table)
    assert n_moved == 0
    assert groups.tolist() == [0, 1, 2, 3, 4]
    np.testing.assert_array_equal(table, counts)


# --- groups that are joined -----------------------------------------------------------------------
@settings(deadline=None)
@given(seed=seeds, n_topics=st.integers(2, 9), eta=concentrations)
def test_gains_are_those_of_the_evidence(seed, n_topics, eta):
    counts = drawn_counts(seed, 8, n_topics)
    merging = Merging.of(counts, eta, 0.0)
    rng = np.random.default_rng(seed)
    while merging.n_groups > 1:
        table = of_groups(counts, merging.groups, merging.n_groups)
        np.testing.assert_allclose(merging.sizes, table.sum(axis=0))
        alone = evidence_of(table, eta)
        for a, b in itertools.combinations(range(merging.n_groups), 2):
            together = evidence_of((table[:, a] + table[:, b])[:, None], eta)[0]
            expected = together - alone[a] - alone[b]
            assert merging.gains[a, b] == pytest.approx(expected, rel=1e-7, abs=1e-6)
        n_pairs = rng.integers(1, merging.n_groups // 2, endpoint=True)
        chosen = rng.permutation(merging.n_groups)[: 2 * n_pairs]
        old, merging = merging, merging.joined(np.sort(chosen.reshape(-1, 2), axis=1))
        assert merging.n_groups == old.n_groups - n_pairs
        firsts = np.unique(merging.groups, return_index=True)[1]
        assert (np.diff(firsts) > 0).all(), "groups are in the order of their first topics"


# --- the tree -------------------------------------------------------------------------------------
def cuts(merges):
    return {n: groups_at(merges, n) for n in range(1, len(merges) + 2)}


@settings(deadline=None, max_examples=30)
@given(seed=seeds, n_topics=st.integers(1, 90), eta=concentrations)
def test_cuts_are_nested_and_have_the_number_asked_for(seed, n_topics, eta):
    counts = drawn_counts(seed, 12, n_topics)
    merges = theme_tree(counts, eta)

    assert len(merges) == n_topics - 1
    found = cuts(merges)
    for n, groups in found.items():
        assert groups.shape == (n_topics,)
        firsts = [groups.tolist().index(g) for g in range(n)]
        assert firsts == sorted(firsts), "in the order of the heaviest topics"
        assert groups.max() == n - 1
        if n > 1:  # each group of n is part of one of n - 1
            assert len(set(zip(groups, found[n - 1], strict=True))) == n
    for n, (kept, absorbed, _) in zip(range(n_topics, 0, -1), merges, strict=False):
        groups = found[n]
        firsts = np.unique(groups, return_index=True)[1]
        assert {kept, absorbed} <= set(firsts.tolist()), "numbers are of first topics"
        assert kept < absorbed
        assert found[n - 1][kept] == found[n - 1][absorbed]


@pytest.mark.parametrize("n_topics", [2, 7, 23, 85])
def test_gains_of_merges_are_differences_of_the_evidence(n_topics):
    counts = drawn_counts(n_topics, 30, n_topics)
    rows = large_counts(counts, FEWEST_TOKENS)
    large = np.zeros_like(counts)
    large[np.repeat(np.arange(30), np.diff(rows.starts)), rows.topics] = rows.shares
    merges = theme_tree(counts, ETA)
    found = cuts(merges)
    worth = {n: evidence_of(of_groups(large, found[n], n), ETA).sum() for n in found}
    for n, merge in zip(range(n_topics, 1, -1), merges, strict=True):
        assert merge.gain == pytest.approx(worth[n - 1] - worth[n], rel=1e-6, abs=1e-4)


@pytest.mark.parametrize("seed", range(2))
def test_parts_of_ten_topics_come_together(seed):
    rng = np.random.default_rng(seed)
    true = rng.dirichlet(np.full(200, 0.05), 10)
    of, weights = np.repeat(np.arange(10), 6), rng.uniform(500, 5_000, 60)
    weights[::-1].sort()
    rng.shuffle(of)
    counts = np.array([rng.multinomial(int(w), true[k]) for w, k in zip(weights, of, strict=True)])

    groups = groups_at(theme_tree(counts.T.astype(float), ETA), 10)

    assert len(set(zip(groups, of, strict=True))) == 10


def test_moves_mend_what_merges_alone_did():
    """The evidence of ten themes is higher than that of merges from all topics at once."""
    better = Counter()
    for seed in range(6):
        rng = np.random.default_rng(seed)
        true = rng.dirichlet(np.full(60, 0.1), 14)
        mixed = rng.dirichlet(np.full(14, 0.3), 70) @ true
        counts = np.array([rng.multinomial(int(w), row) for w, row in
                           zip(np.geomspace(3_000, 60, 70), mixed, strict=True)]).T  # fmt: skip
        counts = counts.astype(float)
        merging = Merging.of(counts, ETA)
        while merging.n_groups > 10:
            gains = np.where(np.triu(np.ones(merging.gains.shape), 1) > 0, merging.gains, -np.inf)
            merging = merging.joined(np.array([np.unravel_index(gains.argmax(), gains.shape)]))
        groups = groups_at(theme_tree(counts, ETA), 10)
        own, plain = (
            evidence_of(of_groups(counts, each, 10), ETA).sum() for each in (groups, merging.groups)
        )
        better[bool(own > plain)] += 1
    assert better[True] >= 5


def test_few_empty_and_equal_topics():
    assert theme_tree(drawn_counts(0, 5, 1), ETA) == []
    assert groups_at([], 1).tolist() == [0]
    ((kept, absorbed, gain),) = merges = theme_tree(drawn_counts(0, 5, 2), ETA)
    assert groups_at(merges, 3).tolist() == [0, 1], "there are no more groups than topics"
    assert (kept, absorbed) == (0, 1)
    assert gain < 0.0

    equal = np.repeat(drawn_counts(1, 9, 1, share=1.0), 30, axis=1)
    assert all(merge.gain > 0.0 for merge in theme_tree(equal, ETA)), "one topic explains them all"

    counts = np.hstack([drawn_counts(2, 9, 25, share=1.0), np.zeros((9, 20))])
    merges = theme_tree(counts, ETA)
    assert len(merges) == 44
    assert [merge.gain for merge in merges if merge.absorbed >= 25] == [0.0] * 20
    nothing = theme_tree(np.zeros((9, 4)), ETA)
    assert [merge.gain for merge in nothing] == [0.0] * 3


def test_the_tree_is_the_same_twice_and_leaves_the_counts():
    counts = drawn_counts(3, 40, 85)
    before = counts.copy()
    assert theme_tree(counts, ETA) == theme_tree(counts, ETA)
    np.testing.assert_array_equal(counts, before)
