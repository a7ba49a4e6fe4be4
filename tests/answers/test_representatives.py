"""Documents that represent topics: planted ones are found, whoever looks and wherever they are."""

from functools import partial
from itertools import chain

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsetopics.answers.proportions import proportions_under
from sparsetopics.answers.representatives import TopicsToShow, representatives
from sparsetopics.base.errors import OptionError
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.corpora.store.manifest import Sizes
from sparsetopics.corpora.store.shards import MemoryRowGroup
from sparsetopics.corpora.text.vocabulary import Vocabulary
from sparsetopics.measures.representatives import (
    Candidate,
    choose,
    choose_from_batch,
    core_words,
    has_near_duplicate,
    leading_words,
    share_bounds,
    typical_shares,
)
from worlds.simulated_documents import batch_of_counts

N_TOPICS, N_WORDS = 4, 400
WORDS = [f"word{number}" for number in range(N_WORDS)]


def drawn_topics():
    return np.random.default_rng(0).dirichlet(np.full(N_WORDS, 0.1), N_TOPICS) * 0.999 + 1e-3 / 400


def drawn_texts(topic_word, n_docs=300, n_tokens=80):
    """Counts of documents that mix topics; none has more than 0.8 of one."""
    rng = np.random.default_rng(1)
    proportions = rng.dirichlet(np.full(N_TOPICS, 2.0), n_docs)
    proportions = np.minimum(proportions, 0.8)
    proportions /= proportions.sum(axis=1, keepdims=True)
    keep = proportions.max(axis=1) < 0.85
    proportions[~keep] = 1.0 / N_TOPICS
    return np.array([rng.multinomial(n_tokens, own @ topic_word) for own in proportions])


def planted(topic_word, topic, n_docs=5, n_tokens=150):
    rng = np.random.default_rng(10 + topic)
    return np.array([rng.multinomial(n_tokens, topic_word[topic]) for _ in range(n_docs)])


def corpus_of(counts, labels=None, fields=None, n_each=50):
    """A corpus in row groups of ``n_each`` documents."""
    whole = batch_of_counts(counts)
    labels = [None] * len(counts) if labels is None else labels
    parts = []
    for first in range(0, len(counts), n_each):
        rows = slice(first, first + n_each)
        ids = [f"d{n}" for n in range(len(counts))][rows]
        kept = pa.table({name: values[rows] for name, values in (fields or {}).items()})
        sizes = Sizes.of(whole[rows])
        named = (pa.array(own, pa.string()) for own in (ids, labels[rows]))
        parts.append(MemoryRowGroup(sizes, *named, whole[rows], kept))
    types = {name: "text" if name == "text" else "string" for name in fields or {}}
    return Corpus(Vocabulary(tuple(WORDS), *np.ones((2, N_WORDS), int)), parts, fields=types)


def topics_of(topic_word, chosen=range(N_TOPICS), workers=1):
    shares = partial(proportions_under, topic_word, np.full(len(topic_word), 0.1), workers)
    return TopicsToShow(shares, topic_word, WORDS, chosen)


def ids_of(found):
    return [[each.doc_id for each in own] for own in found.of_topics]


@pytest.fixture(scope="module")
def topic_word():
    return drawn_topics()


@pytest.fixture(scope="module")
def counts(topic_word):
    """Mixed documents, and after them five of each topic alone."""
    own = [planted(topic_word, topic) for topic in range(N_TOPICS)]
    return np.concatenate([drawn_texts(topic_word), *own])


def test_documents_of_one_topic_are_found(topic_word, counts):
    found = representatives(topics_of(topic_word), corpus_of(counts), 5)

    for topic, own in enumerate(ids_of(found)):
        first = 300 + 5 * topic
        assert set(own) == {f"d{n}" for n in range(first, first + 5)}
    assert (found.n_seen, found.n_docs) == (320, 320)


def test_short_documents_come_after_long_ones(topic_word, counts):
    short = planted(topic_word, 0, n_docs=30, n_tokens=4)
    found = representatives(topics_of(topic_word), corpus_of(np.concatenate([counts, short])), 5)

    assert set(ids_of(found)[0]) == {f"d{n}" for n in range(300, 305)}


