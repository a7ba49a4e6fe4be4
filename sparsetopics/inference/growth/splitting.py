"""Trial splits: a small mixture of two for each component, fitted to the component's own nodes.

VDP06, section 7, step 2: the nodes of a component are taken one level deeper and divided by the
bisector of one of its principal axes. Two children are then fitted to them and share out what the
component has of each node. Everything else stays as it is. So the rise of the ELBO is exact, all
components can be tried at once, and all splits that pay can be made together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from sparsetopics.base.batches import FloatArray, IntArray
from sparsetopics.execution.executors import Executor
from sparsetopics.inference.growth.refining import MomentParameters, OuterSource, families_of
from sparsetopics.inference.learners.accelerated import GrownState, MomentStatistics, Nodes
from sparsetopics.kernels.types import Float32Array
from sparsetopics.model.allocations.mixture import ItemTerms
from sparsetopics.model.allocations.mixture_weights import expected_logs
from sparsetopics.model.item_assignment import assign_to_pairs
from sparsetopics.model.likelihoods.moments import Moments
from sparsetopics.model.responsibilities import Responsibilities
from sparsetopics.model.statistics import Statistics

ROUNDS = 20
CALM = 1e-2  # of a component's items; the rounds end when fewer change sides
FEWEST = 1.0  # items of a child
HALF_NORMAL_MEAN = np.sqrt(2.0 / np.pi)  # distance of a half's mean, in standard deviations


class Split(NamedTuple):
    """Two children in place of a component."""

    component: int
    nodes: IntArray  # outer nodes to divide with it
    children: Moments  # two
    by_topic: FloatArray  # (2, 2)  ``ItemTerms.by_topic`` of the children
    gain: float  # of the ELBO, in nats


class OwnNodes(NamedTuple):
    """Nodes in the order of the components that have the largest share of them."""

    nodes: Nodes
    owner: IntArray  # (n_nodes,)  rising
    shares: FloatArray  # (n_nodes,)  of the owner
    starts: IntArray  # (n_components + 1,)  of each component's nodes

    @property
    def weights(self) -> FloatArray:
        """Items of each node that are the owner's, (n_nodes,)."""
        return self.nodes.weights * self.shares

    def sums(self, values: FloatArray) -> FloatArray:
        """Sums of ``values`` (n_nodes,) over the nodes of each component, (n_components,)."""
        return np.bincount(self.owner, values, len(self.starts) - 1).astype(np.float64)


def own_nodes(
    nodes: Nodes,
    owner: IntArray,  # (n_nodes,)
    shares: FloatArray,  # (n_nodes,)
    n_components: int,  # nodes of others are left out
) -> OwnNodes:
    """Sort ``nodes`` by owner."""
    order = np.argsort(owner, kind="stable")
    starts = np.searchsorted(owner[order], np.arange(n_components + 1))
    order = order[: starts[-1]]
    return OwnNodes(nodes.take(order), owner[order], shares[order], starts)


def largest_shares(found: Responsibilities) -> tuple[IntArray, FloatArray]:
    """The component of each node's largest share, and that share, (n_nodes,).

    Ties go to the first component.
    """
    starts, topics, shares = found
    largest = np.maximum.reduceat(shares, starts[:-1])
    largest_entries = np.flatnonzero(shares == np.repeat(largest, np.diff(starts)))
    first = largest_entries[np.searchsorted(largest_entries, starts[:-1])]
    return topics[first].astype(np.int64), largest.astype(np.float64)


def try_splits(
    source: OuterSource,
    state: GrownState,
    parameters: MomentParameters,
    axis: int,
    enough: float,  # nats per item that dividing the nodes must add, or they stay whole
    executor: Executor,
) -> list[Split]:
    """Cut every component across its principal ``axis``, from 0; the largest gain comes first.

    Components of which a half would be empty are left out.
    """
    assert state.found is not None, "after a lap"
    allocation, likelihood = families_of(parameters)
    n_components = allocation.n_topics
    owner, shares = largest_shares(state.found)
    above = own_nodes(source.read(0), owner, shares, n_components)
    nodes, parents = source.below
    below = own_nodes(nodes, owner[parents], shares[parents], n_components)
    components, terms = state.total
    whole = components.take(np.arange(n_components))
    trial = fit_pairs(below, whole, axis, parameters, executor)
    finer = below.sums(below.weights * trial.log_totals)
    _, coarse = assign_to_pairs(above.nodes, above.starts, likelihood, *trial.given, 2, executor)
    finer -= above.sums(above.weights * coarse)
    is_finer = finer > enough * above.sums(above.weights)
    gains = likelihood.log_evidence(trial.children).reshape(-1, 2).sum(axis=1)
    gains -= likelihood.log_evidence(whole)
    by_topic = terms_of_children(below, trial, terms)
    splits = []
    for k in np.flatnonzero(trial.are_two):
        nodes_of_k = source.outer[(owner == k) & is_finer[k]]
        children = trial.children.take(np.array([2 * k, 2 * k + 1]))
        splits.append(Split(int(k), nodes_of_k, children, by_topic[:, 2 * k : 2 * k + 2], 0.0))
        after = split_terms(terms, splits[-1:])
        rise = allocation.updated(after).elbo(after) - allocation.elbo(terms)
        splits[-1] = splits[-1]._replace(gain=float(gains[k] + rise))
    return sorted(splits, key=lambda split: -split.gain)


