"""Records of movers: rivals come back as their plans made them."""

from types import SimpleNamespace

import pytest

from moved_collections import WORLDS, grown
from sparsetopics.mover_records import recorded, restore
from sparsetopics.moves.birth import plan_birth
from sparsetopics.moves.cull import plan_cull
from sparsetopics.moves.mover import Mover
from sparsetopics.moves.phase import PLANS
from sparsetopics.moves.regroup import plan_regroup
from sparsetopics.moves.rival import entered
from sparsetopics.options import MoveOptions

RIVALS = {"birth": plan_birth, "cull": plan_cull, "regroup": plan_regroup}


def test_every_kind_of_rival_is_known():
    assert PLANS == RIVALS


@pytest.mark.parametrize("kind", RIVALS)
def test_a_rival_comes_back_as_it_was_planned(tmp_path, kind):
    """But for the topics that it began with, which it does not need any more."""
    standing, tools = grown(tmp_path, WORLDS["bars"](), 8)
    planned = RIVALS[kind](standing, tools)
    before, after = (Mover(tools.laps, MoveOptions(), standing.ledger) for _ in range(2))
    rival = entered(standing, kind, planned, tools)._replace(n_laps=2)
    before.rival = rival

    restore(after, recorded(before, [9, 8, 7]))  # eight when it was entered

    assert after.ledger == before.ledger
    assert after.rival._replace(candidate=None) == rival._replace(candidate=None)
    found = after.rival.candidate
    assert (found.trimmed_from, found.judged_from) == (planned.trimmed_from, planned.judged_from)
    wanted = [planned.is_wanted(n_left) for n_left in range(1, 40)]
    assert [found.is_wanted(n_left) for n_left in range(1, 40)] == wanted
    assert getattr(found.trim, "func", found.trim) is getattr(planned.trim, "func", planned.trim)
    assert getattr(found.trim, "keywords", {}) == getattr(planned.trim, "keywords", {})


def test_nothing_that_changes_the_number_of_topics_is_nothing_to_record():
    assert recorded(None, [3]) is None
    restore(None, None)
    with pytest.raises(TypeError, match="another kind"):
        restore(SimpleNamespace(), None)