def test_one_word_said_often_is_no_long_document(topic_word, counts):
    chant = np.zeros((1, N_WORDS), int)
    chant[0, topic_word[0].argmax()] = 500
    found = representatives(topics_of(topic_word), corpus_of(np.concatenate([counts, chant])), 5)

    assert set(ids_of(found)[0]) == {f"d{n}" for n in range(300, 305)}


def test_words_that_no_other_document_has_do_not_lead(topic_word, counts):
    """A topic keeps a rare word, so a document of rare words has a share of one."""
    rare = np.zeros((1, N_WORDS), int)
    rest = np.argsort(np.where(topic_word.argmax(axis=0) == 0, topic_word[0], np.inf))[:60]
    rare[0, rest] = 3
    topics = topics_of(topic_word)
    corpus = corpus_of(np.concatenate([counts, rare]))
    shares = topics.shares(corpus.row_groups[-1].read())[-1]
    assert shares[0] > 0.98

    found = representatives(topics, corpus, 5)

    assert set(ids_of(found)[0]) == {f"d{n}" for n in range(300, 305)}


def test_near_duplicates_are_shown_once(topic_word, counts):
    copies = np.repeat(planted(topic_word, 0, n_docs=1, n_tokens=1000), 70, axis=0)
    rows = np.arange(len(copies))
    copies[rows, rows] += 3  # none is exactly another
    found = representatives(topics_of(topic_word), corpus_of(np.concatenate([counts, copies])), 6)

    best, *others = ids_of(found)[0]
    assert int(best[1:]) >= 320
    assert set(others) == {f"d{n}" for n in range(300, 305)}


def test_groups_take_turns(topic_word, counts):
    labels = ["a"] * 300 + ["a", "a", "a", "b", "c"] * N_TOPICS
    found = representatives(topics_of(topic_word), corpus_of(counts, labels), 3)

    for own in found.of_topics:
        assert sorted(each.label for each in own) == ["a", "b", "c"]


def test_groups_with_little_of_a_topic_wait(topic_word, counts):
    labels = ["x"] * 300 + ["a"] * 20
    found = representatives(topics_of(topic_word), corpus_of(counts, labels), 3)

    for own in found.of_topics:
        assert own[0].label == "a"
        assert all(each.share > 0.5 for each in own)


def test_groups_are_those_of_a_kept_field(topic_word, counts):
    sections = ["news"] * 300 + ["news", "news", "news", "sport", None] * N_TOPICS
    corpus = corpus_of(counts, fields={"section": sections})
    found = representatives(topics_of(topic_word), corpus, 3, by="section")
    table = found.table([*zip("abcd", "wxyz", strict=True)])

    assert table.column_names == [
        *("topic", "id", "name", "doc_id", "label", "group"),
        *("proportion", "n_tokens", "words", "text"),
    ]
    assert table["id"].to_pylist() == [own for own in "abcd" for _ in range(3)]
    assert table["name"].to_pylist() == [name for name in "wxyz" for _ in range(3)]
    for topic in range(N_TOPICS):
        own = table["group"].to_pylist()[3 * topic : 3 * topic + 3]
        assert sorted(own, key=str) == [None, "news", "sport"]


def test_texts_are_those_of_the_documents_and_only_theirs_are_read(topic_word, counts, monkeypatch):
    texts = [f"text of d{n}" for n in range(len(counts))]
    corpus = corpus_of(counts, fields={"text": texts})
    read = []
    kind = type(corpus.row_groups[0])
    read_fields = kind.read_fields

    def noted(group, names, rows=None):
        table = read_fields(group, names, rows)
        read.append(table.num_rows)
        return table

    monkeypatch.setattr(kind, "read_fields", noted)
    found = representatives(topics_of(topic_word), corpus, 2)

    shown = list(chain.from_iterable(found.of_topics))
    assert [each.text for each in shown] == [f"text of {each.doc_id}" for each in shown]
    assert sum(read) == len({each.doc_id for each in shown})


