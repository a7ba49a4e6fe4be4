"""The HDP's bound against known values, plain numpy and brute force."""

import json
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import gammaln, psi

import reference_hdp
from reference_hdp import Prior
from sparsetopics.base.batches import DocumentBatch
from sparsetopics.execution.executors import Executor
from sparsetopics.inference.document_step import fit_documents
from sparsetopics.inference.local_step import batch_bound, elbo
from sparsetopics.model.allocations import documents, hdp
from sparsetopics.model.allocations.documents import sum_terms
from sparsetopics.model.allocations.hdp import HDPAllocation
from sparsetopics.model.likelihoods.words import Words
from sparsetopics.model.statistics import Statistics
from sparsetopics.model.topic_posterior import Sticks
from sparsetopics.model.word_counts import WordCounts
from sparsetopics.options.training import LocalOptions, TopicPrior
from worlds.dense_responsibilities import dense_of, sparse_of, summary_of_dense
from worlds.hdp_worlds import (
    N_TOPICS,
    N_WORDS,
    SEEDS,
    active_in,
    draw_shares,
    draw_sticks,
    make_globals,
    prior_of,
)
from worlds.simulated_documents import batch_of_counts, simulate
from worlds.word_models import globals_of, zero_statistics

ORACLE = json.loads((Path(__file__).parents[1] / "data" / "oracle_hdp.json").read_text())
ORACLE_PRIOR = Prior(ORACLE["gamma"], ORACLE["alpha_total"], ORACLE["eta"])
# --- known values -------------------------------------------------------------------------------


def oracle_visit():
    batch = DocumentBatch(
        np.array(ORACLE["indptr"]),
        np.array(ORACLE["word_ids"], np.int32),
        np.array(ORACLE["counts"], np.float32),
    )
    theta = np.array(ORACLE["theta"])
    tail = np.full((len(theta), 1), ORACLE["theta_remainder"])
    responsibilities = np.array(ORACLE["responsibilities"])
    return reference_hdp.Visit(batch, responsibilities, np.hstack([theta, tail]))


def oracle_cases():
    """Visit, λ, sticks and the bound per token: as it is, and after each of two merges."""
    visit = oracle_visit()
    yield visit, np.array(ORACLE["topic_word_posterior"]), ORACLE
    for case in ORACLE["merges"]:
        after = reference_hdp.merged(visit, case["kept"], case["absorbed"])
        counts = reference_hdp.reference_lda.word_counts(after, ORACLE["n_words"])
        yield after, counts + ORACLE["eta"], case


def engine_bound_of_frozen(visit, posterior, drawn, eta):
    """The engine's bound with θ written down everywhere: all topics, and the tail, are active."""
    batch, shares, theta = visit
    concentration = hdp.concentrations_with_tail(drawn)
    terms = sum_terms(
        batch, sparse_of(shares, np.float64), concentration[:-1], 0.0, Executor()
    ).with_tail()
    slack, totals = reference_hdp.doc_topic_counts(visit) - theta, theta.sum(axis=1)
    terms = terms._replace(
        active_documents=np.full(len(concentration), float(batch.n_docs)),
        summed_digamma=psi(theta).sum(axis=0),
        summed_log_gamma=gammaln(theta).sum(axis=0),
        frozen_slack=(slack * psi(theta)).sum(axis=0),
        totals=np.array(
            [psi(totals).sum(), gammaln(totals).sum(), (slack.sum(axis=1) * psi(totals)).sum()]
        ),
    )
    counts = reference_hdp.reference_lda.word_counts(visit, posterior.shape[1]).T
    return (
        Words(len(counts), eta).elbo(WordCounts(counts), WordCounts(posterior.T - eta))
        + documents.bound_by_topic(terms, concentration).sum()
        + documents.bound_of_totals(terms, drawn.doc_concentration)
        + hdp.elbo_sticks(drawn, terms.n_docs)
    )


@pytest.mark.parametrize("case", range(3), ids=["as it is", "first merge", "second merge"])
def test_the_bound_equals_the_oracle(case):
    """``oracle_hdp.json``: a tiny case and two merges, with the values of bnpy 0.1.7."""
    visit, posterior, given = list(oracle_cases())[case]
    means, concentrations = np.array(given["stick_means"]), np.array(given["stick_concentrations"])
    drawn = Sticks(means, concentrations, ORACLE_PRIOR.gamma, ORACLE_PRIOR.alpha)

    found = engine_bound_of_frozen(visit, posterior, drawn, ORACLE_PRIOR.eta)
    plain = reference_hdp.elbo([visit], posterior, means, concentrations, ORACLE_PRIOR)

    n_tokens = visit.batch.n_tokens
    assert found / n_tokens == pytest.approx(given["elbo_per_token"], rel=0, abs=1e-12)
    assert plain / n_tokens == pytest.approx(given["elbo_per_token"], rel=0, abs=1e-12)


# --- plain numpy --------------------------------------------------------------------------------


