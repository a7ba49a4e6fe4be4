"""The learners' book-keeping: pure steps, totals that are sums, the better summary kept."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparsetopics.inference.learners.full import FullLearner
from sparsetopics.inference.learners.stochastic import StochasticLearner
from sparsetopics.inference.local_step import batch_bound, elbo
from sparsetopics.model.statistics import Statistics
from sparsetopics.options.training import LocalOptions, StepSizes
from worlds.dense_responsibilities import lda_globals, memoized, visit_of
from worlds.simulated_documents import as_source, read_only, simulate
from worlds.word_models import start_of, zero_statistics

N_WORDS, N_TOPICS = 30, 4
ALPHA, ETA = np.full(N_TOPICS, 0.1), 0.1
N_BATCHES = 3


@pytest.fixture(scope="module")
def source():
    return as_source(simulate(np.random.default_rng(1)), N_WORDS, N_BATCHES)


@pytest.fixture(scope="module")
def visits(source):
    """Six visits of each batch, under topics drawn at random."""
    rng = np.random.default_rng(2)
    found = [
        [local_step(batch_id, source.read(batch_id), draw_counts(rng)) for _ in range(6)]
        for batch_id in range(N_BATCHES)
    ]
    for visit in itertools.chain.from_iterable(found):
        read_only(*visit.summary.components, *visit.summary.terms[2:], *visit.responsibilities)
    return found


def draw_counts(rng):
    counts = rng.gamma(0.5, 10.0, (N_WORDS, N_TOPICS))
    read_only(counts)
    return counts


def make_globals(counts):
    return lda_globals(counts, ALPHA, ETA)


def local_step(batch_id, batch, counts, update="mean-field"):
    return visit_of(batch_id, batch, make_globals(counts), LocalOptions(update))


def summary_bound(visit, current):
    return batch_bound(visit.summary, current)


def total_of(*visits):
    return Statistics.sum([visit.summary for visit in visits], zero_statistics(N_WORDS, N_TOPICS))


def assert_same(left, right):
    np.testing.assert_allclose(left.components.table, right.components.table, atol=1e-9)
    for mine, theirs in zip(left.terms, right.terms, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-9)


def assert_same_summary(left, right):
    for mine, theirs in zip(
        (*left.components, *left.terms), (*right.components, *right.terms), strict=True
    ):
        np.testing.assert_array_equal(mine, theirs)


def freeze(statistics):
    read_only(statistics.components.table, *statistics.terms[2:])


def make_learner(name, folder, keep_better=False):
    if name == "memoized":
        return memoized(folder, keep_better)
    if name == "full":
        return FullLearner(keep_better)
    return StochasticLearner(60, StepSizes())


@pytest.mark.parametrize("budget", [0, 10**9])
@pytest.mark.parametrize("keep_better", [False, True])
@pytest.mark.parametrize("keep_assignments", [False, True])
@settings(max_examples=15)
@given(
    order=st.lists(
        st.tuples(st.integers(0, N_BATCHES - 1), st.integers(0, 5)), min_size=1, max_size=8
    ),
    seed=st.integers(0, 2**32 - 1),
)
def test_total_is_always_the_sum_of_the_batches(
    tmp_path_factory, visits, budget, keep_better, keep_assignments, order, seed
):
    counts = draw_counts(np.random.default_rng(seed))
    folder = tmp_path_factory.mktemp("memo")
    learner = memoized(folder, keep_better, budget=budget, keep_assignments=keep_assignments)
    state = learner.init(start_of(counts))
    for batch_id, which in order:
        state = learner.start_lap(state)
        state, _ = learner.step_in_place(state, [visits[batch_id][which]], make_globals(counts))
        freeze(state.total)

        stored = [learner.recall(state, batch_id) for batch_id in state.per_batch]
        assert_same(state.total, Statistics.sum(stored, zero_statistics(N_WORDS, N_TOPICS)))
    assert set(state.per_batch) == {batch_id for batch_id, _ in order}
    assert len(list(folder.iterdir())) == (0 if budget else len(state.per_batch))
    assert_same(learner.end_lap(state).total, state.total)


@pytest.mark.parametrize("keep_better", [False, True])
def test_after_a_lap_nothing_is_left_of_former_visits(tmp_path, visits, keep_better):
    rng = np.random.default_rng(8)
    learner = memoized(tmp_path, keep_better)
    state = learner.init(start_of(draw_counts(rng)))
    for _ in range(4):
        state = learner.start_lap(state)
        for batch_id in rng.permutation(N_BATCHES).tolist():
            visit, current = visits[batch_id][rng.integers(6)], make_globals(draw_counts(rng))
            state, _ = learner.step_in_place(state, [visit], current)
        state = learner.end_lap(state)

        kept = [learner.recall(state, batch_id) for batch_id in state.per_batch]
        expected = Statistics.sum(kept, zero_statistics(N_WORDS, N_TOPICS))
        assert_same(state.total, expected)
        table = state.total.components.table
        np.testing.assert_array_equal(table > 0.0, expected.components.table > 0.0)


def test_keep_better_keeps_the_better(tmp_path, visits):
    counts = draw_counts(np.random.default_rng(4))
    current = make_globals(counts)
    worse, *_, better = sorted(visits[0], key=lambda each: summary_bound(each, current))
    learner = memoized(tmp_path, True)
    state = learner.init(start_of(counts))

    state, first = learner.step_in_place(state, [worse], current)
    state, second = learner.step_in_place(state, [better], current)
    after, third = learner.step_in_place(state, [worse], current)

    assert (first, second, third) == (False, False, True)
    assert after is state
    assert_same_summary(learner.recall(state, 0), better.summary)


def test_without_keep_better_the_newer_stays(tmp_path, visits):
    counts = draw_counts(np.random.default_rng(4))
    current = make_globals(counts)
    worse, *_, better = sorted(visits[0], key=lambda each: summary_bound(each, current))
    learner = memoized(tmp_path, False)

    state, _ = learner.step_in_place(learner.init(start_of(counts)), [better], current)
    state, kept_old = learner.step_in_place(state, [worse], current)

    assert not kept_old
    assert_same_summary(learner.recall(state, 0), worse.summary)


def test_the_full_learner_keeps_the_better_total(visits):
    learner = FullLearner(keep_better=True)
    counts = draw_counts(np.random.default_rng(5))
    state, _ = learner.step_in_place(
        learner.init(start_of(counts)), [visits[0][0]], make_globals(counts)
    )
    current = make_globals(learner.components(state).table)
    for visit in visits[0]:
        total = total_of(visit)
        after, kept_old = learner.step_in_place(state, [visit], current)

        worse = elbo(total, current) < elbo(state.total, current)
        assert kept_old == worse
        assert (after is state) == worse


def test_the_start_stands_for_documents_not_seen_so_far(tmp_path, visits):
    """Every token is counted once: by its summary, or before that by its share of the start."""
    n_tokens = sum(each[0].summary.terms.n_tokens for each in visits)
    start = draw_counts(np.random.default_rng(11))
    start = start * (n_tokens / start.sum())
    learner = memoized(tmp_path, False)
    state = learner.init(start_of(start))
    every_word = np.arange(N_WORDS)
    np.testing.assert_allclose(learner.components(state).rows(every_word), start)
    for batch_id in range(N_BATCHES):
        current = make_globals(learner.components(state).rows(every_word))
        state, _ = learner.step_in_place(state, [visits[batch_id][0]], current)

        components = learner.components(state)
        found = components.rows(every_word)
        unseen = 1 - state.total.terms.n_tokens / n_tokens
        np.testing.assert_allclose(found, state.total.components.table + unseen * start, atol=1e-9)
        np.testing.assert_allclose(components.sizes, found.sum(axis=0))
        assert found.sum() == pytest.approx(n_tokens, rel=1e-6)

    state = learner.end_lap(state)
    np.testing.assert_array_equal(
        learner.components(state).table, learner.statistics(state).components.table
    )


@pytest.mark.parametrize("update", ["mean-field", "collapsed"])
def test_a_memoized_run_with_one_batch_equals_the_full_learner(tmp_path, update):
    # Arrays of its own, since numba would compile all kernels anew for those that only read.
    batch = as_source(simulate(np.random.default_rng(1)), N_WORDS, N_BATCHES).read(0)
    start = draw_counts(np.random.default_rng(6)).copy()
    learners = [make_learner(name, tmp_path, True) for name in ("memoized", "full")]
    states = [learner.init(start_of(start)) for learner in learners]
    for _ in range(4):
        for i, learner in enumerate(learners):
            counts = learner.components(states[i]).table
            visit = local_step(0, batch, counts, update)
            states[i], _ = learner.step_in_place(states[i], [visit], make_globals(counts))
            states[i] = learner.end_lap(states[i])
        memoized, full = (
            learner.statistics(state) for learner, state in zip(learners, states, strict=True)
        )
        assert_same(memoized, full)


def test_a_stochastic_step_of_size_one_on_all_documents_equals_a_full_step(source):
    counts = draw_counts(np.random.default_rng(7))
    whole = simulate(np.random.default_rng(1))
    visit = local_step(0, whole, counts)
    current = make_globals(counts)
    stochastic = StochasticLearner(whole.n_docs, StepSizes(delay=0.0))
    full = FullLearner(keep_better=False)

    one, _ = stochastic.step_in_place(stochastic.init(start_of(counts)), [visit], current)
    other, _ = full.step_in_place(full.init(start_of(counts)), [visit], current)

    np.testing.assert_allclose(one.components.table, full.components(other).table, atol=1e-9)
    assert_same(stochastic.statistics(one), full.statistics(other))


def test_a_stochastic_step_interpolates_with_falling_steps(visits):
    counts = draw_counts(np.random.default_rng(8))
    learner = StochasticLearner(60, StepSizes(delay=3.0, forgetting_rate=0.7))
    state, expected = learner.init(start_of(counts)), counts
    for number, visit in enumerate(visits[0], start=1):
        state, _ = learner.step_in_place(state, [visit], make_globals(counts))
        size = (3.0 + number) ** -0.7
        scaled = total_of(visit).components.table * 60 / 20
        expected = (1 - size) * expected + size * scaled

        np.testing.assert_allclose(state.components.table, expected, rtol=1e-9)


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        (StepSizes(), [2.0**-0.55, 3.0**-0.55]),
        (StepSizes(64.0, 0.5), [65.0**-0.5, 66.0**-0.5]),
        (StepSizes(fixed_rate=0.25), [0.25, 0.25]),
    ],
)
def test_step_sizes_fall_or_are_fixed(sizes, expected):
    assert [sizes.size(step) for step in (1, 2)] == expected


def test_a_stochastic_lap_counts_every_document_once(visits):
    learner = StochasticLearner(60, StepSizes())
    state = learner.init(start_of(draw_counts(np.random.default_rng(9))))
    for _ in range(2):
        state = learner.start_lap(state)
        for batch_id in range(N_BATCHES):
            current = make_globals(learner.components(state).table)
            state, _ = learner.step_in_place(state, [visits[batch_id][0]], current)
        state = learner.end_lap(state)

    assert learner.statistics(state).terms.n_docs == 60


@pytest.mark.parametrize("name", ["memoized", "full", "stochastic"])
def test_a_lap_changes_none_of_its_inputs(tmp_path, visits, name):
    """Every array is read-only, so a lap that writes into one that it has not made fails."""
    learner = make_learner(name, tmp_path, keep_better=True)
    state = learner.init(start_of(draw_counts(np.random.default_rng(10))))
    for batch_id, which in ((0, 0), (1, 1), (0, 2), (0, 3)):
        current = make_globals(learner.components(state).table)
        before = learner.components(state).table.copy()
        after, _ = learner.step_in_place(
            learner.start_lap(state), [visits[batch_id][which]], current
        )
        np.testing.assert_array_equal(learner.components(state).table, before)
        state = learner.end_lap(after)
        freeze(learner.statistics(state))
        read_only(learner.components(state).table)


@pytest.mark.parametrize("name", ["memoized", "full", "stochastic"])
def test_a_lap_visits_every_batch_once(tmp_path, name):
    learner = make_learner(name, tmp_path)
    rounds = learner.rounds(learner.init(start_of(np.ones((3, 2)))), 5, np.random.default_rng(0))

    assert sorted(np.concatenate(rounds).tolist()) == [0, 1, 2, 3, 4]


def test_a_whole_first_lap_is_one_round_and_later_laps_are_not(tmp_path, source):
    learner = memoized(tmp_path, True)
    state = learner.init(start_of(np.ones((source.n_columns, 2))))
    rng = np.random.default_rng(0)

    first = learner.rounds(state, 4, rng)
    later = learner.rounds(state._replace(start=None), 4, rng)

    assert [len(batch_ids) for batch_ids in first] == [4]
    assert [len(batch_ids) for batch_ids in later] == [1, 1, 1, 1]
