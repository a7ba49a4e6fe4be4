"""The ELBO against known values, plain numpy, brute force and conservation laws."""

import json
from pathlib import Path

import numpy as np
import pytest

import reference_lda
from reference_lda import Visit
from sparsetopics.base.batches import DocumentBatch
from sparsetopics.execution.executors import Executor
from sparsetopics.inference.document_step import fit_documents
from sparsetopics.inference.local_step import batch_bound, elbo
from sparsetopics.model.allocations.lda import LDAAllocation
from sparsetopics.model.likelihoods import words
from sparsetopics.model.statistics import Statistics
from sparsetopics.options.training import LocalOptions
from worlds.dense_responsibilities import dense_of, memoized, summary_of_dense, visit_of
from worlds.dense_responsibilities import lda_globals as make_globals
from worlds.simulated_documents import batch_of_counts, simulate
from worlds.word_models import start_of, zero_statistics

ORACLE = json.loads((Path(__file__).parents[1] / "data" / "oracle_lda.json").read_text())
N_WORDS, N_TOPICS = 30, 5


def summary_of(visit, n_words):
    """A summary made from dense responsibilities by the engine's own sums."""
    allocation = LDAAllocation(visit.doc_concentration)
    return summary_of_dense(visit.batch, visit.responsibilities, allocation, n_words)


def local_step(batch, current, options):
    return fit_documents(batch, current, options, Executor())


def oracle_visit():
    batch = DocumentBatch(
        np.array(ORACLE["indptr"]),
        np.array(ORACLE["word_ids"], np.int32),
        np.array(ORACLE["counts"], np.float32),
    )
    alpha = np.full(4, ORACLE["alpha_total"] / 4)
    return Visit(batch, np.array(ORACLE["responsibilities"]), alpha)


def test_elbo_equals_the_oracle():
    """``oracle_lda.json``: a tiny case with the value that bnpy 0.1.7 computes for it."""
    visit, eta = oracle_visit(), ORACLE["eta"]
    posterior = np.array(ORACLE["topic_word_posterior"])
    current = make_globals(posterior.T - eta, visit.doc_concentration, eta)
    summary = summary_of(visit, ORACLE["n_words"])
    statistics = Statistics.sum([summary], zero_statistics(ORACLE["n_words"], 4))

    found = elbo(statistics, current) / visit.batch.n_tokens

    assert found == pytest.approx(ORACLE["elbo_per_token"], rel=0, abs=1e-12)
    theta = reference_lda.doc_topic_counts(visit) + visit.doc_concentration
    np.testing.assert_allclose(theta, ORACLE["theta"], rtol=1e-12)


def test_the_plain_twin_equals_the_oracle():
    visit = oracle_visit()
    posterior = np.array(ORACLE["topic_word_posterior"])

    found = reference_lda.elbo([visit], posterior, visit.doc_concentration, ORACLE["eta"])

    expected = ORACLE["elbo_per_token"] * visit.batch.n_tokens
    assert found == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("keep_assignments", [False, True])
@pytest.mark.parametrize("update", ["mean-field", "collapsed"])
@pytest.mark.parametrize("sparsity", [1, 2, N_TOPICS])
@pytest.mark.parametrize("seed", [0, 1])
def test_elbo_of_real_steps_equals_plain_numpy(tmp_path, update, sparsity, seed, keep_assignments):
    """Memoized laps with another α at every visit: each batch's θ keeps its own.

    Shares are stored as float32, so that those of a word add up to one but for some 1e-8: the
    twin, whose θ_d is their sum, and the engine, which knows the length, differ by as much.
    """
    rng = np.random.default_rng(seed)
    whole, eta = simulate(rng, n_words=N_WORDS), float(rng.choice([0.02, 0.1, 1.0]))
    batches = [whole.take(part) for part in np.array_split(np.arange(whole.n_docs), 3)]
    learner = memoized(tmp_path, update == "mean-field", keep_assignments=keep_assignments)
    state = learner.init(start_of(rng.gamma(1.0, 1.0, (N_WORDS, N_TOPICS))))
    options = LocalOptions(update, sparsity)
    visits = {}
    for batch_id in (0, 1, 2, 1, 0, 2, 2):
        alpha = rng.uniform(0.01, 0.6, N_TOPICS)
        current = make_globals(learner.components(state).table, alpha, eta)
        visit = visit_of(batch_id, batches[batch_id], current, options)
        state, kept_old = learner.step_in_place(state, [visit], current)
        if not kept_old:
            dense = dense_of(visit.responsibilities, N_TOPICS)
            visits[batch_id] = Visit(batches[batch_id], dense, alpha)

    statistics = learner.statistics(learner.end_lap(state))
    found = elbo(statistics, make_globals(statistics.components.table, alpha, eta))

    given = (list(visits.values()), statistics.components.table.T + eta, alpha, eta)
    assert found == pytest.approx(reference_lda.elbo(*given, stored=np.float32), rel=5e-9)
    assert found == pytest.approx(reference_lda.elbo(*given), rel=1e-8)


