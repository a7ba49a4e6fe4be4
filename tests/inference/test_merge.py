"""Merges: what they plan, which pairs they find, and that a split undoes them."""

import itertools

import numpy as np
import pytest

from sparsetopics.execution.executors import Executor
from sparsetopics.inference.moves import merge
from sparsetopics.inference.moves.merge import merge_topics
from sparsetopics.model.allocations.documents import sum_terms
from sparsetopics.model.assignments import Assignments
from sparsetopics.model.likelihoods import words
from sparsetopics.model.statistics import DocumentTerms, Statistics, added
from sparsetopics.model.word_counts import WordCounts
from sparsetopics.options.training import LocalOptions
from worlds.moved_collections import (
    ETA,
    WORLDS,
    assert_sound,
    bytes_of,
    elbo_of,
    grown,
    standing_of,
    table_of,
)

UPDATES = pytest.mark.parametrize("update", ["collapsed", "mean-field"])
CRITERIA = pytest.mark.parametrize("criterion", ["bound", "collapsed"])


def whole_and_halves(folder, update, criterion="bound"):
    """A good fit, and the same with every topic cut into two equal halves."""
    whole = grown(
        folder, WORLDS["bars"](), 12, LocalOptions(update), seed=3, laps=4, criterion=criterion
    )
    for _ in range(3):
        whole, _ = merge_topics(settled(whole))
    return whole, halved(whole).refreshed()


def settled(standing, rounds=30):
    """Weights and θ at their optimum."""
    for _ in range(rounds):
        standing = standing.refreshed()
    return standing


def halved(standing):
    """Every topic as two equal ones beside each other; each document's words use both alike."""
    state, n_topics = standing.state, standing.n_topics
    allocation = standing.allocation.branched(np.repeat(np.arange(n_topics), 2))
    per_batch, total = {}, DocumentTerms.zeros(2 * n_topics)
    for batch_id in sorted(state.per_batch):
        batch, found = state.assignments(batch_id)
        twice = found._replace(
            starts=2 * found.starts,
            topics=np.stack([2 * found.topics, 2 * found.topics + 1], 1).ravel().astype(np.uint32),
            shares=np.repeat(found.shares / 2, 2),
        )
        terms = sum_terms(batch, twice, allocation.doc_concentration, allocation.tail, Executor())
        kept = state.per_batch[batch_id]
        arrays = {**kept.stored.load(lambda arrays: None), **twice._asdict(), **batch_arrays(batch)}
        per_batch[batch_id] = kept._replace(
            stored=_Stored(arrays), terms=terms, n_changes=len(state.changes)
        )
        total = added(total, terms)
    counts = np.repeat(table_of(standing) / 2, 2, axis=1)
    state = state._replace(per_batch=per_batch, total=Statistics(WordCounts(counts), total))
    return standing_of(state, allocation, standing.tools)


def batch_arrays(batch):
    return {
        "indptr": batch.indptr,
        "word_ids": batch.word_ids,
        "word_counts": batch.word_counts,
    }


class _Stored:
    def __init__(self, arrays):
        self.arrays = arrays

    def load(self, check):
        return self.arrays

    def discard(self):
        pass


@UPDATES
@CRITERIA
def test_identical_topics_are_merged(tmp_path, update, criterion):
    """All tokens are shared by two halves: every pair becomes one again."""
    whole, halves = whole_and_halves(tmp_path, update, criterion)

    merged, tally = merge_topics(halves)

    assert halves.n_topics == 2 * whole.n_topics
    assert merged.n_topics <= whole.n_topics
    assert tally.accepted == halves.n_topics - merged.n_topics
    assert halves.score < whole.score
    assert merged.score >= whole.score - 1e-6 * abs(whole.score)
    assert_sound(merged)


@UPDATES
def test_splitting_merged_topics_restores_the_bound(tmp_path, update):
    _, halves = whole_and_halves(tmp_path, update)
    halves = settled(halves)
    merged, _ = merge_topics(halves)

    again = settled(halved(merged).refreshed())

    assert merged.n_topics == halves.n_topics // 2
    assert elbo_of(merged) > elbo_of(halves) + 100.0
    assert elbo_of(again) == pytest.approx(elbo_of(halves), rel=1e-6)


@UPDATES
@CRITERIA
def test_topics_that_differ_are_left_alone(tmp_path, update, criterion):
    """Merged until nothing is better: another call proposes at most, and changes nothing."""
    whole, _ = whole_and_halves(tmp_path, update, criterion)
    whole, _ = merge_topics(whole)
    before = bytes_of(whole)

    after, tally = merge_topics(whole)

    assert after is whole
    assert tally.accepted == 0
    assert bytes_of(after) == before


def test_plans_are_disjoint_pairs_the_best_first(tmp_path):
    _, halves = whole_and_halves(tmp_path, "collapsed")

    pairs = merge.disjoint_pairs(merge.pair_gains(halves), least=-merge.HOPE)

    gains = merge.pair_gains(halves)
    of_pairs = gains[pairs[:, 0], pairs[:, 1]]
    assert (pairs[:, 0] < pairs[:, 1]).all()
    assert len(np.unique(pairs)) == pairs.size
    assert (np.diff(of_pairs) <= 0).all()
    assert of_pairs[0] == gains[np.triu_indices(halves.n_topics, 1)].max()
    assert of_pairs.min() > -merge.HOPE


@UPDATES
def test_planned_gains_are_near_the_exact_ones(tmp_path, update):
    """Within some nats for every pair, at the sticks as they are: merges are planned by them."""
    standing = grown(tmp_path, WORLDS["bars"](), 12, LocalOptions(update), laps=3)
    standing = standing.refreshed()

    gains = merge.pair_gains(standing)

    assert np.isneginf(gains[np.tril_indices(standing.n_topics)]).all()
    exact = np.full_like(gains, -np.inf)
    for pair in itertools.combinations(range(standing.n_topics), 2):
        exact[pair] = merged_elbo(standing, *pair) - elbo_of(standing)
    np.testing.assert_allclose(gains, exact, atol=5.0)
    assert np.abs(exact[np.triu_indices(standing.n_topics, 1)]).max() > 100.0


def merged_elbo(standing, kept, absorbed):
    """The bound with two topics as one and nothing else changed, from the assignments."""
    number = np.arange(standing.n_topics)
    number[absorbed] = kept
    number = number - (number > absorbed)
    allocation = standing.allocation.joined(number, standing.n_topics - 1)
    reference = np.bincount(number, standing.reference)
    terms = DocumentTerms.zeros(len(reference))
    for _, (batch, found) in standing.assignments():
        joint = Assignments(batch, found.renumbered(number))
        terms = added(terms, standing.allocation.sum_terms(joint, reference, Executor()))
    counts = np.delete(table_of(standing), absorbed, axis=1)
    counts[:, number[kept]] += table_of(standing)[:, absorbed]
    return words.evidence_by_topic(counts, ETA).sum() + allocation.elbo(terms)


def test_the_last_topic_has_nothing_to_merge_with(tmp_path):
    standing = grown(tmp_path, WORLDS["simulated"](), 1)

    after, tally = merge_topics(standing)

    assert after is standing
    assert tally == (0, 0)
