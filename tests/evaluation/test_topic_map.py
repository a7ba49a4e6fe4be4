"""The map of topics: distances that are known, and places that keep them."""

import numpy as np
import pytest
from scipy.spatial.distance import jensenshannon, pdist, squareform

from sparsetopics.evaluation.report import topic_map
from sparsetopics.evaluation.report.topic_map import (
    classical_scaling,
    jensen_shannon_distances,
    map_topics,
)


@pytest.fixture
def topics():
    return np.random.default_rng(0).dirichlet(np.full(40, 0.2), size=6)


def test_distances_are_those_of_scipy(topics):
    expected = squareform(pdist(topics, lambda a, b: jensenshannon(a, b, base=2)))

    np.testing.assert_allclose(jensen_shannon_distances(topics), expected, atol=1e-12)


def test_topics_without_a_common_word_are_one_apart():
    np.testing.assert_allclose(jensen_shannon_distances(np.eye(3)), 1 - np.eye(3))


def test_rare_words_are_lumped_and_distances_only_shrink(topics, monkeypatch):
    whole = jensen_shannon_distances(topics)
    monkeypatch.setattr(topic_map, "MOST_WORDS", 25)

    lumped = jensen_shannon_distances(topics)

    assert (lumped <= whole + 1e-12).all()
    np.testing.assert_allclose(lumped, whole, atol=0.1)
    assert not np.array_equal(lumped, whole)


def test_points_of_a_plane_get_their_distances_back():
    points = np.random.default_rng(1).normal(size=(7, 2))

    found = classical_scaling(squareform(pdist(points)))

    np.testing.assert_allclose(pdist(found.places), pdist(points))
    assert found.shown == pytest.approx(1.0)


def test_what_the_plane_cannot_show_is_told():
    found = classical_scaling(1 - np.eye(5))  # corners of a simplex, in four dimensions

    assert found.shown == pytest.approx(0.5)


@pytest.mark.parametrize("n_topics", [1, 2])
def test_few_topics_have_places_too(topics, n_topics):
    found = map_topics(topics[:n_topics])

    assert found.places.shape == (n_topics, 2)
    assert np.isfinite(found.places).all()
    assert found.shown == pytest.approx(1.0)


def test_the_order_of_topics_does_not_turn_the_map(topics):
    order = np.array([3, 1, 5, 0, 2, 4])

    there = map_topics(topics).places[order]
    here = map_topics(topics[order]).places

    np.testing.assert_allclose(here, there, atol=1e-9)
