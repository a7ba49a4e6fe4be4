"""Assignments of a batch, and what moves change in them later, against dense matrices."""

from typing import NamedTuple

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sparsetopics.base.batches import pairs_of
from sparsetopics.inference.learners.learner import Visit
from sparsetopics.model.assignments import Assignments, Patch, TopicChange, overlaid
from sparsetopics.model.statistics import DocumentTerms, Summary
from sparsetopics.model.word_counts import PairCounts
from worlds.dense_responsibilities import dense_of, memoized
from worlds.sparse_worlds import make_world, worlds
from worlds.word_models import start_of, zero_statistics

SEEDS = st.integers(0, 2**32 - 1)
BATCH = 3  # the number of the batch in question


def assignments_in(world):
    return Assignments(world.batch, world.sparse)


def assert_holds(found, dense):
    np.testing.assert_allclose(dense_of(found.responsibilities, dense.shape[1]), dense, atol=1e-6)


def draw_rows(rng, n_pairs, n_topics):
    """New responsibilities, dense and sparse."""
    length = max(n_pairs, 1)
    world = make_world(int(rng.integers(10_000)), [length], length, n_topics)
    return world.dense[:n_pairs], world.sparse.take(np.arange(n_pairs))


class DrawnChange(NamedTuple):
    """A change of topics, and the same for a dense matrix of the batch in question."""

    change: TopicChange
    pairs: np.ndarray  # whose rows are replaced
    rows: np.ndarray

    def of_dense(self, dense):
        after = np.zeros((len(dense), self.change.n_topics))
        for topic, number in enumerate(self.change.new_topics):
            if number >= 0:
                after[:, number] += dense[:, topic]
        after[self.pairs] = self.rows
        return after


def draw_topics(rng, n_topics):
    """Topics go, become one, change places; others are born. New numbers and their number."""
    n_after = int(rng.integers(1, n_topics + 3))
    return rng.integers(-1, n_after, n_topics), n_after


def draw_patch(rng, batch, n_topics):
    """New rows of some documents, in the order of the batch, and the same as a dense array."""
    documents = np.flatnonzero(rng.random(batch.n_docs) < 0.4)
    pairs = pairs_of(batch.indptr, documents)
    rows, sparse = draw_rows(rng, len(pairs), n_topics)
    return Patch(documents, sparse), pairs, rows


def draw_change(rng, batch, n_topics, patched_batch=BATCH):
    """A change that patches ``batch``, if ``patched_batch`` is its number, more often than not."""
    new_topics, n_after = draw_topics(rng, n_topics)
    patch, pairs, rows = draw_patch(rng, batch, n_after)
    patches = {patched_batch: patch} if rng.random() < 0.7 else {}
    if BATCH not in patches:
        pairs, rows = pairs[:0], rows[:0]
    return DrawnChange(TopicChange(new_topics, patches, n_after), pairs, rows)


@given(world=worlds, data=st.data())
def test_documents_are_taken_with_their_rows(world, data):
    chosen = data.draw(st.lists(st.integers(0, world.batch.n_docs - 1), max_size=6))
    documents = np.array(chosen, np.int64)

    found = assignments_in(world).take(documents)

    pairs = pairs_of(world.batch.indptr, documents)
    np.testing.assert_array_equal(found.documents.word_ids, world.batch.word_ids[pairs])
    np.testing.assert_array_equal(found.documents.word_counts, world.batch.word_counts[pairs])
    assert found.documents.n_docs == len(documents)
    assert_holds(found, world.dense[pairs])


@given(world=worlds, seed=SEEDS)
def test_patched_documents_have_new_rows_and_others_their_own(world, seed):
    patch, pairs, rows = draw_patch(np.random.default_rng(seed), world.batch, world.n_topics)

    found = overlaid(world.sparse, world.batch.indptr, patch)

    expected = world.dense.copy()
    expected[pairs] = rows
    np.testing.assert_array_equal(dense_of(found, world.n_topics), expected)
    assert len(found.topics) == np.count_nonzero(expected)


