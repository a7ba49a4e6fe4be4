"""The smallest model that predicts as well as the best."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsetopics.evaluation.scores.knee import find_knee
from sparsetopics.evaluation.scores.paired import HeldoutScores


def twin(logs, sizes):
    """Best, recommended, and the ends of the range, from their definitions."""
    means = logs.sum(axis=1) / sizes.sum()
    best = int(means.argmax())
    below, n_docs = [], len(sizes)
    for own in logs:
        gaps = own - logs[best]
        mean = gaps.sum() / sizes.sum()
        error = math.nan
        if n_docs > 1:
            squares = ((gaps - mean * sizes) ** 2).sum()
            error = math.sqrt(n_docs / (n_docs - 1) * squares) / sizes.sum()
        below.append((mean, error))
    within = [[mean >= -n * error for mean, error in below] for n in (1.0, 2.0)]
    recommended = max([best, *(place for place, is_in in enumerate(within[0]) if is_in)])
    first = last = best
    while first > 0 and within[1][first - 1]:
        first -= 1
    while last < len(logs) - 1 and within[1][last + 1]:
        last += 1
    return best, recommended, first, max(last, recommended)


@given(seed=st.integers(0, 10_000), n_models=st.integers(1, 6), n_docs=st.integers(1, 9))
def test_the_knee_is_that_of_the_twin(seed, n_models, n_docs):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 20, n_docs).astype(float)
    logs = -sizes * (5 + rng.random(n_docs)) + rng.normal(0, 2, (n_models, n_docs))

    knee = find_knee([HeldoutScores(own, sizes) for own in logs])

    assert knee[:4] == twin(logs, sizes)
    assert knee.differences[knee.best] == (
        0.0,
        0.0 if n_docs > 1 else pytest.approx(math.nan, nan_ok=True),
    )


def test_models_that_do_not_differ_make_the_smallest_best_to_use():
    sizes = np.array([3.0, 4.0])
    scores = [HeldoutScores(np.array([-9.0, -12.0]), sizes)] * 3

    knee = find_knee(scores)

    assert (knee.best, knee.recommended) == (0, 2)
    assert (knee.largest_as_good, knee.smallest_as_good) == (0, 2)


def test_a_clear_winner_stands_alone():
    rng = np.random.default_rng(0)
    sizes = np.full(50, 10.0)
    best = rng.normal(-60, 5, 50)
    worse = [best - 8 + rng.normal(0, 1, 50) for _ in range(2)]

    knee = find_knee([HeldoutScores(own, sizes) for own in (worse[0], best, worse[1])])

    assert knee[:4] == (1, 1, 1, 1)


def test_one_document_recommends_the_best():
    scores = [HeldoutScores(np.array([value]), np.array([2.0])) for value in (-5.0, -4.0, -4.5)]
    assert find_knee(scores)[:4] == (1, 1, 1, 1)
