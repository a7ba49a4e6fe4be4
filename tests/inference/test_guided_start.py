"""Topics that begin with lists of words: what they begin as, and which of them merge."""

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sparsetopics.inference.gradual_start import merged_topics
from sparsetopics.inference.guided_start import (
    LEAST_LIFT,
    LEAST_SHARE,
    LEAST_TOKENS,
    NO_LIST,
    START_SHARE,
    are_apart,
    begin_in_place,
    lists_of,
)
from sparsetopics.inference.merging import Merging
from sparsetopics.inference.theme_tree import groups_at, theme_tree
from worlds.bars import ten_bars

SEEDS = st.integers(0, 2**32 - 1)
ETA = 0.1


def draw(seed):
    """Counts of topics, lists of words, and a number of topics to merge to."""
    rng = np.random.default_rng(seed)
    n_lists, n_topics = int(rng.integers(1, 5)), int(rng.integers(6, 20))
    counts = rng.poisson(rng.gamma(0.3, 8.0, (30, n_topics))).astype(float)
    words = rng.permutation(30)[: 3 * n_lists].reshape(n_lists, 3)
    return counts, tuple(words), int(rng.integers(n_lists, n_topics))


def plain_lists(counts, guidance):
    """A twin of ``lists_of``, topic by topic."""
    found = []
    for topic in counts.T:
        lifts = []
        for words in guidance:
            own = sum(topic[word] for word in words)
            share = own / max(topic.sum(), 1.0)
            in_others = max(counts[words].sum() - own, 1.0) / max(counts.sum() - topic.sum(), 1.0)
            is_enough = share >= LEAST_SHARE and own >= LEAST_TOKENS
            lifts.append(share / in_others if is_enough else 0.0)
        best = int(np.argmax(lifts))
        found.append(best if lifts[best] >= LEAST_LIFT else NO_LIST)
    return found


@given(SEEDS)
def test_a_topic_is_of_the_list_whose_words_it_holds_most_often(seed):
    counts, guidance, _ = draw(seed)

    lists = lists_of(guidance, counts)

    assert lists.tolist() == plain_lists(counts, guidance)


@given(SEEDS)
def test_topics_of_two_lists_stay_apart(seed):
    counts, guidance, wanted = draw(seed)
    lists = lists_of(guidance, counts)

    new_topics = merged_topics(counts, wanted, ETA, guidance)

    assert new_topics.max() + 1 == wanted
    for topic in range(wanted):
        assert len({*lists[new_topics == topic]} - {NO_LIST}) <= 1


@given(SEEDS)
def test_one_merge_is_the_best_that_lists_allow(seed):
    counts, guidance, _ = draw(seed)
    lists, n_topics = lists_of(guidance, counts), counts.shape[1]
    gains = Merging.of(counts, ETA).gains

    new_topics = merged_topics(counts, n_topics - 1, ETA, guidance)

    allowed = [
        (a, b)
        for a, b in itertools.combinations(range(n_topics), 2)
        if NO_LIST in (lists[a], lists[b]) or lists[a] == lists[b]
    ]
    best = max(allowed, key=lambda pair: gains[pair])
    (pair,) = (
        np.flatnonzero(new_topics == k) for k in range(n_topics - 1) if (new_topics == k).sum() > 1
    )
    assert tuple(pair) == best


def test_without_lists_all_topics_may_merge():
    counts, _, wanted = draw(3)
    no_words = (np.array([], int),)

    np.testing.assert_array_equal(
        merged_topics(counts, wanted, ETA, no_words), merged_topics(counts, wanted, ETA)
    )
    assert not are_apart(lists_of(no_words, counts), np.arange(counts.shape[1])).any()


def test_topics_begin_with_the_documents_of_their_words():
    source = ten_bars(np.random.default_rng(0), 200, 60).source(4)
    rows = np.zeros((0, source.n_columns))
    for batch_id in range(source.n_batches):
        batch = source.read(batch_id)
        dense = np.zeros((batch.n_docs, source.n_columns))
        np.add.at(
            dense, (np.repeat(np.arange(batch.n_docs), np.diff(batch.indptr)), batch.word_ids),
            batch.word_counts,
        )  # fmt: skip
        rows = np.vstack([rows, dense])
    pair, single = np.flatnonzero(rows[0])[:2], int(rows.sum(axis=0).argmax())
    guidance = pair, np.array([], int), np.array([single])
    before = np.random.default_rng(2).gamma(1.0, 1.0, (source.n_columns, 20))
    counts = before.copy()

    begin_in_place(guidance, counts, source, np.random.default_rng(1))

    np.testing.assert_array_equal(counts[:, 6:], before[:, 6:])
    np.testing.assert_allclose(counts[:, :6].sum(axis=0), source.n_tokens / 20)
    background = rows.sum(axis=0) / rows.sum()
    own = counts[:, :6] - (1 - START_SHARE) * background[:, None] * source.n_tokens / 20
    for place, has in enumerate(((rows[:, pair] > 0).all(axis=1), rows[:, single] > 0)):
        starts, n_found = own[:, 3 * place : 3 * place + 3], 0
        assert (starts >= -1e-9).all()
        for start in starts.T > 1e-9:  # a start has all words of its documents, and no others
            inside = has & ((rows > 0) <= start).all(axis=1)
            n_found += inside.sum()
        assert n_found >= has.sum() > 0


def test_many_lists_have_fewer_starts():
    source = ten_bars(np.random.default_rng(0), 200, 60).source(4)
    counts = np.full((source.n_columns, 30), -1.0)

    lists = tuple(np.array([n]) for n in range(10))
    begin_in_place(lists, counts, source, np.random.default_rng(1))

    assert (counts[:, :10] >= 0.0).all()
    assert (counts[:, 10:] == -1.0).all()


@given(SEEDS)
def test_a_tree_joins_the_topics_of_a_list_first_and_then_those_of_a_parent(seed):
    counts, _, _ = draw(seed)
    n_topics = counts.shape[1]
    counts = counts[:, np.argsort(-counts.sum(axis=0), kind="stable")]
    rng = np.random.default_rng(seed)
    lists = rng.integers(0, 5, n_topics)
    parents = lists // 2

    merges = theme_tree(counts, ETA, [lists, parents])

    assert len(merges) == n_topics - 1
    for families in (lists, parents):
        groups = groups_at(merges, len({*families}))
        for one, other in itertools.combinations(range(n_topics), 2):
            assert (groups[one] == groups[other]) == (families[one] == families[other])
