"""A phase of moves raises the score, and after it every sum is what the documents say.

Everything is recomputed from the assignments alone, by plain numpy.
"""

from itertools import cycle, product

import numpy as np
import pytest

from sparsetopics.inference import mover
from sparsetopics.inference.local_step import Parameters
from sparsetopics.inference.mover import is_exhausted, make_moves
from sparsetopics.inference.moves import trimming
from sparsetopics.inference.moves.ledger import Ledger
from sparsetopics.inference.moves.rival import Phase, Rival, RivalRules
from sparsetopics.inference.moves.standing import MoveTally, Standing
from sparsetopics.model.likelihoods.words import Words
from sparsetopics.options.registry import RIVALS, TRIMS
from sparsetopics.options.training import LocalOptions
from worlds.dense_responsibilities import visit_of
from worlds.moved_collections import (
    ETA,
    WORLDS,
    assert_sound,
    assert_sums,
    assert_terms,
    elbo_of,
    grown,
    make_tools,
    next_lap,
    trained,
    twin_bound,
    with_tools,
)

ALL = ("merge", "delete", "birth")
BIRTHS = RIVALS["birth"].most_refusals
PHASES = pytest.mark.parametrize("names", [("merge",), ("delete",), ALL], ids="+".join)
UPDATES = pytest.mark.parametrize("update", ["collapsed", "mean-field"])


@pytest.fixture(autouse=True)
def deletes_at_any_cost(monkeypatch):
    """Documents of these small collections use many of the topics."""
    monkeypatch.setattr("sparsetopics.inference.moves.delete.LARGEST_TARGET", 1.0)


# Every update has every sparsity and criterion, in one world or the other.
LOCAL = product(
    ("collapsed", "mean-field"),
    ((None, "bound"), (1, "bound"), (40, "bound"), (None, "collapsed"), (2, "collapsed")),
)


@PHASES
@pytest.mark.parametrize(
    ("world", "update", "sparsity", "criterion"),
    [(world, update, *others) for world, (update, others) in zip(cycle(WORLDS), LOCAL)],
)
def test_a_phase_raises_the_score_and_keeps_the_sums(
    tmp_path, world, names, update, sparsity, criterion
):
    local = LocalOptions(update, sparsity)
    before = grown(tmp_path, WORLDS[world](), 12, local, criterion=criterion)

    moved, _, tallies = make_moves(before, None, names)

    assert moved.score >= before.score
    assert_sound(moved)
    accepted = sum(tallies[name].accepted for name in names if name in tallies)
    assert accepted == 12 - moved.n_topics
    assert tallies.keys() - {"birth", "cull"} == {"reorder", *names} - {"birth"}
    assert (moved.evidence.spread is None) == (criterion == "bound")


@PHASES
@UPDATES
@pytest.mark.parametrize("seed", range(2))
def test_the_bound_after_a_phase_is_that_of_plain_numpy(tmp_path, names, update, seed):
    """To 1e-7, for float32's sake; once under the weights of θ, once under others."""
    before = grown(tmp_path, WORLDS["bars"](), 15, LocalOptions(update), seed=seed)

    moved = make_moves(before, None, names).standing

    assert moved.n_topics < 15
    for standing in (moved, moved.refreshed()):
        assert elbo_of(standing) == pytest.approx(twin_bound(standing), rel=1e-7)
        assert elbo_of(standing) >= elbo_of(moved)


def test_many_phases_between_visits_are_replayed(tmp_path):
    """Batches that were last visited long ago say the same as if each phase had touched them."""
    source, local = WORLDS["bars"](), LocalOptions()
    learner, state, allocation = trained(tmp_path, source, 15, local, seed=4)
    tools, ledger = make_tools(source, learner, local), Ledger.new(15)
    likelihood = Words(source.n_columns, ETA)
    for lap in range(4):
        parameters = Parameters(allocation, likelihood)
        standing = Standing.of(state, parameters, ledger._replace(lap=lap), tools)
        standing = make_moves(standing, None, ALL).standing
        assert_sums(learner, standing.state)
        assert_terms(standing)
        allocation, ledger = standing.allocation, standing.ledger
        current = Parameters(allocation, likelihood).with_components(
            standing.state.total.components
        )
        visit = visit_of(lap % 4, source.read(lap % 4), current, local)
        state, _ = learner.step_in_place(standing.state, [visit], current)
        assert_sums(learner, state)

    resummed = learner.end_lap(state)
    np.testing.assert_allclose(
        resummed.total.components.table, state.total.components.table, rtol=1e-5, atol=1e-4
    )


