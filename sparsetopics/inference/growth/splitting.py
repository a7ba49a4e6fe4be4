"""Trial splits of one component: a small mixture of two, on the nodes that are mostly the one's.

VDP06, section 7, step 2: the nodes are taken one level deeper, divided by the bisector of one of
the component's principal axes, and fitted by the two children alone, everything else as it is. The
children's sums and those of the rest make a mixture of one component more, whose ELBO is exact.
"""

from __future__ import annotations

from typing import Any, NamedTuple, cast

import numpy as np

from sparsetopics.base.batches import FloatArray, IntArray
from sparsetopics.execution.executors import Executor
from sparsetopics.inference.growth.outer_source import OuterSource
from sparsetopics.inference.laps import Prior
from sparsetopics.inference.learners.accelerated import GrownState, tied
from sparsetopics.model.allocations.mixture import ItemTerms, sum_item_terms
from sparsetopics.model.allocations.mixture_weights import DPMixture
from sparsetopics.model.allocations.nested import NestedAllocation
from sparsetopics.model.item_assignment import Assigned, assign_batch
from sparsetopics.model.likelihoods.moments import Moments
from sparsetopics.model.responsibilities import Responsibilities
from sparsetopics.model.statistics import Statistics, added, subtracted

ROUNDS = 20
CALM = 1e-4  # of the nodes' items: fewer that change sides end the rounds
HALF_NORMAL_MEAN = np.sqrt(2.0 / np.pi)  # of a normal's halves, in its standard deviations


class Split(NamedTuple):
    """A mixture with one component more."""

    nodes: IntArray  # outer ones to be divided with it
    total: Statistics
    allocation: NestedAllocation
    score: float  # ELBO in nats


def owners(found: Responsibilities) -> IntArray:
    """The component of each node's largest share, (n_nodes,); ties go to the first."""
    lengths = np.diff(found.starts)
    rows = np.repeat(np.arange(len(lengths)), lengths)
    order = np.lexsort((-found.shares.astype(np.float64), rows))
    best: IntArray = found.topics[order[found.starts[:-1]]].astype(np.int64)
    return best


def try_split(
    source: OuterSource,
    state: GrownState,
    prior: Prior,
    component: int,
    positions: IntArray,  # of outer nodes that are mostly the component's
    axis: int,
    enough: float,  # nats per item: the nodes stay divided only if that adds more
    executor: Executor,
) -> Split | None:
    """``component`` cut across its principal ``axis``, from 0; None if a half would be empty."""
    assert state.found is not None, "after a lap"
    batch, _ = source.children(positions)
    if batch.n_docs < 2:
        return None
    above, former = source.read(0).take(positions), state.found.take(positions)
    rest = _without(state.total, above, former, executor)
    absorbed = rest.components.take(np.array([component]))
    pair = halves(state.total.components.take(np.array([component])), axis)
    found = _divided(batch, pair, absorbed, prior, executor)
    if found is None:
        return None
    nodes = source.outer[positions[:0]]
    if batch.n_docs > above.n_docs and found.gain(above, executor) > enough * above.weights.sum():
        nodes = source.outer[positions]
    return _composed(
        rest, batch, found.assigned.responsibilities, component, nodes, prior, executor
    )


def _without(
    total: Statistics, batch: Any, found: Responsibilities, executor: Executor
) -> Statistics:
    """All but some nodes."""
    components = total.components.accumulator()
    components.take_out(components.sum_batch(batch, found, executor))
    terms = subtracted(total.terms, sum_item_terms(batch, found, total.terms.n_topics))
    return Statistics(components, terms._replace(counts=components.counts.copy()))


class _Halved(NamedTuple):
    """Two children of a component."""

    assigned: Assigned  # the nodes that they were fitted to
    worth: float  # Σ_A n_A log Σ_k exp W_Ak of those, in nats
    likelihood: Any
    pair: Moments
    log_weights: FloatArray  # (2,)

    def gain(self, above: Any, executor: Executor) -> float:
        """What the nodes are worth beyond those that they are halves of, in nats."""
        whole = assign_batch(above, self.likelihood, self.pair, self.log_weights, 2, executor)
        return self.worth - float(above.weights @ whole.log_totals)


