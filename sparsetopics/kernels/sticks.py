"""The ELBO's stick-breaking terms, their gradient, and their maximum.

L-BFGS is written out here because SciPy's calls BLAS. There sums depend on the processor, and the
iterations turn differences of the last bit into some of the fourth digit.
"""

from __future__ import annotations

import math

import numpy as np

from sparsetopics.base.batches import FloatArray
from sparsetopics.kernels.special import digamma, log_gamma, own_terms, trigamma
from sparsetopics.kernels.types import ZERO, inner, kernel

SMALLEST = 1e-8  # distance of a stick mean from 0 and 1
LEAST_LOG, LARGEST_LOG = -20.0, 60.0  # of ω
LONGEST_STEP = 10.0  # of a logit or log: beyond the limits above, the terms are level
ITERATIONS = 200
SMALLEST_GAIN, SMALLEST_SLOPE = 1e-10, 1e-8  # the gain relative to the value
N_PAIRS = 10  # of steps and changes of the gradient that L-BFGS remembers
HALVINGS = 30


@kernel
def stick_terms(
    means: FloatArray,  # (n_topics,)  ρ
    concentrations: FloatArray,  # (n_topics,)  ω
    n_docs: float,
    top_concentration: float,  # γ
    by_mean: FloatArray,  # (n_topics,)  overwritten: the gradient
    by_concentration: FloatArray,  # (n_topics,)  overwritten
) -> float:
    """Σ_k { lnB(a, b) + (1 + D − a) E[log u] + (γ + D (K + 1 − k) − b) E[log(1 − u)] }."""
    n_topics = means.shape[0]
    value = 0.0
    for k in range(n_topics):
        rho, omega = means[k], concentrations[k]
        a, b = rho * omega, (1.0 - rho) * omega
        for_a, for_b = 1.0 + n_docs, top_concentration + n_docs * (n_topics - k)
        total = digamma(omega)
        value += for_a * (digamma(a) - total) + for_b * (digamma(b) - total)
        value += own_terms(a) + own_terms(b) - own_terms(omega)
        shared = (for_a - a + for_b - b) * trigamma(omega)
        by_a = (for_a - a) * trigamma(a) - shared
        by_b = (for_b - b) * trigamma(b) - shared
        by_mean[k] = omega * (by_a - by_b)
        by_concentration[k] = rho * by_a + (1.0 - rho) * by_b
    return value


@kernel
def add_weight_terms(
    means: FloatArray,  # (n_topics,)  ρ
    n_docs: float,
    doc_concentration: float,  # α
    active_documents: FloatArray,  # (n_topics,)
    summed_digamma: FloatArray,  # (n_topics,)
    by_mean: FloatArray,  # (n_topics,)  added to
) -> float:
    """Σ_k [c_k Σ_active ψ(θ_dk) + (D − D_k) lnΓ(c_k)] with the tail, c = αE[β]."""
    n_topics = means.shape[0]
    pulls = np.zeros(n_topics + 1)  # c_k times the derivative of the terms by c_k
    value, left = 0.0, doc_concentration
    for k in range(n_topics + 1):
        tail = k == n_topics
        c = left if tail else left * means[k]
        inactive = n_docs if tail else n_docs - active_documents[k]
        linear = 0.0 if tail else summed_digamma[k]
        value += c * linear + inactive * log_gamma(c)
        pulls[k] = c * (linear + inactive * digamma(c))
        left -= 0.0 if tail else c
        left = max(left, 1e-300)  # rounding must not make the rest of the stick zero
    # ∂c_l/∂ρ_k is c_k/ρ_k for l = k and −c_l/(1 − ρ_k) for l > k: one sum from the end serves all.
    after = 0.0
    for k in range(n_topics, 0, -1):
        after += pulls[k]
        by_mean[k - 1] += pulls[k - 1] / means[k - 1] - after / (1.0 - means[k - 1])
    return value


@kernel
def unpack(x: FloatArray, means: FloatArray, concentrations: FloatArray) -> None:
    """Overwrite ρ and ω, (n_topics,), by those that logit ρ and log ω in ``x`` stand for."""
    n_topics = means.shape[0]
    for k in range(n_topics):
        means[k] = min(max(1.0 / (1.0 + math.exp(-x[k])), SMALLEST), 1.0 - SMALLEST)
        log_concentration = min(max(x[n_topics + k], LEAST_LOG), LARGEST_LOG)
        concentrations[k] = math.exp(log_concentration)


