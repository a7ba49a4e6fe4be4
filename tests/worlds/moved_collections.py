"""Memoized collections after some laps, for tests of moves, and what must hold after each."""

import numpy as np

import reference_hdp
from sparsetopics.execution.executors import Executor
from sparsetopics.inference.course import Hooks, Setting
from sparsetopics.inference.laps import Laps
from sparsetopics.inference.local_step import Parameters
from sparsetopics.inference.moves.ledger import Ledger
from sparsetopics.inference.moves.standing import Standing, Tools
from sparsetopics.inference.moves.word_evidence import CountVariances
from sparsetopics.model.allocations.hdp import HDPAllocation
from sparsetopics.model.likelihoods.words import Words
from sparsetopics.model.memo import Memo
from sparsetopics.model.statistics import DocumentTerms, Statistics, added
from sparsetopics.options.training import LocalOptions, TopicPrior, TrainingOptions
from worlds.bars import ten_bars
from worlds.dense_responsibilities import dense_of, memoized, visit_of
from worlds.simulated_documents import as_source, simulate
from worlds.word_models import globals_of, start_of, zero_statistics

ETA = 0.1

WORLDS = {
    "simulated": lambda seed=1: as_source(simulate(np.random.default_rng(seed), n_docs=150), 30, 4),
    "bars": lambda seed=1: ten_bars(np.random.default_rng(seed), n_docs=150).source(4),
}


def trained(folder, source, n_topics, local, seed, laps=2, *, budget=None):
    """A learner and its state after some memoized laps; the weights follow."""
    rng = np.random.default_rng(seed)
    learner = memoized(folder, False, budget=budget, keep_assignments=True)
    state = learner.init(start_of(rng.gamma(0.3, 10.0, (source.n_columns, n_topics))))
    allocation = HDPAllocation.first(n_topics, source.n_docs, TopicPrior())
    for lap in range(laps):
        every = [np.arange(source.n_batches)]  # whose documents decide together what topics become
        for batch_ids in learner.rounds(state, source.n_batches, rng) if lap else every:
            counts = learner.components(state).table
            current = globals_of(counts, allocation, ETA)
            visits = [visit_of(n, source.read(n), current, local) for n in batch_ids.tolist()]
            state, _ = learner.step_in_place(state, visits, current)
        state = learner.end_lap(state)
        allocation = allocation.updated(learner.terms(state))
    return learner, state, allocation


def table_of(standing):
    """S, (n_words, n_topics)."""
    return standing.state.total.components.table


def make_tools(source, learner, local, seed=0, criterion="bound"):
    rng = np.random.default_rng(seed)
    laps = Laps(source, learner, local, Executor(), lambda n_done, n_docs: None, rng)
    return Tools(laps, criterion)


def setting_of(source, folder, n_topics, moves):
    """What a course of an HDP with these moves is made from."""
    options = TrainingOptions(n_topics, 1_000, model="hdp", moves=moves)
    rng = np.random.default_rng(0)
    return Setting(source, source, options, Executor(), Memo(folder), rng, Hooks())


def standing_of(state, allocation, tools):
    parameters = Parameters(allocation, Words(len(state.total.components.table), ETA))
    return Standing.of(state, parameters, Ledger.new(len(allocation.weights)), tools)


def grown(folder, source, n_topics, local=None, *, seed=2, laps=2, criterion="bound", budget=None):
    """A collection after some laps, its terms those of one prior."""
    local = local or LocalOptions()
    learner, state, allocation = trained(folder, source, n_topics, local, seed, laps, budget=budget)
    tools = make_tools(source, learner, local, seed, criterion)
    return standing_of(state, allocation, tools).refreshed()


def next_lap(standing):
    """Another lap of training, without moves."""
    prior = Parameters(standing.allocation, standing.likelihood)
    tools = standing.tools
    state, prior, _ = tools.laps.run(standing.state, prior)
    ledger = standing.ledger._replace(lap=standing.ledger.lap + 1)
    return Standing.of(state, prior, ledger, tools).refreshed()


