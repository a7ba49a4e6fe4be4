"""Moves change the number of topics and nothing else: every sum is what the documents say.

After each phase everything is recomputed from the assignments alone, by plain numpy.
"""

import itertools

import numpy as np
import pytest

import reference_hdp
from bars import ten_bars
from dense_responsibilities import dense_of, memoized, visit_of
from reference_hdp import Prior
from simulated_documents import as_source, simulate
from sparsetopics.allocations.hdp import HDPAllocation
from sparsetopics.executors import SerialExecutor
from sparsetopics.learners.memoized import assignments_of
from sparsetopics.local_step import TopicGlobals, sum_terms
from sparsetopics.moves.ledger import Ledger
from sparsetopics.moves.phase import make_moves
from sparsetopics.moves.standing import Standing, Tools, elbo_of, refreshed
from sparsetopics.options import LocalOptions
from sparsetopics.statistics import DocumentTerms, Statistics, added

ETA = 0.1
PHASES = pytest.mark.parametrize(
    "names", [("merge",), ("delete",), ("birth",), ("merge", "delete", "birth")], ids="+".join
)
UPDATES = pytest.mark.parametrize("update", ["collapsed", "mean-field"])


def trained(folder, source, n_topics, local, seed, laps=2):
    """A learner and its state after some memoized laps; the weights follow."""
    rng = np.random.default_rng(seed)
    learner = memoized(folder, False, whole_first_lap=True, keep_assignments=True)
    state = learner.init(rng.gamma(0.3, 10.0, (source.n_words, n_topics)))
    allocation = HDPAllocation.even(n_topics, source.n_docs, 10.0, 0.5)
    for _ in range(laps):
        for batch_ids in learner.rounds(state, source.n_batches, rng):
            counts = learner.word_topic_counts(state)
            current = TopicGlobals(counts, counts.sum(axis=0), allocation, ETA)
            visits = [visit_of(n, source.read(n), current, local) for n in batch_ids.tolist()]
            state, _ = learner.step(state, visits, current)
        state = learner.end_lap(state)
        allocation = allocation.updated(learner.document_terms(state))
    return learner, state, allocation


def twin_bound(state, allocation, n_words, reference):
    """The ELBO of plain numpy, from the assignments, with active θ frozen under ``reference``."""
    visits, active = [], []
    sticks = allocation.sticks
    for batch_id in sorted(state.per_batch):
        batch, found = assignments_of(state, batch_id)
        dense = dense_of(found, len(reference))
        dense /= dense.sum(axis=1, keepdims=True)
        visit = reference_hdp.Visit(batch, dense, None)
        counts = reference_hdp.doc_topic_counts(visit)
        theta = counts + np.append(reference, 1.0)  # the tail's is not read
        visits.append(visit._replace(doc_topic_posterior=theta))
        active.append(counts[:, :-1] > 0)
    words = sum(reference_hdp.reference_lda.word_counts(visit, n_words) for visit in visits)
    prior = Prior(sticks.top_concentration, sticks.doc_concentration, ETA)
    return reference_hdp.elbo_following_tangents(
        visits, active, words + ETA, (sticks.means, sticks.concentrations), prior
    )


def bound_of(state, allocation):
    return elbo_of(state.total.word_topic_counts, ETA, state.total.terms, allocation)


def assert_sums(learner, state):
    """The total is the sum of the batches, and each batch's counts are those of its assignments."""
    n_words, n_topics = state.total.word_topic_counts.shape
    recalled = [learner.recall(state, batch_id) for batch_id in sorted(state.per_batch)]
    total = Statistics.sum(recalled, n_words, n_topics)
    np.testing.assert_allclose(
        state.total.word_topic_counts, total.word_topic_counts, rtol=1e-5, atol=1e-4
    )
    for found, expected in zip(state.total.terms, total.terms, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-6)