def test_changes_that_all_batches_have_seen_are_dropped(tmp_path):
    standing = grown(tmp_path, WORLDS["bars"](), 15)
    moved = make_moves(standing, None, ("merge", "delete")).standing
    assert len(moved.state.changes) > 0

    after = next_lap(moved)

    assert after.state.changes == ()
    assert {kept.n_changes for kept in after.state.per_batch.values()} == {0}
    assert_sound(after)


# --- order and choice -----------------------------------------------------------------------------


@pytest.fixture
def scene(tmp_path, monkeypatch):
    """Moves that do nothing but tell their names, and a collection of five topics to make them on.

    ``outcomes`` are the verdicts on rivals: True, False, or None as long as there is none.
    """
    standing = grown(tmp_path, WORLDS["simulated"](), 5)
    made, outcomes = [], []

    def recorded(name):
        def move(standing):
            made.append(name)
            return standing, MoveTally(1, 1)

        return move

    def planned(name):
        def plan(standing, move):
            made.append(f"plan {name}")
            course = RivalRules(1, None, trimmed_from=4, judged_from=4)
            return Rival.of(
                standing, move, standing.evidence.components, standing.allocation, course
            )

        return plan

    def advanced(rival, standing):
        made.append(f"lap of {rival.move}")
        outcome = outcomes.pop(0) if outcomes else None
        if outcome is None:
            return Phase(standing, rival._replace(n_laps=rival.n_laps + 1), {})
        if outcome:
            ledger = Ledger.new(standing.n_topics, standing.ledger)
            ledger = ledger._replace(preferred=rival.move)
            return Phase(standing._replace(ledger=ledger), None, {rival.move: MoveTally(1, 1)})
        ledger = standing.ledger.refused(rival.move, standing.n_topics)
        return Phase(standing._replace(ledger=ledger), None, {rival.move: MoveTally(1, 0)})

    moves = {kind.where: recorded(name) for name, kind in TRIMS.items()}
    monkeypatch.setattr(trimming, "imported", moves.__getitem__)
    plans = {kind.where: planned(name) for name, kind in RIVALS.items()}
    monkeypatch.setattr(mover, "imported", plans.__getitem__)
    monkeypatch.setattr(mover, "reorder_topics", recorded("reorder"))
    monkeypatch.setattr(Rival, "advanced", advanced)
    return Scene(standing, made, outcomes, moves, plans)


class Scene:
    """Phases one after the other."""

    def __init__(self, standing, made, outcomes, moves, plans):
        self.standing, self.rival = standing, None
        self.made, self.outcomes, self.moves, self.plans = made, outcomes, moves, plans

    def phase(self, names=ALL):
        """What is made in one more phase, in its order."""
        self.made.clear()
        found = make_moves(self.standing, self.rival, names)
        self.standing, self.rival = found.standing, found.rival
        self.tallies = found.tallies
        return list(self.made)

    def refuse_plan(self, name):
        self.plans[RIVALS[name].where] = lambda *given: self.made.append(f"no {name}")

    def shrink_once(self, name, n_gone):
        """The next ``name`` loses topics."""
        where = TRIMS[name].where
        usual = self.moves[where]

        def move(standing):
            self.moves[where] = usual
            kept = np.arange(standing.n_topics - n_gone)
            new_topics = np.where(np.arange(standing.n_topics) < len(kept), kept[0], -1)
            new_topics[: len(kept)] = kept
            ledger = standing.ledger.renumbered(new_topics, len(kept))
            self.made.append(name)
            fewer = standing._replace(reference=standing.reference[kept], ledger=ledger)
            return fewer, MoveTally(n_gone, n_gone)

        self.moves[where] = move


def test_merges_come_first_then_deletes_a_rival_and_the_order(scene):
    assert scene.phase() == ["merge", "delete", "plan birth", "lap of birth", "reorder"]
    assert scene.rival.n_laps == 1
    assert scene.phase() == ["merge", "delete", "lap of birth", "reorder"]
    assert scene.rival.n_laps == 2


@pytest.mark.parametrize(
    ("names", "made"),
    [
        (("merge",), ["merge", "reorder"]),
        (("delete",), ["delete", "plan cull", "lap of cull", "reorder"]),
        (("birth",), ["plan birth", "lap of birth", "reorder"]),
        (("birth", "merge"), ["merge", "plan birth", "lap of birth", "reorder"]),
        (("delete", "merge"), ["merge", "delete", "plan cull", "lap of cull", "reorder"]),
    ],
)
def test_only_the_moves_that_are_named_are_made(scene, names, made):
    assert scene.phase(names) == made


