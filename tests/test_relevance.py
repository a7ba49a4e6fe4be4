"""Relevant words: the formula, and that the page holds every word the slider may ask for."""

import numpy as np
import pytest

from sparsetopics.evaluation.report.topic_browser import STEPS, relevance, relevant_words


def test_relevance_goes_from_lift_to_probability():
    logs, lifts = np.log([0.5, 0.1]), np.log([0.5 / 0.25, 0.1 / 0.001])

    np.testing.assert_array_equal(relevance(logs, lifts, 1.0), logs)
    np.testing.assert_array_equal(relevance(logs, lifts, 0.0), lifts)
    assert relevance(logs, lifts, 0.6)[1] == pytest.approx(
        0.6 * np.log(0.1) + 0.4 * np.log(0.1 / 0.001)
    )


def test_every_step_of_the_slider_finds_its_words():
    rng = np.random.default_rng(2)
    topic, unigram = rng.dirichlet(np.full(500, 0.1)) + 1e-9, rng.dirichlet(np.full(500, 0.5))

    kept = relevant_words(topic, unigram, 12)

    logs, lifts = np.log(topic), np.log(topic / unigram)
    needed = set()
    for step in range(STEPS + 1):
        needed |= set(np.argsort(-relevance(logs, lifts, step / STEPS))[:12].tolist())
    assert set(kept.word_ids.tolist()) == needed
    assert (np.diff(kept.log_probabilities) <= 0).all()
    np.testing.assert_allclose(kept.log_lifts, lifts[kept.word_ids])


def test_a_small_vocabulary_is_kept_whole():
    kept = relevant_words(np.array([0.2, 0.5, 0.3]), np.array([0.3, 0.3, 0.4]), 12)

    assert kept.word_ids.tolist() == [1, 2, 0]