def assert_terms(state, total_concentration):
    """All terms are those of the assignments under one reference, which the terms themselves tell.

    Σ_d (N_dk − θ_dk) ψ(θ_dk) is −reference_k times Σ_d ψ(θ_dk). Shares are float32, and those of
    merged topics are added up in another order when a batch is read: each may be off by 1e-7.
    """
    terms = state.total.terms
    rounding = 1e-7 * terms.n_tokens
    used = terms.active_documents > 0
    reference = np.full(len(used), 1e-3)
    reference[used] = -terms.frozen_slack[used] / terms.summed_digamma[used]
    tail = total_concentration - reference.sum()
    expected = DocumentTerms.zeros(len(used))
    for batch_id in sorted(state.per_batch):
        own = sum_terms(*assignments_of(state, batch_id), reference, tail, SerialExecutor())
        kept = state.per_batch[batch_id].terms
        for found, wanted in zip(kept, own, strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=rounding)
        expected = added(expected, own)
    for found, wanted in zip(terms, expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=rounding)


def phase(state, allocation, names, local, seed=0, ledger=None):
    n_topics = state.total.word_topic_counts.shape[1]
    tools = Tools(local, SerialExecutor(), np.random.default_rng(seed))
    ledger = Ledger.new(n_topics) if ledger is None else ledger
    return make_moves(state, allocation, ETA, ledger, names, tools)


WORLDS = {
    "simulated": lambda: as_source(simulate(np.random.default_rng(1), n_docs=150), 30, 4),
    "bars": lambda: ten_bars(np.random.default_rng(1), n_docs=150).source(4),
}


@pytest.mark.parametrize("world", WORLDS)
@PHASES
@UPDATES
@pytest.mark.parametrize("sparsity", [None, 2, 40])
def test_a_phase_raises_the_bound_and_keeps_the_sums(tmp_path, world, names, update, sparsity):
    """To 1e-7 of plain numpy: shares and word counts are float32, sums are in double precision."""
    source, local = WORLDS[world](), LocalOptions(update, sparsity)
    n_topics = 1 if names == ("birth",) else 12
    learner, state, allocation = trained(tmp_path, source, n_topics, local, seed=2)
    before = bound_of(state, allocation)

    moved = phase(state, allocation, names, local)

    after = bound_of(moved.state, moved.allocation)
    assert after >= before - 1e-8 * abs(before)
    assert_sums(learner, moved.state)
    assert_terms(moved.state, 0.5)
    assert moved.state.total.word_topic_counts.sum() == pytest.approx(source.n_tokens, rel=1e-6)
    n_after = moved.state.total.word_topic_counts.shape[1]
    assert len(moved.allocation.weights) == len(moved.ledger.ids) == n_after
    assert len(set(moved.ledger.ids.tolist())) == n_after
    accepted = sum(tally.accepted for name, tally in moved.tallies.items() if name != "reorder")
    assert accepted > 0 or n_after == n_topics


@PHASES
@UPDATES
@pytest.mark.parametrize("seed", range(2))
def test_the_bound_after_a_phase_is_that_of_plain_numpy(tmp_path, names, update, seed):
    """Once with θ under the weights as they are, once under others, to 1e-7 for float32's sake."""
    source, local = WORLDS["bars"](), LocalOptions(update)
    _, state, allocation = trained(tmp_path, source, 1 if names == ("birth",) else 12, local, seed)
    moved = phase(state, allocation, names, local, seed)
    tools = Tools(local, SerialExecutor(), np.random.default_rng(0))
    weights = moved.allocation.doc_concentration
    standing = Standing(moved.state, moved.allocation, ETA, weights, moved.ledger)
    after = bound_of(moved.state, moved.allocation)

    fresh = refreshed(standing, tools)

    assert sum(tally.accepted for tally in moved.tallies.values()) > 0
    for each in (moved.allocation, fresh.allocation):
        found = bound_of(fresh.state, each)
        expected = twin_bound(fresh.state, each, source.n_words, fresh.reference)
        assert found == pytest.approx(expected, rel=1e-7)
        assert found >= after - 1e-8 * abs(after)


@UPDATES
def test_merges_find_identical_topics(tmp_path, update):
    """Every topic of a good fit is cut into two halves that share all tokens: all pairs merge."""
    source, local = WORLDS["bars"](), LocalOptions(update)
    _, state, allocation = trained(tmp_path, source, 12, local, seed=3, laps=4)
    state, allocation, *_ = phase(state, allocation, ("merge", "delete"), local)
    n_topics = state.total.word_topic_counts.shape[1]
    halves = halved(state, allocation)

    moved = phase(*halves, ("merge",), local)

    assert halves[0].total.word_topic_counts.shape[1] == 2 * n_topics
    assert moved.state.total.word_topic_counts.shape[1] <= n_topics
    assert moved.tallies["merge"].accepted >= n_topics
    whole = bound_of(state, allocation)
    assert bound_of(*halves) < whole
    assert bound_of(moved.state, moved.allocation) >= whole - 1e-6 * abs(whole)


