"""Evidence of words and what moves do to it, against recomputation from the assignments."""

import itertools

import numpy as np
import pytest
from scipy.special import gammaln

from sparsetopics.base.batches import pairs_of
from sparsetopics.execution.executors import Executor
from sparsetopics.inference.moves.word_evidence import SAMPLING, CountVariances, WordEvidence
from sparsetopics.model.assignments import Assignments, Patch, overlaid
from sparsetopics.model.likelihoods.words import Words
from sparsetopics.model.word_counts import WordCounts
from worlds.sparse_worlds import make_world

N_WORDS, N_TOPICS, ETA = 12, 5, 0.1
EVERYTHING = np.arange(N_TOPICS)
SERIAL = Executor()
each_criterion = pytest.mark.parametrize("with_spread", [False, True], ids=["bound", "collapsed"])


class World:
    """Documents with sparse responsibilities, the worth of which is computed from the start."""

    def __init__(self, with_spread, seed=0):
        drawn = make_world(seed, (5, 4, 8, 1, 6, 9), N_WORDS, N_TOPICS)
        self.batch, self.found, self.reference = drawn.batch, drawn.sparse, drawn.prior
        self.dense, self.with_spread = drawn.dense, with_spread

    def evidence(self, found=None, reference=None):
        found = self.found if found is None else found
        reference = self.reference if reference is None else reference
        components = WordCounts.zeros(N_WORDS, len(reference))
        components.add(components.sum_batch(self.batch, found, SERIAL))
        spread = CountVariances.zeros(N_WORDS, len(reference)) if self.with_spread else None
        if spread is not None:
            spread.add(self.batch, found, reference)
        return WordEvidence.of(components, Words(N_WORDS, ETA), spread)

    def documents(self, chosen):
        return Assignments(self.batch, self.found).take(np.asarray(chosen))

    def users(self, topic):
        """Documents that use a topic."""
        owners = np.repeat(np.arange(self.batch.n_docs), np.diff(self.batch.indptr))
        return np.unique(owners[self.dense[:, topic] > 0])


