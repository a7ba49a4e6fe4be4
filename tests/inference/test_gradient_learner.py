"""Points that climb: gradients as finite differences have them, sticks inside, MM as its twin."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference_gradient
from sparsetopics.base.batches import VectorBatch
from sparsetopics.inference.item_step import fit_items
from sparsetopics.inference.laps import fit_batch
from sparsetopics.inference.learners.full import FullLearner
from sparsetopics.inference.learners.gradient import Ascent, GradientLearner, moved
from sparsetopics.inference.learners.learner import Visit
from sparsetopics.inference.local_step import Globals, elbo
from sparsetopics.model.allocations.mixture import ItemAllocation, sum_item_terms
from sparsetopics.model.allocations.mixture_weights import DPModes
from sparsetopics.model.likelihoods.diagonal_gaussian import IsotropicGaussian
from sparsetopics.model.statistics import Statistics, Summary
from sparsetopics.options.training import GradientOptions, LocalOptions
from worlds.gaussian_worlds import SERIAL, as_they_are, draw_items, sparse
from worlds.simulated_documents import read_only

SEEDS = st.integers(0, 2**32 - 1)
RULES = ("plain", "momentum", "fisher")
HARD = LocalOptions("mean-field", 1, restarts=0)
each_rule = pytest.mark.parametrize("rule", RULES)


class World:
    """Items with hard assignments, a prior as ours and as the twin's, and points."""

    def __init__(self, seed, n_items=30, n_topics=4, n_columns=3, gamma=None):
        rng = np.random.default_rng(seed)
        gamma = rng.uniform(1.0, 6.0) if gamma is None else gamma
        self.plain = {"variance": rng.uniform(0.5, 3.0), "kappa": 0.7, "gamma": gamma}
        self.plain["m"] = np.zeros(n_columns)
        own = as_they_are(n_columns)
        self.likelihood = IsotropicGaussian(self.plain["variance"], 0.7, own, at_modes=True)
        self.values = draw_items(n_items, n_columns, rng)
        self.owners = rng.integers(0, n_topics, n_items)
        self.n_topics, self.n_items = n_topics, 4 * n_items
        self.points = Ascent(
            rng.normal(0.0, 2.0, (n_topics, n_columns)), rng.uniform(0.05, 0.95, n_topics)
        )
        read_only(*self.points)

    @property
    def summary(self):
        return self.summary_of(self.owners)

    def summary_of(self, owners):
        batch, found = VectorBatch(self.values), sparse(np.eye(self.n_topics)[owners])
        zeros = self.likelihood.zeros(self.n_topics)
        terms = sum_item_terms(batch, found, self.n_topics)
        return Summary(zeros.sum_batch(batch, found, SERIAL), terms)

    def learner(self, rule="plain", **options):
        return GradientLearner(
            self.likelihood, self.plain["gamma"], self.n_items, GradientOptions(rule, **options)
        )

    @property
    def start(self):
        zeros = self.summary_of(self.owners)
        return Statistics(zeros.components, zeros.terms)

    def globals_of(self, counts, components):
        allocation = ItemAllocation(DPModes(counts, self.plain["gamma"]))
        return Globals(components, allocation, self.likelihood)


@settings(max_examples=40)
@given(seed=SEEDS, n_topics=st.integers(1, 4))
def test_gradients_are_finite_differences_of_the_log_posterior(seed, n_topics):
    world = World(seed, n_items=9, n_topics=n_topics, n_columns=2)
    found = world.learner().gradient(world.points, world.summary)

    values, (means, sticks) = world.values.astype(float), world.points
    fixed = world.plain, values, world.owners

    def of_means(near):
        return reference_gradient.log_posterior(*fixed, near, sticks, world.n_items)

    def of_sticks(near):
        return reference_gradient.log_posterior(*fixed, means, near, world.n_items)

    expected = reference_gradient.numeric_gradient(of_means, means, 1e-4)
    np.testing.assert_allclose(found.means, expected, rtol=1e-5, atol=1e-5, err_msg=f"{seed}")
    expected = reference_gradient.numeric_gradient(of_sticks, sticks, 1e-6)
    np.testing.assert_allclose(found.sticks, expected, rtol=1e-5, atol=1e-5, err_msg=f"{seed}")


