"""Trial splits: a small mixture of two, fitted to the nodes that mostly belong to one component.

VDP06, section 7, step 2: the nodes are taken one level deeper and divided by the bisector of one of
the component's principal axes. The two children are then fitted to them, while everything else
stays as it is. The children's sums and those of the rest make a mixture with one component more,
whose ELBO is exact.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparsetopics.base.batches import FloatArray, IntArray
from sparsetopics.execution.executors import Executor
from sparsetopics.inference.growth.refining import (
    MomentParameters,
    OuterSource,
    nested_of,
    vectors_of,
)
from sparsetopics.inference.learners.accelerated import GrownState, MomentStatistics, Nodes
from sparsetopics.model.allocations.mixture import sum_item_terms
from sparsetopics.model.allocations.mixture_weights import DPMixture
from sparsetopics.model.allocations.nested import NestedAllocation
from sparsetopics.model.item_assignment import Assigned, assign_batch
from sparsetopics.model.likelihoods.moments import Moments
from sparsetopics.model.likelihoods.vector_likelihood import VectorLikelihood
from sparsetopics.model.responsibilities import Responsibilities
from sparsetopics.model.statistics import Statistics, added, subtracted

ROUNDS = 20
CALM = 1e-4  # of the nodes' items; the rounds end when fewer change sides
HALF_NORMAL_MEAN = np.sqrt(2.0 / np.pi)  # distance of a half's mean, in standard deviations


class Split(NamedTuple):
    """A mixture with one component more."""

    nodes: IntArray  # outer nodes to divide with it
    total: MomentStatistics
    allocation: NestedAllocation
    score: float  # ELBO in nats


def owners(found: Responsibilities) -> IntArray:
    """The component of each node's largest share, (n_nodes,); ties go to the first."""
    lengths = np.diff(found.starts)
    rows = np.repeat(np.arange(len(lengths)), lengths)
    order = np.lexsort((-found.shares.astype(np.float64), rows))
    return found.topics[order[found.starts[:-1]]].astype(np.int64)


def try_split(
    source: OuterSource,
    state: GrownState,
    parameters: MomentParameters,
    component: int,
    positions: IntArray,  # of outer nodes that are mostly the component's
    axis: int,
    enough: float,  # nats per item that dividing the nodes must add, or they stay whole
    executor: Executor,
) -> Split | None:
    """Cut ``component`` across its principal ``axis``, from 0; None if a half would be empty."""
    assert state.found is not None, "after a lap"
    batch, _ = source.children(positions)
    if batch.n_docs < 2:
        return None
    above, former = source.read(0).take(positions), state.found.take(positions)
    rest = _without(state.total, above, former, executor)
    absorbed = rest.components.take(np.array([component]))
    pair = halves(state.total.components.take(np.array([component])), axis)
    found = _divided(batch, pair, absorbed, parameters, executor)
    if found is None:
        return None
    nodes = source.outer[positions[:0]]
    if batch.n_docs > above.n_docs and found.gain(above, executor) > enough * above.weights.sum():
        nodes = source.outer[positions]
    # The first child takes the component's place, the second the one before the tail.
    n_topics = rest.components.n_topics
    place = np.append(np.arange(n_topics - 1), n_topics)
    components = rest.components.renumbered(place, n_topics + 1)
    shares = found.assigned.responsibilities.renumbered(np.array([component, n_topics - 1]))
    components.add(components.sum_batch(batch, shares, executor))
    kept = rest.terms.renumbered(place, n_topics + 1)
    terms = added(kept, sum_item_terms(batch, shares, n_topics + 1))
    allocation = nested_of(parameters).updated(terms)
    of_data = parameters.likelihood.elbo(components, components.with_empty_tail())
    score = of_data + allocation.elbo(terms)
    return Split(nodes, Statistics(components, terms), allocation, score)


def _without(
    total: MomentStatistics, batch: Nodes, found: Responsibilities, executor: Executor
) -> MomentStatistics:
    """The statistics of all nodes but those of ``batch``."""
    components = total.components.accumulator()
    components.take_out(components.sum_batch(batch, found, executor))
    terms = subtracted(total.terms, sum_item_terms(batch, found, total.terms.n_topics))
    return Statistics(components, terms._replace(counts=components.counts.copy()))


class _Halved(NamedTuple):
    """Two children of a component."""

    assigned: Assigned  # the nodes that they were fitted to
    worth: float  # Σ_A n_A log Σ_k exp W_Ak of those, in nats
    likelihood: VectorLikelihood
    pair: Moments
    log_weights: FloatArray  # (2,)

    def gain(self, above: Nodes, executor: Executor) -> float:
        """How much more the nodes are worth than those above them, in nats."""
        whole = assign_batch(above, self.likelihood, self.pair, self.log_weights, 2, executor)
        return self.worth - float(above.weights @ whole.log_totals)


def _divided(
    batch: Nodes,
    pair: Moments,  # to begin with
    absorbed: Moments,  # what other nodes give the component; the first child keeps it
    parameters: MomentParameters,
    executor: Executor,
) -> _Halved | None:
    """Fit two children to the nodes of ``batch``; None if one of them is empty."""
    likelihood = vectors_of(parameters)
    gamma = nested_of(parameters).concentration
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
    """Two components like the halves of the component ``whole``, cut across a principal axis.

    If means are known to be zero, one is narrower and the other wider along that axis.
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
    """The principal axis number ``axis``, as long as its standard deviation, (n_columns,)."""
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
