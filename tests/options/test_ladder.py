"""The rungs of a topic path and the steps between them."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsetopics.base.errors import OptionError
from sparsetopics.options.ladder import (
    LEAST_LEFT,
    check_rungs,
    close_rungs,
    default_rungs,
    steps_of,
)
from sparsetopics.options.training import LocalOptions, TrainingOptions


def test_the_usual_rungs_are_round_numbers_and_all_small_ones():
    assert default_rungs(400, 21) == (400, 300, 200, 150, 100, 70, 50, 30, 23, 22, 21)
    assert default_rungs(137, 24) == (137, 100, 70, 50, 30, 24)
    assert default_rungs(5, 1) == (5, 4, 3, 2, 1)
    assert close_rungs(50, 20) == (50, 43, 37, 32, 27, 23, 22, 21, 20)
    assert close_rungs(24, 22) == (24, 23, 22)


@given(fewest=st.integers(1, 500), more=st.integers(1, 5000))
def test_close_rungs_are_close_and_reach_both_ends(fewest, more):
    rungs = close_rungs(fewest + more, fewest)
    assert (rungs[0], rungs[-1]) == (fewest + more, fewest)
    assert set(range(fewest, min(24, fewest + more))) <= set(rungs)
    assert all(fewer >= int(0.87 * larger) for larger, fewer in itertools.pairwise(rungs))


@given(fewest=st.integers(1, 500), more=st.integers(1, 5000))
def test_both_ends_are_rungs(fewest, more):
    rungs = default_rungs(fewest + more, fewest)
    assert (rungs[0], rungs[-1]) == (fewest + more, fewest)
    check_rungs(rungs)


@pytest.mark.parametrize("fewest", [10, 11])
def test_a_path_must_lead_down(fewest):
    with pytest.raises(OptionError, match="must be below --from, 10, but is"):
        default_rungs(10, fewest)


@pytest.mark.parametrize("rungs", [(), (5,), (5, 5), (5, 10), (5, 0), (10, 5, 6)])
def test_rungs_that_are_no_ladder_are_refused(rungs):
    with pytest.raises(OptionError, match="rungs: must be"):
        check_rungs(rungs)


@given(st.sets(st.integers(1, 2000), min_size=2, max_size=8))
def test_no_step_merges_too_many_topics(numbers):
    rungs = tuple(sorted(numbers, reverse=True))
    steps = steps_of(rungs)
    assert set(rungs[1:]) <= set(steps)
    for more, fewer in itertools.pairwise((rungs[0], *steps)):
        assert fewer <= more
        assert fewer >= LEAST_LEFT * more - 1  # whole numbers of topics


def test_laps_follow_from_the_rungs():
    options = TrainingOptions(100, lower_rungs=(50, 20))

    assert options.rungs == (100, 50, 20)
    assert options.first_laps == 7
    assert options.path_laps == (71, 71, 50, 50, 32, 32, 20)
    assert options.n_laps == 14
    assert TrainingOptions(100).rungs == TrainingOptions(100).path_laps == ()


@pytest.mark.parametrize(
    "other",
    [
        {"model": "hdp", "laps": 9},
        {"learner": "stochastic"},
        {"learner": "full"},
        {"local": LocalOptions("mean-field", restarts=0)},
    ],
)
def test_a_path_needs_topics_that_can_be_merged(other):
    with pytest.raises(OptionError, match="needs --model lda with --learner memoized"):
        TrainingOptions(20, lower_rungs=(10,), **other)