def assert_same(found, expected):
    np.testing.assert_allclose(found.table, expected.table, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(found.by_topic, expected.by_topic, rtol=1e-6, atol=1e-5)
    assert (found.spread is None) == (expected.spread is None)
    if expected.spread is not None:
        for mine, theirs in zip(found.spread, expected.spread, strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=1e-5)


@each_criterion
def test_evidence_by_topic_is_that_of_its_words_and_what_the_criterion_adds(with_spread):
    evidence = World(with_spread).evidence()

    expected = gammaln(N_WORDS * ETA) - N_WORDS * gammaln(ETA)
    expected += gammaln(evidence.table + ETA).sum(axis=0)
    expected -= gammaln(evidence.table.sum(axis=0) + N_WORDS * ETA)
    if with_spread:
        spread = evidence.spread
        added = spread.word_corrections(evidence.table, ETA) + spread.doc_corrections
        assert added.min() > 0.01
        expected = expected + added
    np.testing.assert_allclose(evidence.by_topic, expected, rtol=1e-9)
    assert evidence.sampling == SAMPLING


@each_criterion
@pytest.mark.parametrize("topics", [[3], [4, 0], [2, 1, 0, 3, 4]])
def test_chosen_topics_keep_what_they_hold(with_spread, topics):
    world, topics = World(with_spread), np.array(topics)
    number = np.full(N_TOPICS, -1)
    number[topics] = np.arange(len(topics))

    found = world.evidence().take(topics)

    assert_same(found, world.evidence(world.found.renumbered(number), world.reference[topics]))


@each_criterion
def test_fresh_evidence_forgets_what_it_remembered(with_spread):
    evidence = World(with_spread).evidence()
    scores = evidence.scores._replace(sums=evidence.scores.sums + 1.0)

    tampered = evidence._replace(scores=scores)
    assert_same(tampered.with_components(tampered.components), evidence)
    assert_same(evidence.take(EVERYTHING).with_components(evidence.components), evidence)


@each_criterion
@pytest.mark.parametrize("pairs", [[(0, 1)], [(1, 4), (0, 2)], [(2, 3), (0, 4)]])
def test_merged_evidence_is_that_of_merged_assignments(with_spread, pairs):
    world, pairs = World(with_spread), np.array(pairs)
    evidence = world.evidence()
    in_pairs, left = np.full(N_TOPICS, -1), np.setdiff1d(EVERYTHING, pairs[:, 1])
    in_pairs[pairs] = np.arange(len(pairs))[:, None]
    number = np.full(N_TOPICS, -1)
    number[left] = np.arange(len(left))
    number[pairs[:, 1]] = number[pairs[:, 0]]
    joint_found, joint_reference = world.found.renumbered(in_pairs), world.reference[pairs].sum(1)

    joint = world.evidence(joint_found, joint_reference)
    merged = evidence.merged(pairs, joint)

    np.testing.assert_allclose(evidence.joint(pairs).table, joint.table, rtol=1e-6, atol=1e-6)
    reference = np.bincount(number, world.reference)
    assert_same(merged, world.evidence(world.found.renumbered(number), reference))
    assert_same(evidence, world.evidence())


def test_pair_gains_are_those_of_brute_force():
    evidence = World(False).evidence()
    pairs = np.array(list(itertools.combinations(range(N_TOPICS), 2)))

    gains = evidence.likelihood.merge_gains(evidence.components, pairs)

    for (a, b), gain in zip(pairs.tolist(), gains, strict=True):
        table = np.delete(evidence.table, b, axis=1)
        table[:, a] += evidence.table[:, b]
        merged = evidence.with_components(WordCounts(table))
        expected = merged.by_topic.sum() - evidence.by_topic.sum()
        assert gain == pytest.approx(expected, rel=1e-9), (a, b)


def test_likeness_is_the_cosine_of_roots_and_of_nothing_is_zero():
    evidence = World(False).evidence()
    table = evidence.table.copy()
    table[:, 2] = 0.0
    roots = np.sqrt(table)

    likeness = evidence.with_components(WordCounts(table)).likeness()

    for a, b in itertools.product([0, 1, 3, 4], repeat=2):
        lengths = np.linalg.norm(roots[:, a]) * np.linalg.norm(roots[:, b])
        assert likeness[a, b] == pytest.approx(roots[:, a] @ roots[:, b] / lengths, rel=1e-6)
    np.testing.assert_array_equal(likeness[2], 0.0)
    np.testing.assert_array_equal(likeness[:, 2], 0.0)


@each_criterion
@pytest.mark.parametrize("chosen", [[0, 1], [4], [0, 1, 2, 3, 4, 5]])
def test_documents_taken_out_and_put_back_leave_the_evidence_of_the_whole(with_spread, chosen):
    world = World(with_spread)
    theirs = world.documents(chosen)

    focus = world.evidence().focus(theirs, EVERYTHING, world.reference)
    focus.hold_in_place(theirs.responsibilities, SERIAL)

    assert_same(focus.written(), world.evidence())
    np.testing.assert_allclose(focus.by_topic, world.evidence().by_topic, rtol=1e-6, atol=1e-5)
    sizes = world.evidence().table.sum(axis=0)
    np.testing.assert_allclose(focus.components.sizes, sizes, rtol=1e-6)


@each_criterion
@pytest.mark.parametrize("gone", [0, 2, 4])
def test_documents_fitted_anew_without_a_topic(with_spread, gone):
    """Those that used it, and now use the others as is seen fit."""
    world, kept = World(with_spread), np.setdiff1d(EVERYTHING, [gone])
    users = world.users(gone)
    pairs, reference = pairs_of(world.batch.indptr, users), world.reference[kept]
    others = make_world(9, (len(pairs),), len(pairs), N_TOPICS - 1).sparse
    number = np.insert(EVERYTHING[:-1], gone, -1)
    rest = world.found.renumbered(number)

    before = world.evidence()
    focus = before.focus(world.documents(users), kept, reference)
    np.testing.assert_allclose(focus.components.table, before.table[focus.rows][:, kept])
    np.testing.assert_allclose(focus.components.sizes, before.table[:, kept].sum(axis=0))
    focus.hold_in_place(world.documents(users).responsibilities.renumbered(number), SERIAL)
    focus.hold_in_place(others, SERIAL)  # only the last counts

    after = world.evidence(overlaid(rest, world.batch.indptr, Patch(users, others)), reference)
    assert_same(focus.written().take(kept), after)
    np.testing.assert_allclose(focus.by_topic, after.by_topic, rtol=1e-6, atol=1e-5)
    assert len(focus.rows) < N_WORDS or len(users) == world.batch.n_docs
    assert_same(before, world.evidence())
    again = focus.written(in_place=True)
    assert again.table is before.table
    assert_same(again.take(kept), after)


@each_criterion
def test_looking_leaves_the_evidence_as_it_is(with_spread):
    world = World(with_spread)
    evidence, theirs = world.evidence(), world.documents([1, 3])

    focus = evidence.focus(theirs, EVERYTHING[1:], world.reference[1:])
    focus.hold_in_place(theirs.responsibilities.renumbered(EVERYTHING - 1), SERIAL)
    focus.written()
    evidence.likeness()

    assert_same(evidence, world.evidence())
