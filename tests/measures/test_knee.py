"""The smallest model that predicts as well as the best."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsetopics.measures.knee import (
    AS_GOOD_LOSS,
    MOST_THEMES,
    NEAR,
    READING_SHARE,
    RECOMMENDED_LOSS,
    find_knee,
    reading_number,
    settled_knee,
)
from sparsetopics.measures.paired import HeldoutScores


def twin(numbers, logs, sizes):
    """All places of a knee, from their definitions in plain numpy."""
    means = logs.sum(axis=1) / sizes.sum()
    best = int(means.argmax())
    near = [best]
    while near[0] > 0 and means[near[0] - 1] >= means[best] - NEAR:
        near.insert(0, near[0] - 1)
    while near[-1] + 1 < len(means) and means[near[-1] + 1] >= means[best] - NEAR:
        near.append(near[-1] + 1)
    fitted = dict(zip(near, means[near], strict=True))
    if len(near) > 3:
        columns = np.vander(np.log(np.array(numbers)[near]), 3)
        weights, *_ = np.linalg.lstsq(columns, means[near], rcond=None)
        fitted = dict(zip(near, columns @ weights, strict=True))
    top, good, wide = max(fitted.values()), [], []
    for place in near:
        gaps = logs[place] - logs[best]
        squares = ((gaps - gaps.sum() / sizes.sum() * sizes) ** 2).sum()
        error = math.sqrt(len(sizes) / (len(sizes) - 1) * squares) / sizes.sum()
        lost, own = top - fitted[place], means[best] - means[place]
        if lost <= RECOMMENDED_LOSS and own <= 2 * RECOMMENDED_LOSS:
            good.append(place)
        if lost <= max(2 * error, AS_GOOD_LOSS):
            wide.append(place)
    recommended = max(good, default=best)
    return best, recommended, min([*wide, recommended]), max([*wide, recommended])


@given(seed=st.integers(0, 10_000), n_models=st.integers(1, 12), scale=st.floats(0.001, 0.05))
def test_the_knee_is_that_of_the_twin(seed, n_models, scale):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 20, 9).astype(float)
    level = -rng.random(n_models)[:, None] * scale - 7.0
    logs = sizes * (level + rng.normal(0.0, scale, (n_models, 9)))
    numbers = [int(400 * 0.87**place) for place in range(n_models)]
    knee = find_knee(numbers, [HeldoutScores(each, sizes) for each in logs])
    assert knee[:4] == twin(numbers, logs, sizes)
    assert knee.differences[knee.best] == (0.0, 0.0)


@given(seed=st.integers(0, 10_000), n_models=st.integers(1, 12), scale=st.floats(0.001, 0.05))
def test_models_are_compared_with_the_settled_one(seed, n_models, scale):
    rng = np.random.default_rng(seed)
    sizes, settled = rng.integers(1, 20, 9).astype(float), int(rng.integers(n_models))
    logs = sizes * rng.normal(-7.0, scale, (n_models, 9))

    knee = settled_knee(settled, [HeldoutScores(each, sizes) for each in logs])

    as_good = []
    for place in range(n_models):
        gaps = logs[place] - logs[settled]
        squares = ((gaps - gaps.sum() / sizes.sum() * sizes) ** 2).sum()
        error = math.sqrt(9 / 8 * squares) / sizes.sum()
        if gaps.sum() / sizes.sum() >= -AS_GOOD_LOSS - 2 * error:
            as_good.append(place)
    best = int(logs.sum(axis=1).argmax())
    assert knee[:4] == (best, settled, min(as_good), max(as_good))
    assert knee.differences[best] == (0.0, 0.0)


def test_models_that_do_not_differ_make_the_smallest_best_to_use():
    sizes = np.array([3.0, 4.0])
    scores = [HeldoutScores(np.array([-9.0, -12.0]), sizes)] * 3

    knee = find_knee([300, 200, 100], scores)

    assert (knee.best, knee.recommended) == (0, 2)
    assert (knee.largest_as_good, knee.smallest_as_good) == (0, 2)


def test_a_clear_winner_stands_alone():
    rng = np.random.default_rng(0)
    sizes = np.full(50, 10.0)
    best = rng.normal(-60, 5, 50)
    worse = [best - 8 + rng.normal(0, 1, 50) for _ in range(2)]

    scores = [HeldoutScores(own, sizes) for own in (worse[0], best, worse[1])]
    knee = find_knee([300, 200, 100], scores)

    assert knee[:4] == (1, 1, 1, 1)


def test_one_document_recommends_the_best():
    scores = [HeldoutScores(np.array([value]), np.array([2.0])) for value in (-5.0, -4.0, -4.5)]
    assert find_knee([300, 200, 100], scores)[:4] == (1, 1, 1, 1)


def test_a_flat_noisy_curve_gives_the_number_of_its_parabola():
    """The best of nearly equal scores is an accident; the parabola's top is not."""
    rng, chosen = np.random.default_rng(0), []
    numbers = [int(400 * 0.87**place) for place in range(20)]
    curve = -7.4 - 0.012 * (np.log(numbers) - np.log(170)) ** 2
    sizes = np.full(50, 100.0)
    for _ in range(40):
        noisy = curve + rng.normal(0.0, 0.002, len(numbers))
        scores = [HeldoutScores(sizes * each, sizes) for each in noisy]
        chosen.append(numbers[find_knee(numbers, scores).recommended])
    middle = np.median(chosen)
    assert np.mean(np.abs(np.array(chosen) / middle - 1.0) <= 0.25) >= 0.9


# --- the number to read ---------------------------------------------------------------------------
RISING_NUMBERS = st.lists(
    st.integers(MOST_THEMES + 1, 500), min_size=1, max_size=12, unique=True
).map(sorted)


@pytest.mark.parametrize(("most", "found"), [(9, 9), (MOST_THEMES, MOST_THEMES), (25, 6)])
def test_so_few_topics_that_a_page_tells_them_apart_are_all_read(most, found):
    assert reading_number([3, 6, most], [0.7, 0.8, 1.0]) == found


@given(RISING_NUMBERS, st.data())
def test_the_number_to_read_is_between_the_fewest_and_the_last(numbers, data):
    """It falls if every number reaches more."""
    share = st.floats(-1.0, 1.2)
    shares = [
        *data.draw(st.lists(share, min_size=len(numbers) - 1, max_size=len(numbers) - 1)),
        1.0,
    ]
    found = reading_number(numbers, shares)
    assert numbers[0] <= found <= numbers[-1]
    more = [own + data.draw(st.floats(0.0, 0.5)) for own in shares[:-1]]
    assert reading_number(numbers, [*more, 1.0]) <= found


@given(RISING_NUMBERS, st.data())
def test_a_number_that_reaches_just_enough_is_the_one_to_read(numbers, data):
    place = data.draw(st.integers(0, len(numbers) - 1))
    shares = [
        READING_SHARE + (0.01 if other > place else 0.0) - (0.1 if other < place else 0.0)
        for other in range(len(numbers))
    ]
    assert reading_number(numbers, shares) == numbers[place]


def test_between_numbers_lines_are_straight_in_their_logarithms():
    assert reading_number([10, 40], [READING_SHARE - 0.1, READING_SHARE + 0.1]) == 20
