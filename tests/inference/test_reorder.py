"""Reorder: topics in falling order of weight, and nothing else changed."""

import numpy as np
import pytest

from sparsetopics.inference.mover import reorder_topics
from sparsetopics.inference.moves.standing import MoveTally
from sparsetopics.model.allocations.hdp import HDPAllocation
from worlds.moved_collections import WORLDS, assert_sound, bytes_of, grown, table_of


@pytest.mark.parametrize("criterion", ["bound", "collapsed"])
def test_topics_are_sorted_by_weight(tmp_path, criterion):
    standing = grown(tmp_path, WORLDS["simulated"](), 7, criterion=criterion)
    order = np.argsort(-standing.allocation.weights)

    after, tally = reorder_topics(standing)

    assert not np.array_equal(order, np.arange(7))
    assert tally == MoveTally(1, 1)
    assert after.score > standing.score
    np.testing.assert_array_equal(table_of(after), table_of(standing)[:, order])
    np.testing.assert_array_equal(after.ledger.ids, order)
    assert np.corrcoef(after.allocation.weights, standing.allocation.weights[order])[0, 1] > 0.99
    assert_sound(after)


def test_sorted_topics_stay(tmp_path):
    standing = grown(tmp_path, WORLDS["simulated"](), 7)
    for _ in range(5):
        standing, tally = reorder_topics(standing)

    assert tally == MoveTally(0, 0)


def test_an_order_that_is_no_better_is_refused(tmp_path, monkeypatch):
    standing = grown(tmp_path, WORLDS["simulated"](), 7)
    before = bytes_of(standing)
    backwards = np.argsort(standing.allocation.weights)
    original = HDPAllocation.reordered
    monkeypatch.setattr(HDPAllocation, "reordered", lambda self, order: original(self, backwards))
    monkeypatch.setattr(HDPAllocation, "updated", lambda self, terms: self)

    after, tally = reorder_topics(standing)

    assert tally == MoveTally(1, 0)
    assert after is standing
    assert bytes_of(after) == before