def test_without_texts_there_are_none(topic_word, counts):
    found = representatives(topics_of(topic_word), corpus_of(counts), 1)

    assert found.table([("a", "b")] * 4)["text"].to_pylist() == [None] * 4


def test_workers_and_row_groups_change_nothing(topic_word, counts):
    labels = [str(n % 7) for n in range(len(counts))]
    one = representatives(topics_of(topic_word), corpus_of(counts, labels), 6)
    threads = representatives(topics_of(topic_word, workers=3), corpus_of(counts, labels), 6)
    whole = corpus_of(counts, labels, n_each=999)

    assert threads.of_topics == one.of_topics
    assert representatives(topics_of(topic_word), whole, 6).of_topics == one.of_topics


def test_a_part_of_a_large_corpus_is_spread_over_it(topic_word, counts):
    found = representatives(topics_of(topic_word), corpus_of(counts), 3, most=70)

    seen = [int(doc_id[1:]) for doc_id in chain.from_iterable(ids_of(found))]
    assert found.n_seen <= 70
    assert found.n_docs == 320
    assert max(seen) - min(seen) > 150


def test_a_topic_that_leads_nowhere_has_those_with_most_of_it(topic_word):
    found = representatives(topics_of(topic_word), corpus_of(planted(topic_word, 1)), 2)

    assert [len(own) for own in found.of_topics] == [2] * N_TOPICS
    assert all(each.share < 0.2 for each in found.of_topics[0])


def test_chosen_topics_come_in_their_order(topic_word, counts):
    every = representatives(topics_of(topic_word), corpus_of(counts), 4)
    some = representatives(topics_of(topic_word, [3, 1]), corpus_of(counts), 4)

    assert some.of_topics == [every.of_topics[3], every.of_topics[1]]


@pytest.mark.parametrize(("n", "by"), [(0, "label"), (101, "label"), (3, "text"), (3, "nothing")])
def test_what_cannot_be_is_refused(topic_word, counts, n, by):
    corpus = corpus_of(counts, fields={"text": ["t"] * len(counts)})
    with pytest.raises(OptionError):
        representatives(topics_of(topic_word), corpus, n, by=by)


# --- the parts ------------------------------------------------------------------------------------
def alone(counts):
    return batch_of_counts(np.array([counts]))


def test_the_bound_is_the_root_of_wilson():
    """The share p of n draws is z standard errors of the bound b above b."""
    rng = np.random.default_rng(0)
    counts, shares = rng.integers(1, 9, (6, 12)), rng.random((6, 3))
    bounds = share_bounds(shares, batch_of_counts(counts))

    n = (counts.sum(axis=1) ** 2 / (counts**2).sum(axis=1))[:, None]
    np.testing.assert_allclose(shares, bounds + 1.96 * np.sqrt(bounds * (1 - bounds) / n))
    assert (bounds < shares).all()


def test_the_core_is_half_of_a_topic_of_its_own_words(topic_word):
    core = core_words(topic_word, [2, 0]).toarray()

    for row, topic in zip(core, [2, 0], strict=True):
        inside = row > 0
        mass = topic_word[topic][inside].sum()
        assert mass >= 0.5 > mass - topic_word[topic][inside].min()
        assert (topic_word[topic][inside] >= topic_word.mean(axis=0)[inside]).all()
        np.testing.assert_allclose(row[inside], 1 / mass)


def test_one_topic_and_equal_topics_have_a_core():
    one = np.random.default_rng(0).dirichlet(np.ones(20))
    for n_topics in (1, 2, 3, 7):
        core = core_words(np.tile(one, (n_topics, 1)), range(n_topics)).toarray()
        assert ((core > 0) @ one >= 0.5 - 1e-12).all()


def test_a_share_counts_as_far_as_the_core_is_used(topic_word):
    counts = planted(topic_word, 0, n_docs=3)
    shares = np.full((3, 2), 0.9)
    found = typical_shares(shares, batch_of_counts(counts), core_words(topic_word, [0, 1]))

    core = core_words(topic_word, [0, 1]).toarray()
    np.testing.assert_allclose(
        found, np.minimum(0.9, counts @ core.T / counts.sum(axis=1, keepdims=True))
    )
    assert (found[:, 1] < found[:, 0]).all()


