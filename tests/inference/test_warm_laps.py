"""Documents that begin with the topics of their last visit, and laps in which they do not."""

import re
from functools import partial

import numpy as np
import pytest

from sparsetopics.base.errors import OptionError
from sparsetopics.execution.executors import Executor
from sparsetopics.inference.document_step import fit_documents
from sparsetopics.inference.laps import fit_here
from sparsetopics.inference.learners.learner import Visit
from sparsetopics.inference.learners.memoized import MemoizedLearner
from sparsetopics.inference.training import train
from sparsetopics.model.memo import Memo
from sparsetopics.model.responsibilities import DocumentTopics
from sparsetopics.options.training import LocalOptions, MoveOptions, TrainingOptions
from worlds.bars import ten_bars
from worlds.dense_responsibilities import lda_globals
from worlds.word_models import start_of

MEAN_FIELD = LocalOptions("mean-field", restarts=0)
N_BATCHES = 3


class WatchingSteps:
    """Remembers what documents began with and where they ended, by visit."""

    def __init__(self, source, options):
        self.steps = partial(fit_here, source, Executor())
        self.visits = []

    def __call__(self, batch_ids, current, options, former):
        former = list(former)
        fitted = self.steps(batch_ids, current, options, former)
        for batch_id, left, found in zip(batch_ids.tolist(), former, fitted, strict=True):
            self.visits.append((batch_id, left[0], found[1].doc_topics))
            yield found


def bars(seed=0):
    return ten_bars(np.random.default_rng(seed), 60, 50).source(N_BATCHES)


def watched(options, folder, seed=0):
    """The visits of each lap."""
    source = bars(seed)
    steps = WatchingSteps(source, options)
    rng = np.random.default_rng(seed)
    train(source, options, folder, Executor(), rng, steps=steps)
    return [steps.visits[n : n + N_BATCHES] for n in range(0, len(steps.visits), N_BATCHES)]


def same(left, right):
    return all(np.array_equal(a, b) for a, b in zip(left, right, strict=True))


@pytest.mark.parametrize("local", [LocalOptions(), MEAN_FIELD])
def test_a_batch_begins_where_it_stood_but_in_every_third_lap(local, tmp_path):
    options = TrainingOptions(10, 5, local=local, cold_every=3)
    stood = {}
    for lap, visits in enumerate(watched(options, tmp_path), 1):
        for batch_id, former, found in visits:
            if lap in (1, 4):
                assert former is None, lap
            elif local.update == "collapsed":  # mean-field may keep what it had before
                assert same(former, stood[batch_id]), (lap, batch_id)
            else:
                assert former is not None, lap
            stood[batch_id] = found


def test_documents_start_cold_in_every_lap_on_request(tmp_path):
    options = TrainingOptions(10, 3, cold_every=1)
    assert {former for lap in watched(options, tmp_path) for _, former, _ in lap} == {None}


def test_warm_laps_take_fewer_iterations_to_the_same_bound(fit):
    gains = []
    for seed in range(4):
        bounds = {}
        for cold_every in (1, 4):
            options = TrainingOptions(10, 12, cold_every=cold_every)
            _, course = fit(bars(seed), options, seed=seed)
            bounds[cold_every] = course[-1].elbo_per_token
        iterations = [lap.local_iterations_per_document for lap in course]
        for cold in (4, 8):  # laps 5 and 9
            assert iterations[cold + 1] < iterations[cold], f"seed {seed}: {iterations}"
        gains.append(bounds[4] - bounds[1])
    assert np.median(gains) > -0.01, f"nats per token by seed: {gains}"


def test_under_mean_field_the_bound_rises_from_warm_starts_too(fit):
    for seed in range(3):
        _, course = fit(
            bars(seed), TrainingOptions(8, 9, local=MEAN_FIELD, cold_every=3), seed=seed
        )
        bounds = np.array([lap.elbo_per_token for lap in course])
        assert (np.diff(bounds) >= -1e-9).all(), f"seed {seed}: {bounds}"


def test_workers_do_not_change_the_bits(fit):
    options = TrainingOptions(10, 5, cold_every=3)
    one, two = (fit(bars(), options, workers=workers)[0] for workers in (1, 2))
    np.testing.assert_array_equal(one.topic_word_posterior, two.topic_word_posterior)


@pytest.mark.parametrize("budget", [0, 10**9])
def test_what_is_kept_of_documents_goes_when_a_cold_lap_follows(budget, tmp_path):
    source = bars()
    batch, start = source.read(0), np.ones((source.n_columns, 4))
    memo = Memo(tmp_path, budget)
    learner = MemoizedLearner(memo, Executor(), False, False, cold_every=2)
    current = lda_globals(start, np.full(4, 0.1), 0.1)
    state = learner.init(start_of(start))
    for lap in range(4):
        former = learner.former(state, 0)
        assert (former is None) == (lap % 2 == 0)
        found = fit_documents(batch, current, LocalOptions(), Executor(), (former, None))
        visit = Visit(0, found.summary, batch, found.responsibilities, doc_topics=found.doc_topics)
        state, _ = learner.step_in_place(learner.start_lap(state), [visit], current)
        state = learner.end_lap(state)
        if lap % 2 == 0:
            assert same(learner.former(state, 0), found.doc_topics)
        n_files = 0 if budget else (2 if lap % 2 == 0 else 1)
        assert len(list(tmp_path.iterdir())) == n_files


def test_rows_and_joined_parts_are_inverses():
    topics = DocumentTopics(
        np.array([0, 2, 2, 2]), np.array([0, 1], np.uint32), np.array([2, 3], np.float32)
    )
    assert same(DocumentTopics.joined([topics, DocumentTopics.unknown(2)]).rows(0, 3), topics)
    twice = DocumentTopics.joined([topics, topics])
    assert twice.starts.tolist() == [0, 2, 2, 2, 4, 4, 4]
    assert twice.rows(3, 6).starts.tolist() == [2, 4, 4, 4]


REFUSED = {
    "cold-every: must be at least 1 lap, but is 0.": {"cold_every": 0},
    "cold-every: must be 1 unless --moves is none. New topics must be found": {
        "model": "hdp"
    },
    "cold-every: must be 1 with --learner full. Only the memoized learner keeps": {
        "learner": "full"
    },
    "cold-every: must be 1 with --model mixture: its local step is exact.": {
        "model": "mixture", "local": MEAN_FIELD
    },
}  # fmt: skip


@pytest.mark.parametrize("message", REFUSED)
def test_what_cannot_begin_where_it_stood_is_refused(message):
    with pytest.raises(OptionError, match=re.escape(message)):
        TrainingOptions(4, **{"cold_every": 3} | REFUSED[message])


@pytest.mark.parametrize(
    ("options", "laps"),
    [
        (TrainingOptions(4), 3),
        (TrainingOptions(4, local=MEAN_FIELD), 1),
        (TrainingOptions(4, learner="stochastic"), 1),
        (TrainingOptions(4, model="hdp"), 1),
        (TrainingOptions(4, model="hdp", moves=MoveOptions(())), 1),
        (TrainingOptions(4, model="hdp", moves=MoveOptions(()), cold_every=5), 5),
    ],
)
def test_collapsed_lda_alone_has_warm_laps_by_default(options, laps):
    assert options.laps_per_cold == laps
