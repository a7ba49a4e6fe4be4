"""The bars collection is what it says, and what training without moves makes of it."""

import numpy as np
import pytest

from sparsetopics.execution.executors import Executor
from sparsetopics.inference.course import Hooks
from sparsetopics.inference.training import train
from sparsetopics.options.training import MoveOptions, TrainingOptions
from worlds.bars import bar_topics, fifty_bars, match, ten_bars


@pytest.mark.parametrize(("n_bars", "side"), [(10, 30), (50, 50), (4, 4)])
def test_every_cell_belongs_to_a_horizontal_and_a_vertical_bar(n_bars, side):
    topics = bar_topics(n_bars, side)

    np.testing.assert_allclose(topics.sum(axis=1), 1.0)
    cells = (topics > 0).reshape(2, n_bars // 2, -1)
    np.testing.assert_array_equal(cells.sum(axis=1), 1)
    assert len({tuple(topic) for topic in cells.reshape(n_bars, -1)}) == n_bars


@pytest.mark.parametrize("draw", [ten_bars, fifty_bars])
def test_documents_mix_a_few_bars(draw):
    bars = draw(np.random.default_rng(0), n_docs=40)
    again = draw(np.random.default_rng(0), n_docs=40)

    assert bars.batch.n_docs == 40
    lengths = np.add.reduceat(bars.batch.word_counts, bars.batch.indptr[:-1])
    assert set(lengths) == {200 if draw is ten_bars else 300}
    np.testing.assert_array_equal(bars.batch.word_ids, again.batch.word_ids)
    assert sum(bars.source(3).read(n).n_docs for n in range(3)) == 40


def test_matching_undoes_a_permutation():
    topics = bar_topics(10, 30)
    rng = np.random.default_rng(0)
    blurred = 0.9 * topics + 0.1 / 900

    found = match(np.vstack([blurred[rng.permutation(10)], np.full((1, 900), 1 / 900)]), topics)

    np.testing.assert_allclose(found, 0.1 * (1 - 180 / 900))
    assert match(topics[:9], topics).tolist() == [0.0] * 9 + [1.0]


@pytest.mark.parametrize(("n_topics", "seed"), [(1, 0), (40, 1)])
def test_with_moves_the_bars_are_found_from_any_number_of_topics(tmp_path, n_topics, seed):
    """A third of the collection, so that it is quick: topics are the less exact."""
    bars = ten_bars(np.random.default_rng(seed), n_docs=300)
    options = TrainingOptions(n_topics, 40, model="hdp", start="random")

    model = train(bars.source(5), options, tmp_path, Executor(), np.random.default_rng(seed))

    assert model.n_topics == 10, f"seed {seed}"
    assert match(model.topic_word_mean, bars.topics).max() < 0.15, f"seed {seed}"


def test_without_moves_there_remain_more_topics_than_bars(tmp_path):
    """What moves are for: from 50 topics the weights alone do not come down to 10."""
    source = ten_bars(np.random.default_rng(1), n_docs=300).source(5)
    options = TrainingOptions(50, 15, model="hdp", start="random", moves=MoveOptions(names=()))
    trace = []
    hooks = Hooks(on_lap=lambda info, model: trace.append(info))

    train(source, options, tmp_path, Executor(), np.random.default_rng(0), hooks=hooks)

    assert trace[-1].n_topics == 50
    assert trace[-1].active_topics > 25
