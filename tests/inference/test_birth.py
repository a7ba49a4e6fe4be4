"""Births: every topic's children share its words and its weight."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from sparsetopics.inference.moves import rival, word_evidence
from sparsetopics.inference.moves.rival import plan_birth
from sparsetopics.inference.moves.standing import TopicUse
from sparsetopics.inference.moves.word_evidence import (
    FEWEST_SEEDS,
    SEED_SHARE,
    WordEvidence,
    words_of_topic,
)
from sparsetopics.model.assignments import Assignments
from sparsetopics.model.likelihoods.words import Words
from sparsetopics.model.word_counts import WordCounts
from worlds.dense_responsibilities import dense_of
from worlds.moved_collections import WORLDS, grown, table_of, with_tools
from worlds.sparse_worlds import make_world


def planned(standing, seed=0):
    laps = replace(standing.tools.laps, rng=np.random.default_rng(seed))
    return plan_birth(with_tools(standing, laps=laps), "birth")


def parents_of(candidate, standing):
    """The topic that each candidate comes from, by the weights that it shares."""
    expected = np.cumsum(standing.allocation.weights)
    found = np.cumsum(candidate.parameters.allocation.weights)
    return np.searchsorted(expected * (1 + 1e-6), found)


@pytest.mark.parametrize(("n_topics", "n_children"), [(1, 10), (2, 5), (3, 4), (5, 4)])
def test_children_have_the_tokens_and_the_weight_of_their_parent(tmp_path, n_topics, n_children):
    standing = grown(tmp_path, WORLDS["bars"](), n_topics)

    candidate = planned(standing)

    parents = parents_of(candidate, standing)
    np.testing.assert_array_equal(parents, np.repeat(np.arange(n_topics), n_children))
    tokens = np.bincount(parents, candidate.state.start.sizes)
    np.testing.assert_allclose(tokens, standing.sizes, rtol=1e-9)
    weights = np.bincount(parents, candidate.parameters.allocation.weights)
    np.testing.assert_allclose(weights, standing.allocation.weights, rtol=1e-6)
    assert (candidate.state.start.table >= 0).all()


def test_children_are_their_parent_tilted_towards_different_documents(tmp_path):
    standing = grown(tmp_path, WORLDS["bars"](), 2)

    counts = planned(standing).state.start.table

    parents = np.repeat(np.arange(2), 5)
    rest = counts - (1 - SEED_SHARE) * table_of(standing)[:, parents] / 5
    assert (rest >= -1e-9).all()
    assert not table_of(standing)[:, 0].all() or rest.min() >= 0
    for family in (rest[:, :5], rest[:, 5:]):
        shares = family / family.sum(axis=0)
        distances = 0.5 * np.abs(shares[:, :, None] - shares[:, None, :]).sum(axis=0)
        assert distances[np.triu_indices(5, 1)].min() > 0.1


def test_the_same_draws_give_the_same_children(tmp_path):
    standing = grown(tmp_path, WORLDS["bars"](), 3)

    first, second, other = (planned(standing, seed).state.start.table for seed in (0, 0, 1))

    assert first.tobytes() == second.tobytes()
    assert first.tobytes() != other.tobytes()


def test_the_largest_topics_are_split_where_there_are_too_many(tmp_path, monkeypatch):
    monkeypatch.setattr(rival, "MOST_BORN", 7)
    standing = grown(tmp_path, WORLDS["bars"](), 12)

    candidate = planned(standing)

    n_children = np.bincount(parents_of(candidate, standing))
    largest = np.argsort(-standing.sizes, kind="stable")[:2]
    assert (n_children[largest] == rival.BIRTH_CHILDREN).all()
    assert n_children.sum() == 12 + 2 * (rival.BIRTH_CHILDREN - 1)
    alone = np.flatnonzero(n_children == 1)
    first = np.cumsum(n_children) - n_children
    table = candidate.state.start.table[:, first[alone]]
    np.testing.assert_allclose(table, table_of(standing)[:, alone], rtol=1e-12)


def test_topics_of_too_few_documents_are_not_split(tmp_path, monkeypatch):
    standing = grown(tmp_path, WORLDS["bars"](), 3)
    monkeypatch.setattr(word_evidence, "SAMPLING", (300, 1e9))

    assert planned(standing) is None


@pytest.mark.parametrize(("n_missing", "n_children"), [(0, 4), (1, 1)])
def test_a_topic_has_children_if_there_are_documents_enough_for_each(n_missing, n_children):
    n_docs = 4 * FEWEST_SEEDS - n_missing
    world = make_world(0, lengths=(3,) * n_docs, n_topics=1)
    sample = {0: Assignments(world.batch, world.sparse)}

    table = np.ones((world.n_words, 2))
    evidence = WordEvidence.of(WordCounts(table), Words(world.n_words, 0.1), None)

    _, parents = evidence.families(sample, 4, np.random.default_rng(0))

    np.testing.assert_array_equal(parents, [0] * n_children + [1])


def test_one_topic_is_split_even_if_fewer_may_be_born_than_it_has_children(tmp_path, monkeypatch):
    standing = grown(tmp_path, WORLDS["bars"](), 3)
    monkeypatch.setattr(rival, "MOST_BORN", 1)

    parents = parents_of(planned(standing), standing)

    assert sorted(np.bincount(parents)) == [1, 1, 4]


def test_a_rival_of_more_topics_is_wanted(tmp_path):
    standing = grown(tmp_path, WORLDS["bars"](), 3)

    course = planned(standing).course

    assert course.fewest == 4
    assert course.allows(10**6)


@pytest.mark.parametrize(("n_topics", "n_tries"), [(1, 9), (2, 4), (9, 1), (10, 0)])
def test_after_a_refusal_few_topics_have_three_children_each(tmp_path, n_topics, n_tries):
    standing = grown(tmp_path, WORLDS["simulated"](), n_topics)

    for _ in range(n_tries):
        standing = standing._replace(ledger=standing.ledger.refused("birth", n_topics))
        n_children = np.bincount(parents_of(planned(standing), standing), minlength=n_topics)
        assert set(n_children) <= {1, 3}
        assert n_children.max() == 3

    standing = standing._replace(ledger=standing.ledger.refused("birth", n_topics))
    assert planned(standing) is None


@pytest.mark.parametrize("seed", range(2))
def test_the_words_of_a_topic_are_its_expected_counts(seed):
    world = make_world(seed, lengths=(5, 0, 8, 1, 6))
    expected = world.counts[:, None] * world.dense
    indptr = world.batch.indptr
    for topic in range(world.n_topics):
        own = words_of_topic(Assignments(world.batch, world.sparse), topic)

        rows = [
            (world.batch.word_ids[lo:hi][mine], expected[lo:hi, topic][mine])
            for lo, hi in itertools.pairwise(indptr)
            if (mine := expected[lo:hi, topic] > 0).any()
        ]
        assert own.n_docs == len(rows)
        for document, (word_ids, counts) in enumerate(rows):
            of_document = slice(own.indptr[document], own.indptr[document + 1])
            np.testing.assert_array_equal(own.word_ids[of_document], word_ids)
            np.testing.assert_allclose(own.word_counts[of_document], counts, rtol=1e-6)


def test_only_documents_that_use_a_topic_are_sampled(tmp_path, monkeypatch):
    monkeypatch.setattr(word_evidence, "SAMPLING", (24, 5.0))
    standing = grown(tmp_path, WORLDS["simulated"](), 4, laps=4)

    samples = rival._sample(standing, np.array([2, 0]))

    assert samples.keys() == {0, 2}
    for topic, sampled in samples.items():
        own = words_of_topic(sampled, topic)
        tokens = np.add.reduceat(own.word_counts, own.indptr[:-1])
        assert own.n_docs <= 24
        assert tokens.min() >= 5.0 * (1 - 1e-6)
        users = sum(
            (batch.word_counts[:, None] * dense_of(found, 4))[:, topic].sum() > 0
            for _, (batch, found) in standing.assignments()
        )
        assert users > 0


def test_every_batch_gives_to_a_sample_what_has_tokens_enough(tmp_path, monkeypatch):
    """Of one topic the counts are whole: some documents have just as many as are wanted."""
    source = WORLDS["simulated"]()
    standing = grown(tmp_path, source, 1)
    entries = [TopicUse.of(each, 1) for _, each in standing.assignments()]
    fewest = float(max(each.counts.max() for each in entries))
    n_longest = sum(int((each.counts == fewest).sum()) for each in entries)
    sizes = {}
    for n_documents, tokens in ((4, 1.0), (1_000, fewest), (1_000, fewest + 1.0)):
        monkeypatch.setattr(word_evidence, "SAMPLING", (n_documents, tokens))
        sample = rival._sample(standing, np.array([0]))
        sizes[n_documents, tokens] = {
            topic: each.documents.n_docs for topic, each in sample.items()
        }

    assert list(sizes.values()) == [{0: source.n_batches}, {0: n_longest}, {}]
