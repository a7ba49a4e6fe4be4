"""Regrouping: LDA's topics are split and merged back to as many, where that raises the score."""

import numpy as np
import pytest

from bars import ten_bars
from moved_collections import (
    WORLDS,
    assert_sums,
    assert_terms,
    make_tools,
    standing_of,
    table_of,
    trained,
)
from sparsetopics.execution.executors import SerialExecutor
from sparsetopics.inference.local_step import Parameters
from sparsetopics.inference.moves import merge
from sparsetopics.inference.moves.merge import best_pairs, merge_down
from sparsetopics.inference.moves.rival_plans import plan_regroup
from sparsetopics.inference.moves.standing import refreshed
from sparsetopics.inference.moves.trimming import recomputed_score
from sparsetopics.inference.training import Hooks, train
from sparsetopics.model.allocations.lda import LDAAllocation
from sparsetopics.model.statistics import Statistics
from sparsetopics.options.training import LocalOptions, MoveOptions, TrainingOptions

BARS = 10


def fixed_topics(folder, n_topics, criterion="bound", world="bars"):
    """An LDA after some laps, refreshed."""
    source, local = WORLDS[world](), LocalOptions()
    learner, state, _ = trained(folder, source, n_topics, local, seed=2)
    tools = make_tools(source, learner, local, criterion=criterion)
    return refreshed(standing_of(state, LDAAllocation.symmetric(n_topics, 0.5), tools))


def train_bars(folder, bars, seed, *, moves=None, laps=16, **local):
    course = []
    options = TrainingOptions(BARS, laps, local=LocalOptions(**local), start="random", moves=moves)
    hooks = Hooks(on_lap=lambda info, model: course.append(info))
    rng = np.random.default_rng(seed)
    return train(bars.source(4), options, folder, SerialExecutor(), rng, hooks=hooks), course


@pytest.mark.parametrize("criterion", ["bound", "collapsed"])
def test_the_score_of_fixed_topics_is_that_of_the_assignments(tmp_path, criterion):
    standing = fixed_topics(tmp_path, 7, criterion)

    assert standing.score == pytest.approx(recomputed_score(standing), rel=1e-12)


def test_topics_have_two_children_each(tmp_path):
    standing = fixed_topics(tmp_path, 5)

    candidate = plan_regroup(standing)

    tokens = candidate.components.sizes.reshape(5, 2).sum(axis=1)
    np.testing.assert_allclose(tokens, standing.sizes, rtol=1e-9)
    np.testing.assert_allclose(candidate.allocation.doc_concentration, np.full(10, 0.05))


@pytest.mark.parametrize("criterion", ["bound", "collapsed"])
@pytest.mark.parametrize("n_topics", [1, 3, 11, 12])
def test_merging_down_ends_at_the_number_and_keeps_the_tokens(tmp_path, criterion, n_topics):
    standing = fixed_topics(tmp_path, 12, criterion)

    merged = merge_down(standing, n_topics)

    assert merged.n_topics == len(merged.ledger.ids) == n_topics
    assert_sums(standing.tools.laps.learner, merged.state)
    assert_terms(merged)
    words = table_of(standing).sum(axis=1)
    np.testing.assert_allclose(table_of(merged).sum(axis=1), words, rtol=1e-5, atol=1e-4)
    assert merged.score == pytest.approx(recomputed_score(merged), rel=1e-10)


@pytest.mark.parametrize(("n_topics", "planned"), [(6, [12, 9, 7]), (9, [12, 10]), (10, [12])])
def test_half_of_what_is_too_much_goes_before_pairs_are_planned_anew(
    tmp_path, monkeypatch, n_topics, planned
):
    """Unless it is a tenth of what is to be left, and one more, or less."""
    standing = fixed_topics(tmp_path, 12)
    seen = []

    def planned_now(standing, least):
        seen.append(standing.n_topics)
        return best_pairs(standing, least)

    monkeypatch.setattr(merge, "best_pairs", planned_now)

    merge_down(standing, n_topics)

    assert seen == planned


def test_halves_of_one_topic_are_merged_first(tmp_path):
    """Each topic is cut in two, a lap is made, and the halves find each other."""
    standing = fixed_topics(tmp_path, 4)
    allocation = LDAAllocation.symmetric(8, 0.5)
    halves = standing.evidence.take(np.repeat(np.arange(4), 2)).components.scaled(0.5)
    laps = standing.tools.laps
    state = laps.learner.init(Statistics(halves, allocation.zero_terms()))
    prior = Parameters(allocation, standing.likelihood)
    state, _, _ = laps.run(state, prior)

    merged = merge_down(refreshed(standing_of(state, allocation, standing.tools)), 4)

    before, after = (table / table.sum(axis=0) for table in map(table_of, (standing, merged)))
    distances = 0.5 * np.abs(before[:, :, None] - after[:, None, :]).sum(axis=0)
    assert sorted(distances.argmin(axis=1).tolist()) == [0, 1, 2, 3]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    "local", [{}, {"update": "mean-field"}, {"sparsity": 1}, {"sparsity": BARS}], ids=str
)
def test_laps_alone_end_lower(tmp_path, seed, local):
    bars = ten_bars(np.random.default_rng(seed), n_docs=150)
    moves = MoveOptions(("regroup",), verify=True)

    _, alone = train_bars(tmp_path, bars, seed, **local)
    model, regrouped = train_bars(tmp_path, bars, seed, moves=moves, **local)

    assert sum(info.moves["regroups"].accepted for info in regrouped) > 0
    assert regrouped[-1].elbo_per_token > alone[-1].elbo_per_token + 0.005
    assert {info.n_topics for info in regrouped} == {BARS}
    np.testing.assert_allclose(model.doc_concentration, np.full(BARS, 0.05))


def test_no_regroup_is_begun_that_could_not_be_judged(tmp_path):
    bars = ten_bars(np.random.default_rng(0), n_docs=150)
    moves = MoveOptions(("regroup",))

    _, course = train_bars(tmp_path / "short", bars, 0, moves=moves, laps=7)
    _, longer = train_bars(tmp_path / "long", bars, 0, moves=moves, laps=8)

    assert sum(info.moves["regroups"].proposed for info in course) == 0
    assert sum(info.moves["regroups"].proposed for info in longer) == 1
