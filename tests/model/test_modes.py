"""Weights at their modes: where the sticks' density is highest; empty ones cost nothing."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.stats import beta

from sparsetopics.model.allocations.mixture_weights import NEVER, DPModes, log_weights_of, sticks_of

SOME = st.lists(st.integers(0, 50), min_size=1, max_size=6).filter(any)
COUNTS = SOME.map(lambda counts: np.array(counts, float))


@pytest.mark.parametrize("gamma", [1.5, 7.0])
def test_sticks_are_where_the_beta_density_is_highest(gamma):
    counts = np.array([5.0, 0.0, 12.0, 3.0])

    found = sticks_of(counts, gamma)

    for k, stick in enumerate(found):
        density = beta(1 + counts[k], gamma + counts[k + 1 :].sum())
        best = minimize_scalar(lambda v, p=density: -p.logpdf(v), bounds=(0, 1), method="bounded")
        assert stick == pytest.approx(best.x, abs=1e-5)


@given(counts=COUNTS, gamma=st.floats(1.0, 9.0))
def test_weights_are_those_of_the_sticks(counts, gamma):
    found = DPModes(counts, gamma)
    sticks = sticks_of(counts, gamma)

    left = np.concatenate(([1.0], np.cumprod(1.0 - sticks[:-1])))
    np.testing.assert_allclose(found.weights, sticks * left, atol=1e-12)
    held = counts > 0
    np.testing.assert_array_equal(found.expected_log_weights[~held], NEVER)
    inside = np.clip(sticks, 1e-12, 1 - 1e-12)
    np.testing.assert_allclose(
        found.expected_log_weights[held], log_weights_of(inside)[held], atol=1e-6
    )


@given(counts=COUNTS, gamma=st.floats(1.0, 9.0), n_more=st.integers(1, 4))
@example(counts=np.ones(1), gamma=1.0 + 2.0**-52, n_more=1)  # 1 − v_k is less than rounding
def test_empty_components_at_the_end_add_nothing(counts, gamma, n_more):
    more = np.concatenate([counts, np.zeros(n_more)])

    bounds = [DPModes(n, gamma).bound(n, np.zeros(len(n))) for n in (counts, more)]

    assert np.isfinite(bounds).all()
    assert bounds[0] == pytest.approx(bounds[1], abs=1e-9)


@given(counts=COUNTS, gamma=st.floats(1.01, 9.0), seed=st.integers(0, 99))
def test_no_other_sticks_have_a_higher_bound(counts, gamma, seed):
    other = np.random.default_rng(seed).permutation(counts) + 0.5

    best, entropies = DPModes(counts, gamma), np.zeros(len(counts))

    assert DPModes(other, gamma).bound(counts, entropies) <= best.bound(counts, entropies) + 1e-9
