"""Relevant words: the formula, names made of them, and that the page holds every word it needs."""

import numpy as np
import pytest

from sparsetopics.evaluation.report.topic_browser import STEPS, browser_words
from sparsetopics.measures.relevance import (
    LONGEST_NAME,
    LONGEST_NAME_WORD,
    relevance,
    relevant_words,
    topic_names,
)
from sparsetopics.measures.top_words import top_words

WORDS = tuple("abcdefgh")


def draw_topics(n_topics=4, n_words=300, seed=2):
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.full(n_words, 0.1), n_topics) + 1e-9, rng.dirichlet(np.ones(n_words))


def test_relevance_goes_from_lift_to_probability():
    logs, lifts = np.log([0.5, 0.1]), np.log([0.5 / 0.25, 0.1 / 0.001])

    np.testing.assert_array_equal(relevance(logs, lifts, 1.0), logs)
    np.testing.assert_array_equal(relevance(logs, lifts, 0.0), lifts)
    assert relevance(logs, lifts, 0.6)[1] == pytest.approx(
        0.6 * np.log(0.1) + 0.4 * np.log(0.1 / 0.001)
    )


@pytest.mark.parametrize("balance", [0.0, 0.35, 0.6])
def test_the_most_relevant_words_are_those_of_the_formula(balance):
    topics, unigram = draw_topics()

    found = relevant_words(topics, unigram, 7, balance)

    for topic, best in zip(topics, found, strict=True):
        score = [
            balance * np.log(p) + (1 - balance) * np.log(p / q)
            for p, q in zip(topic, unigram, strict=True)
        ]
        assert best.tolist() == sorted(range(len(score)), key=lambda word: -score[word])[:7]


def test_at_one_the_most_relevant_words_are_the_most_probable():
    topics, unigram = draw_topics()

    np.testing.assert_array_equal(relevant_words(topics, unigram, 9, 1.0), top_words(topics, 9))


def test_a_small_vocabulary_is_ranked_whole():
    assert relevant_words(np.array([[0.2, 0.8]]), np.array([0.5, 0.5]), 9, 0.6).tolist() == [[1, 0]]


def test_every_step_of_the_slider_finds_its_words():
    (topic,), unigram = draw_topics(1, 500)

    kept = browser_words(topic, unigram, 12)

    logs, lifts = np.log(topic), np.log(topic / unigram)
    needed = set()
    for step in range(STEPS + 1):
        needed |= set(np.argsort(-relevance(logs, lifts, step / STEPS))[:12].tolist())
    assert set(kept.word_ids.tolist()) == needed
    assert (np.diff(kept.log_probabilities) <= 0).all()
    np.testing.assert_allclose(kept.log_lifts, lifts[kept.word_ids])


def test_a_small_vocabulary_is_kept_whole():
    kept = browser_words(np.array([0.2, 0.5, 0.3]), np.array([0.3, 0.3, 0.4]), 12)

    assert kept.word_ids.tolist() == [1, 2, 0]


# --- names ----------------------------------------------------------------------------------------
def names_of(*rows, words=WORDS):
    weights = np.array(rows, np.float64)
    even = np.full(len(words), 1 / len(words))  # so that the most relevant are the most probable
    return topic_names(weights / weights.sum(axis=1, keepdims=True), even, words)


def test_a_name_is_the_three_most_relevant_words():
    topics, unigram = draw_topics()
    words = tuple(f"w{n}" for n in range(300))

    best = relevant_words(topics, unigram, 3, 0.6)

    expected = [", ".join(words[word] for word in row) for row in best]
    assert topic_names(topics, unigram, words) == expected


def test_a_word_that_is_frequent_everywhere_leaves_the_name():
    topics = np.array([[0.4, 0.3, 0.2, 0.1], [0.4, 0.1, 0.2, 0.3]])
    unigram = np.array([0.94, 0.02, 0.02, 0.02])

    assert topic_names(topics, unigram, "abcd") == ["b, c, d", "d, c, b"]


def test_topics_that_would_share_a_name_get_a_fourth_word():
    assert names_of([9, 8, 7, 6, 1, 1, 1, 1], [9, 8, 7, 1, 6, 1, 1, 1]) == [
        "a, b, c, d",
        "a, b, c, e",
    ]


def test_topics_with_the_same_words_get_their_numbers():
    same, other = [9, 8, 7, 6, 1, 1, 1, 1], [1, 1, 1, 1, 6, 7, 8, 9]

    assert names_of(same, other, same) == ["a, b, c, d (0)", "h, g, f", "a, b, c, d (2)"]
    assert names_of([1], [1], words=("a",)) == ["a (0)", "a (1)"]


def test_long_words_are_shortened_in_names():
    words = tuple(f"{n}{'x' * 500}" for n in range(4))

    (name,) = names_of([4, 3, 2, 1], words=words)

    assert name == ", ".join(f"{word[: LONGEST_NAME_WORD - 1]}…" for word in words[:3])
    same = names_of([4, 3, 2, 1], [4, 3, 2, 1], words=words)
    assert max(map(len, same)) <= LONGEST_NAME
