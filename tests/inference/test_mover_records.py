"""Records of movers: ledgers and rivals come back as they were."""

import pytest

from sparsetopics.inference.mover import Mover
from sparsetopics.inference.moves.rival import plan_birth, plan_cull
from sparsetopics.inference.training_state import TrainingState
from sparsetopics.options import registry
from sparsetopics.options.registry import imported
from sparsetopics.options.training import MoveOptions
from worlds.moved_collections import WORLDS, grown, setting_of

RIVALS = {"birth": plan_birth, "cull": plan_cull}


def test_every_kind_of_rival_is_known():
    assert {name: imported(kind.where) for name, kind in registry.RIVALS.items()} == RIVALS


@pytest.mark.parametrize("kind", RIVALS)
def test_a_rival_comes_back_as_it_was(tmp_path, kind):
    source = WORLDS["bars"]()
    standing = grown(tmp_path, source, 8)
    setting = setting_of(source, tmp_path, 8, MoveOptions())
    before, after = Mover(setting), Mover(setting)
    before.prepare(standing.parameters)
    rival = RIVALS[kind](standing, kind)._replace(n_laps=2)
    before.rival = rival
    before.ledger = before.ledger.refused("merge", 8)

    kept = TrainingState(
        standing.state, standing.parameters, before.record(), {}, (), before.memory
    )
    after.resume(kept)

    assert (after.ledger, after.rival) == (before.ledger, rival)
