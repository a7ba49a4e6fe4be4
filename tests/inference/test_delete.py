"""Deletes: the smallest topics are tried, and documents that do not use them are not touched."""

import numpy as np
import pytest

from sparsetopics.inference.moves import delete
from sparsetopics.inference.moves.delete import delete_topics
from sparsetopics.inference.moves.standing import TopicUse
from sparsetopics.options.training import LocalOptions
from worlds.dense_responsibilities import dense_of
from worlds.moved_collections import WORLDS, assert_sound, bytes_of, grown
from worlds.simulated_documents import as_source, simulate

UPDATES = pytest.mark.parametrize("update", ["collapsed", "mean-field"])


def users_of(standing, topics):
    """Documents that use one of ``topics``, by batch."""
    users = {}
    for batch_id, assignments in standing.assignments():
        entries = TopicUse.of(assignments, standing.n_topics)
        users[batch_id] = np.unique(entries.documents[np.isin(entries.topics, topics)])
    return users


def assert_same_documents(found, expected):
    assert found.keys() == expected.keys()
    for batch_id, documents in expected.items():
        np.testing.assert_array_equal(found[batch_id], documents)


@pytest.fixture
def without_limits(monkeypatch):
    """Topics may be tried whatever it costs."""
    monkeypatch.setattr(delete, "LARGEST_TARGET", 1.0)
    monkeypatch.setattr(delete, "REFUSED_SHARE", 1e9)


def tokens_of_users(standing):
    """Tokens of the documents that use each topic, (n_topics,)."""
    tokens = np.zeros(standing.n_topics)
    for _, assignments in standing.assignments():
        dense = dense_of(assignments.responsibilities, standing.n_topics)
        batch = assignments.documents
        for lo, hi in zip(batch.indptr[:-1], batch.indptr[1:], strict=True):
            tokens += batch.word_counts[lo:hi].sum() * (dense[lo:hi].sum(axis=0) > 0)
    return tokens


@pytest.mark.usefixtures("without_limits")
def test_the_smallest_topics_are_planned_with_their_documents(tmp_path):
    standing = grown(tmp_path, WORLDS["simulated"](), 25)

    topics, documents = delete.choose_targets(standing)

    smallest = np.argsort(standing.sizes, kind="stable")
    np.testing.assert_array_equal(topics, smallest[: delete.FEWEST_TARGETS])
    assert_same_documents(documents, users_of(standing, topics))


@pytest.mark.parametrize("share", [0.1, 0.2, 0.4])
def test_a_topic_that_too_many_documents_use_is_not_planned(tmp_path, monkeypatch, share):
    monkeypatch.setattr(delete, "LARGEST_TARGET", share)
    standing = grown(tmp_path, WORLDS["simulated"](), 16, laps=4)
    few, _ = delete.choose_targets(standing)
    assert len(few) == 15  # of so few, all but the largest may be tried
    monkeypatch.setattr(delete, "FEW_TOPICS", 15)

    targets, _ = delete.choose_targets(standing)

    small_enough = tokens_of_users(standing) <= share * standing.terms.n_tokens
    assert 0 < small_enough.sum() < 16
    np.testing.assert_array_equal(np.sort(targets), np.flatnonzero(small_enough))


def test_no_more_documents_are_fetched_than_there_is_room_for(tmp_path, monkeypatch):
    monkeypatch.setattr(delete, "LARGEST_TARGET", 1.0)
    monkeypatch.setattr(delete, "FETCHED_TOKENS", 0.0)
    standing = grown(tmp_path, WORLDS["simulated"](), 16, laps=4)
    tokens, n_targets = tokens_of_users(standing), []
    for share in (0.1, 0.5, 2.0, 20.0):
        monkeypatch.setattr(delete, "FETCHED_SHARE", share)

        targets, _ = delete.choose_targets(standing)

        assert tokens[targets].sum() <= share * standing.terms.n_tokens
        n_targets.append(len(targets))
    assert n_targets == sorted(set(n_targets))
    assert n_targets[-1] == 15


@pytest.mark.usefixtures("without_limits")
def test_refused_topics_are_not_planned(tmp_path):
    standing = grown(tmp_path, WORLDS["simulated"](), 6)
    smallest = np.argsort(standing.sizes, kind="stable")
    ledger = standing.ledger
    for topic in smallest[:2].tolist():
        ledger = ledger.refused(delete.NAME, float(standing.sizes[topic]), topic)

    topics, _ = delete.choose_targets(standing._replace(ledger=ledger))

    assert not np.isin(smallest[:2], topics).any()
    assert topics[0] == smallest[2]


@pytest.mark.usefixtures("without_limits")
@pytest.mark.parametrize("n_topics", [1, 2])
def test_a_topic_always_remains(tmp_path, n_topics):
    standing = grown(tmp_path, WORLDS["simulated"](), n_topics)

    assert len(delete.choose_targets(standing)[0]) == n_topics - 1
    after, _ = delete_topics(standing)
    assert after.n_topics >= 1


@pytest.mark.usefixtures("without_limits")
@UPDATES
@pytest.mark.parametrize("criterion", ["bound", "collapsed"])
def test_other_documents_are_left_alone(tmp_path, monkeypatch, update, criterion):
    monkeypatch.setattr(delete, "FEWEST_TARGETS", 1)
    monkeypatch.setattr(delete, "LARGEST_SHARE", 0.0)
    standing = grown(
        tmp_path, WORLDS["bars"](), 12, LocalOptions(update), laps=2, criterion=criterion
    )
    topics, documents = delete.choose_targets(standing)

    after, tally = delete_topics(standing)

    assert tally.proposed == len(topics)
    assert standing.n_topics - after.n_topics == tally.accepted > 0
    assert after.score > standing.score
    assert_sound(after)
    survivors = np.isin(standing.ledger.ids, after.ledger.ids)
    assert set(np.flatnonzero(~survivors)) <= set(topics.tolist())
    befores, afters = dict(standing.assignments()), dict(after.assignments())
    n_untouched = 0
    for batch_id, before in befores.items():
        others = np.setdiff1d(np.arange(before.documents.n_docs), documents[batch_id])
        n_untouched += len(others)
        was, now = (each[batch_id].take(others).responsibilities for each in (befores, afters))
        expected = dense_of(was, standing.n_topics)[:, survivors]
        np.testing.assert_array_equal(dense_of(now, after.n_topics), expected)
    assert n_untouched > 0


