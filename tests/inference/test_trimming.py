"""Merges and deletes are tried lap after lap, and pause while they are in vain."""

import pytest

from sparsetopics.inference.moves import trimming
from sparsetopics.inference.moves.standing import MoveTally
from sparsetopics.inference.moves.trimming import may_trim, trim_topics
from sparsetopics.options.registry import TRIMS
from sparsetopics.options.table import DEFAULT_MOVES
from worlds.moved_collections import WORLDS, grown, with_tools


@pytest.fixture
def laps_of(tmp_path, monkeypatch):
    """The laps of 40 in which each move is made, if it succeeds in ``lucky`` laps alone."""
    standing = grown(tmp_path, WORLDS["simulated"](), 5)

    def run(lucky, names=("merge", "delete")):
        made = {name: [] for name in TRIMS}

        def recorded(name):
            def move(standing):
                made[name].append(standing.ledger.lap)
                return standing, MoveTally(3, 2 if standing.ledger.lap in lucky[name] else 0)

            return move

        moves = {kind.where: recorded(name) for name, kind in TRIMS.items()}
        monkeypatch.setattr(trimming, "imported", moves.__getitem__)
        current = standing
        for lap in range(1, 41):
            current = current._replace(ledger=current.ledger._replace(lap=lap))
            current, tallies = trim_topics(current, names)
            assert set(tallies) == {name for name in made if made[name][-1:] == [lap]}
        return made

    return run


def test_a_move_in_vain_pauses_ever_longer_whatever_the_other_does(laps_of):
    made = laps_of({"merge": (), "delete": range(1, 41)})

    assert made["merge"] == [1, 4, 9, 18, 35]
    assert made["delete"] == list(range(1, 41))


def test_a_success_ends_the_pauses(laps_of):
    made = laps_of({"merge": (4, 5), "delete": ()})

    assert made["merge"] == [1, 4, 5, 6, 9, 14, 23, 40]


def test_only_moves_that_are_named_are_made(laps_of):
    made = laps_of({"merge": (), "delete": ()}, names=("delete", "birth"))

    assert made == {"merge": [], "delete": [1, 4, 9, 18, 35]}


def test_moves_are_verified_on_request(tmp_path, monkeypatch):
    standing = grown(tmp_path, WORLDS["simulated"](), 5)
    worse = standing._replace(reference=2.0 * standing.reference)
    monkeypatch.setattr(trimming, "imported", lambda where: lambda *given: (worse, MoveTally(1, 1)))

    trim_topics(standing, ("merge",))
    with pytest.raises(AssertionError, match="merge"):
        trim_topics(with_tools(standing, verify=True), ("merge",))


@pytest.mark.parametrize(
    ("names", "expected"),
    [(("merge",), False), (("delete",), True), (("merge", "delete"), True), (("birth",), False)],
)
def test_it_is_time_while_a_move_that_is_named_does_not_pause(tmp_path, names, expected):
    standing = grown(tmp_path, WORLDS["simulated"](), 5)
    paused = standing._replace(ledger=standing.ledger.refused("merge", 5))

    assert may_trim(paused, names) == expected


def test_what_all_moves_leave_is_a_collection(tmp_path, monkeypatch):
    standing = grown(tmp_path, WORLDS["simulated"](), 5)
    other = standing._replace(reference=2.0 * standing.reference)
    monkeypatch.setattr(trimming, "imported", lambda where: lambda *given: (other, MoveTally(1, 1)))

    assert trim_topics(standing, DEFAULT_MOVES)[0].reference is other.reference