@given(
    st.lists(
        st.lists(st.integers(0, 4), min_size=5, max_size=5).filter(any), min_size=2, max_size=6
    )
)
def test_near_duplicates_have_most_tokens_in_common(rows):
    first, *others = np.array(rows)
    expected = any(
        np.minimum(first, other).sum() >= 0.8 * np.maximum(first, other).sum() for other in others
    )

    assert has_near_duplicate(alone(first), [alone(other) for other in others]) == expected
    assert not has_near_duplicate(alone(first), [])


@st.composite
def candidates(draw):
    """Candidates of a few groups, none like another."""
    n = draw(st.integers(0, 12))
    bounds = draw(st.lists(st.integers(1, 9), min_size=n, max_size=n))
    groups = draw(st.lists(st.sampled_from([None, "a", "b"]), min_size=n, max_size=n))
    leads = draw(st.lists(st.booleans(), min_size=n, max_size=n))
    kinds = draw(st.lists(st.integers(0, 20), min_size=n, max_size=n))
    return [
        Candidate(row, groups[row], 0.5, bounds[row] / 10, leads[row],
                  alone(np.eye(21, dtype=int)[kinds[row]]))
        for row in range(n)
    ]  # fmt: skip


def chosen_plainly(waiting, n):
    """One after the other, from all that are left."""
    chosen, waiting = [], list(waiting)
    while waiting and len(chosen) < n:
        taken = [each.group for each in chosen]
        best = min(waiting, key=lambda each: (each.rank(taken.count(each.group)), each.place))
        waiting.remove(best)
        if not any(has_near_duplicate(best.words, [each.words]) for each in chosen):
            chosen.append(best)
    return chosen


@given(candidates(), st.integers(1, 8))
def test_the_best_are_chosen_one_after_the_other(waiting, n):
    found = choose(waiting, n)

    assert [each.place for each in found] == [each.place for each in chosen_plainly(waiting, n)]


@given(candidates(), st.integers(1, 8), st.integers(0, 12))
def test_the_best_of_the_best_of_parts_are_the_best_of_all(waiting, n, place):
    distinct = {int(each.words.word_ids[0]): each for each in waiting}  # without near-duplicates
    waiting = list(distinct.values())
    parts = choose(waiting[:place], n), choose(waiting[place:], n)

    assert choose([*parts[0], *parts[1]], n) == choose(waiting, n)


def test_a_batch_chooses_what_all_its_candidates_would(topic_word):
    counts = drawn_texts(topic_word, n_docs=60)
    batch = batch_of_counts(counts)
    shares = topics_of(topic_word).shares(batch)
    groups = [None if n % 5 == 0 else "abc"[n % 3] for n in range(60)]
    core = core_words(topic_word, [1, 3])
    places = range(60)

    found = choose_from_batch(batch, shares, groups, [1, 3], core, 4, places)

    bounds = share_bounds(typical_shares(shares[:, [1, 3]], batch, core), batch)
    for own, bound, topic in zip(found, bounds.T, [1, 3], strict=True):
        leads = shares[:, topic] == shares.max(axis=1)
        every = [
            Candidate(
                places[n], groups[n], shares[n, topic], bound[n], bool(leads[n]), batch[n : n + 1]
            )
            for n in range(60)
        ]
        assert [each.place for each in own] == [each.place for each in chosen_plainly(every, 4)]
        assert [each.share for each in own] == [shares[each.place, topic] for each in own]


def test_the_words_of_a_document_are_those_of_the_core_that_owe_it_most(topic_word):
    counts = planted(topic_word, 2, n_docs=1)
    batch = batch_of_counts(counts)
    (shares,) = topics_of(topic_word).shares(batch)
    core = np.flatnonzero(core_words(topic_word, [2]).toarray()[0])

    found = leading_words(batch, shares, topic_word, 2, core, 5).tolist()

    joint = shares[:, None] * topic_word
    owed = np.where(np.isin(np.arange(N_WORDS), core), counts[0] * joint[2] / joint.sum(axis=0), 0)
    assert found == np.argsort(-owed, kind="stable")[:5].tolist()
