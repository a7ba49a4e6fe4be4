"""What has changed between two runs: by ids and by words, and what new documents tell."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import vstack
from scipy.stats import kstest

from sparsetopics import LDA, Corpus
from sparsetopics.answers import new_documents
from sparsetopics.answers.changes import Change, changes, lasting
from sparsetopics.answers.new_documents import skewed_p_value, topic_shares, used_shares
from sparsetopics.answers.quick_topics import QuickTopics
from sparsetopics.corpora.lookup import documents_at
from sparsetopics.corpora.text.vocabulary import Vocabulary
from sparsetopics.model.topic_posterior import TopicPosterior
from sparsetopics.options.training import TrainingOptions
from sparsetopics.runs.run import option_record, run_in_memory
from sparsetopics.runs.topic_identity import TopicIdentity
from worlds.streams import corpora_of, draw_stream

N_WORDS, ETA = 60, 0.01
A, B, C, D, E, F = ["bbbbbbbb", "cccccccc", "dddddddd", "ffffffff", "gggggggg", "hhhhhhhh"]
WORDS = [f"word{chr(97 + n // 26)}{chr(97 + n % 26)}" for n in range(N_WORDS)]


def topic(*blocks):
    """A topic over blocks of ten words, with these shares: (block, share), …"""
    found = np.full(N_WORDS, 1e-4)
    for block, share in blocks:
        found[10 * block : 10 * block + 10] += share * np.linspace(2.0, 1.0, 10) / 15.0
    return found / found.sum()


def run_of(topics, order=None):
    """A run in memory with these topics: (id, probabilities), or (id, probabilities, former ids).

    ``order`` gives the words of the vocabulary.
    """
    order = np.arange(N_WORDS) if order is None else order
    sizes = 1e4 * np.linspace(1.5, 1.0, len(topics))
    counts = np.array([size * each[1][order] for size, each in zip(sizes, topics, strict=True)])
    ones = np.ones(N_WORDS, np.int64)
    vocabulary = Vocabulary(tuple(WORDS[n] for n in order), ones, ones)
    model = TopicPosterior("lda", counts + ETA, np.full(len(topics), 0.1), ETA)
    identities = [TopicIdentity(own, former_ids=tuple(more)) for own, _, *more in topics]
    options = option_record(TrainingOptions(len(topics), model="lda"))
    facts = {"corpus": {}, "options": options, "seed": 0, "topics": tuple(identities)}
    return run_in_memory("run", model, vocabulary, facts, [])


def kinds(before, after):
    return [(change.kind, change.topic, change.former) for change in changes(before, after)]


OLD = [(A, topic((0, 1.0))), (B, topic((1, 1.0))), (C, topic((2, 1.0)))]
SPLIT_PARTS = topic((0, 0.7), (1, 0.3)), topic((0, 0.5), (3, 0.5))


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        ([*OLD], [("same", A, (A,)), ("same", B, (B,)), ("same", C, (C,))]),
        (OLD[::-1], [("same", C, (C,)), ("same", B, (B,)), ("same", A, (A,))]),
        (
            [(A, topic((0, 0.7), (3, 0.3))), *OLD[1:]],
            [("moved", A, (A,)), ("same", B, (B,)), ("same", C, (C,))],
        ),
        (
            [(A, topic((0, 0.4), (3, 0.6))), *OLD[1:]],
            [("taken over", A, (A,)), ("same", B, (B,)), ("same", C, (C,))],
        ),
        (
            [*OLD, (D, topic((0, 0.6), (3, 0.4)))],
            [("same", A, (A,)), ("same", B, (B,)), ("same", C, (C,)), ("split", D, (A,))],
        ),
        (
            [*OLD, (D, topic((0, 0.4), (3, 0.6)))],
            [("same", A, (A,)), ("same", B, (B,)), ("same", C, (C,)), ("new", D, ())],
        ),
        (
            [(A, topic((0, 0.6), (1, 0.4)), B), OLD[2]],  # its former ids say so, not its words
            [("moved", A, (A,)), ("same", C, (C,)), ("merged", A, (B,))],
        ),
        (
            [(A, topic((0, 0.5), (1, 0.5))), OLD[2]],
            [("moved", A, (A,)), ("same", C, (C,)), ("merged", A, (B,))],
        ),
        (OLD[:2], [("same", A, (A,)), ("same", B, (B,)), ("gone", None, (C,))]),
        (
            [*OLD[:2], (D, topic((3, 1.0)))],  # no forced pair
            [("same", A, (A,)), ("same", B, (B,)), ("new", D, ()), ("gone", None, (C,))],
        ),
    ],
    ids=["stay", "order", "moved", "taken", "split", "new", "former", "merged", "gone", "unlike"],
)
def test_topics_are_compared_by_their_ids(after, expected):
    assert kinds(run_of(OLD), run_of(after)) == expected


def test_without_a_common_id_words_decide():
    after = [
        (D, topic((2, 0.9), (3, 0.1))),
        (E, topic((0, 0.6), (4, 0.4))),
        (F, topic((4, 0.5), (5, 0.5))),
    ]

    assert kinds(run_of(OLD), run_of(after)) == [
        ("same", D, (C,)),
        ("moved", E, (A,)),
        ("new", F, ()),
        ("gone", None, (B,)),
    ]


@settings(max_examples=25)
@given(st.permutations(range(N_WORDS)), st.permutations(range(3)))
def test_the_order_of_words_and_topics_does_not_matter(words, topics):
    later = [(D, topic((0, 0.7), (4, 0.3))), (E, topic((1, 1.0))), (F, topic((5, 1.0)))]
    expected = {("moved", D, (A,)), ("same", E, (B,)), ("new", F, ()), ("gone", None, (C,))}

    found = kinds(run_of(OLD), run_of([later[n] for n in topics], np.array(words)))

    assert {*found} == expected
    assert len(found) == 4


def test_similarity_words_and_names_are_those_of_the_second_run():
    later = topic((0, 0.7), (3, 0.3))
    (moved, *_) = changes(run_of(OLD), run_of([(A, later), *OLD[1:]]))

    np.testing.assert_allclose(moved.similarity, np.minimum(OLD[0][1], later).sum(), atol=1e-3)
    assert moved.words == tuple(WORDS[n] for n in np.argsort(-later, kind="stable")[:8])
    (*_, gone) = changes(run_of(OLD), run_of(OLD[:2]))
    assert gone.words == tuple(WORDS[20:28])
    assert gone.topic is None
    assert gone.is_news
    assert not moved.is_news


# --- what is told once ----------------------------------------------------------------------------
def change_of(kind, own, share=0.1, share_before=0.1, *, was_told=False):
    shares = {"share": share, "share_before": share_before}
    return Change(kind, own, "name", ("word",), was_told=was_told, **shares)


def told(before, *found):
    run = run_of(OLD)
    run.settings["told"] = before
    return {*lasting(run, found)}


@pytest.mark.parametrize(
    ("before", "found", "expected"),
    [
        ((), [change_of("new", D, 0.1, 0.0)], {("more", D)}),
        ((), [change_of("taken over", A)], {("more", A)}),
        ((), [change_of("fading", A, 0.0, 0.1)], {("less", A)}),
        ((), [change_of("same", A, 0.2, 0.1), change_of("moved", B)], set()),
        ([("less", A)], [change_of("same", A, 0.06, 0.1)], {("less", A)}),
        ([("less", A)], [change_of("same", A, 0.11, 0.1)], set()),
        ([("more", A)], [change_of("same", A, 0.11, 0.1)], {("more", A)}),
        ([("more", A)], [change_of("same", A, 0.09, 0.1)], set()),
        ([("more", A)], [change_of("fading", A, 0.01, 0.1)], {("less", A)}),
        ([("more", F)], [change_of("same", A)], set()),  # a topic that is gone
        ([("no topic fits", "")], [change_of("same", A)], set()),
        ((), [Change("no topic fits", None, "9 documents", ())], {("no topic fits", "")}),
    ],
)
def test_what_was_told_lasts_until_the_share_goes_the_other_way(before, found, expected):
    assert told(before, *found) == expected


def test_what_was_told_is_no_news():
    for kind in ("new", "split", "taken over", "growing", "fading", "no topic fits"):
        assert change_of(kind, A).is_news
        assert not change_of(kind, A, was_told=True).is_news


# --- tests of shares ------------------------------------------------------------------------------
@pytest.mark.parametrize(("shape", "sign"), [(0.5, 1.0), (3.0, 1.0), (3.0, -1.0), (400.0, 1.0)])
def test_skewed_p_values_are_those_of_sums_with_this_skewness(shape, sign):
    rng = np.random.default_rng(int(10 * shape))
    z = sign * (rng.gamma(shape, 1.0, 20_000) - shape) / np.sqrt(shape)
    skewness = np.full(len(z), sign * 2.0 / np.sqrt(shape))

    p_values = skewed_p_value(z, skewness)

    assert kstest(p_values, "uniform").pvalue > 0.01
    assert ((p_values >= 0.0) & (p_values <= 1.0)).all()


def test_without_skewness_p_values_are_normal():
    z = np.array([-3.0, -1.0, 0.0, 0.5, 2.0, 4.0, np.nan])

    found = skewed_p_value(z, np.zeros(7))

    expected = [0.0027, 0.3173, 1.0, 0.6171, 0.0455, 0.0000633, np.nan]
    np.testing.assert_allclose(found, expected, rtol=0.02)


def test_skewness_changes_its_sign_with_the_numbers():
    z, skewness = np.linspace(-4, 4, 41), np.full(41, 0.7)

    np.testing.assert_array_equal(skewed_p_value(z, skewness), skewed_p_value(-z, -skewness))


def test_p_values_of_shares_are_uniform_if_nothing_has_changed(monkeypatch):
    """Each of eight collections is compared with four nights. Few documents of a night have a rare
    topic, so small p-values are what matters."""
    monkeypatch.setattr(new_documents, "holm_adjusted", lambda p_values: p_values)
    p_values, is_in = [], []
    for seed in range(8):
        *_, last = corpora_of(draw_stream("quiet", seed, n_first=240, n_nights=4, n_each=60))
        rows, words = last.to_csr(), last.vocabulary.words
        model = (
            LDA(10, max_iter=5, random_state=seed).fit(Corpus.from_csr(rows[:240], words)).model_
        )
        for first in range(240, 480, 60):
            both = Corpus.from_csr(vstack([rows[:240], rows[first : first + 60]]), words)
            batch = documents_at(both.row_groups, np.arange(300))
            shares = used_shares(model, batch, QuickTopics.of(model, 1).tokens(batch))
            found = topic_shares(shares[:240], shares[240:])
            np.testing.assert_allclose([found.before.sum(), found.after.sum()], 1.0, rtol=1e-6)
            p_values += found.p_value.tolist()
            is_in += ((found.low < 0.0) & (found.high > 0.0)).tolist()
    found = np.array(p_values)
    print(
        kstest(found, "uniform"), [(found < p).mean() for p in (0.001, 0.01, 0.05)], np.mean(is_in)
    )
    assert kstest(found, "uniform").pvalue > 0.001
    assert (found < 0.01).mean() < 0.03
    assert 0.9 < np.mean(is_in) < 0.98