@pytest.mark.parametrize("update", ["mean-field", "collapsed"])
@pytest.mark.parametrize(("n_topics", "sparsity"), [(1, 1), (5, 1), (5, 2), (5, 5)])
@pytest.mark.parametrize("alpha", [0.05, 0.5, 8.0])
def test_the_bound_of_real_steps_equals_plain_numpy(update, n_topics, sparsity, alpha):
    """θ = N + αE[β], the engine's sums over the engine's responsibilities.

    Shares and word counts are kept as float32. Once in full precision, with shares that add up to
    one; then as kept, which differs by what float32 rounds away.
    """
    rng = np.random.default_rng(n_topics + sparsity)
    batch, eta = simulate(rng, n_words=N_WORDS), 0.1
    drawn = draw_sticks(rng, n_topics, alpha=alpha)
    current = make_globals(rng.gamma(1.0, 1.0, (N_WORDS, n_topics)), drawn, eta)
    found = fit_documents(batch, current, LocalOptions(update, sparsity), Executor())
    shares = dense_of(found.responsibilities, n_topics)
    shares /= shares.sum(axis=1, keepdims=True)
    precise = summary_of_dense(batch, shares, current.allocation, N_WORDS)

    bounds = []
    for summary in (precise, found.summary):
        statistics = Statistics.sum([summary], zero_statistics(N_WORDS, n_topics))
        bounds.append(elbo(statistics, make_globals(statistics.components.table, drawn, eta)))

    visit = reference_hdp.at_optimum(batch, shares, drawn.means, alpha)
    posterior = reference_hdp.reference_lda.word_counts(visit, N_WORDS) + eta
    given = (drawn.means, drawn.concentrations, prior_of(drawn, eta))
    expected = reference_hdp.elbo([visit], posterior, *given)
    assert bounds[0] == pytest.approx(expected, rel=1e-11)
    assert bounds[1] == pytest.approx(expected, rel=5e-8)


@settings(max_examples=30)
@given(seed=SEEDS, n_topics=st.integers(1, 6), alpha=st.floats(0.01, 20.0))
def test_the_bound_follows_the_weights_where_a_topic_is_not_used(seed, n_topics, alpha):
    """Documents visited under some sticks, the bound under others.

    Active θ_dk stay as they were, the others are αE[β_k] of now. That is a bound: never above the
    one at the best θ, nor above any that the same θ give, whose totals need not add up.
    """
    rng = np.random.default_rng(seed)
    batch, eta = simulate(rng, n_docs=6), 0.2
    then, now = (draw_sticks(rng, n_topics, alpha=alpha) for _ in range(2))
    visit = reference_hdp.at_optimum(batch, draw_shares(rng, batch, n_topics), then.means, alpha)
    summary = summary_of_dense(batch, visit.responsibilities, HDPAllocation(then), N_WORDS)
    statistics = Statistics.sum([summary], zero_statistics(N_WORDS, n_topics))
    counts = rng.gamma(1.0, 1.0, (N_WORDS, n_topics))

    found = elbo(statistics, make_globals(counts, now, eta))

    posterior, prior = counts.T + eta, prior_of(now, eta)
    active = active_in(visit)
    expected = reference_hdp.elbo_following_tangents(
        [visit], [active], posterior, (now.means, now.concentrations), prior
    )
    assert found == pytest.approx(expected, rel=1e-10)
    best = reference_hdp.at_optimum(batch, visit.responsibilities, now.means, alpha)
    frozen = np.hstack([active, np.zeros((batch.n_docs, 1), bool)])
    mixed = best._replace(
        doc_topic_posterior=np.where(frozen, visit.doc_topic_posterior, best.doc_topic_posterior)
    )
    for other in (mixed, best):
        above = reference_hdp.elbo([other], posterior, now.means, now.concentrations, prior)
        assert found <= above + 1e-10 * abs(above)


def test_under_the_same_weights_the_frozen_bound_is_the_best():
    rng = np.random.default_rng(2)
    batch, drawn = simulate(rng, n_docs=6), draw_sticks(rng, N_TOPICS)
    visit = reference_hdp.at_optimum(batch, draw_shares(rng, batch), drawn.means, 0.5)
    prior, posterior = prior_of(drawn, 0.1), rng.gamma(1.0, 1.0, (N_TOPICS, N_WORDS)) + 0.1
    given = (drawn.means, drawn.concentrations)

    following = reference_hdp.elbo_following_tangents(
        [visit], [active_in(visit)], posterior, given, prior
    )

    best = reference_hdp.elbo([visit], posterior, *given, prior)
    assert following == pytest.approx(best, rel=1e-12)
    for _ in range(20):
        moved = visit.doc_topic_posterior * rng.uniform(0.7, 1.4, visit.doc_topic_posterior.shape)
        other = visit._replace(doc_topic_posterior=moved)
        assert reference_hdp.elbo([other], posterior, *given, prior) < best


