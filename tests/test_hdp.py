"""The HDP's bound against known values, plain numpy and brute force; its global step."""

import json
from pathlib import Path

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import gammaln, psi

import reference_hdp
from dense_responsibilities import dense_of, sparse_of, summary_of_dense
from reference_hdp import Prior
from simulated_documents import batch_of_counts, simulate
from sparsetopics.allocations import documents, sticks
from sparsetopics.allocations.hdp import CONCENTRATION_RANGE, HDPAllocation, weight_terms
from sparsetopics.batches import DocumentBatch
from sparsetopics.bounds import batch_bound, elbo
from sparsetopics.document_step import fit_documents, sum_terms
from sparsetopics.executors import SerialExecutor
from sparsetopics.likelihoods import words
from sparsetopics.model import Sticks
from sparsetopics.options import LocalOptions
from sparsetopics.statistics import DocumentLengths, Statistics
from word_models import globals_of, zero_statistics

ORACLE = json.loads((Path(__file__).parent / "data" / "oracle_hdp.json").read_text())
ORACLE_PRIOR = Prior(ORACLE["gamma"], ORACLE["alpha_total"], ORACLE["eta"])
N_WORDS, N_TOPICS = 30, 5
SEEDS = st.integers(0, 2**32 - 1)


def draw_sticks(rng, n_topics, gamma=3.0, alpha=0.5):
    means = np.clip(rng.beta(1.0, 2.0, n_topics), 0.01, 0.99)
    return Sticks(means, rng.gamma(2.0, 20.0, n_topics) + 1.0, gamma, alpha)


def make_globals(counts, drawn, eta):
    return globals_of(counts, HDPAllocation(drawn), eta)


def draw_shares(rng, batch, n_topics=N_TOPICS, n_used=2):
    """Every word uses some topics of the two or three its document uses."""
    shares = np.zeros((batch.n_pairs, n_topics))
    for lo, hi in zip(batch.indptr[:-1], batch.indptr[1:], strict=True):
        used = rng.choice(n_topics, min(n_used, n_topics), replace=False)
        shares[np.ix_(np.arange(lo, hi), used)] = rng.dirichlet(np.full(len(used), 0.6), hi - lo)
    shares[shares < 1e-3] = 0.0
    return shares / shares.sum(axis=1, keepdims=True)


def active_in(visit):
    """Which topics each document uses at all, (n_docs, n_topics)."""
    return reference_hdp.doc_topic_counts(visit)[:, :-1] > 0


