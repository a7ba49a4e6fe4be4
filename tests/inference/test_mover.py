"""The mover remembers names, refusals and a rival from lap to lap."""

import pytest

from sparsetopics.inference.local_step import Parameters, elbo
from sparsetopics.inference.mover import FIRST_LAP, Mover
from sparsetopics.model.likelihoods.words import Words
from sparsetopics.options.registry import RIVALS
from sparsetopics.options.training import LocalOptions, MoveOptions
from worlds.moved_collections import ETA, WORLDS, make_tools, setting_of, trained


def mover_of(folder, n_topics, options, seed=2):
    """A mover before its first phase, with the collection that it is to move."""
    source, local = WORLDS["bars"](), LocalOptions()
    learner, state, allocation = trained(folder, source, n_topics, local, seed, laps=4)
    parameters = Parameters(allocation, Words(source.n_columns, ETA))
    mover = Mover(setting_of(source, folder, n_topics, options))
    mover.prepare(parameters)
    mover.state, mover.laps = state, make_tools(source, learner, local).laps
    return mover


def moved_laps(mover, n_laps):
    """Laps of training, each followed by a phase: what each phase tells."""
    for lap in range(FIRST_LAP, FIRST_LAP + n_laps):
        yield mover.after_lap(lap)
        mover.state, mover.parameters, _ = mover.laps.run(mover.state, mover.parameters)


@pytest.mark.parametrize("criterion", ["bound", "collapsed"])
def test_names_last_from_phase_to_phase(tmp_path, criterion):
    mover = mover_of(tmp_path, 2, MoveOptions(criterion=criterion))
    gone, last, sizes = set(), {0, 1}, []
    for lap, _ in enumerate(moved_laps(mover, 16), start=FIRST_LAP):
        n_topics = mover.state.total.components.table.shape[1]
        ids = set(mover.ledger.ids.tolist())
        assert len(ids) == len(mover.ledger.ids) == n_topics == mover.parameters.allocation.n_topics
        assert mover.ledger.lap == lap
        gone |= last - ids
        assert not ids & gone
        last = ids
        sizes.append(n_topics)
    assert sizes[-1] > 5


def test_a_rival_grows_from_phase_to_phase(tmp_path):
    mover = mover_of(tmp_path, 2, MoveOptions(names=("birth",)))
    n_laps = []
    for tallies, _ in moved_laps(mover, 20):
        if mover.rival is None:
            break
        n_laps.append(mover.rival.n_laps)
        assert tallies.keys() <= {"reorder"}

    assert n_laps == list(range(1, len(n_laps) + 1))
    assert len(n_laps) >= 3
    assert tallies["birth"].accepted > 0


def test_it_is_exhausted_only_without_a_rival(tmp_path):
    mover = mover_of(tmp_path, 4, MoveOptions(names=("birth",)))
    assert not mover.is_exhausted

    for _ in moved_laps(mover, 1):
        assert mover.rival is not None
    for _ in range(RIVALS["birth"].most_refusals):
        mover.ledger = mover.ledger.refused("birth", 4.0)

    assert not mover.is_exhausted
    mover.rival = None
    assert mover.is_exhausted


@pytest.mark.parametrize(("criterion", "told"), [("bound", False), ("collapsed", True)])
def test_the_score_is_told_where_it_is_not_the_bound(tmp_path, criterion, told):
    mover = mover_of(tmp_path, 8, MoveOptions(("merge",), criterion))

    _, score = next(moved_laps(mover, 1))

    assert (score is not None) == told
    if told:
        current = mover.parameters.with_components(mover.state.total.components)
        assert score > elbo(mover.state.total, current)


def test_progress_of_a_rival_is_not_told(tmp_path):
    mover = mover_of(tmp_path, 2, MoveOptions(names=("birth",)))
    told = []
    object.__setattr__(mover.laps, "on_documents", lambda n_done, n_docs: told.append(n_done))

    mover.after_lap(FIRST_LAP)

    assert mover.rival.n_laps == 1
    assert told == []
