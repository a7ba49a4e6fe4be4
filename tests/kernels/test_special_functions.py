"""The special functions of the kernels against mpmath."""

import mpmath
import numpy as np
import pytest

from sparsetopics.kernels import special

NEAR_ONE = [1.0 - 2.0**-20, 1.0, 1.0 + 2.0**-20]


def powers(lowest, highest, n=161):
    return 10.0 ** np.linspace(lowest, highest, n)


# What each is compared with, where, and how close it must be.
FUNCTIONS = {
    "fast_log": (mpmath.log, [*powers(-300, 300), *NEAR_ONE, 0.5**0.5, 2.0**0.5], 1e-13, 0.0),
    "one_minus_exp": (
        lambda x: -mpmath.expm1(x), [*-powers(-12, 3), -0.3465, -0.3466, -39.9], 1e-13, 0.0,
    ),
    "log_gamma": (
        mpmath.loggamma, [*powers(-8, 12), *NEAR_ONE, 2.0, 6.999, 7.0, 1.46163], 1e-13, 1e-13,
    ),
    "digamma": (lambda x: mpmath.psi(0, x), powers(-8, 12), 1e-12, 1e-13),
    "trigamma": (lambda x: mpmath.psi(1, x), powers(-6, 10), 1e-12, 0.0),
    "exp_digamma": (
        lambda x: mpmath.exp(mpmath.psi(0, x)), powers(-1.5, 30, 316), 2e-7, 0.0,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_equal_mpmath(name):
    exact, values, relative, absolute = FUNCTIONS[name]
    function = getattr(special, name)
    with mpmath.workdps(40):
        for x in values:
            expected = float(exact(mpmath.mpf(float(x))))
            assert function(float(x)) == pytest.approx(expected, rel=relative, abs=absolute), x


def test_exp_digamma_does_not_vanish():
    assert 0.0 < special.exp_digamma(1e-9) < 1e-35
