"""Moves change the number of topics and nothing else: every sum is what the documents say.

After each phase everything is recomputed from the assignments alone, by plain numpy.
"""

import itertools

import numpy as np
import pytest

import reference_hdp
from bars import ten_bars
from dense_responsibilities import dense_of, memoized, visit_of
from simulated_documents import as_source, simulate
from sparsetopics.allocations.hdp import HDPAllocation
from sparsetopics.executors import SerialExecutor
from sparsetopics.laps import Laps, Prior
from sparsetopics.learners.memoized import assignments_of
from sparsetopics.local_step import TopicGlobals, sum_terms
from sparsetopics.moves import merge
from sparsetopics.moves.ledger import Ledger
from sparsetopics.moves.phase import make_moves
from sparsetopics.moves.standing import Standing, Tools, elbo_of, refreshed
from sparsetopics.options import LocalOptions
from sparsetopics.spread import Spread
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
    prior = reference_hdp.Prior(sticks.top_concentration, sticks.doc_concentration, ETA)
    return reference_hdp.elbo_following_tangents(
        visits, active, words + ETA, (sticks.means, sticks.concentrations), prior
    )


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


def assert_terms(standing):
    """All terms are those of the assignments under one reference.

    Shares are float32, and those of merged topics are added up in another order when a batch is
    read: each may be off by 1e-7.
    """
    rounding = 1e-7 * standing.terms.n_tokens
    expected = DocumentTerms.zeros(standing.n_topics)
    for batch_id, assignments in standing.assignments():
        own = sum_terms(*assignments, standing.reference, standing.tail, SerialExecutor())
        kept = standing.state.per_batch[batch_id].terms
        for found, wanted in zip(kept, own, strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=rounding)
        expected = added(expected, own)
    for found, wanted in zip(standing.terms, expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=rounding)


def make_tools(source, learner, local, seed=0, criterion="bound"):
    laps = Laps(source, learner, local, SerialExecutor(), lambda n_done, n_docs: None)
    return Tools(laps, np.random.default_rng(seed), criterion)


def standing_of(state, allocation):
    return Standing.of(state, Prior(allocation, ETA), Ledger.new(len(allocation.weights)))


WORLDS = {
    "simulated": lambda: as_source(simulate(np.random.default_rng(1), n_docs=150), 30, 4),
    "bars": lambda: ten_bars(np.random.default_rng(1), n_docs=150).source(4),
}


# Whether a share gets too small depends on the case (test_spread.test_tiny_shares_are_no_harm).
TINY_SHARES = pytest.mark.xfail(raises=ZeroDivisionError, strict=False, reason="1 − r is 1")


@pytest.mark.parametrize("world", WORLDS)
@PHASES
@UPDATES
@pytest.mark.parametrize(
    ("sparsity", "criterion"),
    [
        (None, "bound"),
        (2, "bound"),
        (40, "bound"),
        pytest.param(None, "collapsed", marks=TINY_SHARES),
    ],
)
def test_a_phase_raises_the_score_and_keeps_the_sums(
    tmp_path, world, names, update, sparsity, criterion
):
    source, local = WORLDS[world](), LocalOptions(update, sparsity)
    n_topics = 1 if names == ("birth",) else 12
    learner, state, allocation = trained(tmp_path, source, n_topics, local, seed=2)
    tools = make_tools(source, learner, local, criterion=criterion)
    before = refreshed(standing_of(state, allocation), tools)

    moved, tallies = make_moves(before, names, tools)

    assert moved.score >= before.score - 1e-8 * abs(before.score)
    assert_sums(learner, moved.state)
    assert_terms(moved)
    assert moved.counts.sum() == pytest.approx(source.n_tokens, rel=1e-6)
    assert len(moved.allocation.weights) == len(moved.ledger.ids) == moved.counts.shape[1]
    assert len(set(moved.ledger.ids.tolist())) == moved.n_topics
    accepted = sum(tally.accepted for name, tally in tallies.items() if name != "reorder")
    assert accepted > 0 or moved.n_topics == n_topics
    assert (moved.spread is None) == (criterion == "bound")
    if moved.spread is not None:
        fresh = Spread.zeros(*moved.counts.shape)
        for _, assignments in moved.assignments():
            fresh.add(assignments, moved.reference)
        expected = fresh.corrections(moved.counts, ETA)
        np.testing.assert_allclose(moved.corrections, expected, rtol=1e-5, atol=1e-2)
        assert expected.min() > -1e-3  # lnΓ is convex