def elbo_of(standing):
    """The whole-data ELBO in nats, whatever criterion moves follow."""
    of_data = standing.likelihood.log_evidence(standing.state.total.components).sum()
    return float(of_data) + standing.allocation.elbo(standing.terms)


def with_tools(standing, **changed):
    """The collection with other tools of moves."""
    return standing._replace(tools=standing.tools._replace(**changed))


def twin_bound(standing):
    """The ELBO of plain numpy, from the assignments, with active θ frozen under the reference."""
    visits, active = [], []
    sticks, reference = standing.allocation.sticks, standing.reference
    for _, (batch, found) in standing.assignments():
        dense = dense_of(found, len(reference))
        dense /= dense.sum(axis=1, keepdims=True)
        visit = reference_hdp.Visit(batch, dense, None)
        counts = reference_hdp.doc_topic_counts(visit)
        theta = counts + np.append(reference, 1.0)  # the tail's is not read
        visits.append(visit._replace(doc_topic_posterior=theta))
        active.append(counts[:, :-1] > 0)
    n_words = len(table_of(standing))
    words = sum(reference_hdp.reference_lda.word_counts(visit, n_words) for visit in visits)
    prior = reference_hdp.Prior(sticks.top_concentration, sticks.doc_concentration, ETA)
    return reference_hdp.elbo_following_tangents(
        visits, active, words + ETA, (sticks.means, sticks.concentrations), prior
    )


def assert_sums(learner, state):
    """The total is the sum of the batches, and each batch's counts are those of its assignments."""
    n_words, n_topics = state.total.components.table.shape
    recalled = [learner.recall(state, batch_id) for batch_id in sorted(state.per_batch)]
    total = Statistics.sum(recalled, zero_statistics(n_words, n_topics))
    np.testing.assert_allclose(
        state.total.components.table, total.components.table, rtol=1e-5, atol=1e-4
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
        own = standing.allocation.sum_terms(assignments, standing.reference, Executor())
        kept = standing.state.per_batch[batch_id].terms
        for found, wanted in zip(kept, own, strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=rounding)
        expected = added(expected, own)
    for found, wanted in zip(standing.terms, expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=rounding)


def assert_spread(standing):
    """What the criterion adds is that of the assignments."""
    fresh = CountVariances.zeros(*table_of(standing).shape)
    for _, assignments in standing.assignments():
        fresh.add(*assignments, standing.reference)
    expected = fresh.word_corrections(table_of(standing), ETA)
    np.testing.assert_allclose(standing.evidence.scores.corrections, expected, rtol=1e-5, atol=1e-2)
    np.testing.assert_allclose(
        standing.evidence.spread.doc_corrections, fresh.doc_corrections, rtol=1e-5, atol=1e-2
    )
    assert (expected + fresh.doc_corrections).min() > -1e-3  # lnΓ is convex


def assert_sound(standing):
    """All of the above, every token once, and as many names as topics."""
    laps = standing.tools.laps
    assert_sums(laps.learner, standing.state)
    assert_terms(standing)
    if standing.evidence.spread is not None:
        assert_spread(standing)
    np.testing.assert_allclose(table_of(standing).sum(), laps.source.n_tokens, rtol=1e-6)
    assert len(standing.allocation.weights) == len(standing.ledger.ids) == standing.n_topics
    assert table_of(standing).shape[1] == standing.n_topics
    assert len(set(standing.ledger.ids.tolist())) == standing.n_topics


def bytes_of(standing):
    """All that a collection is but its ledger, as it is now."""
    arrays = [*standing.terms, table_of(standing), standing.reference]
    arrays += [standing.allocation.sticks.means, standing.allocation.sticks.concentrations]
    for batch_id in sorted(standing.state.per_batch):
        arrays += list(standing.state.per_batch[batch_id].terms)
        arrays += standing.state.assignments(batch_id).to_arrays().values()
    return [np.asarray(array).tobytes() for array in arrays]
