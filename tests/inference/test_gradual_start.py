"""LDA begins with more topics than wanted and merges them."""

import itertools
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference_lda import log_beta
from sparsetopics import LDA
from sparsetopics.base.errors import SparsetopicsWarning
from sparsetopics.execution.executors import Executor
from sparsetopics.inference import gradual_start
from sparsetopics.inference.course import Hooks
from sparsetopics.inference.gradual_start import merged_topics, wanted_number
from sparsetopics.inference.laps import fit_here
from sparsetopics.inference.merging import FEWEST_TOKENS, SMALL_SHARE, large_counts
from sparsetopics.inference.training import train
from sparsetopics.options.table import OPTION
from sparsetopics.options.training import LocalOptions, TrainingOptions
from worlds.bars import ten_bars

LAPS = 10
GRADUAL = [30, 30, 30, 17, 10]  # topics in the first laps towards 10


def bars(seed=0, n_docs=120, n_batches=3):
    return ten_bars(np.random.default_rng(seed), n_docs, 60).source(n_batches)


def numbers_of(course):
    return [info.n_topics for info in course]


# --- merges ---------------------------------------------------------------------------------------
def evidence_of(counts, eta):
    """Σ_k log M(S_k)."""
    return (log_beta(counts.T + eta, axis=1) - log_beta(np.full(len(counts), eta))).sum()


