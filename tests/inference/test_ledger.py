"""Names of topics, and which moves have failed on them."""

import itertools

import numpy as np
import pytest

from sparsetopics.inference.moves.ledger import LONGEST_PAUSE, Ledger


def test_ids_are_never_used_again():
    ledger, seen = Ledger.new(4), set(range(4))
    rng = np.random.default_rng(0)
    for _ in range(30):
        n_topics = len(ledger.ids)
        n_after = int(rng.integers(1, 8))
        new_topics = rng.integers(-1, n_after, n_topics)
        after = ledger.renumbered(new_topics, n_after)

        for number in range(n_after):
            parents = np.flatnonzero(new_topics == number)
            if len(parents):
                assert after.ids[number] == ledger.ids[parents[0]]
            else:
                assert after.ids[number] not in seen
        seen |= set(after.ids.tolist())
        assert len(set(after.ids.tolist())) == n_after
        ledger = after
    assert all(a < b for a, b in itertools.pairwise(sorted(seen)))


def test_other_topics_get_other_ids():
    before = Ledger.new(4)._replace(lap=7).refused("birth", 4.0)

    after = Ledger.new(3, before)

    assert after.ids.tolist() == [4, 5, 6]
    assert after.next_id == 7
    assert after.lap == 7
    assert after.n_refusals("birth") == 0
    assert after.may_try("birth", 4.0)


def test_a_refused_topic_is_left_alone_for_ever_longer():
    ledger, tried = Ledger.new(1), []
    for lap in range(1, 160):
        ledger = ledger._replace(lap=lap)
        if len(ledger.eligible("delete", np.array([50.0]))):
            tried.append(lap)
            ledger = ledger.refused("delete", 50.0, 0)
        assert ledger.may_try("merge", 50.0, 0)

    pauses = np.diff(tried) - 1
    assert pauses.tolist() == [2, 4, 8, 16, 32, 32, 32][: len(pauses)]
    assert pauses[-1] == LONGEST_PAUSE


@pytest.mark.parametrize(
    ("size", "again"), [(50.0, False), (59.0, False), (61.0, True), (39.0, True)]
)
def test_a_topic_of_another_size_may_be_tried_at_once(size, again):
    ledger = Ledger.new(2)._replace(lap=1).refused("delete", 50.0, 1)

    eligible = ledger._replace(lap=2).eligible("delete", np.array([10.0, size]))

    assert eligible.tolist() == ([0, 1] if again else [0])


def test_a_pause_follows_the_topic_when_its_number_changes():
    ledger = Ledger.new(4)._replace(lap=1).refused("delete", 50.0, 2)

    after = ledger.renumbered(np.array([1, -1, 0, 1]), 2)

    assert after.ids.tolist() == [2, 0]
    assert after.eligible("delete", np.array([50.0, 50.0])).tolist() == [1]


def test_refusals_of_the_whole_are_counted():
    ledger = Ledger.new(3)
    for n_refusals in range(3):
        assert ledger.n_refusals("cull") == n_refusals
        ledger = ledger.refused("cull", 3.0)

    assert ledger.n_refusals("birth") == 0
    assert len(ledger.eligible("cull", np.full(3, 3.0))) == 3  # topics are another matter


def test_a_success_ends_the_pause_of_the_whole_only():
    ledger = Ledger.new(3)._replace(lap=1).refused("merge", 3.0).refused("merge", 5.0, 1)
    assert not ledger.may_try("merge", 3.0)

    after = ledger.refused("delete", 3.0).succeeded("merge")

    assert after.may_try("merge", 3.0)
    assert not after.may_try("delete", 3.0)
    assert not after.may_try("merge", 5.0, 1)


def test_nothing_is_changed_in_place():
    ledger = Ledger.new(3)

    ledger.refused("delete", 5.0, 1)
    refused = ledger.refused("merge", 3.0)
    refused.succeeded("merge")

    assert not refused.may_try("merge", 3.0)
    assert ledger.failures == {}
    assert ledger.preferred == ""
