"""Verification notices when statistics and assignments part, and when a score has fallen."""

from typing import NamedTuple

import numpy as np
import pytest

from sparsetopics.inference.mover import make_moves
from sparsetopics.inference.moves import trimming
from sparsetopics.inference.moves.merge import merge_topics
from sparsetopics.inference.moves.standing import MoveTally
from sparsetopics.inference.moves.trimming import verify_move
from sparsetopics.model.word_counts import WordCounts
from worlds.moved_collections import WORLDS, grown, table_of, twin_bound, with_tools

CRITERIA = pytest.mark.parametrize("criterion", ["bound", "collapsed"])


@CRITERIA
def test_a_sound_move_passes(tmp_path, criterion):
    standing = grown(tmp_path, WORLDS["bars"](), 12, criterion=criterion)
    merged, tally = merge_topics(standing)

    verify_move("merge", standing, merged)
    verify_move("merge", merged, merged)

    assert tally.accepted > 0


def test_the_recomputed_score_is_that_of_plain_numpy(tmp_path):
    standing = grown(tmp_path, WORLDS["simulated"](), 6)

    assert standing.recomputed_score() == pytest.approx(twin_bound(standing), rel=1e-7)


@CRITERIA
def test_the_recomputed_score_reads_no_statistics(tmp_path, criterion):
    standing = grown(tmp_path, WORLDS["simulated"](), 6, criterion=criterion)
    total = standing.state.total
    nonsense = standing.state._replace(
        total=total._replace(components=WordCounts(np.ones_like(table_of(standing))))
    )

    found = standing._replace(state=nonsense).recomputed_score()

    assert found == standing.recomputed_score()


def with_counts(standing, counts):
    components = WordCounts(counts)
    total = standing.state.total._replace(components=components)
    return standing._replace(
        state=standing.state._replace(total=total),
        known_evidence=standing.evidence.with_components(components),
    )


def with_term(standing, name):
    total = standing.state.total
    terms = total.terms._replace(**{name: 1.00001 * getattr(total.terms, name)})
    return standing._replace(state=standing.state._replace(total=total._replace(terms=terms)))


TAMPERED = {
    "a token too many": lambda standing: with_counts(standing, table_of(standing) + 1e-4),
    "words exchanged": lambda standing: with_counts(
        standing, np.vstack([table_of(standing)[:9, ::-1], table_of(standing)[9:]])
    ),
    "another reference": lambda standing: standing._replace(reference=2.0 * standing.reference),
    "entropy": lambda standing: with_term(standing, "assignment_entropy"),
    "digammas": lambda standing: with_term(standing, "summed_digamma"),
}


@CRITERIA
@pytest.mark.parametrize("tamper", TAMPERED.values(), ids=TAMPERED.keys())
def test_statistics_that_are_not_those_of_the_assignments_are_noticed(tmp_path, criterion, tamper):
    standing = grown(tmp_path, WORLDS["simulated"](), 6, criterion=criterion)
    verify_move("merge", standing, standing)

    with pytest.raises(AssertionError, match=r"merge: score .* of the statistics"):
        verify_move("merge", standing, tamper(standing))


def test_a_wrong_spread_is_noticed(tmp_path):
    standing = grown(tmp_path, WORLDS["simulated"](), 6, criterion="collapsed")
    evidence, spread = standing.evidence, standing.evidence.spread
    spread = spread._replace(by_word=spread.by_word * [1.001, 1.0])
    tampered = standing._replace(known_evidence=evidence._replace(spread=spread))

    with pytest.raises(AssertionError, match="of the statistics"):
        verify_move("merge", standing, tampered)


@CRITERIA
def test_a_move_that_lowers_the_score_is_noticed(tmp_path, criterion):
    """A merge backwards."""
    standing = grown(tmp_path, WORLDS["bars"](), 12, criterion=criterion)
    merged, _ = merge_topics(standing)

    with pytest.raises(AssertionError, match=r"before, .* after"):
        verify_move("birth", merged, standing)


@pytest.mark.parametrize("verify", [True, False])
def test_a_phase_verifies_if_asked(tmp_path, monkeypatch, verify):
    standing = with_tools(grown(tmp_path, WORLDS["simulated"](), 6), verify=verify)

    def spoil(standing):
        return with_counts(standing, table_of(standing) + 1e-3), MoveTally(1, 1)

    monkeypatch.setattr(trimming, "imported", lambda where: spoil)
    if not verify:
        make_moves(standing, None, ("merge",))
        return

    with pytest.raises(AssertionError, match="merge"):
        make_moves(standing, None, ("merge",))


class Before(NamedTuple):
    """What verification asks of the topics before a move."""

    score: float
    n_topics: int


def test_more_topics_must_raise_the_score(tmp_path):
    standing = grown(tmp_path, WORLDS["simulated"](), 6)
    score, fewer = standing.score, standing.n_topics - 1

    verify_move("birth", Before(np.nextafter(score, -np.inf), fewer), standing)
    verify_move("merge", Before(score, standing.n_topics), standing)
    with pytest.raises(AssertionError, match=r"birth: score .* before, .* after"):
        verify_move("birth", Before(score, fewer), standing)
