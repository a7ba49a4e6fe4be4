"""Rivals: adopted when they are ahead after as many laps, given up when they will not be."""

from dataclasses import replace

import numpy as np
import pytest

from sparsetopics.inference.moves import rival as rivals
from sparsetopics.inference.moves import trimming
from sparsetopics.inference.moves.rival import REACH, RivalRules, plan_birth, plan_cull
from sparsetopics.inference.moves.standing import MoveTally, Standing
from sparsetopics.model.memo import Memo
from sparsetopics.options.table import DEFAULT_MOVES
from sparsetopics.options.training import LocalOptions
from worlds.moved_collections import WORLDS, assert_sound, bytes_of, grown, next_lap, with_tools
from worlds.simulated_documents import as_source, simulate

UPDATES = pytest.mark.parametrize("update", ["collapsed", "mean-field"])
CRITERIA = pytest.mark.parametrize("criterion", ["bound", "collapsed"])
PLANS = {"birth": (plan_birth, 2), "cull": (plan_cull, 30)}  # and topics to begin with
KINDS = pytest.mark.parametrize("kind", PLANS)


def challenged(folder, kind, local=None, n_topics=None, world="bars", **others):
    """A collection, and a rival before its first lap."""
    plan, few_or_many = PLANS[kind]
    standing = grown(folder, WORLDS[world](), n_topics or few_or_many, local, **others)
    return standing, plan(standing, kind)


def is_adopted(verdict):
    """Whether the rival has taken the place of the collection."""
    return verdict.rival is None and all(tally.accepted for tally in verdict.tallies.values())


def decided(standing, rival, most_laps=40):
    """Laps of both until the rival is adopted or given up: verdict, and the collection before."""
    for _ in range(most_laps):
        verdict = rival.advanced(standing)
        if verdict.rival is None:
            return verdict, standing
        rival = verdict.rival
        standing = next_lap(standing)
    raise AssertionError(f"no verdict in {most_laps} laps")


@KINDS
@UPDATES
@CRITERIA
def test_a_better_rival_takes_the_place(tmp_path, kind, update, criterion):
    """Two topics where there are ten bars, and thirty."""
    standing, rival = challenged(tmp_path, kind, LocalOptions(update), criterion=criterion)

    verdict, before = decided(standing, rival)

    assert is_adopted(verdict)
    after = verdict.standing
    assert after.score > before.score
    change = abs(after.n_topics - before.n_topics)
    assert verdict.tallies == {kind: MoveTally(change, change)}
    assert after.ledger.preferred == kind
    assert rival.course.allows(after.n_topics)
    assert_sound(after)
    assert np.isin(after.ledger.ids, before.ledger.ids).sum() == 0
    assert after.ledger.failures.keys().isdisjoint({("birth", -1), ("cull", -1)})


@pytest.mark.parametrize("verify", [True, False])
def test_a_rival_that_is_adopted_is_verified_if_asked(tmp_path, monkeypatch, verify):
    verified = []
    monkeypatch.setattr(rivals, "verify_move", lambda *given: verified.append(given))
    standing, rival = challenged(tmp_path, "birth")
    standing = with_tools(standing, verify=verify)

    verdict, _ = decided(standing, rival)

    assert is_adopted(verdict)
    assert [move for move, *_ in verified if move == "birth"] == ["birth"] * verify


@KINDS
@UPDATES
@CRITERIA
def test_a_worse_rival_leaves_no_trace(tmp_path, kind, update, criterion):
    """Bytes are those of a collection never challenged, whatever the rival does beside it."""
    n_topics = {"birth": 6, "cull": 3}[kind]  # of four true ones
    standing, _ = challenged(
        tmp_path, kind, LocalOptions(update), n_topics, "simulated", laps=9, criterion=criterion
    )
    standing = trimming.trim_topics(standing, DEFAULT_MOVES)[0]  # no more than are of use
    rival = PLANS[kind][0](standing, kind)
    before = bytes_of(standing)
    for _ in range(20):
        verdict = rival.advanced(standing)
        rival = verdict.rival
        assert bytes_of(verdict.standing) == before
        if rival is None:
            break

    assert rival is None
    assert not is_adopted(verdict)
    assert verdict.standing._replace(ledger=standing.ledger) == standing
    assert verdict.standing.ledger == standing.ledger.refused(kind, standing.n_topics)