def twin(counts, n_topics, eta):
    """``merged_topics`` with the gains of all pairs from their definition in every round."""
    new_topics = np.arange(counts.shape[1])
    while (surplus := counts.shape[1] - n_topics) > 0:
        whole, gains = evidence_of(counts, eta), {}
        for a, b in itertools.combinations(range(counts.shape[1]), 2):
            joint = np.delete(counts, b, axis=1)
            joint[:, a] += counts[:, b]
            gains[a, b] = evidence_of(joint, eta) - whole
        left, number = surplus if surplus <= 3 else -(-surplus // 2), np.arange(counts.shape[1])
        free = set(number)
        for a, b in sorted(gains, key=gains.get, reverse=True):
            if left and {a, b} <= free:
                free -= {a, b}
                number[b] = a
                left -= 1
        kept = np.unique(number)
        number = np.searchsorted(kept, number)
        counts = counts @ np.eye(len(kept))[number]
        new_topics = number[new_topics]
    return new_topics


@given(
    seed=st.integers(0, 10_000),
    n_topics=st.integers(1, 6),
    surplus=st.integers(0, 8),
    eta=st.sampled_from([0.01, 0.1, 2.0]),
)
def test_merges_are_those_of_the_twin(seed, n_topics, surplus, eta):
    rng = np.random.default_rng(seed)
    shape = 12, n_topics + surplus
    counts = rng.integers(1, 90, shape) * (rng.random(shape) < 0.5) + rng.random(shape) * 0.9
    counts = np.where(counts >= FEWEST_TOKENS, np.round(counts * 64) / 64, 0.0)

    found = merged_topics(counts, n_topics, eta)

    np.testing.assert_array_equal(found, twin(counts, n_topics, eta))
    assert set(found) == set(range(n_topics))


def test_merges_are_judged_by_large_counts_alone():
    counts = np.random.default_rng(0).gamma(0.5, 4.0, (30, 7))
    rows = large_counts(counts)
    dense = np.zeros_like(counts)
    dense[np.repeat(np.arange(30), np.diff(rows.starts)), rows.topics] = rows.shares
    assert counts.sum(axis=0).mean() * SMALL_SHARE < counts.max()
    least = min(1.0, 1e-3 * counts.sum(axis=0).mean())
    np.testing.assert_allclose(dense, np.where(counts >= least, counts, 0.0), rtol=1e-6)


def test_small_counts_are_not_all_ignored():
    true = np.kron(np.eye(4), np.full((5, 3), 0.05))  # three parts of each topic

    found = merged_topics(true, 4, 0.001)

    assert [*found] == [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]


def test_parts_of_a_topic_are_merged():
    true = np.kron(np.eye(4), np.full((5, 1), 200.0))  # four topics of five words each
    rng = np.random.default_rng(0)
    parts = rng.multinomial(true.astype(int), np.full(3, 1 / 3)).transpose(0, 1, 2).reshape(20, 12)

    found = merged_topics(parts.astype(float), 4, 0.1)

    assert [*found] == [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]


def test_topics_without_tokens_are_merged_first():
    counts = np.kron(np.eye(3), np.full((4, 1), 50.0))
    counts = np.insert(counts, [1, 3], 0.0, axis=1)
    found = merged_topics(counts, 3, 0.1)
    assert len({found[0], found[2], found[3]}) == 3


# --- laps -----------------------------------------------------------------------------------------
def test_the_first_laps_have_more_topics(fit):
    model, course = fit(bars(), TrainingOptions(10, LAPS))

    assert numbers_of(course) == GRADUAL + [10] * (LAPS - len(GRADUAL))
    assert model.n_topics == 10
    assert all(np.isfinite(info.elbo_per_token) for info in course)


MEAN_FIELD = LocalOptions("mean-field", restarts=0)


@pytest.mark.parametrize(
    "options",
    [
        {"laps": 6},
        {"learner": "stochastic"},
        {"learner": "full"},
        {"local": MEAN_FIELD},
        {"model": "hdp", "local": MEAN_FIELD},
    ],
)
def test_other_training_begins_with_the_number_wanted(fit, options):
    _, course = fit(bars(), TrainingOptions(10, **{"laps": 8} | options))
    assert numbers_of(course)[0] <= 10


def test_one_topic_needs_no_gradual_start(fit):
    assert set(numbers_of(fit(bars(), TrainingOptions(1, LAPS))[1])) == {1}


def test_training_from_a_model_begins_with_its_topics(fit):
    start, _ = fit(bars(), TrainingOptions(10, LAPS))
    _, course = fit(bars(), TrainingOptions(10, LAPS), start=start)
    assert set(numbers_of(course)) == {10}


@pytest.mark.parametrize(("n_docs", "first"), [(60, 20), (39, 13), (12, 10)])
def test_few_documents_begin_with_fewer_topics(fit, n_docs, first):
    _, course = fit(bars(n_docs=n_docs), TrainingOptions(10, LAPS))

    wanted = [min(first, number) for number in GRADUAL]
    assert numbers_of(course) == wanted + [10] * (LAPS - len(GRADUAL))


def test_fewer_documents_than_topics_are_enough(fit):
    with pytest.warns(SparsetopicsWarning, match="more topics"):
        model, course = fit(bars(n_docs=5), TrainingOptions(10, LAPS))
    assert set(numbers_of(course)) == {10}
    assert np.isfinite(model.topic_word_posterior).all()


@pytest.mark.parametrize(("n_tables", "first"), [(25, 25), (4, 10)])
def test_where_memory_is_short_training_begins_with_fewer_and_says_so(
    fit, monkeypatch, n_tables, first
):
    source = bars()
    monkeypatch.setattr(gradual_start, "MOST_BYTES", n_tables * 8 * source.n_columns)
    said = []

    _, course = fit(source, TrainingOptions(10, LAPS), say=said.append)

    assert said == [f"Training begins with {first} topics instead of 30 to save memory."]
    assert numbers_of(course)[0] == first
    assert course[-1].n_topics == 10


def test_the_last_lap_always_has_the_number_wanted():
    for laps in range(1, 20):
        assert wanted_number(TrainingOptions(10, laps), laps) == 10, laps


@pytest.mark.parametrize("cold_every", [1, 3, 50])
def test_totals_stay_the_sums_of_batches(tmp_path, cold_every, monkeypatch):
    narrow, checked = gradual_start.narrowed, []

    def checking(state, parameters, new_topics):
        n_topics = new_topics.max() + 1
        tokens = state.total.components.sizes.sum()
        after, parameters = narrow(state, parameters, new_topics)
        assert set(new_topics) == set(range(n_topics))
        assert after.total.components.sizes.sum() == tokens
        learner = learners[-1]
        again = learner.added_up(after, parameters.nothing)
        np.testing.assert_array_equal(again.components.table, after.total.components.table)
        for batch_id in after.per_batch:
            before, now = state.doc_topics(batch_id), after.doc_topics(batch_id)
            if before is not None:
                now.check_topics(n_topics)
                assert now.shares.sum() == pytest.approx(before.shares.sum(), rel=1e-5)
        checked.append(n_topics)
        return after, parameters

    learners = []
    monkeypatch.setattr("sparsetopics.inference.gradual_start.narrowed", checking)
    from sparsetopics.inference.learners import memoized

    make = memoized.make
    monkeypatch.setattr(
        memoized, "make", lambda inputs: learners.append(make(inputs)) or learners[-1]
    )
    options = TrainingOptions(10, LAPS, cold_every=cold_every)
    rng = np.random.default_rng(0)
    train(bars(), options, tmp_path, Executor(), rng, hooks=Hooks())
    assert checked == [17, 10]


def test_documents_keep_smaller_parts_while_topics_form(tmp_path):
    class Watching:
        def __init__(self, source):
            self.steps, self.masses = partial(fit_here, source, Executor()), []

        def __call__(self, batch_ids, current, options, former):
            self.masses.append(options.pruning_mass)
            return self.steps(batch_ids, current, options, former)

    for mass, expected in ((None, [1.0] * 4 + [3.0] * 6), (2.0, [2.0] * 10)):
        source = bars(n_batches=1)
        steps, rng = Watching(source), np.random.default_rng(0)
        options = TrainingOptions(10, LAPS, local=LocalOptions(minimum_mass=mass))
        train(source, options, tmp_path, Executor(), rng, steps=steps)
        assert steps.masses == expected


def test_a_gradual_start_ends_higher(fit):
    gains = []
    for seed in range(5):
        source = ten_bars(np.random.default_rng(seed), 300, 60).source(5)
        gradual = fit(source, TrainingOptions(10, LAPS), seed=seed)[1]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(gradual_start, "FACTORS", (1.0,))
            plain = fit(source, TrainingOptions(10, LAPS), seed=seed)[1]
        gains.append(gradual[-1].elbo_per_token - plain[-1].elbo_per_token)
    assert np.median(gains) > 0.01, f"nats per token by seed: {gains}"


@pytest.mark.parametrize("learn", [False, True])
def test_workers_do_not_change_the_bits(fit, learn):
    options = TrainingOptions(10, LAPS, learn_hyperparameters=learn)
    one, two = (fit(bars(), options, workers=workers)[0] for workers in (1, 2))
    np.testing.assert_array_equal(one.topic_word_posterior, two.topic_word_posterior)
    assert one.doc_concentration.shape == (10,)


# --- estimators -----------------------------------------------------------------------------------
def test_the_estimator_ends_with_its_number_and_goes_on_with_it():
    batch = ten_bars(np.random.default_rng(0), 120, 60).batch
    counts = np.zeros((120, 900), int)
    rows = np.repeat(np.arange(120), np.diff(batch.indptr))
    counts[rows, batch.word_ids] = batch.word_counts

    model = LDA(10, random_state=0).fit(counts)

    assert [entry["n_topics"] for entry in model.trace_[:5]] == GRADUAL
    assert model.components_.shape == (10, 900)
    assert model.partial_fit(counts[:20]).components_.shape == (10, 900)
    fresh = LDA(10, random_state=0).partial_fit(counts)
    assert [entry["n_topics"] for entry in fresh.trace_] == [10]


def test_the_help_says_what_happens():
    for text in (LDA.__doc__, OPTION["topics"].help):
        assert "up to three times as many" in " ".join(text.split())


def test_where_topics_are_not_merged_laps_stay_as_many():
    assert TrainingOptions(10).n_laps == 10
    for options in ({"learner": "stochastic"}, {"learner": "full"}, {"local": MEAN_FIELD}):
        assert TrainingOptions(10, **options).n_laps == 20, options