def test_elbo_with_topics_not_at_their_optimum_equals_plain_numpy():
    """As under the stochastic learner: λ is not S + η."""
    rng = np.random.default_rng(5)
    batch, alpha = simulate(rng, n_docs=8), rng.uniform(0.1, 1.0, N_TOPICS)
    visit = Visit(batch, rng.dirichlet(np.ones(N_TOPICS), batch.n_pairs), alpha)
    current = make_globals(rng.gamma(1.0, 1.0, (N_WORDS, N_TOPICS)), alpha, 0.3)
    statistics = Statistics.sum([summary_of(visit, N_WORDS)], zero_statistics(N_WORDS, N_TOPICS))

    found = elbo(statistics, current)

    posterior = current.components.table.T + 0.3
    assert found == pytest.approx(reference_lda.elbo([visit], posterior, alpha, 0.3), rel=1e-12)


def test_batch_bound_differs_as_the_whole_elbo_does():
    """Two summaries of one batch, the topics and the other batch held fixed."""
    rng = np.random.default_rng(6)
    batch, rest = simulate(rng, n_docs=9), simulate(rng, n_docs=7)
    then, now = rng.uniform(0.1, 1.0, (2, N_TOPICS))
    current = make_globals(rng.gamma(1.0, 1.0, (N_WORDS, N_TOPICS)), now, 0.2)

    def draw(documents, alpha):
        shares = rng.dirichlet(np.full(N_TOPICS, 0.5), documents.n_pairs)
        return summary_of(Visit(documents, shares, alpha), N_WORDS)

    old, new, other = draw(batch, then), draw(batch, now), draw(rest, then)
    nothing = zero_statistics(N_WORDS, N_TOPICS)
    wholes = [Statistics.sum([each, other], nothing) for each in (old, new)]

    difference = batch_bound(new, current) - batch_bound(old, current)

    assert difference == pytest.approx(elbo(wholes[1], current) - elbo(wholes[0], current))
    assert abs(difference) > 1.0


@pytest.mark.parametrize("update", ["mean-field", "collapsed"])
@pytest.mark.parametrize("sparsity", [1, 2])
@pytest.mark.parametrize(("alpha", "eta"), [(0.5, 0.1), (0.05, 1.0), (3.0, 0.01)])
def test_elbo_never_exceeds_the_exact_evidence(update, sparsity, alpha, eta):
    """Two documents of three tokens, every topic assignment enumerated."""
    batch = batch_of_counts([[2, 1, 0], [0, 1, 2]])
    prior = np.full(2, alpha / 2)
    counts = np.array([[2.0, 0.1], [0.7, 0.9], [0.3, 2.0]])
    options = LocalOptions(update, sparsity)
    for _ in range(20):
        current = make_globals(counts, prior, eta)
        summary = local_step(batch, current, options).summary
        statistics = Statistics.sum([summary], zero_statistics(3, 2))
        counts = statistics.components.table
        bound = elbo(statistics, make_globals(counts, prior, eta))
        evidence = reference_lda.log_evidence(batch, 2, 3, prior, eta)

        assert bound < evidence


def test_with_one_topic_the_elbo_is_the_evidence():
    batch, prior = batch_of_counts([[2, 1, 0], [0, 1, 2], [0, 0, 4]]), np.array([0.7])
    current = make_globals(np.zeros((3, 1)), prior, 0.4)
    summary = local_step(batch, current, LocalOptions()).summary
    statistics = Statistics.sum([summary], zero_statistics(3, 1))

    bound = elbo(statistics, make_globals(statistics.components.table, prior, 0.4))

    assert bound == pytest.approx(reference_lda.log_evidence(batch, 1, 3, prior, 0.4), rel=1e-12)


@pytest.mark.parametrize("eta", [1e-6, 0.1, 1e3])
def test_log_marginal_is_the_product_of_polya_predictions(eta):
    """log M(S) by drawing one token after the other: Π (n_v + η) / (n + Vη)."""
    counts = np.array([[3.0, 0.0], [0.0, 0.0], [2.0, 5.0], [1.0, 0.0]])

    found = words.evidence_by_topic(counts, eta).sum()

    expected = 0.0
    for topic in counts.T:
        drawn = np.zeros(4)
        for word in np.repeat(np.arange(4), topic.astype(int)):
            expected += np.log((drawn[word] + eta) / (drawn.sum() + 4 * eta))
            drawn[word] += 1
    assert found == pytest.approx(expected, rel=1e-9)


def test_dense_step_equals_plain_mean_field():
    rng = np.random.default_rng(7)
    batch, alpha = simulate(rng), rng.uniform(0.05, 0.5, N_TOPICS)
    current = make_globals(rng.gamma(0.5, 4.0, (N_WORDS, N_TOPICS)), alpha, 0.1)
    options = LocalOptions("mean-field", N_TOPICS, 60, tolerance=0.0, restarts=0)

    found = dense_of(local_step(batch, current, options).responsibilities, N_TOPICS)

    logs = reference_lda.expected_log(current.components.table.T + 0.1)
    expected = reference_lda.mean_field(batch, logs, alpha, 60)
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_each_sweep_of_a_dense_step_raises_the_bound():
    rng = np.random.default_rng(8)
    batch, alpha = simulate(rng), np.full(N_TOPICS, 0.1)
    current = make_globals(rng.gamma(0.5, 4.0, (N_WORDS, N_TOPICS)), alpha, 0.1)

    bounds = [
        batch_bound(
            local_step(
                batch,
                current,
                LocalOptions("mean-field", N_TOPICS, n_sweeps, tolerance=0.0, restarts=0),
            ).summary,
            current,
        )
        for n_sweeps in range(1, 12)
    ]

    assert np.all(np.diff(bounds) > -1e-6)
    assert bounds[-1] > bounds[0] + 1.0