# --- when a verdict falls -------------------------------------------------------------------------


def scripted(monkeypatch, folder, own, others, maturing_laps=1, wanted=True):
    """The laps after which a rival of ``own`` scores is still undecided, and the verdict.

    ``others`` are the collection's scores after as many laps. Rivals make no moves here.
    """
    standing = grown(folder, WORLDS["simulated"](), 5)
    most = None if wanted else 1
    course = RivalRules(1, most, trimmed_from=maturing_laps + 1, judged_from=maturing_laps + 1)
    rival = plan_cull(standing, "cull")
    rival = rival._replace(course=course, score=own[0], opponent=others[0])
    scores = {}
    monkeypatch.setattr(Standing, "score", property(lambda self: scores[self.n_topics]))
    monkeypatch.setattr(trimming, "TRIMS", {})
    n_laps = 0
    for scores[3], scores[5] in zip(own[1:], others[1:], strict=True):
        verdict = rival.advanced(standing)
        n_laps += 1
        if verdict.rival is None:
            break
        assert verdict.standing is standing
        assert verdict.rival.n_laps == n_laps
        assert not is_adopted(verdict)
        rival = verdict.rival
    return n_laps, verdict


FIRST = 2  # lap of the first comparison, one after topics have formed


def test_a_rival_is_adopted_at_the_first_comparison_that_it_wins(tmp_path, monkeypatch):
    n_laps, verdict = scripted(monkeypatch, tmp_path, [0, 5, 11, 12], [0, 9, 10, 10])

    assert n_laps == FIRST
    assert is_adopted(verdict)
    assert verdict.standing.n_topics == 3


def test_a_rival_that_is_ahead_too_early_is_not_yet_adopted(tmp_path, monkeypatch):
    n_laps, verdict = scripted(monkeypatch, tmp_path, [0, 50, 9, 9], [0, 9, 10, 10])

    assert n_laps == FIRST
    assert not is_adopted(verdict)


def test_a_rival_that_comes_nearer_is_given_time(tmp_path, monkeypatch):
    """From twelve nats behind, two nearer each lap, then ahead."""
    others = [0.0] * (FIRST + 9)
    own = [0.0] * FIRST + [-12.0 + 2.0 * lap for lap in range(9)]
    own[FIRST - 1] = -14.0

    n_laps, verdict = scripted(monkeypatch, tmp_path, own, others)

    assert is_adopted(verdict)
    assert own[n_laps] > others[n_laps]
    assert own[n_laps - 1] <= others[n_laps - 1]


@pytest.mark.parametrize(("pace", "given_up"), [(1.01, False), (0.99, True), (-1.0, True)])
def test_a_rival_that_would_not_catch_up_is_given_up(tmp_path, monkeypatch, pace, given_up):
    """``REACH`` nats behind; both get better, the rival by ``pace`` more."""
    others = [100.0 * lap for lap in range(FIRST + 1)]
    own = [other - REACH - pace for other in others]
    own[FIRST] = others[FIRST] - REACH

    n_laps, verdict = scripted(monkeypatch, tmp_path, own, others)

    assert n_laps == FIRST
    assert (verdict.rival is None) == given_up
    assert not is_adopted(verdict)
    assert verdict.standing.ledger.n_refusals("cull") == int(given_up)


@pytest.mark.parametrize("maturing_laps", [0, 2, 3])
def test_topics_form_before_they_are_judged(tmp_path, monkeypatch, maturing_laps):
    n_laps, verdict = scripted(monkeypatch, tmp_path, [9] * 9, [1] * 9, maturing_laps)

    assert n_laps == maturing_laps + 1
    assert is_adopted(verdict)


