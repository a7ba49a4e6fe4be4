"""Records of movers: ledgers and rivals come back as they were."""

import pytest

from moved_collections import WORLDS, grown
from sparsetopics.inference.moves.phase import Mover, plans
from sparsetopics.inference.moves.rival import entered
from sparsetopics.inference.moves.rival_plans import plan_birth, plan_cull
from sparsetopics.options.training import MoveOptions

RIVALS = {"birth": plan_birth, "cull": plan_cull}


def test_every_kind_of_rival_is_known():
    assert plans() == RIVALS


@pytest.mark.parametrize("kind", RIVALS)
def test_a_rival_comes_back_as_it_was(tmp_path, kind):
    standing = grown(tmp_path, WORLDS["bars"](), 8)
    before, after = (Mover(standing.tools.laps, MoveOptions(), standing.ledger) for _ in range(2))
    rival = entered(standing, kind, RIVALS[kind](standing))._replace(n_laps=2)
    before.rival = rival

    after.restore(before.record())

    assert (after.ledger, after.rival) == (before.ledger, rival)