def with_splits(total: MomentStatistics, splits: Sequence[Split]) -> MomentStatistics:
    """Put first children in the place of their components, and second ones before the tail."""
    components, terms = total
    kept = components.accumulator()
    for split in splits:
        for values, child in zip(kept[:3], split.children[:3], strict=True):
            values[split.component] = child[0]
    n_topics = components.n_topics - 1
    seconds = [split.children.take(np.array([1])) for split in splits]
    parts = [kept.take(np.arange(n_topics)), *seconds, kept.take(np.array([n_topics]))]
    return Statistics(Moments.joined(parts), split_terms(terms, splits))


def split_terms(terms: ItemTerms, splits: Sequence[Split]) -> ItemTerms:
    """The terms with the components in the order of ``with_splits``."""
    kept = terms.by_topic
    for split in splits:
        kept[:, split.component] = split.by_topic[:, 0]
    seconds = [split.by_topic[:, 1:] for split in splits]
    return terms.with_topics(np.hstack([kept[:, :-1], *seconds, kept[:, -1:]]))


class Trial(NamedTuple):
    """Two children of each component."""

    given: tuple[Moments, FloatArray]  # pairs and their log weights, from which shares follow
    shares: Float32Array  # (n_nodes, 2)  in the two children of the owner
    log_totals: FloatArray  # (n_nodes,)  log Σ exp W of the two
    children: Moments  # two of each component, with the items of all nodes
    are_two: NDArray[np.bool_]  # (n_components,)  whether both children have items


def fit_pairs(
    own: OwnNodes, whole: Moments, axis: int, parameters: MomentParameters, executor: Executor
) -> Trial:
    """Fit two children to each component's nodes.

    What other nodes give a component stays with the first child.
    """
    allocation, likelihood = families_of(parameters)
    gamma = allocation.top_concentration
    n_components = whole.n_topics
    one_by_one = (whole.take(np.array([k])) for k in range(n_components))
    pairs = Moments.joined([halves(component, axis) for component in one_by_one])
    log_weights, sparsity = np.zeros(2 * n_components), 1
    sizes, former = own.sums(own.weights), np.full(n_components, np.inf)
    for _ in range(ROUNDS):
        shares, log_totals = assign_to_pairs(
            own.nodes, own.starts, likelihood, pairs, log_weights, sparsity, executor
        )
        taken = (own.shares * shares[:, 1]).astype(np.float32)
        of_second = Responsibilities(np.arange(len(taken) + 1), own.owner.astype(np.uint32), taken)
        second = whole.zeros_like().sum_batch(own.nodes, of_second, executor)
        given, parts = (pairs, log_weights), Moments.joined([whole.minus(second), second])
        pairs = parts.take(np.arange(2 * n_components).reshape(2, -1).T.ravel())  # side by side
        are_two = np.minimum(second.counts, sizes - second.counts) >= FEWEST
        is_calm = np.abs(second.counts - former) < CALM * sizes
        if (is_calm | ~are_two).all():
            break
        former = second.counts
        log_weights, sparsity = _pair_log_weights(pairs.counts, gamma), 2
    return Trial(given, shares, log_totals, pairs, are_two)


def _pair_log_weights(counts: FloatArray, concentration: float) -> FloatArray:
    """E[log w] of the two components of each Dirichlet process, (2 n_pairs,)."""
    first, second = counts.reshape(-1, 2).T
    log_taken, log_left = expected_logs(1.0 + first, concentration + second)
    log_taken_next, _ = expected_logs(1.0 + second, np.full(len(second), concentration))
    return np.stack([log_taken, log_left + log_taken_next], axis=1).ravel()


def terms_of_children(own: OwnNodes, trial: Trial, terms: ItemTerms) -> FloatArray:
    """``ItemTerms.by_topic`` of all children, (2, 2 n_components).

    The first child keeps the entropy of its component's share in other nodes.
    """
    n_components = len(trial.are_two)
    first, second = own.shares[:, None].T * trial.shares.T
    entropies = terms.assignment_entropy[:n_components] + own.sums(
        own.nodes.weights * (xlogy(own.shares, own.shares) - xlogy(first, first))
    )
    of_second = -own.sums(own.nodes.weights * xlogy(second, second))
    entropies = np.stack([entropies, of_second], axis=1).ravel()
    return np.stack([trial.children.counts, entropies])


def halves(whole: Moments, axis: int) -> Moments:
    """Two components like the halves of the component ``whole``, cut across a principal axis.

    If means are known to be zero, one is narrower and the other wider along that axis.
    """
    count = max(whole.counts[0], FEWEST)  # a component that lost its items has no mean
    mean = whole.sums[0] / count
    squares = whole.squares[0] / count
    if len(mean) == 0:
        direction = _principal_axis(squares, axis)
        means, step = np.zeros((2, 0)), 0.5 * np.outer(direction, direction)
    else:
        is_full = squares.ndim == 2
        spread = squares - (np.outer(mean, mean) if is_full else mean**2)
        shift = HALF_NORMAL_MEAN * _principal_axis(spread, axis)
        means = np.stack([mean + shift, mean - shift])
        step = np.outer(mean, shift) + np.outer(shift, mean) if is_full else 2.0 * mean * shift
    half = 0.5 * whole.counts[0]
    both = np.stack([squares + step, squares - step])
    return Moments(np.full(2, half), half * means, half * both)


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