@PHASES
@UPDATES
@pytest.mark.parametrize("seed", range(2))
def test_the_bound_after_a_phase_is_that_of_plain_numpy(tmp_path, names, update, seed):
    """To 1e-7, for float32's sake; once under the weights of θ, once under others."""
    source, local = WORLDS["bars"](), LocalOptions(update)
    n_topics = 1 if names == ("birth",) else 12
    learner, state, allocation = trained(tmp_path, source, n_topics, local, seed)
    tools = make_tools(source, learner, local, seed)

    moved, tallies = make_moves(standing_of(state, allocation), names, tools)

    assert sum(tally.accepted for tally in tallies.values()) > 0
    for standing in (moved, refreshed(moved, tools)):
        expected = twin_bound(
            standing.state, standing.allocation, source.n_words, standing.reference
        )
        assert standing.elbo == pytest.approx(expected, rel=1e-7)
        assert standing.elbo >= moved.elbo


@UPDATES
def test_merges_find_identical_topics(tmp_path, update):
    """Every topic of a good fit is cut into two halves that share all tokens: all pairs merge."""
    source, local = WORLDS["bars"](), LocalOptions(update)
    learner, state, allocation = trained(tmp_path, source, 12, local, seed=3, laps=4)
    tools = make_tools(source, learner, local)
    whole, _ = make_moves(standing_of(state, allocation), ("merge", "delete"), tools)
    halves = standing_of(*halved(whole.state, whole.allocation))

    moved, tallies = make_moves(halves, ("merge",), tools)

    assert halves.n_topics == 2 * whole.n_topics
    assert moved.n_topics <= whole.n_topics
    assert tallies["merge"].accepted >= whole.n_topics
    assert halves.elbo < whole.elbo
    assert moved.elbo >= whole.elbo - 1e-6 * abs(whole.elbo)


@UPDATES
def test_planned_gains_are_near_the_exact_ones(tmp_path, update):
    """Within some nats for every pair, at the sticks as they are: merges are planned by them."""
    source, local = WORLDS["bars"](), LocalOptions(update)
    learner, state, allocation = trained(tmp_path, source, 12, local, seed=2, laps=3)
    tools = make_tools(source, learner, local)
    standing = refreshed(refreshed(standing_of(state, allocation), tools), tools)

    gains = merge.pair_gains(standing)

    assert not np.tril(gains).any()
    exact = np.zeros_like(gains)
    for pair in itertools.combinations(range(standing.n_topics), 2):
        exact[pair] = merged_elbo(standing, *pair) - standing.elbo
    np.testing.assert_allclose(gains, exact, atol=5.0)
    assert np.abs(exact).max() > 100.0


def merged_elbo(standing, kept, absorbed):
    """The bound with two topics as one and nothing else changed, from the assignments."""
    number = np.arange(standing.n_topics)
    number[absorbed] = kept
    number = number - (number > absorbed)
    allocation = standing.allocation.merged(kept, absorbed)
    reference = np.bincount(number, standing.reference)
    terms = DocumentTerms.zeros(len(reference))
    for _, (batch, found) in standing.assignments():
        own = sum_terms(batch, found.renumbered(number), reference, standing.tail, SerialExecutor())
        terms = added(terms, own)
    counts = np.delete(standing.counts, absorbed, axis=1)
    counts[:, number[kept]] += standing.counts[:, absorbed]
    return elbo_of(counts, ETA, terms, allocation)


def halved(state, allocation):
    """Every topic as two equal ones beside each other; each document's words use both alike."""
    n_topics = state.total.word_topic_counts.shape[1]
    allocation = allocation.branched(np.repeat(np.arange(n_topics), 2))
    per_batch, total = {}, DocumentTerms.zeros(2 * n_topics)
    for batch_id in sorted(state.per_batch):
        batch, found = assignments_of(state, batch_id)
        twice = found._replace(
            starts=2 * found.starts,
            topics=np.stack([2 * found.topics, 2 * found.topics + 1], 1).ravel().astype(np.uint32),
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
    counts = np.repeat(state.total.word_topic_counts / 2, 2, axis=1)
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
    tools, ledger = make_tools(source, learner, local), Ledger.new(15)
    for lap in range(4):
        standing = Standing.of(state, Prior(allocation, ETA), ledger._replace(lap=lap))
        standing, _ = make_moves(standing, ("merge", "delete", "birth"), tools)
        assert_sums(learner, standing.state)
        assert_terms(standing)
        allocation, ledger = standing.allocation, standing.ledger
        visit = visit_of(lap % 4, source.read(lap % 4), standing.current, local)
        state, _ = learner.step(standing.state, [visit], standing.current)
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
            ledger = ledger.refused("delete", 50.0, 0)
        assert ledger.may_try("birth", 1.0)

    assert (np.diff(np.diff(tried)) > 0).all()
    assert 3 <= len(tried) < 8
    assert len(ledger.eligible("delete", np.array([70.0]))) == 1  # it has grown
    assert ledger.may_try("delete", 50.0)  # the whole is another matter