def prior_of(drawn, eta):
    return Prior(drawn.top_concentration, drawn.doc_concentration, eta)


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
    concentration = sticks.concentrations_with_tail(drawn)
    terms = sum_terms(
        batch, sparse_of(shares, np.float64), concentration[:-1], 0.0, SerialExecutor()
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
        words.elbo_words(counts, posterior.T - eta, eta)
        + documents.bound_by_topic(terms, concentration).sum()
        + documents.bound_of_totals(terms, drawn.doc_concentration)
        + sticks.elbo_sticks(drawn, terms.n_docs)
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
    found = fit_documents(batch, current, LocalOptions(update, sparsity), SerialExecutor())
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


@pytest.mark.parametrize("counts", TINY.values(), ids=TINY.keys())
@pytest.mark.parametrize("update", ["mean-field", "collapsed"])
@pytest.mark.parametrize("n_topics", [1, 2, 3])
@pytest.mark.parametrize(
    "prior", [Prior(1.0, 0.5, 0.1), Prior(10.0, 0.05, 1.0), Prior(3.0, 12.0, 0.02)]
)
def test_the_bound_never_exceeds_the_exact_evidence(counts, update, n_topics, prior):
    """Every assignment to the first K topics enumerated, all else integrated."""
    batch = batch_of_counts(counts)
    evidence = reference_hdp.log_evidence(batch, n_topics, 3, prior)
    rng = np.random.default_rng(n_topics)
    allocation = HDPAllocation.even(n_topics, batch.n_docs, prior.gamma, prior.alpha)
    of_words = rng.gamma(1.0, 1.0, (3, n_topics))
    for _ in range(10):
        current = globals_of(of_words, allocation, prior.eta)
        found = fit_documents(batch, current, LocalOptions(update), SerialExecutor())
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


# --- sticks -------------------------------------------------------------------------------------


def draw_weight_terms(rng, n_topics, n_docs, alpha=0.5):
    """Sums of documents of some 30 tokens; each uses a topic at least, a topic may have none."""
    n_docs = int(n_docs)
    popularity = rng.dirichlet(np.full(n_topics, 0.4))
    active = rng.random((n_docs, n_topics)) < popularity * rng.uniform(0, 3)
    active[np.arange(n_docs), rng.choice(n_topics, n_docs, p=popularity)] = True
    theta = rng.gamma(0.7, 40.0, active.shape) + 0.5 + alpha / (n_topics + 1)
    digammas = np.where(active, psi(theta), 0.0).sum(axis=0)
    return sticks.WeightTerms(float(n_docs), active.sum(axis=0).astype(float), digammas)


stick_problems = {
    "seed": SEEDS,
    "n_topics": st.integers(1, 7),
    "n_docs": st.sampled_from([1.0, 37.0, 3000.0]),
    "alpha": st.sampled_from([0.05, 0.5, 5.0]),
    "gamma": st.sampled_from([0.3, 1.0, 10.0]),
}


@given(**stick_problems)
def test_the_gradient_of_the_sticks_is_that_of_differences(seed, n_topics, n_docs, alpha, gamma):
    rng = np.random.default_rng(seed)
    drawn = draw_sticks(rng, n_topics, gamma, alpha)
    terms = draw_weight_terms(rng, n_topics, n_docs, alpha)
    value, by_mean, by_concentration = sticks.objective(drawn, terms)

    for field, gradient in (("means", by_mean), ("concentrations", by_concentration)):
        for k in range(n_topics):
            step = 1e-5 * getattr(drawn, field)[k]
            around = []
            for sign in (1, -1):
                values = getattr(drawn, field).copy()
                values[k] += sign * step
                around.append(sticks.objective(drawn._replace(**{field: values}), terms)[0])
            difference = (around[0] - around[1]) / (2 * step)
            rounding = 1e-14 * abs(value) / step
            assert gradient[k] == pytest.approx(difference, rel=1e-5, abs=1e-6 + 10 * rounding)


@settings(max_examples=50)
@given(**stick_problems)
def test_optimized_sticks_are_no_worse_and_stand_still(seed, n_topics, n_docs, alpha, gamma):
    rng = np.random.default_rng(seed)
    start = draw_sticks(rng, n_topics, gamma, alpha)
    terms = draw_weight_terms(rng, n_topics, n_docs, alpha)

    found = sticks.optimized(start, terms)

    before, after = (sticks.objective(each, terms)[0] for each in (start, found))
    assert after >= before
    again = sticks.objective(sticks.optimized(found, terms), terms)[0]
    assert again - after <= 1e-6 * n_docs
    _, by_mean, by_concentration = sticks.objective(found, terms)
    by_logit = by_mean * found.means * (1.0 - found.means) / n_docs
    by_log = by_concentration * found.concentrations / n_docs
    assert max(np.abs(by_logit).max(), np.abs(by_log).max()) < 1e-3


@settings(max_examples=20)
@given(**stick_problems)
def test_the_optimum_does_not_depend_on_the_start(seed, n_topics, n_docs, alpha, gamma):
    rng = np.random.default_rng(seed)
    terms = draw_weight_terms(rng, n_topics, n_docs, alpha)
    starts = [HDPAllocation.even(n_topics, n_docs, gamma, alpha).sticks]
    starts += [draw_sticks(rng, n_topics, gamma, alpha) for _ in range(2)]

    found = [sticks.objective(sticks.optimized(each, terms), terms)[0] for each in starts]

    assert max(found) - min(found) < 1e-4 * n_docs


@pytest.mark.parametrize("mean", [1e-6, 0.01, 0.5, 0.999])
@pytest.mark.parametrize("exponent", [1, 3, 5, 7, 11, 13, 15])
def test_the_part_of_the_sticks_equals_mpmath(mean, exponent):
    """Topics of few documents get ω of the order of D / ρ_k: no digits may be lost there.

    With e(x) = lnΓ(x) − xψ(x) + x, for large x by its series ½ log(2πe / x) + 1/(6x) − …, the sum
    lnB(a, b) − a E[log u] − b E[log(1 − u)] is e(a) + e(b) − e(ω), of which nothing cancels.
    """
    concentration, n_docs, gamma, alpha = 10.0**exponent, 1000.0, 10.0, 0.5
    given = Sticks(np.array([mean]), np.array([concentration]), gamma, alpha)

    found = sticks.elbo_sticks(given, n_docs)

    with mpmath.workdps(60):
        omega = mpmath.mpf(concentration)
        a, b = mpmath.mpf(mean) * omega, (1 - mpmath.mpf(mean)) * omega
        taken, left = (mpmath.psi(0, x) - mpmath.psi(0, omega) for x in (a, b))
        expected = mpmath.loggamma(a) + mpmath.loggamma(b) - mpmath.loggamma(omega)
        expected += (1 + n_docs - a) * taken + (gamma + n_docs - b) * left
        expected += mpmath.log(gamma) + n_docs * mpmath.log(alpha)
    assert found == pytest.approx(float(expected), rel=1e-9, abs=1e-6)


@settings(max_examples=20)
@given(**stick_problems)
def test_the_objective_holds_all_that_the_bound_says_of_the_sticks(
    seed, n_topics, n_docs, alpha, gamma
):
    """It and the ELBO differ by the same for all sticks."""
    rng = np.random.default_rng(seed)
    batch = simulate(rng, n_docs=8)
    then = draw_sticks(rng, n_topics, gamma, alpha)
    shares = draw_shares(rng, batch, n_topics)
    terms = summary_of_dense(batch, shares, HDPAllocation(then), N_WORDS).terms

    rest = []
    for _ in range(4):
        allocation = HDPAllocation(draw_sticks(rng, n_topics, gamma, alpha))
        value, _, _ = sticks.objective(allocation.sticks, weight_terms(terms))
        rest.append(allocation.elbo(terms) - value)

    np.testing.assert_allclose(rest, rest[0], rtol=1e-9, atol=1e-7)


@settings(max_examples=20)
@given(seed=SEEDS, n_topics=st.integers(1, 6))
def test_the_global_step_raises_the_bound(seed, n_topics):
    rng = np.random.default_rng(seed)
    batch, allocation = simulate(rng, n_docs=20), HDPAllocation(draw_sticks(rng, n_topics))
    shares = draw_shares(rng, batch, n_topics)
    bounds = []
    for _ in range(4):
        terms = summary_of_dense(batch, shares, allocation, N_WORDS).terms
        bounds.append(allocation.elbo(terms))
        allocation = allocation.updated(terms)
        bounds.append(allocation.elbo(terms))

    assert (np.diff(bounds) >= -1e-10 * np.abs(bounds[0])).all(), bounds
    assert bounds[1] > bounds[0]


@given(
    seed=SEEDS,
    alpha=st.floats(0.01, 20.0),
    n_topics=st.integers(1, 8),
    concentration=st.floats(0.05, 5.0),
)
def test_the_bound_of_the_normalizer_is_one(seed, alpha, n_topics, concentration):
    """lnΓ(α) − Σ lnΓ(αβ_k) ≥ K log α + Σ log β_k, which one more document adds to known sticks."""
    rng = np.random.default_rng(seed)
    weights = rng.dirichlet(np.full(n_topics + 1, concentration)) + 1e-6
    weights /= weights.sum()
    empty = Sticks(np.zeros(0), np.zeros(0), 1.0, alpha)
    known = sticks.reweighted(weights[:-1], np.full(n_topics, 1e13), empty)

    added = sticks.elbo_sticks(known._replace(concentrations=np.full(n_topics, 1e9)), 1.0)
    added -= sticks.elbo_sticks(known._replace(concentrations=np.full(n_topics, 1e9)), 0.0)

    exact = gammaln(alpha) - gammaln(alpha * weights).sum()
    assert added <= exact + 1e-6 * (1 + abs(exact))
    assert added == pytest.approx(n_topics * np.log(alpha) + np.log(weights).sum(), rel=1e-3)


@pytest.mark.parametrize("gamma", [0.2, 1.0, 25.0])
@pytest.mark.parametrize("alpha", [0.05, 0.5, 8.0])
@pytest.mark.parametrize("n_topics", [3, 6])
def test_learned_concentrations_are_a_maximum_of_the_bound(gamma, alpha, n_topics):
    rng = np.random.default_rng(n_topics)
    batch, allocation = simulate(rng), HDPAllocation(draw_sticks(rng, n_topics, gamma, alpha))
    terms = summary_of_dense(batch, draw_shares(rng, batch, n_topics), allocation, N_WORDS).terms

    learned = allocation.learned(terms, DocumentLengths.of([batch]))

    best, found = learned.elbo(terms), learned.sticks
    assert best > allocation.elbo(terms)
    for name in ("top_concentration", "doc_concentration"):
        for factor in (0.98, 1.02):
            moved = found._replace(**{name: factor * getattr(found, name)})
            assert HDPAllocation(moved, learned.lengths).elbo(terms) < best, name


def test_of_one_topic_alpha_is_as_small_as_may_be():
    """What α leaves to other topics is lost."""
    rng = np.random.default_rng(1)
    batch, allocation = simulate(rng), HDPAllocation(draw_sticks(rng, 1))
    terms = summary_of_dense(batch, draw_shares(rng, batch, 1), allocation, N_WORDS).terms

    learned = allocation.learned(terms, DocumentLengths.of([batch]))

    assert learned.total_concentration == pytest.approx(CONCENTRATION_RANGE[0], rel=1e-3)


def test_known_lengths_do_not_change_the_bound():
    """As long as α is the one of the documents' visit."""
    rng = np.random.default_rng(0)
    batch, allocation = simulate(rng), HDPAllocation(draw_sticks(rng, 5))
    terms = summary_of_dense(batch, draw_shares(rng, batch, 5), allocation, N_WORDS).terms
    lengths = DocumentLengths.of([batch])

    found = HDPAllocation(allocation.sticks, lengths).elbo(terms)

    assert found == pytest.approx(allocation.elbo(terms), rel=1e-12)


# --- weights ------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_topics", [1, 4, 50])
def test_at_first_all_topics_and_the_tail_weigh_the_same(n_topics):
    allocation = HDPAllocation.even(n_topics, 100.0, 10.0, 0.5)

    np.testing.assert_allclose(allocation.weights, 1 / (n_topics + 1))
    np.testing.assert_allclose(allocation.doc_concentration, 0.5 / (n_topics + 1))
    assert allocation.tail == pytest.approx(0.5 / (n_topics + 1))


@given(seed=SEEDS, n_topics=st.integers(2, 8))
def test_moves_of_weights_lose_none(seed, n_topics):
    rng = np.random.default_rng(seed)
    before = HDPAllocation(draw_sticks(rng, n_topics))
    kept, absorbed = rng.choice(n_topics, 2, replace=False)
    order = rng.permutation(n_topics)
    parents = np.sort(np.append(np.arange(n_topics), rng.integers(n_topics, size=4)))

    merged = before.merged(kept, absorbed)
    without = before.restricted(np.delete(np.arange(n_topics), absorbed))
    branched, reordered = before.branched(parents), before.reordered(order)

    weights = before.weights
    expected = weights.copy()
    expected[kept] += expected[absorbed]
    np.testing.assert_allclose(merged.weights, np.delete(expected, absorbed), rtol=1e-6)
    np.testing.assert_allclose(
        without.weights,
        np.delete(weights, absorbed) * weights.sum() / (weights.sum() - weights[absorbed]),
        rtol=1e-6,
    )
    np.testing.assert_allclose(
        branched.weights, (weights / np.bincount(parents))[parents], rtol=1e-6
    )
    np.testing.assert_allclose(np.bincount(parents, branched.weights), weights, rtol=1e-6)
    np.testing.assert_allclose(reordered.weights, weights[order], rtol=1e-6)
    np.testing.assert_array_equal(
        reordered.sticks.concentrations, before.sticks.concentrations[order]
    )
    for after in (merged, without, branched, reordered):
        assert after.tail == pytest.approx(before.tail, rel=1e-5)
        assert (after.sticks.means > 0).all()
        assert (after.sticks.means < 1).all()


def test_merging_identical_topics_and_splitting_them_restores_the_bound():
    """Twins that share every token half and half; the tokens go back as they came."""
    rng = np.random.default_rng(8)
    batch, eta = simulate(rng, n_docs=12), 0.1
    shares = draw_shares(rng, batch, 4, n_used=3)
    parents = np.array([0, 1, 1, 2, 3])
    twins = shares[:, parents] / np.bincount(parents)[parents]
    allocation = HDPAllocation(draw_sticks(rng, 5))

    def settled(dense, allocation):
        """Bound and sticks at the optimum of sticks and θ for given responsibilities."""
        for _ in range(60):
            summary = summary_of_dense(batch, dense, allocation, N_WORDS)
            statistics = Statistics.sum([summary], zero_statistics(N_WORDS, dense.shape[1]))
            counts = statistics.components.table
            current = globals_of(counts, allocation, eta)
            bound = elbo(statistics, current)
            allocation = allocation.updated(summary.terms)
        return bound, allocation

    before, allocation = settled(twins, allocation)
    merged, after_merge = settled(shares, allocation.merged(1, 2))
    restored, _ = settled(twins, after_merge.branched(parents))

    assert merged > before + 1.0
    assert restored == pytest.approx(before, rel=1e-6)