def _divided(
    batch: Any,
    pair: Moments,  # to begin with
    absorbed: Moments,  # what other nodes give the component: the first child has it
    prior: Prior,
    executor: Executor,
) -> _Halved | None:
    """Two children fitted to the nodes of ``batch``."""
    likelihood = cast(Any, prior.likelihood)
    gamma = cast(NestedAllocation, prior.allocation).concentration
    log_weights, sparsity = np.zeros(2), 1
    n_items, first = batch.weights.sum(), np.inf
    for _ in range(ROUNDS):
        found = assign_batch(batch, likelihood, pair, log_weights, sparsity, executor)
        worth = float(batch.weights @ found.log_totals)
        halved = _Halved(found, worth, likelihood, pair, log_weights)
        pair = pair.zeros_like().sum_batch(batch, found.responsibilities, executor)
        if pair.counts.min() < 1.0:
            return None
        if abs(pair.counts[0] - first) < CALM * n_items:
            break
        first = pair.counts[0]
        pair = pair.plus(absorbed.joined([absorbed, absorbed.zeros_like()]))
        log_weights, sparsity = DPMixture(pair.counts, gamma).expected_log_weights, 2
    return halved


def halves(whole: Moments, axis: int) -> Moments:
    """Two components like the two halves of ``whole`` (one), cut across a principal axis.

    Where means are known to be zero: a narrower and a wider one along that axis.
    """
    count = whole.counts[0]
    mean = whole.sums[0] / count
    squares = whole.squares[0] / count
    if len(mean) == 0:
        step = 0.5 * _principal_product(squares, axis)
        return _pair(whole, np.zeros((2, 0)), squares, step)
    is_full = squares.ndim == 2
    spread = squares - (np.outer(mean, mean) if is_full else mean**2)
    shift = HALF_NORMAL_MEAN * _principal_axis(spread, axis)
    crossed = np.outer(mean, shift) + np.outer(shift, mean) if is_full else 2.0 * mean * shift
    return _pair(whole, np.stack([mean + shift, mean - shift]), squares, crossed)


def _pair(whole: Moments, means: FloatArray, squares: FloatArray, step: FloatArray) -> Moments:
    half = 0.5 * whole.counts[0]
    both = np.stack([squares + step, squares - step])
    return Moments(np.full(2, half), half * means, half * both, whole.origin)


def _principal_axis(spread: FloatArray, axis: int) -> FloatArray:
    """The direction of the largest variance but ``axis``, as long as its standard deviation."""
    if spread.ndim == 1:
        column = np.argsort(-spread, kind="stable")[axis]
        alone: FloatArray = np.where(np.arange(len(spread)) == column, spread, 0.0)
        return np.sqrt(np.maximum(alone, 0.0))
    variances, directions = np.linalg.eigh(spread)
    length = np.sqrt(max(variances[-1 - axis], 0.0))
    direction: FloatArray = length * directions[:, -1 - axis]
    return direction


def _principal_product(squares: FloatArray, axis: int) -> FloatArray:
    direction = _principal_axis(squares, axis)
    return np.outer(direction, direction) if squares.ndim == 2 else direction**2


def _composed(
    rest: Statistics,
    batch: Any,
    pair: Responsibilities,
    component: int,
    nodes: IntArray,
    prior: Prior,
    executor: Executor,
) -> Split:
    """The children put in: the first in the component's place, the second before the tail."""
    n_topics = rest.components.n_topics
    place = np.append(np.arange(n_topics - 1), n_topics)
    components = rest.components.renumbered(place, n_topics + 1)
    shares = pair.renumbered(np.array([component, n_topics - 1]))
    components.add(components.sum_batch(batch, shares, executor))
    kept: ItemTerms = rest.terms.renumbered(place, n_topics + 1)
    terms = added(kept, sum_item_terms(batch, shares, n_topics + 1))
    total = Statistics(components, terms)
    allocation = cast(NestedAllocation, prior.allocation).updated(terms)
    score = prior.likelihood.elbo(components, tied(components)) + allocation.elbo(terms)
    return Split(nodes, total, allocation, score)