def halved(state, allocation):
    """Every topic as two equal ones, k and K + k; each document's words use both alike."""
    n_topics = state.total.word_topic_counts.shape[1]
    for topic in range(n_topics):
        allocation = allocation.split(topic, np.array([0.5]))
    per_batch, total = {}, DocumentTerms.zeros(2 * n_topics)
    for batch_id in sorted(state.per_batch):
        batch, found = assignments_of(state, batch_id)
        twice = found._replace(
            starts=2 * found.starts,
            topics=np.stack([found.topics, found.topics + np.uint32(n_topics)], 1).ravel(),
            shares=np.repeat(found.shares / 2, 2),
        )
        terms = sum_terms(
            batch, twice, allocation.doc_concentration, allocation.tail, SerialExecutor()
        )
        kept = state.per_batch[batch_id]
        arrays = {**kept.stored.load(), **twice._asdict(), **batch_arrays(batch)}
        per_batch[batch_id] = kept._replace(
            stored=_Stored(arrays), terms=terms, n_changes=len(state.changes)
        )
        total = added(total, terms)
    counts = np.tile(state.total.word_topic_counts / 2, 2)
    return state._replace(per_batch=per_batch, total=Statistics(counts, total)), allocation


def batch_arrays(batch):
    return {
        "indptr": batch.indptr,
        "word_ids": batch.word_ids,
        "word_counts": batch.word_counts,
    }


class _Stored:
    def __init__(self, arrays):
        self.arrays = arrays

    def load(self):
        return self.arrays

    def discard(self):
        pass


def test_many_phases_between_visits_are_replayed(tmp_path):
    """Batches that were last visited long ago say the same as if each phase had touched them."""
    source, local = WORLDS["bars"](), LocalOptions()
    learner, state, allocation = trained(tmp_path, source, 15, local, seed=4)
    ledger = None
    for lap in range(4):
        moved = phase(state, allocation, ("merge", "delete", "birth"), local, lap, ledger)
        state, allocation = moved.state, moved.allocation
        ledger = moved.ledger._replace(lap=moved.ledger.lap + 1)
        assert_sums(learner, state)
        assert_terms(state, 0.5)
        counts = learner.word_topic_counts(state)
        current = TopicGlobals(counts, counts.sum(axis=0), allocation, ETA)
        state, _ = learner.step(
            state, [visit_of(lap % 4, source.read(lap % 4), current, local)], current
        )
        assert_sums(learner, state)

    resummed = learner.end_lap(state)
    np.testing.assert_allclose(
        resummed.total.word_topic_counts, state.total.word_topic_counts, rtol=1e-5, atol=1e-4
    )


def test_ids_are_never_used_again():
    ledger, seen = Ledger.new(4), set(range(4))
    rng = np.random.default_rng(0)
    for _ in range(30):
        n_topics = len(ledger.ids)
        n_after = int(rng.integers(1, 8))
        new_topics = rng.integers(-1, n_after, n_topics)
        after = ledger.renumbered(new_topics, n_after)

        for number in range(n_after):
            parents = np.flatnonzero(new_topics == number)
            if len(parents):
                assert after.ids[number] == ledger.ids[parents[0]]
            else:
                assert after.ids[number] not in seen
        seen |= set(after.ids.tolist())
        assert len(set(after.ids.tolist())) == n_after
        ledger = after
    assert all(a < b for a, b in itertools.pairwise(sorted(seen)))


def test_a_refused_topic_is_left_alone_for_ever_longer():
    ledger, tried = Ledger.new(1), []
    for lap in range(1, 80):
        ledger = ledger._replace(lap=lap)
        if len(ledger.eligible("delete", np.array([50.0]))):
            tried.append(lap)
            ledger = ledger.refused("delete", 0, 50.0)
        assert len(ledger.eligible("birth", np.array([50.0]))) == 1

    pauses = np.diff(tried)
    assert (np.diff(pauses) > 0).all()
    assert len(tried) < 8
    assert len(ledger.eligible("delete", np.array([70.0]))) == 1  # it has grown