@given(world=worlds, seed=SEEDS, n_changes=st.integers(0, 4))
def test_changes_follow_each_other(world, seed, n_changes):
    rng = np.random.default_rng(seed)
    dense, changes = world.dense, []
    for _ in range(n_changes):
        drawn = draw_change(rng, world.batch, dense.shape[1])
        dense = drawn.of_dense(dense)
        changes.append(drawn.change)

    found = assignments_in(world).changed(changes, BATCH)

    assert_holds(found, dense)
    assert found.documents is world.batch


@given(world=worlds, seed=SEEDS, n_changes=st.integers(2, 4), place=st.integers(0, 4))
def test_changes_may_be_taken_in_any_number_of_steps(world, seed, n_changes, place):
    rng = np.random.default_rng(seed)
    n_topics, changes = world.n_topics, []
    for _ in range(n_changes):
        changes.append(draw_change(rng, world.batch, n_topics).change)
        n_topics = changes[-1].n_topics

    whole = assignments_in(world).changed(changes, BATCH)
    halves = assignments_in(world).changed(changes[:place], BATCH).changed(changes[place:], BATCH)

    assert_holds(halves, dense_of(whole.responsibilities, n_topics))


@given(world=worlds, seed=SEEDS)
def test_patches_of_other_batches_do_not_matter(world, seed):
    drawn = draw_change(np.random.default_rng(seed), world.batch, world.n_topics, BATCH + 1)

    found = assignments_in(world).changed([drawn.change], BATCH)

    assert_holds(found, drawn.of_dense(world.dense))


@given(world=worlds)
def test_arrays_there_and_back(world):
    given = assignments_in(world)

    found = Assignments.from_arrays(given.to_arrays())

    for mine, theirs in zip(found.to_arrays().values(), given.to_arrays().values(), strict=True):
        np.testing.assert_array_equal(mine, theirs)
        assert mine.dtype == theirs.dtype


def visit_in(world, batch_id):
    """A visit; what the terms say does not matter here."""
    counts = PairCounts(world.batch.word_ids, world.batch.word_counts, *world.sparse)
    summary = Summary(counts, DocumentTerms.zeros(world.n_topics))
    return Visit(batch_id, summary, world.batch, world.sparse)


@settings(max_examples=25)
@given(seed=SEEDS, order=st.lists(st.sampled_from(["change", 0, 1, 2]), min_size=1, max_size=9))
def test_batches_take_the_changes_they_have_missed(tmp_path_factory, seed, order):
    """Batches are visited and topics changed in any order; each is as if it had seen all."""
    rng, n_topics = np.random.default_rng(seed), 4
    learner = memoized(tmp_path_factory.mktemp("memo"), False, budget=0, keep_assignments=True)
    state = learner.init(start_of(np.ones((9, n_topics))))
    seen = {}  # batch and dense responsibilities, by batch id
    for what in order:
        if what == "change":
            new_topics, n_topics = draw_topics(rng, n_topics)
            drawn = {
                batch_id: draw_patch(rng, batch, n_topics) for batch_id, (batch, _) in seen.items()
            }
            patches = {batch_id: patch for batch_id, (patch, _, _) in drawn.items()}
            change = TopicChange(new_topics, patches, n_topics)
            for batch_id, (_, pairs, rows) in drawn.items():
                batch, dense = seen[batch_id]
                seen[batch_id] = batch, DrawnChange(change, pairs, rows).of_dense(dense)
            terms = DocumentTerms.zeros(n_topics)  # moves bring them up to date at once
            state = state._replace(
                total=zero_statistics(9, n_topics),
                per_batch={n: kept._replace(terms=terms) for n, kept in state.per_batch.items()},
                changes=(*state.changes, change),
            )
        else:
            world = make_world(int(rng.integers(10_000)), n_topics=n_topics)
            if what in seen:  # the same documents each time
                world = world._replace(batch=seen[what][0])
            state, _ = learner.step_in_place(state, [visit_in(world, what)], None)
            seen[what] = world.batch, world.dense

    assert set(state.per_batch) == set(seen)
    for batch_id, (batch, dense) in seen.items():
        found = state.assignments(batch_id)
        np.testing.assert_array_equal(found.documents.word_ids, batch.word_ids)
        assert_holds(found, dense)


def test_nothing_missed_nothing_changed():
    given = assignments_in(make_world(1))

    assert given.changed([], BATCH) is given
