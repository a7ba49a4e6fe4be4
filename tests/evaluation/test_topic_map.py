"""The map of topics: distances that are known, places that keep them, and labels."""

import json
from importlib.resources import files

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

    np.testing.assert_allclose(pdist(found), pdist(points))


def stress(places, distances):
    """The squared error of distances at the scale at which it is least."""
    apart, wanted = pdist(places), squareform(distances, checks=False)
    scale = apart @ wanted / (apart @ apart)
    return ((scale * apart - wanted) ** 2).sum()


def test_majorization_keeps_distances_better_than_scaling_does(monkeypatch):
    topics = np.random.default_rng(2).dirichlet(np.full(40, 0.1), size=30)
    distances = jensen_shannon_distances(topics)
    # Places are stretched to the square; leave them as they are.
    monkeypatch.setattr(topic_map.np, "ptp", lambda places, axis: np.ones(2))

    errors = []
    for steps in (0, 5, 200):
        monkeypatch.setattr(topic_map, "STEPS", steps)
        errors.append(stress(map_topics(distances), distances))

    assert errors[0] > errors[1] > errors[2]


def test_places_fill_the_square(topics):
    places = map_topics(jensen_shannon_distances(topics))

    np.testing.assert_allclose([places.min(axis=0), places.max(axis=0)], [[0, 0], [1, 1]])


def test_equal_topics_have_one_place(topics):
    distances = jensen_shannon_distances(np.vstack([topics, topics[:1]]))
    places = map_topics(distances)

    np.testing.assert_allclose(places[0], places[-1], atol=1e-6)
    assert np.isfinite(map_topics(np.zeros((3, 3)))).all()


def test_the_order_of_topics_does_not_turn_the_map(topics):
    order = np.array([3, 1, 5, 0, 2, 4])
    distances = jensen_shannon_distances(topics)

    there = map_topics(distances)[order]
    here = map_topics(distances[np.ix_(order, order)])

    np.testing.assert_allclose(here, there, atol=1e-6)


# --- labels ---
def labels_of(discs, sizes, width=400, height=300):
    """Where the script puts the labels of discs (x, y, radius) with sizes of name and number."""
    engine = pytest.importorskip("py_mini_racer", reason="needs mini-racer").MiniRacer()
    script = (files("sparsetopics.evaluation.report") / "web" / "map.js").read_text("utf-8")
    named = [{"x": x, "y": y, "radius": radius} for x, y, radius in discs]
    frame = {"width": width, "height": height}
    arguments = ", ".join(map(json.dumps, (named, sizes, frame)))
    return json.loads(engine.eval(f"{script}\nJSON.stringify(placedLabels({arguments}))"))


def test_a_label_is_on_its_disc_if_that_is_wide_enough():
    (label,) = labels_of([(100, 100, 50)], [[(80, 14), (8, 14)]])

    assert label == {"text": 0, "place": [60, 93]}


def test_a_label_beside_its_disc_stays_in_the_frame():
    left, right = labels_of([(20, 100, 9), (380, 200, 9)], [[(80, 14), (20, 14)]] * 2)

    assert left["place"] == [31, 93]
    assert right["place"] == [289, 193]


def test_a_number_or_nothing_is_left_where_names_have_no_room():
    discs = [(30, 30, 12), (30, 54, 6)]

    first, second = labels_of(discs, [[(200, 14), (12, 14)]] * 2, width=60, height=60)

    assert first == {"text": 1, "place": [24, 23]}
    assert second is None


def test_labels_cover_neither_labels_nor_other_discs():
    rng = np.random.default_rng(0)
    discs = [(*rng.uniform(20, 380, 2), float(radius)) for radius in range(22, 2, -1)]

    found = labels_of(discs, [[(90, 14), (14, 14)]] * len(discs), 400, 400)

    boxes = [
        (number, *label["place"], *((90, 14), (14, 14))[label["text"]])
        for number, label in enumerate(found)
        if label
    ]
    assert len(boxes) > 5
    for number, left, top, width, height in boxes:
        for other, (x, y, radius) in enumerate(discs):
            across = x - np.clip(x, left, left + width)
            down = y - np.clip(y, top, top + height)
            assert other == number or np.hypot(across, down) >= radius
        for _, x, y, w, h in (box for box in boxes if box[0] != number):
            assert left >= x + w or x >= left + width or top >= y + h or y >= top + height