def test_the_sum_of_batches_visited_under_different_weights_is_a_bound():
    """Memoized batches keep the θ of their visits; the whole is the sum of the twin's parts."""
    rng = np.random.default_rng(3)
    drawn = [draw_sticks(rng, N_TOPICS) for _ in range(4)]
    visits, summaries = [], []
    for each in drawn[:3]:
        batch = simulate(rng, n_docs=5)
        shares = draw_shares(rng, batch)
        visits.append(reference_hdp.at_optimum(batch, shares, each.means, 0.5))
        summaries.append(summary_of_dense(batch, shares, HDPAllocation(each), N_WORDS))
    statistics = Statistics.sum(summaries, zero_statistics(N_WORDS, N_TOPICS))
    now, prior = drawn[3], prior_of(drawn[3], 0.1)

    found = elbo(statistics, make_globals(statistics.components.table, now, 0.1))

    expected = reference_hdp.elbo_following_tangents(
        visits,
        [active_in(visit) for visit in visits],
        statistics.components.table.T + 0.1,
        (now.means, now.concentrations),
        prior,
    )
    assert found == pytest.approx(expected, rel=1e-12)


def test_batch_bound_differs_as_the_whole_elbo_does():
    rng = np.random.default_rng(6)
    batch, rest = simulate(rng, n_docs=9), simulate(rng, n_docs=7)
    then, now = draw_sticks(rng, N_TOPICS), draw_sticks(rng, N_TOPICS)
    current = make_globals(rng.gamma(1.0, 1.0, (N_WORDS, N_TOPICS)), now, 0.2)

    def draw(documents, drawn):
        shares = draw_shares(rng, documents)
        return summary_of_dense(documents, shares, HDPAllocation(drawn), N_WORDS)

    old, new, other = draw(batch, then), draw(batch, now), draw(rest, then)
    nothing = zero_statistics(N_WORDS, N_TOPICS)
    wholes = [Statistics.sum([each, other], nothing) for each in (old, new)]

    difference = batch_bound(new, current) - batch_bound(old, current)

    assert difference == pytest.approx(elbo(wholes[1], current) - elbo(wholes[0], current))
    assert abs(difference) > 1.0


# --- brute force --------------------------------------------------------------------------------


TINY = {
    "two documents of three tokens": [[2, 1, 0], [0, 1, 2]],
    "one document": [[3, 1, 2]],
    "an empty document": [[2, 0, 1], [0, 0, 0], [0, 2, 1]],
}


@lru_cache
def evidence_of(counts, n_topics, prior):
    return reference_hdp.log_evidence(batch_of_counts(counts), n_topics, 3, prior)


@pytest.mark.parametrize("counts", TINY.values(), ids=TINY.keys())
@pytest.mark.parametrize("update", ["mean-field", "collapsed"])
@pytest.mark.parametrize("n_topics", [1, 2, 3])
@pytest.mark.parametrize(
    "prior", [Prior(1.0, 0.5, 0.1), Prior(10.0, 0.05, 1.0), Prior(3.0, 12.0, 0.02)]
)
def test_the_bound_never_exceeds_the_exact_evidence(counts, update, n_topics, prior):
    """Every assignment to the first K topics enumerated, all else integrated."""
    batch = batch_of_counts(counts)
    evidence = evidence_of(tuple(map(tuple, counts)), n_topics, prior)
    rng = np.random.default_rng(n_topics)
    allocation = HDPAllocation.first(
        n_topics, batch.n_docs, TopicPrior(prior.alpha, top_concentration=prior.gamma)
    )
    of_words = rng.gamma(1.0, 1.0, (3, n_topics))
    for _ in range(5):
        current = globals_of(of_words, allocation, prior.eta)
        found = fit_documents(batch, current, LocalOptions(update), Executor())
        statistics = Statistics.sum([found.summary], zero_statistics(3, n_topics))
        of_words = statistics.components.table
        updated = allocation.updated(statistics.terms)
        for each in (allocation, updated):
            current = globals_of(of_words, each, prior.eta)

            assert elbo(statistics, current) < evidence
        allocation = updated


def test_the_enumeration_equals_sampling_from_the_model():
    """Tokens drawn by the model itself match at the rate that the enumeration says."""
    rng, prior, n_draws = np.random.default_rng(5), Prior(2.0, 1.5, 0.5), 400_000
    batch = batch_of_counts([[2, 0], [1, 1]])
    u = rng.beta(1.0, prior.gamma, (n_draws, 2))
    beta = np.stack([u[:, 0], (1 - u[:, 0]) * u[:, 1]], axis=1)
    beta = np.column_stack([beta, 1 - beta.sum(axis=1)])
    topic_word = rng.dirichlet(np.full(2, prior.eta), (n_draws, 2))[..., 0]  # of word 0
    matches = np.ones(n_draws)
    for wanted in ([0, 0], [0, 1]):
        gammas = rng.gamma(np.maximum(prior.alpha * beta, 1e-12))
        proportions = gammas / gammas.sum(axis=1, keepdims=True)
        for word in wanted:
            of_word = topic_word if word == 0 else 1 - topic_word
            matches *= (proportions[:, :2] * of_word).sum(axis=1)  # none from the tail

    found = np.exp(reference_hdp.log_evidence(batch, 2, 2, prior))

    error = matches.std() / np.sqrt(n_draws)
    assert abs(found - matches.mean()) < 4 * error
    assert error < 0.01 * found