@pytest.mark.usefixtures("without_limits")
def test_a_topic_that_is_needed_stays_and_is_left_alone_for_some_laps(tmp_path):
    standing = grown(tmp_path, WORLDS["simulated"](), 3, laps=6)
    before = bytes_of(standing)

    after, tally = delete_topics(standing)

    assert tally.proposed == 2
    assert tally.accepted == 0
    assert bytes_of(after) == before
    assert len(after.ledger.failures) == 2
    assert delete.choose_targets(after)[0].tolist() == [int(np.argmax(standing.sizes))]


@pytest.mark.parametrize(("share", "n_tried"), [(0.0, 1), (1.5, 2)])
def test_refusals_end_the_trials_of_a_lap(tmp_path, monkeypatch, share, n_tried):
    """A topic's documents have no more than all tokens, half of which may be refused again."""
    monkeypatch.setattr(delete, "LARGEST_TARGET", 1.0)
    monkeypatch.setattr(delete, "REFUSED_SHARE", share)
    standing = grown(tmp_path, WORLDS["simulated"](), 3, laps=6)

    after, tally = delete_topics(standing)

    assert tally == (n_tried, 0)
    assert len(after.ledger.failures) == n_tried


def test_where_no_topic_may_go_nothing_is_done(tmp_path):
    standing = grown(tmp_path, WORLDS["simulated"](), 1)

    after, tally = delete_topics(standing)

    assert after is standing
    assert tally == (0, 0)


@pytest.mark.usefixtures("without_limits")
def test_at_the_same_score_only_topics_go_that_no_document_uses(tmp_path, monkeypatch):
    source = as_source(simulate(np.random.default_rng(0), n_docs=10, n_tokens=15), 30, 2)
    standing = grown(tmp_path, source, 24, laps=4)
    n_empty = int((standing.sizes[delete.choose_targets(standing)[0]] == 0.0).sum())
    refit = delete.Trial.refit_without

    def tied(trial, *others, **options):
        focus, after = refit(trial, *others, **options)
        return focus, after._replace(score=trial.score)

    monkeypatch.setattr(delete.Trial, "refit_without", tied)

    after, tally = delete_topics(standing)

    assert tally == (delete.FEWEST_TARGETS, n_empty)
    assert after.n_topics == 24 - n_empty
    assert 0 < n_empty < delete.FEWEST_TARGETS


def test_topics_that_no_document_uses_are_deleted(tmp_path):
    """More of them than are tried at a time."""
    source = as_source(simulate(np.random.default_rng(0), n_docs=10, n_tokens=15), 30, 2)
    standing = grown(tmp_path, source, 60, laps=4)
    n_empty = int((standing.sizes == 0.0).sum())

    after, tally = delete_topics(standing)

    assert n_empty > delete.FEWEST_TARGETS
    assert tally.accepted == 60 - after.n_topics == 60 * delete.LARGEST_SHARE
    assert after.score > standing.score
    assert_sound(after)


def test_after_deletes_the_score_is_still_exact(tmp_path, monkeypatch):
    """To 1e-8, as after any move, though the counts have lost and gained documents many times."""
    monkeypatch.setattr(delete, "LARGEST_TARGET", 1.0)
    standing = grown(tmp_path, WORLDS["bars"](), 12, LocalOptions("mean-field"))

    after, tally = delete_topics(standing)

    assert tally.accepted > 5
    assert after.score == pytest.approx(after.recomputed_score(), rel=1e-8)


@pytest.mark.usefixtures("without_limits")
@pytest.mark.parametrize(
    ("refusing", "sizes"),
    [
        ((), [1, 2, 4, 8]),  # twice as many after each success
        ((0,), [1, 1, 2, 4, 7]),
        ((4,), [1, 2, 4, 1, 2, 1, 1, 2, 4, 3]),  # one by one after a refusal
        (tuple(range(15)), [1] * 15),
    ],
)
def test_more_topics_are_tried_at_once_as_long_as_they_can_go(
    tmp_path, monkeypatch, refusing, sizes
):
    """``refusing`` counts from the smallest topic."""
    standing = grown(tmp_path, WORLDS["simulated"](), 16)
    order = np.argsort(standing.sizes, kind="stable")
    needed, found = set(order[list(refusing)].tolist()), []
    refit = delete.Trial.refit_without

    def scripted(trial, kept, documents):
        before = {topic: int(trial.new_topics[topic]) for topic in range(16)}
        gone = {t for t, now in before.items() if now >= 0 and now not in kept}
        found.append(len(gone))
        focus, after = refit(trial, kept, documents)
        return focus, after._replace(score=trial.score + (-1.0 if gone & needed else 1.0))

    monkeypatch.setattr(delete.Trial, "refit_without", scripted)

    after, tally = delete_topics(standing)

    assert found == sizes
    assert tally == (15, 15 - len(refusing))
    assert after.n_topics == 1 + len(refusing)
    assert set(after.ledger.ids.tolist()) == needed | {int(order[15])}
    assert {topic for _, topic in after.ledger.failures} == needed