@given(seed=SEEDS)
def test_gradients_of_all_items_are_none_at_the_modes(seed):
    world = World(seed, gamma=2.5)
    world.n_items = len(world.values)
    learner = world.learner()

    points = learner.init(world.start).points

    inside = points.sticks > 1e-6  # of those without items the mode is the border
    gradient = learner.gradient(points, world.summary)
    np.testing.assert_allclose(gradient.means, 0.0, atol=1e-6)
    np.testing.assert_allclose(gradient.sticks[inside], 0.0, atol=1e-6)
    means, sticks = reference_gradient.modes(
        world.plain, world.values.astype(float), world.owners, world.n_topics
    )
    np.testing.assert_allclose(points.means, means, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(points.sticks, np.clip(sticks, 1e-9, 1 - 1e-9), rtol=1e-12)


@given(seed=SEEDS)
def test_fisher_information_is_the_mean_square_of_items_gradients(seed):
    world = World(seed, n_items=9)
    found = world.learner("fisher", step_size=0.25).fisher(world.points, world.summary)

    means, sticks = world.points
    expected = reference_gradient.squared_gradients(
        world.plain, world.values.astype(float), world.owners, means + world.plain["m"], sticks
    )
    shares = np.bincount(world.owners, minlength=world.n_topics) / len(world.values)
    np.testing.assert_allclose(found.means, expected[0] + 0.25 * shares[:, None], rtol=1e-5)
    np.testing.assert_allclose(found.sticks, expected[1], rtol=1e-9)


def run_steps(world, learner, n_steps, seed=0):
    """Steps whose assignments are drawn at random; the states."""
    rng, state = np.random.default_rng(seed), learner.init(world.start)
    found = []
    for _ in range(n_steps):
        owners = rng.integers(0, rng.integers(1, world.n_topics + 1), len(world.values))
        visit = Visit(0, world.summary_of(owners), None, None)
        state, _ = learner.step_in_place(state, [visit], None)
        read_only(*state.points, *state.velocity, state.sizes)
        found.append(state)
    return found


def test_rules_do_what_the_paper_says():
    """Equations 6, 7 and 8, with means in units of σ."""
    world = World(5)
    square = world.plain["variance"]
    for rule in RULES:
        kept = {"momentum": 0.5} if rule == "momentum" else {}
        learner = world.learner(rule, step_size=0.02, **kept)
        before = learner.init(world.start)
        visits = [Visit(0, world.summary_of(np.roll(world.owners, s)), None, None) for s in (1, 2)]

        after = before
        for visit in visits:
            after, _ = learner.step_in_place(after, [visit], None)

        points, velocity = before.points, before.velocity
        for visit in visits:
            g = learner.gradient(points, visit.summary)
            g = Ascent(square * g.means, g.sticks)
            if rule == "fisher":
                f = learner.fisher(points, visit.summary)
                g = Ascent(g.means / f.means, g.sticks / f.sticks)
            kept = 0.5 if rule == "momentum" else 0.0
            velocity = Ascent(*(kept * o + 0.02 * n for o, n in zip(velocity, g, strict=True)))
            points = Ascent(points.means + velocity.means, points.sticks + velocity.sticks)
        for mine, theirs in zip(after.points, points, strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-12, err_msg=rule)


@each_rule
@settings(max_examples=40)
@given(seed=SEEDS, step_size=st.floats(0.001, 1.0), gamma=st.floats(1.0, 100.0))
def test_sticks_stay_inside_and_means_finite(rule, seed, step_size, gamma):
    world = World(seed, n_items=12, gamma=gamma)
    learner = world.learner(rule, step_size=step_size)

    for state in run_steps(world, learner, 30, seed):
        assert (state.points.sticks > 0.0).all(), seed
        assert (state.points.sticks < 1.0).all(), seed
        assert np.isfinite(state.points.means).all(), seed
        counts = learner.terms(state).counts
        assert counts.sum() == pytest.approx(world.n_items)
        assert (counts >= 0.0).all()


@given(
    sticks=st.lists(st.floats(1e-9, 1 - 1e-9), min_size=1, max_size=5),
    step=st.floats(allow_nan=False, allow_infinity=False),
)
def test_a_stick_goes_at_most_half_of_its_way(sticks, step):
    before = np.array(sticks)

    after = moved(Ascent(np.zeros(1), before), Ascent(np.zeros(1), np.full(len(before), step)))

    assert (after.sticks > 0.0).all()
    assert (after.sticks < 1.0).all()
    assert (after.sticks >= 0.5 * before).all()
    assert (1.0 - after.sticks >= 0.5 * (1.0 - before) * (1 - 1e-6)).all()


@given(seed=SEEDS, step_size=st.floats(0.01, 1.0))
def test_fisher_steps_of_means_end_before_the_mean_of_the_items(seed, step_size):
    """Column by column, whatever the residuals; the prior's pull aside."""
    world = World(seed, n_items=12)
    world.likelihood = replace(world.likelihood, mean_precision=1e-300)
    learner = world.learner("fisher", step_size=step_size)
    before = learner.init(world.start)
    visit = Visit(0, world.summary_of(np.roll(world.owners, 1)), None, None)

    after, _ = learner.step_in_place(before, [visit], None)

    sums, counts = visit.summary.components.sums, visit.summary.components.counts[:, None]
    way = sums / np.maximum(counts, 1.0) - before.points.means
    gone = after.points.means - before.points.means
    assert (np.abs(gone) <= np.abs(way) * (1 + 1e-9))[counts[:, 0] > 0].all(), seed
    assert (gone * way >= 0.0)[counts[:, 0] > 0].all(), seed
    assert not gone[counts[:, 0] == 0].any(), seed


def test_what_the_engine_sees_are_the_points():
    """Means are the modes of the components, and weights in proportion to those of the sticks."""
    world = World(3)
    learner = world.learner("momentum")
    state = learner.end_lap(run_steps(world, learner, 5)[-1])

    components, terms = learner.components(state), learner.terms(state)

    means = world.likelihood.posterior(components).means
    np.testing.assert_allclose(means, state.points.means, rtol=1e-6)
    np.testing.assert_array_equal(components.counts, learner.statistics(state).components.counts)
    logs = DPModes(terms.counts, world.plain["gamma"]).expected_log_weights
    expected = reference_gradient.log_weights(state.points.sticks)
    np.testing.assert_allclose(logs - logs[0], expected - expected[0], rtol=1e-9)


def test_a_lap_forgets_the_assignments_of_the_lap_before():
    world = World(3)
    learner = world.learner()
    state = run_steps(world, learner, 3)[-1]

    assert learner.statistics(state).terms.n_docs == 3 * len(world.values)
    assert learner.statistics(learner.start_lap(state)).terms.n_docs == 0
    assert sorted(int(ids[0]) for ids in learner.rounds(state, 6, np.random.default_rng(0))) == [
        *range(6)
    ]


@settings(max_examples=30)
@given(seed=SEEDS, n_topics=st.integers(1, 6), gamma=st.sampled_from([1.0, 1.5, 20.0]))
def test_the_full_learner_at_modes_is_mm(seed, n_topics, gamma):
    """Lap by lap the same assignments, means, sticks and log joint density as the plain twin."""
    world = World(seed, n_topics=n_topics, gamma=gamma)
    values, batch = world.values.astype(float), VectorBatch(world.values)
    learner = FullLearner(keep_better=False)
    state = learner.init(world.start)
    begin = reference_gradient.modes(world.plain, values, world.owners, n_topics)
    current = world.globals_of(world.start.terms.counts, world.start.components)
    before = -np.inf
    course = reference_gradient.alternate(world.plain, values, *begin, 6)
    for owners, means, sticks in course:
        found = fit_batch(batch, current, HARD, SERIAL)
        visit = Visit(0, found.summary, batch, found.responsibilities)
        state, _ = learner.step_in_place(state, [visit], current)
        current = world.globals_of(learner.terms(state).counts, learner.components(state))

        np.testing.assert_array_equal(found.responsibilities.topics, owners, f"{seed}")
        posterior = world.likelihood.posterior(learner.components(state))
        np.testing.assert_allclose(posterior.means, means, rtol=1e-6, atol=1e-6)
        logs = current.allocation.mixture.expected_log_weights
        expected = reference_gradient.log_weights(sticks)
        held = np.bincount(owners, minlength=n_topics) > 0
        np.testing.assert_allclose(logs[held], expected[held], rtol=1e-9, atol=1e-9)
        bound = elbo(learner.statistics(state), current)
        assert bound >= before - 1e-9 * abs(bound), seed
        before = bound


def test_the_bound_at_modes_is_the_log_joint_density():
    """Of items, assignments, means and sticks; the prior's densities from their peaks."""
    world = World(8, gamma=3.0)
    means, sticks = reference_gradient.modes(
        world.plain, world.values.astype(float), world.owners, world.n_topics
    )
    current = world.globals_of(world.summary.terms.counts, world.summary.components)

    found = elbo(Statistics(*world.summary), current)

    n_items = len(world.values)
    density = n_items * reference_gradient.log_posterior(
        world.plain, world.values.astype(float), world.owners, means, sticks, n_items
    )
    width = world.plain["variance"] / world.plain["kappa"]
    peak = -0.5 * np.log(2 * np.pi * width) * means.size
    np.testing.assert_allclose(found, density - peak, rtol=1e-7)


def test_hard_steps_take_the_best_component():
    world = World(2)
    current = world.globals_of(world.summary.terms.counts, world.summary.components)
    batch = VectorBatch(world.values)
    means, sticks = reference_gradient.modes(
        world.plain, world.values.astype(float), world.owners, world.n_topics
    )

    found = fit_items(batch, current, HARD, SERIAL)

    expected = reference_gradient.hard_owners(
        world.plain, world.values.astype(float), means, sticks
    )
    np.testing.assert_array_equal(found.responsibilities.topics, expected)
    np.testing.assert_array_equal(found.responsibilities.shares, 1.0)