@inner
def _loss(
    x: FloatArray,  # (2 n_topics,)
    n_docs: float,
    top_concentration: float,
    doc_concentration: float,
    active_documents: FloatArray,
    summed_digamma: FloatArray,
    slopes: FloatArray,  # (2 n_topics,)  overwritten: the gradient
) -> float:
    """The terms by which sticks are chosen, in −nats per document."""
    n_topics = x.shape[0] // 2
    means, concentrations = np.empty(n_topics), np.empty(n_topics)
    unpack(x, means, concentrations)
    by_mean, by_concentration = slopes[:n_topics], slopes[n_topics:]
    value = stick_terms(
        means, concentrations, n_docs, top_concentration, by_mean, by_concentration
    ) + add_weight_terms(
        means, n_docs, doc_concentration, active_documents, summed_digamma, by_mean
    )  # fmt: skip
    scale = -1.0 / max(n_docs, 1.0)
    for k in range(n_topics):
        by_mean[k] *= scale * means[k] * (1.0 - means[k])
        by_concentration[k] *= scale * concentrations[k]
    return scale * value


# Loops over numbers from here on: expressions of whole arrays take seconds to compile.
@inner
def _inner(left: FloatArray, right: FloatArray) -> float:
    value = 0.0
    for i in range(left.shape[0]):
        value += left[i] * right[i]
    return value


@inner
def _add(left: FloatArray, factor: float, right: FloatArray, out: FloatArray) -> None:
    """out = left + factor · right; ``out`` may be ``left``."""
    for i in range(left.shape[0]):
        out[i] = left[i] + factor * right[i]


@inner
def _point_downhill(
    slopes: FloatArray,
    steps: FloatArray,  # (N_PAIRS, n)  the oldest is overwritten first
    changes: FloatArray,  # (N_PAIRS, n)
    n_seen: int,
    step: FloatArray,  # (n,)  overwritten
) -> float:
    """Point ``step`` where L-BFGS goes, and return the slope in that direction.

    That is minus its inverse Hessian times the gradient (Nocedal & Wright, 7.4).
    """
    factors, first = np.empty(N_PAIRS), max(n_seen - N_PAIRS, 0)
    scale = 1.0 if n_seen > 0 else max(1.0, math.sqrt(_inner(slopes, slopes)))
    for i in range(step.shape[0]):
        step[i] = -slopes[i] / scale
    for i in range(n_seen - 1, first - 1, -1):
        p = i % N_PAIRS
        factors[p] = _inner(steps[p], step) / _inner(steps[p], changes[p])
        _add(step, -factors[p], changes[p], step)
    p = (n_seen - 1) % N_PAIRS
    scale = 1.0 if n_seen == 0 else _inner(steps[p], changes[p]) / _inner(changes[p], changes[p])
    for i in range(step.shape[0]):
        step[i] *= scale
    for i in range(first, n_seen):
        p = i % N_PAIRS
        factor = factors[p] - _inner(changes[p], step) / _inner(steps[p], changes[p])
        _add(step, factor, steps[p], step)
    return _inner(step, slopes)


@inner
def _largest(values: FloatArray) -> float:
    largest = 0.0
    for i in range(values.shape[0]):
        largest = max(largest, abs(values[i]))
    return largest


@kernel
def best_sticks(
    start: FloatArray,  # (2 n_topics,)  logit ρ, log ω
    n_docs: float,
    top_concentration: float,
    doc_concentration: float,
    active_documents: FloatArray,  # (n_topics,)
    summed_digamma: FloatArray,  # (n_topics,)
) -> FloatArray:
    """logit ρ and log ω, (2 n_topics,), at a maximum of the terms, by L-BFGS."""
    n, n_seen = start.shape[0], ZERO
    x, tried, step = start.copy(), np.empty(n), np.empty(n)
    slopes, new_slopes, change = np.empty(n), np.empty(n), np.empty(n)
    steps, changes = np.empty((N_PAIRS, n)), np.empty((N_PAIRS, n))
    given = (n_docs, top_concentration, doc_concentration, active_documents, summed_digamma)
    loss = _loss(x, *given, slopes)
    for _ in range(ITERATIONS):
        if _largest(slopes) <= SMALLEST_SLOPE:
            break
        descent = _point_downhill(slopes, steps, changes, n_seen, step)
        if descent >= 0.0:  # rounding; begin anew
            n_seen = ZERO
            descent = _point_downhill(slopes, steps, changes, n_seen, step)
        longest = _largest(step)
        if longest > LONGEST_STEP:
            _add(step, LONGEST_STEP / longest - 1.0, step, step)
            descent *= LONGEST_STEP / longest
        for halving in range(HALVINGS + 1):
            if halving > 0:
                _add(step, -0.5, step, step)
                descent *= 0.5
            _add(x, 1.0, step, tried)
            new_loss = _loss(tried, *given, new_slopes)
            if new_loss <= loss + 1e-4 * descent:
                break
        if not new_loss < loss:
            break
        _add(new_slopes, -1.0, slopes, change)
        if _inner(step, change) > 1e-16 * _inner(change, change):
            for i in range(n):
                steps[n_seen % N_PAIRS, i], changes[n_seen % N_PAIRS, i] = step[i], change[i]
            n_seen += 1
        gain = (loss - new_loss) / max(abs(loss), abs(new_loss), 1.0)
        x, tried = tried, x
        slopes, new_slopes = new_slopes, slopes
        loss = new_loss
        if gain <= SMALLEST_GAIN:
            break
    return x
