"""The sticks of the HDP: their global step, the concentrations, what moves make of weights."""

import mpmath
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.special import gammaln, psi

from sparsetopics.inference.local_step import elbo
from sparsetopics.model.allocations import hdp
from sparsetopics.model.allocations.hdp import CONCENTRATION_RANGE, HDPAllocation
from sparsetopics.model.statistics import DocumentLengths, DocumentTerms, Statistics
from sparsetopics.model.topic_posterior import Sticks
from sparsetopics.options.training import TopicPrior
from worlds.dense_responsibilities import summary_of_dense
from worlds.hdp_worlds import N_WORDS, SEEDS, draw_shares, draw_sticks
from worlds.simulated_documents import simulate
from worlds.word_models import globals_of, zero_statistics

# --- sticks -------------------------------------------------------------------------------------


def draw_weight_terms(rng, n_topics, n_docs, alpha=0.5):
    """Sums of documents of some 30 tokens; each uses a topic at least, a topic may have none."""
    n_docs = int(n_docs)
    popularity = rng.dirichlet(np.full(n_topics, 0.4))
    active = rng.random((n_docs, n_topics)) < popularity * rng.uniform(0, 3)
    active[np.arange(n_docs), rng.choice(n_topics, n_docs, p=popularity)] = True
    theta = rng.gamma(0.7, 40.0, active.shape) + 0.5 + alpha / (n_topics + 1)
    digammas = np.where(active, psi(theta), 0.0).sum(axis=0)
    return DocumentTerms.zeros(n_topics)._replace(
        n_docs=float(n_docs),
        active_documents=active.sum(axis=0).astype(float),
        summed_digamma=digammas,
    )


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
    value, by_mean, by_concentration = hdp.objective(drawn, terms)

    for field, gradient in (("means", by_mean), ("concentrations", by_concentration)):
        for k in range(n_topics):
            step = 1e-5 * getattr(drawn, field)[k]
            around = []
            for sign in (1, -1):
                values = getattr(drawn, field).copy()
                values[k] += sign * step
                around.append(hdp.objective(drawn._replace(**{field: values}), terms)[0])
            difference = (around[0] - around[1]) / (2 * step)
            rounding = 1e-14 * abs(value) / step
            assert gradient[k] == pytest.approx(difference, rel=1e-5, abs=1e-6 + 10 * rounding)


@settings(max_examples=50)
@given(**stick_problems)
@example(seed=1898, n_topics=1, n_docs=37.0, alpha=5.0, gamma=0.3)  # from a start far away
def test_optimized_sticks_are_no_worse_and_stand_still(seed, n_topics, n_docs, alpha, gamma):
    rng = np.random.default_rng(seed)
    start = draw_sticks(rng, n_topics, gamma, alpha)
    terms = draw_weight_terms(rng, n_topics, n_docs, alpha)

    found = hdp.optimized(start, terms)

    before, after = (hdp.objective(each, terms)[0] for each in (start, found))
    assert after >= before
    again = hdp.objective(hdp.optimized(found, terms), terms)[0]
    assert again - after <= 1e-6 * n_docs
    _, by_mean, by_concentration = hdp.objective(found, terms)
    by_logit = by_mean * found.means * (1.0 - found.means) / n_docs
    by_log = by_concentration * found.concentrations / n_docs
    assert max(np.abs(by_logit).max(), np.abs(by_log).max()) < 1e-3


@settings(max_examples=20)
@given(**stick_problems)
def test_the_optimum_does_not_depend_on_the_start(seed, n_topics, n_docs, alpha, gamma):
    rng = np.random.default_rng(seed)
    terms = draw_weight_terms(rng, n_topics, n_docs, alpha)
    starts = [
        HDPAllocation.first(n_topics, n_docs, TopicPrior(alpha, top_concentration=gamma)).sticks
    ]
    starts += [draw_sticks(rng, n_topics, gamma, alpha) for _ in range(2)]

    found = [hdp.objective(hdp.optimized(each, terms), terms)[0] for each in starts]

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

    found = hdp.elbo_sticks(given, n_docs)

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
        value, _, _ = hdp.objective(allocation.sticks, terms)
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
    known = hdp.reweighted(weights[:-1], np.full(n_topics, 1e13), empty)

    added = hdp.elbo_sticks(known._replace(concentrations=np.full(n_topics, 1e9)), 1.0)
    added -= hdp.elbo_sticks(known._replace(concentrations=np.full(n_topics, 1e9)), 0.0)

    exact = gammaln(alpha) - gammaln(alpha * weights).sum()
    assert added <= exact + 1e-6 * (1 + abs(exact))
    assert added == pytest.approx(n_topics * np.log(alpha) + np.log(weights).sum(), rel=1e-3)
    # Means of sticks are rounded: a digit of a small weight counts.
    slack, tolerance = HDPAllocation(known).prior_slack(1.0), 1e-3 * (1 + abs(exact))
    assert slack == pytest.approx(exact - added, rel=0, abs=tolerance)


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
    allocation = HDPAllocation.first(n_topics, 100.0, TopicPrior())

    np.testing.assert_allclose(allocation.weights, 1 / (n_topics + 1))
    np.testing.assert_allclose(allocation.doc_concentration, 0.5 / (n_topics + 1))
    assert allocation.tail == pytest.approx(0.5 / (n_topics + 1))


def test_weights_that_leave_nothing_leave_the_smallest_tail_there_is():
    like = Sticks(np.zeros(0), np.zeros(0), 1.0, 0.5)

    found = hdp.reweighted(np.array([0.25, 0.75, 0.0]), np.ones(3), like)

    np.testing.assert_allclose(found.means, [0.25, 1.0, 0.0], atol=2 * hdp.SMALLEST)
    assert (found.means > 0.0).all()
    assert (found.means < 1.0).all()


@given(seed=SEEDS, n_topics=st.integers(2, 8))
def test_moves_of_weights_lose_none(seed, n_topics):
    rng = np.random.default_rng(seed)
    before = HDPAllocation(draw_sticks(rng, n_topics))
    kept, absorbed = np.sort(rng.choice(n_topics, 2, replace=False))
    new_topics = np.arange(n_topics) - (np.arange(n_topics) > absorbed)
    new_topics[absorbed] = kept
    order = rng.permutation(n_topics)
    parents = np.sort(np.append(np.arange(n_topics), rng.integers(n_topics, size=4)))

    merged = before.joined(new_topics, n_topics - 1)
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
    merged, after_merge = settled(shares, allocation.joined(parents, 4))
    restored, _ = settled(twins, after_merge.branched(parents))

    assert merged > before + 1.0
    assert restored == pytest.approx(before, rel=1e-6)
