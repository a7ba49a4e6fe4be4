"""Evidence of items and what moves do to it, against recomputation and brute force."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import gammaln

from sparsetopics.base.batches import VectorBatch
from sparsetopics.inference.moves.item_evidence import FEWEST_ITEMS, SAMPLING, ItemEvidence
from sparsetopics.kernels.pairs import add_shared_shares
from sparsetopics.model.allocations.pair_gains import item_pair_gains
from sparsetopics.model.assignments import Assignments
from sparsetopics.model.likelihoods.diagonal_gaussian import DiagonalGaussian, IsotropicGaussian
from sparsetopics.model.likelihoods.gaussian import Gaussian, ZeroMeanGaussian
from worlds.clumped_mixtures import draw_clumps, hard
from worlds.gaussian_worlds import (
    NAMES,
    SERIAL,
    draw_items,
    draw_prior,
    draw_shares,
    likelihood_of,
    sparse,
    standard,
    sum_items,
)
from worlds.sparse_worlds import worlds

N_TOPICS, N_ITEMS, N_COLUMNS = 5, 30, 3
KINDS = {
    "zero_mean_gaussian": ZeroMeanGaussian,
    "gaussian": Gaussian,
    "diagonal_gaussian": DiagonalGaussian,
    "isotropic_gaussian": IsotropicGaussian,
}
NOTHING = np.zeros(N_TOPICS)  # the reference of items
each_likelihood = pytest.mark.parametrize("name", NAMES)


class World:
    """Items with dense responsibilities, of which about half are zero."""

    def __init__(self, name, seed=0):
        rng = np.random.default_rng(seed)
        self.likelihood = likelihood_of(draw_prior(name, N_COLUMNS, rng))
        self.values = draw_items(N_ITEMS, N_COLUMNS, rng)
        self.dense = draw_shares(N_ITEMS, N_TOPICS, rng)

    def evidence(self, dense=None):
        """As it is recomputed from items."""
        dense = self.dense if dense is None else dense
        moments = sum_items(self.likelihood, self.values, sparse(dense), dense.shape[1])
        return ItemEvidence.of(moments, self.likelihood)

    def assignments(self, items=slice(None)):
        return Assignments(VectorBatch(self.values[items]), sparse(self.dense[items]))


def assert_same(found, expected):
    for mine, theirs in zip(found.components, expected.components, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-7)
    np.testing.assert_allclose(found.by_topic, expected.by_topic, rtol=1e-9, atol=1e-8)


def merged_columns(dense, pairs):
    """Each pair in the place of its first."""
    together = dense.copy()
    for a, b in pairs:
        together[:, a] += together[:, b]
    return np.delete(together, [b for _, b in pairs], axis=1)


@each_likelihood
def test_evidence_by_topic_is_the_log_evidence_of_each(name):
    world = World(name)

    evidence = world.evidence()

    for k in range(N_TOPICS):
        alone = world.evidence(world.dense[:, [k]])
        assert evidence.by_topic[k] == pytest.approx(alone.by_topic[0], rel=1e-9)
    assert evidence.sampling == SAMPLING


@each_likelihood
@pytest.mark.parametrize("topics", [[3], [4, 0], [2, 1, 0, 3, 4], []])
def test_chosen_topics_keep_what_they_hold(name, topics):
    world = World(name)

    assert_same(
        world.evidence().take(np.array(topics, int)), world.evidence(world.dense[:, topics])
    )


@each_likelihood
def test_fresh_evidence_forgets_what_it_remembered(name):
    evidence = World(name).evidence()
    tampered = evidence._replace(by_topic=evidence.by_topic + 1.0)

    assert_same(tampered.with_components(tampered.components), evidence)
    assert_same(tampered.with_components(evidence.components), evidence)


@each_likelihood
@pytest.mark.parametrize("pairs", [[(0, 1)], [(1, 4), (0, 2)], [(3, 4), (1, 2)], [(4, 0)]])
def test_merged_evidence_is_that_of_merged_assignments(name, pairs):
    world, pairs = World(name), np.array(pairs)
    evidence = world.evidence()

    joint = ItemEvidence.of(evidence.joint(pairs), world.likelihood)
    merged = evidence.merged(pairs, joint)

    both = np.stack([world.dense[:, a] + world.dense[:, b] for a, b in pairs], axis=1)
    assert_same(joint, world.evidence(both))
    assert_same(merged, world.evidence(merged_columns(world.dense, pairs)))


@each_likelihood
@settings(max_examples=25)
@given(seed=st.integers(0, 10**6))
def test_pair_gains_are_those_of_brute_force(name, seed):
    world = World(name, seed)
    evidence = world.evidence()
    pairs = np.array(list(itertools.combinations(range(N_TOPICS), 2)))

    gains = evidence.likelihood.merge_gains(evidence.components, pairs)

    before = evidence.by_topic.sum()
    after = [world.evidence(merged_columns(world.dense, [pair])).by_topic.sum() for pair in pairs]
    np.testing.assert_allclose(gains, np.array(after) - before, rtol=1e-7, atol=1e-6)


@each_likelihood
def test_likeness_is_a_cosine_of_mean_moments(name):
    evidence = World(name).evidence()
    counts, sums, squares = evidence.components
    features = [
        np.concatenate([squares[k].ravel(), sums[k].ravel()]) / counts[k] for k in range(N_TOPICS)
    ]

    likeness = evidence.likeness()

    for a, b in itertools.product(range(N_TOPICS), repeat=2):
        lengths = np.linalg.norm(features[a]) * np.linalg.norm(features[b])
        assert likeness[a, b] == pytest.approx(features[a] @ features[b] / lengths)


@each_likelihood
def test_a_component_of_no_items_is_like_nothing(name):
    world = World(name)
    dense = world.dense.copy()
    dense[:, 1] += dense[:, 0]
    dense[:, 0] = 0.0

    likeness = world.evidence(dense).likeness()

    np.testing.assert_array_equal(likeness[0], 0.0)
    assert np.isfinite(likeness).all()


@each_likelihood
@pytest.mark.parametrize("items", [np.arange(10), np.array([29, 3, 4]), np.arange(N_ITEMS)])
def test_items_taken_out_and_put_back_leave_the_evidence_of_the_whole(name, items):
    world = World(name)
    assignments, everything = world.assignments(items), np.arange(N_TOPICS)

    focus = world.evidence().focus(assignments, everything, NOTHING)
    focus.hold_in_place(assignments.responsibilities, SERIAL)

    assert focus.now.documents is assignments.documents
    assert_same(focus.written(), world.evidence())
    np.testing.assert_array_equal(focus.by_topic, focus.written().by_topic)


@each_likelihood
def test_items_fitted_anew_without_a_topic(name):
    """Those that used it, and now use the others as is seen fit."""
    world, gone = World(name), 2
    kept = np.setdiff1d(np.arange(N_TOPICS), [gone])
    users = np.flatnonzero(world.dense[:, gone])
    others = draw_shares(len(users), len(kept), np.random.default_rng(9))

    focus = world.evidence().focus(world.assignments(users), kept, NOTHING)
    before = ItemEvidence.of(focus.components, world.likelihood)
    assert_same(before, world.evidence().take(kept))
    focus.hold_in_place(sparse(others[::-1]), SERIAL)
    focus.hold_in_place(sparse(others), SERIAL)  # only the last counts

    expected = world.dense[:, kept].copy()
    expected[users] = others
    assert_same(focus.written().take(kept), world.evidence(expected))
    assert_same(focus.written(in_place=True).take(kept), world.evidence(expected))
    focus.hold_in_place(sparse(np.zeros_like(others)), SERIAL)
    expected[users] = 0.0
    assert_same(ItemEvidence.of(focus.components, world.likelihood), world.evidence(expected))


@each_likelihood
def test_looking_leaves_the_evidence_as_it_is(name):
    world = World(name)
    evidence, expected = world.evidence(), world.evidence()
    everything, pairs = np.arange(N_TOPICS), np.array([[0, 1], [2, 3]])

    evidence.merged(pairs, ItemEvidence.of(evidence.joint(pairs), world.likelihood))
    focus = evidence.focus(world.assignments(np.arange(9)), everything, NOTHING)
    focus.hold_in_place(world.assignments(np.arange(9)).responsibilities, SERIAL)
    focus.written(in_place=True)
    evidence.likeness()

    assert_same(evidence, expected)


class Clumped:
    """Four components, two clumps in each."""

    def __init__(self, name, n_items=160):
        clumps = draw_clumps(0, n_items=n_items, n_clumps=8)
        self.likelihood, self.values = standard(KINDS[name], clumps.values)
        self.owners = clumps.kinds // 2
        self.moments = sum_items(self.likelihood, self.values, hard(self.owners), 4)

    def samples(self, topics):
        whole = Assignments(VectorBatch(self.values), hard(self.owners))
        return {topic: whole.take(np.flatnonzero(self.owners == topic)) for topic in topics}


@each_likelihood
def test_children_share_the_items_of_their_parent(name):
    """Of hard assignments a sample of all items says everything."""
    world = Clumped(name)
    evidence = ItemEvidence.of(world.moments, world.likelihood)

    children, parents = evidence.families(world.samples([0, 2]), 2, np.random.default_rng(1))

    np.testing.assert_array_equal(parents, [0, 0, 1, 2, 2, 3])
    summed = children.renumbered(parents, 4)
    np.testing.assert_allclose(summed.counts, world.moments.counts)
    np.testing.assert_allclose(summed.sums, world.moments.sums, rtol=1e-6, atol=1e-3)
    np.testing.assert_allclose(summed.squares, world.moments.squares, rtol=1e-5, atol=1e-2)
    assert (children.counts > 0).all()


@pytest.mark.parametrize("name", ["gaussian", "diagonal_gaussian"])
@pytest.mark.parametrize("seed", range(2))
def test_children_divide_a_component_of_two_clumps(name, seed):
    world = Clumped(name)

    children, parents = ItemEvidence.of(world.moments, world.likelihood).families(
        world.samples(range(4)), 2, np.random.default_rng(seed)
    )

    before = world.likelihood.log_evidence(world.moments).sum()
    after = world.likelihood.log_evidence(children).sum()
    assert after > before + 100, f"seed {seed}"
    np.testing.assert_array_equal(parents, np.repeat(np.arange(4), 2))


@each_likelihood
def test_a_part_of_the_items_stands_for_all(name):
    world = Clumped(name)
    part = {0: world.samples([0])[0].take(np.arange(10))}

    children, parents = ItemEvidence.of(world.moments, world.likelihood).families(
        part, 2, np.random.default_rng(0)
    )

    np.testing.assert_allclose(np.bincount(parents, children.counts), world.moments.counts)


@each_likelihood
def test_a_component_of_few_items_has_no_children(name):
    world, n_children = Clumped(name), 4
    enough = FEWEST_ITEMS * n_children
    whole = world.samples([1, 3])
    samples = {1: whole[1].take(np.arange(enough - 1)), 3: whole[3].take(np.arange(enough))}

    children, parents = ItemEvidence.of(world.moments, world.likelihood).families(
        samples, n_children, np.random.default_rng(0)
    )

    assert (np.bincount(parents)[:3] == 1).all()
    assert np.bincount(parents)[3] > 1
    for mine, theirs in zip(children.take(np.arange(3)), world.moments, strict=True):
        np.testing.assert_array_equal(mine, theirs[:3])


def entropy_of(dense):
    logs = np.log(np.where(dense > 0, dense, 1.0))
    return -(dense * logs).sum()


@given(seed=st.integers(0, 10**6), n_batches=st.integers(1, 3))
def test_item_pair_gains_equal_brute_force(seed, n_batches):
    """The change of entropy is exact; that of weights is lnΓ, for their counts and one each."""
    rng = np.random.default_rng(seed)
    dense = draw_shares(24, 4, rng)
    counts = dense.sum(axis=0)
    batches = [
        Assignments(VectorBatch(np.zeros((len(part), 1), np.float32)), sparse(part))
        for part in np.array_split(dense, n_batches)
    ]

    gains, together = item_pair_gains(batches, counts)

    for a, b in itertools.combinations(range(4), 2):
        expected = entropy_of(merged_columns(dense, [(a, b)])) - entropy_of(dense)
        expected += gammaln(counts[a] + counts[b] + 2.0)
        expected -= gammaln(counts[a] + 1.0) + gammaln(counts[b] + 1.0)
        assert gains[a, b] == pytest.approx(expected, rel=1e-6, abs=1e-6), (a, b)
        shared = np.sqrt(dense[:, a] * dense[:, b]).sum()
        cosine = shared / math.sqrt((counts[a] + 1.0) * (counts[b] + 1.0))
        assert together[a, b] == pytest.approx(cosine, rel=1e-6)
        assert together[a, b] == together[b, a] <= 1.0


@given(world=worlds)
def test_shared_shares_equal_a_plain_sum(world):
    found = np.zeros((world.n_topics, world.n_topics))

    for _ in range(2):  # what is there stays
        add_shared_shares(world.sparse, found)

    roots = np.sqrt(world.dense)
    expected = 2.0 * np.triu(roots.T @ roots, 1)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)