def test_topics_form_before_they_are_trimmed(tmp_path, monkeypatch):
    standing = grown(tmp_path, WORLDS["simulated"](), 5)
    course = RivalRules(1, None, trimmed_from=3, judged_from=9)
    rival = plan_cull(standing, "cull")._replace(course=course)
    made = []
    monkeypatch.setattr(rivals, "trim_topics", lambda grown, _: made.append("trim") or (grown, {}))
    for lap in range(1, 6):
        made.append(lap)
        rival = rival.advanced(standing).rival

    assert made == [1, 2, 3, "trim", 4, "trim", 5, "trim"]


def test_a_course_allows_its_most():
    assert [n for n in range(9) if RivalRules(3, 5, 1, 1).allows(n)] == [0, 1, 2, 3, 4, 5]
    assert RivalRules(3, None, 1, 1).allows(10**6)


@pytest.mark.parametrize("fewest", [1, 3])
def test_merges_and_deletes_leave_the_fewest(tmp_path, fewest):
    """Of one true topic, all ten children but one are superfluous."""
    source = as_source(simulate(np.random.default_rng(0), n_topics=1), 30, 4)
    standing = grown(tmp_path, source, 1)
    rival = plan_birth(standing, "birth")
    course = rival.course._replace(fewest=fewest, trimmed_from=1)

    trimmed = rival._replace(course=course)._grown(standing)

    assert trimmed.n_topics == fewest
    assert trimmed.tools == standing.tools


def test_a_rival_that_is_no_longer_what_was_meant_is_given_up(tmp_path, monkeypatch):
    n_laps, verdict = scripted(monkeypatch, tmp_path, [9] * 9, [1] * 9, 2, wanted=False)

    assert n_laps == 3
    assert not is_adopted(verdict)
    assert verdict.rival is None


# --- what the memo keeps --------------------------------------------------------------------------


@KINDS
@pytest.mark.parametrize("wanted", [True, False])
def test_the_loser_gives_back_its_files(tmp_path, kind, wanted):
    standing, rival = challenged(tmp_path, kind, budget=0)
    if not wanted:
        rival = rival._replace(course=rival.course._replace(most=0))
    before = set(tmp_path.iterdir())
    assert len(before) == 4

    verdict, _ = decided(standing, rival)

    assert is_adopted(verdict) == wanted
    after = set(tmp_path.iterdir())
    assert len(after) == 4
    assert after == {kept.stored.path for kept in verdict.standing.state.per_batch.values()}


def test_the_loser_gives_back_what_its_documents_would_have_begun_with(tmp_path):
    standing, rival = challenged(tmp_path, "cull", budget=0)
    laps = standing.tools.laps
    warm = replace(laps, learner=replace(laps.learner, cold_every=3))
    standing = with_tools(standing, laps=warm)
    rival = rival._replace(course=rival.course._replace(most=0))

    verdict, _ = decided(standing, rival)

    kept = verdict.standing.state.per_batch.values()
    stored = [each for batch in kept for each in (batch.stored, batch.doc_topics) if each]
    assert set(tmp_path.iterdir()) == {each.path for each in stored}


class CountingMemo(Memo):
    """Counts the bytes that are kept in memory."""

    def __init__(self, folder):
        super().__init__(folder)
        self.kept = 0

    def keep(self, arrays):
        stored = super().keep(arrays)
        self.kept += stored.size
        return stored

    def release(self, size):
        super().release(size)
        self.kept -= size


@KINDS
@pytest.mark.parametrize("wanted", [True, False])
def test_the_loser_gives_back_its_share_of_the_budget(tmp_path, monkeypatch, kind, wanted):
    monkeypatch.setattr("worlds.dense_responsibilities.Memo", CountingMemo)
    standing, rival = challenged(tmp_path, kind)
    if not wanted:
        rival = rival._replace(course=rival.course._replace(most=0))

    verdict, _ = decided(standing, rival)

    assert is_adopted(verdict) == wanted
    kept = [kept.stored.size for kept in verdict.standing.state.per_batch.values()]
    assert standing.tools.laps.learner.memo.kept == sum(kept) > 0
