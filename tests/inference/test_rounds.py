"""Rounds of several batches: the same parameters for all of them, then one update."""

from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from sparsetopics.base.batches import DocumentBatch
from sparsetopics.base.errors import OptionError
from sparsetopics.execution.executors import Executor
from sparsetopics.inference.laps import fit_batch, fit_here
from sparsetopics.inference.learners.learner import Visit
from sparsetopics.inference.learners.stochastic import StochasticLearner
from sparsetopics.inference.local_step import Globals
from sparsetopics.inference.training import train
from sparsetopics.model.allocations.lda import LDAAllocation
from sparsetopics.model.likelihoods.words import Words
from sparsetopics.model.statistics import Statistics
from sparsetopics.model.word_counts import WordCounts
from sparsetopics.options.training import LocalOptions, StepSizes, TrainingOptions
from sparsetopics.options.workplace import Workplace
from sparsetopics.runs.plan import RunPlan
from worlds.bars import ten_bars

MEAN_FIELD = LocalOptions("mean-field", restarts=0)


class WatchingSteps:
    """Remembers what the parameters were for each batch of every round."""

    def __init__(self, source, local):
        self.steps = partial(fit_here, source, Executor())
        self.rounds = []

    def __call__(self, batch_ids, current, options, former):
        self.rounds.append([])
        for fitted in self.steps(batch_ids, current, options, former):
            self.rounds[-1].append(current.components.table.copy())
            yield fitted


@pytest.mark.parametrize("local", [LocalOptions(), MEAN_FIELD])
@pytest.mark.parametrize("learner", ["memoized", "stochastic"])
def test_all_batches_of_a_round_see_the_same_topics(learner, local, tmp_path):
    source = ten_bars(np.random.default_rng(0), 60, 50).source(5)
    options = TrainingOptions(4, 3, learner, local, batches_per_round=2)
    steps, rng = WatchingSteps(source, options.local_step), np.random.default_rng(0)

    train(source, options, tmp_path, Executor(), rng, steps=steps)

    rounds = steps.rounds
    is_whole = learner == "memoized" and local is MEAN_FIELD  # its first lap
    assert [len(tables) for tables in rounds] == ([5] if is_whole else [2, 2, 1]) + [2, 2, 1] * 2
    for tables in rounds:
        for table in tables[1:]:
            np.testing.assert_array_equal(table, tables[0])
    for before, after in pairwise(rounds):
        assert not np.array_equal(before[0], after[0])


def test_a_stochastic_round_is_a_step_with_all_its_documents():
    source = ten_bars(np.random.default_rng(1), 60, 50).source(3)
    counts = WordCounts(np.random.default_rng(2).gamma(1.0, 1.0, (source.n_columns, 4)))
    batches = [source.read(n) for n in range(2)]
    together = DocumentBatch.joined(batches)
    learner = StochasticLearner(source.n_docs, StepSizes(), 2)
    current = globals_of(counts)
    start = learner.init(Statistics(counts, current.allocation.zero_terms()))

    one, _ = learner.step_in_place(start, [visit(batch, current) for batch in batches], current)
    other, _ = learner.step_in_place(start, [visit(together, current)], current)

    assert one.n_steps == other.n_steps == 1
    np.testing.assert_allclose(one.components.table, other.components.table, rtol=1e-6)
    for mine, theirs in zip(one.terms, other.terms, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-6)


def globals_of(counts):
    return Globals(counts, LDAAllocation(np.full(4, 0.125)), Words(len(counts.table), 0.1))


def visit(batch, current):
    found = fit_batch(batch, current, MEAN_FIELD, Executor())
    return Visit(0, found.summary, batch, found.responsibilities)


@pytest.mark.parametrize(("n", "size"), [(7, 1), (7, 3), (6, 3), (2, 5)])
def test_rounds_hold_every_batch_in_order(n, size):
    order = np.random.default_rng(n).permutation(n)

    cut = StochasticLearner(100, StepSizes(), size).rounds(None, n, np.random.default_rng(n))

    np.testing.assert_array_equal(np.concatenate(cut), order)
    assert [len(each) for each in cut[:-1]] == [size] * (len(cut) - 1)
    assert 1 <= len(cut[-1]) <= size


PLAN = {"corpus": Path("corpus"), "out": Path("run")}
GROWING = TrainingOptions(1, learner="accelerated", local=MEAN_FIELD, model="dp-mixture")
REFUSED = {
    "round: must be at least 1 batch, but is 0.": lambda: TrainingOptions(4, batches_per_round=0),
    "round: must be 1 with --learner full: all batches are one round.": lambda: TrainingOptions(
        4, learner="full", batches_per_round=2
    ),
    "scheduler: needs --executor dask, but found --executor threads.": (
        lambda: Workplace(scheduler="tcp://host:1")
    ),
    "workers: must be 1 with --executor serial, but is 2.": lambda: Workplace("serial", 2),
    "workers: must be from 1 to 4,096, but is 0.": lambda: Workplace(workers=0),
    "executor: must be one of serial, threads, dask, but is 'spark'.": lambda: Workplace("spark"),
    "executor: must be threads with --learner accelerated: its batch is one tree.": (
        lambda: RunPlan(options=GROWING, executor="dask", **PLAN).workplace
    ),
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_does_not_go_together_is_refused(message):
    with pytest.raises(OptionError, match=f"^{message}"):
        REFUSED[message]()
