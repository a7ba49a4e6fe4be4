"""Errors over runs, against a plain twin and by hand; tests and intervals agree."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference_prevalence as reference
from sparsetopics.measures.estimates import Estimates

UNKNOWN = np.nan


def of(value, error, freedom, skewness=0.0):
    return Estimates(*(np.array([[each]], float) for each in (value, error, skewness, freedom)))


def runs_of(*values):
    return np.array(values, float)[:, None, None]


@given(
    value=st.floats(0.0, 1.0),
    error=st.floats(1e-6, 0.5),
    freedom=st.floats(1.0, 1e5),
    of_runs=st.lists(st.floats(0.0, 1.0) | st.just(UNKNOWN), min_size=1, max_size=7),
)
def test_errors_over_runs_are_those_of_the_plain_twin(value, error, freedom, of_runs):
    found = of(value, error, freedom).over_runs(runs_of(*of_runs))

    expected = reference.over_runs(value, error, freedom, of_runs)
    np.testing.assert_allclose(found.standard_error[0, 0], expected[0], rtol=1e-9)
    np.testing.assert_allclose(found.freedom[0, 0], expected[1], rtol=1e-6)


def test_errors_over_runs_by_hand():
    found = of(0.3, 0.03, 100.0, 0.2).over_runs(runs_of(0.31, 0.27, 0.32))

    between = (0.01**2 + 0.03**2 + 0.02**2) / 2
    total = 0.03**2 + 4 / 3 * between
    missing = 4 / 3 * between / total
    assert found.value[0, 0] == 0.3
    assert found.standard_error[0, 0] == pytest.approx(np.sqrt(total))
    assert found.skewness[0, 0] == pytest.approx(0.2 * (0.03**2 / total) ** 1.5)
    freedom = 1 / (missing**2 / 2 + (1 - missing) ** 2 / 100)
    assert found.freedom[0, 0] == pytest.approx(freedom)


def test_runs_that_agree_leave_the_error_and_its_degrees_of_freedom():
    found = of(0.3, 0.03, 1000.0).over_runs(runs_of(0.3, 0.3, 0.3))

    assert found.standard_error[0, 0] == pytest.approx(0.03)
    assert found.freedom[0, 0] == pytest.approx(1000.0)


def test_without_runs_estimates_stay_and_with_one_nothing_is_known():
    own = of(0.3, 0.03, 50.0)

    assert own.over_runs(np.empty((0, 1, 1))) is own
    for runs in (runs_of(0.3), runs_of(0.3, UNKNOWN), runs_of(UNKNOWN, UNKNOWN)):
        found = own.over_runs(runs)
        assert found.value[0, 0] == 0.3
        assert np.isnan(found.standard_error[0, 0])
        assert np.isnan(found.interval(0.0, 1.0)).all()
        assert np.isnan(found.tested().p_value[0, 0])


def test_errors_that_are_not_known_stay_so_over_runs():
    found = of(0.3, UNKNOWN, 0.0).over_runs(runs_of(0.2, 0.3))

    assert np.isnan(found.standard_error[0, 0])


@pytest.mark.parametrize("error", [0.0, 1e-9])
def test_documents_that_are_alike_have_the_errors_of_runs(error):
    found = of(0.3, error, 5.0).over_runs(runs_of(0.2, 0.4))

    assert found.standard_error[0, 0] == pytest.approx(np.sqrt(1.5 * 0.02))
    assert found.freedom[0, 0] == pytest.approx(1.0)
    assert found.interval(0.0, 1.0) == (0.0, 1.0)


@given(
    value=st.floats(-0.5, 0.5),
    error=st.floats(0.01, 0.2),
    skewness=st.floats(-0.5, 0.5),
    freedom=st.floats(1.0, 100.0),
)
def test_an_interval_without_zero_and_a_small_p_value_are_the_same(value, error, skewness, freedom):
    found = of(value, error, freedom, skewness).tested(np.inf)

    excludes_zero = found.low[0, 0] > 0.0 or found.high[0, 0] < 0.0
    if abs(found.p_value[0, 0] - 0.05) > 1e-6:
        assert excludes_zero == (found.p_value[0, 0] < 0.05)


def test_intervals_end_where_they_are_told():
    own = of(0.9, 0.3, 50.0)

    assert own.tested().high[0, 0] == 1.0
    assert own.tested(np.inf).high[0, 0] > 1.0
    assert own.interval(0.5, 0.95) == (0.5, 0.95)