def test_no_rival_is_tried_while_merges_find_much(scene):
    scene.shrink_once("merge", 1)  # of five: more than a twentieth

    assert scene.phase() == ["merge", "delete", "reorder"]
    assert scene.rival is None
    assert "plan birth" in scene.phase()


def test_a_rival_goes_on_while_merges_find_much(scene):
    scene.phase()
    scene.shrink_once("merge", 1)

    assert "lap of birth" in scene.phase()


def test_where_merges_find_a_little_a_cull_is_tried_first(scene, monkeypatch):
    monkeypatch.setattr(mover, "SETTLED_SHARE", 0.5)
    scene.shrink_once("delete", 1)

    assert scene.phase() == ["merge", "delete", "plan cull", "lap of cull", "reorder"]


@pytest.mark.parametrize(("last_lap", "begun"), [(2, False), (3, True)])
def test_no_rival_is_begun_that_could_not_be_judged(scene, last_lap, begun):
    """The verdict is due at the end of its fourth lap."""
    scene.standing = with_tools(scene.standing, last_lap=last_lap)

    made = scene.phase()

    assert scene.standing.ledger.lap == 0
    assert ("lap of birth" in made) == begun
    assert (scene.rival is not None) == begun


def test_the_kind_that_was_right_is_tried_again(scene):
    scene.outcomes += [*BIRTHS * [False], True, None]

    for _ in range(BIRTHS):
        assert "lap of birth" in scene.phase()
        assert scene.tallies["birth"] == MoveTally(1, 0)
    assert "lap of cull" in scene.phase()
    assert scene.rival is None
    assert scene.phase() == ["merge", "delete", "plan cull", "lap of cull", "reorder"]


def test_after_a_refusal_the_other_kind_is_tried_until_none_is_left(scene):
    scene.outcomes += [False] * 2 * BIRTHS
    kinds = []
    while not is_exhausted(scene.standing.ledger, ALL):
        kinds += [name for name in scene.phase() if name.startswith("lap")]

    assert kinds == [*BIRTHS * ["lap of birth"], *3 * ["lap of cull"]]
    assert scene.phase() == ["merge", "delete", "reorder"]
    assert scene.rival is None


def test_a_replaced_collection_may_be_challenged_by_all_kinds_again(scene):
    scene.outcomes += [False, True]
    scene.phase()
    scene.phase()

    assert not is_exhausted(scene.standing.ledger, ("birth",))
    assert scene.standing.ledger.failures == {}


def test_a_kind_that_has_no_plan_counts_as_refused(scene):
    scene.refuse_plan("birth")

    tried = BIRTHS * ["no birth"]
    assert scene.phase() == ["merge", "delete", *tried, "plan cull", "lap of cull", "reorder"]
    assert scene.standing.ledger.n_refusals("birth") == BIRTHS


@pytest.mark.parametrize(
    ("births", "culls", "names", "exhausted"),
    [
        (0, 0, ("merge",), True),
        (0, 0, (), True),
        (0, 0, ALL, False),
        (BIRTHS - 1, 0, ("birth",), False),
        (BIRTHS, 0, ("birth",), True),
        (BIRTHS, 0, ("merge", "birth"), True),
        (1, 0, ALL, False),
        (0, 1, ("delete",), False),
        (0, 2, ("delete",), False),
        (0, 3, ("delete",), True),
        (0, 3, ALL, False),
        (BIRTHS, 3, ALL, True),
        (3, 2, ALL, False),
    ],
)
def test_rivals_are_exhausted_when_every_kind_was_refused(births, culls, names, exhausted):
    ledger = Ledger.new(4)
    for kind, n_refusals in (("birth", births), ("cull", culls)):
        for _ in range(n_refusals):
            ledger = ledger.refused(kind, 4.0)

    assert is_exhausted(ledger, names) == exhausted


def test_a_rival_that_is_adopted_is_told_by_its_number_of_topics(tmp_path):
    standing = grown(tmp_path, WORLDS["bars"](), 2)
    rival: Rival | None = None
    for _ in range(12):
        standing, rival, tallies = make_moves(standing, rival, ("birth",))
        if rival is None:
            break
        assert "birth" not in tallies
        assert standing.n_topics == 2
        standing = next_lap(standing)

    assert tallies["birth"] == MoveTally(standing.n_topics - 2, standing.n_topics - 2)
    assert standing.n_topics > 4
    assert standing.ledger.preferred == "birth"
